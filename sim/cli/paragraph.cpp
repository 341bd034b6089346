#include "sim/cli/paragraph.h"

#include <algorithm>
#include <sstream>

#include "sim/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr unsigned kNarrowest = 40, kWidest = 100;

std::size_t code_points(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

unsigned terminal_width() {
    const std::size_t columns = table_width();
    return columns == 0 ? kWidest
                        : static_cast<unsigned>(std::clamp<std::size_t>(columns, kNarrowest, kWidest));
}

std::string wrap(const std::string& text, unsigned width, unsigned indent) {
    std::string result;
    std::size_t column = 0;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::size_t length = code_points(word);
        if (column != 0 && column + 1 + length <= width) {
            result += ' ';
            ++column;
        } else {
            if (column != 0) result += '\n';
            result += std::string(indent, ' ');
            column = indent;
        }
        result += word;
        column += length;
    }
    return result.empty() ? result : result + '\n';
}

}  // namespace heddle::cli
