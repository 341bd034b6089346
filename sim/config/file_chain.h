// A file and what it extends, for files of other kinds than devices.
#pragma once

#include <functional>
#include <string>

#include "sim/config/hardware_file.h"

namespace heddle::sim {

/// read_hardware_file(), with another way to find the file of a name after `extends:`.
HardwareText read_file_chain(const std::string& path,
                             const std::function<std::string(const std::string&)>& find);

}  // namespace heddle::sim
