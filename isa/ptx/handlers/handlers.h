// From an instruction to the function that performs it.
#pragma once

#include <cstdint>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// What the choice depends on besides the instruction.
struct HandlerRequest {
    unsigned register_bits =
        32;  ///< of the register loaded, stored or converted into, which may be wider than the type
    bool evaluate = true;  ///< false: timing mode, and nothing depends on the values: only report the access
};

/// The handler, the fastest that this host can run; nullptr when there is nothing to do at run time (a
/// fence). Throws heddle::Error, without a place, when the table allows a form for which no handler exists.
Handler select_handler(const Instruction& instruction, const HandlerRequest& request);

}  // namespace heddle::ptx
