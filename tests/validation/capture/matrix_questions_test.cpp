// The questions tell their possible answers apart, and a device that computes otherwise is found out.
#include "validation/capture/sections/matrix_questions.h"

#include <bit>
#include <catch2/catch.hpp>
#include <set>

#include "functional_device.h"

using namespace heddle::capture;
using heddle::capture::test::FunctionalDevice;
using heddle::numerics::Rounding;

namespace {

MatrixInstruction find(const std::string& mnemonic) {
    for (const MatrixInstruction& i : matrix_instructions())
        if (i.mnemonic() == mnemonic) return i;
    throw std::runtime_error("no " + mnemonic);
}

MatrixQuestion question(const MatrixInstruction& i, unsigned capability, const std::string& topic) {
    for (MatrixQuestion& q : questions_about(i, *model_of(i, capability)))
        if (q.topic == topic) return q;
    throw std::runtime_error("no question about " + topic);
}

// What the question answers to hardware that computes as `change` says, H100 otherwise.
template <typename Change>
std::string answer(const MatrixQuestion& q, const MatrixInstruction& i, Change change) {
    Hypothesis hardware{"", *model_of(i, 90)};
    change(hardware.model);
    const int found = answer_of(q, results_of(hardware, q.products));
    return found < 0 ? "?" : q.hypotheses[static_cast<std::size_t>(found)].answer;
}

const MatrixInstruction kFp16 = find("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16");
const MatrixInstruction kBf16 = find("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16");
const MatrixInstruction kTf32 = find("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32");
const MatrixInstruction kFp8 = find("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3");
const MatrixInstruction kE5m2ToHalf = find("wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e5m2");
const MatrixInstruction kHalf = find("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16");

}  // namespace

