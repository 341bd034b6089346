#include "workloads/trace_files/json_stream.h"

#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"

namespace heddle::trace {

/// A value and all within it, one after another: an object or list is followed by what it holds.
class JsonTape {
  public:
    struct Item {
        JsonView::Kind kind = JsonView::Kind::nothing;
        std::uint32_t count = 0;  ///< elements of a list or object
        std::size_t next = 0;     ///< the item after this value
        std::size_t key_at = 0, key_size = 0;
        std::size_t text_at = 0, text_size = 0;
        std::int64_t integer = 0;  ///< of a real: the bits of a whole number from 2^63 up
        double real = 0;
    };

    std::vector<Item> items;
    std::string characters;

    void clear() {
        items.clear();
        characters.clear();
    }
    JsonView root() const { return {this, 0}; }
    std::string_view key_of(const Item& item) const {
        return std::string_view(characters).substr(item.key_at, item.key_size);
    }
    std::string_view text_of(const Item& item) const {
        return std::string_view(characters).substr(item.text_at, item.text_size);
    }
};

JsonView::Kind JsonView::kind() const {
    return tape_ == nullptr ? Kind::nothing : tape_->items[index_].kind;
}
std::string_view JsonView::text() const {
    return is_text() ? tape_->text_of(tape_->items[index_]) : std::string_view{};
}
std::string_view JsonView::key() const {
    return tape_ == nullptr ? std::string_view{} : tape_->key_of(tape_->items[index_]);
}
bool JsonView::truth() const {
    return kind() == Kind::boolean && tape_->items[index_].integer != 0;
}

std::int64_t JsonView::integer(std::int64_t fallback) const {
    switch (kind()) {
        case Kind::integer:
        case Kind::boolean:
            return tape_->items[index_].integer;
        case Kind::real: {
            const double value = tape_->items[index_].real;
            return value > -9e18 && value < 9e18 ? static_cast<std::int64_t>(value) : fallback;
        }
        case Kind::text: {
            const std::string_view digits = text();
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
            return error == std::errc{} && end == digits.data() + digits.size() && !digits.empty() ? value
                                                                                                   : fallback;
        }
        default:
            return fallback;
    }
}

double JsonView::number(double fallback) const {
    if (kind() == Kind::real) return tape_->items[index_].real;
    if (kind() == Kind::integer) return static_cast<double>(tape_->items[index_].integer);
    return fallback;
}

std::optional<std::uint64_t> JsonView::unsigned_integer() const {
    const std::int64_t bits = kind() == Kind::integer || kind() == Kind::real ? tape_->items[index_].integer : 0;
    if (kind() == Kind::integer ? bits < 0 : kind() != Kind::real || bits == 0) return std::nullopt;
    return static_cast<std::uint64_t>(bits);
}

std::size_t JsonView::size() const {
    return tape_ == nullptr ? 0 : tape_->items[index_].count;
}
JsonView::Iterator& JsonView::Iterator::operator++() {
    index_ = tape_->items[index_].next;
    return *this;
}
JsonView::Iterator JsonView::begin() const {
    return size() == 0 ? Iterator(tape_, 0) : Iterator(tape_, index_ + 1);
}
JsonView::Iterator JsonView::end() const {
    return size() == 0 ? Iterator(tape_, 0) : Iterator(tape_, tape_->items[index_].next);
}
JsonView JsonView::operator[](std::string_view wanted) const {
    if (!is_object()) return {};
    for (const JsonView member : *this) {
        if (member.key() == wanted) return member;
    }
    return {};
}

namespace {

using Kind = JsonView::Kind;
using Found = std::function<void(std::string_view, JsonView, bool)>;

constexpr std::size_t deepest_nesting = 64;
/// Of one value that is kept: a member of the outermost object, or an element of its lists.
constexpr std::size_t most_parts = std::size_t{8} << 20, most_characters = std::size_t{256} << 20;

/// Receives the events of nlohmann's parser (its SAX interface) and grows a tape for each member or element.
class Handler {
  public:
    using number_integer_t = nlohmann::json::number_integer_t;
    using number_unsigned_t = nlohmann::json::number_unsigned_t;
    using number_float_t = nlohmann::json::number_float_t;
    using string_t = nlohmann::json::string_t;
    using binary_t = nlohmann::json::binary_t;

