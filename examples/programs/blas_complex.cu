// Complex routines of cuBLAS, in single and double precision, each compared with sums on the host.
#include <cublas_v2.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "check.h"

static int wrong = 0;

static void blas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::printf("%s: %s\n", what, cublasGetStatusString(status));
    ++wrong;
}
#define BLAS(call) blas(call, #call)

static double number() {
    static std::uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return (static_cast<int>(seed >> 20) - 2048) / 1024.0;
}

using Wide = std::complex<double>;

template <class T>
struct Device {
    std::vector<std::complex<T>> host;
    std::complex<T>* data = nullptr;
    explicit Device(std::size_t count) : host(count) {
        for (auto& value : host) value = {static_cast<T>(number()), static_cast<T>(number())};
        CHECK(cudaMalloc(&data, count * sizeof host[0]));
        reset();
    }
    ~Device() { cudaFree(data); }
    void reset() { CHECK(cudaMemcpy(data, host.data(), host.size() * sizeof host[0], cudaMemcpyHostToDevice)); }
    Wide at(std::size_t i) const { return host[i]; }
    /// Compares everything that lies there now; `wanted` says what should.
    void expect(const char* what, const std::function<Wide(std::size_t)>& wanted) {
        std::vector<std::complex<T>> now(host.size());
        CHECK(cudaMemcpy(now.data(), data, host.size() * sizeof host[0], cudaMemcpyDeviceToHost));
        const double unit = sizeof(T) == 4 ? 1e-4 : 1e-12;
        for (std::size_t i = 0; i < now.size(); ++i) {
            const Wide right = wanted(i), got = now[i];
            if (std::abs(got - right) <= unit * (1 + std::abs(right))) continue;
            std::printf("%s %zu: %g %+gi instead of %g %+gi\n", what, i, got.real(), got.imag(), right.real(), right.imag());
            ++wrong;
            break;
        }
        reset();
    }
};

template <class T>
struct Names;
template <>
struct Names<float> {
    using Complex = cuComplex;
#define NAMES(letter, mixed, norm, index)                                                             \
    static constexpr auto copy = cublas##letter##copy;                                                \
    static constexpr auto swap = cublas##letter##swap;                                                \
    static constexpr auto scal = cublas##letter##scal;                                                \
    static constexpr auto sscal = cublas##mixed##scal;                                                \
    static constexpr auto axpy = cublas##letter##axpy;                                                \
    static constexpr auto dotu = cublas##letter##dotu, dotc = cublas##letter##dotc;                   \
    static constexpr auto nrm2 = cublas##norm##nrm2, asum = cublas##norm##asum;                       \
    static constexpr auto iamax = cublas##index##amax;                                                \
    static constexpr auto gemv = cublas##letter##gemv;                                                \
    static constexpr auto geru = cublas##letter##geru, gerc = cublas##letter##gerc;                   \
    static constexpr auto her = cublas##letter##her;                                                  \
    static constexpr auto hemv = cublas##letter##hemv;                                                \
    static constexpr auto gemm = cublas##letter##gemm;                                                \
    static constexpr auto gemm_strided = cublas##letter##gemmStridedBatched;                          \
    static constexpr auto gemm_batched = cublas##letter##gemmBatched;                                 \
    static constexpr auto hemm = cublas##letter##hemm;                                                \
    static constexpr auto herk = cublas##letter##herk;                                                \
    static constexpr auto her2k = cublas##letter##her2k;                                              \
    static constexpr auto syrk = cublas##letter##syrk;                                                \
    static constexpr auto geam = cublas##letter##geam;
    NAMES(C, Cs, Sc, Ic)
};
template <>
struct Names<double> {
    using Complex = cuDoubleComplex;
    NAMES(Z, Zd, Dz, Iz)
};

