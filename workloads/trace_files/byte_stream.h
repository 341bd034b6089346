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

/// Opens a file and undoes gzip and tar, recognised by content. Of an archive the only member ending in .et or
/// .json is taken; "archive.tar.gz:member" names one of several. Throws heddle::Error when the file is missing,
/// cut or corrupt. Errors further on in compressed data are thrown by the stream when it is read (its
/// exceptions() are on); so is the end of what a file may unpack to, 64 GiB.
ByteStream open_stream(const std::string& path);

/// What is left of a stream, for readers that go over a text several times. Throws heddle::Error beyond 1 GiB.
std::string read_whole(ByteStream& stream);

/// A stream over bytes in memory, which must outlive it.
std::unique_ptr<std::istream> memory_stream(const std::string& bytes);

}  // namespace heddle::trace
