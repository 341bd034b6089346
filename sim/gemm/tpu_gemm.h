// How long a matrix product takes on a TPU, in each number format that its matrix units multiply, and what it
// computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/tpu/tpu_config.h"
#include "sim/run/time/signal_file.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// D[m, n] = A[m, k] B, all dense; transpose_b: B is [n, k].
struct TpuGemmQuestion {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    trace::ElementType a = trace::ElementType::bf16, b = trace::ElementType::bf16;
    bool transpose_a = false, transpose_b = true;
};

/// Types of A and of B as they are written on the command line: "bf16", "fp8" (e4m3), "e5m2", "i8", "i16",
/// "f32"; "i8xi16" or "8x16" when they differ. Throws heddle::Error for types that no TPU multiplies, and for
/// those that do not go together.
std::pair<trace::ElementType, trace::ElementType> tpu_gemm_types_from_name(const std::string& name);
/// f32 of f32, i32 of integers, else bf16.
trace::ElementType result_type_of(const TpuGemmQuestion& question);
/// "4096x4096x512 i8 x i16 nt, batch of 4"
std::string name_of(const TpuGemmQuestion& question);
/// Throws heddle::Error for sizes out of range, and for floats on a chip that multiplies integers only.
void check(const TpuGemmQuestion& question, const models::TpuConfig& config);

/// Values on the model beside a product in doubles of the same operands: normal random numbers, integers of
/// the whole range.
struct TpuGemmNumerics {
    std::uint64_t elements = 0, compared = 0;  ///< of D; those compared are spread evenly
    /// The largest error of an element relative to |A||B|, and what it may be: operands of f32 are rounded to
    /// 1, 2 or 3 bf16 numbers (by passes), D is rounded, and so is each of K sums. Integers: 0, modulo 2^32.
    double worst = 0, bound = 0;
    std::uint64_t cycles_with_values = 0;
};

struct TpuGemmAnswer {
    double seconds = 0;         ///< with the launch
    double launch_seconds = 0;  ///< of them
    /// Operations per second of the matrix units with these formats, at the clock that is simulated and at
    /// that of the published peak (models::TpuConfig::peak_clock()).
    double peak = 0, published_peak = 0;
    double clock = 0, published_clock = 0;  ///< hertz
    std::uint64_t cycles = 0;
    std::string signals;   ///< what file of signals was written, in a sentence
    std::string schedule;  ///< tiles and their order
    std::string bound_by;
    double bytes = 0;                                   ///< from and to HBM
    std::vector<std::pair<std::string, double>> where;  ///< time of the matrix units by reason; shares, 0..1
    std::optional<TpuGemmNumerics> numerics;

    bool passed(bool with_values) const {
        return !with_values ||
               (numerics && numerics->worst <= numerics->bound && numerics->cycles_with_values == cycles);
    }
};

/// The product alone: operands in HBM, its program started by the host. In a process of its own. Throws
/// heddle::Error when there is no such program, and beyond 4e11 multiplications with `numerics`.
TpuGemmAnswer time_tpu_gemm(const TpuGemmQuestion& question, const models::TpuConfig& config, bool numerics,
                            const SignalOptions& signals = {});

/// Lines for people; one JSON object.
std::string describe(const TpuGemmQuestion& question, const TpuGemmAnswer& answer);
std::string to_json(const TpuGemmQuestion& question, const TpuGemmAnswer& answer);

}  // namespace heddle::sim
