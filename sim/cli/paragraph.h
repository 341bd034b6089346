// Text in lines that fit the terminal.
#pragma once

#include <string>

namespace heddle::cli {

/// Columns for paragraphs: those of tables (sim/cli/terminal.h), 40 to 100; 100 where there is no terminal.
unsigned terminal_width();

/// Words of `text` in lines of at most `width` code points, each begun with `indent` spaces; a word that is
/// longer has a line of its own. Ends with a newline; empty when there is no word.
std::string wrap(const std::string& text, unsigned width, unsigned indent);

}  // namespace heddle::cli
