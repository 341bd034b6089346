// Text with small damage, as people and programs do it: words and lines exchanged, doubled, left out; numbers
// made extreme.
#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>

namespace heddle::test {

/// Begin and length of the piece between two of `ends` at a random place of a text that is not empty.
inline std::pair<std::size_t, std::size_t> random_piece(const std::string& text, const char* ends,
                                                        std::mt19937& random) {
    const std::size_t at = random() % text.size();
    const std::size_t before = text.find_last_of(ends, at), after = text.find_first_of(ends, at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = after == std::string::npos ? text.size() : after;
    return {begin, end > begin ? end - begin : 0};
}

/// Of a language: what stands between its words, and words that programs stumble over.
struct Vocabulary {
    const char* between;
    std::span<const char* const> words;
};

/// YAML, JSON and HLO.
inline constexpr std::array<const char*, 26> kStumblingWords{
    "0",     "1",      "-1",  "2",   "3",    "65535",  "4294967295", "18446744073709551615",
    "1e308", "-0.0",   "nan", "inf", "0x7f", "",       "~",          "true",
    "null",  "[]",     "{}",  "*a",  "&a x", "50 MHz", "1e-30 ns",   "é",
    "- -",   "a: b: c"};
inline constexpr Vocabulary kTextVocabulary{" \t\n,:;()[]{}\"'", kStumblingWords};

/// A word of `other`, or one of the vocabulary's.
inline std::string random_word(const std::string& other, const Vocabulary& vocabulary, std::mt19937& random) {
    if (random() % 2 == 0 || other.empty()) return vocabulary.words[random() % vocabulary.words.size()];
    const auto [begin, length] = random_piece(other, vocabulary.between, random);
    return other.substr(begin, length);
}

/// `text` with one to four changes; words and lines may come from `other`.
inline std::string damaged(const std::string& text, const std::string& other, std::mt19937& random,
                           const Vocabulary& vocabulary = kTextVocabulary) {
    std::string mutant = text;
    for (unsigned changes = 1 + random() % 4; changes != 0 && !mutant.empty(); --changes) {
        const bool line = random() % 4 == 0;
        const auto [begin, length] = random_piece(mutant, line ? "\n" : vocabulary.between, random);
        switch (random() % 8) {
            case 0:
                mutant[random() % mutant.size()] = static_cast<char>(random());
                break;
            case 1:
                mutant.erase(begin, length + (line ? 1 : 0));
                break;
            case 2:
                mutant.insert(begin, mutant.substr(begin, length) + (line ? "\n" : " "));
                break;
            case 3: {
                if (other.empty()) break;
                const auto [from, count] = random_piece(other, "\n", random);
                mutant.insert(begin, other.substr(from, count) + "\n");
                break;
            }
            case 4:
                if (random() % 8 == 0) mutant.resize(begin);
                break;
            default:
                mutant.replace(begin, length, random_word(other, vocabulary, random));
                break;
        }
    }
    return mutant;
}

}  // namespace heddle::test
