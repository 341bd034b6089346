// Whether a step fits a device's memory, and what occupies that memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/machine/machine.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// The bytes that one use of memory occupies.
struct MemoryPart {
    std::string name;  ///< "weights", "activations", "workspace", ...
    double bytes = 0;
};

/// The memory that a step needs while each of its ops runs, compared with the device's capacity. All amounts
/// are bytes.
struct MemoryReport {
    double capacity = 0;  ///< bytes of the device
    /// The largest first; includes the process context and the allowance for fragmentation.
    std::vector<MemoryPart> at_peak;
    std::string peak_op;                      ///< the op during which the step holds the most memory
    std::vector<std::string> parts;           ///< names of the columns of `during`
    std::vector<std::vector<double>> during;  ///< bytes by op, then by part; without context and allowance
    std::vector<double> starts_us;            ///< start of each op; empty when the step was not simulated

    /// The sum of `at_peak`.
    double peak() const;
    bool fits() const { return peak() <= capacity; }
    /// One phrase for people that names the largest part: "83.1 of 79.6 GiB, activations 61 %".
    std::string sentence() const;
};

/// Computes the report of a step. `workspace` is the number of bytes that kernels need in addition to
/// tensors; it counts as held during the whole step.
MemoryReport report_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace);

/// Thrown when a step needs more memory than the device has. Nothing was simulated.
struct DoesNotFit {
    MemoryReport memory;
};

}  // namespace heddle::sim
