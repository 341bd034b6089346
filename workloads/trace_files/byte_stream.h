// Files as streams, so that large files are never held in memory as a whole.
#pragma once

#include <istream>
#include <memory>
#include <string>

namespace heddle::trace {

/// A stream of a file's uncompressed bytes.
struct ByteStream {
    std::string name;  ///< path, with ":member" when it comes out of an archive
    std::string head;  ///< the first 64 KiB, for recognition; the stream starts with them again
    std::unique_ptr<std::istream> bytes;
};

/// Opens a file and unpacks gzip and tar, recognised by content. From an archive the only member ending in
/// .et or .json is read; "archive.tar.gz:member" names one of several. Throws heddle::Error when the file is
/// missing, truncated or corrupt. Errors further on in compressed data, and a file that unpacks to more than
/// 64 GiB, are thrown by the stream when it is read (its exceptions() are on).
ByteStream open_stream(const std::string& path);

/// Returns the rest of a stream, for readers that pass over a text several times. Throws heddle::Error beyond
/// 1 GiB.
std::string read_whole(ByteStream& stream);

/// A stream over bytes in memory, which must outlive it.
std::unique_ptr<std::istream> memory_stream(const std::string& bytes);

}  // namespace heddle::trace
