// The capabilities of the terminal behind a stream.
#pragma once

#include <cstddef>
#include <string>

namespace heddle::cli {

/// Returns the number of columns for tables: $COLUMNS when it is a number, else that of the terminal behind
/// stdout; 0 (no limit) when stdout is not a terminal.
std::size_t table_width();

/// Returns the same for stderr, for lines that are redrawn; 80 where it is not known.
std::size_t progress_width();

/// Whether text on this stream may have colours: it is a terminal that supports them, and NO_COLOR is not set
/// (no-color.org).
bool has_colours(int file_descriptor);

enum class Colour { red, green, yellow, bold, faint };

/// Returns the text with the terminal's codes for a colour, or unchanged when `on` is false.
std::string painted(const std::string& text, Colour colour, bool on);

}  // namespace heddle::cli
