// What does a CPU program compute? Runs one on values, bit by bit, without time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/cpu/program.h"

namespace heddle::cpu {

/// The contents of a program's buffers: memory of its own, zero at first, or memory of the caller's.
class Memory {
  public:
    /// `threads`: copies of buffers that are per thread. Buffers for which `bound` has an entry that is not empty lie there; it must be
    /// as large as the buffer (else heddle::Error) and outlive this object.
    Memory(const Program& program, unsigned threads, std::span<const std::span<std::byte>> bound = {});

    unsigned threads() const { return threads_; }
    /// The bytes of a buffer as `thread` sees it.
    std::span<std::byte> bytes(std::size_t buffer, unsigned thread = 0) { return views_[buffer * threads_ + thread]; }

  private:
    unsigned threads_;
    std::vector<std::vector<std::byte>> owned_;
    std::vector<std::span<std::byte>> views_;  ///< by buffer and thread
};

/// Runs the regions in order, the iterations of each thread one after the other: a program whose iterations write what others of the
/// same region read is wrong on any machine. The program must be valid. Throws heddle::Error for an access outside of its buffer.
void execute(const Program& program, Memory& memory);

/// vdpbf16ps on one lane: c + a1 b1, rounded, + a0 b0, rounded; to nearest even, subnormal operands and results are zeros.
float dot_bf16(float c, std::uint32_t a, std::uint32_t b);
/// vpdpbusd on one lane: c + the four products of bytes of a (unsigned) and of b (signed), modulo 2^32.
std::uint32_t dot_u8i8(std::uint32_t c, std::uint32_t a, std::uint32_t b);

}  // namespace heddle::cpu
