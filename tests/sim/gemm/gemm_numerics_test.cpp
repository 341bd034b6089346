// `heddle gemm --numerics`: the values of whole products on the device model.
#include "sim/gemm/gemm_numerics.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/workers/worker_pool.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

class Numerics : public JobRunner {
  public:
    Numerics(const models::gpu::GpuConfig& config, GemmQuestion question, unsigned choice)
        : config_(config), question_(question), choice_(choice) {}
    std::string run(std::size_t) override {
        return to_text(compute_gemm(question_, config_, candidates(question_, config_, {}).at(choice_)));
    }

  private:
    const models::gpu::GpuConfig& config_;
    GemmQuestion question_;
    unsigned choice_;
};

GemmNumerics numerics_of(const Hardware& hardware, const GemmQuestion& question, unsigned choice = 0) {
    GemmNumerics result;
    run_jobs(
        1, 1, [&] { return std::make_unique<Numerics>(gpu_config(hardware), question, choice); },
        [&](std::size_t, const std::string& text) { result = gemm_numerics_from_text(text); });
    return result;
}

}  // namespace

TEST_CASE("Products have the bits of their plan and the error of their type") {
    const Hardware h100 = load_hardware("h100-sxm");
    for (const char* type : {"bf16", "f16", "tf32", "fp8", "i8", "f32"}) {
        GemmQuestion question{72, 96, 208, gemm_type_from_name(type)};
        const GemmNumerics n = numerics_of(h100, question);
        CAPTURE(type, n.as_planned, n.worst, n.bound);
        CHECK(n.elements == 72 * 96);
        CHECK(n.passed());
        // Rounding of D, and of inputs, shows; integers are exact.
        if (question.type == trace::ElementType::i8) {
            CHECK(n.frobenius == 0);
        } else {
            CHECK(n.frobenius > 1e-9);
            CHECK(n.frobenius < (question.type == trace::ElementType::tf32 ? 2e-3 : 4e-3));
        }
    }
}

TEST_CASE(
    "Products by mma.sync of every type have the bits of their plan, in layouts that wgmma does not read") {
    const Hardware h100 = load_hardware("h100-sxm"), a100 = load_hardware("a100-sxm"),
                   v100 = load_hardware("v100-sxm");
    for (const char* type : {"tf32", "f64", "i8", "f16"}) {
        CAPTURE(type);
        CHECK(numerics_of(a100, {72, 96, 208, gemm_type_from_name(type)}).passed());
    }
    CHECK(numerics_of(v100, {72, 96, 208, gemm_type_from_name("f16")}).passed());
    CHECK(numerics_of(h100, {72, 96, 208, gemm_type_from_name("tf32"), true, false}).passed());
    CHECK(numerics_of(h100, {72, 96, 208, gemm_type_from_name("f64"), true, true}).passed());
    CHECK(numerics_of(h100, {80, 96, 208, gemm_type_from_name("fp8"), true, false}).passed());
}

TEST_CASE("Slices of K and quantised operands are computed too") {
    const Hardware h100 = load_hardware("h100-sxm");
    const GemmQuestion deep{8, 64, 4096};
    REQUIRE(candidates(deep, gpu_config(h100), {}).front().splits > 1);
    CHECK(numerics_of(h100, deep).passed());
    GemmQuestion fp8{40, 64, 272, trace::ElementType::e4m3};
    fp8.quantise = true;
    CHECK(numerics_of(h100, fp8).passed());
    GemmQuestion several{40, 48, 96};
    several.batch = 3;
    CHECK(numerics_of(h100, several).elements == 3 * 40 * 48);
    CHECK(numerics_of(h100, several).passed());
    const GemmQuestion huge{65536, 65536, 65536};
    CHECK_THROWS_AS(numerics_of(h100, huge), Error);
}

TEST_CASE("Products of sizes that are multiples of nothing have the bits of their plan, in every layout") {
    struct Device {
        const char* name;
        std::vector<const char*> types;
    };
    for (const Device& device : {Device{"h100-sxm", {"bf16", "f16", "tf32", "f32", "f64"}},
                                 {"a100-sxm", {"bf16", "f16", "tf32", "f32", "f64"}},
                                 {"rtx-a6000", {"bf16", "tf32", "f64"}},
                                 {"v100-sxm", {"f16", "f32"}}}) {
        const Hardware hardware = load_hardware(device.name);
        for (const char* type : device.types) {
            for (const bool transpose_a : {false, true}) {
                for (const bool transpose_b : {false, true}) {
                    CAPTURE(device.name, type, transpose_a, transpose_b);
                    const GemmQuestion question{67,          71,         45, gemm_type_from_name(type),
                                                transpose_a, transpose_b};
                    const GemmNumerics n = numerics_of(hardware, question);
                    CHECK(n.elements == 67 * 71);
                    CHECK(n.passed());
                }
            }
        }
    }
}

TEST_CASE("8-bit products with rows and columns that are multiples of nothing have the bits of their plan") {
    const Hardware h100 = load_hardware("h100-sxm"), a100 = load_hardware("a100-sxm");
    for (const char* type : {"fp8", "e5m2", "i8"}) {
        CAPTURE(type);
        CHECK(numerics_of(h100, {67, 71, 80, gemm_type_from_name(type)}).passed());
    }
    CHECK(numerics_of(a100, {67, 71, 52, trace::ElementType::i8}).passed());
}
