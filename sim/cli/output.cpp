#include "sim/cli/output.h"

#include <unistd.h>

#include <cstdio>

#include "isa/common/error.h"
#include "isa/common/foreign_text.h"
#include "isa/common/whole_file.h"
#include "sim/cli/progress.h"
#include "sim/run/workers/worker_pool.h"

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
    const sim::SignalsHeld whole;  // an interrupted command leaves no part of a file
    write_whole_file(path, text);
}

}  // namespace heddle::cli
