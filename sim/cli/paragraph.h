// Text in lines that fit the terminal.
#pragma once

#include <string>

namespace heddle::cli {

/// Returns the number of columns for paragraphs: that of tables (sim/cli/terminal.h), limited to 40..100; 100
/// without a terminal.
unsigned terminal_width();

/// Breaks `text` into lines of at most `width` code points, each indented by `indent` spaces; a longer word
/// has a line of its own. The result ends with a newline, or is empty when there is no word.
std::string wrap(const std::string& text, unsigned width, unsigned indent);

}  // namespace heddle::cli