    Handler(const std::string& file, const Found& found, const std::int64_t& line)
        : file_(file), found_(found), line_(line) {}

    bool null() { return scalar({}); }
    bool boolean(bool value) {
        JsonTape::Item item;
        item.kind = Kind::boolean;
        item.integer = value ? 1 : 0;
        return scalar(item);
    }
    bool number_integer(number_integer_t value) {
        JsonTape::Item item;
        item.kind = Kind::integer;
        item.integer = value;
        return scalar(item);
    }
    bool number_unsigned(number_unsigned_t value) {
        if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
            return number_integer(static_cast<number_integer_t>(value));
        JsonTape::Item item;
        item.kind = Kind::real;
        item.real = static_cast<double>(value);
        item.integer = static_cast<std::int64_t>(value);
        return scalar(item);
    }
    bool number_float(number_float_t value, const string_t&) {
        JsonTape::Item item;
        item.kind = Kind::real;
        item.real = value;
        return scalar(item);
    }
    bool string(string_t& text) {
        JsonTape::Item item;
        item.kind = Kind::text;
        item.text_at = tape_.characters.size();
        item.text_size = text.size();
        tape_.characters += text;
        return scalar(item);
    }
    bool binary(binary_t&) { return false; }
    bool start_object(std::size_t) { return open(Kind::object); }
    bool start_array(std::size_t) { return open(Kind::list); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(string_t& text) {
        if (depth_ == 1) {
            member_ = text;
            return true;
        }
        key_at_ = tape_.characters.size();
        key_size_ = text.size();
        tape_.characters += text;
        return true;
    }
    bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception&) {
        throw Error("this is not valid JSON at byte " + std::to_string(byte), {.file = file_, .line = line_},
                    "the file is cut or corrupt");
    }

  private:
    /// Whether what comes next is a value of its own: a member of the outermost object, or an element of its
    /// lists.
    bool at_top() const { return open_.empty(); }

    void begin_item(JsonTape::Item item) {
        item.key_at = key_at_;
        item.key_size = key_size_;
        key_size_ = 0;
        if (!open_.empty()) ++tape_.items[open_.back()].count;
        tape_.items.push_back(item);
        if (tape_.items.size() > most_parts || tape_.characters.size() > most_characters)
            throw Error("a value has more than " + std::to_string(most_parts) + " parts, or 256 MiB of text",
                        {.file = file_, .line = line_, .key = member_}, "the file is corrupt, or no trace");
    }
    /// A list whose elements follow one by one.
    void begin_list() {
        in_list_ = true;
        JsonTape::Item item;
        item.kind = Kind::list;
        item.next = 1;
        tape_.items.push_back(item);
        found_(member_, tape_.root(), false);
        tape_.clear();
    }
    void finish_value() {
        found_(member_, tape_.root(), in_list_);
        tape_.clear();
    }

    bool scalar(const JsonTape::Item& item) {
        if (depth_ == 0) throw Error("this JSON is neither an object nor a list", {.file = file_});
        const bool top = at_top();
        begin_item(item);
        tape_.items.back().next = tape_.items.size();
        if (top) finish_value();
        return true;
    }

    bool open(Kind kind) {
        if (++depth_ > deepest_nesting)
            throw Error("the JSON nests more than 64 deep", {.file = file_, .line = line_}, "no trace does");
        if (depth_ == 1) {
            bare_ = kind == Kind::list;
            if (bare_) begin_list();
            return true;
        }
        // A list that is a member of the outermost object is walked through, not kept.
        if (depth_ == 2 && !bare_ && kind == Kind::list) {
            begin_list();
            return true;
        }
        JsonTape::Item item;
        item.kind = kind;
        begin_item(item);
        open_.push_back(tape_.items.size() - 1);
        return true;
    }

