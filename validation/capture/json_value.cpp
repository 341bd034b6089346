#include "validation/capture/json_value.h"

#include <charconv>
#include <cstdlib>
#include <utility>

namespace heddle::capture {
namespace {

constexpr unsigned kMaximumDepth = 64;

void append_utf8(std::string& to, unsigned code) {
    if (code < 0x80) {
        to += static_cast<char>(code);
    } else if (code < 0x800) {
        to += static_cast<char>(0xC0 | (code >> 6));
        to += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        to += static_cast<char>(0xE0 | (code >> 12));
        to += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
        to += static_cast<char>(0x80 | (code & 0x3F));
    }
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::optional<JsonValue> document() {
        JsonValue value;
        if (!parse(value, 0)) return std::nullopt;
        skip_space();
        if (at_ != text_.size()) return std::nullopt;
        return value;
    }

  private:
    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
            ++at_;
    }
    bool take(char c) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool take_word(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }

    bool parse(JsonValue& value, unsigned depth) {
        skip_space();
        if (at_ >= text_.size() || depth > kMaximumDepth) return false;
        switch (text_[at_]) {
            case '{':
                return object(value, depth);
            case '[':
                return list(value, depth);
            case '"':
                value.kind = JsonValue::Kind::text;
                return string(value.text);
            case 'n':
                return take_word("null");
            case 't':
            case 'f':
                value.kind = JsonValue::Kind::boolean;
                value.boolean = text_[at_] == 't';
                return take_word(value.boolean ? "true" : "false");
            default:
                return number(value);
        }
    }

    bool object(JsonValue& value, unsigned depth) {
        value.kind = JsonValue::Kind::object;
        ++at_;
        if (take('}')) return true;
        do {
            skip_space();
            std::string key;
            JsonValue member;
            if (at_ >= text_.size() || text_[at_] != '"' || !string(key) || !take(':') ||
                !parse(member, depth + 1))
                return false;
            value.members.push_back({std::move(key), std::move(member)});
        } while (take(','));
        return take('}');
    }

    bool list(JsonValue& value, unsigned depth) {
        value.kind = JsonValue::Kind::list;
        ++at_;
        if (take(']')) return true;
        do {
            if (!parse(value.elements.emplace_back(), depth + 1)) return false;
        } while (take(','));
        return take(']');
    }

    bool string(std::string& value) {
        for (++at_; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"') return ++at_, true;
            if (static_cast<unsigned char>(c) < 0x20) return false;
            if (c != '\\') {
                value += c;
            } else if (++at_ >= text_.size() || !escape(value)) {
                return false;
            }
        }
        return false;
    }

    bool escape(std::string& value) {
        static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
        if (text_[at_] != 'u') {
            const std::size_t letter = kLetters.find(text_[at_]);
            if (letter == std::string_view::npos) return false;
            value += kMeanings[letter];
            return true;
        }
        if (at_ + 4 >= text_.size()) return false;
        unsigned code = 0;
        const char* first = text_.data() + at_ + 1;
        if (std::from_chars(first, first + 4, code, 16).ptr != first + 4) return false;
        append_utf8(value, code);
        at_ += 4;
        return true;
    }

    bool number(JsonValue& value) {
        value.kind = JsonValue::Kind::number;
        const std::size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
        value.text = text_.substr(at_, end - at_);
        at_ = end;
        double ignored = 0;
        const char* last = value.text.data() + value.text.size();
        return !value.text.empty() && std::from_chars(value.text.data(), last, ignored).ptr == last;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
    for (const auto& [name, value] : members)
        if (name == key) return &value;
    return nullptr;
}

std::string JsonValue::text_or(std::string_view key, const std::string& otherwise) const {
    const JsonValue* member = find(key);
    return member != nullptr && member->kind == Kind::text ? member->text : otherwise;
}

double JsonValue::number_or(std::string_view key, double otherwise) const {
    const JsonValue* member = find(key);
    if (member == nullptr || member->kind != Kind::number) return otherwise;
    return std::strtod(member->text.c_str(), nullptr);
}

bool JsonValue::boolean_or(std::string_view key, bool otherwise) const {
    const JsonValue* member = find(key);
    return member != nullptr && member->kind == Kind::boolean ? member->boolean : otherwise;
}

std::optional<JsonValue> parse_json(std::string_view text) {
    return Parser(text).document();
}

}  // namespace heddle::capture
