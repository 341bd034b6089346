// The time of a matrix product on a TPU, in each number format that its matrix units multiply, and what it
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

/// The product D[m, n] = A[m, k] B, all dense; with transpose_b, B is [n, k].
struct TpuGemmQuestion {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    trace::ElementType a = trace::ElementType::bf16, b = trace::ElementType::bf16;
    bool transpose_a = false, transpose_b = true;
};

/// Reads the types of A and B as they are written on the command line: "bf16", "fp8" (e4m3), "e5m2", "i8",
/// "i16", "f32", or "i8xi16" or "8x16" when they differ. Throws heddle::Error for types that no TPU
/// multiplies and for pairs that cannot be combined.
std::pair<trace::ElementType, trace::ElementType> tpu_gemm_types_from_name(const std::string& name);
/// Returns the type of D: f32 for f32, i32 for integers, otherwise bf16.
trace::ElementType result_type_of(const TpuGemmQuestion& question);
/// Returns the name of a product: "4096x4096x512 i8 x i16 nt, batch of 4".
std::string name_of(const TpuGemmQuestion& question);
/// Throws heddle::Error for sizes out of range, and for floats on a chip that multiplies only integers.
void check(const TpuGemmQuestion& question, const models::TpuConfig& config);

/// Values on the model compared with the product of the same operands in double precision. Operands are
/// normal random numbers, or integers of the whole range.
struct TpuGemmNumerics {
    /// Elements of D, and how many of them were compared; these are distributed evenly.
    std::uint64_t elements = 0, compared = 0;
    /// The largest error of an element relative to |A||B|, and its bound: f32 operands are rounded to 1, 2 or
    /// 3 bf16 numbers (one for each pass), and D and each of K sums are rounded. For integers both are 0,
    /// modulo 2^32.
    double worst = 0, bound = 0;
    std::uint64_t cycles_with_values = 0;
};

/// The time of a product on a TPU.
struct TpuGemmAnswer {
    double seconds = 0;         ///< including the launch
    double launch_seconds = 0;  ///< the launch's part of `seconds`
    /// Operations per second of the matrix units with these formats, at the simulated clock and at the clock
    /// of the published peak (models::TpuConfig::peak_clock()).
    double peak = 0, published_peak = 0;
    double clock = 0, published_clock = 0;  ///< hertz
    std::uint64_t cycles = 0;
    std::string signals;   ///< one sentence about the signal file that was written
    std::string schedule;  ///< tiles and their order
    std::string bound_by;
    double bytes = 0;                                   ///< bytes moved from and to HBM
    std::vector<std::pair<std::string, double>> where;  ///< time of the matrix units by reason; shares, 0..1
    std::optional<TpuGemmNumerics> numerics;

    bool passed(bool with_values) const {
        return !with_values ||
               (numerics && numerics->worst <= numerics->bound && numerics->cycles_with_values == cycles);
    }
};

/// Times a product alone, with operands in HBM and a program that the host starts. It elaborates a device, so
/// it needs a process of its own. Throws heddle::Error when no program can be made, and beyond 4e11
/// multiplications with `numerics`.
TpuGemmAnswer time_tpu_gemm(const TpuGemmQuestion& question, const models::TpuConfig& config, bool numerics,
                            const SignalOptions& signals = {});

/// Format the answer as lines for people, and as one JSON object.
std::string describe(const TpuGemmQuestion& question, const TpuGemmAnswer& answer);
std::string to_json(const TpuGemmQuestion& question, const TpuGemmAnswer& answer);

}  // namespace heddle::sim
