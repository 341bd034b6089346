// A YAML map whose keys must all be known, with errors that name file, line and key.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/common/error.h"

namespace heddle::kernel {

/// A YAML node and its location.
struct YamlValue {
    YAML::Node node;
    SourceLocation where;

    /// Throws heddle::Error at this location.
    [[noreturn]] void fail(const std::string& problem, const std::string& remedy = "") const {
        throw Error(problem, where, remedy);
    }
    const std::string& text() const;  ///< the text of a scalar
    std::uint64_t unsigned_integer(std::uint64_t smallest = 0,
                                   std::uint64_t largest = ~std::uint64_t{0}) const;
    double number() const;
    bool boolean() const;
    /// Returns the elements of a list.
    std::vector<YamlValue> list() const;
    /// Reads a list of integers, or a single one. Values below `smallest` are errors.
    std::vector<std::uint64_t> integers(std::uint64_t smallest = 1) const;
    std::vector<std::string> texts() const;
};

/// A map with a known set of keys.
class YamlMap {
  public:
    /// Throws heddle::Error when the value is not a map, has a key that is not in `known`, or has a key
    /// twice.
    YamlMap(const YamlValue& value, std::vector<std::string> known);

    std::optional<YamlValue> find(const std::string& key) const;
    YamlValue require(const std::string& key) const;
    const SourceLocation& where() const { return value_.where; }
    [[noreturn]] void fail(const std::string& problem, const std::string& remedy = "") const {
        value_.fail(problem, remedy);
    }
    /// Returns keys and values in the order of the text.
    std::vector<std::pair<std::string, YamlValue>> entries() const;

  private:
    YamlValue value_;
};

/// Returns all entries of a map whose keys are the user's own names.
std::vector<std::pair<std::string, YamlValue>> named_entries(const YamlValue& value);

}  // namespace heddle::kernel
