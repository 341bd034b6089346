#include "sim/cli/output.h"

#include <cstdio>
#include <span>

#include "isa/common/error.h"
#include "sim/kernel/files.h"

namespace heddle::cli {

void print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw Error("cannot write to standard output", {}, "is the disk full, or the reader gone?");
    }
}

void write_file(const std::string& path, const std::string& text) {
    kernel::write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace heddle::cli
