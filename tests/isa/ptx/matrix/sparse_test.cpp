// mma.sp against the dense definition on the elements that the metadata names.
#include <algorithm>
#include <catch2/catch.hpp>

#include "bench.h"
#include "isa/common/error.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/target/generation.h"

using namespace heddle::ptx::test;
using heddle::numerics::Format;

namespace {

// A row-wise choice of the stored elements: for each, its k; and the row's metadata bits.
struct SparseRow {
    std::vector<unsigned> k;
    std::uint64_t metadata = 0;
};

// PTX manual, "Sparse matrix storage": two of four for 8 and 16 bits, one of two for tf32, two pairs of four
// pairs for 4 bits.
SparseRow choose_row(unsigned bits, unsigned depth, std::mt19937& generator) {
    static const unsigned kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    SparseRow row;
    const unsigned chunk = bits == 4 ? 8 : bits == 32 ? 2 : 4;
    for (unsigned n = 0; n < depth / chunk; ++n) {
        if (bits == 32) {
            const bool second = generator() % 2 != 0;
            row.k.push_back(2 * n + (second ? 1 : 0));
            row.metadata |= std::uint64_t{second ? 0b1110u : 0b0100u} << (4 * n);
            continue;
        }
        const unsigned* pair = kPairs[generator() % 6];
        for (unsigned p = 0; p < 2; ++p) {
            if (bits == 4) row.k.push_back(8 * n + 2 * pair[p]);
            row.k.push_back(bits == 4 ? 8 * n + 2 * pair[p] + 1 : 4 * n + pair[p]);
        }
        row.metadata |= std::uint64_t{pair[0] | pair[1] << 2} << (4 * n);
    }
    return row;
}

// The figures "metadata layout": which bits of a row each lane holds.
std::vector<std::uint32_t> spread(const std::vector<SparseRow>& rows, unsigned bits, unsigned row_bits,
                                  unsigned selector) {
    std::vector<std::uint32_t> lanes(32, 0xDEADBEEF);  // in the others nothing is looked at
    for (unsigned group = 0; group < 8; ++group) {
        const std::uint64_t low = rows[group].metadata, high = rows[group + 8].metadata;
        std::uint32_t* t = &lanes[4 * group];
        const auto halves = [&](unsigned shift) {
            return static_cast<std::uint32_t>((low >> shift & 0xFFFF) | (high >> shift & 0xFFFF) << 16);
        };
        if (bits >= 16 && row_bits == 16) {
            t[selector] = halves(0);
        } else if (bits >= 16) {
            t[2 * selector] = halves(0);
            t[2 * selector + 1] = halves(16);
        } else if (row_bits == 32) {
            t[2 * selector] = static_cast<std::uint32_t>(low);
            t[2 * selector + 1] = static_cast<std::uint32_t>(high);
        } else {
            t[0] = static_cast<std::uint32_t>(low);
            t[1] = static_cast<std::uint32_t>(high);
            t[2] = static_cast<std::uint32_t>(low >> 32);
            t[3] = static_cast<std::uint32_t>(high >> 32);
        }
    }
    return lanes;
}

struct Case {
    std::string types;
    unsigned k, bits, row_bits, selectors;
};

struct Operands {
    std::vector<SparseRow> rows;
    Matrix a, b, c;  // a: stored elements
};

// What B holds for the k-th products of a row.
std::vector<std::uint64_t> met(const SparseRow& row, const std::vector<std::uint64_t>& b) {
    std::vector<std::uint64_t> result;
    for (const unsigned k : row.k) result.push_back(b[k]);
    return result;
}

Matrix run(const Case& c, const Operands& o, unsigned selector, unsigned sum_bits, bool ordered,
           unsigned capability) {
    const std::string suffix = std::string(ordered ? "sp::ordered_metadata" : "sp") + ".sync.aligned.m16n8k" +
                               std::to_string(c.k) + ".row.col." + c.types;
    return multiply({suffix, 16, 8, c.k, c.bits, sum_bits, c.k / 2}, o.a, o.b, o.c, capability,
                    spread(o.rows, c.bits, c.row_bits, selector), selector);
}

}  // namespace

