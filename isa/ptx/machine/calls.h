// Calls of functions, and of the device runtime, while a kernel runs.
//
// A function's registers are rows of their own, one copy for all calls: a function that is called while it
// runs already saves the rows of the lanes that call. The lanes of a call run the function as one path and go
// on behind the call when all of them that have not exited have returned.
#pragma once

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// The handler of call, and of a ret with an operand; nullptr for other instructions.
Handler select_call(const Instruction& instruction);

/// `lanes` of a call have returned: their results are delivered, the function's rows are what they were
/// before. The frame is free when these lanes are the `last`. Returns where they go on.
std::uint32_t finish_call(Warp::State& warp, std::uint16_t frame, std::uint32_t lanes, bool last);

/// Start of the caller's local variables in the lane's local memory.
std::uint64_t caller_frame(const Warp::State& warp, const DecodedCall& call, unsigned lane);
/// An argument or result of at most 8 bytes.
std::uint64_t read_value(const Warp::State& warp, const ValuePlace& place, std::uint64_t frame,
                         unsigned lane);
void write_value(Warp::State& warp, const ValuePlace& place, std::uint64_t frame, unsigned lane,
                 std::uint64_t value);

/// Room for `needed` bytes of local memory per thread.
void grow_local_memory(Cta::Implementation& cta, std::uint64_t needed);

/// Performs a call of the device runtime: device_runtime.cpp.
void call_runtime(Warp::State& warp, const DecodedCall& call, std::uint32_t mask);

}  // namespace heddle::ptx
