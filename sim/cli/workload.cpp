#include "sim/cli/workload.h"

#include <filesystem>

#include "isa/common/error.h"
#include "workloads/importers/open_trace.h"
#include "workloads/model_files/read_model.h"
#include "workloads/zoo/registry.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

bool names_a_file(const std::string& workload) {
    std::error_code ignored;
    return workload.find_first_of("/.") != std::string::npos || fs::is_regular_file(workload, ignored);
}

}  // namespace

void add_model_option(std::map<std::string, std::string>& options, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == 0 || equals == std::string::npos) {
        throw Error("`" + assignment + "` sets nothing", {"--option", 0, ""},
                    "write a name and a value: --option type=bf16");
    }
    const std::string name = assignment.substr(0, equals);
    if (!options.emplace(name, assignment.substr(equals + 1)).second) {
        throw Error("the option is given twice", {"--option", 0, name}, "keep one of the two");
    }
}

std::string workload_name_of_file(const std::string& path) {
    std::string name = fs::path(path).filename().string();
    for (const char* ending :
         {".gz", ".tar", ".yaml", ".yml", ".json", ".et", ".traceg", ".hlo", ".mlir", ".txt"}) {
        const std::string text = ending;
        if (name.size() > text.size() && name.compare(name.size() - text.size(), text.size(), text) == 0) {
            name.resize(name.size() - text.size());
        }
    }
    return name;
}

Workload open_workload(const std::string& workload, const std::map<std::string, std::string>& options) {
    if (!names_a_file(workload)) return {workload, zoo::build(workload, options), {}};
    if (model_files::is_model_file(workload)) {
        const zoo::LayerModel model = model_files::read_model(workload);
        return {model.name, zoo::build(model, options), {}};
    }
    if (!options.empty()) {
        throw Error("a recorded step has no option `" + options.begin()->first + "`", {workload, 0, ""},
                    "options are for models, such as `mlp`");
    }
    Workload opened;
    opened.name = workload_name_of_file(workload);
    opened.trace = importers::open_trace(workload, &opened.device);
    return opened;
}

}  // namespace heddle::cli
