#include "isa/ptx/names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "isa/common/error.h"

namespace heddle::ptx {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

std::string without_spaces(std::string_view text) {
    std::string result;
    std::copy_if(text.begin(), text.end(), std::back_inserter(result), [](char c) { return c != ' '; });
    return result;
}

// The parts of a demangled function name. Brackets nest; what is inside of them ends nothing.
struct Parts {
    std::string name;             // ns::saxpy<float>
    std::string parameters;       // (int, float*)
    std::size_t unqualified = 0;  // in `name`: where saxpy starts
    std::size_t arguments = 0;    // in `name`: where <float> starts
};

Parts take_apart(std::string_view text) {
    std::size_t start = 0, end = text.size(), qualifier = 0, arguments = std::string_view::npos;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (depth == 0 && text.substr(i).starts_with(kAnonymous)) {
            i += kAnonymous.size() - 1;
        } else if (depth == 0 && c == '(') {
            end = i;
            break;
        } else if (depth == 0 && c == ' ') {  // behind the return type
            start = qualifier = i + 1;
            arguments = std::string_view::npos;
        } else if (depth == 0 && c == ':' && text.substr(i).starts_with("::")) {
            qualifier = i + 2;
            arguments = std::string_view::npos;
            ++i;
        } else if (c == '<' || c == '(' || c == '{' || c == '[') {
            if (depth == 0 && c == '<') arguments = i;
            ++depth;
        } else if (c == '>' || c == ')' || c == '}' || c == ']') {
            --depth;
        }
    }
    Parts parts;
    parts.name = without_spaces(text.substr(start, end - start));
    parts.parameters = without_spaces(text.substr(end));
    const auto moved = [&](std::size_t at) { return without_spaces(text.substr(start, at - start)).size(); };
    parts.unqualified = moved(qualifier);
    parts.arguments = arguments < end ? moved(arguments) : parts.name.size();
    return parts;
}

// From the most to the least that a name can say.
std::vector<std::string> names_of(const std::string& symbol) {
    const std::string whole = demangle(symbol);
    const Parts parts = take_apart(whole);
    const std::string plain = parts.name.substr(0, parts.arguments);
    return {symbol,
            without_spaces(whole),
            parts.name + parts.parameters,
            parts.name,
            parts.name.substr(parts.unqualified) + parts.parameters,
            parts.name.substr(parts.unqualified),
            plain,
            plain.substr(std::min(parts.unqualified, plain.size()))};
}

}  // namespace

std::string demangle(const std::string& symbol) {
    if (!symbol.starts_with("_Z")) return symbol;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 && text != nullptr ? std::string(text.get()) : symbol;
}

std::ptrdiff_t find_name(std::string_view name, const std::vector<std::string>& symbols) {
    const auto exact = std::find(symbols.begin(), symbols.end(), name);
    if (exact != symbols.end()) return exact - symbols.begin();
    const std::string wanted = without_spaces(name);
    std::size_t best = ~std::size_t{0};
    std::vector<std::size_t> matches;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const std::vector<std::string> names = names_of(symbols[i]);
        const auto found = std::find(names.begin(), names.end(), wanted);
        const auto rank = static_cast<std::size_t>(found - names.begin());
        if (found == names.end() || rank > best) continue;
        if (rank < best) matches.clear();
        best = rank;
        matches.push_back(i);
    }
    if (matches.empty()) return -1;
    if (matches.size() == 1) return static_cast<std::ptrdiff_t>(matches.front());
    std::string candidates;
    for (const std::size_t i : matches)
        candidates += (candidates.empty() ? "" : ", ") + demangle(symbols[i]) + " [" + symbols[i] + "]";
    throw Error("several kernels are called " + std::string(name), {}, "write one of " + candidates);
}

}  // namespace heddle::ptx
