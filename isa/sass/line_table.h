// Source lines of machine code: the DWARF 2 to 4 line program that ptxas writes with -lineinfo.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/sass/cubin.h"

namespace heddle::sass {

/// Lines by function.
struct LineTable {
    std::vector<std::string> files;                           ///< LineEntry::file refers to them
    std::map<std::string, std::vector<LineEntry>> functions;  ///< by symbol, sorted by address
};

/// Reads .debug_line. `functions`: which function the address at a byte of the section stands for. What cannot be read ends the
/// table: lines are a help, no part of the program.
LineTable read_line_table(std::string_view section, const std::vector<std::pair<std::uint64_t, std::string>>& functions);

}  // namespace heddle::sass
