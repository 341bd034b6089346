// What the screen behind a stream can show.
#pragma once

#include <cstddef>
#include <string>

namespace heddle::cli {

/// Columns for tables: $COLUMNS when it is a number, else those of the terminal behind stdout; 0: no limit,
/// as stdout is no terminal.
std::size_t table_width();

/// The same behind stderr, for lines that are drawn over; 80 where nobody knows.
std::size_t progress_width();

/// Whether text on this stream may have colours: it is a terminal that knows them, and NO_COLOR is not set
/// (no-color.org).
bool has_colours(int file_descriptor);

enum class Colour { red, green, yellow, bold, faint };

/// The text between the terminal's codes, or as it is.
std::string painted(const std::string& text, Colour colour, bool on);

}  // namespace heddle::cli
