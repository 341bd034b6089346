// Reads devices from hardware files: those of this folder or the user's own.
#pragma once

#include <string>
#include <vector>

#include "sim/machine/hardware.h"

namespace heddle::sim {

/// Reads a device by name ("h100-sxm", looked up in hardware_directories()) or from a file. `overrides` are
/// assignments such as "sm.count=144". Throws heddle::Error for all errors of read_hardware_file() and
/// apply_settings(), for an unknown `kind`, for a library that the file names unless `programs` allows it,
/// and for an impossible machine (Machine::problem()).
Hardware load_hardware(const std::string& name_or_file, const std::vector<std::string>& overrides = {},
                       Programs programs = Programs::refused);

/// Does the same for a file that has been read, for callers that need many devices of one file. Without
/// `checked` the machine may be impossible.
Hardware configure_hardware(const HardwareText& text, const std::vector<std::string>& overrides,
                            bool checked = true);

}  // namespace heddle::sim
