#include "isa/numerics/systolic.h"

#include <algorithm>
#include <array>

namespace heddle::numerics {
namespace {

std::size_t chunk_of(SystolicOrder order, std::size_t k) {
    return order.chunk == 0 ? std::max<std::size_t>(k, 1) : order.chunk;
}

float add(float a, float b) {
    return flush_subnormal(flush_subnormal(a) + flush_subnormal(b));
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
    // Columns side by side, in the same order as one column alone; the compiler makes vectors of them.
    constexpr std::size_t kColumns = 64;
    std::array<float, kColumns> sum;
    const std::size_t chunk = chunk_of(order, k);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j0 = 0; j0 < n; j0 += kColumns) {
            const std::size_t columns = std::min(kColumns, n - j0);
            float* row = c + i * n + j0;
            for (std::size_t start = 0; start < k; start += chunk) {
                const std::size_t end = std::min(k, start + chunk);
                if (order.chunk == 0)
                    std::copy_n(row, columns, sum.begin());
                else
                    sum.fill(0.0f);
                for (std::size_t step = start; step < end; ++step) {
                    const std::size_t at = order.k_ascending ? step : end - 1 - (step - start);
                    const std::uint16_t activation = a[i * k + at];
                    const std::uint16_t* weights = b + at * n + j0;
                    for (std::size_t j = 0; j < columns; ++j)
                        sum[j] = matrix_unit_accumulate(sum[j], activation, weights[j]);
                }
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