template <class T>
static void routines(cublasHandle_t handle) {
    using N = Names<T>;
    using C = typename N::Complex;
    constexpr int m = 33, n = 21, k = 40, lda = 45, batch = 3;
    const auto of = [](auto* pointer) { return reinterpret_cast<std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(pointer)>>, const C*, C*>>(pointer); };
    const std::complex<T> alpha(T(0.5), T(-1.25)), beta(T(-0.75), T(0.25));
    const Wide a_(alpha), b_(beta);
    Device<T> x(3 * 100), y(2 * 100), a(lda * 64 * batch), b(lda * 64 * batch), c(lda * 64 * batch);

    // Vectors, with increments of both signs.
    BLAS(N::copy(handle, 100, of(x.data), 3, of(y.data), -2));
    y.expect("copy", [&](std::size_t i) { return i % 2 == 0 ? x.at(3 * (99 - i / 2)) : y.at(i); });
    BLAS(N::swap(handle, 50, of(x.data), 1, of(y.data), 2));
    y.expect("swap", [&](std::size_t i) { return i % 2 == 0 && i < 100 ? x.at(i / 2) : y.at(i); });
    x.reset();
    BLAS(N::scal(handle, 100, of(&alpha), of(x.data), 3));
    x.expect("scal", [&](std::size_t i) { return i % 3 == 0 ? a_ * x.at(i) : x.at(i); });
    const T real = T(1.5);
    BLAS(N::sscal(handle, 100, &real, of(x.data), 3));
    x.expect("scal by a real number", [&](std::size_t i) { return i % 3 == 0 ? 1.5 * x.at(i) : x.at(i); });
    BLAS(N::axpy(handle, 100, of(&alpha), of(x.data), 3, of(y.data), 2));
    y.expect("axpy", [&](std::size_t i) { return i % 2 == 0 ? a_ * x.at(i / 2 * 3) + y.at(i) : y.at(i); });
    const auto sum = [&](bool conjugate) {
        Wide all = 0;
        for (int i = 0; i < 100; ++i) all += (conjugate ? std::conj(x.at(3 * i)) : x.at(3 * i)) * y.at(2 * i);
        return all;
    };
    const auto same = [](const char* what, Wide got, Wide right) {
        if (std::abs(got - right) <= (sizeof(T) == 4 ? 1e-4 : 1e-12) * (1 + std::abs(right))) return;
        std::printf("%s: %g %+gi instead of %g %+gi\n", what, got.real(), got.imag(), right.real(), right.imag());
        ++wrong;
    };
    std::complex<T> dot;
    BLAS(N::dotu(handle, 100, of(x.data), 3, of(y.data), 2, of(&dot)));
    same("dotu", dot, sum(false));
    BLAS(N::dotc(handle, 100, of(x.data), 3, of(y.data), 2, of(&dot)));
    same("dotc", dot, sum(true));
    T length = 0;
    double squares = 0, magnitudes = 0, most = -1;
    int place = 0, where = 0;
    for (int i = 0; i < 100; ++i) {
        squares += std::norm(x.at(3 * i));
        const double magnitude = std::abs(x.at(3 * i).real()) + std::abs(x.at(3 * i).imag());
        magnitudes += magnitude;
        if (magnitude > most) most = magnitude, where = i + 1;
    }
    BLAS(N::nrm2(handle, 100, of(x.data), 3, &length));
    same("nrm2", length, std::sqrt(squares));
    BLAS(N::asum(handle, 100, of(x.data), 3, &length));
    same("asum", length, magnitudes);
    BLAS(N::iamax(handle, 100, of(x.data), 3, &place));
    same("iamax", place, where);

    // Matrices.
    const auto op = [](const Device<T>& of_matrix, cublasOperation_t operation, int row, int column, std::size_t first = 0) {
        const Wide value = of_matrix.at(first + (operation == CUBLAS_OP_N ? row + std::size_t(column) * lda : column + std::size_t(row) * lda));
        return operation == CUBLAS_OP_C ? std::conj(value) : value;
    };
    for (const cublasOperation_t ta : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
        BLAS(N::gemv(handle, ta, m, n, of(&alpha), of(a.data), lda, of(x.data), 3, of(&beta), of(y.data), 2));
        const int rows = ta == CUBLAS_OP_N ? m : n, columns = ta == CUBLAS_OP_N ? n : m;
        y.expect("gemv", [&](std::size_t i) {
            if (i % 2 != 0 || i >= 2 * std::size_t(rows)) return y.at(i);
            Wide all = 0;
            for (int j = 0; j < columns; ++j) all += op(a, ta, int(i / 2), j) * x.at(3 * j);
            return a_ * all + b_ * y.at(i);
        });
        for (const cublasOperation_t tb : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
            const auto wanted = [&](std::size_t first, std::size_t i, Wide scale) {
                const int row = int(i % lda), column = int(i / lda);
                if (row >= m || column >= n) return c.at(first + i);
                Wide all = 0;
                for (int l = 0; l < k; ++l) all += op(a, ta, row, l, first) * op(b, tb, l, column, first);
                return a_ * all + scale * c.at(first + i);
            };
            BLAS(N::gemm(handle, ta, tb, m, n, k, of(&alpha), of(a.data), lda, of(b.data), lda, of(&beta), of(c.data), lda));
            c.expect("gemm", [&](std::size_t i) { return i < std::size_t(lda) * n ? wanted(0, i, b_) : c.at(i); });
        }
    }
    constexpr std::size_t stride = lda * 64;
    const auto batched = [&](std::size_t i) {
        const int row = int(i % stride % lda), column = int(i % stride / lda);
        if (row >= m || column >= n) return c.at(i);
        Wide all = 0;
        for (int l = 0; l < k; ++l) all += op(a, CUBLAS_OP_C, row, l, i / stride * stride) * op(b, CUBLAS_OP_N, l, column, i / stride * stride);
        return a_ * all + b_ * c.at(i);
    };
    BLAS(N::gemm_strided(handle, CUBLAS_OP_C, CUBLAS_OP_N, m, n, k, of(&alpha), of(a.data), lda, stride, of(b.data), lda, stride, of(&beta), of(c.data), lda, stride, batch));
    c.expect("gemmStridedBatched", batched);
    C** addresses = nullptr;
    CHECK(cudaMallocManaged(&addresses, 3 * batch * sizeof *addresses));
    for (int i = 0; i < batch; ++i) {
        addresses[i] = of(a.data) + i * stride;
        addresses[batch + i] = of(b.data) + i * stride;
        addresses[2 * batch + i] = of(c.data) + i * stride;
    }
    BLAS(N::gemm_batched(handle, CUBLAS_OP_C, CUBLAS_OP_N, m, n, k, of(&alpha), addresses, lda, addresses + batch, lda, of(&beta), addresses + 2 * batch, lda, batch));
    c.expect("gemmBatched", batched);
    const cudaDataType type = sizeof(T) == 4 ? CUDA_C_32F : CUDA_C_64F;
    BLAS(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_C, CUBLAS_OP_N, m, n, k, &alpha, a.data, type, lda, stride, b.data, type, lda, stride, &beta, c.data, type, lda, stride, batch,
                                    sizeof(T) == 4 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT));
    c.expect("GemmStridedBatchedEx", batched);

    for (const bool conjugate : {false, true}) {
        BLAS((conjugate ? N::gerc : N::geru)(handle, m, n, of(&alpha), of(x.data), 3, of(y.data), 2, of(a.data), lda));
        a.expect("ger", [&](std::size_t i) {
            const int row = int(i % lda), column = int(i / lda);
            if (row >= m || column >= n) return a.at(i);
            return a.at(i) + a_ * x.at(3 * row) * (conjugate ? std::conj(y.at(2 * column)) : y.at(2 * column));
        });
    }
    const auto hermitian = [&](int row, int column, cublasFillMode_t uplo) {
        if (row == column) return Wide(a.at(row + std::size_t(column) * lda).real());
        return (row > column) == (uplo == CUBLAS_FILL_MODE_LOWER) ? a.at(row + std::size_t(column) * lda) : std::conj(a.at(column + std::size_t(row) * lda));
    };
    for (const cublasFillMode_t uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
        const auto inside = [&](int row, int column) { return row < n && column < n && (uplo == CUBLAS_FILL_MODE_LOWER ? row >= column : row <= column); };
        BLAS(N::her(handle, uplo, n, &real, of(x.data), 3, of(a.data), lda));
        a.expect("her", [&](std::size_t i) {
            const int row = int(i % lda), column = int(i / lda);
            if (!inside(row, column)) return a.at(i);
            const Wide value = a.at(i) + 1.5 * x.at(3 * row) * std::conj(x.at(3 * column));
            return row == column ? Wide(value.real()) : value;
        });
        BLAS(N::hemv(handle, uplo, n, of(&alpha), of(a.data), lda, of(x.data), 3, of(&beta), of(y.data), 2));
        y.expect("hemv", [&](std::size_t i) {
            if (i % 2 != 0 || i >= 2 * n) return y.at(i);
            Wide all = 0;
            for (int j = 0; j < n; ++j) all += hermitian(int(i / 2), j, uplo) * x.at(3 * j);
            return a_ * all + b_ * y.at(i);
        });
        for (const cublasSideMode_t side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
            BLAS(N::hemm(handle, side, uplo, m, n, of(&alpha), of(a.data), lda, of(b.data), lda, of(&beta), of(c.data), lda));
            c.expect("hemm", [&](std::size_t i) {
                const int row = int(i % lda), column = int(i / lda);
                if (row >= m || column >= n) return c.at(i);
                Wide all = 0;
                for (int l = 0; l < (side == CUBLAS_SIDE_LEFT ? m : n); ++l)
                    all += side == CUBLAS_SIDE_LEFT ? hermitian(row, l, uplo) * b.at(l + std::size_t(column) * lda) : b.at(row + std::size_t(l) * lda) * hermitian(l, column, uplo);
                return a_ * all + b_ * c.at(i);
            });
        }
        const auto rank = [&](std::size_t i, bool conjugate, bool both, Wide scale, Wide of_c) {
            const int row = int(i % lda), column = int(i / lda);
            if (!inside(row, column)) return c.at(i);
            Wide first = 0, second = 0;
            for (int l = 0; l < k; ++l) {
                const Wide right = both ? b.at(column + std::size_t(l) * lda) : a.at(column + std::size_t(l) * lda);
                first += a.at(row + std::size_t(l) * lda) * (conjugate ? std::conj(right) : right);
                if (both) second += b.at(row + std::size_t(l) * lda) * std::conj(a.at(column + std::size_t(l) * lda));
            }
            const Wide value = scale * first + std::conj(scale) * second + of_c * c.at(i);
            return conjugate && row == column ? Wide(value.real()) : value;
        };
        const T minus = T(-0.5);
        BLAS(N::herk(handle, uplo, CUBLAS_OP_N, n, k, &real, of(a.data), lda, &minus, of(c.data), lda));
        c.expect("herk", [&](std::size_t i) { return rank(i, true, false, 1.5, -0.5); });
        BLAS(N::her2k(handle, uplo, CUBLAS_OP_N, n, k, of(&alpha), of(a.data), lda, of(b.data), lda, &minus, of(c.data), lda));
        c.expect("her2k", [&](std::size_t i) { return rank(i, true, true, a_, -0.5); });
        BLAS(N::syrk(handle, uplo, CUBLAS_OP_N, n, k, of(&alpha), of(a.data), lda, of(&beta), of(c.data), lda));
        c.expect("syrk", [&](std::size_t i) { return rank(i, false, false, a_, b_); });
    }
    BLAS(N::geam(handle, CUBLAS_OP_C, CUBLAS_OP_T, m, n, of(&alpha), of(a.data), lda, of(&beta), of(b.data), lda, of(c.data), lda));
    c.expect("geam", [&](std::size_t i) {
        const int row = int(i % lda), column = int(i / lda);
        return row >= m || column >= n ? c.at(i) : a_ * op(a, CUBLAS_OP_C, row, column) + b_ * op(b, CUBLAS_OP_T, row, column);
    });
    CHECK(cudaFree(addresses));
}

int main() {
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    routines<float>(handle);
    routines<double>(handle);
    // Scalars and results in device memory.
    Device<float> x(64), result(2);
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    BLAS(cublasCdotc(handle, 64, reinterpret_cast<cuComplex*>(x.data), 1, reinterpret_cast<cuComplex*>(x.data), 1, reinterpret_cast<cuComplex*>(result.data)));
    result.expect("dotc on the device", [&](std::size_t i) {
        Wide all = 0;
        for (int j = 0; j < 64; ++j) all += std::norm(x.at(j));
        return i == 0 ? all : result.at(i);
    });
    BLAS(cublasDestroy(handle));
    return verdict(wrong == 0, "complex routines");
}
