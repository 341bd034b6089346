#include "workloads/trace/module.h"

#include <array>
#include <string_view>

namespace heddle::trace {

std::string module_of(const Op& op) {
    if (op.has(module_key)) return op.get(module_key);
    std::string_view name = op.name;
    // Names of PyTorch's ops and of kernels.
    if (name.find("::") != std::string_view::npos) return {};
    if (op.phase == Phase::optimizer) {
        const std::size_t space = name.find(' ');
        if (space == std::string_view::npos || name.find('.') == std::string_view::npos) return {};
        name.remove_prefix(space + 1);
    } else if (name.starts_with("d ")) {
        const std::size_t of = name.find(" of ");
        name.remove_prefix(of == std::string_view::npos ? 2 : of + 4);
    }
    static constexpr std::array<std::string_view, 8> endings{".copy", ".sum",  ".gradient", ".weight",
                                                             ".bias", ".gamma", ".beta",     ".loss"};
    for (bool shorter = true; shorter;) {
        shorter = false;
        for (const std::string_view ending : endings) {
            if (!name.ends_with(ending) || name.size() == ending.size()) continue;
            name.remove_suffix(ending.size());
            shorter = true;
        }
    }
    return name.find(' ') == std::string_view::npos ? std::string(name) : std::string();
}

}  // namespace heddle::trace
