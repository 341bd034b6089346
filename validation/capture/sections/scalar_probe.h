// Instructions of one thread, executed on lists of operands: conversions, arithmetic, approximations.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "validation/capture/device.h"

namespace heddle::capture {

struct ScalarInstruction {
    std::string topic;     ///< "conversion", "arithmetic", "approximation"
    std::string mnemonic;  ///< "cvt.rn.f16.f32"; operands follow: %o, %i0, %i1, ...
    unsigned inputs = 1;
    unsigned input_bits = 32, output_bits = 32;
    unsigned first_capability = 70;
    const char* target = "sm_70";
    const char* ptx_version = "6.4";
    /// What isa/numerics or the host's own arithmetic gives; nothing where neither says.
    std::function<std::uint64_t(const std::array<std::uint64_t, 3>&)> expected = {};
};

/// All of them, the conversions first.
std::vector<ScalarInstruction> scalar_instructions();

std::string scalar_probe_ptx(const ScalarInstruction& instruction);

/// Operands: [input][item], as raw bits. Throws DeviceError.
std::vector<std::uint64_t> run_scalar(Device& device, const ScalarInstruction& instruction,
                                      const std::vector<std::vector<std::uint64_t>>& inputs);

/// The operands of `count` items, the same on every machine: what is special first, then random bits and
/// numbers whose exponents are close.
std::vector<std::vector<std::uint64_t>> scalar_operands(const ScalarInstruction& instruction,
                                                        std::size_t count);

}  // namespace heddle::capture
