// What a GEMM computes, in doubles.
#pragma once

#include <functional>
#include <vector>

#include "workloads/kernels/kernel.h"

namespace heddle::kernels::test {

/// Sizes of one product and where its operands lie.
struct GemmCase {
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    bool transpose_a = false, transpose_b = false;
    std::uint32_t padding = 0;  ///< elements between the rows of A, B, C and D

    std::uint32_t lda() const { return (transpose_a ? m : k) + padding; }
    std::uint32_t ldb() const { return (transpose_b ? k : n) + padding; }
    std::uint32_t ldc() const { return n + padding; }
    std::uint64_t stride_a() const { return std::uint64_t{lda()} * (transpose_a ? k : m); }
    std::uint64_t stride_b() const { return std::uint64_t{ldb()} * (transpose_b ? n : k); }
    std::uint64_t stride_c() const { return std::uint64_t{ldc()} * m; }
    double a(const std::vector<double>& values, std::uint32_t z, std::uint32_t i, std::uint32_t p) const {
        return values[z * stride_a() +
                      (transpose_a ? std::uint64_t{p} * lda() + i : std::uint64_t{i} * lda() + p)];
    }
    double b(const std::vector<double>& values, std::uint32_t z, std::uint32_t p, std::uint32_t j) const {
        return values[z * stride_b() +
                      (transpose_b ? std::uint64_t{j} * ldb() + p : std::uint64_t{p} * ldb() + j)];
    }
    /// Calls visit(batch, row, column, place in D) for every output.
    void for_each(
        const std::function<void(std::uint32_t, std::uint32_t, std::uint32_t, std::size_t)>& visit) const {
        for (std::uint32_t z = 0; z < batch; ++z) {
            for (std::uint32_t i = 0; i < m; ++i) {
                for (std::uint32_t j = 0; j < n; ++j)
                    visit(z, i, j, z * stride_c() + std::size_t{i} * ldc() + j);
            }
        }
    }
    /// The exact product (in doubles), one element.
    double product(const std::vector<double>& a_values, const std::vector<double>& b_values, std::uint32_t z,
                   std::uint32_t i, std::uint32_t j) const {
        double sum = 0;
        for (std::uint32_t p = 0; p < k; ++p) sum += a(a_values, z, i, p) * b(b_values, z, p, j);
        return sum;
    }
    std::vector<KernelArgument> arguments() const {
        return {integer_argument("m", m),
                integer_argument("n", n),
                integer_argument("k", k),
                integer_argument("lda", lda()),
                integer_argument("ldb", ldb()),
                integer_argument("ldc", ldc()),
                integer_argument("ldd", ldc()),
                integer_argument("stride_a", stride_a()),
                integer_argument("stride_b", stride_b()),
                integer_argument("stride_c", stride_c()),
                integer_argument("stride_d", stride_c())};
    }
};

}  // namespace heddle::kernels::test
