#include "workloads/kernels/gemm_mma.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "gemm_reference.h"
#include "isa/common/error.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/target/generation.h"
#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

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
    device.run(generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n, c.batch), arguments);
    std::vector<double> reference = before;
    c.for_each([&](auto z, auto i, auto j, std::size_t place) {
        reference[place] = rounded(spec.epilogue.output, c.product(a, b, z, i, j));
    });
    INFO("m " << c.m << " n " << c.n << " k " << c.k << " batch " << c.batch << " "
              << layout_name(c.transpose_a, c.transpose_b) << " tile " << spec.tile.m << "x" << spec.tile.n
              << "x" << spec.tile.k << " copies of " << spec.copy_a << ", " << spec.copy_b);
    check_equal(device.read(d), reference);
}

}  // namespace

TEST_CASE("Tensor-core GEMM multiplies any sizes in every layout and alignment") {
    unsigned seed = 1;
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            GemmMmaSpec spec;
            spec.tile = {64, 64, 32, 2, 2, 3};
            for (const unsigned copy : {8u, 4u, 2u, 1u}) {
                spec.copy_a = spec.copy_b = spec.epilogue.vector_width = copy;
                // Not a multiple of the tile, nor of twice the copies.
                check_exact(spec, {64 + copy, 64 + 3 * copy, 96 + copy, 1, transpose_a, transpose_b, copy},
                            seed += 10);
                check_exact(spec, {copy, copy, copy, 1, transpose_a, transpose_b, 0}, seed += 10);
            }
        }
    }
}

TEST_CASE("Tensor-core GEMM: tiles, warps, stages, and loops of every length") {
    unsigned seed = 1000;
    for (const GemmTile& tile : {GemmTile{128, 128, 32, 2, 2, 3}, GemmTile{128, 64, 64, 4, 1, 2},
                                 GemmTile{64, 256, 32, 1, 4, 4}, GemmTile{256, 128, 32, 4, 2, 3}}) {
        for (const bool transpose : {false, true}) {
            GemmMmaSpec spec;
            spec.type = ElementType::f16;
            spec.tile = tile;
            spec.epilogue.vector_width = 8;
            spec.epilogue.output = ElementType::f16;
            check_exact(spec, {tile.m - 8, tile.n + 8, tile.k + 8, 1, transpose, !transpose, 0}, seed += 10);
        }
    }
    GemmMmaSpec spec;
    spec.tile = {64, 64, 32, 2, 2, 4};
    spec.full_k = true;
    for (const std::uint32_t tiles : {1u, 2u, 3u, 4u, 5u, 8u, 9u}) {
        check_exact(spec, {64, 64, 32 * tiles, 1, false, true, 0}, seed += 10);
    }
    // Nothing to add up.
    check_exact(spec, {64, 64, 0, 1, false, true, 0}, seed);
}

TEST_CASE("Tensor-core GEMM of single elements copies half a stage at a time where the whole is too much") {
    unsigned seed = 3000;
    for (const unsigned copy_b : {1u, 8u}) {
        for (const bool transpose_a : {false, true}) {
            for (const bool transpose_b : {false, true}) {
                GemmMmaSpec spec;
                spec.tile = {64, 128, 64, 2, 2, 3};
                spec.copy_a = 1;
                spec.copy_b = copy_b;
                spec.epilogue.vector_width = 1;
                // Ends of k within the first and the second half, and of whole stages.
                for (const std::uint32_t k : {1u, 33u, 71u, 127u, 319u}) {
                    const std::uint32_t ld = copy_b == 8 ? 0 : 1;
                    check_exact(spec,
                                {67, copy_b == 8 ? 136u : 131u, copy_b == 8 ? (k + 7) / 8 * 8 : k, 1,
                                 transpose_a, transpose_b, ld},
                                seed += 10);
                }
                spec.full_k = true;
                for (const std::uint32_t stages : {1u, 2u, 5u})
                    check_exact(spec, {65, 128, 64 * stages, 1, transpose_a, transpose_b, 0}, seed += 10);
            }
        }
    }
}

