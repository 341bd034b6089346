#include "isa/ptx/decode/tensor_details.h"

#include <string>

#include "isa/common/error.h"

namespace heddle::ptx {
namespace {

ProductKind kind_of(const Instruction& n) {
    if (n.has(Modifier::kind_tf32)) return ProductKind::tf32;
    if (n.has(Modifier::kind_f8f6f4)) return ProductKind::f8f6f4;
    if (n.has(Modifier::kind_i8)) return ProductKind::i8;
    if (n.has(Modifier::kind_mxf8f6f4)) return ProductKind::mxf8f6f4;
    if (n.has(Modifier::kind_mxf4)) return ProductKind::mxf4;
    return n.has(Modifier::kind_mxf4nvf4) ? ProductKind::mxf4nvf4 : ProductKind::f16;
}

TensorShape shape_of(const Instruction& n) {
    if (n.has(Modifier::lanes_16x64b)) return TensorShape::lanes_16x64b;
    if (n.has(Modifier::lanes_16x128b)) return TensorShape::lanes_16x128b;
    if (n.has(Modifier::lanes_16x256b)) return TensorShape::lanes_16x256b;
    if (n.has(Modifier::lanes_16x32bx2)) return TensorShape::lanes_16x32bx2;
    if (n.has(Modifier::copy_128x256b)) return TensorShape::copy_128x256b;
    if (n.has(Modifier::copy_4x256b)) return TensorShape::copy_4x256b;
    if (n.has(Modifier::copy_128x128b)) return TensorShape::copy_128x128b;
    if (n.has(Modifier::warpx2_02_13)) return TensorShape::copy_64x128b_02_13;
    if (n.has(Modifier::warpx2_01_23)) return TensorShape::copy_64x128b_01_23;
    if (n.has(Modifier::warpx4)) return TensorShape::copy_32x128b;
    return TensorShape::lanes_32x32b;
}

std::uint8_t scale_block_of(const Instruction& n, ProductKind kind) {
    if (!n.has(Modifier::block_scale)) return 0;
    const bool sixteen = n.has(Modifier::scale_vec_4) || n.has(Modifier::block16);
    return kind == ProductKind::mxf4nvf4 && sixteen ? 16 : 32;
}

const Operand* immediate_of(const Instruction& n) {
    for (const Operand& operand : n.operands)
        if (operand.kind == Operand::Kind::immediate && operand.type == Type::u64) return &operand;
    return nullptr;
}

}  // namespace

TensorDetails tensor_details(const Instruction& n) {
    TensorDetails details;
    details.group = n.has(Modifier::cta_group_2) ? 2 : 1;
    details.shape = shape_of(n);
    details.kind = kind_of(n);
    details.packs = n.has(Modifier::pack_16b) || n.has(Modifier::unpack_16b);
    details.multicast = n.has(Modifier::multicast);
    details.decompresses_6 = n.has(Modifier::b6x16_p32);
    details.decompresses_4 = n.has(Modifier::b4x16_p64);
    if (n.has(Modifier::ld) || n.has(Modifier::st)) {
        for (const Operand& operand : n.operands) {
            if (operand.kind == Operand::Kind::vector) details.registers = static_cast<std::uint8_t>(operand.elements.size());
        }
        if (const Operand* split = immediate_of(n)) {
            if (split->bits >= 512) throw Error("the offset between the halves is " + std::to_string(split->bits), {}, "tensor memory has 512 columns");
            details.split = static_cast<std::uint16_t>(split->bits);
        }
    }
    if (!n.has(Modifier::mma)) return details;
    details.sparse = n.has(Modifier::sp);
    details.stationary = n.has(Modifier::ws);
    details.shifts_a = n.has(Modifier::ashift);
    details.scale_block = scale_block_of(n, details.kind) & 63u;
    details.a_in_tensor_memory = n.operands[1].kind == Operand::Kind::address;
    for (const Operand& operand : n.operands) details.lane_mask = details.lane_mask || operand.kind == Operand::Kind::vector;
    if (details.stationary) details.zero_mask = n.operands.back().kind != Operand::Kind::none;
    return details;
}

std::uint16_t product_scale(const Instruction& n) {
    const Operand* const scale = n.has(Modifier::mma) ? immediate_of(n) : nullptr;
    if (scale == nullptr) return 0;
    if (scale->bits > 15) throw Error("scale-input-d is " + std::to_string(scale->bits), {}, "it must be 0 to 15");
    return static_cast<std::uint16_t>(scale->bits);
}

unsigned stored_depth(ProductKind kind) {
    switch (kind) {
        case ProductKind::f16:
            return 16;
        case ProductKind::tf32:
            return 8;
        case ProductKind::mxf4:
        case ProductKind::mxf4nvf4:
            return 64;
        default:
            return 32;
    }
}

ProductDescriptor decode_product_descriptor(std::uint32_t bits, ProductKind kind) {
    const auto field = [bits](unsigned lowest, unsigned count) { return bits >> lowest & ((1u << count) - 1); };
    ProductDescriptor d;
    const bool scaled = kind >= ProductKind::mxf8f6f4;
    d.sparse = field(2, 1) != 0;
    d.a_type = static_cast<std::uint8_t>(field(7, 3));
    d.b_type = static_cast<std::uint8_t>(field(10, kind >= ProductKind::mxf4 ? 2 : 3));
    d.negative_a = field(13, 1) != 0;
    d.negative_b = field(14, 1) != 0;
    d.a_mn_major = field(15, 1) != 0;
    d.b_mn_major = field(16, 1) != 0;
    d.columns = field(17, 6) * 8;
    d.rows = field(24, 5) * 16;
    d.sparsity_selector = static_cast<std::uint8_t>(field(0, 2));
    if (scaled) {  // M lies in the two upper bits of the same field, in units of 128
        d.b_scale_id = static_cast<std::uint8_t>(field(4, 2));
        d.a_scale_id = static_cast<std::uint8_t>(field(29, 2));
        d.scales_are_ue8m0 = kind != ProductKind::mxf4nvf4 || field(23, 1) != 0;
        d.depth_96 = kind != ProductKind::mxf8f6f4 && field(31, 1) != 0;
        d.sparsity_selector = 0;
        return d;
    }
    d.saturates = kind == ProductKind::i8 && field(3, 1) != 0;
    d.d_type = static_cast<std::uint8_t>(field(4, 2));
    return d;
}

const char* check_product_size(const ProductDescriptor& d, const TensorDetails& details) {
    if (d.columns == 0 || d.columns > 256) return "N must be 8 to 256";
    if (details.stationary) {
        if (d.rows != 32 && d.rows != 64 && d.rows != 128) return "M of .ws must be 32, 64 or 128";
        if (d.columns != 64 && d.columns != 128 && d.columns != 256) return "N of .ws must be 64, 128 or 256";
        return nullptr;
    }
    if (details.group == 1 && d.rows != 64 && d.rows != 128) return "M of .cta_group::1 must be 64 or 128";
    if (details.group == 2 && d.rows != 128 && d.rows != 256) return "M of .cta_group::2 must be 128 or 256";
    const unsigned unit = details.group == 1 && d.rows == 64 ? 8 : details.group == 2 && details.kind != ProductKind::i8 ? 16 : 8;
    if (d.columns % unit != 0) return "N must be a multiple of 16";
    if (details.group == 2 && d.columns % 16 != 0) return "N of .cta_group::2 must be a multiple of 16";
    if (details.group == 1 && d.rows == 128 && d.columns % 16 != 0 && details.kind != ProductKind::mxf8f6f4 && details.kind != ProductKind::mxf4 &&
        details.kind != ProductKind::mxf4nvf4)
        return "N of M = 128 must be a multiple of 16";
    return nullptr;
}

}  // namespace heddle::ptx
