#include "validation/compare/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "validation/capture/sections/matrix_vectors.h"
#include "validation/capture/sections/probe_records.h"
#include "validation/capture/sections/scalar_probe.h"
#include "validation/capture/sections/sum_model.h"
#include "validation/compare/capture_reference.h"

namespace heddle::validation {
namespace {

using capture::DotProducts;
using capture::MatrixInstruction;
using Values = std::vector<std::uint64_t>;

MatrixInstruction instruction_of(const CapturedRecord& record) {
    const std::string mnemonic = record.get<std::string>("instruction");
    for (const MatrixInstruction& instruction : capture::matrix_instructions())
        if (instruction.mnemonic() == mnemonic) return instruction;
    record.fail("instruction", "is none that this program knows: " + mnemonic);
}

// Reads little-endian elements from a record's bytes, one list after the other.
class Elements {
  public:
    explicit Elements(const CapturedRecord& record) : record_(record) {}
    Values take(std::size_t count, unsigned bytes) {
        if (count > (record_.binary.size() - at_) / bytes)
            record_.fail("binary", "is too short for the record's rows");
        Values values(count);
        for (std::uint64_t& value : values) {
            std::memcpy(&value, record_.binary.data() + at_, bytes);
            at_ += bytes;
        }
        return values;
    }

