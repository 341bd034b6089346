#include "workloads/kernels/gemm_choice.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "workloads/kernels/gemm_wgmma_choice.h"

using namespace heddle::kernels;
using heddle::target::GpuTarget;

namespace {

GpuTarget a100() {
    GpuTarget target;
    target.name = "a100";
    target.compute_capability = 80;
    target.sm_count = 108;
    target.shared_bytes_per_sm = 167936;
    target.shared_bytes_per_cta = 166912;
    return target;
}

}  // namespace

TEST_CASE("Large products get large tiles, small ones many CTAs") {
    const GemmChoice large = choose_gemm({8192, 8192, 8192}, ElementType::bf16, a100());
    CHECK(large.tensor_cores);
    // cuBLAS takes 128x256 or 256x128 there (recorded kernel names: ampere_bf16_s16816gemm_bf16_128x256_...).
    CHECK(large.tile.m * large.tile.n == 128 * 256);
    CHECK(large.splits == 1);
    const GemmChoice small = choose_gemm({128, 128, 16384}, ElementType::f16, a100());
    CHECK(small.splits > 4);
    CHECK(std::uint64_t{small.splits} * small.k_per_split >= 16384);
    CHECK(std::uint64_t{small.splits - 1} * small.k_per_split < 16384);
    CHECK(small.k_per_split % small.tile.k == 0);
    CHECK(choose_gemm({128, 128, 16384}, ElementType::f16, a100(), {}, false).splits == 1);
    const GemmChoice simt = choose_gemm({8192, 8192, 4096}, ElementType::f32, a100());
    CHECK_FALSE(simt.tensor_cores);
}

TEST_CASE("Candidates come in the order of their estimates, and each covers K") {
    const GemmShape shape{300, 1000, 5000};
    const std::vector<GemmChoice> candidates = gemm_candidates(shape, ElementType::bf16, a100());
    REQUIRE(candidates.size() > 10);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (i > 0) CHECK(candidates[i].estimated_cycles >= candidates[i - 1].estimated_cycles);
        CHECK(candidates[i].splits * candidates[i].k_per_split >= shape.k);
        CHECK((candidates[i].splits - 1) * candidates[i].k_per_split < shape.k);
    }
}

TEST_CASE("Groups of columns leave few CTAs without work") {
    for (std::uint32_t tiles = 1; tiles < 100; ++tiles) {
        const unsigned log2 = choose_raster_log2(tiles * 128 - 5, 128);
        const Extent3 grid = gemm_grid(128, tiles * 128 - 5, 1, 128, 128, log2);
        CHECK((grid[0] * grid[1] - tiles) * 16 <= tiles);
    }
    CHECK(choose_raster_log2(8 * 128, 128) == 3);
}

TEST_CASE("Every choice can be written and fits the device") {
    for (const std::uint32_t m : {1u, 100u, 1000u, 5000u}) {
        for (const std::uint32_t n : {8u, 300u, 4096u}) {
            for (const std::uint32_t k : {1u, 64u, 3000u}) {
                for (const unsigned copy : {8u, 2u, 1u}) {
                    const GemmChoice choice =
                        choose_gemm({m, n, k}, ElementType::f16, a100(), {.copy_a = copy, .copy_b = copy});
                    CHECK(gemm_mma_shared_bytes(choice.tile) <= a100().shared_bytes_per_cta);
                    GemmMmaSpec spec;
                    spec.type = ElementType::f16;
                    spec.tile = choice.tile;
                    spec.copy_a = spec.copy_b = copy;
                    CHECK_NOTHROW(generate_gemm_mma(spec));
                    const GemmChoice simt = choose_gemm({m, n, k}, ElementType::f32, a100());
                    GemmSimtSpec simt_spec;
                    simt_spec.tile_m = simt.tile.m;
                    simt_spec.tile_n = simt.tile.n;
                    CHECK_NOTHROW(generate_gemm_simt(simt_spec));
                }
            }
        }
    }
    GpuTarget volta = a100();
    volta.compute_capability = 70;
    CHECK(choose_gemm({64, 64, 64}, ElementType::f16, volta).tensor_cores);
    CHECK_THROWS_AS(choose_gemm({64, 64, 64}, ElementType::bf16, volta), heddle::Error);
    CHECK_THROWS_AS(choose_gemm({64, 64, 64}, ElementType::i8, volta), heddle::Error);
    CHECK(choose_gemm({64, 64, 64}, ElementType::i8, a100()).tensor_cores);
    CHECK_THROWS_AS(choose_gemm({64, 64, 64}, ElementType::e4m3, a100()), heddle::Error);
    // f64 on the tensor cores of the A100 and the H100 alone; f32 only where it may be read as tf32.
    GpuTarget ga102 = a100();
    ga102.compute_capability = 86;
    CHECK(choose_gemm({64, 64, 64}, ElementType::f64, a100()).tensor_cores);
    CHECK_FALSE(choose_gemm({64, 64, 64}, ElementType::f64, ga102).tensor_cores);
    CHECK_FALSE(choose_gemm({64, 64, 64}, ElementType::f32, a100()).tensor_cores);
    CHECK(choose_gemm({.m = 64, .n = 64, .k = 64, .tf32 = true}, ElementType::f32, a100()).tensor_cores);
    CHECK_THROWS_AS(complete_tile(512, 512, 64, a100()), heddle::Error);
}

