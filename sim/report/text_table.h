// Tables and lines for a terminal, which all commands use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::sim {

/// Aligns columns by their widest cell, with two spaces between them; `right` marks the columns of numbers.
/// The first row is the heading. The width of a cell is its number of code points.
std::string align_columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

/// Does what align_columns() does, in lines of at most `width` columns; 0: no limit. Where the table is
/// wider, columns of text are shortened with an ellipsis, the widest first and none below twelve characters;
/// numbers are never shortened. Columns that still do not fit follow as a second table below, which begins
/// with the first column again.
std::string fit_columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right,
                        std::size_t width);

/// Breaks lines at spaces where they are wider than `width` columns and indents continuation lines by four
/// more than their beginning. 0: leaves the text unchanged.
std::string wrap_lines(const std::string& text, std::size_t width);

}  // namespace heddle::sim
