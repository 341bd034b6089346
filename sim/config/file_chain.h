// Reading a file and the files that it extends, for kinds of files other than devices.
#pragma once

#include <functional>
#include <string>

#include "sim/config/hardware_file.h"

namespace heddle::sim {

/// Does what read_hardware_file() does, with `find` to find the file of a name after `extends:`.
HardwareText read_file_chain(const std::string& path,
                             const std::function<std::string(const std::string&)>& find);

}  // namespace heddle::sim
