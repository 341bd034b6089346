// Recordings of PyTorch's profiler (Kineto: Chrome trace JSON).
#pragma once

#include <istream>
#include <string>
#include <unordered_map>

#include "workloads/importers/recording.h"

namespace heddle::importers {

/// Operands of the calls of another recording of the same run, by the number that PyTorch gives each call
/// ("rf_id").
struct RecordedOperands {
    struct Entry {
        Name name;  ///< of `names`
        std::vector<Argument> inputs, outputs;
        std::int64_t collective_bytes = -1, ranks = -1;
    };
    Names names;
    std::unordered_map<std::int64_t, Entry> calls;
    std::string file;
};

/// Bytes of the larger side of a collective of so many elements (-1: not recorded) of a type of PyTorch,
/// named "Float" or "float"; -1 when they are not known.
std::int64_t collective_bytes(std::int64_t in, std::int64_t out, const std::string& type);

/// Reads events of the host and of the GPU and says which call launched which kernel:
/// - by the kernel's "External id", where that is the number of a call (traces of PyTorch 2 on);
/// - where it only repeats "correlation" (before): by the launch with the same correlation, and the innermost
/// call
///   around it in time on the same thread.
/// Calls on a thread nest by time. Categories may be missing or written in another case.
///
/// `operands`, when given, has what Kineto does not record: numbers, strides, which tensors are the same,
/// results. Without them results follow from the schemas of ops (workloads/importers/kineto_operands.h),
/// numbers from "Concrete Inputs" where there are any, and an operand is taken to be the last result of its
/// shape and type. Throws heddle::Error when the file is damaged, or when `operands` are of another run.
Recording read_kineto(std::istream& text, const std::string& file, RecordedOperands* operands = nullptr);

}  // namespace heddle::importers
