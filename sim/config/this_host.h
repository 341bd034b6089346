// What the machine on which Heddle runs says of itself, as settings of `this-host`.
#pragma once

#include <string>

#include "sim/config/hardware_file.h"

namespace heddle::sim {

/// The file in which measured values of this machine are kept, a line `key: value` each: $HEDDLE_THIS_HOST, else heddle/this-host.txt
/// in $XDG_CONFIG_HOME or $HOME/.config.
std::string this_host_file();

/// Replaces settings by what /proc and /sys say of this machine, and then by those of this_host_file(). The core is that of the preset
/// which is nearest: Intel with and without AMX, AMD with and without AVX-512, Arm. Files that cannot be read change nothing.
void add_this_host(HardwareText& text);

}  // namespace heddle::sim
