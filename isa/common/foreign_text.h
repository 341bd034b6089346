// Text from files of others, where people and programs read it: terminals, messages, spreadsheets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

/// The text with control characters written out ("\x07"), so that a name in a file cannot move the cursor,
/// set a title or turn the direction of what follows. Tabs and line ends stay. With `colours` the codes that
/// colour text (ESC [ digits m) stay, too.
std::string visible(std::string_view text, bool colours = false);

/// The text with every quotation (`...`) and every word of more than `longest` bytes cut to that, and "..."
/// in place of the rest. Never cuts within a character of UTF-8.
std::string shortened(std::string_view text, std::size_t longest = 200);

/// One cell of a CSV file (RFC 4180), in quotation marks where it needs them. A text that a spreadsheet would
/// take for a formula (it begins with = + - @ and is no number) has an apostrophe in front.
std::string csv_cell(std::string_view text);

}  // namespace heddle
