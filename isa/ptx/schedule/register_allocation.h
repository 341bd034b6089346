// Which physical register holds each value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/schedule/operand_meetings.h"

namespace heddle::ptx {

/// Of a kernel and of each function that it calls when it runs, by itself; numbers of different bodies do not
/// add up here.
struct RegisterAllocation {
    static constexpr std::uint16_t kNone = 0xFFFF;  ///< a register without a place
    /// For each register of the kernel, the 32-bit register that holds it, the even one of a pair for 64
    /// bits. kNone for predicates, values that are only kernel parameters, and registers that are never live.
    std::vector<std::uint16_t> physical;
    unsigned count = 0;  ///< the highest number in use plus one: what ptxas reports, before any spilling
};

/// Values get the lowest registers that are free wherever they are live; elements of vectors lie side by side
/// and aligned, 64 bits in an even pair. Of several orders in which values may be given their registers, the
/// one that needs the fewest. R1 is the stack pointer. With `meetings`, single values then change places,
/// within that count, so that fewer operands meet in a bank.
RegisterAllocation allocate_registers(const Kernel& kernel, std::span<const RegisterUse> uses,
                                      const ControlFlow& flow, const Liveness& liveness,
                                      const OperandMeetings* meetings = nullptr);
RegisterAllocation allocate_registers(const Kernel& kernel);

}  // namespace heddle::ptx
