// mma of Blackwell's graphics boards: kind::f8f6f4, and with block scales mxf8f6f4, mxf4 and mxf4nvf4.
//
// Elements of 8, 6 and 4 bits have a byte each; those of 4 bits lie in its bits 2 to 5. Of mxf4 and mxf4nvf4 two share a byte. Scales: of A's
// 16 rows two of the four lanes of a group hold one each, row `group` in the first and `group` + 8 in the second, of B's 8 columns one lane
// does; the thread number says which lanes, the byte number where the first scale lies in their register. Source: PTX manual, "Block Scaling"
// of mma.
#include "isa/numerics/block_scaled.h"
#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/handlers/matrix_arithmetic.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

using numerics::Format;

Format format_of_a(const Decoded& i) {
    return static_cast<Format>(i.immediate & 15u);
}
Format format_of_b(const Decoded& i) {
    return static_cast<Format>(i.immediate >> 4 & 15u);
}

template <unsigned kVectors>
void align_elements(PackedMatrix<std::uint8_t, kVectors, 32>& matrix, Format format) {
    if (format != Format::e2m1) return;
    for (auto& row : matrix.element)
        for (std::uint8_t& element : row) element = element >> 2 & 15u;
}

template <class Sum>
void multiply_narrow(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    PackedMatrix<std::uint8_t, 16, 32> a;
    PackedMatrix<std::uint8_t, 8, 32> b;
    Accumulators<Sum, 16, 8> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    align_elements(a, format_of_a(i));
    align_elements(b, format_of_b(i));
    const auto parameters = numerics::parameters_for(target::generation_of(warp.cta->launch.compute_capability), format_of_a(i), format_of_b(i),
                                                     sizeof(Sum) == 2 ? Format::fp16 : Format::fp32, numerics::Instruction::mma_sync);
    numerics::matrix_multiply_accumulate(parameters, 16, 8, 32, &a.element[0][0], &b.element[0][0], &sums.element[0][0], &sums.element[0][0]);
    sums.write(warp, i.operand[0]);
}

// The scales of `rows` vectors, `count` of each, from the registers of the lanes that the thread number names.
void read_scales(State& warp, std::uint32_t scales, std::uint32_t selectors, unsigned rows, unsigned count, std::uint8_t* to, const char* what) {
    const std::uint32_t* from = words<std::uint32_t>(warp, warp.elements[scales]);
    const std::uint32_t byte = words<std::uint32_t>(warp, warp.elements[selectors])[0] & 0xFFFFu, thread = words<std::uint32_t>(warp, warp.elements[selectors + 1])[0] & 0xFFFFu;
    const unsigned lanes = rows / 8;  // of a group that hold scales
    if (thread * lanes >= 4 || byte + count > 4 || (count == 2 && byte % 2 != 0)) {
        fail_running(warp, 0, std::string("the byte ") + std::to_string(byte) + " or thread " + std::to_string(thread) + " of the scales of " + what + " is out of range",
                     "scales must lie in one register, in lanes of a group of four");
    }
    for (unsigned row = 0; row < rows; ++row) {
        const std::uint32_t word = from[row % 8 * 4 + thread * lanes + row / 8];
        for (unsigned s = 0; s < count; ++s) to[row * count + s] = static_cast<std::uint8_t>(word >> 8 * (byte + s));
    }
}

template <unsigned kDepth>
void multiply_scaled(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    constexpr bool kPacked = kDepth == 64;
    PackedMatrix<std::uint8_t, 16, 32> a;
    PackedMatrix<std::uint8_t, 8, 32> b;
    Accumulators<float, 16, 8> sums;
    a.read(warp, i.operand[1]);
    b.read(warp, i.operand[2]);
    sums.read(warp, i.operand[3]);
    std::uint8_t a_elements[16 * kDepth], b_elements[8 * kDepth];
    const auto unpack_row = [](const std::uint8_t* from, std::uint8_t* to) {
        for (unsigned byte = 0; byte < 32; ++byte) {
            if constexpr (kPacked) {
                to[2 * byte] = from[byte] & 15u;
                to[2 * byte + 1] = from[byte] >> 4;
            } else {
                to[byte] = from[byte];
            }
        }
    };
    if constexpr (!kPacked) {
        align_elements(a, format_of_a(i));
        align_elements(b, format_of_b(i));
    }
    for (unsigned row = 0; row < 16; ++row) unpack_row(a.element[row], a_elements + row * kDepth);
    for (unsigned row = 0; row < 8; ++row) unpack_row(b.element[row], b_elements + row * kDepth);
    const unsigned block = (i.immediate >> 9 & 1u) != 0 ? 16 : 32, count = kDepth / block;
    const auto scale = (i.immediate >> 8 & 1u) != 0 ? numerics::ScaleFormat::ue4m3 : numerics::ScaleFormat::ue8m0;
    std::uint8_t a_scales[16 * 4], b_scales[8 * 4];
    read_scales(warp, i.operand[4], i.operand[5], 16, count, a_scales, "A");
    read_scales(warp, i.operand[6], i.target, 8, count, b_scales, "B");
    const auto parameters = kPacked ? numerics::mxf4nvf4_parameters(scale, block) : numerics::mxf8f6f4_parameters(format_of_a(i), format_of_b(i));
    numerics::matrix_multiply_accumulate_block_scaled(parameters, 16, 8, kDepth, a_elements, b_elements, a_scales, b_scales, &sums.element[0][0], &sums.element[0][0]);
    sums.write(warp, i.operand[0]);
}

}  // namespace

Handler select_narrow_multiply(const Instruction& n) {
    if (n.has(Modifier::block_scale)) return n.shape.depth == 64 ? multiply_scaled<64> : multiply_scaled<32>;
    return n.type(0) == Type::f16 ? multiply_narrow<std::uint16_t> : multiply_narrow<float>;
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
