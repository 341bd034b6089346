// Which kernel: forced by the names of recorded ones.
#include "sim/gemm/gemm_question.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

kernels::GemmChoice forced(const GemmQuestion& question, const std::string& name) {
    const Hardware h100 = load_hardware("h100-sxm");
    return forced_choice(question, gpu_config(h100), {}, name);
}

}  // namespace

TEST_CASE("A recorded kernel's name gives tile, stages, cluster and slices of K") {
    // cuBLAS thinks in columns: 128 along our n, 256 along our m.
    const kernels::GemmChoice large = forced({4096, 4096, 4096}, "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN");
    REQUIRE(large.wgmma);
    CHECK(large.tile.n == 128);
    CHECK(large.tile.m == 256);
    CHECK(large.wgmma->cluster_n == 2);
    CHECK(large.wgmma->cluster_m == 1);
    CHECK(large.wgmma->stages == 4);
    CHECK(large.splits == 1);

    const kernels::GemmChoice sliced = forced({16, 512, 4096}, "nvjet_tst_64x16_64x10_1x1_v_bz_splitK_TNT");
    CHECK(sliced.tile.m == 16);
    CHECK(sliced.tile.n == 64);
    CHECK(sliced.splits > 1);
    CHECK(sliced.wgmma->stages == 10);
    const kernels::GemmChoice whole = forced({16, 512, 4096}, "nvjet_tst_64x16_64x10_1x1_v_bz_TNT");
    CHECK(whole.splits == 1);
    CHECK(whole.wgmma->cluster_size() == 1);

    const kernels::GemmChoice old = forced(
        {1024, 768, 4096},
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize64x128x64_warpgroupsize1x1x1_execute_segment_k_"
        "off_kernel__5x_cublas");
    CHECK(old.tile.m == 128);
    CHECK(old.tile.n == 64);

    // Tiles that are no candidates: wgmma's rows along m where 96 or 32 lie along n, and columns in steps
    // of 8.
    const kernels::GemmChoice across = forced({1024, 768, 1024}, "nvjet_sm90_tst_96x64_64x10_2x4_h_bz_TNN");
    REQUIRE(across.wgmma);
    CHECK_FALSE(across.wgmma->swap);
    CHECK(across.wgmma->rows() == 64);
    CHECK(across.wgmma->columns() == 96);
    CHECK(across.wgmma->stages == 10);
    CHECK(across.wgmma->cluster_n == 2);
    CHECK(across.wgmma->cluster_m == 4);
    const kernels::GemmChoice fine = forced({1024, 768, 1024}, "nvjet_sm90_tst_192x88_64x6_1x1_h_bz_TNN");
    CHECK(fine.wgmma->swap);
    CHECK(fine.tile.m == 88);
    CHECK(fine.tile.n == 192);
    CHECK(forced({1024, 768, 1024}, "nvjet_sm90_tst_32x64_64x16_1x1_h_bz_TNN").wgmma->columns() == 32);
    CHECK(forced({1024, 768, 1024}, "nvjet_sm90_tst_64x96_64x10_1x1_h_bz_TNN").wgmma->rows() == 64);
    CHECK_THROWS_AS(forced({1024, 768, 1024}, "100x60"), Error);

    // One warpgroup multiplies a tile of two times 64 rows, where two would have been taken.
    const kernels::GemmChoice lone = forced(
        {2048, 3072, 768},
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_"
        "off_kernel__5x_cublas");
    REQUIRE(lone.wgmma);
    CHECK(lone.wgmma->rows() == 128);
    CHECK(lone.wgmma->consumers == 1);
    CHECK(lone.wgmma->schedule == kernels::WgmmaSchedule::cooperative);
    CHECK(forced({2048, 3072, 768}, "128x128").wgmma->consumers == 2);
    // Four warpgroups of 128 rows have less than 64 each: the tile is taken as ours is.
    CHECK(forced({2048, 3072, 768}, "sm90_xmma_gemm_tilesize128x128x64_warpgroupsize4x1x1_k")
              .wgmma->consumers == 2);

    // Before Hopper k of a stage and stages too, where they fit.
    const Hardware a100 = load_hardware("a100-sxm");
    const auto ampere = [&](const char* name) {
        return forced_choice({1024, 1024, 4096}, gpu_config(a100), {}, name).tile;
    };
    const kernels::GemmTile deep = ampere("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn");
    CHECK(deep.m == 64);
    CHECK(deep.n == 128);
    CHECK(deep.k == 32);
    CHECK(deep.stages == 6);
    CHECK(ampere("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn").stages == 3);

    CHECK_THROWS_AS(forced({1024, 768, 4096}, "vectorized_elementwise_kernel"), Error);
    CHECK_THROWS_AS(forced({1024, 768, 4096}, "72x24"), Error);
}

TEST_CASE("Types of GEMM questions") {
    CHECK(gemm_type_from_name("fp8") == trace::ElementType::e4m3);
    CHECK(result_type_of({1, 1, 1, trace::ElementType::e5m2}) == trace::ElementType::bf16);
    CHECK(result_type_of({1, 1, 1, trace::ElementType::i8}) == trace::ElementType::i32);
    const Hardware h100 = load_hardware("h100-sxm"), a100 = load_hardware("a100-sxm");
    for (const char* type : {"fp8", "e5m2", "tf32", "i8", "bf16"}) {
        GemmQuestion question{256, 512, 1024, gemm_type_from_name(type)};
        CAPTURE(type);
        const kernels::GemmChoice choice = candidates(question, gpu_config(h100), {}).front();
        REQUIRE(choice.wgmma);
        CHECK(choice.tile.k * trace::bytes_of(question.type) == 128);
        CHECK(gemm_program(question, gpu_config(h100), choice).launches.size() ==
              (choice.splits > 1 ? 2 : 1));
    }
    CHECK_THROWS_AS(check({256, 512, 1024, trace::ElementType::e4m3}, gpu_config(a100)), Error);
    // wgmma reads 8-bit floats only along k: what lies otherwise is transposed first.
    const GemmQuestion across{256, 512, 1024, trace::ElementType::e4m3, true, false};
    CHECK(gemm_program(across, gpu_config(h100), candidates(across, gpu_config(h100), {}).front())
              .launches.size() == 3);
    // Integers and tf32 have mma.sync on Ampere; f64 is multiplied on the tensor cores of both.
    for (const char* type : {"tf32", "i8", "f64"}) {
        const GemmQuestion question{256, 512, 1024, gemm_type_from_name(type)};
        CHECK(candidates(question, gpu_config(a100), {}).front().tensor_cores);
    }
    CHECK(candidates({256, 512, 1024, trace::ElementType::f64}, gpu_config(h100), {}).front().tensor_cores);
    CHECK_FALSE(
        candidates({256, 512, 1024, trace::ElementType::f32}, gpu_config(a100), {}).front().tensor_cores);
    GemmQuestion several{64, 64, 128};
    several.batch = 96;
    CHECK(name_of(several) == "64x64x128 bf16 nt, batch of 96");
    CHECK(work_of(several).batch == 96);
    several.batch = 0;
    CHECK_THROWS_AS(check(several, gpu_config(h100)), Error);
    GemmQuestion quantised{256, 512, 1024, trace::ElementType::bf16};
    quantised.quantise = true;
    CHECK_THROWS_AS(check(quantised, gpu_config(h100)), Error);
}