  private:
    const CapturedRecord& record_;
    std::size_t at_ = 0;
};

constexpr unsigned kMostSummands = 1u << 16;

// A number of results; each of them has a byte at least.
std::size_t count_of(const CapturedRecord& record, const std::string& key) {
    const auto count = record.get<std::size_t>(key);
    if (count > record.binary.size()) record.fail(key, "is more than the record's bytes hold");
    return count;
}

// The recorded results of one record and what today's model says.
struct Recomputed {
    Values results;
    std::optional<Values> expected;
    unsigned bits = 32;
    std::string category;
};

std::string category_of(const MatrixInstruction& instruction, const char* what) {
    const std::string type = capture::name_of(instruction.a);
    const bool fp8 = type == "e4m3" || type == "e5m2";
    const char* path = instruction.kind == MatrixInstruction::Kind::wgmma    ? "wgmma"
                       : instruction.kind == MatrixInstruction::Kind::sparse ? "mma.sp"
                                                                             : "mma.sync";
    return fmt::format("{} {} {}", what, path, fp8 ? "fp8" : type);
}

Recomputed question(const CapturedRecord& record, unsigned capability) {
    const MatrixInstruction instruction = instruction_of(record);
    const std::size_t rows = count_of(record, "rows");
    Elements elements(record);
    DotProducts products;
    products.k = record.get<unsigned>("k");
    if (products.k == 0 || products.k > kMostSummands) record.fail("k", "is no number of products");
    products.a = elements.take(rows * products.k, capture::stored_bytes(instruction.a));
    products.b = elements.take(rows * products.k, capture::stored_bytes(instruction.b));
    products.c = elements.take(rows, capture::stored_bytes(instruction.sum));
    return {elements.take(rows, capture::stored_bytes(instruction.sum)),
            capture::predict(instruction, capability, products), capture::bits_of(instruction.sum),
            category_of(instruction, "questions:")};
}

capture::VectorKind kind_of(const CapturedRecord& record) {
    try {
        return capture::vector_kind_of(record.get<std::string>("vectors"));
    } catch (const std::invalid_argument& error) {
        record.fail("vectors", error.what());
    }
}

Recomputed vectors(const CapturedRecord& record, unsigned capability) {
    const MatrixInstruction instruction = instruction_of(record);
    const std::size_t rows = count_of(record, "rows");
    const auto steps = record.get<unsigned>("steps");
    if (steps == 0 || steps > kMostSummands) record.fail("steps", "is no number of instructions");
    const DotProducts products = capture::random_products(instruction, kind_of(record), rows, steps);
    return {Elements(record).take(rows, capture::stored_bytes(instruction.sum)),
            capture::predict(instruction, capability, products), capture::bits_of(instruction.sum),
            category_of(instruction, "vectors:")};
}

Recomputed tiles(const CapturedRecord& record, unsigned capability) {
    const MatrixInstruction instruction = instruction_of(record);
    const auto random = capture::random_tiles(instruction, kind_of(record), count_of(record, "tiles"));
    return {Elements(record).take(random.c.size(), capture::stored_bytes(instruction.sum)),
            capture::predict_tiles(instruction, capability, 1, random.a, random.b, random.c, random.rows),
            capture::bits_of(instruction.sum), category_of(instruction, "vectors:")};
}

Recomputed scalar(const CapturedRecord& record) {
    const std::string mnemonic = record.get<std::string>("instruction");
    const std::size_t rows = count_of(record, "rows");
    for (const capture::ScalarInstruction& instruction : capture::scalar_instructions()) {
        if (instruction.mnemonic != mnemonic) continue;
        Recomputed result{Elements(record).take(rows, instruction.output_bits / 8), std::nullopt,
                          instruction.output_bits, "scalar: " + instruction.topic};
        if (!instruction.expected) return result;
        const auto inputs = capture::scalar_operands(instruction, rows);
        result.expected.emplace();
        for (std::size_t i = 0; i < rows; ++i) {
            std::array<std::uint64_t, 3> in{};
            for (unsigned n = 0; n < instruction.inputs; ++n) in[n] = inputs[n][i];
            result.expected->push_back(instruction.expected(in));
        }
        return result;
    }
    record.fail("instruction", "is none that this program knows: " + mnemonic);
}

std::optional<Recomputed> recompute(const CapturedRecord& record, unsigned capability) {
    const std::string kind = record.get_or<std::string>("kind", "");
    if (record.binary.empty()) return std::nullopt;
    if (kind == "vectors") return vectors(record, capability);
    if (kind == "tiles") return tiles(record, capability);
    if (kind == "scalar") return scalar(record);
    if (kind == "question" && record.values.contains("k")) return question(record, capability);
    return std::nullopt;  // through cublasLt: answers alone
}

ComparisonRow row_of(const CapturedRecord& record, const Recomputed& found) {
    ComparisonRow row;
    row.name = record.id;
    row.category = found.category;
    BitCount bits;
    bits.total = found.results.size();
    for (std::size_t i = 0; i < found.results.size(); ++i) {
        if (found.results[i] == (*found.expected)[i]) {
            ++bits.identical;
        } else if (row.note.empty()) {
            row.note = fmt::format("row {}: {} recorded, {} by the model", i,
                                   capture::hexadecimal(found.results[i], found.bits),
                                   capture::hexadecimal((*found.expected)[i], found.bits));
        }
    }
    row.bits = bits;
    return row;
}

using AnswerKey =
    std::tuple<unsigned, std::string, std::string, std::string>;  // question, topic, answer, believed

// Instructions by question and answer; unnumbered questions last.
std::map<AnswerKey, std::vector<std::string>> by_answer(const std::vector<ProbeAnswer>& answers) {
    std::map<AnswerKey, std::vector<std::string>> groups;
    for (const ProbeAnswer& a : answers)
        groups[{a.question == 0 ? 99 : a.question, a.topic, a.answer, a.believed}].push_back(a.instruction);
    return groups;
}

std::string judgement(const std::string& answer, const std::string& believed) {
    if (believed.empty()) return "open";
    return answer == believed ? "agrees" : "differs: " + believed + " was believed";
}

std::string joined(const std::vector<std::string>& names, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
    return names.size() <= most ? text : text + fmt::format(" and {} more", names.size() - most);
}

ResultTable answer_table(const std::vector<ProbeAnswer>& answers) {
    ResultTable table{"Open questions, answered", {{"question", "about", "answer", "", "instructions"}}, {}};
    for (const auto& [key, names] : by_answer(answers)) {
        const auto& [number, topic, answer, believed] = key;
        table.rows.push_back({number == 99 ? "" : std::to_string(number), topic, answer,
                              judgement(answer, believed), joined(names, 2)});
    }
    return table;
}

}  // namespace

std::vector<ProbeAnswer> probe_answers(const CapturedSection& section) {
    std::vector<ProbeAnswer> answers;
    for (const CapturedRecord& record : section.records) {
        if (!record.values.contains("answer")) continue;
        answers.push_back({record.get_or<unsigned>("question", 0), record.get<std::string>("topic"),
                           record.get<std::string>("instruction"), record.get<std::string>("answer"),
                           record.get_or<std::string>("believed", "")});
    }
    return answers;
}

std::vector<Comparison> compare_probes(const RecordedCapture& capture, const CompareOptions& options) {
    const CapturedSection& section = capture.section("probes");
    Comparison comparison;
    comparison.title = "Instructions, bit for bit";
    comparison.reference = reference_of(capture);
    BitCount all;
    std::size_t without_model = 0;
    for (const CapturedRecord& record : section.records) {
        if (record.values.contains("error") || record.values.contains("left_out")) {
            const char* key = record.values.contains("error") ? "error" : "left_out";
            comparison.missing.push_back(record.id + ": " + record.get<std::string>(key));
            continue;
        }
        const auto found = recompute(record, capture.compute_capability());
        if (!found) continue;
        if (!found->expected) {
            ++without_model;
            continue;
        }
        ComparisonRow row = row_of(record, *found);
        if (!options.selects(row.name, row.category)) continue;
        all.identical += row.bits->identical;
        all.total += row.bits->total;
        comparison.rows.push_back(std::move(row));
    }
    if (all.total > 0)
        comparison.bars.push_back(
            at_least("results of single instructions, identical", 100 * all.fraction(), 100));
    comparison.tables.push_back(answer_table(probe_answers(section)));
    if (without_model > 0)
        comparison.notes.push_back(
            fmt::format("{} recorded lists have no model of every bit (approximations and rare rounding "
                        "modes) and are not compared.",
                        without_model));
    return {comparison};
}

}  // namespace heddle::validation
