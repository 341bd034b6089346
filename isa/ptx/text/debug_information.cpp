#include "isa/ptx/text/debug_information.h"

#include "isa/ptx/names.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumNameBytes = 65536;

}  // namespace

DebugInformation::DebugInformation(TokenCursor& cursor, Module& module) : cursor_(cursor), module_(module) {
    for (std::size_t i = 0; cursor.peek(i).kind != TokenKind::end; ++i) {
        const Token &number = cursor.peek(i + 1), &name = cursor.peek(i + 2);
        const bool file = cursor.peek(i).kind == TokenKind::suffix && cursor.peek(i).text == "file" &&
                          number.kind == TokenKind::integer && name.kind == TokenKind::string;
        if (!file) continue;
        const auto index = static_cast<std::uint32_t>(module.source_files.size());
        if (file_index_.try_emplace(number.bits, index).second) module.source_files.emplace_back(name.text);
    }
}

bool DebugInformation::parse_directive() {
    if (cursor_.accept_suffix("file")) {
        parse_file();
    } else if (cursor_.accept_suffix("loc")) {
        parse_loc();
    } else if (cursor_.accept_suffix("section")) {
        parse_section();
    } else if (cursor_.peek().is('@') && cursor_.peek(1).is('@')) {
        skip_line();
    } else {
        return false;
    }
    return true;
}

void DebugInformation::parse_file() {
    cursor_.expect_integer("a file number");
    if (cursor_.peek().kind != TokenKind::string) cursor_.fail_expected("a file name", cursor_.peek());
    cursor_.next();
    while (cursor_.accept(',')) cursor_.expect_integer("a time stamp or size");
}

DebugInformation::Location DebugInformation::parse_location() {
    Location location;
    location.file = cursor_.expect_integer("a file number");
    location.line = cursor_.expect_integer("a line");
    location.column = cursor_.expect_integer("a column");
    return location;
}

SourcePlace DebugInformation::place_of(const Location& location) const {
    SourcePlace place;
    const auto file = file_index_.find(location.file);
    if (file == file_index_.end()) return place;  // .loc of a file that the module does not name
    place.file = file->second;
    place.line = static_cast<std::uint32_t>(location.line);
    return place;
}

// .loc file line column [, function_name label [+ offset], inlined_at file line column]
// The place after inlined_at is that of an earlier .loc, which says where it was inlined itself.
void DebugInformation::parse_loc() {
    const Location location = parse_location();
    place_ = place_of(location);
    NamePosition name;
    while (cursor_.accept(',')) {
        const Token option = cursor_.expect_word("function_name or inlined_at");
        if (option.text == "function_name") {
            name.label = std::string(cursor_.expect_word("a label").text);
            if (cursor_.accept('+')) name.offset = cursor_.expect_integer("an offset");
        } else if (option.text == "inlined_at") {
            const Location call = parse_location();
            const auto [known, added] = calls_.try_emplace(
                {call, name.label + "+" + std::to_string(name.offset)}, module_.inlined_calls.size());
            if (added) {
                const auto seen = seen_.find(call);
                module_.inlined_calls.push_back({"", seen == seen_.end() ? place_of(call) : seen->second});
                names_.push_back(name);
            }
            place_.inlined = known->second + 1;
        } else {
            cursor_.fail_expected("function_name or inlined_at", option);
        }
    }
    seen_[location] = place_;
}

// .section name { labels, .b8, .b16, .b32 and .b64 lists }
void DebugInformation::parse_section() {
    const Token name = cursor_.next();
    if (name.kind != TokenKind::suffix && name.kind != TokenKind::word && name.kind != TokenKind::string)
        cursor_.fail_expected("a name after .section", name);
    const bool strings = name.text == "debug_str";
    std::vector<char> content;
    cursor_.expect('{', "after .section");
    while (!cursor_.accept('}')) {
        const Token token = cursor_.next();
        if (token.kind == TokenKind::word && cursor_.accept(':')) {
            if (strings) labels_[std::string(token.text)] = strings_.size() + content.size();
            continue;
        }
        const unsigned bytes = token.kind != TokenKind::suffix ? 0
                               : token.text == "b8"            ? 1
                               : token.text == "b16"           ? 2
                               : token.text == "b32"           ? 4
                               : token.text == "b64"           ? 8
                                                               : 0;
        if (bytes == 0) cursor_.fail_expected(".b8, .b16, .b32, .b64 or a label in a section", token);
        parse_section_values(bytes, content);
    }
    if (strings) strings_.insert(strings_.end(), content.begin(), content.end());
}

// Integers, labels, sections, sums and differences of these.
void DebugInformation::parse_section_values(unsigned bytes, std::vector<char>& content) {
    do {
        std::uint64_t value = 0;
        bool more = true;
        while (more) {
            const bool minus = cursor_.accept('-');
            const Token token = cursor_.next();
            const bool named = token.kind == TokenKind::word || token.kind == TokenKind::suffix;
            if (token.kind != TokenKind::integer && !named)
                cursor_.fail_expected("an integer or a label in a section", token);
            if (token.kind == TokenKind::integer) value = minus ? ~token.bits + 1 : token.bits;
            more = cursor_.accept('+') || cursor_.peek().is('-');
        }
        for (unsigned i = 0; i < bytes; ++i) content.push_back(static_cast<char>(value >> (8 * i)));
    } while (cursor_.accept(','));
}

void DebugInformation::skip_line() {
    const std::uint32_t line = cursor_.peek().line;
    while (!cursor_.at_end() && cursor_.peek().line == line) cursor_.next();
}

void DebugInformation::end_body() {
    place_ = {};
    seen_.clear();
    calls_.clear();
}

void DebugInformation::finish() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
        const auto label = labels_.find(names_[i].label);
        if (label == labels_.end()) continue;
        std::string symbol;
        for (std::size_t at = label->second + names_[i].offset;
             at < strings_.size() && strings_[at] != '\0' && symbol.size() < kMaximumNameBytes; ++at) {
            symbol.push_back(strings_[at]);
        }
        module_.inlined_calls[i].function = demangle(symbol);
    }
}

}  // namespace heddle::ptx
