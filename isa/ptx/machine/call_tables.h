// Calls as they are carried out: where arguments and results are. Made by the decoder, part of a Program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Where an argument or a result is: in a register row, or in local memory.
struct ValuePlace {
    std::uint32_t bytes = 0;   ///< size of the value
    bool local = false;        ///< else in a register row
    std::uint32_t row = 0;     ///< offset among the registers; kNoRow: nobody looks at it
    bool wide = false;         ///< the row has 64-bit words
    std::uint64_t offset = 0;  ///< local: behind the start of the frame

    static constexpr std::uint32_t kNoRow = 0xFFFFFFFFu;  ///< the value has no row
};

/// A called function as the machine sees it.
struct DecodedFunction {
    std::string name;                     ///< for messages
    std::uint64_t address = 0;            ///< what a pointer to it holds
    std::uint32_t first_instruction = 0;  ///< index in Program::code
    ValuePlace frame;                     ///< register: start of its local variables
    std::uint32_t frame_bytes = 0;        ///< taken from the stack by a call
    bool recursive = false;               ///< the rows of an outer call must survive an inner one
    /// Its rows: predicates, then narrow ones, then wide ones.
    std::size_t first_row = 0, first_narrow_row = 0, first_wide_row = 0, end_row = 0;
    std::vector<ValuePlace> results, arguments;
    std::vector<std::uint32_t> result_bytes, argument_bytes;
};

/// A call as the machine sees it.
struct DecodedCall {
    CallSite::Kind kind = CallSite::Kind::function;           ///< how the target is known
    RuntimeFunction runtime{};                                ///< for CallSite::Kind::runtime
    std::uint32_t function = 0;                               ///< index in Program::functions
    std::uint32_t pointer = 0;                                ///< row
    std::vector<ValuePlace> results, arguments;               ///< places in the caller's frame
    std::vector<std::uint32_t> result_bytes, argument_bytes;  ///< by position in `results` and `arguments`
    std::int32_t caller = -1;  ///< index in Program::functions; -1: the kernel itself
    bool silent = false;       ///< vprintf: its arguments have not been computed
};

}  // namespace heddle::ptx
