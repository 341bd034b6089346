#include "sim/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace heddle::cli {
namespace {

constexpr std::size_t kFewest = 40, kMost = 10000;

/// 0: not known.
std::size_t columns_of(int file_descriptor) {
    if (const char* variable = std::getenv("COLUMNS")) {
        char* end = nullptr;
        const unsigned long columns = std::strtoul(variable, &end, 10);
        if (end != variable && *end == '\0' && columns >= kFewest && columns <= kMost) return columns;
    }
    winsize size{};
    if (isatty(file_descriptor) != 1 || ioctl(file_descriptor, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col == 0 || size.ws_col >= kFewest ? size.ws_col : kFewest;
}

}  // namespace

std::size_t table_width() {
    return columns_of(STDOUT_FILENO);
}

std::size_t progress_width() {
    const std::size_t columns = columns_of(STDERR_FILENO);
    return columns == 0 ? 80 : columns;
}

bool has_colours(int file_descriptor) {
    const char* const none = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    return isatty(file_descriptor) == 1 && (none == nullptr || *none == '\0') && terminal != nullptr &&
           std::strcmp(terminal, "dumb") != 0;
}

std::string painted(const std::string& text, Colour colour, bool on) {
    if (!on) return text;
    const char* code = "";
    switch (colour) {
        case Colour::red:
            code = "31";
            break;
        case Colour::green:
            code = "32";
            break;
        case Colour::yellow:
            code = "33";
            break;
        case Colour::bold:
            code = "1";
            break;
        case Colour::faint:
            code = "2";
            break;
    }
    return std::string("\033[") + code + "m" + text + "\033[0m";
}

}  // namespace heddle::cli
