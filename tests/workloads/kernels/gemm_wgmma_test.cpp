// Hopper GEMMs on the functional machine against their plans, bit for bit: layouts, tails, tiles, schedules,
// clusters, ways out.
#include "workloads/kernels/gemm_wgmma.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "gemm_reference.h"
#include "isa/common/error.h"
#include "isa/numerics/counter_random.h"
#include "launcher.h"
#include "workloads/kernels/gemm_plan.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;
namespace numerics = heddle::numerics;

namespace {

using Bytes = std::vector<std::byte>;

Bytes random_elements(ElementType type, std::size_t count, std::uint64_t seed) {
    Bytes bytes(count * bytes_of(type));
    if (type == ElementType::i8) {
        numerics::fill_random_int8(numerics::Distribution::normal, seed, 0,
                                   std::span(reinterpret_cast<std::int8_t*>(bytes.data()), count));
        return bytes;
    }
    if (type == ElementType::e4m3 || type == ElementType::e5m2) {
        numerics::fill_random(type == ElementType::e4m3 ? numerics::Format::e4m3 : numerics::Format::e5m2,
                              numerics::Distribution::normal, seed, 0,
                              std::span(reinterpret_cast<std::uint8_t*>(bytes.data()), count));
        return bytes;
    }
    if (type == ElementType::f32) {
        numerics::fill_random(numerics::Format::fp32, numerics::Distribution::normal, seed, 0,
                              std::span(reinterpret_cast<std::uint32_t*>(bytes.data()), count));
        return bytes;
    }
    numerics::fill_random(type == ElementType::bf16 ? numerics::Format::bf16 : numerics::Format::fp16,
                          numerics::Distribution::normal, seed, 0,
                          std::span(reinterpret_cast<std::uint16_t*>(bytes.data()), count));
    return bytes;
}

/// An operand as [batch][rows][k], dense, from where the kernel reads it.
Bytes dense(const Bytes& stored, const GemmCase& c, bool is_a, std::size_t element) {
    const std::uint32_t rows = is_a ? c.m : c.n;
    const bool across = is_a ? c.transpose_a : !c.transpose_b;
    const std::uint64_t leading = is_a ? c.lda() : c.ldb(), stride = is_a ? c.stride_a() : c.stride_b();
    Bytes bytes;
    for (std::uint32_t z = 0; z < c.batch; ++z) {
        for (std::uint32_t i = 0; i < rows; ++i) {
            for (std::uint32_t k = 0; k < c.k; ++k) {
                const std::uint64_t at = z * stride + (across ? k * leading + i : i * leading + k);
                bytes.insert(bytes.end(), stored.begin() + static_cast<std::ptrdiff_t>(at * element),
                             stored.begin() + static_cast<std::ptrdiff_t>((at + 1) * element));
            }
        }
    }
    return bytes;
}

GemmProblem problem_of(const GemmCase& c) {
    GemmProblem p;
    p.m = c.m;
    p.n = c.n;
    p.k = c.k;
    p.batch = c.batch;
    p.lda = c.lda();
    p.ldb = c.ldb();
    p.ldc = p.ldd = c.ldc();
    if (c.batch > 1) {
        p.stride_a = c.stride_a();
        p.stride_b = c.stride_b();
        p.stride_c = p.stride_d = c.stride_c();
    }
    return p;
}

/// Runs the kernel and its plan; returns how many elements of D differ, padding included.
std::size_t differences(GemmWgmmaSpec spec, const GemmCase& c, unsigned sms) {
    spec.transpose_a = c.transpose_a;
    spec.transpose_b = c.transpose_b;
    spec.partition.batched = c.batch > 1;
    const Bytes a = random_elements(spec.type, c.stride_a() * c.batch, 1),
                b = random_elements(spec.type, c.stride_b() * c.batch, 2);
    Device device(spec.compute_capability);
    GemmProblem p = problem_of(c);
    p.a = pointer_argument("a", device.add_bytes(a));
    p.b = pointer_argument("b", device.add_bytes(b));
    const std::uint32_t d = device.add_untouched(spec.epilogue.output, c.stride_c() * c.batch);
    p.d = pointer_argument("d", d);
    const GemmWgmmaLaunch launch = gemm_wgmma_launch(spec, p, sms);
    device.run(generate_gemm_wgmma(spec), launch.grid, launch.arguments);

    const std::size_t size = bytes_of(spec.epilogue.output), in = bytes_of(spec.type);
    Bytes expected(c.stride_c() * c.batch * size, std::byte{0xff});
    const numerics::ReductionPlan plan = plan_of(spec);
    const Bytes dense_a = dense(a, c, true, in), dense_b = dense(b, c, false, in);
    for (std::uint32_t z = 0; z < c.batch; ++z) {
        numerics::PlanOperands operands;
        operands.m = c.m;
        operands.n = c.n;
        operands.k = c.k;
        operands.a = std::span(dense_a).subspan(std::size_t{z} * c.m * c.k * in, std::size_t{c.m} * c.k * in);
        operands.b = std::span(dense_b).subspan(std::size_t{z} * c.n * c.k * in, std::size_t{c.n} * c.k * in);
        const Bytes result = numerics::evaluate(plan, operands);
        for (std::uint32_t i = 0; i < c.m; ++i) {
            std::memcpy(expected.data() + (z * c.stride_c() + std::size_t{i} * c.ldc()) * size,
                        result.data() + std::size_t{i} * c.n * size, c.n * size);
        }
    }
    const Bytes got = device.read_bytes(d);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); i += size)
        wrong += std::memcmp(got.data() + i, expected.data() + i, size) != 0;
    return wrong;
}

}  // namespace