TEST_CASE("Tensor-core GEMM: batches, and CTAs in groups of columns") {
    GemmMmaSpec spec;
    spec.tile = {64, 64, 32, 2, 2, 3};
    spec.raster_log2 = 2;
    spec.epilogue.vector_width = 4;
    spec.epilogue.output = ElementType::bf16;
    check_exact(spec, {72, 328, 40, 2, false, false, 8}, 1);
}

TEST_CASE("Tensor-core GEMM of compute capability 7.5 goes through registers") {
    unsigned seed = 5000;
    for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
            GemmMmaSpec spec;
            spec.compute_capability = 75;
            spec.type = ElementType::f16;
            spec.tile = {64, 64, 32, 2, 2, 2};
            for (const unsigned copy : {8u, 2u}) {
                spec.copy_a = spec.copy_b = copy;
                check_exact(spec, {64 + copy, 64 + 3 * copy, 96 + copy, 1, transpose_a, transpose_b, 0},
                            seed += 10);
            }
        }
    }
}

TEST_CASE("Tensor-core GEMM: slices of K, empty ones too") {
    const GemmCase c{40, 72, 200, 2, false, true, 0};
    const std::uint32_t splits = 4, k_per_split = 96;  // 96, 96, 8, 0
    GemmMmaSpec spec;
    spec.tile = {64, 64, 32, 2, 2, 3};
    spec.transpose_b = true;
    spec.partition = {true, true};
    spec.epilogue.vector_width = 4;
    const std::vector<double> a = random_integers(c.stride_a() * c.batch, -4, 4, 1);
    const std::vector<double> b = random_integers(c.stride_b() * c.batch, -4, 4, 2);
    Device device;
    std::vector<KernelArgument> arguments = c.arguments();
    arguments.push_back(pointer_argument("a", device.add(spec.type, a)));
    arguments.push_back(pointer_argument("b", device.add(spec.type, b)));
    const std::uint32_t workspace = device.add_untouched(ElementType::f32, c.stride_c() * c.batch * splits);
    arguments.push_back(pointer_argument("d", workspace));
    arguments.push_back(integer_argument("k_per_split", k_per_split));
    arguments.push_back(integer_argument("splits", splits));
    device.run(generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n, c.batch * splits), arguments);
    std::vector<double> reference(c.stride_c() * c.batch * splits);
    c.for_each([&](auto z, auto i, auto j, std::size_t place) {
        for (std::uint32_t s = 0; s < splits; ++s) {
            double sum = 0;
            for (std::uint32_t p = s * k_per_split; p < std::min(c.k, (s + 1) * k_per_split); ++p) {
                sum += c.a(a, z, i, p) * c.b(b, z, p, j);
            }
            reference[(z * splits + s) * c.stride_c() + place % c.stride_c()] = sum;
        }
    });
    check_equal(device.read(workspace), reference);
}

TEST_CASE("Tensor-core GEMM is one chain of dot products over ascending k, bit for bit") {
    // The readable definition of the tensor core (confirmed against recorded chips) over the whole row at
    // once.
    const GemmCase c{19, 26, 104, 1, false, true, 0};
    for (const unsigned capability : {80u, 90u}) {
        GemmMmaSpec spec;
        spec.compute_capability = capability;
        spec.tile = {64, 64, 32, 2, 2, 3};
        spec.transpose_b = true;
        // Products of very different size, so that truncation inside the dot products and the order matter.
        std::vector<double> a = random_reals(spec.type, c.stride_a(), -1, 1, 1);
        std::vector<double> b = random_reals(spec.type, c.stride_b(), -1, 1, 2);
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::ldexp(a[i], static_cast<int>(i * 7 % 19));
        Device device(capability);
        std::vector<KernelArgument> arguments = c.arguments();
        arguments.push_back(pointer_argument("a", device.add(spec.type, a)));
        arguments.push_back(pointer_argument("b", device.add(spec.type, b)));
        const std::uint32_t d = device.add_untouched(ElementType::f32, c.stride_c());
        arguments.push_back(pointer_argument("d", d));
        device.run(generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n), arguments);
        const auto parameters =
            heddle::numerics::parameters_for(heddle::target::generation_of(capability),
                                             heddle::numerics::Format::bf16, heddle::numerics::Format::fp32);
        // K padded with zeros to whole blocks, as the kernel pads it.
        std::vector<double> reference(c.stride_c());
        c.for_each([&](auto z, auto i, auto j, std::size_t place) {
            std::uint32_t sum = 0;
            for (std::uint32_t block = 0; block < c.k; block += parameters.block_length) {
                std::vector<std::uint32_t> row, column;
                for (std::uint32_t p = block; p < block + parameters.block_length; ++p) {
                    const bool inside = p < c.k;
                    row.push_back(
                        heddle::numerics::fp32_to_bf16(inside ? static_cast<float>(c.a(a, z, i, p)) : 0));
                    column.push_back(
                        heddle::numerics::fp32_to_bf16(inside ? static_cast<float>(c.b(b, z, p, j)) : 0));
                }
                sum = heddle::numerics::dot_product(parameters, row, column, sum);
            }
            reference[place] = std::bit_cast<float>(sum);
        });
        INFO("compute capability " << capability);
        check_equal(device.read(d), reference);
    }
}

