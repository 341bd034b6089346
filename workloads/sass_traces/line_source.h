// The lines of a text file that may be compressed (.xz), read piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "isa/common/error.h"

namespace heddle::sass {

/// A source of bytes. read() returns at most `capacity` of them, and 0 at the end; it throws heddle::Error
/// when the file is damaged.
class ByteSource {
  public:
    virtual ~ByteSource() = default;
    virtual std::size_t read(char* to, std::size_t capacity) = 0;
};

/// Opens a plain file, one that begins with the magic bytes of xz, or a .tracez as text (tracez_bytes.h).
/// Throws heddle::Error when it cannot be opened.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// Reads lines and holds one buffer of the text, independently of the file's length.
class LineSource {
  public:
    /// `name` is the file's name for errors.
    LineSource(std::unique_ptr<ByteSource> bytes, std::string name);

    /// Returns the next line without its end ("\n" or "\r\n"), valid until the next call; false at the end.
    bool next(std::string_view& line);
    std::int64_t number() const { return number_; }  ///< of the line last given, from 1
    std::uint64_t bytes() const { return bytes_; }   ///< of text given so far
    const std::string& name() const { return name_; }
    [[noreturn]] void fail(const std::string& problem, const std::string& key = {},
                           const std::string& remedy = {}) const;

  private:
    bool refill();

    std::unique_ptr<ByteSource> source_;
    std::string name_;
    std::string buffer_;
    std::size_t begin_ = 0, end_ = 0;  // of what is not given yet
    bool at_end_ = false;
    std::int64_t number_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace heddle::sass
