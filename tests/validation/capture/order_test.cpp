// Section "order" reveals the plans of a BLAS whose plans are known.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "functional_device.h"
#include "plan_blas.h"
#include "validation/capture/section.h"
#include "validation/capture/sections/gemm_order_probe.h"
#include "validation/capture/sections/order_problems.h"

using namespace heddle::capture;
namespace numerics = heddle::numerics;
using heddle::capture::test::FunctionalDevice;
using heddle::capture::test::PlanBlas;

namespace {

numerics::Element element_of(Type type) {
    switch (type) {
        case Type::f64:
            return numerics::Element::fp64;
        case Type::f16:
            return numerics::Element::fp16;
        case Type::bf16:
            return numerics::Element::bf16;
        case Type::e4m3:
            return numerics::Element::e4m3;
        case Type::e5m2:
            return numerics::Element::e5m2;
        case Type::i8:
            return numerics::Element::int8;
        case Type::i32:
            return numerics::Element::int32;
        default:
            return numerics::Element::fp32;
    }
}

// As cublasLt on an H100 is believed to do it: one chain over K.
numerics::ReductionPlan plan_of(const GemmProblem& p) {
    numerics::ReductionPlan plan;
    plan.a = element_of(p.a);
    plan.b = element_of(p.b);
    plan.c = plan.d = plan.bias = element_of(p.d);
    const bool fp8 = bytes_of(p.a) == 1 && p.a != Type::i8;
    if (p.compute == Compute::i32) {
        plan.arithmetic = numerics::Arithmetic::integer;
        plan.accumulator = numerics::Element::int32;
    } else if (p.compute == Compute::f64 || (p.a == Type::f32 && p.compute != Compute::tf32)) {
        plan.arithmetic = numerics::Arithmetic::fused_multiply_add;
        plan.accumulator = element_of(p.a);
        plan.block_k = 8;
    } else {
        if (p.compute == Compute::tf32) plan.a = plan.b = numerics::Element::tf32;
        const bool half = p.compute == Compute::f16;
        plan.accumulator = half ? numerics::Element::fp16 : numerics::Element::fp32;
        plan.tensor_core = numerics::parameters_for(
            numerics::Generation::hopper, numerics::format_of(plan.a), numerics::format_of(plan.b),
            half ? numerics::Format::fp16 : numerics::Format::fp32, numerics::Instruction::wgmma);
        plan.instruction_k = p.compute == Compute::tf32 ? 8 : fp8 ? 32 : 16;
        plan.block_k = 4 * plan.instruction_k;
        if (fp8 && !p.fast_accumulation) plan.promotion_interval = 128;
    }
    return plan;
}

}  // namespace

TEST_CASE("Probes through a GEMM reveal its plan", "[capture][order]") {
    FunctionalDevice device(90);
    PlanBlas blas(device);
    device.set_blas(&blas);
    unsigned revealed = 0;
    for (const OrderProblem& order : order_problems(Extent::quick)) {
        for (const bool transpose : {false, true}) {
            GemmProblem p = order.problem;
            p.m = 24;
            p.n = 20;
            p.k = bytes_of(p.a) == 1 ? 288 : 72;
            p.transpose_a = transpose;
            if (transpose) p.transpose_b = false;
            const numerics::ReductionPlan plain = plan_of(p);
            numerics::ReductionPlan split = plain, residue = plain;
            split.splits = 3;
            split.split_grain = plain.instruction_k;
            residue.residue = numerics::ResidueTile::first;
            residue.block_k = 3 * plain.instruction_k;
            blas.plans = {plain, split, residue};
            GemmOrderProbe probe(device, p);
            for (const GemmAlgorithm& algorithm : blas.algorithms(p, 3)) {
                const auto order_found = probe.reveal(algorithm);
                INFO(p.name() << " plan " << algorithm.id << ": " << order_found.problem);
                REQUIRE(order_found.tree);
                CHECK(
                    order_found.tree->text() ==
                    numerics::summation_tree(blas.plans[static_cast<std::size_t>(algorithm.id)], p.k).text());
                ++revealed;
            }
        }
    }
    CHECK(revealed >= 60);
}

TEST_CASE("The section's records", "[capture][order]") {
    FunctionalDevice device(90);
    PlanBlas blas(device);
    device.set_blas(&blas);
    blas.plans_of = [](const GemmProblem& p) { return std::vector{plan_of(p)}; };
    const auto folder =
        std::filesystem::temp_directory_path() / ("heddle_order_test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    {
        Journal journal(folder, "order");
        SectionContext context{device, journal, Extent::quick};
        unsigned asked = 0;
        context.stop = [&] { return ++asked > 30; };
        CHECK_FALSE(capture_order(context));  // cut off somewhere
        const std::size_t before = journal.size();
        CHECK(before > 0);
        context.stop = [] { return false; };
        CHECK(capture_order(context));
        CHECK(journal.size() > before);
        const std::size_t all = journal.size();
        CHECK(capture_order(context));  // nothing is asked twice
        CHECK(journal.size() == all);
    }
    std::ifstream file(folder / "order.jsonl");
    unsigned trees = 0, integers = 0, left_out = 0;
    for (std::string line; std::getline(file, line);) {
        const nlohmann::json record = nlohmann::json::parse(line);
        INFO(line);
        CHECK_FALSE(record.contains("error"));
        if (record["kind"] == "integers") {
            CHECK(record["exact"] == true);
            ++integers;
        } else if (record["rank"] != 0) {
            CHECK(record.contains("left_out"));  // there is one plan
            ++left_out;
        } else {
            REQUIRE(record.contains("tree"));
            CHECK(record["algorithm"]["kernels"] == "plan 0");
            const auto tree = numerics::SummationTree::parse(record["tree"].get<std::string>());
            CHECK(tree.leaf_count() == record["problem"]["k"].get<std::size_t>());
            ++trees;
        }
    }
    CHECK(integers == 1);
    CHECK(trees >= 12);
    CHECK(left_out >= 12);
    std::filesystem::remove_all(folder);
}
