// Dropout, quantisation, the largest of a row.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "isa/numerics/formats.h"
#include "isa/numerics/philox.h"
#include "launcher.h"
#include "workloads/kernels/dropout.h"
#include "workloads/kernels/expert_slots.h"
#include "workloads/kernels/quantise.h"
#include "workloads/kernels/top_k.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace numerics = heddle::numerics;

TEST_CASE("Dropout keeps exactly what Philox says") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        for (const std::uint32_t elements : {1u, 1027u, 5003u}) {
            DropoutSpec spec;
            spec.compute_capability = capability;
            spec.x = spec.y = ElementType::f16;
            const std::vector<double> x = random_integers(elements, 1, 9, 5);
            const std::uint64_t seed = 0x123456789abcull, offset = 0x100000002ull;
            const float probability = 0.3f;
            Device device(capability);
            const std::uint32_t y = device.add_untouched(spec.y, elements),
                                mask = device.add_untouched(ElementType::boolean, elements);
            device.run(
                generate_dropout(spec), dropout_grid(spec, elements, 1),
                {pointer_argument("y", y), pointer_argument("mask", mask),
                 pointer_argument("x", device.add(spec.x, x)), integer_argument("elements", elements),
                 integer_argument("seed_low", seed & 0xffffffff), integer_argument("seed_high", seed >> 32),
                 integer_argument("offset_low", offset & 0xffffffff),
                 integer_argument("offset_high", offset >> 32), f32_argument("probability", probability),
                 f32_argument("scale", 2)});
            std::vector<double> kept, result;
            for (std::uint32_t i = 0; i < elements; ++i) {
                kept.push_back(numerics::philox_uniform(seed, offset, i) >= probability ? 1 : 0);
                result.push_back(kept.back() * 2 * x[i]);
            }
            check_equal(device.read(mask), kept);
            check_equal(device.read(y), result);
        }
    }
}

TEST_CASE("Quantisation to 8-bit floats, with the largest magnitude") {
    for (const bool e5m2 : {false, true}) {
        for (const unsigned width : {1u, 2u, 4u, 8u}) {
            QuantiseSpec spec;
            spec.x = ElementType::f32;
            spec.e5m2 = e5m2;
            spec.vector_width = width;
            const std::uint32_t elements = 3001 / width * width;
            std::vector<double> x = random_reals(spec.x, elements, -30, 30, 7);
            x[elements / 2] = -41.5;  // the largest magnitude
            x[1 % elements] = 1e-5, x[0] = 40;
            const double scale = e5m2 ? 4000 : 12;  // some are beyond the largest finite number
            Device device(90);
            const std::uint32_t y = device.add_untouched(ElementType::u8, elements),
                                amax = device.add(ElementType::f32, {0});
            device.run(
                generate_quantise(spec), quantise_grid(spec, elements, 1),
                {pointer_argument("y", y), pointer_argument("scale", device.add(ElementType::f32, {scale})),
                 pointer_argument("amax", amax), pointer_argument("x", device.add(spec.x, x)),
                 integer_argument("elements", elements)});
            const auto format = e5m2 ? numerics::Format::e5m2 : numerics::Format::e4m3;
            const double largest = e5m2 ? 57344 : 448;
            std::vector<double> expected, found;
            for (const double value : x) {
                const double product =
                    static_cast<float>(static_cast<float>(value) * static_cast<float>(scale));
                const double limited = std::clamp(product, -largest, largest);
                expected.push_back(
                    numerics::to_double(format, numerics::from_float(format, static_cast<float>(limited))));
            }
            for (const double bits : device.read(y))
                found.push_back(numerics::to_double(format, static_cast<std::uint64_t>(bits)));
            check_equal(found, expected);
            CHECK(device.read(amax)[0] == 41.5);
        }
    }
}

TEST_CASE("The k largest of each row, the first of equals first") {
    for (const std::uint32_t columns : {1u, 8u, 70u, 300u}) {
        const std::uint32_t rows = 7, k = std::min(columns, 6u);
        TopKSpec spec;
        spec.compute_capability = columns == 8 ? 70 : columns == 70 ? 80 : 90;
        spec.index = columns % 4 == 0 ? ElementType::i32 : ElementType::i64;
        spec.columns = columns;
        spec.k = k;
        std::vector<double> x = random_integers(rows * columns, -5, 5, columns);
        for (std::uint32_t c = 0; c < columns; ++c) x[c] = -INFINITY;
        Device device(spec.compute_capability);
        const std::uint32_t values = device.add_untouched(spec.x, rows * k),
                            indices = device.add_untouched(spec.index, rows * k);
        device.run(generate_top_k(spec), top_k_grid(spec, rows),
                   {pointer_argument("values", values), pointer_argument("indices", indices),
                    pointer_argument("x", device.add(spec.x, x)), integer_argument("rows", rows)});
        std::vector<double> best, places;
        for (std::uint32_t r = 0; r < rows; ++r) {
            std::vector<std::uint32_t> order(columns);
            std::iota(order.begin(), order.end(), 0u);
            std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
                return x[r * columns + a] > x[r * columns + b];
            });
            for (std::uint32_t j = 0; j < k; ++j)
                best.push_back(x[r * columns + order[j]]), places.push_back(order[j]);
        }
        INFO(columns << " columns");
        check_equal(device.read(values), best);
        check_equal(device.read(indices), places);
    }
}

TEST_CASE("Places in experts, in the order of the tokens, until the expert is full") {
    for (const std::uint32_t rows : {1u, 40u, 1000u}) {
        for (const unsigned threads : {32u, 256u, 1024u}) {
            const std::uint32_t experts = 5, capacity = rows / 5 + 1;
            ExpertSlotsSpec spec;
            spec.threads = threads;
            const std::vector<double> chosen = random_integers(rows, 0, experts - 1, rows);
            Device device(spec.compute_capability);
            const std::uint32_t slots = device.add_untouched(ElementType::i32, rows);
            device.run(generate_expert_slots(spec), {experts, 1, 1},
                       {pointer_argument("slots", slots),
                        pointer_argument("indices", device.add(ElementType::i32, chosen)),
                        integer_argument("rows", rows), integer_argument("capacity", capacity),
                        integer_argument("none", experts * capacity)});
            std::vector<double> taken(experts, 0), expected;
            for (const double expert : chosen) {
                const double place = taken[static_cast<std::size_t>(expert)]++;
                expected.push_back(place < capacity ? expert * capacity + place : experts * capacity);
            }
            INFO(rows << " tokens, " << threads << " threads");
            check_equal(device.read(slots), expected);
        }
    }
}
