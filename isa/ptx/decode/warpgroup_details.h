// The immediates of wgmma, checked and packed.
#pragma once

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// Fills `decoded` for a wgmma whose operands are decoded. Throws heddle::Error, without a place, when an
/// immediate is out of its range.
void set_warpgroup_details(const Instruction& instruction, DecodedInstruction& decoded);

}  // namespace heddle::ptx
