// The text of a hardware file: which keys it sets, where, and with which source comment. Knows nothing of
// what the keys mean.
#pragma once

#include <string>
#include <vector>

#include "isa/common/error.h"

namespace heddle::sim {

/// One value that a file (or the command line) sets.
struct Setting {
    std::string path;    ///< dotted: "l2.size"
    std::string text;    ///< "50 MiB"
    std::string source;  ///< the comment beside it: "source: NVIDIA H100 datasheet"; empty when there is none
    SourceLocation where;  ///< file and line; `key` repeats the path
};

/// Whether a program that a hardware file names may run: hbm.model and l2.model are libraries that are loaded. What the command line
/// names is the user's own word, and may always run.
enum class Programs { refused, allowed };

/// A hardware file and the files that it extends, resolved: the most derived setting of each path.
struct HardwareText {
    std::string name;                ///< file name without its ending: "h100-sxm"
    std::string kind;                ///< "gpu" or "tpu", from the file or the nearest one that it extends
    std::string description;         ///< `description:` of the file itself
    std::vector<std::string> files;  ///< the file first, then what it extends
    std::vector<Setting> settings;   ///< by path, each path once
    SourceLocation kind_where;
    Programs programs = Programs::refused;  ///< what configure_hardware() does about programs of these files
};

/// Reads a file and, through `extends:`, its ancestors. A name after `extends:` is looked for beside the
/// file, then among the known hardware (hardware_directories()). Throws heddle::Error for files that cannot
/// be read, YAML mistakes, lists of lists, duplicate keys, and chains that bite their own tail.
HardwareText read_hardware_file(const std::string& path);

/// Turns "sm.count=144" into a setting. Throws heddle::Error when there is no `=`.
Setting parse_override(const std::string& assignment);

/// Where hardware files are looked for: HEDDLE_HARDWARE_PATH (parts separated by `:`), then `sim/hardware` of
/// the source tree that the executable was built in, then `share/heddle/hardware` beside the executable.
std::vector<std::string> hardware_directories();

/// Names of all hardware found in hardware_directories(), sorted, each once.
std::vector<std::string> hardware_names();

/// The file of a name ("h100-sxm") or of a path (anything with a `/` or ending in .yaml or .yml). Throws
/// heddle::Error with the list of names when there is none.
std::string find_hardware_file(const std::string& name_or_file);

}  // namespace heddle::sim
