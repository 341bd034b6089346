// One GEMM that a capture recorded, and what can be said of its outputs: equal in every bit to a plan, or as
// near to the exact result as any order of additions must be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/numerics/reduction_plan.h"
#include "validation/capture/blas.h"
#include "validation/capture/gemm_inputs.h"
#include "validation/compare/result.h"

namespace heddle::validation {

struct CapturedGemm {
    std::string id;        ///< of the record, with the number of the algorithm
    std::string category;  ///< types and computation: "bf16 bf16 -> f32"
    capture::GemmProblem problem;
    capture::GemmInputs inputs;
    capture::GemmAlgorithm algorithm;
    std::uint64_t hash = 0;          ///< of all of D
    bool whole = false;              ///< `outputs` is all of D
    std::vector<std::byte> outputs;  ///< at capture::sample_places() unless whole
    bool deterministic = true;

    std::size_t output_count() const { return outputs.size() / capture::bytes_of(problem.d); }
    /// Where outputs[i] lies.
    std::vector<capture::OutputPlace> places() const;
};

/// "bf16 bf16 -> f32"; computations that the types do not tell are named.
std::string category_of(const capture::GemmProblem& problem);

inline constexpr std::size_t kUlpBins = 6;
extern const std::array<const char*, kUlpBins> kUlpLabels;
std::size_t ulp_bin(std::uint64_t ulp);

/// An output that is not what was expected.
struct WrongOutput {
    capture::OutputPlace place;
    std::uint64_t captured = 0, computed = 0;  ///< raw bits
    std::uint64_t ulp = 0;
};

struct BitCheck {
    BitCount bits;
    bool all_evaluated = false;  ///< `bits` counts every element, by the hash; else those recorded
    std::array<std::uint64_t, kUlpBins> ulps{};  ///< of the recorded elements
    std::uint64_t largest_ulp = 0;
    double frobenius = 0;  ///< of the recorded elements
    std::optional<WrongOutput> worst;
};

/// Evaluates the plan: all of D when it has at most `whole_limit` products, so that the hash is compared,
/// else the recorded elements. When these agree and the hash does not, one element is counted as wrong.
BitCheck check_bits(const CapturedGemm& gemm, const numerics::ReductionPlan& plan,
                    std::uint64_t whole_limit = std::uint64_t{1} << 28);

struct ErrorCheck {
    double frobenius = 0;           ///< recorded elements beside the exact result, not rounded to D's type
    double largest_share = 0;       ///< largest |error| / bound; above 1 the bound is broken
    std::uint64_t largest_ulp = 0;  ///< from the exact result rounded once
    std::array<std::uint64_t, kUlpBins> ulps{};
    std::optional<WrongOutput> worst;
    std::uint64_t compared = 0;  ///< elements whose exact result is a finite number in range
};

/// The recorded elements beside the exact result. The bound of an element is that of any order:
/// gamma_K |alpha| (|A| |B|), with u = 2^-23 for sums rounded toward zero in fp32 (2^-13 for fp8, 2^-10 in
/// fp16, 2^-53 in fp64), plus the conversions of inputs (tf32) and of the result, as in NUMERICS: metrics.
ErrorCheck check_error(const CapturedGemm& gemm);

/// For people: the factors of the largest product of one output, "a(3, 17) = 1.5 by b(17, 4) = -2".
std::string largest_product(const CapturedGemm& gemm, const capture::OutputPlace& place);

/// A number of a type, from its raw bits.
double value_of(capture::Type type, std::uint64_t bits);

}  // namespace heddle::validation
