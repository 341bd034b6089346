#include "isa/target/generation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace heddle::target;

namespace {

std::vector<unsigned> capabilities_with(Feature feature) {
    std::vector<unsigned> having;
    for (const Generation* generation : generations())
        if (generation->*feature) having.push_back(generation->compute_capability);
    return having;
}

}  // namespace

TEST_CASE("every compute capability is found, and belongs to its generation") {
    for (const Generation* generation : generations())
        CHECK(&generation_of(generation->compute_capability) == generation);
    CHECK(generation_of(70) == Generation::volta);
    CHECK(generation_of(75) == Generation::turing);
    for (const unsigned ampere : {80u, 86u, 87u, 88u}) CHECK(generation_of(ampere) == Generation::ampere);
    CHECK(generation_of(89) == Generation::ada);
    CHECK(generation_of(90) == Generation::hopper);
    for (const unsigned blackwell : {100u, 101u, 103u, 110u})
        CHECK(generation_of(blackwell) == Generation::blackwell);
    for (const unsigned board : {120u, 121u}) CHECK(generation_of(board) == Generation::rtx_blackwell);
}

TEST_CASE("an unknown compute capability is an error that names the known ones") {
    for (const unsigned unknown : {0u, 61u, 85u, 95u, 130u}) {
        CHECK(find_generation(unknown) == nullptr);
        CHECK_THROWS_AS(generation_of(unknown), std::invalid_argument);
    }
    CHECK_THROWS_WITH(generation_of(61),
                      "no GPU is known of compute capability 6.1; known are 7.0, 7.2, 7.5, "
                      "8.0, 8.6, 8.7, 8.8, 8.9, 9.0, 10.0, 10.1, 10.3, 11.0, 12.0 and 12.1");
    // A device that nobody knows runs the PTX of those before it.
    CHECK(nearest_generation(130).compute_capability == 121);
    CHECK(nearest_generation(85).compute_capability == 80);
    CHECK(nearest_generation(61).compute_capability == 70);
}

