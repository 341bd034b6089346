// Shell completions, which are generated from the tree of commands, so that they agree with the program.
#pragma once

#include <string>

#include "sim/cli/command_tree.h"

namespace heddle::cli {

/// Returns a script for `source <(heddle completion bash)`. The script obtains the names of devices and
/// models from `heddle completion --names`, so that a user's own hardware files are among them.
std::string bash_completion(const CommandDescription& root);
/// Returns the same for zsh, with zsh's own functions, and for fish.
std::string zsh_completion(const CommandDescription& root);
std::string fish_completion(const CommandDescription& root);

}  // namespace heddle::cli
