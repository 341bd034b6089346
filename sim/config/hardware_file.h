// The text of a hardware file: which keys it sets, where, and with which source comment. This library does
// not know the meaning of the keys.
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

/// Whether a library that a hardware file names may be loaded and run: hbm.model and l2.model name libraries.
/// A library that the command line names may always run, because the user chose it.
enum class Programs { refused, allowed };

/// A hardware file and the files that it extends, resolved: the most derived setting of each path.
struct HardwareText {
    std::string name;                ///< name of the file without its ending: "h100-sxm"
    std::string kind;                ///< "gpu" or "tpu", from the file or the nearest one that it extends
    std::string description;         ///< `description:` of the file itself
    std::vector<std::string> files;  ///< the file first, then what it extends
    std::vector<Setting> settings;   ///< by path, each path once
    SourceLocation kind_where;
    /// Whether configure_hardware() allows libraries that these files name.
    Programs programs = Programs::refused;
};

/// Reads a file and, through `extends:`, its ancestors. A name after `extends:` is looked up beside the file,
/// then among the known hardware (hardware_directories()). Throws heddle::Error for files that cannot be
/// read, YAML mistakes, lists of lists, duplicate keys, and files that extend themselves, directly or
/// indirectly.
HardwareText read_hardware_file(const std::string& path);

/// Turns "sm.count=144" into a setting. Throws heddle::Error when there is no `=`.
Setting parse_override(const std::string& assignment);

/// Returns the folders in which hardware files are looked up: HEDDLE_HARDWARE_PATH (parts separated by `:`),
/// then `sim/hardware` of the source tree in which the executable was built, then `share/heddle/hardware`
/// beside the executable.
std::vector<std::string> hardware_directories();

/// Returns the names of all hardware in hardware_directories(), sorted and without duplicates.
std::vector<std::string> hardware_names();

/// Returns the file of a name ("h100-sxm") or of a path (anything with a `/` or ending in .yaml or .yml).
/// Throws heddle::Error with the list of names when there is none.
std::string find_hardware_file(const std::string& name_or_file);

}  // namespace heddle::sim
