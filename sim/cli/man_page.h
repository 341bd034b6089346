// The manual page, which is generated from the tree of commands.
#pragma once

#include <string>

#include "sim/cli/command_tree.h"

namespace heddle::cli {

/// Returns heddle(1) as troff with the man macros. `version` appears in the footer.
std::string man_page(const CommandDescription& root, const std::string& version);

}  // namespace heddle::cli
