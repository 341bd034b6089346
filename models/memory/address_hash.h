// Which L2 slice a line lives in, and which set of a cache.
#pragma once

#include <cstdint>

namespace heddle::models {

/// Mixes all bits of a value (finalizer of MurmurHash3, public domain).
inline std::uint64_t mix_bits(std::uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ull;
    value ^= value >> 33;
    return value;
}

/// Every aligned group of `slices` consecutive lines has one line in each slice, so that streams are balanced
/// exactly; the group's number turns the order within it pseudo-randomly, so that no stride, power of two or
/// not, stays on a few slices.
class SliceHash {
  public:
    explicit SliceHash(std::uint32_t slices) : slices_(slices), reciprocal_(~std::uint64_t{0} / slices + 1) {}

    struct Place {
        std::uint32_t slice;
        std::uint64_t row;  ///< position of the line among those of its slice
    };
    Place place(std::uint64_t line) const {
        const std::uint64_t group = row(line);
        const auto position = static_cast<std::uint32_t>(line - group * slices_);
        const auto turn = static_cast<std::uint32_t>(((mix_bits(group) >> 32) * slices_) >> 32);
        std::uint32_t slice = position + turn;
        if (slice >= slices_) slice -= slices_;
        return {slice, group};
    }
    std::uint32_t slice(std::uint64_t line) const { return place(line).slice; }
    /// line / slices, by a multiplication that is exact while line * slices < 2^64. (With one slice the
    /// reciprocal would be 2^64.)
    std::uint64_t row(std::uint64_t line) const {
        if (slices_ == 1) return line;
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<Wide>(line) * reciprocal_) >> 64);
    }
    std::uint32_t slices() const { return slices_; }

  private:
    std::uint32_t slices_;
    std::uint64_t reciprocal_;  // ceil(2^64 / slices)
};

}  // namespace heddle::models
