// What a decoded tcgen05 instruction says besides its operands: packed into DecodedInstruction::offset.
#pragma once

#include <cstdint>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Whether the instruction is of tensor memory: tcgen05.
inline bool is_tensor_memory(const Instruction& n) {
    return n.opcode == Opcode::tcgen05;
}

/// .kind of tcgen05.mma.
enum class ProductKind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// The shapes of ld and st (lanes x bits), and of cp.
enum class TensorShape : std::uint8_t {
    lanes_32x32b,
    lanes_16x64b,
    lanes_16x128b,
    lanes_16x256b,
    lanes_16x32bx2,
    copy_128x256b,
    copy_4x256b,
    copy_128x128b,
    copy_64x128b_02_13,
    copy_64x128b_01_23,
    copy_32x128b
};

/// All fields together have 64 bits.
struct TensorDetails {
    std::uint8_t group = 1;                            ///< CTAs of .cta_group
    TensorShape shape = TensorShape::lanes_32x32b;     ///< of ld, st and cp
    ProductKind kind = ProductKind::f16;               ///< of mma
    std::uint8_t registers = 0;                        ///< of ld and st, the result of .red not counted
    std::uint16_t split = 0;                           ///< 16x32bx2: columns from one half to the other
    std::uint8_t scale_block : 6 = 0;                  ///< elements along K with one scale: 16 or 32; 0: no scales
    bool sparse : 1 = false;                           ///< .sp
    bool stationary : 1 = false;                       ///< .ws
    bool a_in_tensor_memory : 1 = false;               ///< A is an address there
    bool lane_mask : 1 = false;                        ///< disable-output-lane is given
    bool zero_mask : 1 = false;                        ///< zero-column-mask is given
    bool shifts_a : 1 = false;                         ///< .ashift
    bool packs : 1 = false;                            ///< .pack::16b, .unpack::16b
    bool decompresses_6 : 1 = false, decompresses_4 : 1 = false;  ///< of cp: the source has 6 or 4 bits
    bool multicast : 1 = false;                        ///< of commit
};
static_assert(sizeof(TensorDetails) == 8);

/// Throws heddle::Error, without a place, when an immediate is out of its range.
TensorDetails tensor_details(const Instruction& instruction);
/// scale-input-d of mma: D is multiplied by 2 to the power of minus this. It is kept in DecodedInstruction::immediate.
std::uint16_t product_scale(const Instruction& instruction);

/// Elements of A that a product of this kind has along K, as they are stored: half of K when A is sparse.
unsigned stored_depth(ProductKind kind);

/// An instruction descriptor taken apart. Source: PTX manual, "Instruction descriptor" of tcgen05.mma.
struct ProductDescriptor {
    unsigned rows = 0, columns = 0;           ///< M and N
    std::uint8_t a_type = 0, b_type = 0;      ///< codes, which the kind interprets
    std::uint8_t d_type = 1;                  ///< 0 f16, 1 f32, 2 s32
    std::uint8_t sparsity_selector = 0;
    bool sparse = false, saturates = false, negative_a = false, negative_b = false, a_mn_major = false, b_mn_major = false;
    std::uint8_t a_scale_id = 0, b_scale_id = 0;  ///< byte of a column in which the first scale lies
    bool scales_are_ue8m0 = false;                ///< else ue4m3
    bool depth_96 = false;                        ///< K = 96 of mxf4 (compute capability 10.3)
};
ProductDescriptor decode_product_descriptor(std::uint32_t bits, ProductKind kind);
/// What is wrong with the sizes for this instruction; empty when nothing is.
const char* check_product_size(const ProductDescriptor& descriptor, const TensorDetails& details);

}  // namespace heddle::ptx