TEST_CASE("Hopper GEMMs give the bits of their plans in every layout, with tails") {
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            for (const bool swap : {false, true}) {
                for (const ElementType output : {ElementType::f32, ElementType::bf16}) {
                    GemmWgmmaSpec spec;
                    spec.epilogue.output = output;
                    spec.tile = {.m = 128, .n = 128, .stages = 3, .swap = swap};
                    CAPTURE(transpose_a, transpose_b, swap, name_of(output));
                    // Tails in m, n and k, several tiles for a CTA, stages that a tile does not begin with.
                    const GemmCase c{.m = 328,
                                     .n = 200,
                                     .k = 456,
                                     .transpose_a = transpose_a,
                                     .transpose_b = transpose_b,
                                     .padding = 8};
                    CHECK(differences(spec, c, 2) == 0);
                }
            }
        }
    }
}

TEST_CASE("Tiles, schedules and clusters of Hopper GEMMs give the same bits") {
    using enum WgmmaSchedule;
    const std::vector<WgmmaTile> tiles{
        {.m = 128, .n = 256, .stages = 4},
        {.m = 256, .n = 128, .stages = 4},
        {.m = 64, .n = 256, .stages = 3, .consumers = 1},
        {.m = 192, .n = 96, .stages = 3, .consumers = 3},
        {.m = 128, .n = 128, .stages = 3, .consumers = 1, .swap = true},
        {.m = 64, .n = 256, .stages = 3, .schedule = ping_pong},
        {.m = 128, .n = 80, .stages = 5, .schedule = ping_pong},
        {.m = 48, .n = 128, .stages = 6, .swap = true},
        {.m = 80, .n = 192, .stages = 4, .schedule = ping_pong, .swap = true},
        {.m = 8, .n = 128, .stages = 8, .swap = true},
        // Results that leave in whole boxes and a narrower one.
        {.m = 176, .n = 192, .stages = 3, .consumers = 3, .swap = true},
        {.m = 208, .n = 128, .stages = 3, .swap = true},
        {.m = 56, .n = 128, .stages = 3, .swap = true},
        {.m = 128, .n = 128, .stages = 3, .cluster_m = 2},
        {.m = 128, .n = 128, .stages = 3, .cluster_n = 2},
        {.m = 128, .n = 64, .stages = 3, .cluster_m = 2, .cluster_n = 2},
        {.m = 128, .n = 64, .stages = 3, .schedule = ping_pong, .swap = true, .cluster_m = 2},
        {.m = 128, .n = 64, .stages = 2, .ctas_per_sm = 2},
    };
    for (const WgmmaTile& tile : tiles) {
        for (const bool transposed : {false, true}) {
            for (const ElementType output : {ElementType::f32, ElementType::f16}) {
                GemmWgmmaSpec spec;
                spec.type = ElementType::f16;
                spec.epilogue.output = output;
                spec.tile = tile;
                spec.raster_log2 = 1;
                CAPTURE(generate_gemm_wgmma(spec).entry, transposed);
                const GemmCase c{.m = 3 * tile.m - (transposed ? 8u : 5u),
                                 .n = 3 * tile.n - 24,
                                 .k = 200,
                                 .batch = 2,
                                 .transpose_a = transposed,
                                 .transpose_b = !transposed,
                                 .padding = transposed ? 8u : 0};
                CHECK(differences(spec, c, 4) == 0);
            }
        }
    }
}

