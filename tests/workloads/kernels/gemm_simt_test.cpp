#include "workloads/kernels/gemm_simt.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "gemm_reference.h"
#include "isa/common/error.h"
#include "launcher.h"
#include "workloads/kernels/split_k.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

/// Runs `spec` on `c` and compares every element of D, padding included, with the exact result. Small
/// integers: every order of summation gives the same bits, so that any element read from the wrong place
/// shows.
void check_exact(GemmSimtSpec spec, const GemmCase& c, unsigned seed) {
    spec.transpose_a = c.transpose_a;
    spec.transpose_b = c.transpose_b;
    spec.partition.batched = c.batch > 1;
    spec.epilogue.output = spec.type;
    const std::vector<double> a = random_integers(c.stride_a() * c.batch, -4, 4, seed);
    const std::vector<double> b = random_integers(c.stride_b() * c.batch, -4, 4, seed + 1);
    Device device;
    std::vector<KernelArgument> arguments = c.arguments();
    arguments.push_back(pointer_argument("a", device.add(spec.type, a)));
    arguments.push_back(pointer_argument("b", device.add(spec.type, b)));
    const std::vector<double> before(c.stride_c() * c.batch, -77);
    const std::uint32_t d = device.add(spec.type, before);
    arguments.push_back(pointer_argument("d", d));
    device.run(generate_gemm_simt(spec), gemm_simt_grid(spec, c.m, c.n, c.batch), arguments);
    std::vector<double> reference = before;
    c.for_each(
        [&](auto z, auto i, auto j, std::size_t place) { reference[place] = c.product(a, b, z, i, j); });
    INFO("m " << c.m << " n " << c.n << " k " << c.k << " batch " << c.batch << " "
              << layout_name(c.transpose_a, c.transpose_b) << " tile " << spec.tile_m << "x" << spec.tile_n);
    check_equal(device.read(d), reference);
}

}  // namespace

TEST_CASE("SIMT GEMM multiplies any sizes in every layout") {
    unsigned seed = 1;
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            GemmSimtSpec spec;
            spec.tile_m = spec.tile_n = 64;
            check_exact(spec, {67, 70, 21, 1, transpose_a, transpose_b, 3}, seed += 10);
            check_exact(spec, {1, 1, 1, 1, transpose_a, transpose_b, 0}, seed += 10);
            spec.vector_a = spec.vector_b = 4;
            spec.epilogue.vector_width = 4;
            check_exact(spec, {68, 132, 20, 1, transpose_a, transpose_b, 4}, seed += 10);
            spec.full_k = true;
            spec.raster_log2 = 2;
            check_exact(spec, {72, 136, 24, 2, transpose_a, transpose_b, 0}, seed += 10);
            spec.tile_m = spec.tile_n = 128;
            spec.raster_log2 = 0;
            check_exact(spec, {132, 140, 16, 1, transpose_a, transpose_b, 0}, seed += 10);
            GemmSimtSpec wide;
            wide.type = ElementType::f64;
            wide.tile_m = wide.tile_n = 64;
            check_exact(wide, {45, 66, 19, 1, transpose_a, transpose_b, 1}, seed += 10);
            wide.vector_a = wide.vector_b = 2;
            check_exact(wide, {46, 66, 18, 1, transpose_a, transpose_b, 0}, seed += 10);
        }
    }
}

TEST_CASE("SIMT GEMM handles tiles that are not square") {
    for (const auto& [tile_m, tile_n] : {std::pair{128u, 64u}, {64u, 128u}, {64u, 32u}}) {
        GemmSimtSpec spec;
        spec.tile_m = tile_m;
        spec.tile_n = tile_n;
        check_exact(spec, {130, 75, 17, 1, false, false, 0}, tile_m);
        check_exact(spec, {130, 75, 17, 1, true, true, 0}, tile_m + 1);
    }
}

TEST_CASE("SIMT GEMM is one chain of fused multiply-adds, k ascending") {
    GemmSimtSpec spec;
    spec.tile_m = spec.tile_n = 64;
    const GemmCase c{9, 11, 100, 1, false, true, 0};
    spec.transpose_b = true;
    const std::vector<double> a = random_reals(ElementType::f32, c.stride_a(), -1, 1, 5);
    const std::vector<double> b = random_reals(ElementType::f32, c.stride_b(), -1, 1, 6);
    Device device;
    std::vector<KernelArgument> arguments = c.arguments();
    arguments.push_back(pointer_argument("a", device.add(ElementType::f32, a)));
    arguments.push_back(pointer_argument("b", device.add(ElementType::f32, b)));
    const std::uint32_t d = device.add_untouched(ElementType::f32, c.stride_c());
    arguments.push_back(pointer_argument("d", d));
    device.run(generate_gemm_simt(spec), gemm_simt_grid(spec, c.m, c.n), arguments);
    std::vector<double> reference(c.stride_c());
    c.for_each([&](auto z, auto i, auto j, std::size_t place) {
        float sum = 0;
        for (std::uint32_t p = 0; p < c.k; ++p) {
            sum = std::fma(static_cast<float>(c.a(a, z, i, p)), static_cast<float>(c.b(b, z, p, j)), sum);
        }
        reference[place] = sum;
    });
    check_equal(device.read(d), reference);
}

