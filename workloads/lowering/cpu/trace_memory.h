// The tensors of a trace in a CPU's memory, as the programs of its ops expect them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "workloads/lowering/cpu/cpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// One range of memory for each storage. Programs that run one after the other on it see each other's results.
class CpuTraceMemory {
  public:
    /// Room for the tensors of the trace and for what the programs reach of their storages.
    CpuTraceMemory(const trace::Trace& trace, std::span<const CpuLoweredOp> programs);

    /// By buffer of the program: where it lies; empty for scratch.
    std::vector<std::span<std::byte>> bind(const CpuLoweredOp& op);
    /// Converts numbers from and to what memory holds; to nearest even, integers truncate. As many as the tensor has, or more for
    /// the storage behind it.
    void write(trace::TensorId id, std::span<const double> values);
    std::vector<double> read(trace::TensorId id) const;

  private:
    const trace::Trace& trace_;
    std::map<std::uint64_t, std::vector<std::byte>> storages_;
};

}  // namespace heddle::lowering
