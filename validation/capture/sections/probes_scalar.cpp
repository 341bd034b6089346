#include "validation/capture/sections/probes_scalar.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "isa/target/generation.h"
#include "validation/capture/sections/probe_records.h"
#include "validation/capture/sections/scalar_probe.h"

namespace heddle::capture {
namespace {

// a * b + c where something is subnormal, and which of these ways to treat it gives the results.
void ask_subnormal(SectionContext& context, const std::string& id, bool ftz) {
    const float rows[6][3] = {{0x1p-140f, 1, 0}, {0x1p-140f, 0x1p100f, 0}, {0x1p-70f, 0x1p-70f, 0},
                              {0, 1, 0x1p-140f}, {0x1p-126f, 0.5f, 0},     {0x1p-126f, -1, 0x1.8p-126f}};
    ScalarInstruction fma;
    fma.mnemonic = ftz ? "fma.rn.ftz.f32" : "fma.rn.f32";
    fma.inputs = 3;
    std::vector<std::vector<std::uint64_t>> inputs(3);
    for (const auto& row : rows)
        for (unsigned i = 0; i < 3; ++i) inputs[i].push_back(std::bit_cast<std::uint32_t>(row[i]));
    const std::vector<std::uint64_t> results = run_scalar(context.device, fma, inputs);

    const auto flush = [](float value, bool wanted) {
        return wanted && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
    };
    const struct {
        const char* name;
        bool inputs, results;
    } choices[] = {{"kept", false, false},
                   {"inputs and results become zero", true, true},
                   {"inputs count as zero", true, false},
                   {"results become zero", false, true}};
    std::string answer = "none of those considered";
    std::vector<std::string> considered;
    for (const auto& choice : choices) {
        considered.push_back(choice.name);
        bool same = true;
        for (std::size_t i = 0; i < std::size(rows); ++i) {
            const float value = std::fma(flush(rows[i][0], choice.inputs), flush(rows[i][1], choice.inputs),
                                         flush(rows[i][2], choice.inputs));
            same = same && results[i] == std::bit_cast<std::uint32_t>(flush(value, choice.results));
        }
        if (same) answer = choice.name;
    }
    const std::string believed = considered[ftz ? 1 : 0];
    Record record;
    record.text("kind", "question")
        .integer("question", 10)
        .text("topic", "subnormal fp32")
        .text("asked",
              "2^-140 * 1, 2^-140 * 2^100, 2^-70 * 2^-70, 0 + 2^-140, 2^-126 / 2, 1.5 * 2^-126 - 2^-126")
        .text("instruction", fma.mnemonic)
        .text("answer", answer)
        .text("believed", believed)
        .texts("considered", considered)
        .flag("agrees", answer == believed)
        .texts("d", hexadecimals(results, 32));
    context.journal.add(id, record);
}

void try_scalar(SectionContext& context, const std::string& id, const ScalarInstruction& instruction,
                std::size_t count) {
    const auto inputs = scalar_operands(instruction, count);
    const std::vector<std::uint64_t> results = run_scalar(context.device, instruction, inputs);
    Record record;
    record.text("kind", "scalar").text("topic", instruction.topic).text("instruction", instruction.mnemonic);
    record.integer("rows", static_cast<std::int64_t>(count));
    if (instruction.expected) {
        std::int64_t identical = 0;
        std::vector<Record> differs;
        for (std::size_t i = 0; i < count; ++i) {
            std::array<std::uint64_t, 3> in{};
            std::vector<std::string> shown;
            for (unsigned n = 0; n < instruction.inputs; ++n) {
                in[n] = inputs[n][i];
                shown.push_back(hexadecimal(in[n], instruction.input_bits));
            }
            const std::uint64_t expected = instruction.expected(in);
            if (results[i] == expected) {
                ++identical;
            } else if (differs.size() < 8) {
                differs.push_back(Record()
                                      .integer("row", static_cast<std::int64_t>(i))
                                      .texts("inputs", shown)
                                      .text("d", hexadecimal(results[i], instruction.output_bits))
                                      .text("expected", hexadecimal(expected, instruction.output_bits)));
            }
        }
        record.flag("agrees", identical == static_cast<std::int64_t>(count)).integer("identical", identical);
        if (!differs.empty()) record.objects("differs", differs);
    } else {
        record.text("agrees", "unknown");
    }
    const unsigned bytes = instruction.output_bits / 8;
    record.integer("element_bytes", bytes);
    std::vector<std::byte> raw(count * bytes);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&raw[i * bytes], &results[i], bytes);
    context.journal.add(id, record, raw);
}

}  // namespace

void add_scalar_questions(const SectionContext&, std::vector<SectionItem>& items) {
    for (const bool ftz : {false, true}) {
        items.push_back(
            {std::string("question 10 subnormal fp32: ") + (ftz ? "fma.rn.ftz.f32" : "fma.rn.f32"),
             [=](SectionContext& c, const std::string& id) { ask_subnormal(c, id, ftz); }});
    }
}

void add_scalar_vectors(const SectionContext& context, std::vector<SectionItem>& items) {
    for (const ScalarInstruction& instruction : scalar_instructions()) {
        if (!target::runs_ptx(context.device.compute_capability(), instruction.first_capability)) continue;
        std::size_t count = instruction.topic == "approximation" ? 8192 : 4096;
        if (context.extent == Extent::quick) count = 256;
        items.push_back(
            {instruction.topic + " " + instruction.mnemonic,
             [=](SectionContext& c, const std::string& id) { try_scalar(c, id, instruction, count); }});
    }
}

}  // namespace heddle::capture
