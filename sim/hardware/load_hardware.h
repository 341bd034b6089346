// Reads devices from hardware files: those of this folder, or the user's own.
#pragma once

#include <string>
#include <vector>

#include "sim/machine/hardware.h"

namespace heddle::sim {

/// Reads a device by name ("h100-sxm", looked for in hardware_directories()) or file. `overrides` are
/// "sm.count=144". Throws heddle::Error for everything that read_hardware_file() and apply_settings() find,
/// for an unknown `kind`, for a program that the file names unless `programs` allows it, and for an impossible
/// machine (Machine::problem()).
Hardware load_hardware(const std::string& name_or_file, const std::vector<std::string>& overrides = {},
                       Programs programs = Programs::refused);

/// The same of a file that was read already, for whoever needs many devices of one file. Without `checked`
/// the machine may be impossible.
Hardware configure_hardware(const HardwareText& text, const std::vector<std::string>& overrides,
                            bool checked = true);

}  // namespace heddle::sim
