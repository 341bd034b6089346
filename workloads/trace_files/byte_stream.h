// Files as streams: what is larger than memory allows is never held whole.
#pragma once

#include <istream>
#include <memory>
#include <string>

namespace heddle::trace {

/// A file's uncompressed bytes, in order.
struct ByteStream {
    std::string name;  ///< path, with ":member" when it comes out of an archive
    std::string head;  ///< the first 64 KiB, for recognition; the stream starts with them again
    std::unique_ptr<std::istream> bytes;
};

/// Opens a file and undoes gzip and tar as read_file does. Errors further on in compressed data are thrown by
/// the stream when it is read (its exceptions() are on).
ByteStream open_stream(const std::string& path);

/// A stream over bytes in memory, which must outlive it.
std::unique_ptr<std::istream> memory_stream(const std::string& bytes);

}  // namespace heddle::trace
