#include "isa/numerics/systolic.h"

#include <algorithm>
#include <array>
#include <vector>

#include "isa/numerics/processor.h"

namespace heddle::numerics {
namespace {

std::size_t chunk_of(SystolicOrder order, std::size_t k) {
    return order.chunk == 0 ? std::max<std::size_t>(k, 1) : order.chunk;
}

float add(float a, float b) {
    return flush_subnormal(flush_subnormal(a) + flush_subnormal(b));
}

/// Columns computed side by side.
constexpr std::size_t kColumns = 64;

/// `length` steps of kColumns partial sums; the compiler makes vectors of it. Operands and sums are flushed
/// already, so that this is matrix_unit_accumulate().
[[gnu::always_inline]] inline void accumulate_columns(std::size_t length, const float* activations,
                                                      const float* weights, float* sums) {
    constexpr std::size_t kTogether = 16;
    for (std::size_t j0 = 0; j0 < kColumns; j0 += kTogether) {
        std::array<float, kTogether> sum;
        for (std::size_t j = 0; j < kTogether; ++j) sum[j] = sums[j0 + j];
        for (std::size_t step = 0; step < length; ++step) {
            const float* row = weights + step * kColumns + j0;
            for (std::size_t j = 0; j < kTogether; ++j)
                sum[j] = flush_subnormal(sum[j] + flush_subnormal(activations[step] * row[j]));
        }
        for (std::size_t j = 0; j < kTogether; ++j) sums[j0 + j] = sum[j];
    }
}

void accumulate_portable(std::size_t length, const float* activations, const float* weights, float* sums) {
    accumulate_columns(length, activations, weights, sums);
}

#ifdef HEDDLE_NUMERICS_X86
[[gnu::target("avx2")]] void accumulate_avx2(std::size_t length, const float* activations,
                                             const float* weights, float* sums) {
    accumulate_columns(length, activations, weights, sums);
}
#endif

void accumulate(std::size_t length, const float* activations, const float* weights, float* sums) {
#ifdef HEDDLE_NUMERICS_X86
    if (processor_has_avx2()) return accumulate_avx2(length, activations, weights, sums);
#endif
    accumulate_portable(length, activations, weights, sums);
}

}  // namespace

float matrix_unit_column(SystolicOrder order, std::size_t k, const std::uint16_t* a, std::size_t a_stride,
                         const std::uint16_t* b, std::size_t b_stride, float c) {
    const std::size_t chunk = chunk_of(order, k);
    for (std::size_t start = 0; start < k; start += chunk) {
        const std::size_t end = std::min(k, start + chunk);
        float sum = order.chunk == 0 ? c : 0.0f;
        for (std::size_t i = start; i < end; ++i) {
            const std::size_t at = order.k_ascending ? i : end - 1 - (i - start);
            sum = matrix_unit_accumulate(sum, a[at * a_stride], b[at * b_stride]);
        }
        c = order.chunk == 0 ? sum : add(c, sum);
    }
    return c;
}

void matrix_unit_tile(SystolicOrder order, std::size_t m, std::size_t n, std::size_t k,
                      const std::uint16_t* a, const std::uint16_t* b, float* c) {
    const std::size_t chunk = chunk_of(order, k);
    // Weights of one chunk and kColumns columns, in the order in which they meet a partial sum.
    std::vector<float> weights(std::min(chunk, k) * kColumns);
    for (std::size_t start = 0; start < k; start += chunk) {
        const std::size_t length = std::min(chunk, k - start);
        const auto at = [&](std::size_t step) {
            return start + (order.k_ascending ? step : length - 1 - step);
        };
        std::vector<float> activations(length);
        for (std::size_t j0 = 0; j0 < n; j0 += kColumns) {
            const std::size_t columns = std::min(kColumns, n - j0);
            for (std::size_t step = 0; step < length; ++step)
                for (std::size_t j = 0; j < kColumns; ++j)
                    weights[step * kColumns + j] =
                        j < columns ? flush_subnormal(bf16_to_fp32(b[at(step) * n + j0 + j])) : 0.0f;
            for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t step = 0; step < length; ++step)
                    activations[step] = flush_subnormal(bf16_to_fp32(a[i * k + at(step)]));
                float* row = c + i * n + j0;
                std::array<float, kColumns> sum{};
                if (order.chunk == 0)
                    for (std::size_t j = 0; j < columns; ++j) sum[j] = flush_subnormal(row[j]);
                accumulate(length, activations.data(), weights.data(), sum.data());
                for (std::size_t j = 0; j < columns; ++j)
                    row[j] = order.chunk == 0 ? sum[j] : add(row[j], sum[j]);
            }
        }
    }
}

void matrix_unit_tile(std::size_t m, std::size_t n, std::size_t k, const std::int8_t* a, const std::int8_t* b,
                      std::int32_t* c) {
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t l = 0; l < k; ++l)
            for (std::size_t j = 0; j < n; ++j)
                c[i * n + j] = matrix_unit_accumulate(c[i * n + j], a[i * k + l], b[l * n + j]);
}

Bf16Parts split_into_bf16(float value) {
    Bf16Parts parts;
    parts.high = fp32_to_bf16_tpu(value);
    const float rest = value - bf16_to_fp32(parts.high);
    parts.middle = fp32_to_bf16_tpu(rest);
    parts.low = fp32_to_bf16_tpu(rest - bf16_to_fp32(parts.middle));
    return parts;
}

}  // namespace heddle::numerics
