// The video instructions (vadd, vmad, vset4, ...): parts of operands, and what their handler needs to know.
// Source: PTX ISA 9.0, "Scalar Video Instructions" and "SIMD Video Instructions".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// The parts of an operand that a suffix names: r.b2, r.h10, r.b7610. `count` parts; part(0) is the last
/// digit and goes into, or comes from, the lowest place.
class PartSelector {
  public:
    PartSelector() = default;
    explicit PartSelector(std::uint16_t code) : code_(code) {}
    /// Reads a suffix such as "b2", "h10" or "b7610"; the selector is absent when the text is no such suffix.
    static PartSelector parse(std::string_view text);

    /// False when no suffix was written; code() packs a selector into 16 bits, from which the constructor
    /// makes it again.
    bool present() const { return code_ != 0; }
    std::uint16_t code() const { return code_; }
    bool halves() const { return (code_ >> 15 & 1u) != 0; }  ///< else bytes
    /// Number of parts, and the number of the byte or halfword that part `index` takes.
    unsigned count() const { return code_ >> 12 & 7u; }
    unsigned part(unsigned index) const { return code_ >> (3 * index) & 7u; }

  private:
    std::uint16_t code_ = 0;  ///< three bits per part, their number in bits 14..12, bit 15: halves
};

/// What the instruction does to each pair of parts.
enum class VideoOperation : std::uint8_t {
    add,
    subtract,
    absolute_difference,
    minimum,
    maximum,
    shift_left,
    shift_right,
    multiply_add,
    compare,
    average,
};
/// What it does to the result and c.
enum class VideoSecondary : std::uint8_t { none, add, minimum, maximum };
/// For vset.
enum class VideoComparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

/// A decoded video instruction; its handler reads it from DecodedInstruction.
struct VideoDetails {
    VideoOperation operation = VideoOperation::add;             ///< main operation
    VideoSecondary secondary = VideoSecondary::none;            ///< operation with c
    VideoComparison comparison = VideoComparison::equal;        ///< for vset
    bool a_signed = false, b_signed = false, d_signed = false;  ///< types of the operands
    bool saturates = false;                                     ///< .sat: the result stays within its type
    bool wraps = false;                                         ///< shifts: the amount modulo 32
    bool plus_one = false;                                      ///< vmad.po
    bool negates_product = false, negates_c = false;            ///< vmad: signs of the product and of c
    std::uint8_t scale = 0;                                     ///< vmad: shift to the right
    PartSelector d, a, b;  ///< parts of the operands; absent: whole words
};

/// Whether the instruction is one of this family (vadd to vset4).
bool is_video(const Instruction& instruction);
/// How many parts a word has: 1, 2 (vadd2) or 4 (vadd4).
unsigned video_lanes(const Instruction& instruction);
VideoDetails video_details(const Instruction& instruction);
/// "" or what is wrong with the selectors of the instruction.
std::string check_video(const Instruction& instruction);

/// All but the selectors, in 16 bits, and the selectors in 48.
std::uint32_t pack_video_operation(const VideoDetails& details);
std::uint64_t pack_video_selectors(const VideoDetails& details);
VideoDetails unpack_video(std::uint32_t operation, std::uint64_t selectors);

}  // namespace heddle::ptx
