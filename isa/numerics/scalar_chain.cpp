#include "isa/numerics/scalar_chain.h"

#include <cmath>
#include <limits>

#include "isa/numerics/processor.h"

#ifdef HEDDLE_NUMERICS_X86
#include <immintrin.h>
#endif

namespace heddle::numerics {
namespace {

template <typename T>
T flushed(T value) {
    return std::fabs(value) < std::numeric_limits<T>::min() ? std::copysign(T{0}, value) : value;
}

template <typename T>
void one_by_one(const ScalarChain& chain, std::size_t m, std::size_t n, std::size_t k, std::size_t first,
                const T* a, const T* b, T* sums) {
    const auto in = [&](T value) { return chain.flush_subnormals ? flushed(value) : value; };
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = first; j < n; ++j) {
            T sum = sums[i * n + j];
            for (std::size_t l = 0; l < k; ++l) {
                const T x = in(a[i * k + l]), y = in(b[l * n + j]);
                sum = chain.fused ? in(std::fma(x, y, sum)) : in(in(x * y) + sum);
            }
            sums[i * n + j] = sum;
        }
    }
}

#ifdef HEDDLE_NUMERICS_X86

struct Singles {
    using Number = float;
    using Vector = __m256;
    static constexpr std::size_t kLanes = 8;
    __attribute__((target("avx2,fma"))) static Vector load(const float* from) {
        return _mm256_loadu_ps(from);
    }
    __attribute__((target("avx2,fma"))) static void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
    __attribute__((target("avx2,fma"))) static Vector fill(float value) { return _mm256_set1_ps(value); }
    __attribute__((target("avx2,fma"))) static Vector multiply_add(Vector a, Vector b, Vector c) {
        return _mm256_fmadd_ps(a, b, c);
    }
};

struct Doubles {
    using Number = double;
    using Vector = __m256d;
    static constexpr std::size_t kLanes = 4;
    __attribute__((target("avx2,fma"))) static Vector load(const double* from) {
        return _mm256_loadu_pd(from);
    }
    __attribute__((target("avx2,fma"))) static void store(double* to, Vector v) { _mm256_storeu_pd(to, v); }
    __attribute__((target("avx2,fma"))) static Vector fill(double value) { return _mm256_set1_pd(value); }
    __attribute__((target("avx2,fma"))) static Vector multiply_add(Vector a, Vector b, Vector c) {
        return _mm256_fmadd_pd(a, b, c);
    }
};

/// Two rows by four vectors at once stay in registers. Returns the columns that are done.
template <typename Lanes>
__attribute__((target("avx2,fma"))) std::size_t by_vectors(std::size_t m, std::size_t n, std::size_t k,
                                                           const typename Lanes::Number* a,
                                                           const typename Lanes::Number* b,
                                                           typename Lanes::Number* sums) {
    constexpr std::size_t kStep = 4 * Lanes::kLanes;
    const std::size_t columns = n / kStep * kStep;
    for (std::size_t j = 0; j < columns; j += kStep) {
        for (std::size_t i = 0; i < m; i += 2) {
            const std::size_t second = i + 1 < m ? i + 1 : i;  // an odd last row is computed twice
            typename Lanes::Vector x[4], y[4];
            for (std::size_t v = 0; v < 4; ++v) {
                x[v] = Lanes::load(sums + i * n + j + v * Lanes::kLanes);
                y[v] = Lanes::load(sums + second * n + j + v * Lanes::kLanes);
            }
            for (std::size_t l = 0; l < k; ++l) {
                const auto p = Lanes::fill(a[i * k + l]), q = Lanes::fill(a[second * k + l]);
                for (std::size_t v = 0; v < 4; ++v) {
                    const auto factor = Lanes::load(b + l * n + j + v * Lanes::kLanes);
                    x[v] = Lanes::multiply_add(p, factor, x[v]);
                    y[v] = Lanes::multiply_add(q, factor, y[v]);
                }
            }
            for (std::size_t v = 0; v < 4; ++v) {
                Lanes::store(sums + i * n + j + v * Lanes::kLanes, x[v]);
                Lanes::store(sums + second * n + j + v * Lanes::kLanes, y[v]);
            }
        }
    }
    return columns;
}

#endif

}  // namespace

template <typename T>
void add_products(const ScalarChain& chain, std::size_t m, std::size_t n, std::size_t k, const T* a,
                  const T* b, T* sums) {
    std::size_t done = 0;
#ifdef HEDDLE_NUMERICS_X86
    if (chain.fused && !chain.flush_subnormals && processor_has_avx2() && __builtin_cpu_supports("fma")) {
        if constexpr (sizeof(T) == 4)
            done = by_vectors<Singles>(m, n, k, a, b, sums);
        else
            done = by_vectors<Doubles>(m, n, k, a, b, sums);
    }
#endif
    one_by_one(chain, m, n, k, done, a, b, sums);
}

template void add_products(const ScalarChain&, std::size_t, std::size_t, std::size_t, const float*,
                           const float*, float*);
template void add_products(const ScalarChain&, std::size_t, std::size_t, std::size_t, const double*,
                           const double*, double*);

}  // namespace heddle::numerics