    bool close() {
        --depth_;
        if (open_.empty()) {
            if (depth_ == 1) in_list_ = false;
            return true;
        }
        tape_.items[open_.back()].next = tape_.items.size();
        open_.pop_back();
        if (open_.empty()) finish_value();
        return true;
    }

    const std::string& file_;
    const Found& found_;
    const std::int64_t& line_;
    JsonTape tape_;
    std::vector<std::size_t> open_;  ///< lists and objects of the tape that are not closed
    std::size_t depth_ = 0;
    bool in_list_ = false, bare_ = false;
    std::string member_;
    std::size_t key_at_ = 0, key_size_ = 0;
};

/// Feeds characters to nlohmann's parser; words such as -inf and NaN become null.
class Characters {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Characters() = default;
    /// `line` becomes the number of the line that was reached.
    Characters(std::streambuf* source, const std::string& file, std::int64_t& line)
        : source_(source), file_(&file), line_(&line) {
        advance();
    }
    const char& operator*() const { return current_; }
    Characters& operator++() {
        advance();
        return *this;
    }
    bool operator==(const Characters& other) const { return at_end() == other.at_end(); }
    bool operator!=(const Characters& other) const { return !(*this == other); }

  private:
    bool at_end() const { return source_ == nullptr; }

    void advance() {
        if (*pending_ != '\0') {
            current_ = *pending_++;
            return;
        }
        const int next = source_->sbumpc();
        if (next == std::char_traits<char>::eof()) {
            source_ = nullptr;
            return;
        }
        current_ = static_cast<char>(next);
        if (current_ == '\n') ++*line_;
        count();
        if (in_text_) {
            if (escaped_) {
                escaped_ = false;
            } else if (current_ == '\\') {
                escaped_ = true;
            } else if (current_ == '"') {
                in_text_ = false;
                run_ = 0;
            }
        } else if (current_ == '"') {
            in_text_ = true;
            run_ = 0;
        } else if (current_ == ',' || current_ == ':' || current_ == '[' || current_ == '{') {
            run_ = 0;
        } else if (current_ == '-' || current_ == 'i' || current_ == 'I' || current_ == 'N' ||
                   current_ == 'n') {
            word();
        }
    }

    /// The parser keeps a text, a number, and the space between two of them whole.
    void count() {
        if (++run_ <= longest_run) return;
        if (!in_text_ && std::isspace(static_cast<unsigned char>(current_)) != 0) {
            while (std::isspace(source_->sgetc()) != 0) *line_ += source_->sbumpc() == '\n' ? 1 : 0;
            run_ = 0;
            return;
        }
        if (run_ > longest_text)
            throw Error("a text or number is longer than 16 MiB", {.file = *file_, .line = *line_},
                        "the file is corrupt, or no trace");
    }

    /// "nan", "inf", "Infinity", any of them after '-', and null itself.
    void word() {
        const int next = current_ == '-' ? source_->sgetc() : current_;
        if (next != 'i' && next != 'I' && next != 'N' && next != 'n') return;
        for (int c = source_->sgetc(); std::isalpha(c) != 0; c = source_->snextc()) {
        }
        current_ = 'n';
        pending_ = "ull";
    }

    static constexpr std::size_t longest_run = 4096, longest_text = std::size_t{16} << 20;

    std::streambuf* source_ = nullptr;
    const std::string* file_ = nullptr;
    std::int64_t* line_ = nullptr;
    std::size_t run_ = 0;  ///< characters since the last text or separator
    const char* pending_ = "";
    char current_ = '\0';
    bool in_text_ = false, escaped_ = false;
};

}  // namespace

void read_json_members(std::istream& text, const std::string& file, const Found& found) {
    std::int64_t line = 1;
    Handler handler(file, found, line);
    nlohmann::json::sax_parse(Characters(text.rdbuf(), file, line), Characters(), &handler);
}

}  // namespace heddle::trace
