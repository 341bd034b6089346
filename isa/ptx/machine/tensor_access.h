// tcgen05: what its handlers have in common. One header for the parts of the family: allocation, moves, products.
//
// Values move and products are computed when the instruction is performed, as with bulk copies (machine/asynchronous.h): a correct
// program cannot tell. What ends later, and is signalled by tcgen05.commit, is an AsyncOperation.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "isa/ptx/decode/tensor_details.h"
#include "isa/ptx/machine/lane_operands.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// The operands of a tcgen05 instruction lie in Program::elements, three words each, in the order of the text without immediates:
/// a register or an address: its row, whether that has 64 bits, and the offset of an address; a vector: the index of its first row
/// in Program::elements, how many, and 0.
struct TensorOperand {
    std::uint32_t row = 0, wide = 0;
    std::int32_t offset = 0;
};
TensorOperand tensor_operand(const Warp::State& warp, const DecodedInstruction& i, unsigned index);
/// Its value in a lane; of an address with the offset.
std::uint64_t tensor_value(const Warp::State& warp, const TensorOperand& operand, unsigned lane);
/// Its value, which must be the same in the lanes of `mask`; an error names `what` when it is not.
std::uint64_t uniform_value(const Warp::State& warp, const TensorOperand& operand, std::uint32_t mask, const char* what);

/// Fails unless all 32 lanes perform the instruction together (.sync.aligned).
void require_whole_warp(const Warp::State& warp, std::uint32_t mask, const char* what);

/// For instructions that every mode performs: lets the lanes of `mask` wait for the others of the warp. Returns true when all 32 are here, false
/// while they wait. Fails when some have exited.
bool gather_warp(Warp::State& warp, std::uint32_t mask, const char* what);

/// A CTA of the pair that an instruction of .cta_group::2 is about: the even one has `index` 0. With .cta_group::1 the CTA itself.
/// Fails when the pair is not complete.
Cta::Implementation& cta_of_group(const Warp::State& warp, unsigned lane, unsigned group, unsigned index);

/// Fails unless the CTA `of` has all `count` columns from `first` on, allocated with this .cta_group.
void require_columns(const Warp::State& warp, unsigned lane, const Cta::Implementation& of, unsigned first, unsigned count,
                     unsigned group, const char* what);

/// Gives back what the CTA still waits for, and fails when it leaves columns allocated: its last lane exits.
void end_tensor_memory(Warp::State& warp);
/// Begins a CTA: a memory of its own where its SM gives none.
void begin_tensor_memory(Cta::Implementation& cta);

/// nullptr: there is nothing to do at run time. `evaluate`: values of tensor memory and of registers matter.
Handler select_tensor_memory(const Instruction& instruction, bool evaluate);
/// Parts of it.
Handler select_tensor_allocation(const Instruction& instruction);
Handler select_tensor_move(const Instruction& instruction, bool evaluate);
Handler select_tensor_multiply(bool evaluate);

}  // namespace heddle::ptx