TEST_CASE("Stream-K gives the bits of its plan, whatever the number of SMs") {
    for (const WgmmaTile& tile : {WgmmaTile{.m = 128, .n = 64, .stages = 3},
                                  WgmmaTile{.m = 64, .n = 128, .stages = 4, .consumers = 1},
                                  WgmmaTile{.m = 40, .n = 128, .stages = 4, .swap = true}}) {
        for (const unsigned sms : {1u, 3u, 5u, 7u, 40u}) {
            // 64 stages and more, by parts of 1 ... 64.
            const std::uint32_t m = 3 * tile.m - 3, n = 2 * tile.n + 8, k = 648;
            GemmWgmmaSpec spec;
            spec.tile = tile;
            spec.transpose_b = true;
            spec.partition.split_k = spec.stream_k = true;
            spec.epilogue.vector_width = 4;
            GemmProblem p;
            p.m = m;
            p.n = n;
            p.k = k;
            p.lda = p.ldb = k;
            p.ldd = n;
            p.stride_d = std::uint64_t{m} * n;
            const StreamK stream = stream_k_of(spec, p, sms);
            CAPTURE(generate_gemm_wgmma(spec).entry, sms, stream.slices, stream.stages_per_cta);
            CHECK(stream.stages_per_cta * stream.ctas >= 3 * 3 * 11);
            p.splits = stream.slices;
            Device device(90);
            const Bytes a = random_elements(spec.type, std::size_t{m} * k, 1),
                        b = random_elements(spec.type, std::size_t{n} * k, 2);
            p.a = pointer_argument("a", device.add_bytes(a));
            p.b = pointer_argument("b", device.add_bytes(b));
            const std::uint32_t workspace =
                device.add_untouched(ElementType::f32, p.stride_d * stream.slices);
            const std::uint32_t d = device.add_untouched(ElementType::f32, p.stride_d);
            p.d = pointer_argument("d", workspace);
            const GemmWgmmaLaunch launch = gemm_wgmma_launch(spec, p, sms);
            CHECK(launch.grid[0] <= sms);
            device.run(generate_gemm_wgmma(spec), launch.grid, launch.arguments);

            SplitKReduceSpec reduce;
            reduce.compute_capability = 90;
            reduce.stream_tile_m = tile.m;
            reduce.stream_tile_n = tile.n;
            reduce.epilogue.vector_width = 4;
            std::vector<KernelArgument> arguments{
                pointer_argument("workspace", workspace),
                pointer_argument("d", d),
                integer_argument("m", m),
                integer_argument("n", n),
                integer_argument("ldd", n),
                integer_argument("splits", stream.slices),
                integer_argument("slice_stride", p.stride_d),
                integer_argument("stride_d", p.stride_d),
                integer_argument("tiles_m", stream.tiles_m),
                integer_argument("stages_per_tile", stream.stages_per_tile)};
            add_divider_arguments(arguments, "stages_per_cta", stream.stages_per_cta);
            add_divider_arguments(arguments, "row_vectors", n / split_k_reduce_width(reduce));
            device.run(generate_split_k_reduce(reduce), split_k_reduce_grid(reduce, m, n), arguments);

            GemmChoice choice;
            choice.stream = stream;
            choice.tile = {tile.m, tile.n, 64, 0, 0, tile.stages};
            GemmEpilogue epilogue;
            const numerics::ReductionPlan plan = plan_of(spec, stream.stages_per_cta * 64, epilogue);
            numerics::PlanOperands operands;
            operands.m = m;
            operands.n = n;
            operands.k = k;
            operands.a = a;
            operands.b = b;
            CHECK(device.read_bytes(d) == evaluate(planned_parts(choice, plan, m, n), operands));
        }
    }
}