TEST_CASE("Sparse floating-point mma", "[ptx][matrix]") {
    struct FloatCase {
        Case c;
        Format a, b, sum;
        unsigned first_capability = 80;
    };
    const FloatCase cases[] = {
        {{"f32.f16.f16.f32", 16, 16, 16, 4}, Format::fp16, Format::fp16, Format::fp32},
        {{"f32.f16.f16.f32", 32, 16, 32, 2}, Format::fp16, Format::fp16, Format::fp32},
        {{"f16.f16.f16.f16", 16, 16, 16, 4}, Format::fp16, Format::fp16, Format::fp16},
        {{"f16.f16.f16.f16", 32, 16, 32, 2}, Format::fp16, Format::fp16, Format::fp16},
        {{"f32.bf16.bf16.f32", 16, 16, 16, 4}, Format::bf16, Format::bf16, Format::fp32},
        {{"f32.bf16.bf16.f32", 32, 16, 32, 2}, Format::bf16, Format::bf16, Format::fp32},
        {{"f32.tf32.tf32.f32", 8, 32, 16, 4}, Format::tf32, Format::tf32, Format::fp32},
        {{"f32.tf32.tf32.f32", 16, 32, 32, 2}, Format::tf32, Format::tf32, Format::fp32},
        {{"f32.e4m3.e4m3.f32", 64, 8, 64, 1}, Format::e4m3, Format::e4m3, Format::fp32, 89},
        {{"f32.e4m3.e5m2.f32", 64, 8, 64, 1}, Format::e4m3, Format::e5m2, Format::fp32, 89},
        {{"f32.e5m2.e4m3.f32", 64, 8, 64, 1}, Format::e5m2, Format::e4m3, Format::fp32, 89},
        {{"f32.e5m2.e5m2.f32", 64, 8, 64, 1}, Format::e5m2, Format::e5m2, Format::fp32, 89},
    };
    for (const FloatCase& f : cases) {
        std::mt19937 generator(f.c.k);
        std::uniform_real_distribution<float> real(-4, 4);
        const auto draw = [&](Format format) -> std::uint64_t {
            return heddle::numerics::from_float(format, real(generator));
        };
        for (unsigned selector = 0; selector < f.c.selectors; ++selector) {
            Operands o;
            for (unsigned row = 0; row < 16; ++row) o.rows.push_back(choose_row(f.c.bits, f.c.k, generator));
            o.a = make_matrix(16, f.c.k / 2, [&] { return draw(f.a); });
            o.b = make_matrix(8, f.c.k, [&] { return draw(f.b); });
            o.c = make_matrix(16, 8, [&] { return draw(f.sum); });
            for (const unsigned capability : {80u, 89u, 90u, 100u}) {
                if (capability < f.first_capability) continue;
                const auto parameters =
                    heddle::numerics::parameters_for(heddle::target::generation_of(capability), f.a, f.b,
                                                     f.sum, heddle::numerics::Instruction::mma_sync);
                const Matrix d =
                    run(f.c, o, selector, f.sum == Format::fp16 ? 16 : 32, selector % 2 == 0, capability);
                INFO(f.c.types << " k" << f.c.k << " selector " << selector << " on " << capability);
                for (unsigned m = 0; m < 16; ++m) {
                    for (unsigned n = 0; n < 8; ++n) {
                        const auto b = met(o.rows[m], o.b[n]);
                        const std::vector<std::uint32_t> x(o.a[m].begin(), o.a[m].end()),
                            y(b.begin(), b.end());
                        REQUIRE(d[m][n] == heddle::numerics::dot_product(
                                               parameters, x, y, static_cast<std::uint32_t>(o.c[m][n])));
                    }
                }
            }
        }
    }
}

