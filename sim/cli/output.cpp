#include "sim/cli/output.h"

#include <unistd.h>

#include <cstdio>
#include <span>

#include "isa/common/error.h"
#include "isa/common/foreign_text.h"
#include "sim/cli/progress.h"
#include "sim/kernel/files.h"

namespace heddle::cli {

void print(const std::string& printed) {
    const ProgressHeld held;
    // Names from files of others: a terminal takes control characters for orders.
    const std::string text = isatty(STDOUT_FILENO) == 1 ? visible(printed, true) : printed;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw Error("cannot write to standard output", {}, "is the disk full, or the reader gone?");
    }
}

void write_file(const std::string& path, const std::string& text) {
    kernel::write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace heddle::cli
