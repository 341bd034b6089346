#include "workloads/importers/kernel_name.h"

#include <cctype>
#include <charconv>

namespace heddle::importers {
namespace {

/// Splits the text between the '<' at `open` and its '>' at commas of the same level.
std::vector<std::string> split_arguments(const std::string& text, std::size_t open) {
    std::vector<std::string> result;
    int depth = 0;
    std::string current;
    for (std::size_t i = open; i < text.size(); ++i) {
        const char c = text[i];
        const bool arrow = c == '>' && i > 0 && text[i - 1] == '-';
        if (c == '<' || c == '(' || c == '{' || c == '[') {
            if (depth++ == 0) continue;
        } else if ((c == '>' && !arrow) || c == ')' || c == '}' || c == ']') {
            if (--depth == 0) break;
        } else if (c == ',' && depth == 1) {
            result.push_back(current);
            current.clear();
            continue;
        }
        if (!(current.empty() && c == ' ')) current.push_back(c);
    }
    while (!current.empty() && current.back() == ' ') current.pop_back();
    if (!current.empty() || !result.empty()) result.push_back(current);
    return result;
}

/// The integers that follow `name` in a mangled name: "9GemmShapeILi64ELi128ELi32EE" has 64, 128, 32.
std::vector<std::int64_t> mangled_integers(const std::string& text, const std::string& name) {
    std::vector<std::int64_t> result;
    if (text.rfind("_Z", 0) != 0) return result;
    std::size_t at = text.find(name);
    if (at == std::string::npos) return result;
    for (at += name.size(); text.compare(at, 2, "Li") == 0;) {
        std::int64_t value = 0;
        const char* const stop = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data() + at + 2, stop, value);
        if (error != std::errc{} || end == stop || *end != 'E') break;
        result.push_back(value);
        at = static_cast<std::size_t>(end - text.data()) + 1;
    }
    return result;
}

}  // namespace

std::optional<std::int64_t> integer_argument(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    for (const char* c = end; c != text.data() + text.size(); ++c) {
        if (*c != 'u' && *c != 'U' && *c != 'l' && *c != 'L' && *c != ' ') return std::nullopt;
    }
    return value;
}

std::optional<std::int64_t> KernelName::integer(std::size_t index) const {
    return index < arguments.size() ? integer_argument(arguments[index]) : std::nullopt;
}

std::optional<bool> KernelName::boolean(std::size_t index) const {
    if (index >= arguments.size()) return std::nullopt;
    if (arguments[index] == "true") return true;
    if (arguments[index] == "false") return false;
    return std::nullopt;
}

KernelName parse_kernel_name(const std::string& name) {
    KernelName result;
    result.full = name;
    std::string text = name;
    if (text.rfind("void ", 0) == 0) text.erase(0, 5);
    const std::string anonymous = "(anonymous namespace)::";
    for (std::size_t at = text.find(anonymous); at != std::string::npos; at = text.find(anonymous)) {
        text.erase(at, anonymous.size());
    }
    const std::size_t end = std::min(text.find('<'), text.find('('));
    std::string function = text.substr(0, end);
    if (const std::size_t colon = function.rfind("::"); colon != std::string::npos)
        function.erase(0, colon + 2);
    result.function = function;
    if (end != std::string::npos && text[end] == '<') result.arguments = split_arguments(text, end);
    return result;
}

std::vector<std::string> template_arguments(const std::string& text, const std::string& name) {
    const std::size_t at = text.find(name + "<");
    return at == std::string::npos ? std::vector<std::string>{} : split_arguments(text, at + name.size());
}

std::vector<std::int64_t> tile_of(const std::string& name) {
    // Names that demanglers refuse are recorded as they are; the first shape is that of the CTA.
    if (auto shape = mangled_integers(name, "9GemmShapeI"); shape.size() == 3) return shape;
    // Take the first run of two or three numbers joined by 'x', where the first two are at least 16.
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (!std::isdigit(static_cast<unsigned char>(name[i])) ||
            (i > 0 && std::isdigit(static_cast<unsigned char>(name[i - 1])))) {
            continue;
        }
        std::vector<std::int64_t> numbers;
        const char* at = name.data() + i;
        const char* stop = name.data() + name.size();
        while (at != stop) {
            std::int64_t number = 0;
            const auto [end, error] = std::from_chars(at, stop, number);
            if (error != std::errc{}) break;
            numbers.push_back(number);
            // "128x128_32x5" and "128x64x32": depth after 'x' or '_', stages are not part of the tile.
            const bool joined = end != stop && (*end == 'x' || (*end == '_' && numbers.size() == 2));
            if (!joined || numbers.size() == 3) break;
            at = end + 1;
        }
        if (numbers.size() >= 2 && numbers[0] >= 16 && numbers[1] >= 16 && numbers[0] <= 512 &&
            numbers[1] <= 512) {
            return numbers;
        }
    }
    return {};
}

std::int64_t stages_of(const std::string& name) {
    const auto number_at = [&name](std::size_t at) {
        std::int64_t value = 0;
        std::from_chars(name.data() + at, name.data() + name.size(), value);
        return value >= 1 && value <= 16 ? value : std::int64_t{0};
    };
    static const std::string key = "_stage";
    if (const std::size_t at = name.find(key); at != std::string::npos) return number_at(at + key.size());
    // "128x128_32x4"
    const std::vector<std::int64_t> tile = tile_of(name);
    if (tile.size() != 3) return 0;
    const std::string text =
        std::to_string(tile[0]) + "x" + std::to_string(tile[1]) + "_" + std::to_string(tile[2]) + "x";
    if (const std::size_t at = name.find(text); at != std::string::npos) return number_at(at + text.size());
    return 0;
}

std::int64_t alignment_of(const std::string& name) {
    static const std::string key = "_align";
    const std::size_t at = name.find(key);
    if (at == std::string::npos) return 0;
    std::int64_t value = 0;
    std::from_chars(name.data() + at + key.size(), name.data() + name.size(), value);
    return value == 1 || value == 2 || value == 4 || value == 8 || value == 16 ? value : 0;
}

std::int64_t warpgroups_of(const std::string& name) {
    static const std::string key = "_warpgroupsize";
    const std::size_t at = name.find(key);
    if (at == std::string::npos || name.size() < at + key.size() + 3) return 0;
    const char rows = name[at + key.size()], columns = name[at + key.size() + 2];
    if (rows < '1' || rows > '4' || columns < '1' || columns > '4') return 0;
    return std::int64_t{rows - '0'} * (columns - '0');
}

}  // namespace heddle::importers
