#include "sim/cli/output.h"

#include <cstdio>

#include "isa/common/error.h"

namespace heddle::cli {

void print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw Error("cannot write to standard output", {}, "is the disk full, or the reader gone?");
    }
}

}  // namespace heddle::cli
