#include "workloads/sass_traces/line_source.h"

#include <lzma.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "workloads/sass_traces/tracez_bytes.h"

namespace heddle::sass {
namespace {

constexpr std::size_t kPiece = 1 << 18;
/// No line of a trace is longer: 32 addresses of 18 digits and a dozen short numbers.
constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::uint64_t kDecoderMemory = 256u << 20;
constexpr std::array<unsigned char, 6> kXzMagic{0xFD, '7', 'z', 'X', 'Z', 0};

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::size_t read_file(std::FILE* file, const std::string& path, char* to, std::size_t capacity) {
    const std::size_t count = std::fread(to, 1, capacity, file);
    if (count == 0 && std::ferror(file) != 0) throw Error("cannot be read", {path});
    return count;
}

class PlainBytes : public ByteSource {
  public:
    PlainBytes(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
    std::size_t read(char* to, std::size_t capacity) override {
        return read_file(file_.get(), path_, to, capacity);
    }

  private:
    File file_;
    std::string path_;
};

class XzBytes : public ByteSource {
  public:
    XzBytes(File file, std::string path)
        : file_(std::move(file)), path_(std::move(path)), compressed_(kPiece, '\0') {
        if (lzma_stream_decoder(&stream_, kDecoderMemory, LZMA_CONCATENATED) != LZMA_OK)
            throw Error("no memory for the xz decoder", {path_});
    }
    ~XzBytes() override { lzma_end(&stream_); }
    XzBytes(const XzBytes&) = delete;
    XzBytes& operator=(const XzBytes&) = delete;

    std::size_t read(char* to, std::size_t capacity) override {
        stream_.next_out = reinterpret_cast<std::uint8_t*>(to);
        stream_.avail_out = capacity;
        while (stream_.avail_out == capacity && !finished_) {
            if (stream_.avail_in == 0) refill();
            const lzma_ret result = lzma_code(&stream_, no_more_ ? LZMA_FINISH : LZMA_RUN);
            if (result == LZMA_STREAM_END) {
                finished_ = true;
            } else if (result != LZMA_OK) {
                throw Error("the xz data are damaged or cut off", {path_}, "copy or record the file again");
            }
        }
        return capacity - stream_.avail_out;
    }

  private:
    void refill() {
        stream_.avail_in = read_file(file_.get(), path_, compressed_.data(), compressed_.size());
        stream_.next_in = reinterpret_cast<const std::uint8_t*>(compressed_.data());
        no_more_ = stream_.avail_in == 0;
    }

    File file_;
    std::string path_;
    std::string compressed_;
    lzma_stream stream_ = LZMA_STREAM_INIT;
    bool no_more_ = false, finished_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
    constexpr std::string_view kTracez = ".tracez";
    if (path.size() > kTracez.size() &&
        std::string_view(path).substr(path.size() - kTracez.size()) == kTracez)
        return open_tracez(path);
    File file(std::fopen(path.c_str(), "rb"));
    if (!file) throw Error("cannot be opened", {path}, "check the path and the permissions");
    std::array<unsigned char, 6> magic{};
    const std::size_t count = std::fread(magic.data(), 1, magic.size(), file.get());
    if (std::fseek(file.get(), 0, SEEK_SET) != 0) throw Error("is not a regular file", {path});
    if (count == magic.size() && magic == kXzMagic) return std::make_unique<XzBytes>(std::move(file), path);
    return std::make_unique<PlainBytes>(std::move(file), path);
}

LineSource::LineSource(std::unique_ptr<ByteSource> bytes, std::string name)
    : source_(std::move(bytes)), name_(std::move(name)), buffer_(2 * kPiece, '\0') {}

bool LineSource::refill() {
    if (at_end_) return false;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ > kLongestLine) fail("is not text: a line of more than a million characters");
    if (buffer_.size() - end_ < kPiece) buffer_.resize(buffer_.size() + kPiece);
    const std::size_t count = source_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += count;
    at_end_ = count == 0;
    return count != 0;
}

bool LineSource::next(std::string_view& line) {
    std::size_t searched = 0;
    for (;;) {
        const char* const start = buffer_.data() + begin_;
        const auto* const newline =
            static_cast<const char*>(std::memchr(start + searched, '\n', end_ - begin_ - searched));
        if (newline != nullptr || (at_end_ && begin_ != end_)) {
            auto length = newline != nullptr ? static_cast<std::size_t>(newline - start) : end_ - begin_;
            const std::size_t taken = newline != nullptr ? length + 1 : length;
            begin_ += taken;
            bytes_ += taken;
            ++number_;
            if (length != 0 && start[length - 1] == '\r') --length;
            line = {start, length};
            return true;
        }
        if (at_end_) return false;
        searched = end_ - begin_;
        refill();
    }
}

void LineSource::fail(const std::string& problem, const std::string& key, const std::string& remedy) const {
    throw Error(problem, {name_, number_, key}, remedy);
}

}  // namespace heddle::sass
