// Trace -> CPU programs: which loop nests carry out an op? Blocked products in the manner of libraries, one pass over memory for the
// elementwise ops, threads by OpenMP's static rule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/cpu/program.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// What a compiler must know of a CPU.
struct CpuTarget {
    unsigned lanes = 16;       ///< 32-bit lanes of a vector register
    unsigned registers = 32;   ///< vector registers, 16 for AVX2: tiles of products fit them, the rest may use more (which spill)
    bool bf16_dot = false;     ///< dot products of bf16 pairs
    bool tiles = false;        ///< AMX
    unsigned threads = 1;
};

/// What became of one op.
struct CpuLoweredOp {
    bool supported = false;
    std::string reason_if_not;
    cpu::Program program;                   ///< without regions when nothing is to be done (a view)
    std::vector<trace::TensorId> tensors;   ///< by buffer: a tensor of its storage; scratch buffers follow
};

/// Lowers one op. Each storage of the op is one buffer, from its first element on. Numbers are kept as the trace has them: tf32 as
/// f32, boolean as a byte. Products of bf16 use tiles or dot products where the target has them and add in f32; everything else is
/// computed in f32. Throws heddle::Error when the trace itself is malformed.
CpuLoweredOp lower_for_cpu(const trace::Trace& trace, trace::OpId op, const CpuTarget& target);

/// The number that tells storages apart: shared ones, or the tensor's own.
std::uint64_t cpu_storage(const trace::Trace& trace, trace::TensorId tensor);

}  // namespace heddle::lowering
