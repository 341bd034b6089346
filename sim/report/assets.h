// The files of assets/ as text, which CMake compiles into the program.
#pragma once

#include <string_view>

namespace heddle::sim {

extern const std::string_view kPageStyle;   ///< assets/page.css
extern const std::string_view kPageScript;  ///< assets/page.js

}  // namespace heddle::sim
