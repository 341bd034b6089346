// Whether a step fits a device's memory, and what takes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/machine/machine.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct MemoryPart {
    std::string name;  ///< "weights", "activations", "workspace", ...
    double bytes = 0;
};

struct MemoryReport {
    double capacity = 0;
    std::vector<MemoryPart> at_peak;          ///< by falling size; context and allowance included
    std::string peak_op;                      ///< the op during which most is held
    std::vector<std::string> parts;           ///< of `during`
    std::vector<std::vector<double>> during;  ///< by op, by part: bytes; without context and allowance
    std::vector<double> starts_us;            ///< by op, when the step was simulated

    double peak() const;
    bool fits() const { return peak() <= capacity; }
    /// "83.1 of 79.6 GiB, activations 61 %"
    std::string sentence() const;
};

/// `workspace`: bytes that kernels need beside tensors, held all the time.
MemoryReport report_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace);

/// The answer to a step that needs more memory than there is. Nothing was simulated.
struct DoesNotFit {
    MemoryReport memory;
};

}  // namespace heddle::sim
