// Attributes of ops: named values as files hold them, and the typed keys by which code reads and writes them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace heddle::trace {

using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

/// The type of an attribute's value.
enum class KeyType : std::uint8_t { integer, real, text, integers, reals };

/// What the number of an attribute counts: Trace::check() refuses what no machine has (isa/common/checked.h).
enum class Counted : std::uint8_t { nothing, things, elements, bytes };

/// A key as files spell it, the type of its value, and what holds where an op does not have it.
struct Key {
    const char* name;
    KeyType type;
    Counted counted = Counted::nothing;
    std::int64_t integer = 0;
    double real = 0;
    const char* text = "";

    constexpr bool operator==(std::string_view other) const { return other == name; }
};

/// A key whose value is an integer.
struct Integer : Key {
    constexpr explicit Integer(const char* key, std::int64_t fallback = 0, Counted counts = {})
        : Key{key, KeyType::integer, counts, fallback} {}
    constexpr Integer(const char* key, Counted counts) : Integer(key, 0, counts) {}
};

/// A key whose value is a real number. Integers in a file are accepted.
struct Real : Key {
    constexpr explicit Real(const char* key, double fallback = 0)
        : Key{key, KeyType::real, {}, 0, fallback} {}
};

/// A key whose value is a text.
struct Text : Key {
    constexpr explicit Text(const char* key, const char* fallback = "")
        : Key{key, KeyType::text, {}, 0, 0, fallback} {}
};

/// A key whose value is a list of integers. A single integer in a file is a list of one. Empty where an op
/// does not have it.
struct Integers : Key {
    constexpr explicit Integers(const char* key, Counted counts = {}) : Key{key, KeyType::integers, counts} {}
};

/// A key whose value is a list of real numbers.
struct Reals : Key {
    constexpr explicit Reals(const char* key) : Key{key, KeyType::reals} {}
};

/// The attributes of one op, sorted by name.
class Attributes {
  public:
    using Map = std::map<std::string, Attribute, std::less<>>;
    /// A key with a value of its type.
    struct Setting {
        Setting(Integer key, std::integral auto number)
            : name(key.name), value(static_cast<std::int64_t>(number)) {}
        Setting(Real key, std::floating_point auto number) : name(key.name), value(double{number}) {}
        Setting(Text key, std::string text) : name(key.name), value(std::move(text)) {}
        Setting(Integers key, std::integral auto number)
            : name(key.name), value(static_cast<std::int64_t>(number)) {}
        Setting(Integers key, std::vector<std::int64_t> list) : name(key.name), value(std::move(list)) {}
        Setting(Reals key, std::vector<double> list) : name(key.name), value(std::move(list)) {}
        std::string name;
        Attribute value;
    };

    Attributes() = default;
    explicit Attributes(Map values) : values_(std::move(values)) {}  ///< as a file has them
    Attributes(std::initializer_list<Setting> settings) {
        for (const Setting& setting : settings) values_[setting.name] = setting.value;
    }

    bool has(const Key& key) const { return values_.contains(std::string_view(key.name)); }
    void set(Integer key, std::integral auto number) {
        values_[key.name] = static_cast<std::int64_t>(number);
    }
    void set(Real key, std::floating_point auto number) { values_[key.name] = double{number}; }
    void set(Text key, std::string text) { values_[key.name] = std::move(text); }
    void set(Integers key, std::vector<std::int64_t> list) { values_[key.name] = std::move(list); }
    void set(Reals key, std::vector<double> list) { values_[key.name] = std::move(list); }
    void erase(const Key& key) { values_.erase(key.name); }
    /// Takes over what `others` say of the key; stays as it is where they say nothing.
    void copy(const Key& key, const Attributes& others) {
        if (const auto found = others.values_.find(key.name); found != others.values_.end())
            values_[found->first] = found->second;
    }

    // By their names, as files have them: keys that nobody knows stay with the op.
    const Attribute* find(std::string_view name) const {
        const auto found = values_.find(name);
        return found != values_.end() ? &found->second : nullptr;
    }
    void put(std::string name, Attribute value) { values_[std::move(name)] = std::move(value); }
    void remove(const std::string& name) { values_.erase(name); }
    Map::const_iterator begin() const { return values_.begin(); }
    Map::const_iterator end() const { return values_.end(); }
    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    void clear() { values_.clear(); }
    bool operator==(const Attributes&) const = default;

  private:
    Map values_;
};

}  // namespace heddle::trace
