// Reads back the JSON that this program wrote, to go on where it was cut off.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::capture {

/// One value. Numbers keep their text, so that 64-bit integers lose nothing.
struct JsonValue {
    enum class Kind { null, boolean, number, text, list, object };
    Kind kind = Kind::null;
    bool boolean = false;
    struct Member;
    std::string text;                 ///< of a number or a text
    std::vector<JsonValue> elements;  ///< of a list
    std::vector<Member> members;      ///< of an object, in order

    /// nullptr: no object, or no such member.
    const JsonValue* find(std::string_view key) const;
    /// The member as a text, or `otherwise`.
    std::string text_or(std::string_view key, const std::string& otherwise) const;
    double number_or(std::string_view key, double otherwise) const;
    bool boolean_or(std::string_view key, bool otherwise) const;
};

/// No std::pair: clang 14 cannot complete one of a type that holds it.
struct JsonValue::Member {
    std::string key;
    JsonValue value;
};

/// The whole text as one value; nothing when it is not JSON.
std::optional<JsonValue> parse_json(std::string_view text);

}  // namespace heddle::capture
