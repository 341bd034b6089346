// Which L2 slice a line lives in, and which set of a cache.
#pragma once

#include <bit>
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

/// Consecutive lines, 2^chunk_bits of them, form a chunk, which lies in one slice. Every aligned group of
/// `slices` consecutive chunks has one in each slice, so that streams are balanced exactly; the group's
/// number turns the order within it pseudo-randomly, so that no stride, power of two or not, stays on a few
/// slices.
class SliceHash {
  public:
    explicit SliceHash(std::uint32_t slices, unsigned chunk_bits = 0)
        : slices_(slices), chunk_bits_(chunk_bits), reciprocal_(~std::uint64_t{0} / slices + 1) {}

    /// Where a line lies: its slice, and its row there.
    struct Place {
        std::uint32_t slice;  ///< index, from 0
        std::uint64_t row;    ///< position of the line among those of its slice
    };
    /// Hashes the number of a line (address / 128); the same line always has the same place.
    Place place(std::uint64_t line) const {
        const std::uint64_t chunk = line >> chunk_bits_;
        const std::uint64_t group = row(chunk);
        const auto position = static_cast<std::uint32_t>(chunk - group * slices_);
        const auto turn = static_cast<std::uint32_t>(((mix_bits(group) >> 32) * slices_) >> 32);
        std::uint32_t slice = position + turn;
        if (slice >= slices_) slice -= slices_;
        return {slice, (group << chunk_bits_) | (line & ((std::uint64_t{1} << chunk_bits_) - 1))};
    }
    /// The slice alone.
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
    unsigned chunk_bits_;
    std::uint64_t reciprocal_;  // ceil(2^64 / slices)
};

/// The binary logarithm of the lines of 128 bytes in a chunk of `interleave_bytes`, a power of two.
inline unsigned chunk_bits_of(std::uint32_t interleave_bytes) {
    return static_cast<unsigned>(std::bit_width(interleave_bytes / 128)) - 1;
}

/// Where a line lives in an L2 of several partitions: one position, the same in each, and a home among them.
/// Slices are numbered partition by partition; the home slice is what SliceHash gives.
class PartitionedHash {
  public:
    PartitionedHash(std::uint32_t slices, std::uint32_t partitions, unsigned chunk_bits = 0)
        : hash_(slices, chunk_bits), partitions_(partitions), positions_(slices / partitions) {}

    /// Where a line lies when slices belong to partitions.
    struct Place {
        std::uint32_t position;  ///< of the slice in its partition
        std::uint32_t home;      ///< partition
        std::uint64_t row;       ///< position of the line among those of its home slice
    };
    /// Hashes the number of a line (address / 128); `home` names the partition whose memory holds it.
    Place place(std::uint64_t line) const {
        const SliceHash::Place flat = hash_.place(line);
        std::uint32_t position = flat.slice;
        std::uint32_t home = 0;
        for (; position >= positions_; position -= positions_) ++home;
        return {position, home, flat.row};
    }
    /// Conversions between the index of a slice in the device and its partition; slices of a partition have
    /// neighbouring indices.
    std::uint32_t slice(std::uint32_t position, std::uint32_t partition) const {
        return partition * positions_ + position;
    }
    std::uint32_t partition_of(std::uint32_t slice) const { return slice / positions_; }
    std::uint32_t partitions() const { return partitions_; }
    /// Name of the line among all that a slice may hold, those of other homes among them: unique among lines
    /// of 512 GiB.
    std::uint32_t key(const Place& place) const {
        return static_cast<std::uint32_t>(place.row * partitions_ + place.home);
    }
    std::uint32_t key_of(std::uint32_t row, std::uint32_t home) const { return row * partitions_ + home; }
    std::uint32_t row_of(std::uint32_t key) const {
        return partitions_ <= 2 ? key >> (partitions_ - 1) : key / partitions_;
    }
    std::uint32_t home_of(std::uint32_t key) const {
        return partitions_ <= 2 ? key & (partitions_ - 1) : key % partitions_;
    }

  private:
    SliceHash hash_;
    std::uint32_t partitions_, positions_;
};

}  // namespace heddle::models
