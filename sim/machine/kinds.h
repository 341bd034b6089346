// The kinds of device that this process knows: what the key `kind:` of a hardware file may say.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/machine/machine.h"

namespace heddle::sim {

/// One kind of device and how a machine of it is made.
struct MachineKind {
    std::string kind;  ///< as hardware files write it: "gpu"
    /// Makes a machine of this kind in which every parameter has its default value. `name` is the device's
    /// name.
    std::function<std::unique_ptr<Machine>(const std::string& name)> make;
};

/// Registers a kind in this process. A kind of the same name is replaced. The library heddle::hardware
/// registers "cpu", "gpu" and "tpu" (sim/hardware/load_hardware.h). Not safe for concurrent calls.
void add_machine_kind(MachineKind kind);

/// Returns the registered kinds in alphabetical order. add_machine_kind() invalidates references into the
/// list.
const std::vector<MachineKind>& machine_kinds();

}  // namespace heddle::sim
