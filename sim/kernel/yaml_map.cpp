#include "sim/kernel/yaml_map.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

#include "isa/common/checked.h"

namespace heddle::kernel {
namespace {

constexpr std::size_t kMostElements = 100000;

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

SourceLocation below(const SourceLocation& parent, const YAML::Node& node, const std::string& key) {
    const std::int64_t line = node.Mark().line >= 0 ? node.Mark().line + 1 : parent.line;
    return {parent.file, line, parent.key.empty() ? key : parent.key + (key[0] == '[' ? "" : ".") + key};
}

}  // namespace

const std::string& YamlValue::text() const {
    if (!node.IsScalar() || node.Scalar().empty()) fail("expected a word or a number");
    return node.Scalar();
}

std::uint64_t YamlValue::unsigned_integer(std::uint64_t smallest, std::uint64_t largest) const {
    const std::string& word = text();
    const bool hexadecimal = word.compare(0, 2, "0x") == 0;
    std::uint64_t value = 0;
    const char* last = word.data() + word.size();
    const auto [end, failure] =
        std::from_chars(word.data() + (hexadecimal ? 2 : 0), last, value, hexadecimal ? 16 : 10);
    if (failure != std::errc{} || end != last || value < smallest || value > largest) {
        const std::string limit =
            largest == ~std::uint64_t{0} ? "" : " and at most " + std::to_string(largest);
        fail("`" + word + "` is not an integer of at least " + std::to_string(smallest) + limit);
    }
    return value;
}

double YamlValue::number() const {
    const std::string& word = text();
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end != 0 || !gates::kFinite.admits(value))
        fail("`" + word + "` is not a finite number", "write a number such as 2.5 or 1e-3");
    return value;
}

bool YamlValue::boolean() const {
    const std::string& word = text();
    if (word != "true" && word != "false") fail("`" + word + "` is neither true nor false");
    return word == "true";
}

std::vector<YamlValue> YamlValue::list() const {
    if (!node.IsSequence()) fail("expected a list: [a, b, ...]");
    if (node.size() > kMostElements) fail("the list is too long");
    std::vector<YamlValue> values;
    for (std::size_t i = 0; i < node.size(); ++i) {
        const YAML::Node element = node[i];
        values.push_back({element, below(where, element, "[" + std::to_string(i) + "]")});
    }
    return values;
}

std::vector<std::uint64_t> YamlValue::integers(std::uint64_t smallest) const {
    if (node.IsScalar()) return {unsigned_integer(smallest)};
    std::vector<std::uint64_t> values;
    for (const YamlValue& value : list()) values.push_back(value.unsigned_integer(smallest));
    return values;
}

std::vector<std::string> YamlValue::texts() const {
    std::vector<std::string> values;
    for (const YamlValue& value : list()) values.push_back(value.text());
    return values;
}

std::vector<std::pair<std::string, YamlValue>> named_entries(const YamlValue& value) {
    if (!value.node.IsMap()) value.fail("expected a map of keys to values");
    std::vector<std::pair<std::string, YamlValue>> entries;
    std::set<std::string> seen;
    for (const auto& entry : value.node) {
        if (!entry.first.IsScalar()) value.fail("a key must be a word");
        const std::string& key = entry.first.Scalar();
        YamlValue child{entry.second, below(value.where, entry.first, key)};
        if (!seen.insert(key).second) child.fail("this key was already given", "keep one of the two");
        entries.push_back({key, std::move(child)});
    }
    return entries;
}

YamlMap::YamlMap(const YamlValue& value, std::vector<std::string> known) : value_(value) {
    for (const auto& [key, child] : named_entries(value_)) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        const std::string near = nearest_word(key, known.data(), known.size());
        child.fail("unknown key", near.empty() ? "known: " + join(known) : "did you mean `" + near + "`?");
    }
}

std::vector<std::pair<std::string, YamlValue>> YamlMap::entries() const {
    return named_entries(value_);
}

std::optional<YamlValue> YamlMap::find(const std::string& key) const {
    for (auto& [name, child] : named_entries(value_)) {
        if (name == key) return child;
    }
    return std::nullopt;
}

YamlValue YamlMap::require(const std::string& key) const {
    if (auto value = find(key)) return *value;
    fail("missing key `" + key + "`");
}

}  // namespace heddle::kernel
