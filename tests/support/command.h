// The built `heddle` command as a user meets it, in a folder of its own. HEDDLE_COMMAND: where it is.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/folder.h"

namespace heddle::tests {

struct Outcome {
    int code = -1;  ///< of the exit; -1: a signal ended it
    std::string out, err;
};

/// Runs `heddle <arguments>` in the folder; arguments are words for the shell, `environment` is NAME=VALUE
/// ... It tells no progress, however slow this machine is, unless the environment says otherwise.
inline Outcome run_heddle(const Folder& folder, const std::string& arguments,
                          const std::string& environment = "") {
    // Beside the folder, so that nothing but the command's own files lie in it.
    const std::string base = folder.path().string();
    const std::string command = "cd '" + base + "' && export HEDDLE_PROGRESS=off && " + environment +
                                " '" HEDDLE_COMMAND "' " + arguments + " >'" + base + ".out' 2>'" + base +
                                ".err' </dev/null";
    const int status = std::system(command.c_str());
    Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(base + ".out"),
                    text_of(base + ".err")};
    std::filesystem::remove(base + ".out");
    std::filesystem::remove(base + ".err");
    return outcome;
}

}  // namespace heddle::tests
