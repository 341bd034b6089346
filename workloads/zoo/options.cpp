#include "workloads/zoo/options.h"

#include <charconv>
#include <utility>

#include "isa/common/checked.h"

namespace heddle::zoo {
namespace {

template <class Number>
bool parse(const std::string& text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

/// Products of two of them can still be counted.
bool in_range(std::int64_t value) {
    return std::in_range<std::int32_t>(value);
}
constexpr const char* kInteger = "an integer of at most 2147483647";

}  // namespace

Options::Options(const std::string& model, const std::vector<OptionDescription>& known,
                 const std::map<std::string, std::string>& given)
    : model_(model) {
    std::vector<std::string> names;
    for (const OptionDescription& option : known) {
        values_[option.name] = option.default_value;
        names.push_back(option.name);
    }
    for (const auto& [name, value] : given) {
        if (!values_.contains(name)) {
            const std::string near = nearest_word(name, names.data(), names.size());
            std::string remedy = near.empty() ? "known options:" : "did you mean " + near + "?";
            for (std::size_t i = 0; near.empty() && i < names.size(); ++i) remedy += " " + names[i];
            throw Error("unknown option '" + name + "'", {.key = "model " + model}, remedy);
        }
        values_[name] = value;
    }
}

void Options::fail(const std::string& name, const std::string& wanted) const {
    throw Error("'" + values_.at(name) + "' is not " + wanted, {.key = model_ + " option " + name});
}

std::int64_t Options::integer(const std::string& name) const {
    std::int64_t value = 0;
    if (!parse(values_.at(name), value) || !in_range(value)) fail(name, kInteger);
    return value;
}

double Options::real(const std::string& name) const {
    double value = 0;
    if (!parse(values_.at(name), value) || !gates::kFinite.admits(value)) fail(name, "a finite number");
    return value;
}

std::vector<std::int64_t> Options::integers(const std::string& name) const {
    std::vector<std::int64_t> result;
    const std::string& text = values_.at(name);
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t comma = std::min(text.find(',', start), text.size());
        std::int64_t value = 0;
        if (!parse(text.substr(start, comma - start), value) || !in_range(value))
            fail(name, "a list of integers such as 784,512,10");
        result.push_back(value);
        start = comma + 1;
    }
    return result;
}

bool Options::flag(const std::string& name) const {
    const std::string& value = values_.at(name);
    if (value != "0" && value != "1") fail(name, "0 or 1");
    return value == "1";
}

std::size_t Options::choice(const std::string& name, const std::vector<std::string>& words) const {
    std::string wanted;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == values_.at(name)) return i;
        wanted += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    }
    fail(name, wanted);
}

trace::ElementType Options::type(const std::string& name) const {
    try {
        return trace::element_type_from_name(values_.at(name));
    } catch (const Error& error) {
        throw Error(error.problem(), {.key = model_ + " option " + name}, error.remedy());
    }
}

}  // namespace heddle::zoo