TEST_CASE("On Hopper, wgmma wherever tensor maps can be made") {
    const GpuTarget h100;
    const GemmChoice large = choose_gemm({8192, 8192, 8192}, ElementType::bf16, h100);
    REQUIRE(large.wgmma);
    // cuBLAS launches nvjet_hsh_128x256_64x4_2x1 there; 192x128 comes out within 2 % of it.
    CHECK(large.tile.m * large.tile.n >= 128 * 192);
    CHECK(large.wgmma->cluster_size() == 2);
    CHECK(large.splits == 1);
    // A row of tokens: m in steps of 8, and enough tiles, or slices, for many SMs.
    const GemmChoice narrow = choose_gemm({5, 4096, 4096}, ElementType::bf16, h100);
    REQUIRE(narrow.wgmma);
    CHECK(narrow.wgmma->swap);
    CHECK(narrow.tile.m <= 16);
    const GemmChoice deep = choose_gemm({64, 64, 65536}, ElementType::bf16, h100);
    CHECK(deep.splits > 8);
    CHECK(std::uint64_t{deep.splits} * deep.k_per_split >= 65536);
    CHECK_FALSE(choose_gemm({128, 128, 129}, ElementType::bf16, h100, {1, 1, false, true}).wgmma);
}

TEST_CASE(
    "Rows of D that are not whole 16 bytes take wgmma and wide copies away, as libraries' align1 kernels") {
    const GpuTarget h100;
    const GemmAlignment aligned{.tensor_store = false};
    // GPT-2's head: 50257 columns of bf16. pegainfer's profile names ..._128x64_tn_align1 for 248077.
    const GemmAlignment odd = with_one_alignment(aligned, ElementType::bf16, false, 1);
    CHECK(odd.copy_elements() == 1);
    const GemmChoice head = choose_gemm({8192, 50257, 768}, ElementType::bf16, h100, odd);
    CHECK(head.tensor_cores);
    CHECK_FALSE(head.wgmma);
    // As in that name: a thread holds half a stage of single elements.
    CHECK(head.tile.m * head.tile.n == 64 * 128);
    CHECK(head.tile.k == 64);
    // One operand takes the other's, too: a100_world8 has 1024x512x1705 of tf32, nn, by ..._nn_align1.
    const GemmAlignment gradient =
        with_one_alignment({.copy_a = 1, .copy_b = 8, .tensor_maps = false}, ElementType::bf16, false, 8);
    CHECK(gradient.copy_a == 1);
    CHECK(gradient.copy_b == 1);
    CHECK(with_one_alignment({.copy_a = 1, .copy_b = 4}, ElementType::f32, true, 4).copy_b == 1);
    // 16 bits may have kernels for two and for four elements.
    CHECK(with_one_alignment({.copy_a = 8, .copy_b = 2}, ElementType::f16, false, 8).copy_a == 2);
    // tf32 does not: 1024x19410x256 of the same step, rows of which are multiples of two elements, has align1.
    const GemmAlignment even = with_one_alignment({.copy_a = 4, .copy_b = 4}, ElementType::f32, true, 2);
    CHECK(even.copy_elements() == 1);
    CHECK_FALSE(even.tensor_maps);
    // Padded to 50304, with rows of 16 bytes; and without tensor cores, where every store is its own.
    CHECK(with_one_alignment({}, ElementType::bf16, false, 8).tensor_maps);
    CHECK(with_one_alignment({}, ElementType::bf16, false, 8).copy_elements() == 8);
    CHECK(choose_gemm({8192, 50304, 768}, ElementType::bf16, h100,
                      with_one_alignment({}, ElementType::bf16, false, 8))
              .wgmma);
    CHECK(with_one_alignment({.copy_a = 4, .copy_b = 4}, ElementType::f32, false, 1).copy_elements() == 4);
    CHECK(with_one_alignment({.copy_a = 16, .copy_b = 16}, ElementType::e4m3, false, 1).tensor_maps);
}

