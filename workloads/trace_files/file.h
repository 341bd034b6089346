// Writing of trace files, and errors that name them. byte_stream.h reads them.
#pragma once

#include <string>

#include "isa/common/error.h"

namespace heddle::trace {

/// Writes bytes, compressed when the path ends in ".gz".
void write_file(const std::string& path, const std::string& bytes);

/// Runs `read` and adds `file` to errors that name no file.
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
