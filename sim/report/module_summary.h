// Which modules of a model take the step's time?
#pragma once

#include <string>
#include <vector>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// The kernels of one module, with those of the modules within it; microseconds.
struct ModuleSummary {
    std::string name;  ///< "transformer.h.0"; "(none)" for kernels without a module
    std::uint64_t kernels = 0;
    double time_us = 0;  ///< the sum of the others
    double forward_us = 0, backward_us = 0, optimizer_us = 0, other_us = 0;
};

/// Sums the kernels of a step by module. Modules of `depth` parts ("h.0.attn" has three) stand for what is within them; 0: every
/// module by itself. In the order in which the step first reaches them. Empty where no kernel has a module.
std::vector<ModuleSummary> summarise_by_module(const RunResult& result, std::size_t depth = 0);

}  // namespace heddle::sim
