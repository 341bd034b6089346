#include "isa/common/foreign_text.h"

#include <algorithm>
#include <cstdlib>

namespace heddle {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

/// The length of an escape sequence that only colours, at the beginning of `text`; 0: it is none.
std::size_t colour_code(std::string_view text) {
    if (text.substr(0, 2) != "\x1b[") return 0;
    const std::size_t end = text.find_first_not_of("0123456789;", 2);
    return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// The length of a character in UTF-8 at the beginning of `text` that moves the cursor or turns the direction
/// of text: U+0080 to U+009F, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. 0: it is another.
std::size_t unseen_character(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return 2;
    if (byte(0) != 0xe2) return 0;
    const bool marks =
        byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae));
    const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
    return marks || isolates ? 3 : 0;
}

/// The first `longest` bytes or fewer, without a part of a character at the end.
std::string_view beginning(std::string_view text, std::size_t longest) {
    std::size_t end = std::min(longest, text.size());
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end);
}

void append_shortened(std::string& to, std::string_view text, std::size_t longest) {
    if (text.size() <= longest) {
        to += text;
    } else {
        to += beginning(text, longest);
        to += "...";
    }
}

bool is_number(const std::string& text) {
    char* end = nullptr;
    (void)std::strtod(text.c_str(), &end);
    return end == text.c_str() + text.size();
}

}  // namespace

std::string visible(std::string_view text, bool colours) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const std::string_view rest = text.substr(i);
        const auto byte = static_cast<unsigned char>(text[i]);
        std::size_t length = 1;
        if (const std::size_t code = colours ? colour_code(rest) : 0; code != 0) {
            result += rest.substr(0, code);
            length = code;
        } else if (const std::size_t unseen = unseen_character(rest);
                   unseen != 0 || (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f) {
            length = std::max<std::size_t>(unseen, 1);
            for (const char c : rest.substr(0, length)) {
                const auto value = static_cast<unsigned char>(c);
                result += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
            }
        } else {
            result += text[i];
        }
        i += length;
    }
    return result;
}

std::string shortened(std::string_view text, std::size_t longest) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == ' ' || text[i] == '\n') {
            result += text[i++];
            continue;
        }
        const bool quotation = text[i] == '`';
        std::size_t end = quotation ? text.find('`', i + 1) : text.find_first_of(" \n`", i);
        if (end == std::string_view::npos) end = text.size();
        if (quotation) {
            result += '`';
            append_shortened(result, text.substr(i + 1, end - i - 1), longest);
            if (end < text.size()) result += text[end++];
        } else {
            append_shortened(result, text.substr(i, end - i), longest);
        }
        i = end;
    }
    return result;
}

std::string csv_cell(std::string_view text) {
    std::string cell(text);
    // Spreadsheets look past blanks.
    const std::size_t first = cell.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && std::string_view("=+-@").find(cell[first]) != std::string_view::npos &&
        !is_number(cell))
        cell.insert(cell.begin(), '\'');
    if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
    std::string quoted = "\"";
    for (const char c : cell) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + "\"";
}

}  // namespace heddle
