#include "workloads/trace_files/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "isa/common/activity.h"
#include "isa/common/error.h"

namespace heddle::trace {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

/// More than any trace: stops files that unpack without end.
constexpr std::uint64_t largest_content = std::uint64_t{64} << 30;

std::uint64_t size_of(const std::string& path) {
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(path, unknown);
    return unknown ? 0 : size;
}

/// Uncompressed bytes of a file, gzip or not.
class FileBuffer : public std::streambuf {
  public:
    explicit FileBuffer(const std::string& path)
        : path_(path), file_(path, std::ios::binary), doing_("reading " + path, size_of(path), "bytes") {
        if (!file_) throw Error("cannot open the file", {.file = path}, "check the path and its permissions");
        fill();
        compressed_ = available_ >= 2 && packed_[0] == '\x1f' && packed_[1] == '\x8b';
        if (compressed_ && inflateInit2(&inflater_, 15 + 16) != Z_OK)
            throw Error("zlib cannot start", {.file = path});
    }
    ~FileBuffer() override {
        if (compressed_) inflateEnd(&inflater_);
    }
    FileBuffer(const FileBuffer&) = delete;
    FileBuffer& operator=(const FileBuffer&) = delete;

  protected:
    int_type underflow() override {
        const std::size_t count = compressed_ ? inflate_some() : plain_some();
        if (count == 0) return traits_type::eof();
        produced_ += count;
        if (produced_ > largest_content)
            throw Error("the file unpacks to more than 64 GiB", {.file = path_}, "cut the recording shorter");
        setg(out_.data(), out_.data(), out_.data() + count);
        return traits_type::to_int_type(out_[0]);
    }

  private:
    void fill() {
        file_.read(packed_.data(), static_cast<std::streamsize>(packed_.size()));
        available_ = static_cast<std::size_t>(file_.gcount());
        used_ = 0;
        consumed_ += available_;
        this_activity().set_done(consumed_);
        if (file_.bad() || (available_ == 0 && !file_.eof()))
            throw Error("cannot read the file", {.file = path_});
    }
    std::size_t plain_some() {
        if (used_ == available_) fill();
        std::copy(packed_.begin() + static_cast<std::ptrdiff_t>(used_),
                  packed_.begin() + static_cast<std::ptrdiff_t>(available_), out_.begin());
        const std::size_t count = available_ - used_;
        used_ = available_;
        return count;
    }
    [[noreturn]] void damaged(const std::string& problem) const {
        throw Error(problem,
                    {.file = path_, .key = "byte " + std::to_string(consumed_ - (available_ - used_))},
                    "copy the file again");
    }
    std::size_t inflate_some() {
        while (!finished_) {
            if (used_ == available_) fill();
            if (available_ == 0) damaged("the compressed data ends too early");
            inflater_.next_in = reinterpret_cast<Bytef*>(packed_.data() + used_);
            inflater_.avail_in = static_cast<uInt>(available_ - used_);
            inflater_.next_out = reinterpret_cast<Bytef*>(out_.data());
            inflater_.avail_out = static_cast<uInt>(out_.size());
            const int status = inflate(&inflater_, Z_NO_FLUSH);
            used_ = available_ - inflater_.avail_in;
            if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
                damaged("the compressed data is corrupt");
            if (status == Z_STREAM_END) next_member();
            if (const std::size_t count = out_.size() - inflater_.avail_out; count > 0) return count;
        }
        return 0;
    }
    /// Several gzip members one after another count as one stream; other bytes after the end are padding.
    void next_member() {
        if (used_ == available_) fill();
        if (available_ > used_ && packed_[used_] == '\x1f') {
            inflateReset(&inflater_);
        } else {
            finished_ = true;
        }
    }