TEST_CASE("Sparse f16 equals the dense product of A with its zeros, block by block", "[ptx][matrix]") {
    // m16n8k32 of a sparse A whose sums are exact: small integers. Any order gives the same.
    std::mt19937 generator(3);
    Operands o;
    const auto small = [&]() -> std::uint64_t {
        return heddle::numerics::fp32_to_fp16(static_cast<float>(static_cast<int>(generator() % 17) - 8));
    };
    for (unsigned row = 0; row < 16; ++row) o.rows.push_back(choose_row(16, 32, generator));
    o.a = make_matrix(16, 16, small);
    o.b = make_matrix(8, 32, small);
    o.c = make_matrix(16, 8, [&]() -> std::uint64_t { return std::bit_cast<std::uint32_t>(3.0f); });
    const Matrix d = run({"f32.f16.f16.f32", 32, 16, 32, 2}, o, 1, 32, false, 80);
    for (unsigned m = 0; m < 16; ++m) {
        std::vector<float> dense(32);
        for (unsigned n = 0; n < 16; ++n)
            dense[o.rows[m].k[n]] = heddle::numerics::fp16_to_fp32(static_cast<std::uint16_t>(o.a[m][n]));
        for (unsigned n = 0; n < 8; ++n) {
            float sum = 3;
            for (unsigned k = 0; k < 32; ++k)
                sum += dense[k] * heddle::numerics::fp16_to_fp32(static_cast<std::uint16_t>(o.b[n][k]));
            REQUIRE(std::bit_cast<float>(static_cast<std::uint32_t>(d[m][n])) == sum);
        }
    }
}

TEST_CASE("Sparse integer mma", "[ptx][matrix]") {
    for (const bool a_signed : {false, true}) {
        for (const bool b_signed : {false, true}) {
            for (const bool saturates : {false, true}) {
                for (const unsigned bits : {4u, 8u}) {
                    for (const bool deep : {false, true}) {
                        const std::string width = std::to_string(bits);
                        const std::string types = std::string(saturates ? "satfinite." : "") + "s32." +
                                                  (a_signed ? "s" : "u") + width + "." +
                                                  (b_signed ? "s" : "u") + width + ".s32";
                        const unsigned k = (bits == 4 ? 64 : 32) * (deep ? 2 : 1);
                        const Case c{types, k, bits, deep ? 64u : 32u, deep ? 1u : 2u};
                        std::mt19937 generator(k);
                        const auto element = [&] { return generator() & ((1u << bits) - 1); };
                        const auto value = [&](std::uint64_t x, bool is_signed) {
                            const auto v = static_cast<std::int64_t>(x);
                            return is_signed && v >> (bits - 1) != 0 ? v - (std::int64_t{1} << bits) : v;
                        };
                        for (unsigned selector = 0; selector < c.selectors; ++selector) {
                            Operands o;
                            for (unsigned row = 0; row < 16; ++row)
                                o.rows.push_back(choose_row(bits, k, generator));
                            o.a = make_matrix(16, k / 2, element);
                            o.b = make_matrix(8, k, element);
                            o.c = make_matrix(16, 8, [&]() -> std::uint64_t {
                                return saturates ? 0x7FFFFFFFu - generator() % 1000 : generator();
                            });
                            const Matrix d = run(c, o, selector, 32, true, 90);
                            INFO(types << " k" << k << " selector " << selector);
                            for (unsigned m = 0; m < 16; ++m) {
                                for (unsigned n = 0; n < 8; ++n) {
                                    std::int64_t sum = static_cast<std::int32_t>(o.c[m][n]);
                                    for (unsigned i = 0; i < k / 2; ++i)
                                        sum += value(o.a[m][i], a_signed) *
                                               value(o.b[n][o.rows[m].k[i]], b_signed);
                                    if (saturates) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
                                    REQUIRE(d[m][n] == static_cast<std::uint32_t>(sum));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("A sparsity selector out of range is an error", "[ptx][matrix]") {
    std::vector<std::uint32_t> input(32 * 13);
    const auto attempt = [&](const std::string& shape_and_types, unsigned selector) {
        return run_warp(
            "mma.sp.sync.aligned." + shape_and_types +
                " {%d0, %d1, %d2, %d3}, {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9, %r10, "
                "%r11}, %r12, " +
                std::to_string(selector) + ";",
            13, 4, input, 90);
    };
    CHECK_NOTHROW(attempt("m16n8k64.row.col.s32.s8.s8.s32", 0));
    CHECK_THROWS_AS(attempt("m16n8k64.row.col.s32.s8.s8.s32", 1), heddle::Error);
    CHECK_NOTHROW(attempt("m16n8k16.row.col.f32.tf32.tf32.f32", 1));
    CHECK_THROWS_AS(attempt("m16n8k16.row.col.f32.tf32.tf32.f32", 2), heddle::Error);
}
