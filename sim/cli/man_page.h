// The manual page, made from the tree of commands.
#pragma once

#include <string>

#include "sim/cli/command_tree.h"

namespace heddle::cli {

/// heddle(1) as troff with the man macros. `version` stands in its footer.
std::string man_page(const CommandDescription& root, const std::string& version);

}  // namespace heddle::cli
