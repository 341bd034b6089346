// Shell completions, made from the tree of commands, so that they never say what the program does not.
#pragma once

#include <string>

#include "sim/cli/command_tree.h"

namespace heddle::cli {

/// A script for `source <(heddle completion bash)`. Names of devices and models are asked of `heddle
/// completion
/// --names`, so that a user's own hardware files are among them.
std::string bash_completion(const CommandDescription& root);
/// Of zsh, by its own functions.
std::string zsh_completion(const CommandDescription& root);
std::string fish_completion(const CommandDescription& root);

/// `heddle completion SHELL`, and `heddle man`. Both read the tree of `app`.

}  // namespace heddle::cli
