#include "validation/capture/sections/probes_matrix.h"

#include <memory>

#include "validation/capture/sections/matrix_questions.h"
#include "validation/capture/sections/matrix_vectors.h"
#include "validation/capture/sections/probe_records.h"

namespace heddle::capture {
namespace {

using Kind = MatrixInstruction::Kind;

// The model of the device; where there is none, that of the newest generation which has the instruction: the
// possible answers are the same, none of them believed.
std::optional<SumModel> nearest_model(const MatrixInstruction& instruction, unsigned capability) {
    for (const unsigned candidate : {capability, 100u, 90u, 89u, 80u, 75u, 70u})
        if (const auto model = model_of(instruction, candidate)) return model;
    return std::nullopt;
}

void ask(SectionContext& context, const std::string& id, const MatrixInstruction& instruction,
         const MatrixQuestion& question, LoadedProbes& loaded) {
    const MatrixProbe probe(context.device, instruction, 1, &loaded);
    const std::vector<std::uint64_t> results = probe.run(question.products);
    const auto expected = predict(instruction, context.device.compute_capability(), question.products);
    const int answer = answer_of(question, results);
    std::vector<std::string> answers;
    for (const Hypothesis& hypothesis : question.hypotheses) answers.push_back(hypothesis.answer);

    Record record;
    record.text("kind", "question")
        .integer("question", question.number)
        .text("topic", question.topic)
        .text("asked", question.asked)
        .text("instruction", instruction.mnemonic())
        .text("answer", answer < 0 ? "none of those considered" : answers[static_cast<std::size_t>(answer)])
        .text("believed", expected ? answers[0] : "")
        .texts("considered", answers)
        .integer("k", question.products.k);
    add_agreement(record, instruction, question.products, results, expected);
    record.texts("d", hexadecimals(results, bits_of(instruction.sum)));
    // a[rows][k], b[rows][k], c[rows], d[rows]
    record.integers("element_bytes", {stored_bytes(instruction.a), stored_bytes(instruction.b),
                                      stored_bytes(instruction.sum), stored_bytes(instruction.sum)});
    std::vector<std::byte> bytes;
    append_elements(bytes, question.products.a, instruction.a);
    append_elements(bytes, question.products.b, instruction.b);
    append_elements(bytes, question.products.c, instruction.sum);
    append_elements(bytes, results, instruction.sum);
    context.journal.add(id, record, bytes);
}

void try_vectors(SectionContext& context, const std::string& id, const MatrixInstruction& instruction,
                 VectorKind kind, std::size_t rows, unsigned steps, LoadedProbes& loaded) {
    const DotProducts products = random_products(instruction, kind, rows, steps);
    const std::vector<std::uint64_t> results =
        MatrixProbe(context.device, instruction, steps, &loaded).run(products);
    const auto expected = predict(instruction, context.device.compute_capability(), products);
    Record record;
    record.text("kind", "vectors")
        .text("instruction", instruction.mnemonic())
        .text("vectors", name_of(kind))
        .integer("steps", steps);
    add_agreement(record, instruction, products, results, expected);
    record.integer("element_bytes", stored_bytes(instruction.sum));
    std::vector<std::byte> bytes;
    append_elements(bytes, results, instruction.sum);
    context.journal.add(id, record, bytes);
}

// Of a sparse product: how many of the stored elements are added at once.
std::string sparse_answer(const MatrixInstruction& instruction, const SumModel& base,
                          const RandomTiles& tiles, const std::vector<std::uint64_t>& results) {
    std::string answers;
    for (unsigned length = 1; length <= instruction.stored_k(); length *= 2) {
        SumModel model = base;
        model.parameters.block_length = length;
        bool same = true;
        for (std::size_t row = 0; row < tiles.rows.size() && same; ++row) {
            const std::size_t tile = row / instruction.m;
            const auto a = std::span(tiles.a).subspan(row * instruction.stored_k(), instruction.stored_k());
            for (unsigned n = 0; n < instruction.n && same; ++n) {
                std::vector<std::uint64_t> b;
                for (const std::uint8_t k : tiles.rows[row])
                    b.push_back(tiles.b[(tile * instruction.n + n) * instruction.k + k]);
                const std::size_t place = row * instruction.n + n;
                same = evaluate(model, a, b, tiles.c[place]) == results[place];
            }
        }
        if (same)
            answers +=
                (answers.empty() ? "" : " or ") + std::to_string(length) + " stored elements to a block";
    }
    return answers.empty() ? "none of those considered" : answers;
}

void try_tiles(SectionContext& context, const std::string& id, const MatrixInstruction& instruction,
               VectorKind kind, std::size_t tiles, LoadedProbes& loaded) {
    const unsigned capability = context.device.compute_capability();
    const RandomTiles random = random_tiles(instruction, kind, tiles);
    const std::vector<std::uint64_t> results =
        MatrixProbe(context.device, instruction, 1, &loaded).tiles(random.a, random.b, random.c, random.rows);
    const auto expected =
        predict_tiles(instruction, capability, 1, random.a, random.b, random.c, random.rows);
    Record record;
    record.text("kind", "tiles")
        .text("topic", "sparse metadata and order")
        .text("instruction", instruction.mnemonic())
        .text("vectors", name_of(kind))
        .integer("tiles", static_cast<std::int64_t>(tiles));
    const bool telling = kind == VectorKind::wide || kind == VectorKind::cancellation;
    if (const auto model = nearest_model(instruction, capability); model && instruction.is_float() && telling)
        record.text("answer", sparse_answer(instruction, *model, random, results));
    add_agreement(record, bits_of(instruction.sum), results, expected);
    record.integer("element_bytes", stored_bytes(instruction.sum));
    std::vector<std::byte> bytes;
    append_elements(bytes, results, instruction.sum);
    context.journal.add(id, record, bytes);
}

}  // namespace

void add_matrix_questions(const SectionContext& context, std::vector<SectionItem>& items) {
    const unsigned capability = context.device.compute_capability();
    const auto loaded = std::make_shared<LoadedProbes>();
    for (const MatrixInstruction& instruction : matrix_instructions(capability)) {
        const auto model = nearest_model(instruction, capability);
        if (!model || instruction.kind == Kind::sparse) continue;
        for (const MatrixQuestion& question : questions_about(instruction, *model)) {
            const std::string number = question.number == 0 ? "" : std::to_string(question.number) + " ";
            items.push_back({"question " + number + question.topic + ": " + instruction.mnemonic(),
                             [=](SectionContext& c, const std::string& id) {
                                 ask(c, id, instruction, question, *loaded);
                             }});
        }
    }
}

void add_matrix_vectors(const SectionContext& context, std::vector<SectionItem>& items) {
    const bool quick = context.extent == Extent::quick;
    const auto loaded = std::make_shared<LoadedProbes>();
    const std::size_t rows = quick ? 32 : 768, tiles = quick ? 1 : 8;
    for (const MatrixInstruction& instruction : matrix_instructions(context.device.compute_capability())) {
        for (const VectorKind kind : kVectorKinds) {
            const bool plain = !format_of(instruction.a).has_value();
            if (plain && kind != VectorKind::any_bits) continue;  // integers: sums are exact
            const std::string what = std::string(name_of(kind)) + ": " + instruction.mnemonic();
            if (instruction.kind == Kind::sparse) {
                items.push_back({"tiles " + what, [=](SectionContext& c, const std::string& id) {
                                     try_tiles(c, id, instruction, kind, tiles, *loaded);
                                 }});
                continue;
            }
            items.push_back({"vectors " + what, [=](SectionContext& c, const std::string& id) {
                                 try_vectors(c, id, instruction, kind, rows, 1, *loaded);
                             }});
            if (kind != VectorKind::wide || instruction.kind == Kind::quad) continue;
            for (const unsigned steps : {2u, 4u}) {
                items.push_back({"vectors " + what + " x" + std::to_string(steps),
                                 [=](SectionContext& c, const std::string& id) {
                                     try_vectors(c, id, instruction, kind, rows, steps, *loaded);
                                 }});
            }
        }
    }
}

}  // namespace heddle::capture