TEST_CASE("Every question has answers that its operands tell apart", "[capture][probes]") {
    std::set<unsigned> numbers;
    for (const unsigned capability : {75u, 80u, 89u, 90u}) {
        for (const MatrixInstruction& i : matrix_instructions(capability)) {
            const auto model = model_of(i, capability);
            if (!model || i.kind == MatrixInstruction::Kind::sparse) continue;
            for (const MatrixQuestion& q : questions_about(i, *model)) {
                INFO(i.mnemonic() << " on " << capability << ": " << q.topic);
                CHECK(q.products.count() > 0);
                const bool only_one = q.topic == "special values" ||
                                      (q.topic == "sign of zero" && model->parameters.unpacks_to_fp16);
                CHECK((q.hypotheses.size() > 1 || only_one));
                std::set<std::vector<std::uint64_t>> results;
                for (const Hypothesis& h : q.hypotheses) results.insert(results_of(h, q.products));
                CHECK(results.size() == q.hypotheses.size());
                numbers.insert(q.number);
            }
        }
    }
    CHECK(numbers == std::set<unsigned>{0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("Questions 1 to 8: another arithmetic, another answer", "[capture][probes]") {
    using M = SumModel;
    const auto as_believed = [](M&) {};
    SECTION("1: products of one block") {
        const auto q = question(kTf32, 90, "block length");
        CHECK(answer(q, kTf32, as_believed) == "L=8 (the whole instruction)");
        CHECK(answer(q, kTf32, [](M& m) { m.parameters.block_length = 4; }) == "L=4");
    }
    SECTION("2: bits of an fp8 result") {
        const auto q = question(kFp8, 90, "bits of the result");
        CHECK(answer(q, kFp8, as_believed) == "13 fraction bits");
        CHECK(answer(q, kFp8, [](M& m) { m.parameters.result_fraction_bits = 14; }) == "14 fraction bits");
        CHECK(answer(q, kFp8, [](M& m) {
                  m.parameters.result_fraction_bits = 23;
              }).find("23 fraction bits") != std::string::npos);
        // C = 1 + 2^-13 + 2^-14 gives 1 + 2^-13.
        CHECK(q.products.c[0] == std::bit_cast<std::uint32_t>(1 + 0x1p-13f + 0x1p-14f));
        CHECK(results_of(q.hypotheses[0], q.products)[0] == std::bit_cast<std::uint32_t>(1 + 0x1p-13f));
    }
    SECTION("3: truncation, or floor") {
        const auto q = question(kFp16, 90, "alignment");
        CHECK(answer(q, kFp16, as_believed) == "truncated at F=25");
        CHECK(answer(q, kFp16, [](M& m) { m.alignment = M::Alignment::floor; }) == "rounded down at F=25");
        CHECK(answer(q, kFp16, [](M& m) { m.alignment = M::Alignment::nearest; }) ==
              "rounded to nearest at F=25");
        CHECK(answer(q, kFp16, [](M& m) { m.parameters.alignment_fraction_bits = 24; }) ==
              "truncated at F=24");
        // The last row: c = 1, p = -2^-26 is 1.0, or by floor 0x3F7FFFFF.
        CHECK(results_of(q.hypotheses[0], q.products).back() == 0x3F800000u);
        Hypothesis floor = q.hypotheses[0];
        floor.model.alignment = M::Alignment::floor;
        CHECK(results_of(floor, q.products).back() == 0x3F7FFFFFu);
    }
    SECTION("4: the smallest exponent, bf16") {
        const auto q = question(kBf16, 90, "smallest exponent");
        CHECK(answer(q, kBf16, as_believed) == "nothing below 2^-158");
        CHECK(answer(q, kBf16, [](M& m) { m.parameters.minimum_exponent = -132; }) == "nothing below 2^-157");
        CHECK(answer(q, kBf16, [](M& m) { m.clamp_exponent = false; }) == "no smallest exponent");
        CHECK(answer(q, kBf16, [](M& m) { m.flush_subnormal_inputs = true; }) ==
              "subnormal inputs count as zero");
        CHECK(answer(q, kBf16, [](M& m) { m.flush_subnormal_results = true; }) ==
              "subnormal results become zero");
    }
    SECTION("5: e5m2 into fp16") {
        const auto q = question(kE5m2ToHalf, 90, "smallest exponent");
        CHECK(q.number == 5);
        CHECK(answer(q, kE5m2ToHalf, as_believed).find("nothing below 2^-34") == 0);
        CHECK(answer(q, kE5m2ToHalf, [](M& m) { m.parameters.minimum_exponent = -14; }) ==
              "nothing below 2^-27");
        CHECK(answer(q, kE5m2ToHalf, [](M& m) { m.flush_subnormal_inputs = true; }) ==
              "subnormal inputs count as zero");
    }
    SECTION("6: the sign of zero") {
        const auto q = question(kBf16, 90, "sign of zero");
        CHECK(answer(q, kBf16, as_believed) == "+0");
        CHECK(answer(q, kBf16, [](M& m) { m.zero_sign = M::ZeroSign::ieee; }) ==
              "-0 when every summand is -0");
        CHECK(answer(q, kBf16, [](M& m) { m.zero_sign = M::ZeroSign::of_truncated_sum; }).find("cut") !=
              std::string::npos);
    }
    SECTION("7: the low bits of tf32") {
        const auto q = question(kTf32, 90, "low bits of tf32");
        CHECK(answer(q, kTf32, as_believed) == "ignored");
        CHECK(answer(q, kTf32, [](M& m) { m.tf32_input = M::Tf32Input::nearest_even; }) ==
              "rounded to nearest even");
        CHECK(answer(q, kTf32, [](M& m) { m.tf32_input = M::Tf32Input::nearest_away; }) ==
              "rounded to nearest, ties away");
        CHECK(answer(q, kTf32, [](M& m) { m.tf32_input = M::Tf32Input::all_bits; }) == "used");
    }
    SECTION("8: overflow") {
        for (const MatrixInstruction& i : {kBf16, kHalf}) {
            const auto q = question(i, 90, "overflow");
            CHECK(answer(q, i, as_believed) == "infinity");
            CHECK(answer(q, i, [](M& m) { m.overflow_to_largest = true; }) == "the largest number");
        }
    }
    SECTION("rounding") {
        const auto q = question(kFp16, 90, "rounding");
        CHECK(answer(q, kFp16, as_believed) == "toward zero");
        CHECK(answer(q, kFp16, [](M& m) { m.parameters.rounding = Rounding::up; }) == "up");
        CHECK(answer(q, kFp16, [](M& m) {
                  m.parameters.rounding = Rounding::nearest_even;
              }).find("nearest even") == 0);
    }
}

TEST_CASE("Questions put to a device find its generation", "[capture][probes]") {
    // The operands are those for Hopper, the device computes as Ampere does: its L, F and e0 come out.
    const MatrixInstruction mma = find("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
    const auto ask = [&](unsigned capability, const std::string& topic) {
        FunctionalDevice device(capability);
        const MatrixQuestion q = question(mma, 90, topic);
        const int found = answer_of(q, MatrixProbe(device, mma).run(q.products));
        return found < 0 ? "?" : q.hypotheses[static_cast<std::size_t>(found)].answer;
    };
    CHECK(ask(90, "block length") == "L=16 (the whole instruction)");
    CHECK(ask(80, "block length") == "L=8");
    CHECK(ask(90, "alignment") == "truncated at F=25");
    CHECK(ask(80, "alignment") == "truncated at F=24");
    CHECK(ask(90, "smallest exponent") == "nothing below 2^-158");
    CHECK(ask(80, "smallest exponent") == "nothing below 2^-156");
    CHECK(ask(80, "bits of the result") == "23 fraction bits");

    const MatrixInstruction fp8 = find("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32");
    FunctionalDevice hopper(90), ada(89);
    const MatrixQuestion q = question(fp8, 90, "block length");
    const auto name = [&](int found) {
        return found < 0 ? "?" : q.hypotheses[static_cast<std::size_t>(found)].answer;
    };
    CHECK(name(answer_of(q, MatrixProbe(hopper, fp8).run(q.products))).find("unpacked to fp16") == 0);
    CHECK(name(answer_of(q, MatrixProbe(ada, fp8).run(q.products))) == "L=16");
}
