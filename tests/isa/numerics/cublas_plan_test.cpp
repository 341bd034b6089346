#include "isa/numerics/cublas_plan.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "isa/numerics/cublas_kernel_name.h"
#include "isa/numerics/learned_orders.h"
#include "plan_probe.h"

namespace heddle::numerics {
namespace {

CublasGemm gemm_of(Element input, int algorithm, int stages, std::size_t k, int splits = 1, int scheme = 0) {
    CublasGemm gemm;
    gemm.a = gemm.b = input;
    gemm.c = gemm.d = gemm.bias = Element::fp32;
    gemm.k = k;
    gemm.algorithm = algorithm;
    gemm.stages = stages;
    gemm.split_k = splits;
    gemm.reduction_scheme = scheme;
    gemm.custom_option = 0;
    return gemm;
}

std::string tree_text(const CublasGemm& gemm) {
    const CublasPlan plan = plan_of(gemm);
    INFO(plan.reason);
    REQUIRE(plan.plan.has_value());
    check_plan(*plan.plan);
    return summation_tree(*plan.plan, gemm.k).text();
}

// Every expectation below is a sentence of NUMERICS.md, "Which order cuBLAS adds in".
TEST_CASE("nvjet: one flat chain in blocks of 16, split-K by tiles of 64") {
    CHECK(tree_text(gemm_of(Element::fp16, 66, 35, 4096)) == "<(0*16); 16*16>*255:16");
    CHECK(tree_text(gemm_of(Element::bf16, 66, 35, 100)) == "(<(0*16); 16*16>*5:16 96*4)");
    // ceil(ceil(300 / 64) / 2) * 64 = 192
    CHECK(slices_of(*plan_of(gemm_of(Element::bf16, 66, 35, 300, 2, 2)).plan, 300) ==
          std::vector<KRange>{{0, 192}, {192, 300}});
    CHECK(plan_of(gemm_of(Element::bf16, 66, 35, 300, 2, 2)).plan->merge == SliceMerge::accumulators);
}

TEST_CASE("nvjet with fp8: promotion every 128 of k unless fast accumulation is on") {
    CublasGemm gemm = gemm_of(Element::e4m3, 66, 36, 384);
    CHECK(tree_text(gemm) == "<<(0*32); 32*32>*3:32; <(128*32); 160*32>*3:32>*2:128");
    gemm.fast_accumulation = true;
    CHECK(tree_text(gemm) == "<(0*32); 32*32>*11:32");
}

TEST_CASE("what may be the order of fp8 on Blackwell is of tcgen05, which libraries use, not of mma.sync") {
    CublasGemm gemm = gemm_of(Element::e4m3, 66, 36, 384);
    gemm.compute_capability = 100;
    const std::vector<ReductionPlan> plans = likely_plans(gemm);
    REQUIRE_FALSE(plans.empty());
    for (const ReductionPlan& plan : plans) {
        CHECK_FALSE(plan.tensor_core.unpacks_to_fp16);
        CHECK(plan.tensor_core.block_length == 32);
    }
}

TEST_CASE("CUTLASS algorithms: the short tile comes first, its k follows from the stages id") {
    CHECK(block_k_of_stages(1) == 16);
    CHECK(block_k_of_stages(6) == 16);
    CHECK(block_k_of_stages(7) == 32);
    CHECK(block_k_of_stages(16) == 64);
    CHECK(block_k_of_stages(24) == 128);
    CHECK(block_k_of_stages(0) == 0);
    for (const int algorithm : {12, 21, 23, 24}) {
        // 72 = 8 + 2 * 32
        CHECK(tree_text(gemm_of(Element::fp16, algorithm, 10, 72)) == "<(0*8); 8*16>*4:16");
        // 24 of 88 first: a block of 16 and one of 8.
        CHECK(tree_text(gemm_of(Element::fp16, algorithm, 16, 88)) == "<((0*16) 16*8); 24*16>*4:16");
    }
    // Stages id 0: 8 of k for each MMA.
    CHECK(tree_text(gemm_of(Element::fp16, 12, 0, 64)) == "<(0*8); 8*8>*7:8");
    CHECK_FALSE(plan_of(gemm_of(Element::fp16, 12, 0, 68)).plan.has_value());
    CublasGemm named = gemm_of(Element::fp16, 12, 0, 68);
    named.kernels = "void cutlass::Kernel2<cutlass_75_tensorop_s1688gemm_f16_128x64_32x2_nn_align1>(Params)";
    CHECK(tree_text(named) == "<(0*4); 4*8>*8:8");
    // Split-K grain: 64 if 64 divides K, else 8.
    CHECK(slices_of(*plan_of(gemm_of(Element::fp16, 21, 10, 640, 4, 2)).plan, 640)[0].end == 192);
    CHECK(slices_of(*plan_of(gemm_of(Element::fp16, 21, 10, 648, 4, 2)).plan, 648)[0].end == 168);
}

TEST_CASE("Merge schemes of slices") {
    const auto merge = [](int scheme) {
        return plan_of(gemm_of(Element::fp16, 66, 35, 512, 4, scheme)).plan->merge;
    };
    CHECK(merge(0) == SliceMerge::output_chain);
    CHECK(merge(1) == SliceMerge::output_chain);
    CHECK(merge(2) == SliceMerge::accumulators);
    CHECK(merge(4) == SliceMerge::output_partials);
    CHECK_FALSE(plan_of(gemm_of(Element::fp16, 66, 35, 512, 4, 3)).plan.has_value());
}

TEST_CASE("The defect of the short tile: all ones, 1x8x11528 returns 11520") {
    CublasGemm gemm = gemm_of(Element::fp16, 66, 35, 11528, 12, 2);
    const std::vector<std::byte> ones = [] {
        std::vector<std::byte> bytes(8 * 11528 * 2, std::byte{0});
        for (std::size_t i = 1; i < bytes.size(); i += 2) bytes[i] = std::byte{0x3C};
        return bytes;
    }();
    const std::vector<std::byte> d = evaluate(
        *plan_of(gemm).plan,
        {.m = 1, .n = 8, .k = 11528, .a = std::span(ones).first(11528 * 2), .b = ones, .c = {}, .bias = {}});
    float value;
    std::memcpy(&value, d.data(), 4);
    CHECK(value == 11520);
}

TEST_CASE("What is not known is said to be unknown") {
    const auto reason = [](const CublasGemm& gemm) {
        const CublasPlan plan = plan_of(gemm);
        CHECK_FALSE(plan.plan.has_value());
        return plan.reason;
    };
    CHECK_THAT(reason(gemm_of(Element::fp64, 5, 0, 64)), Catch::Contains("FPRev"));
    CHECK_THAT(reason(gemm_of(Element::fp32, 1, 0, 64)), Catch::Contains("FPRev"));
    CHECK_THAT(reason(gemm_of(Element::bf16, 77, 0, 64)), Catch::Contains("algorithm 77"));
    CublasGemm blackwell = gemm_of(Element::bf16, 66, 35, 64);
    blackwell.compute_capability = 100;
    CHECK_THAT(reason(blackwell), Catch::Contains("9.0 only"));
    CublasGemm vector = gemm_of(Element::bf16, 66, 35, 64);
    vector.kernels = "void gemvNSP_kernel<__nv_bfloat16, ...>(...)";
    CHECK_THAT(reason(vector), Catch::Contains("vector"));
    CublasGemm old = gemm_of(Element::bf16, 21, 10, 64);
    old.compute_capability = 70;
    CHECK_THAT(reason(old), Catch::Contains("Volta"));
    CublasGemm integers = gemm_of(Element::int8, 70, 10, 64);
    integers.d = Element::int32;
    CHECK(plan_of(integers).plan.has_value());
}

// Names as profilers show them (NUMERICS.md; public issue threads of CUTLASS and TensorRT-LLM).
TEST_CASE("Names of cuBLAS kernels") {
    const CublasKernelName nvjet = parse_cublas_kernels(
        "nvjet_sm90_hsh_128x256_64x4_1x2_h_bz_coopA_NTN; splitKreduce_kernel<32, 16, int>");
    CHECK(nvjet.family == KernelFamily::nvjet);
    CHECK(nvjet.tile_m == 128);
    CHECK(nvjet.tile_n == 256);
    CHECK(nvjet.block_k == 64);
    CHECK(nvjet.stages == 4);
    CHECK(nvjet.followed_by_reduce);
    CHECK_FALSE(nvjet.scalar);

    const CublasKernelName cutlass = parse_cublas_kernels(
        "void "
        "cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x4_tn_align8>(cutlass_80)");
    CHECK(cutlass.family == KernelFamily::cutlass);
    CHECK(cutlass.block_k == 32);
    CHECK(cutlass.stages == 4);
    CHECK(cutlass.instruction_k == 16);
    const CublasKernelName simt = parse_cublas_kernels("cutlass_80_simt_sgemm_128x64_8x5_nn_align1");
    CHECK(simt.scalar);
    CHECK(simt.block_k == 8);

    const CublasKernelName sliced =
        parse_cublas_kernels("ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_relu_f2f_stages_64x6_tn");
    CHECK(sliced.family == KernelFamily::architecture);
    CHECK(sliced.slices_of_k == 2);
    CHECK(sliced.tile_n == 64);
    CHECK(sliced.block_k == 64);
    CHECK(sliced.stages == 6);
    CHECK(parse_cublas_kernels("volta_sgemm_128x64_nn").scalar);
    CHECK(parse_cublas_kernels("ampere_dgemm_128x64_nn").scalar);

    const CublasKernelName xmma = parse_cublas_kernels(
        "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel");
    CHECK(xmma.family == KernelFamily::xmma);
    CHECK(xmma.block_k == 32);
    CHECK(xmma.tile_m == 128);
    CHECK(xmma.instruction_k == 16);
    CHECK(xmma.slices_of_k == 1);
    CHECK(parse_cublas_kernels("cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4").instruction_k == 8);
    CHECK(parse_cublas_kernels("").family == KernelFamily::unknown);
    CHECK(parse_cublas_kernels("something_else").family == KernelFamily::unknown);
}

/// What FPRev says of a hidden plan, given to the search, which must find a plan with the same values.
void check_found(const ReductionPlan& hidden, const ReductionPlan& base, std::size_t k) {
    CAPTURE(describe(hidden), k);
    const RevealedOrder order = test::reveal(hidden, k);
    REQUIRE(order.tree.has_value());
    const std::vector<ReductionPlan> found = plans_with_tree(*order.tree, base);
    REQUIRE_FALSE(found.empty());
    for (const ReductionPlan& plan : found) CHECK(summation_tree(plan, k) == summation_tree(hidden, k));
}

TEST_CASE("Plans are found again from their trees") {
    const ReductionPlan base = likely_plans(gemm_of(Element::bf16, -1, -1, 0)).front();
    ReductionPlan hidden = base;
    check_found(hidden, base, 200);
    hidden.residue = ResidueTile::first;
    hidden.block_k = 32;
    check_found(hidden, base, 200);
    hidden = base;
    hidden.promotion_interval = 64;
    check_found(hidden, base, 200);
    hidden = base;
    hidden.accumulators = 2;
    hidden.accumulator_group = 32;
    check_found(hidden, base, 200);
    hidden = base;
    hidden.splits = 3;
    hidden.split_grain = 8;
    ReductionPlan split_base = base;
    split_base.splits = 3;
    check_found(hidden, split_base, 204);
    hidden = base;
    hidden.tensor_core.block_length = 8;  // another fused length than the table's
    check_found(hidden, base, 100);

    const ReductionPlan scalar = likely_plans(gemm_of(Element::fp32, -1, -1, 0)).front();
    REQUIRE(scalar.arithmetic == Arithmetic::fused_multiply_add);
    check_found(scalar, scalar, 77);
    hidden = scalar;
    hidden.accumulators = 8;
    hidden.combination = Combination::halves_first;
    check_found(hidden, scalar, 77);
    // A CTA of 128 threads that add in turn, as kernels for matrix times vector do.
    hidden = scalar;
    hidden.accumulators = 128;
    hidden.accumulator_group = 4;
    hidden.block_k = 512;
    hidden.combination = Combination::warps_then_forward;
    check_found(hidden, scalar, 1100);
    // Nothing of the family.
    CHECK(plans_with_tree(SummationTree::parse("((0 3) (1 2))"), scalar).empty());
}

TEST_CASE("Orders learned at some K hold for others, or are said to be open") {
    ReductionPlan hidden = likely_plans(gemm_of(Element::fp32, 0, 0, 0)).front();
    hidden.accumulators = 4;
    hidden.accumulator_group = 1;
    LearnedOrders orders;
    CublasGemm gemm = gemm_of(Element::fp32, 0, 0, 64);
    CHECK_FALSE(orders.plan(gemm).plan.has_value());
    orders.add(gemm, summation_tree(hidden, 64));
    gemm.k = 1001;
    const CublasPlan plan = orders.plan(gemm);
    CAPTURE(plan.reason);
    // Tiles of 8 or more, dealt in turns of 1: the short tile may stand first or last. K = 64 does not tell.
    CHECK_FALSE(plan.plan.has_value());
    // Nor does 99 for tiles of more than 99; 515 = 2 * 256 + 3 does for all.
    orders.add(gemm, summation_tree(hidden, 99));
    CHECK_FALSE(orders.plan(gemm).plan.has_value());
    orders.add(gemm, summation_tree(hidden, 515));
    gemm.k = 1001;
    const CublasPlan later = orders.plan(gemm);
    CAPTURE(later.reason);
    REQUIRE(later.plan.has_value());
    CHECK(summation_tree(*later.plan, 1001) == summation_tree(hidden, 1001));
    gemm.stages = 7;
    CHECK_FALSE(orders.plan(gemm).plan.has_value());

    // A chain that was seen at one K alone is a chain at every K.
    CublasGemm plain = gemm_of(Element::fp32, 3, 0, 64);
    orders.add(plain, SummationTree::parse("<0; 1>*63"));
    plain.k = 777;
    REQUIRE(orders.plan(plain).plan.has_value());
    CHECK(summation_tree(*orders.plan(plain).plan, 777).text() == "<0; 1>*776");
    // In blocks of 8, K = 64 does not tell whether a short tile would come first.
    CublasGemm tf32 = gemm_of(Element::fp32, 3, 0, 64);
    tf32.compute = CublasCompute::tf32;
    orders.add(tf32, SummationTree::parse("<(0*8); 8*8>*7:8"));
    tf32.k = 128;
    CHECK(orders.plan(tf32).plan.has_value());
    tf32.k = 77;
    CHECK_FALSE(orders.plan(tf32).plan.has_value());
    orders.add(tf32, SummationTree::parse("(<(0*8); 8*8>*7:8 64*5)"));
    REQUIRE(orders.plan(tf32).plan.has_value());
    CHECK(orders.plan(tf32).plan->a == Element::tf32);

    // A tree that contradicts what the study says is not passed over.
    CublasGemm nvjet = gemm_of(Element::bf16, 66, 35, 256);
    orders.add(nvjet, SummationTree::parse("<(0*16); 16*16>*15:16"));
    CHECK(orders.plan(nvjet).plan.has_value());
    nvjet.custom_option = 3;
    orders.add(nvjet, SummationTree::parse("<(0*8); 8*8>*31:8"));
    CHECK_FALSE(orders.plan(nvjet).plan.has_value());
}

}  // namespace
}  // namespace heddle::numerics
