#include "validation/compare/tpu_product.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "isa/numerics/dot_product_unit.h"
#include "isa/numerics/formats.h"

using namespace heddle;
using namespace heddle::validation;

namespace {

struct Operands {
    std::uint64_t m, n, k;
    std::vector<std::uint16_t> a, b;  ///< m x k, n x k

    Operands(std::uint64_t m, std::uint64_t n, std::uint64_t k, unsigned seed, int exponents)
        : m(m), n(n), k(k) {
        std::mt19937 random(seed);
        const auto number = [&] {
            const float value = std::normal_distribution<float>()(random);
            const int shift = std::uniform_int_distribution<int>(-exponents, exponents)(random);
            return numerics::fp32_to_bf16(std::ldexp(value, shift));
        };
        for (std::uint64_t i = 0; i < m * k; ++i) a.push_back(number());
        for (std::uint64_t i = 0; i < n * k; ++i) b.push_back(number());
    }
    std::span<const std::uint16_t> row(std::uint64_t i) const { return {a.data() + i * k, k}; }
    std::span<const std::uint16_t> column(std::uint64_t j) const { return {b.data() + j * k, k}; }
    double exact(std::uint64_t i, std::uint64_t j) const {
        // bf16 products are exact in double, and so is nearly their sum beside errors of fp32.
        double sum = 0;
        for (std::uint64_t l = 0; l < k; ++l)
            sum +=
                static_cast<double>(numerics::bf16_to_fp32(row(i)[l])) * numerics::bf16_to_fp32(column(j)[l]);
        return sum;
    }
};

/// A GPU's result by an order that the TPU knows nothing of.
float on_hopper(const Operands& operands, std::uint64_t i, std::uint64_t j) {
    const auto parameters = numerics::parameters_for(numerics::Generation::hopper, numerics::Format::bf16,
                                                     numerics::Format::fp32);
    const std::vector<std::uint32_t> a(operands.row(i).begin(), operands.row(i).end()),
        b(operands.column(j).begin(), operands.column(j).end());
    return std::bit_cast<float>(numerics::dot_product(parameters, a, b, 0));
}

}  // namespace

TEST_CASE("the TPU's program gives the bits of its definition, near the exact sum") {
    const models::TpuConfig device;
    const Operands operands(37, 45, 700, 1, 4);
    const std::vector<float> d =
        tpu_product(device, operands.m, operands.n, operands.k, operands.a, operands.b);
    std::size_t inexact = 0;
    for (std::uint64_t i = 0; i < operands.m; ++i) {
        for (std::uint64_t j = 0; j < operands.n; ++j) {
            const float value = d[i * operands.n + j];
            REQUIRE(std::bit_cast<std::uint32_t>(value) ==
                    std::bit_cast<std::uint32_t>(tpu_element(device, operands.row(i), operands.column(j))));
            const double exact = operands.exact(i, j);
            const double magnitude = magnitude_of(operands.row(i), operands.column(j));
            REQUIRE(std::abs(value - exact) <= 700 * std::ldexp(1.001, -24) * magnitude);
            if (value != exact) ++inexact;
        }
    }
    CHECK(inexact > d.size() / 2);  // else nothing was shown
}

TEST_CASE("int8 products are exact integers") {
    const models::TpuConfig device;
    const std::uint64_t m = 33, n = 20, k = 300;
    std::mt19937 random(2);
    std::uniform_int_distribution<int> any(-128, 127);
    std::vector<std::int8_t> a(m * k), b(n * k);
    for (std::int8_t& value : a) value = static_cast<std::int8_t>(any(random));
    for (std::int8_t& value : b) value = static_cast<std::int8_t>(any(random));
    const std::vector<std::int32_t> d = tpu_product(device, m, n, k, a, b);
    for (std::uint64_t i = 0; i < m; ++i) {
        for (std::uint64_t j = 0; j < n; ++j) {
            std::int64_t sum = 0;
            for (std::uint64_t l = 0; l < k; ++l) sum += std::int64_t{a[i * k + l]} * b[j * k + l];
            REQUIRE(d[i * n + j] == sum);
            REQUIRE(tpu_element(std::span(a).subspan(i * k, k), std::span(b).subspan(j * k, k)) == sum);
        }
    }
}

TEST_CASE("a tensor core's results are within the bound, and not far below it in a bad case") {
    const models::TpuConfig device;
    double largest_share = 0;
    for (const std::uint64_t k : {16, 100, 2048}) {
        for (const int exponents : {0, 8}) {
            const Operands operands(8, 8, k, static_cast<unsigned>(k), exponents);
            for (std::uint64_t i = 0; i < 8; ++i) {
                for (std::uint64_t j = 0; j < 8; ++j) {
                    const double gpu = on_hopper(operands, i, j);
                    const double tpu = tpu_element(device, operands.row(i), operands.column(j));
                    const double bound =
                        unknown_order_bound(k, magnitude_of(operands.row(i), operands.column(j)), gpu, false);
                    REQUIRE(std::abs(gpu - tpu) <= bound);
                    largest_share = std::max(largest_share, std::abs(gpu - tpu) / bound);
                }
            }
        }
    }
    CHECK(largest_share > 0.001);
}

TEST_CASE("the bound rejects a result that is wrong in a product") {
    const models::TpuConfig device;
    Operands operands(1, 1, 256, 5, 0);
    const double gpu = on_hopper(operands, 0, 0);
    operands.a[100] ^= 0x8000;  // one sign
    const double tpu = tpu_element(device, operands.row(0), operands.column(0));
    CHECK(std::abs(gpu - tpu) >
          unknown_order_bound(256, magnitude_of(operands.row(0), operands.column(0)), gpu, false));
}