TEST_CASE("Every Hopper choice can be written and fits the device") {
    const GpuTarget h100;
    for (const std::uint32_t m : {1u, 100u, 3000u}) {
        for (const std::uint32_t n : {8u, 300u, 4096u}) {
            for (const std::uint32_t k : {8u, 64u, 3000u}) {
                for (const bool tensor_store : {false, true}) {
                    const std::vector<GemmChoice> choices =
                        gemm_candidates({m, n, k}, ElementType::f16, h100, {8, 8, true, tensor_store});
                    for (std::size_t i = 0; i < choices.size(); i += 1 + choices.size() / 5) {
                        REQUIRE(choices[i].wgmma);
                        GemmWgmmaSpec spec;
                        spec.type = spec.epilogue.output = ElementType::f16;
                        spec.tile = *choices[i].wgmma;
                        spec.partition.split_k = choices[i].splits > 1;
                        spec.tensor_store = tensor_store;
                        CHECK_NOTHROW(generate_gemm_wgmma(spec));
                        CHECK(gemm_wgmma_shared_bytes(spec) <= h100.shared_bytes_per_cta);
                        CHECK((choices[i].splits - 1) * choices[i].k_per_split < k);
                    }
                }
            }
        }
    }
}

TEST_CASE("Recorded kernel names carry their tile") {
    const auto tile = [](const char* name) { return gemm_from_kernel_name(name).value().tile; };
    // Column-major libraries: their 128x256 is ours 256x128.
    CHECK(tile("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn") ==
          GemmTile{256, 128, 64, 0, 0, 3});
    CHECK(tile("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8") ==
          GemmTile{128, 256, 32, 0, 0, 3});
    CHECK(tile("nvjet_sm90_tst_128x192_64x4_1x2_h_bz_coopA_NNT") == GemmTile{192, 128, 64, 0, 0, 4});
    CHECK(tile("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT") == GemmTile{8, 64, 64, 0, 0, 16});
    CHECK(
        tile(
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize64x128x64_warpgroupsize1x1x1_execute_segment_k_"
            "off_kernel__5x_cublas") == GemmTile{128, 64, 64, 0, 0, 0});
    CHECK(
        tile("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x32_stage4_warpsize2x2x1_tensor16x8x16_"
             "kernel") == GemmTile{64, 128, 32, 0, 0, 4});
    CHECK(gemm_from_kernel_name("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_"
                                "warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas")
              ->warpgroups == 1);
    CHECK(gemm_from_kernel_name("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_"
                                "warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas")
              ->warpgroups == 2);
    CHECK(gemm_from_kernel_name("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN")->warpgroups == 0);
    const RecordedGemm decode = gemm_from_kernel_name("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT").value();
    CHECK(decode.cluster_n == 4);
    CHECK(decode.cluster_m == 1);
    CHECK(decode.split_k == true);
    CHECK(gemm_from_kernel_name("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN")->split_k == false);
    CHECK_FALSE(gemm_from_kernel_name("volta_sgemm_128x64_nn")->split_k.has_value());
    CHECK(tile("volta_sgemm_128x64_nn") == GemmTile{64, 128, 0, 0, 0, 0});
    CHECK(tile("128x64x32") == GemmTile{128, 64, 32, 0, 0, 0});
    CHECK_FALSE(gemm_from_kernel_name("vectorized_elementwise_kernel").has_value());
}

TEST_CASE("A raster of tiles is no wider than the clusters side by side, and costs no wave") {
    WgmmaTile tile;
    tile.swap = true;
    tile.m = tile.n = 64;
    CHECK(wgmma_raster_log2(tile, {1024, 512, 6144}, 1, 132) == 3);
    tile.cluster_m = 2;
    tile.cluster_n = 4;
    CHECK(wgmma_raster_log2(tile, {1024, 512, 6144}, 1, 132) == 1);
    tile.cluster_m = tile.cluster_n = 1;
    // 31 columns in 32 places: 4 rows fit in a wave either way, 17 rows would need a fifth one.
    CHECK(wgmma_raster_log2(tile, {256, 31 * 64, 512}, 1, 132) == 3);
    CHECK(wgmma_raster_log2(tile, {17 * 64, 31 * 64, 512}, 1, 132) == 0);
}
