#include "workloads/trace_files/byte_stream.h"

#include <zlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "workloads/trace_files/file.h"

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

/// A member of an archive, which is held in memory.
class OwnedBuffer : public std::streambuf {
  public:
    explicit OwnedBuffer(std::string bytes) : bytes_(std::move(bytes)) {
        setg(bytes_.data(), bytes_.data(), bytes_.data() + bytes_.size());
    }

  private:
    std::string bytes_;
};

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

bool is_archive(const std::string& path, const std::string& head) {
    if (head.size() >= 512 && head.compare(257, 5, "ustar") == 0) return true;
    return path.find(".tar:") != std::string::npos || path.find(".tar.gz:") != std::string::npos ||
           path.find(".tgz:") != std::string::npos;
}

}  // namespace

std::unique_ptr<std::istream> memory_stream(const std::string& bytes) {
    return std::make_unique<OwningStream>(std::make_unique<MemoryBuffer>(bytes));
}

ByteStream open_stream(const std::string& path) {
    std::string head;
    std::unique_ptr<std::streambuf> buffer;
    if (!is_archive(path, head)) {
        buffer = std::make_unique<FileBuffer>(path);
        head.resize(buffer_bytes);
        head.resize(
            static_cast<std::size_t>(buffer->sgetn(head.data(), static_cast<std::streamsize>(head.size()))));
    }
    if (is_archive(path, head)) {
        FileContent content = read_file(path);
        head = content.bytes.substr(0, buffer_bytes);
        return {content.name, std::move(head),
                std::make_unique<OwningStream>(std::make_unique<OwnedBuffer>(std::move(content.bytes)))};
    }
    return {path, head, std::make_unique<OwningStream>(std::make_unique<HeadFirst>(head, std::move(buffer)))};
}

}  // namespace heddle::trace