    std::string path_;
    std::ifstream file_;
    Doing doing_;
    z_stream inflater_{};
    bool compressed_ = false, finished_ = false;
    std::vector<char> packed_ = std::vector<char>(buffer_bytes), out_ = std::vector<char>(buffer_bytes);
    std::size_t available_ = 0, used_ = 0;
    std::uint64_t consumed_ = 0, produced_ = 0;
};

/// Bytes that were read ahead, then the rest of another buffer.
class HeadFirst : public std::streambuf {
  public:
    HeadFirst(std::string head, std::unique_ptr<std::streambuf> rest)
        : head_(std::move(head)), rest_(std::move(rest)) {
        setg(head_.data(), head_.data(), head_.data() + head_.size());
    }

  protected:
    int_type underflow() override {
        head_.resize(buffer_bytes);
        const std::streamsize count = rest_->sgetn(head_.data(), static_cast<std::streamsize>(head_.size()));
        if (count <= 0) return traits_type::eof();
        setg(head_.data(), head_.data(), head_.data() + count);
        return traits_type::to_int_type(head_[0]);
    }

  private:
    std::string head_;
    std::unique_ptr<std::streambuf> rest_;
};

class MemoryBuffer : public std::streambuf {
  public:
    explicit MemoryBuffer(const std::string& bytes) {
        char* begin = const_cast<char*>(bytes.data());
        setg(begin, begin, begin + bytes.size());
    }
};

/// The next so many bytes of another buffer.
class PartBuffer : public std::streambuf {
  public:
    PartBuffer(std::unique_ptr<std::streambuf> whole, std::uint64_t size)
        : whole_(std::move(whole)), left_(size) {}

  protected:
    int_type underflow() override {
        const auto wanted = static_cast<std::streamsize>(std::min<std::uint64_t>(left_, bytes_.size()));
        const std::streamsize count = wanted == 0 ? 0 : whole_->sgetn(bytes_.data(), wanted);
        if (count <= 0) return traits_type::eof();
        left_ -= static_cast<std::uint64_t>(count);
        setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
        return traits_type::to_int_type(bytes_[0]);
    }

  private:
    std::unique_ptr<std::streambuf> whole_;
    std::uint64_t left_;
    std::vector<char> bytes_ = std::vector<char>(buffer_bytes);
};

/// False: there are fewer.
bool skip(std::streambuf& bytes, std::uint64_t count) {
    std::vector<char> ignored(buffer_bytes);
    while (count > 0) {
        const auto piece = static_cast<std::streamsize>(std::min<std::uint64_t>(count, ignored.size()));
        if (bytes.sgetn(ignored.data(), piece) != piece) return false;
        count -= static_cast<std::uint64_t>(piece);
    }
    return true;
}

struct Member {
    std::string name;
    std::uint64_t offset = 0, size = 0;
};

/// Members of a POSIX ustar archive (IEEE 1003.1, "ustar interchange format"): 512-byte headers, content
/// padded to 512.
std::vector<Member> members_of(const std::string& file) {
    constexpr std::size_t block = 512, most = 100'000;
    FileBuffer bytes(file);
    std::vector<Member> members;
    std::string header(block, '\0');
    for (std::uint64_t position = 0; bytes.sgetn(header.data(), block) == block;) {
        if (header[0] == '\0') break;  // end of archive
        const auto text = [&](std::size_t offset, std::size_t length) {
            const std::string field = header.substr(offset, length);
            return field.substr(0, field.find('\0'));
        };
        std::string digits = text(124, 12);
        digits.erase(0, digits.find_first_not_of(' '));
        std::uint64_t size = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 8);
        const bool octal = error == std::errc{} && (end == digits.data() + digits.size() || *end == ' ');
        if (!octal || size > largest_content || !skip(bytes, size)) {
            throw Error("tar header with an impossible size",
                        {.file = file, .key = "byte " + std::to_string(position)},
                        "the archive is cut or corrupt");
        }
        const char kind = header[156];
        const std::string prefix = text(345, 155);
        if (kind == '0' || kind == '\0') {
            members.push_back(
                {prefix.empty() ? text(0, 100) : prefix + "/" + text(0, 100), position + block, size});
            if (members.size() > most)
                throw Error("the archive has more than 100,000 members", {.file = file}, "unpack it");
        }
        const std::uint64_t padding = (block - size % block) % block;
        skip(bytes, padding);
        position += block + size + padding;
    }
    return members;
}

