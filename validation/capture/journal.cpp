#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <unordered_set>

#include "isa/common/error.h"
#include "validation/capture/files.h"
#include "validation/capture/json_value.h"
#include "validation/capture/record.h"

namespace heddle::capture {
namespace {

constexpr const char* kMend = "capture into a new folder, or repair the file: one JSON object a line";

/// A file that grows at its end.
class AppendFile {
  public:
    explicit AppendFile(std::filesystem::path path)
        : path_(std::move(path)),
          descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
        if (descriptor_ < 0) fail("open");
    }
    ~AppendFile() { ::close(descriptor_); }
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    void cut(std::uint64_t length) {
        if (::ftruncate(descriptor_, static_cast<off_t>(length)) != 0) fail("shorten");
    }
    void append(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail("write");
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
    }
    void flush() { ::fdatasync(descriptor_); }

  private:
    [[noreturn]] void fail(const char* what) const {
        throw Error("cannot " + std::string(what) + " the file: " + std::strerror(errno), {path_.string()},
                    "check the folder's permissions and the space left on the disk");
    }
    std::filesystem::path path_;
    int descriptor_;
};

/// Offset and length of a record's bytes; false: a member that is not two whole numbers.
bool binary_place(const JsonValue& place, std::uint64_t& offset, std::uint64_t& length) {
    if (place.elements.size() != 2) return false;
    const auto whole = [](const std::string& text, std::uint64_t& value) {
        const char* last = text.data() + text.size();
        const auto [end, failure] = std::from_chars(text.data(), last, value);
        return failure == std::errc() && end == last;
    };
    return whole(place.elements[0].text, offset) && whole(place.elements[1].text, length) &&
           length <= std::uint64_t(-1) - offset;
}

std::uint64_t size_or_zero(const std::filesystem::path& path) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path, missing);
    return missing ? 0 : size;
}

}  // namespace

struct Journal::State {
    State(const std::filesystem::path& folder, const std::string& section)
        : lines_path(folder / (section + ".jsonl")),
          binary_path(folder / (section + ".bin")),
          packed_path(folder / (section + ".bin.gz")) {}

    /// Reads the lines that are there. `kept`: bytes of the .jsonl file that are good.
    void read(const std::string& text, std::uint64_t binary_available, std::size_t& kept);
    /// One line; false: its bytes are missing, so that the record has to be taken again.
    bool read_line(std::string_view line, std::size_t number, std::uint64_t binary_available);
    void open_binary();

    std::filesystem::path lines_path, binary_path, packed_path;
    std::unique_ptr<AppendFile> lines, binary;
    std::unordered_set<std::string> ids;
    std::uint64_t binary_end = 0;  ///< of the bytes that records name
};

void Journal::State::read(const std::string& text, std::uint64_t binary_available, std::size_t& kept) {
    kept = 0;
    for (std::size_t number = 1; kept < text.size(); ++number) {
        const std::size_t end = text.find('\n', kept);
        if (end == std::string::npos) return;  // the writer was stopped within this line
        if (!read_line(std::string_view(text).substr(kept, end - kept), number, binary_available)) return;
        kept = end + 1;
    }
}

bool Journal::State::read_line(std::string_view line, std::size_t number, std::uint64_t binary_available) {
    const SourceLocation where{lines_path.string(), static_cast<std::int64_t>(number)};
    const auto value = parse_json(line);
    const JsonValue* id = value ? value->find("id") : nullptr;
    if (id == nullptr || id->kind != JsonValue::Kind::text)
        throw Error("the line is not a record of a capture", where, kMend);
    std::uint64_t offset = 0, length = 0;
    if (const JsonValue* place = value->find("binary")) {
        if (!binary_place(*place, offset, length))
            throw Error("\"binary\" is not [offset, length]", where, kMend);
        if (offset + length > binary_available) return false;
    }
    if (!ids.insert(id->text).second) throw Error("the id `" + id->text + "` was there before", where, kMend);
    binary_end = std::max(binary_end, offset + length);
    return true;
}

void Journal::State::open_binary() {
    if (binary != nullptr) return;
    std::error_code ignored;
    if (std::filesystem::exists(packed_path, ignored) && !std::filesystem::exists(binary_path, ignored) &&
        !gzip_file(packed_path, binary_path, true))
        throw Error("cannot expand the section's bytes, to add more", {packed_path.string()},
                    "install gzip, or capture into a new folder");
    binary = std::make_unique<AppendFile>(binary_path);
    binary->cut(binary_end);
}

Journal::Journal(const std::filesystem::path& folder, const std::string& section)
    : state_(std::make_unique<State>(folder, section)) {
    State& state = *state_;
    std::error_code ignored;
    const bool plain = std::filesystem::exists(state.binary_path, ignored);
    const bool packed = std::filesystem::exists(state.packed_path, ignored);
    if (plain && packed) std::filesystem::remove(state.packed_path, ignored);  // stopped between the two
    const std::uint64_t available = plain ? size_or_zero(state.binary_path) : packed ? ~std::uint64_t{0} : 0;
    std::size_t kept = 0;
    if (std::filesystem::exists(state.lines_path, ignored)) {
        const std::string text = read_file(state.lines_path);
        state.read(text, available, kept);
    }
    state.lines = std::make_unique<AppendFile>(state.lines_path);
    state.lines->cut(kept);
    if (plain) state.open_binary();
}

Journal::~Journal() = default;

bool Journal::has(std::string_view id) const {
    return state_->ids.count(std::string(id)) != 0;
}

std::size_t Journal::size() const {
    return state_->ids.size();
}

void Journal::add(std::string_view id, const Record& record, std::span<const std::byte> bytes) {
    State& state = *state_;
    if (!state.ids.insert(std::string(id)).second)
        throw std::logic_error("record `" + std::string(id) + "` was added before");
    Record head;
    head.text("id", id);
    if (!bytes.empty()) {
        // The bytes first: a line that is there has all that it names.
        state.open_binary();
        state.binary->append(bytes);
        head.integers("binary",
                      {static_cast<std::int64_t>(state.binary_end), static_cast<std::int64_t>(bytes.size())});
        state.binary_end += bytes.size();
    }
    std::string line = head.json();
    if (!record.empty()) {
        line.pop_back();
        line += ',' + record.json().substr(1);
    }
    line += '\n';
    state.lines->append(std::as_bytes(std::span(line)));
}

void Journal::finish() {
    State& state = *state_;
    state.lines->flush();
    std::error_code ignored;
    if (!std::filesystem::exists(state.binary_path, ignored)) return;
    if (state.binary != nullptr) state.binary->flush();
    state.binary.reset();
    gzip_file(state.binary_path, state.packed_path);  // without gzip the bytes stay as they are
}

}  // namespace heddle::capture
