#include "validation/capture/sections/probe_records.h"

#include <algorithm>

namespace heddle::capture {
namespace {

constexpr std::size_t kDifferencesShown = 4;

std::string sparse_text(std::span<const std::uint64_t> row, unsigned bits) {
    std::string text;
    for (std::size_t k = 0; k < row.size(); ++k) {
        if (row[k] == 0) continue;
        text += (text.empty() ? "" : " ") + std::to_string(k) + ":" + hexadecimal(row[k], bits);
    }
    return text;
}

std::vector<std::size_t> differences(std::span<const std::uint64_t> results,
                                     const std::vector<std::uint64_t>& expected) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i] != expected[i]) rows.push_back(i);
    return rows;
}

template <typename Describe>
void add_differences(Record& record, unsigned bits, std::span<const std::uint64_t> results,
                     const std::optional<std::vector<std::uint64_t>>& expected, Describe describe) {
    record.integer("rows", static_cast<std::int64_t>(results.size()));
    if (!expected) {
        record.text("agrees", "unknown");
        return;
    }
    const std::vector<std::size_t> different = differences(results, *expected);
    record.flag("agrees", different.empty())
        .integer("identical", static_cast<std::int64_t>(results.size() - different.size()));
    std::vector<Record> shown;
    for (std::size_t i = 0; i < std::min(kDifferencesShown, different.size()); ++i) {
        const std::size_t row = different[i];
        Record one;
        one.integer("row", static_cast<std::int64_t>(row));
        describe(one, row);
        one.text("d", hexadecimal(results[row], bits)).text("expected", hexadecimal((*expected)[row], bits));
        shown.push_back(one);
    }
    if (!shown.empty()) record.objects("differs", shown);
}

}  // namespace

std::string hexadecimal(std::uint64_t value, unsigned bits) {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    const unsigned digits = std::max(1u, bits / 4);
    std::string text(digits, '0');
    for (unsigned i = 0; i < digits; ++i) text[digits - 1 - i] = kDigits[value >> (4 * i) & 15];
    return text;
}

std::vector<std::string> hexadecimals(std::span<const std::uint64_t> values, unsigned bits) {
    std::vector<std::string> texts;
    for (const std::uint64_t value : values) texts.push_back(hexadecimal(value, bits));
    return texts;
}

unsigned stored_bytes(Element element) {
    return std::max(1u, bits_of(element) / 8);
}

void append_elements(std::vector<std::byte>& bytes, std::span<const std::uint64_t> values, Element element) {
    const unsigned width = stored_bytes(element);
    bytes.reserve(bytes.size() + values.size() * width);
    for (const std::uint64_t value : values)
        for (unsigned i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
}

void add_agreement(Record& record, const MatrixInstruction& instruction, const DotProducts& products,
                   std::span<const std::uint64_t> results,
                   const std::optional<std::vector<std::uint64_t>>& expected) {
    const unsigned sum_bits = bits_of(instruction.sum);
    add_differences(record, sum_bits, results, expected, [&](Record& one, std::size_t row) {
        one.text("a", sparse_text(products.a_row(row), bits_of(instruction.a)))
            .text("b", sparse_text(products.b_row(row), bits_of(instruction.b)))
            .text("c", hexadecimal(products.c[row], sum_bits));
    });
}

void add_agreement(Record& record, unsigned bits, std::span<const std::uint64_t> results,
                   const std::optional<std::vector<std::uint64_t>>& expected) {
    add_differences(record, bits, results, expected, [](Record&, std::size_t) {});
}

}  // namespace heddle::capture
