// GEMMs by mma.sync of every type, from Volta's quad pairs to tf32, f64 and 8 bits: exact products of whole
// numbers in every layout, and the bits of the plan for others.
#include <catch2/catch.hpp>
#include <cstring>

#include "gemm_reference.h"
#include "isa/common/error.h"
#include "isa/numerics/counter_random.h"
#include "launcher.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_plan.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace numerics = heddle::numerics;

namespace {

struct Kind {
    ElementType type;
    unsigned capability;
};

GemmMmaSpec spec_of(const Kind& kind, unsigned copy_bytes) {
    const unsigned bytes = bytes_of(kind.type);
    GemmMmaSpec spec;
    spec.compute_capability = kind.capability;
    spec.type = kind.type;
    spec.tile = {64, 64, 128 / bytes, 2, 2, kind.capability < 80 ? 2u : 3u};
    spec.copy_a = spec.copy_b = copy_bytes / bytes;
    spec.epilogue.output = mma_accumulator(kind.type);
    return spec;
}

void check_exact(GemmMmaSpec spec, const GemmCase& c, unsigned seed) {
    spec.transpose_a = c.transpose_a;
    spec.transpose_b = c.transpose_b;
    spec.partition.batched = c.batch > 1;
    const std::vector<double> a = random_integers(c.stride_a() * c.batch, -4, 4, seed);
    const std::vector<double> b = random_integers(c.stride_b() * c.batch, -4, 4, seed + 1);
    Device device(spec.compute_capability);
    std::vector<KernelArgument> arguments = c.arguments();
    arguments.push_back(pointer_argument("a", device.add(spec.type, a)));
    arguments.push_back(pointer_argument("b", device.add(spec.type, b)));
    const std::vector<double> before(c.stride_c() * c.batch, -77);
    const std::uint32_t d = device.add(spec.epilogue.output, before);
    arguments.push_back(pointer_argument("d", d));
    const GeneratedKernel kernel = generate_gemm_mma(spec);
    device.run(kernel, gemm_mma_grid(spec, c.m, c.n, c.batch), arguments);
    std::vector<double> reference = before;
    c.for_each(
        [&](auto z, auto i, auto j, std::size_t place) { reference[place] = c.product(a, b, z, i, j); });
    INFO(kernel.entry << " m " << c.m << " n " << c.n << " k " << c.k);
    check_equal(device.read(d), reference);
}

template <typename Storage>
std::vector<std::byte> random_bits(numerics::Format format, std::size_t count, std::uint64_t seed) {
    std::vector<std::byte> bytes(count * sizeof(Storage));
    numerics::fill_random(format, numerics::Distribution::normal, seed, 0,
                          std::span(reinterpret_cast<Storage*>(bytes.data()), count));
    return bytes;
}

std::vector<std::byte> random_of(ElementType type, std::size_t count, std::uint64_t seed) {
    switch (type) {
        case ElementType::f64:
            return random_bits<std::uint64_t>(numerics::Format::fp64, count, seed);
        case ElementType::f32:
            return random_bits<std::uint32_t>(numerics::Format::fp32, count, seed);
        case ElementType::e4m3:
            return random_bits<std::uint8_t>(numerics::Format::e4m3, count, seed);
        default:
            return random_bits<std::uint16_t>(numerics::Format::fp16, count, seed);
    }
}

const Kind kVolta{ElementType::f16, 70};
const Kind kTf32{ElementType::f32, 80};
const Kind kDouble{ElementType::f64, 80};
const Kind kHopperDouble{ElementType::f64, 90};
const Kind kInteger{ElementType::i8, 80};
const Kind kAdaFloat{ElementType::e4m3, 89};

}  // namespace

