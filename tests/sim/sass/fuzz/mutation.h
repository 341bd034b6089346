// Damaged traces, and what becomes of them.
#pragma once

#include <random>
#include <string>
#include <string_view>

#include "models/gpu/gpu.h"

namespace heddle::sass::test {

/// `text` with a few words, characters or lines changed, doubled, exchanged or left out; words may come from
/// `other`.
std::string mutate(const std::string& text, const std::string& other, std::mt19937& random);

/// Reads a trace to its end. False: heddle::Error says what is wrong. Any other exception passes.
bool read_all(std::string_view text);

/// The same, and performs the instructions of all thread blocks, one warp after another and without time; at
/// most a few thousand of each.
bool replay_all(std::string_view text);

enum class Outcome { ran, refused };
/// Runs a trace on the GPU, for at most `cycles` cycles: what takes longer is refused.
Outcome run_all(models::gpu::Gpu& gpu, const std::string& text, std::uint64_t cycles);

}  // namespace heddle::sass::test