TEST_CASE("Hopper GEMMs apply bias, ReLU and C in the epilogue, and keep what was before it") {
    for (const bool swap : {false, true}) {
        for (const bool tensor_store : {true, false}) {
            if (swap && !tensor_store) continue;
            for (const ElementType output : {ElementType::f32, ElementType::bf16}) {
                GemmWgmmaSpec spec;
                spec.tile = {.m = 128, .n = 128, .stages = 3, .swap = swap};
                spec.tensor_store = tensor_store;
                spec.transpose_b = true;
                spec.partition.batched = true;
                spec.epilogue.expression =
                    heddle::expression::parse("y0 = max(x0 + x1, 0) + s0 * x2; y1 = x0 + x1");
                spec.epilogue.output = output;
                spec.epilogue.bias = spec.epilogue.c = ElementType::bf16;
                spec.epilogue.auxiliary = ElementType::bf16;
                spec.epilogue.vector_width = 8;
                const GemmCase c{.m = 200, .n = 184, .k = 72, .batch = 2, .transpose_b = true};
                const auto a = random_integers(c.stride_a() * c.batch, -2, 2, 1);
                const auto b = random_integers(c.stride_b() * c.batch, -2, 2, 2);
                const auto old = random_integers(c.stride_c() * c.batch, -8, 8, 3);
                const auto bias = random_integers(c.n, -8, 8, 4);
                Device device(90);
                GemmProblem p = problem_of(c);
                p.a = pointer_argument("a", device.add(spec.type, a));
                p.b = pointer_argument("b", device.add(spec.type, b));
                const std::uint32_t d = device.add_untouched(output, old.size());
                const std::uint32_t y1 = device.add_untouched(ElementType::bf16, old.size());
                p.d = pointer_argument("d", d);
                GemmWgmmaLaunch launch = gemm_wgmma_launch(spec, p, 3);
                launch.arguments.push_back(pointer_argument("c", device.add(ElementType::bf16, old)));
                launch.arguments.push_back(pointer_argument("bias", device.add(ElementType::bf16, bias)));
                launch.arguments.push_back(pointer_argument("auxiliary", y1));
                launch.arguments.push_back(f32_argument("s0", 0.5f));
                device.run(generate_gemm_wgmma(spec), launch.grid, launch.arguments);
                std::vector<double> expected(old.size()), before(old.size());
                c.for_each([&](auto z, auto i, auto j, std::size_t place) {
                    const double sum = c.product(a, b, z, i, j) + bias[j];
                    before[place] = rounded(ElementType::bf16, sum);
                    expected[place] = rounded(output, std::max(sum, 0.0) + 0.5 * old[place]);
                });
                CAPTURE(swap, tensor_store, name_of(output));
                check_equal(device.read(d), expected);
                check_equal(device.read(y1), before);
            }
        }
    }
}

TEST_CASE("Hopper GEMMs of tf32, 8-bit floats and integers give the bits of their plans") {
    for (const ElementType type : {ElementType::f32, ElementType::i8, ElementType::e4m3, ElementType::e5m2}) {
        for (const bool swap : {false, true}) {
            GemmWgmmaSpec spec;
            spec.type = type;
            spec.tile = {.m = 128, .n = 128, .stages = 3, .swap = swap, .cluster_m = 2};
            spec.epilogue.output = type == ElementType::i8     ? ElementType::i32
                                   : type == ElementType::e4m3 ? ElementType::bf16
                                                               : ElementType::f32;
            CAPTURE(name_of(type), swap);
            CHECK(differences(spec, {.m = 300, .n = 200, .k = 336, .transpose_b = true}, 4) == 0);
            spec.transpose_b = false;
            CHECK_THROWS_AS(generate_gemm_wgmma(spec), heddle::Error);
        }
    }
}

