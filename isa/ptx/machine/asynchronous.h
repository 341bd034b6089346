// mbarriers, bulk copies, tensor copies and tensor maps: instructions whose work goes on after them, and what
// waits for it. One lane after another performs them, so they are compiled once, unlike the handlers of rows.
#pragma once

#include <cstdint>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// Whether the instruction is performed even when timing mode evaluates nothing, since its signals and waits
/// steer. Groups and fences are not among these instructions.
bool is_asynchronous(const Instruction& instruction);
/// Whether an asynchronous instruction moves bytes between memories, to or from a place that an address or a
/// tensor map names.
bool is_bulk_copy(const Instruction& instruction);
/// Whether the instruction takes its box from a tensor map.
bool is_tensor_copy(const Instruction& instruction);

/// What a handler needs to know of its instruction besides the operands, packed into
/// DecodedInstruction::offset.
struct AsyncDetails {
    StateSpace space = StateSpace::generic;         ///< of the first address
    StateSpace second_space = StateSpace::generic;  ///< of the source of a copy
    Type type = Type::none;                         ///< of an element
    std::uint8_t operation = 0;                     ///< ReductionOperation
    bool multicast = false;                         ///< the copy goes to several CTAs
    bool parity = false;                            ///< a wait names the phase by its parity
    std::uint8_t elements = 1;                      ///< st.async: of the vector; 4: tile::gather4 and scatter4
    bool pair = false;                              ///< .cta_group::2: the mbarrier may be that of the other CTA of a pair
};
static_assert(sizeof(AsyncDetails) == 8);
AsyncDetails async_details(const Instruction& instruction);

/// `evaluate`: the bytes that it copies matter. nullptr: not of this family, or no such combination.
Handler select_asynchronous(const Instruction& instruction, bool evaluate);

/// Parts of select_asynchronous(), which has found out that the instruction is one of their kind.
Handler select_memory_barrier(const Instruction& instruction);
Handler select_bulk_copy(const Instruction& instruction, bool evaluate);
Handler select_tensor_copy(const Instruction& instruction, bool evaluate);
Handler select_tensor_map(const Instruction& instruction, bool evaluate);
Handler select_bulk_fill();                                                  ///< st.bulk
Handler select_launch_control(const Instruction& instruction);               ///< clusterlaunchcontrol, queries too


}  // namespace heddle::ptx