TEST_CASE("mma.sync of every type multiplies any sizes in every layout that it has") {
    unsigned seed = 1;
    for (const Kind& kind : {kVolta, kTf32, kDouble, kHopperDouble, kInteger}) {
        const unsigned bytes = bytes_of(kind.type);
        for (const bool transpose_a : {false, true}) {
            for (const bool transpose_b : {false, true}) {
                if (bytes == 1 && (transpose_a || !transpose_b)) continue;
                for (const unsigned copy_bytes : {16u, 4u, 2u}) {
                    if (copy_bytes < std::max(bytes, bytes == 1 ? 4u : 2u)) continue;
                    const GemmMmaSpec spec = spec_of(kind, copy_bytes);
                    const unsigned copy = spec.copy_a;
                    // Not a multiple of the tile, nor of twice the copies; several rounds of the ring.
                    check_exact(spec,
                                {64 + copy, 64 + 3 * copy, 4 * spec.tile.k + 3 * copy, 1, transpose_a,
                                 transpose_b, copy},
                                seed += 10);
                    check_exact(spec, {copy, copy, copy, 1, transpose_a, transpose_b, 0}, seed += 10);
                }
            }
        }
    }
}

TEST_CASE("mma.sync of every type: tiles, warps and batches") {
    unsigned seed = 9000;
    struct Case {
        Kind kind;
        GemmTile tile;
        bool transpose_a, transpose_b;
    };
    for (const Case& c : {Case{kTf32, {128, 128, 32, 2, 2, 3}, false, true},
                          {kTf32, {128, 64, 16, 4, 1, 4}, true, false},
                          {kTf32, {64, 256, 16, 1, 4, 3}, false, false},
                          {kDouble, {128, 64, 16, 4, 2, 3}, false, true},
                          {kDouble, {64, 128, 16, 2, 4, 2}, true, false},
                          {kHopperDouble, {64, 64, 16, 2, 2, 4}, true, true},
                          {kInteger, {128, 128, 64, 2, 2, 4}, false, true},
                          {kInteger, {64, 256, 128, 1, 4, 3}, false, true},
                          {kVolta, {128, 64, 32, 4, 1, 2}, false, true},
                          {kVolta, {64, 128, 64, 1, 4, 2}, true, false}}) {
        GemmMmaSpec spec = spec_of(c.kind, 16);
        spec.tile = c.tile;
        spec.raster_log2 = 1;
        const unsigned copy = spec.copy_a;
        check_exact(spec,
                    {c.tile.m - copy, c.tile.n + copy, c.tile.k + copy, 2, c.transpose_a, c.transpose_b, 0},
                    seed += 10);
    }
}

TEST_CASE("mma.sync of every type has the bits of its plan") {
    for (const Kind& kind : {kVolta, kTf32, kDouble, kHopperDouble, kAdaFloat}) {
        const GemmCase c{40, 72, 176, 1, false, true, 0};
        GemmMmaSpec spec = spec_of(kind, 16);
        spec.transpose_b = true;
        const std::vector<std::byte> a = random_of(kind.type, c.stride_a(), 1),
                                     b = random_of(kind.type, c.stride_b(), 2);
        Device device(kind.capability);
        std::vector<KernelArgument> arguments = c.arguments();
        arguments.push_back(pointer_argument("a", device.add_bytes(a)));
        arguments.push_back(pointer_argument("b", device.add_bytes(b)));
        const std::uint32_t d = device.add_untouched(spec.epilogue.output, c.stride_c());
        arguments.push_back(pointer_argument("d", d));
        device.run(generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n), arguments);
        numerics::PlanOperands operands;
        operands.m = c.m;
        operands.n = c.n;
        operands.k = c.k;
        operands.a = a;
        operands.b = b;
        const std::vector<std::byte> expected = numerics::evaluate(plan_of(spec), operands);
        const std::vector<std::byte> got = device.read_bytes(d);
        INFO(name_of(kind.type) << " on " << kind.capability);
        REQUIRE(got.size() == expected.size());
        CHECK(std::memcmp(got.data(), expected.data(), got.size()) == 0);
    }
}

TEST_CASE("mma.sync refuses types and layouts that it does not have") {
    GemmMmaSpec spec = spec_of(kTf32, 16);
    spec.compute_capability = 75;
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
    spec = spec_of(kInteger, 16);
    spec.transpose_a = true;
    spec.transpose_b = true;
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
    spec = spec_of(kDouble, 16);
    spec.tile.k = 8;
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
}