TEST_CASE("SIMT GEMM applies bias, C, scalars and a second output") {
    GemmSimtSpec spec;
    spec.tile_m = spec.tile_n = 64;
    spec.epilogue.expression = heddle::expression::parse("y1 = s0 * x0 + x1; y0 = max(y1, 0) + s1 * x2");
    spec.epilogue.output = ElementType::f16;
    spec.epilogue.c = ElementType::f32;
    spec.epilogue.bias = ElementType::bf16;
    for (const unsigned width : {1u, 2u, 4u}) {
        spec.epilogue.vector_width = width;
        const GemmCase c{30, 44, 13, 1, false, false, 0};
        const std::vector<double> a = random_integers(c.stride_a(), -3, 3, 1),
                                  b = random_integers(c.stride_b(), -3, 3, 2);
        const std::vector<double> bias = random_integers(c.n, -20, 20, 3),
                                  old = random_integers(c.stride_c(), -9, 9, 4);
        Device device;
        std::vector<KernelArgument> arguments = c.arguments();
        arguments.push_back(pointer_argument("a", device.add(ElementType::f32, a)));
        arguments.push_back(pointer_argument("b", device.add(ElementType::f32, b)));
        arguments.push_back(pointer_argument("bias", device.add(ElementType::bf16, bias)));
        arguments.push_back(pointer_argument("c", device.add(ElementType::f32, old)));
        const std::uint32_t d = device.add_untouched(ElementType::f16, c.stride_c());
        const std::uint32_t second = device.add_untouched(ElementType::f32, c.stride_c());
        arguments.push_back(pointer_argument("d", d));
        arguments.push_back(pointer_argument("auxiliary", second));
        arguments.push_back(f32_argument("s0", 2));
        arguments.push_back(f32_argument("s1", 0.5f));
        device.run(generate_gemm_simt(spec), gemm_simt_grid(spec, c.m, c.n), arguments);
        std::vector<double> reference(c.stride_c()), reference_second(c.stride_c());
        c.for_each([&](auto z, auto i, auto j, std::size_t place) {
            reference_second[place] = 2 * c.product(a, b, z, i, j) + bias[j];
            reference[place] = std::max(reference_second[place], 0.0) + 0.5 * old[place];
        });
        check_equal(device.read(d), reference);
        check_equal(device.read(second), reference_second);
    }
}

TEST_CASE("Split-K through a workspace gives the same product") {
    for (const bool batched : {false, true}) {
        for (const ElementType type : {ElementType::f32, ElementType::f64}) {
            const GemmCase c{37, 52, 100, batched ? 3u : 1u, true, false, 0};
            const std::uint32_t splits = 5, k_per_split = 24;  // the last slice has 4
            GemmSimtSpec spec;
            spec.type = type;
            spec.tile_m = spec.tile_n = 64;
            spec.transpose_a = true;
            spec.partition = {batched, true};
            spec.epilogue.vector_width = 2;
            const std::vector<double> a = random_integers(c.stride_a() * c.batch, -4, 4, 1);
            const std::vector<double> b = random_integers(c.stride_b() * c.batch, -4, 4, 2);
            const std::vector<double> bias = random_integers(c.n, -20, 20, 3);
            Device device;
            std::vector<KernelArgument> arguments = c.arguments();
            arguments.push_back(pointer_argument("a", device.add(type, a)));
            arguments.push_back(pointer_argument("b", device.add(type, b)));
            const std::uint32_t workspace = device.add_untouched(type, c.stride_c() * c.batch * splits);
            arguments.push_back(pointer_argument("d", workspace));
            arguments.push_back(integer_argument("k_per_split", k_per_split));
            arguments.push_back(integer_argument("splits", splits));
            device.run(generate_gemm_simt(spec), gemm_simt_grid(spec, c.m, c.n, c.batch * splits), arguments);

            SplitKReduceSpec reduce;
            reduce.accumulator = type;
            reduce.batched = batched;
            reduce.epilogue.expression = heddle::expression::parse("y0 = x0 + x1");
            reduce.epilogue.output = type;
            reduce.epilogue.bias = ElementType::f32;
            reduce.epilogue.vector_width = 4;
            const std::uint32_t d = device.add_untouched(type, c.stride_c() * c.batch);
            std::vector<KernelArgument> second{pointer_argument("workspace", workspace),
                                               pointer_argument("bias", device.add(ElementType::f32, bias)),
                                               pointer_argument("d", d),
                                               integer_argument("m", c.m),
                                               integer_argument("n", c.n),
                                               integer_argument("ldd", c.n),
                                               integer_argument("splits", splits),
                                               integer_argument("slice_stride", c.stride_c()),
                                               integer_argument("stride_d", c.stride_c())};
            add_divider_arguments(second, "row_vectors", c.n / split_k_reduce_width(reduce));
            device.run(generate_split_k_reduce(reduce), split_k_reduce_grid(reduce, c.m, c.n, c.batch),
                       second);
            std::vector<double> reference(c.stride_c() * c.batch);
            c.for_each([&](auto z, auto i, auto j, std::size_t place) {
                reference[place] = c.product(a, b, z, i, j) + bias[j];
            });
            check_equal(device.read(d), reference);
        }
    }
}

TEST_CASE("SIMT GEMM refuses what it cannot do") {
    GemmSimtSpec spec;
    spec.type = ElementType::bf16;
    CHECK_THROWS_AS(generate_gemm_simt(spec), heddle::Error);
    spec.type = ElementType::f32;
    spec.tile_m = 96;
    spec.tile_n = 96;
    CHECK_THROWS_AS(generate_gemm_simt(spec), heddle::Error);
    spec.tile_m = spec.tile_n = 128;
    spec.vector_a = 3;
    CHECK_THROWS_AS(generate_gemm_simt(spec), heddle::Error);
    spec.vector_a = 1;
    spec.epilogue.expression = heddle::expression::parse("y0 = x5");
    CHECK_THROWS_AS(generate_gemm_simt(spec), heddle::Error);
}
