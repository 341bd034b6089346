#include "isa/common/error.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "isa/common/foreign_text.h"

namespace heddle {
namespace {

/// Of one part of a message: what a file says may be long, a message is read by people.
constexpr std::size_t kLongestPart = 4000;

std::string part(const std::string& text) {
    const std::string words = shortened(text);
    return words.size() <= kLongestPart ? words : shortened(words.substr(0, kLongestPart)) + " ...";
}

std::string compose(const std::string& problem, const SourceLocation& where, const std::string& remedy) {
    std::string text;
    if (!where.file.empty()) {
        text += where.file;
        if (where.line > 0) text += ":" + std::to_string(where.line);
        text += ": ";
    } else if (where.line > 0) {
        text += "line " + std::to_string(where.line) + ": ";
    }
    if (!where.key.empty()) text += part(where.key) + ": ";
    text += part(problem);
    if (!remedy.empty()) text += "; " + part(remedy);
    return text;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
            diagonal = above;
        }
    }
    return row.back();
}

}  // namespace

Error::Error(std::string problem, SourceLocation where, std::string remedy, Kind kind)
    : std::runtime_error(compose(problem, where, remedy)),
      problem_(std::move(problem)),
      where_(std::move(where)),
      remedy_(std::move(remedy)),
      kind_(kind) {}

std::string nearest_word(const std::string& word, const std::string* candidates, std::size_t count) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t distance = edit_distance(word, candidates[i]);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return best;
}

}  // namespace heddle
