#include "validation/capture/record.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace heddle::capture {
namespace {

void append_text(std::string& to, std::string_view value) {
    to += '"';
    for (const char c : value) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
        } else if (code < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(code));
            to += escaped;
        } else if (code >= 0x80) {
            // Texts come from drivers and compilers and need not be UTF-8, which JSON must be.
            to += '?';
        } else {
            to += c;
        }
    }
    to += '"';
}

void append_number(std::string& to, double value) {
    if (std::isnan(value)) {
        to += "\"nan\"";
    } else if (std::isinf(value)) {
        to += value > 0 ? "\"inf\"" : "\"-inf\"";
    } else {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof digits, value);
        to.append(digits, end.ptr);
    }
}

/// "[a,b]" with append(to, element) for each.
template <typename T, typename Append>
void append_list(std::string& to, const std::vector<T>& values, Append append) {
    to += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) to += ',';
        append(to, values[i]);
    }
    to += ']';
}

}  // namespace

void Record::key(std::string_view key) {
    if (!members_.empty()) members_ += ',';
    append_text(members_, key);
    members_ += ':';
}

Record& Record::text(std::string_view name, std::string_view value) {
    key(name);
    append_text(members_, value);
    return *this;
}

Record& Record::integer(std::string_view name, std::int64_t value) {
    key(name);
    members_ += std::to_string(value);
    return *this;
}

Record& Record::number(std::string_view name, double value) {
    key(name);
    append_number(members_, value);
    return *this;
}

Record& Record::flag(std::string_view name, bool value) {
    key(name);
    members_ += value ? "true" : "false";
    return *this;
}

Record& Record::hexadecimal(std::string_view name, std::uint64_t value, unsigned digits) {
    char text_of_value[24];
    std::snprintf(text_of_value, sizeof text_of_value, "%0*llx", static_cast<int>(digits > 16 ? 16 : digits),
                  static_cast<unsigned long long>(value));
    return text(name, text_of_value);
}

Record& Record::texts(std::string_view name, const std::vector<std::string>& values) {
    key(name);
    append_list(members_, values, [](std::string& to, const std::string& value) { append_text(to, value); });
    return *this;
}

Record& Record::integers(std::string_view name, const std::vector<std::int64_t>& values) {
    key(name);
    append_list(members_, values, [](std::string& to, std::int64_t value) { to += std::to_string(value); });
    return *this;
}

Record& Record::numbers(std::string_view name, const std::vector<double>& values) {
    key(name);
    append_list(members_, values, append_number);
    return *this;
}

Record& Record::object(std::string_view name, const Record& value) {
    key(name);
    members_ += value.json();
    return *this;
}

Record& Record::objects(std::string_view name, const std::vector<Record>& values) {
    key(name);
    append_list(members_, values, [](std::string& to, const Record& value) { to += value.json(); });
    return *this;
}

}  // namespace heddle::capture
