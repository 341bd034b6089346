// The kinds of device that there are: what a hardware file's `kind:` may say.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/machine/machine.h"

namespace heddle::sim {

struct MachineKind {
    std::string kind;  ///< as hardware files write it: "gpu"
    /// A machine of this kind with the values that its parameters have when no file says otherwise. `name` is the device's.
    std::function<std::unique_ptr<Machine>(const std::string& name)> make;
};

/// Makes a kind known in this process; one of the same name takes its place. heddle::hardware brings "gpu" and "tpu" along
/// (sim/hardware/load_hardware.h).
void add_machine_kind(MachineKind kind);

/// In alphabetical order.
const std::vector<MachineKind>& machine_kinds();

}  // namespace heddle::sim
