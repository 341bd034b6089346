// Questions that go through a BLAS, put to plans that are known.
#include "validation/capture/sections/probes_blas.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "functional_device.h"
#include "plan_blas.h"

using namespace heddle::capture;
namespace numerics = heddle::numerics;
using heddle::capture::test::FunctionalDevice;
using heddle::capture::test::PlanBlas;

namespace {

// What a BLAS of these plans answers to the questions whose id begins with `begin`.
std::vector<nlohmann::json> ask(
    const std::string& begin, std::function<std::vector<numerics::ReductionPlan>(const GemmProblem&)> plans) {
    FunctionalDevice device(90);
    PlanBlas blas(device);
    blas.plans_of = std::move(plans);
    device.set_blas(&blas);
    const auto folder =
        std::filesystem::temp_directory_path() / ("heddle_blas_probe_test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    {
        Journal journal(folder, "probes");
        SectionContext context{device, journal, Extent::quick};
        std::vector<SectionItem> all, wanted;
        add_blas_questions(context, all);
        for (const SectionItem& item : all)
            if (item.id.rfind(begin, 0) == 0) wanted.push_back(item);
        run_items(context, wanted);
    }
    std::vector<nlohmann::json> records;
    std::ifstream file(folder / "probes.jsonl");
    for (std::string line; std::getline(file, line);) records.push_back(nlohmann::json::parse(line));
    std::filesystem::remove_all(folder);
    REQUIRE(!records.empty());
    return records;
}

numerics::ReductionPlan tensor_plan(const GemmProblem& p, numerics::Element input, numerics::Element output) {
    numerics::ReductionPlan plan;
    plan.a = plan.b = input;
    plan.c = plan.d = plan.bias = output;
    const bool fp8 = bytes_of(p.a) == 1;
    plan.tensor_core = numerics::parameters_for(
        numerics::Generation::hopper, numerics::format_of(input), numerics::Format::fp32,
        fp8 ? numerics::Instruction::wgmma : numerics::Instruction::mma_sync);
    plan.instruction_k = fp8 ? 32 : input == numerics::Element::tf32 ? 8 : 16;
    plan.block_k = 4 * plan.instruction_k;
    return plan;
}

}  // namespace

TEST_CASE("Question 12: fp8 sums that are promoted, or not", "[capture][probes]") {
    const auto with = [](unsigned interval) {
        return [=](const GemmProblem& p) {
            numerics::ReductionPlan plan = tensor_plan(p, numerics::Element::e4m3, numerics::Element::fp32);
            plan.promotion_interval = p.fast_accumulation ? 0 : interval;
            return std::vector{plan};
        };
    };
    for (const unsigned interval : {32u, 128u}) {
        for (const auto& record : ask("question 12", with(interval))) {
            INFO(record.dump());
            const bool fast = record["id"].get<std::string>().find("fast") != std::string::npos;
            CHECK(record["answer"] == (fast ? "13 bits are kept from one instruction to the next"
                                            : "added in fp32 every " + std::to_string(interval) + " of k"));
        }
    }
    // A wider accumulator.
    const auto wide = [](const GemmProblem& p) {
        numerics::ReductionPlan plan = tensor_plan(p, numerics::Element::e4m3, numerics::Element::fp32);
        plan.tensor_core.alignment_fraction_bits = 25;
        plan.tensor_core.result_fraction_bits = 23;
        return std::vector{plan};
    };
    CHECK(ask("question 12", wide)[0]["answer"] == "more than 13 bits everywhere");
}

TEST_CASE("Question 9: alpha and beta with one rounding, or two", "[capture][probes]") {
    for (const bool fused : {true, false}) {
        const auto plans = [=](const GemmProblem& p) {
            numerics::ReductionPlan plan =
                tensor_plan(p, numerics::Element::fp16,
                            p.d == Type::f16 ? numerics::Element::fp16 : numerics::Element::fp32);
            plan.epilogue.fused = fused;
            return std::vector{plan};
        };
        for (const auto& record : ask("question 9 16x16x64 f16", plans)) {
            INFO(record.dump());
            const std::string answer = record["answer"],
                              wanted = name_of(fused ? EpilogueRounding::fma_of_product
                                                     : EpilogueRounding::three_roundings);
            CHECK(answer.find(wanted) != std::string::npos);
            if (record["problem"]["d"] == "f32") CHECK(answer == wanted);
        }
    }
}

TEST_CASE("The ways to round an epilogue differ", "[capture][probes]") {
    const float third = 1.0f / 3.0f;
    // Against long double, which holds the exact value of these: 48 and 49 bits.
    const float exact =
        static_cast<float>(static_cast<long double>(third) * 7 + static_cast<long double>(third) * 0.71f);
    CHECK(epilogue_value(EpilogueRounding::once, third, 7, third, 0.71f) == exact);
    unsigned different[3] = {};
    for (int i = 1; i < 200; ++i) {
        const float c = 0.37f * static_cast<float>(i) - 31, sum = static_cast<float>(i % 23 - 11);
        const float once = epilogue_value(EpilogueRounding::once, third, sum, third, c);
        const float exact_value =
            static_cast<float>(static_cast<long double>(third) * sum + static_cast<long double>(third) * c);
        CHECK(once == exact_value);
        for (unsigned way = 0; way < 3; ++way)
            different[way] += epilogue_value(kEpilogueRoundings[way], third, sum, third, c) != once ? 1 : 0;
    }
    for (const unsigned count : different) CHECK(count > 0);
}

TEST_CASE("Question 7 through a BLAS", "[capture][probes]") {
    for (const auto& [rounding, answer] :
         {std::pair{numerics::Rounding::toward_zero, "ignored"},
          {numerics::Rounding::nearest_even, "rounded to nearest even"},
          {numerics::Rounding::nearest_away, "rounded to nearest, ties away"}}) {
        const auto plans = [how = rounding](const GemmProblem& p) {
            numerics::ReductionPlan plan = tensor_plan(p, numerics::Element::tf32, numerics::Element::fp32);
            plan.tf32_input = how;
            return std::vector{plan};
        };
        CHECK(ask("question 7 cublasLt tf32", plans)[0]["answer"] == answer);
    }
}

TEST_CASE("Question 10 and 11 through a BLAS", "[capture][probes]") {
    for (const bool flush : {false, true}) {
        const auto plans = [=](const GemmProblem&) {
            numerics::ReductionPlan plan;
            plan.a = plan.b = plan.c = plan.d = plan.bias = numerics::Element::fp32;
            plan.arithmetic = numerics::Arithmetic::fused_multiply_add;
            plan.flush_subnormals = flush;
            return std::vector{plan};
        };
        CHECK(ask("question 10", plans)[0]["answer"] == (flush ? "inputs and results become zero" : "kept"));
    }
    for (const bool drops : {false, true}) {
        const auto plans = [=](const GemmProblem& p) {
            numerics::ReductionPlan plan =
                tensor_plan(p, numerics::Element::fp16,
                            p.d == Type::f16 ? numerics::Element::fp16 : numerics::Element::fp32);
            plan.splits = 9;
            plan.split_grain = 64;
            plan.drops_tail = drops;
            return std::vector{plan};
        };
        for (const auto& record : ask("question 11", plans)) {
            INFO(record.dump());
            CHECK(record["agrees"] == !drops);
            CHECK(record["answer"] == std::string(drops ? "11520" : "11528") + " by 1 of the algorithms");
        }
    }
}
