// Which GEMMs are timed, and how one is: shared by the section `timing` and by the comparison, which times
// the same problem on the model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "validation/capture/device.h"

namespace heddle::capture {

struct TimedGemm {
    GemmProblem problem;
    std::string family;     ///< "cube", "gpt2", "decode", "waves", "k", "odd", "batched", "epilogue", ...
    unsigned priority = 0;  ///< the lower, the sooner
    bool quick = false;     ///< small enough for a simulator in about a second
    std::string id() const { return "gemm/" + problem.name(); }
};

/// About a thousand shapes, each once, sorted by priority.
std::vector<TimedGemm> designed_gemms();

/// Whether the heuristic's other algorithms for it are timed too.
bool wants_all_algorithms(const TimedGemm& gemm);

/// Device memory for the operands of every GEMM that fits, filled once for each type.
class GemmOperandPool {
  public:
    /// Room for problems of at most `bytes` for each operand.
    GemmOperandPool(Device& device, std::uint64_t bytes);
    /// Fills the buffers for the problem's types if they hold another. Throws DeviceError when the problem is
    /// too large.
    GemmOperands operands(const GemmProblem& problem);

  private:
    void fill(const DeviceBuffer& buffer, Type type, Type& held, bool& filled, std::uint32_t seed);
    Device& device_;
    DeviceBuffer a_, b_, d_, bias_, scales_;
    Type type_a_ = Type::f32, type_b_ = Type::f32;
    bool filled_a_ = false, filled_b_ = false;
};

/// Bytes of the largest of A, B, C and D.
std::uint64_t largest_operand(const GemmProblem& problem);

struct GemmTimes {
    std::vector<double> cold, warm;  ///< microseconds of every repetition; by state of L2
};
/// At least 10 repetitions of each (5 when one takes more than 5 ms), more of short ones.
GemmTimes time_gemm(Device& device, const GemmProblem& problem, const GemmAlgorithm& algorithm,
                    const GemmOperands& operands, bool warm_too = true);

}  // namespace heddle::capture
