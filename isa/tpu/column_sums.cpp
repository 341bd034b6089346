#include "isa/tpu/column_sums.h"

#include <cstring>

#include "isa/numerics/systolic.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <xmmintrin.h>
#define HEDDLE_TPU_FLUSH_IN_HARDWARE 1
#endif

namespace heddle::tpu {
namespace {

#ifdef HEDDLE_TPU_FLUSH_IN_HARDWARE

/// Lets the processor flush subnormal operands and results, sign kept, as a TPU does. A product of two bf16
/// numbers and a subnormal sum are exact, so it does not matter that x86 detects tininess after rounding.
class FlushSubnormals {
  public:
    FlushSubnormals() : before_(_mm_getcsr()) {
        _mm_setcsr(0x1F80u | 0x8040u);
    }  // round to nearest, no traps; FTZ, DAZ
    ~FlushSubnormals() { _mm_setcsr(before_); }
    FlushSubnormals(const FlushSubnormals&) = delete;
    FlushSubnormals& operator=(const FlushSubnormals&) = delete;

  private:
    unsigned before_;
};

/// Eight columns side by side. Written with vectors, because compilers see them in the plain loops only by
/// luck.
using Columns = float __attribute__((vector_size(32)));
static_assert(kRowGroup == 4 && kColumnGroup == 2 * 8);

__attribute__((target_clones("avx2", "default"))) void sum_products(
    const float* activations, const float* weights, std::size_t depth, std::size_t stride, float* sums) {
    for (std::size_t n = 0; n < stride; n += kColumnGroup) {
        Columns sum[kRowGroup][2] = {};
        for (std::size_t k = 0; k < depth; ++k) {
            Columns left, right;
            std::memcpy(&left, weights + k * stride + n, sizeof left);
            std::memcpy(&right, weights + k * stride + n + 8, sizeof right);
            for (std::size_t row = 0; row < kRowGroup; ++row) {
                const float activation = activations[row * depth + k];
                sum[row][0] += activation * left;
                sum[row][1] += activation * right;
            }
        }
        for (std::size_t row = 0; row < kRowGroup; ++row)
            std::memcpy(sums + row * stride + n, sum[row], sizeof sum[row]);
    }
}

#else

void sum_products(const float* activations, const float* weights, std::size_t depth, std::size_t stride,
                  float* sums) {
    using numerics::flush_subnormal;
    for (std::size_t row = 0; row < kRowGroup; ++row) {
        for (std::size_t n = 0; n < stride; ++n) {
            float sum = 0.0f;
            for (std::size_t k = 0; k < depth; ++k) {
                sum = flush_subnormal(
                    sum + flush_subnormal(activations[row * depth + k] * weights[k * stride + n]));
            }
            sums[row * stride + n] = sum;
        }
    }
}

#endif

}  // namespace

void column_sums(const float* activations, const float* weights, std::size_t depth, std::size_t stride,
                 float* sums) {
#ifdef HEDDLE_TPU_FLUSH_IN_HARDWARE
    const FlushSubnormals flush;
#endif
    sum_products(activations, weights, depth, stride, sums);
}

}  // namespace heddle::tpu
