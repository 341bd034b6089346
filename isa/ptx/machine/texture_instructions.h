// Textures and surfaces, one lane after the other: tex, tld4, txq, suld, sust, sured, suq.
#pragma once

#include <cstdint>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// Whether it is one of these.
bool is_texture_instruction(const Instruction& n);

/// What txq and suq ask for.
enum class TextureQuery : std::uint8_t {
    width,
    height,
    depth,
    layers,
    channel_type,
    channel_order,
    normalized,
    filter,
    address_mode_x,
    address_mode_y,
    address_mode_z,
    one,   ///< mipmap levels, samples
    zero,  ///< what no object of CUDA has
};

/// DecodedInstruction::target of these instructions, by the suffixes.
struct TextureOperation {
    std::uint32_t dimensions : 2;  ///< 1 to 3, without layers
    std::uint32_t layered : 1;     ///< the number of a layer comes before the coordinates
    std::uint32_t cube : 1;        ///< coordinates are a direction
    std::uint32_t by_index : 1;    ///< coordinates are integers
    std::uint32_t component : 2;   ///< of tld4
    std::uint32_t boundary : 2;    ///< SurfaceBoundary
    std::uint32_t bytes : 4;       ///< of an element of a surface: 1 to 8
    std::uint32_t elements : 3;    ///< of a vector that a surface takes or gives
    std::uint32_t halves : 1;      ///< tex gives .f16
    std::uint32_t half_pairs : 1;  ///< tex gives .f16x2
    std::uint32_t wide : 1;        ///< registers have 64 bits
    std::uint32_t reduction : 3;   ///< of sured: add, min, max, and, or
    std::uint32_t has_sign : 1;    ///< sured takes signed integers
    std::uint32_t query : 4;       ///< TextureQuery
    std::uint32_t unused : 5;
};
static_assert(sizeof(TextureOperation) == 4);

/// `register_bits`: of the registers that are written or stored. Throws heddle::Error, without a place, where
/// the object is no 64-bit register.
TextureOperation texture_operation(const Instruction& n, unsigned register_bits);

/// `evaluate`: false in timing mode where no value is wanted: the access alone is reported.
Handler select_texture_instruction(const Instruction& n, bool evaluate);

}  // namespace heddle::ptx
