#include "sim/cli/workload.h"

#include <cctype>
#include <filesystem>

#include "isa/common/error.h"
#include "sim/cli/doors.h"
#include "sim/config/gpu_names.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "workloads/model_files/read_model.h"
#include "workloads/zoo/registry.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

/// "NVIDIA H100 PCIe", "h100-sxm": the word that names the chip, the first with a digit, in small letters.
std::string chip_of(const std::string& device) {
    std::string chip;
    for (const char letter : device + " ") {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
            chip += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        } else {
            if (chip.find_first_of("0123456789") != std::string::npos) return chip;
            chip.clear();
        }
    }
    return "";
}

std::vector<std::string> gpu_names() {
    std::vector<std::string> names = sim::hardware_names();
    std::erase_if(names, [](const std::string& name) {
        try {
            return sim::gpu_machine(sim::load_hardware(name)) == nullptr;
        } catch (const Error&) {
            return true;  // a damaged file is told when it is asked for
        }
    });
    return names;
}

}  // namespace

bool names_a_file(const std::string& workload) {
    std::error_code ignored;
    return workload.find_first_of("/.") != std::string::npos || fs::is_regular_file(workload, ignored);
}

std::string hardware_of_recording(const trace::RecordedDevice& device, const std::string& file) {
    const std::string preset = sim::hardware_of_gpu(device.name, device.memory_bytes);
    if (!preset.empty()) return preset;
    const std::vector<std::string> names = gpu_names();
    std::vector<std::string> chips;
    for (const std::string& name : names) chips.push_back(chip_of(name));
    const std::string named = chip_of(device.name);
    const std::string chip = named.empty() ? "" : nearest_word(named, chips.data(), chips.size());
    std::string known, near;
    for (std::size_t i = 0; i < names.size(); ++i) {
        known += (known.empty() ? "" : ", ") + names[i];
        if (near.empty() && !chip.empty() && chips[i] == chip) near = names[i];
    }
    throw Error(device.name.empty() ? "the recording does not say on which device it was made"
                                    : "there is no hardware file for " + device.name,
                {file, 0, ""},
                (near.empty() ? "name one with --hardware; known: "
                              : "did you mean `--hardware " + near + "`? Known: ") +
                    known);
}

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
         {".gz", ".tar", ".yaml", ".yml", ".json", ".et", ".traceg", ".hlo", ".hrun", ".mlir", ".txt"}) {
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
    opened.trace = open_recorded_step(workload, opened.device);
    return opened;
}

}  // namespace heddle::cli