TEST_CASE("Hopper GEMMs store straight from registers what TMA cannot") {
    GemmWgmmaSpec spec;
    spec.tile = {.m = 128, .n = 64, .stages = 3};
    spec.tensor_store = false;
    spec.epilogue.output = ElementType::bf16;
    CHECK(differences(spec, {.m = 133, .n = 67, .k = 96, .transpose_b = true}, 2) == 0);
}

TEST_CASE("Tiles that cannot be built are refused") {
    GemmWgmmaSpec spec;
    spec.tile = {.m = 256, .n = 256};
    CHECK_THROWS_AS(generate_gemm_wgmma(spec), heddle::Error);
    spec.tile = {.m = 100, .n = 64};
    CHECK_THROWS_AS(generate_gemm_wgmma(spec), heddle::Error);
    spec.tile = {.m = 128, .n = 64};
    spec.compute_capability = 80;
    CHECK_THROWS_AS(generate_gemm_wgmma(spec), heddle::Error);
}

TEST_CASE("Blackwell's GEMMs give the bits of their plans: one CTA and pairs, layouts, tails, types") {
    const auto spec_of = [](ElementType type, ElementType output, unsigned n, unsigned stages, unsigned ctas) {
        GemmWgmmaSpec spec;
        spec.compute_capability = 100;
        spec.type = type;
        spec.epilogue.output = output;
        spec.tile = {.m = 128, .n = n, .stages = stages, .consumers = 1, .cluster_m = ctas};
        return spec;
    };
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            for (const unsigned ctas : {1u, 2u}) {
                if (ctas == 2 && !transpose_b) continue;
                for (const ElementType output : {ElementType::f32, ElementType::bf16}) {
                    CAPTURE(transpose_a, transpose_b, ctas, name_of(output));
                    const GemmCase c{.m = 328, .n = 200, .k = 456, .transpose_a = transpose_a, .transpose_b = transpose_b, .padding = 8};
                    CHECK(differences(spec_of(ElementType::bf16, output, 128, 3, ctas), c, 2) == 0);
                }
            }
        }
    }
    for (const unsigned n : {16u, 64u, 96u, 256u}) {
        for (const unsigned ctas : {1u, 2u}) {
            if (ctas == 2 && n % 32 != 0) continue;
            CAPTURE(n, ctas);
            const GemmCase c{.m = 300, .n = 272, .k = 200, .transpose_b = true};
            CHECK(differences(spec_of(ElementType::f16, ElementType::f16, n, n == 256 ? 2 : 6, ctas), c, 4) == 0);
        }
    }
    for (const ElementType type : {ElementType::e4m3, ElementType::e5m2, ElementType::i8, ElementType::f32}) {
        for (const unsigned ctas : {1u, 2u}) {
            CAPTURE(name_of(type), ctas);
            const ElementType output = type == ElementType::i8 ? ElementType::i32 : type == ElementType::f32 ? ElementType::f32 : ElementType::bf16;
            const GemmCase c{.m = 264, .n = 144, .k = 336, .transpose_b = true};
            CHECK(differences(spec_of(type, output, 64, 4, ctas), c, 3) == 0);
        }
    }
    // Batches, and straight from tensor memory.
    GemmWgmmaSpec direct = spec_of(ElementType::bf16, ElementType::f32, 64, 4, 1);
    direct.tensor_store = false;
    CHECK(differences(direct, {.m = 131, .n = 67, .k = 72, .batch = 2, .transpose_b = true}, 3) == 0);
    CHECK(differences(spec_of(ElementType::bf16, ElementType::bf16, 64, 4, 2), {.m = 136, .n = 72, .k = 72, .batch = 3, .transpose_b = true}, 4) == 0);
    GemmWgmmaSpec bad = spec_of(ElementType::bf16, ElementType::bf16, 24, 4, 1);
    CHECK_THROWS_AS(generate_gemm_wgmma(bad), heddle::Error);
}
