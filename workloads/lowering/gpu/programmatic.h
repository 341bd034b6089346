// Steps in which each kernel may begin before the previous one has ended.
#pragma once

#include "isa/program/program.h"

namespace heddle::lowering {

/// Makes every launch but the first a programmatic dependent one (CUDA's programmatic stream serialization):
/// each kernel waits at its first instruction for the kernel before (griddepcontrol.wait) and then lets the
/// next one begin (griddepcontrol.launch_dependents). `compute_capability`: of the device. Throws
/// heddle::Error below 9.0, which has no such launches.
void make_programmatic(program::GpuProgram& program, unsigned compute_capability);

}  // namespace heddle::lowering
