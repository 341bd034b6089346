// JSON objects with long lists: every element of a list is passed to the reader and released, so memory does
// not grow with the file.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::trace {

class JsonTape;

/// A value that was read. It and all texts in it are valid until the function that receives it returns.
class JsonView {
  public:
    enum class Kind : std::uint8_t { nothing, boolean, integer, real, text, list, object };

    JsonView() = default;
    Kind kind() const;
    bool exists() const { return tape_ != nullptr; }
    bool is_object() const { return kind() == Kind::object; }
    bool is_list() const { return kind() == Kind::list; }
    bool is_text() const { return kind() == Kind::text; }
    bool is_number() const { return kind() == Kind::integer || kind() == Kind::real; }
    std::string_view text() const;  ///< empty when it is no text
    std::string_view key() const;   ///< of a member of an object
    std::int64_t integer(
        std::int64_t fallback) const;  ///< numbers, and texts of digits; fractions are cut off
    double number(double fallback) const;
    /// A whole number from 0 to 2^64 - 1; those from 2^63 up are of kind real.
    std::optional<std::uint64_t> unsigned_integer() const;
    bool truth() const;
    /// Returns a member of an object. For a missing member, or a value that is not an object, it returns a
    /// view for which no value exists.
    JsonView operator[](std::string_view key) const;
    std::size_t size() const;  ///< of a list or object

    class Iterator {
      public:
        Iterator(const JsonTape* tape, std::size_t index) : tape_(tape), index_(index) {}
        JsonView operator*() const { return {tape_, index_}; }
        Iterator& operator++();
        bool operator!=(const Iterator& other) const { return index_ != other.index_; }

      private:
        const JsonTape* tape_;
        std::size_t index_;
    };
    Iterator begin() const;
    Iterator end() const;

  private:
    friend class JsonTape;
    JsonView(const JsonTape* tape, std::size_t index) : tape_(tape), index_(index) {}
    const JsonTape* tape_ = nullptr;
    std::size_t index_ = 0;
};

/// Reads an object, or a bare list (whose key is then ""). `found(key, value, element)` is called for each
/// member, where a list is passed as an empty one, and then for each of its elements (element: true). NaN and
/// infinities, which are not JSON but which PyTorch writes, are read as null. Throws heddle::Error that names
/// the line and the byte where the text is malformed or ends early, and for values that nest more than 64
/// deep, texts beyond 16 MiB, and members or elements beyond 8 million parts or 256 MiB of text.
void read_json_members(std::istream& text, const std::string& file,
                       const std::function<void(std::string_view key, JsonView value, bool element)>& found);

}  // namespace heddle::trace
