// Decodes words and compares each with a given text: compare_decoded ARCHITECTURE WORDS TEXTS, where WORDS holds 16 bytes per
// instruction and TEXTS a line each, empty where there is none. What is compared is the instruction that the text says, with all its
// operands. scripts/sass/compare_decoder.py calls it with what nvdisasm prints.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "isa/sass/decode_table.h"
#include "same_instruction.h"

namespace {

using namespace heddle::sass;

bool same(const Instruction& decoded, const std::string& text) {
    try {
        return heddle::sass::test::same_instruction(decoded, text);
    } catch (const heddle::Error& error) {
        std::cerr << error.what() << "\n";
        return false;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) return 2;
    const auto architecture = static_cast<unsigned>(std::atoi(arguments[1]));
    constexpr std::uint64_t kPlaces = 20000;  // as many as one call of nvdisasm was given
    std::ifstream file(arguments[2], std::ios::binary), lines(arguments[3]);
    std::vector<std::array<std::uint64_t, 2>> words;
    for (std::array<std::uint64_t, 2> word{}; file.read(reinterpret_cast<char*>(word.data()), sizeof word);) words.push_back(word);
    std::vector<Instruction> decoded(words.size());
    std::vector<bool> known(words.size());
    Instruction first;
    decode_by_table(words.empty() ? std::array<std::uint64_t, 2>{} : words[0], architecture, 0, first);  // reads the table
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < words.size(); ++i) known[i] = decode_by_table(words[i], architecture, i % kPlaces * 16, decoded[i]);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::size_t compared = 0, missing = 0, different = 0, refused = 0;
    std::set<std::string> spellings;
    std::string text;
    for (std::size_t i = 0; i < words.size() && std::getline(lines, text); ++i) {
        if (text.empty()) {
            ++refused;
            continue;
        }
        ++compared;
        if (known[i] && same(decoded[i], text)) {
            std::string spelling = decoded[i].mnemonic;
            for (const std::string& one : decoded[i].modifiers) spelling += "." + one;
            spellings.insert(spelling);
            continue;
        }
        ++(known[i] ? different : missing);
        std::printf("%s %016llx%016llx %zu | %s | %s\n", known[i] ? "DIFFERENT" : "MISSING", static_cast<unsigned long long>(words[i][1]),
                    static_cast<unsigned long long>(words[i][0]), i % kPlaces * 16, text.c_str(), known[i] ? text_of(decoded[i]).c_str() : "");
    }
    std::cerr << "sm_" << architecture << ": " << compared << " words compared, " << spellings.size() << " spellings, " << different
              << " differences, " << missing << " without a row, " << refused << " refused by nvdisasm; " << words.size() / seconds / 1e6
              << " million per second\n";
    return different + missing == 0 ? 0 : 1;
}
