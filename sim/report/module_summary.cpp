#include "sim/report/module_summary.h"

#include <algorithm>
#include <map>

namespace heddle::sim {
namespace {

/// The first `depth` parts of a module's name; all of it for 0.
std::string first_parts(const std::string& name, std::size_t depth) {
    std::size_t at = std::string::npos;
    for (std::size_t part = 0; part < depth; ++part) {
        at = name.find('.', at == std::string::npos ? 0 : at + 1);
        if (at == std::string::npos) return name;
    }
    return depth == 0 ? name : name.substr(0, at);
}

}  // namespace

std::vector<ModuleSummary> summarise_by_module(const RunResult& result, std::size_t depth) {
    std::vector<ModuleSummary> modules;
    std::map<std::string, std::size_t> places;
    bool named = false;
    for (const KernelResult& kernel : result.kernels) {
        named = named || !kernel.module.empty();
        const std::string name = kernel.module.empty() ? "(none)" : first_parts(kernel.module, depth);
        const auto [place, fresh] = places.try_emplace(name, modules.size());
        if (fresh) modules.push_back({.name = name});
        ModuleSummary& module = modules[place->second];
        ++module.kernels;
        module.time_us += kernel.time_us;
        double& part = kernel.phase == "forward"     ? module.forward_us
                       : kernel.phase == "backward"  ? module.backward_us
                       : kernel.phase == "optimizer" ? module.optimizer_us
                                                     : module.other_us;
        part += kernel.time_us;
    }
    if (!named) modules.clear();
    return modules;
}

}  // namespace heddle::sim