/// The member that is wanted; "": the only one that a trace's name has.
Member choose_member(const std::string& file, const std::string& wanted) {
    std::vector<Member> candidates;
    std::string names;
    for (Member& member : members_of(file)) {
        const bool fits = wanted.empty() ? member.name.ends_with(".et") || member.name.ends_with(".json")
                                         : member.name == wanted;
        if (names.size() < 4000) names += (names.empty() ? "" : ", ") + member.name;
        if (fits) candidates.push_back(std::move(member));
    }
    if (candidates.size() != 1) {
        throw Error(
            candidates.empty() ? "the archive holds no such trace" : "the archive holds several traces",
            {.file = file, .key = wanted}, "name one as " + file + ":<member>; members: " + names);
    }
    return candidates[0];
}

/// An istream that owns its buffer and lets errors of the buffer through.
class OwningStream : public std::istream {
  public:
    explicit OwningStream(std::unique_ptr<std::streambuf> buffer)
        : std::istream(buffer.get()), buffer_(std::move(buffer)) {
        exceptions(std::ios::badbit);
    }

  private:
    std::unique_ptr<std::streambuf> buffer_;
};

std::string head_of(std::streambuf& bytes) {
    std::string head(buffer_bytes, '\0');
    head.resize(
        static_cast<std::size_t>(bytes.sgetn(head.data(), static_cast<std::streamsize>(head.size()))));
    return head;
}

}  // namespace

std::unique_ptr<std::istream> memory_stream(const std::string& bytes) {
    return std::make_unique<OwningStream>(std::make_unique<MemoryBuffer>(bytes));
}

ByteStream open_stream(const std::string& path) {
    std::string file = path, member;
    // "archive.tar.gz:member"
    for (const std::string ending : {".tar.gz:", ".tgz:", ".tar:"}) {
        const std::size_t place = path.find(ending);
        if (place == std::string::npos) continue;
        file = path.substr(0, place + ending.size() - 1);
        member = path.substr(place + ending.size());
        break;
    }
    std::unique_ptr<std::streambuf> buffer = std::make_unique<FileBuffer>(file);
    std::string head = head_of(*buffer);
    std::string name = file;
    if (head.size() >= 512 && head.compare(257, 5, "ustar") == 0) {
        const Member found = choose_member(file, member);
        name += ":" + found.name;
        buffer = std::make_unique<FileBuffer>(file);
        skip(*buffer, found.offset);
        buffer = std::make_unique<PartBuffer>(std::move(buffer), found.size);
        head = head_of(*buffer);
    } else if (!member.empty()) {
        throw Error("this is not a tar archive, so it has no members", {.file = file});
    }
    return {name, head, std::make_unique<OwningStream>(std::make_unique<HeadFirst>(head, std::move(buffer)))};
}

std::string read_whole(ByteStream& stream) {
    constexpr std::size_t largest = std::size_t{1} << 30;
    std::string bytes;
    for (;;) {
        const std::size_t before = bytes.size();
        bytes.resize(before + buffer_bytes);
        const std::streamsize count = stream.bytes->rdbuf()->sgetn(bytes.data() + before, buffer_bytes);
        bytes.resize(before + static_cast<std::size_t>(std::max<std::streamsize>(count, 0)));
        if (bytes.size() > largest)
            throw Error("the file has more than 1 GiB, and one of its kind is read whole",
                        {.file = stream.name}, "is it damaged, or packed to unpack without end?");
        if (count < static_cast<std::streamsize>(buffer_bytes)) return bytes;
    }
}

}  // namespace heddle::trace
