// Tables and lines for a terminal: the one writer of all commands.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::sim {

/// Columns aligned by their widest cell, two spaces between them; `right` names the columns of numbers. The
/// first row is the heading. Cells count in code points.
std::string align_columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

/// align_columns() in lines of at most `width` columns; 0: no limit. Where the table is wider, columns of
/// text are shortened with an ellipsis, the widest first and none below twelve characters, numbers never;
/// what still has no room follows as a second table beneath, which begins with the first column again.
std::string fit_columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right,
                        std::size_t width);

/// Lines of words, broken at spaces where they are wider than `width` columns; what follows is indented by
/// four more than their beginning. 0: as they are.
std::string wrap_lines(const std::string& text, std::size_t width);

}  // namespace heddle::sim
