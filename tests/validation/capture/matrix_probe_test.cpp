// The probes' kernels on the virtual GPU, whose fragments are tested against the manual elsewhere, give what
// isa/numerics' definition of a dot product says.
#include "validation/capture/sections/matrix_probe.h"

#include <catch2/catch.hpp>
#include <random>

#include "functional_device.h"
#include "validation/capture/sections/sum_model.h"

using namespace heddle::capture;
using heddle::capture::test::FunctionalDevice;

namespace {

std::uint64_t any_bits(Element element, std::mt19937_64& generator) {
    const unsigned bits = bits_of(element);
    if (const auto format = format_of(element); format && generator() % 8 != 0) {
        const int exponent = static_cast<int>(generator() % 12) - 6;
        return heddle::numerics::encode(*format, generator() % 2 != 0, generator() >> 40, exponent - 24);
    }
    return bits == 64 ? generator() : generator() & ((std::uint64_t{1} << bits) - 1);
}

std::vector<std::uint64_t> draw(std::size_t count, Element element, std::mt19937_64& generator) {
    std::vector<std::uint64_t> values(count);
    for (std::uint64_t& value : values) value = any_bits(element, generator);
    return values;
}

DotProducts draw_products(const MatrixInstruction& i, std::size_t count, unsigned steps, std::mt19937_64& g) {
    DotProducts products;
    products.k = i.k * steps;
    for (std::size_t n = 0; n < count; ++n)
        products.add(draw(products.k, i.a, g), draw(products.k, i.b, g), any_bits(i.sum, g));
    return products;
}

std::vector<SparseRow> choose_rows(const MatrixInstruction& i, std::size_t count, std::mt19937_64& g) {
    static constexpr std::uint8_t kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    std::vector<SparseRow> rows(count);
    const unsigned bits = bits_of(i.a), chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    for (SparseRow& row : rows) {
        for (unsigned k = 0; k < i.k; k += chunk) {
            const std::uint8_t* pair = kPairs[g() % 6];
            if (bits == 32) row.push_back(static_cast<std::uint8_t>(k + g() % 2));
            for (unsigned p = 0; p < 2 && bits != 32; ++p) {
                row.push_back(static_cast<std::uint8_t>(bits == 4 ? k + 2 * pair[p] : k + pair[p]));
                if (bits == 4) row.push_back(static_cast<std::uint8_t>(k + 2 * pair[p] + 1));
            }
        }
    }
    return rows;
}

}  // namespace

TEST_CASE("Probes of every dense instruction on every generation", "[capture][probes]") {
    std::mt19937_64 generator(1);
    for (const unsigned capability : {70u, 75u, 80u, 89u, 90u}) {
        unsigned compared = 0;
        for (const MatrixInstruction& i : matrix_instructions(capability)) {
            if (i.kind == MatrixInstruction::Kind::sparse) continue;
            for (const unsigned steps : {1u, 2u}) {
                if (i.kind == MatrixInstruction::Kind::quad && steps != 1) continue;
                const DotProducts products = draw_products(i, 70, steps, generator);
                const auto expected = predict(i, capability, products);
                INFO(i.mnemonic() << " on " << capability << ", steps " << steps);
                FunctionalDevice device(capability);
                if (!expected) continue;
                CHECK(MatrixProbe(device, i, steps).run(products) == *expected);
                ++compared;
            }
        }
        CHECK(compared >= (capability == 70 ? 2 : capability == 75 ? 10 : capability == 80 ? 50 : 60));
    }
}

TEST_CASE("Probes of whole tiles, sparse ones too", "[capture][probes]") {
    std::mt19937_64 generator(2);
    for (const unsigned capability : {80u, 90u}) {
        for (const MatrixInstruction& i : matrix_instructions(capability)) {
            const unsigned products = fragment_sizes(i).products, tiles = 2 * products;
            const unsigned steps = i.kind == MatrixInstruction::Kind::quad ? 1 : 2;
            const auto a = draw(std::size_t{tiles} * steps * i.m * i.stored_k(), i.a, generator);
            const auto b = draw(std::size_t{tiles} * steps * i.n * i.k, i.b, generator);
            const auto c = draw(std::size_t{tiles} * i.m * i.n, i.sum, generator);
            std::vector<SparseRow> rows;
            if (i.kind == MatrixInstruction::Kind::sparse)
                rows = choose_rows(i, std::size_t{tiles} * steps * i.m, generator);
            const auto expected = predict_tiles(i, capability, steps, a, b, c, rows);
            if (!expected) continue;
            INFO(i.mnemonic() << " on " << capability);
            FunctionalDevice device(capability);
            CHECK(MatrixProbe(device, i, steps).tiles(a, b, c, rows) == *expected);
        }
    }
}

TEST_CASE("The probes' own model is isa/numerics' definition", "[capture][probes]") {
    std::mt19937_64 generator(3);
    for (const unsigned capability : {70u, 75u, 80u, 89u, 90u, 100u}) {
        for (const MatrixInstruction& i : matrix_instructions(capability)) {
            const auto model = model_of(i, capability);
            if (!model || i.kind == MatrixInstruction::Kind::sparse) continue;
            const DotProducts products = draw_products(i, 200, 1, generator);
            const auto expected = predict(i, capability, products);
            INFO(i.mnemonic() << " on " << capability);
            std::vector<std::uint64_t> own;
            for (std::size_t n = 0; n < products.count(); ++n)
                own.push_back(evaluate(*model, products.a_row(n), products.b_row(n), products.c[n]));
            CHECK(own == *expected);
        }
    }
}