TEST_CASE("Tensor-core GEMM applies GELU, bias and C in the epilogue") {
    GemmMmaSpec spec;
    spec.tile = {64, 64, 32, 2, 2, 3};
    spec.epilogue.expression = heddle::expression::parse(
        "t0 = s0 * x0 + x1; y0 = 0.5 * t0 * (1 + tanh(0.7978845608 * (t0 + 0.044715 * t0 * t0 * t0))) + x2; "
        "y1 = t0");
    spec.epilogue.bias = spec.epilogue.c = ElementType::bf16;
    for (const unsigned width : {8u, 4u, 1u}) {
        spec.epilogue.vector_width = width;
        const GemmCase c{40, 72, 32, 1, false, false, 0};
        const std::vector<double> a = random_integers(c.stride_a(), -3, 3, 1),
                                  b = random_integers(c.stride_b(), -3, 3, 2);
        const std::vector<double> bias = random_reals(ElementType::bf16, c.n, -1, 1, 3);
        const std::vector<double> old = random_reals(ElementType::bf16, c.stride_c(), -1, 1, 4);
        Device device;
        std::vector<KernelArgument> arguments = c.arguments();
        arguments.push_back(pointer_argument("a", device.add(spec.type, a)));
        arguments.push_back(pointer_argument("b", device.add(spec.type, b)));
        arguments.push_back(pointer_argument("bias", device.add(ElementType::bf16, bias)));
        arguments.push_back(pointer_argument("c", device.add(ElementType::bf16, old)));
        const std::uint32_t d = device.add_untouched(ElementType::f32, c.stride_c());
        const std::uint32_t second = device.add_untouched(ElementType::f32, c.stride_c());
        arguments.push_back(pointer_argument("d", d));
        arguments.push_back(pointer_argument("auxiliary", second));
        arguments.push_back(f32_argument("s0", 0.03125f));
        device.run(generate_gemm_mma(spec), gemm_mma_grid(spec, c.m, c.n), arguments);
        std::vector<double> reference(c.stride_c()), before(c.stride_c());
        c.for_each([&](auto z, auto i, auto j, std::size_t place) {
            const double t = 0.03125 * c.product(a, b, z, i, j) + bias[j];
            before[place] = t;
            reference[place] =
                0.5 * t * (1 + std::tanh(0.7978845608 * (t + 0.044715 * t * t * t))) + old[place];
        });
        check_close(device.read(d), reference, 1e-6, 1e-6);
        check_close(device.read(second), before, 0x1p-23, 0);
    }
}

TEST_CASE("Tensor-core GEMM refuses what it cannot do") {
    GemmMmaSpec spec;
    spec.type = ElementType::i32;
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
    spec.type = ElementType::bf16;
    spec.compute_capability = 75;
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
    spec.compute_capability = 80;
    spec.tile.n = 96;
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
    spec.tile = {128, 256, 32, 1, 1, 3};
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
    spec.tile = {128, 128, 32, 2, 2, 3};
    spec.copy_b = 3;
    CHECK_THROWS_AS(generate_gemm_mma(spec), heddle::Error);
}
