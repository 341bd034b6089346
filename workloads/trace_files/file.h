// Whole files, plain or gzip, and single members of .tar.gz archives.
#pragma once

#include <string>

#include "isa/common/error.h"

namespace heddle::trace {

struct FileContent {
    std::string name;   ///< path, with ":member" when it came out of an archive
    std::string bytes;  ///< uncompressed
};

/// Reads a file and undoes gzip and tar, recognised by content. Of an archive the only member ending in .et
/// or .json is taken; "archive.tar.gz:member" names one of several. Throws heddle::Error when the file is
/// missing, cut or corrupt.
FileContent read_file(const std::string& path);

/// Writes bytes, compressed when the path ends in ".gz".
void write_file(const std::string& path, const std::string& bytes);

/// Undoes gzip; bytes that do not start with gzip's magic number are returned as they are.
std::string gunzip(const std::string& bytes, const std::string& file);

/// Runs `read`; an Error that does not say which file it is about gets `file`.
template <class Read>
auto in_file(const std::string& file, Read read) {
    try {
        return read();
    } catch (const Error& error) {
        if (!error.where().file.empty()) throw;
        throw Error(error.problem(), {.file = file, .line = error.where().line, .key = error.where().key},
                    error.remedy());
    }
}

}  // namespace heddle::trace