// PTX ISA, "Target ISA Notes" of ldmatrix, cvt, mma, cp.async, red, cp.async.bulk, griddepcontrol, wgmma and
// tcgen05.
TEST_CASE("instructions come with the compute capability that the PTX manual says") {
    struct Since {
        const char* instruction;
        Feature feature;
        unsigned first;
    };
    const Since all[] = {
        {"mma.sync f16", &Generation::has_fp16_mma, 70},
        {"ldmatrix", &Generation::has_ldmatrix, 75},
        {"cvt.f16x2.f32", &Generation::has_packed_conversion, 80},
        {"bf16", &Generation::has_bf16, 80},
        {"mma.sync tf32", &Generation::has_tf32, 80},
        {"cp.async", &Generation::has_cp_async, 80},
        {"mma.sync m16n8k16", &Generation::has_mma_m16n8k16, 80},
        {"mma.sync m16n8k32 s8", &Generation::has_int8_mma_k32, 80},
        {"mma.sync m8n8k4 f64", &Generation::has_fp64_mma, 80},
        {"e4m3", &Generation::has_fp8, 89},
        {"mma.sync m16n8k8 f64", &Generation::has_fp64_mma_m16, 90},
        {"red.add.bf16", &Generation::has_bf16_reduction, 90},
        {"cp.async.bulk.tensor", &Generation::has_tensor_maps, 90},
        {"griddepcontrol", &Generation::has_programmatic_launch, 90},
        {"sm_90a", &Generation::has_specific_target, 90},
    };
    for (const Since& since : all) {
        INFO(since.instruction);
        CHECK(first_with(since.feature) == since.first);
        // And every later one has it.
        for (const Generation* generation : generations())
            CHECK(generation->*since.feature == runs_ptx(generation->compute_capability, since.first));
    }
    CHECK(capabilities_with(&Generation::has_wgmma) == std::vector{90u});
    CHECK(capabilities_with(&Generation::has_tcgen05) == std::vector{100u, 101u, 103u, 110u});
    CHECK(capabilities_with(&Generation::mma_by_quads) == std::vector{70u, 72u});
    CHECK(capabilities_with(&Generation::gemm_takes_fp8_mma) == std::vector{89u, 120u, 121u});
    CHECK(capabilities_with(&Generation::has_fast_fp64_mma) == std::vector{80u, 90u});
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
TEST_CASE("limits are those of the CUDA programming guide") {
    struct Row {
        unsigned capability, warps, ctas, shared_kib;
    };
    for (const Row& row : {Row{70, 64, 32, 96},
                           {75, 32, 16, 64},
                           {80, 64, 32, 164},
                           {86, 48, 16, 100},
                           {87, 48, 16, 164},
                           {89, 48, 24, 100},
                           {90, 64, 32, 228},
                           {100, 64, 32, 228},
                           {120, 48, 24, 100}}) {
        const Generation& generation = generation_of(row.capability);
        INFO(row.capability);
        CHECK(generation.max_warps_per_sm == row.warps);
        CHECK(generation.max_ctas_per_sm == row.ctas);
        CHECK(generation.shared_kib_per_sm == row.shared_kib);
    }
    for (const Generation* generation : generations()) {
        INFO(generation->compute_capability);
        const auto sizes = generation->shared_kib_offered;
        CHECK(std::is_sorted(sizes.begin(), sizes.end()));
        CHECK(std::find(sizes.begin(), sizes.end(), generation->shared_kib_per_sm) != sizes.end());
        CHECK(generation->reserved_shared_bytes_per_cta == (generation->has_cp_async ? 1024 : 0));
    }
}

// The same guide, "Throughput of Native Arithmetic Instructions"; whitepapers of V100, A100, H100 and RTX PRO 6000:
// 125, 312, 989 and 504 TFLOP/s of dense fp16 on 80, 108, 132 and 188 SMs.
TEST_CASE("rates are those of the guide and of the whitepapers") {
    struct Row {
        unsigned capability, fp32, fp64, tensor;
    };
    for (const Row& row : {Row{70, 64, 32, 512},
                           {75, 64, 2, 512},
                           {80, 64, 32, 1024},
                           {86, 128, 2, 512},
                           {89, 128, 2, 512},
                           {90, 128, 64, 2048},
                           {120, 128, 2, 512}}) {
        const Rates& rates = generation_of(row.capability).rates;
        INFO(row.capability);
        CHECK(rates.fp32 == row.fp32);
        CHECK(rates.fp64 == row.fp64);
        CHECK(rates.tensor_16bit == row.tensor);
    }
}

TEST_CASE("the tensor core's arithmetic has a length for each type that mma.sync takes") {
    for (const Generation* generation : generations()) {
        const TensorCoreArithmetic& unit = generation->tensor_core;
        INFO(generation->compute_capability);
        CHECK(unit.length_16bit != 0);
        CHECK((unit.length_tf32 != 0) == generation->has_tf32);
        CHECK((unit.length_fp8 != 0) == generation->has_fp8);
        CHECK(unit.fraction_bits > 0);
        CHECK(unit.minimum_exponent_fp32 < -126);
        CHECK(unit.minimum_exponent_fp16 < -14);
    }
    CHECK(Generation::volta.mma_k(2) == 4);
    CHECK(Generation::turing.mma_k(2) == 8);
    CHECK(Generation::ampere.mma_k(2) == 16);
    CHECK(Generation::ampere.mma_k(4) == 8);
    CHECK(Generation::hopper.mma_k(1) == 32);
}

TEST_CASE("PTX runs on its own compute capability and later ones, of an a-target on its own alone") {
    CHECK(runs_ptx(90, 80));
    CHECK(runs_ptx(90, 90));
    CHECK_FALSE(runs_ptx(80, 90));
    CHECK(runs_ptx(90, 90, true));
    CHECK_FALSE(runs_ptx(100, 90, true));
    CHECK(specific_target(90) == "sm_90a");
    CHECK(capability_text(103) == "10.3");
}
