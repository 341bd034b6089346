#include "mutation.h"

#include <algorithm>
#include <memory>

#include "isa/common/error.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/parser.h"

namespace heddle::ptx::test {
namespace {

using Generator = std::mt19937;

std::size_t pick(std::size_t size, Generator& generator) {
    return size == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, size - 1)(generator);
}

bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

struct Span {
    std::size_t start = 0, length = 0;
};

// A word or a single other character, but no space.
Span pick_word(const std::string& text, Generator& generator) {
    std::size_t at = pick(text.size(), generator);
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t')) ++at;
    if (at >= text.size()) return {0, std::min<std::size_t>(1, text.size())};
    std::size_t start = at, end = at + 1;
    if (in_word(text[at])) {
        while (start > 0 && in_word(text[start - 1])) --start;
        while (end < text.size() && in_word(text[end])) ++end;
    }
    return {start, end - start};
}

std::string cut(const std::string& text, const Span& span) {
    return text.substr(std::min(span.start, text.size()), span.length);
}

Span pick_lines(const std::string& text, Generator& generator) {
    const std::size_t at = pick(text.size(), generator);
    const std::size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    std::size_t end = start;
    for (std::size_t lines = 1 + pick(4, generator); lines > 0 && end < text.size(); --lines)
        end = std::min(text.find('\n', end), text.size() - 1) + 1;
    return {start, end - start};
}

void exchange_words(std::string& text, Generator& generator) {
    Span first = pick_word(text, generator), second = pick_word(text, generator);
    if (first.start > second.start) std::swap(first, second);
    if (first.start + first.length > second.start) return;
    const std::string a = cut(text, first), b = cut(text, second);
    text.replace(second.start, second.length, a);
    text.replace(first.start, first.length, b);
}

constexpr const char* kNumbers[] = {"0",          "1",          "-1",         "255",
                                    "65536",      "2147483647", "4294967296", "0xFFFFFFFFFFFFFFFF",
                                    "0f7F800000", "1.5",        "33",         "1 << 40"};

void change(std::string& text, const std::string& other, Generator& generator) {
    const std::size_t at = pick(text.size(), generator);
    const Span word = pick_word(text, generator);
    switch (pick(12, generator)) {
        case 0:
            text[at] = static_cast<char>(text[at] ^ (1 << pick(8, generator)));
            break;
        case 1:
            text.erase(at, 1 + pick(12, generator));
            break;
        case 2:
            text.insert(at, 1, "%rpfdx.,;:[]{}()<>@!+-0123456789 \n\"/*_$|~#?&^"[pick(46, generator)]);
            break;
        case 3:
            text.erase(word.start, word.length);
            break;
        case 4:
            text.insert(word.start, cut(text, word) + " ");
            break;
        case 5:
            exchange_words(text, generator);
            break;
        case 6:
            text.replace(word.start, word.length, cut(text, pick_word(text, generator)));
            break;
        case 7:
            text.replace(word.start, word.length, cut(other, pick_word(other, generator)));
            break;
        case 8:
            text.replace(word.start, word.length, kNumbers[pick(std::size(kNumbers), generator)]);
            break;
        case 9: {
            const Span lines = pick_lines(text, generator);
            text.insert(lines.start, cut(other, pick_lines(other, generator)));
            break;
        }
        case 10: {
            const Span lines = pick_lines(text, generator);
            if (pick(2, generator) == 0)
                text.erase(lines.start, lines.length);
            else
                text.insert(lines.start, cut(text, pick_lines(text, generator)));
            break;
        }
        default:
            if (pick(8, generator) == 0) text.resize(at);
            break;
    }
}

}  // namespace

std::vector<std::string> split_kernels(const std::string& module) {
    std::vector<std::string> kernels;
    const std::string entry = ".visible .entry";
    std::size_t start = module.find(entry);
    const std::string head = module.substr(0, start);
    while (start != std::string::npos) {
        const std::size_t next = module.find(entry, start + entry.size());
        kernels.push_back(head + module.substr(start, next == std::string::npos ? next : next - start));
        start = next;
    }
    return kernels;
}

std::string mutate(const std::string& text, const std::string& other, std::mt19937& generator) {
    std::string mutated = text;
    for (std::size_t changes = 1 + pick(4, generator); changes > 0; --changes) {
        if (mutated.empty()) return mutated;
        change(mutated, other, generator);
    }
    return mutated;
}

bool load_all(std::string_view text) {
    try {
        const std::shared_ptr<const Module> module = parse_shared(text, "mutated.ptx");
        for (const Kernel& kernel : module->kernels) {
            const LoadedKernel loaded(module, kernel.name);
            for (std::size_t i = 0; i < loaded.instructions().size(); ++i) loaded.describe_source(i);
        }
    } catch (const Error&) {
        return false;
    }
    return true;
}

}  // namespace heddle::ptx::test
