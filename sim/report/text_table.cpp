#include "sim/report/text_table.h"

#include <algorithm>

namespace heddle::sim {
namespace {

std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// At most `width` code points, the last one an ellipsis where something is left out.
std::string shortened(const std::string& text, std::size_t width) {
    if (width_of(text) <= width) return text;
    std::size_t end = 0, columns = 0;
    while (end < text.size()) {
        std::size_t next = end + 1;
        while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80) ++next;
        if (++columns >= width) break;
        end = next;
    }
    return text.substr(0, end) + "\u2026";
}

}  // namespace

std::string align_columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - width_of(row[i]), ' ');
            const bool to_the_right = i < right.size() && right[i];
            line += (i == 0 ? "" : "  ") + (to_the_right ? padding + row[i] : row[i] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string fit_columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right,
                        std::size_t width) {
    if (width == 0 || rows.empty()) return align_columns(rows, right);
    constexpr std::size_t between = 2, least = 12;
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    const auto is_number = [&](std::size_t column) { return column < right.size() && right[column]; };
    const auto total = [&] {
        std::size_t sum = 0;
        for (const std::size_t one : widths) sum += one + between;
        return sum - between;
    };
    while (total() > width) {
        std::size_t widest = widths.size();
        for (std::size_t i = 0; i < widths.size(); ++i)
            if (!is_number(i) && widths[i] > least && (widest == widths.size() || widths[i] > widths[widest]))
                widest = i;
        if (widest == widths.size()) break;
        --widths[widest];
    }
    for (auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            if (!is_number(i)) row[i] = shortened(row[i], widths[i]);
    if (total() <= width || widths.size() < 3) return align_columns(rows, right);
    // The columns that have room, at least one beside the first; then the others.
    std::size_t last = 1, used = widths[0] + between + widths[1];
    while (last + 1 < widths.size() && used + between + widths[last + 1] <= width)
        used += between + widths[++last];
    std::vector<std::vector<std::string>> first, rest;
    std::vector<bool> rest_right{is_number(0)};
    for (std::size_t i = last + 1; i < widths.size(); ++i) rest_right.push_back(is_number(i));
    for (const auto& row : rows) {
        const std::size_t end = std::min(last + 1, row.size());
        first.emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(end));
        rest.push_back({row.empty() ? "" : row[0]});
        rest.back().insert(rest.back().end(), row.begin() + static_cast<std::ptrdiff_t>(end), row.end());
    }
    if (rest_right.size() == 1) return align_columns(rows, right);
    return align_columns(first, right) + "\n" + fit_columns(std::move(rest), rest_right, width);
}

std::string wrap_lines(const std::string& text, std::size_t width) {
    if (width == 0) return text;
    std::string result;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        // Lines keep their indentation, and what goes over is further to the right.
        const std::size_t text_begin = std::min(text.find_first_not_of(' ', begin), end);
        const std::size_t indentation = text_begin - begin;
        result += std::string(indentation, ' ');
        std::size_t column = indentation;
        bool first = true;
        for (std::size_t at = text_begin; at < end;) {
            const std::size_t stop = std::min(text.find(' ', at), end);
            const std::string word = text.substr(at, stop - at);
            if (!first && column + 1 + width_of(word) > width) {
                result += "\n" + std::string(indentation + 4, ' ');
                column = indentation + 4;
            } else if (!first) {
                result += ' ';
                ++column;
            }
            first = false;
            result += word;
            column += width_of(word);
            at = stop + 1;
        }
        result += "\n";
        begin = end + 1;
    }
    return result;
}

}  // namespace heddle::sim
