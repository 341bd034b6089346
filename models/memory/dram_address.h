// The place of a line in a memory channel.
#pragma once

#include <bit>
#include <cstdint>

#include "models/memory/address_hash.h"
#include "models/memory/memory_config.h"
#include "models/memory/memory_request.h"

namespace heddle::models {

/// The place of a line in a channel.
struct DramAddress {
    std::uint32_t pseudo_channel;  ///< index in the channel
    std::uint32_t bank;            ///< of the pseudo channel: group * banks of a group + bank in the group
    std::uint32_t row;             ///< of the bank
};

/// From the least significant bit: line of a chunk, pseudo channel, bank group, column, bank, row. So a chunk
/// lies in one row, whoever asks for its lines finds the row open, and neighbouring chunks lie in different
/// pseudo channels and bank groups. The bits of
/// pseudo channel, group and bank are XORed with bits from above, so that no power-of-two stride stays in one
/// of them.
class DramAddressMap {
  public:
    explicit DramAddressMap(const MemoryConfig& c)
        : chunk_bits_(chunk_bits_of(c.interleave_bytes)),
          channel_bits_(bits(c.pseudo_channels)),
          group_bits_(bits(c.bank_groups)),
          column_bits_(bits(c.row_bytes / kLineBytes) - chunk_bits_),
          bank_bits_(bits(c.banks)) {}

    /// `line`: number of the line among those of the channel.
    DramAddress locate(std::uint64_t line_of_channel) const {
        const std::uint64_t line = line_of_channel >> chunk_bits_;
        const std::uint64_t above = line >> channel_bits_;
        const std::uint64_t columns = above >> group_bits_;
        const std::uint64_t banks = columns >> column_bits_;
        const std::uint64_t row = banks >> bank_bits_;
        const auto low = [](std::uint64_t value, unsigned count) {
            return static_cast<std::uint32_t>(value & ((1u << count) - 1));
        };
        const std::uint64_t folded = fold(row);
        const std::uint32_t bank = low(banks ^ folded, bank_bits_);
        const std::uint32_t group = low(above ^ (folded >> bank_bits_) ^ banks, group_bits_);
        const std::uint32_t channel = low(line ^ fold(above), channel_bits_);
        return {channel, (group << bank_bits_) | bank, static_cast<std::uint32_t>(row)};
    }

  private:
    static unsigned bits(std::uint32_t count) { return static_cast<unsigned>(std::bit_width(count) - 1); }
    /// XOR of the value's parts, so that every bit of it reaches the low eight.
    static std::uint64_t fold(std::uint64_t value) {
        value ^= value >> 32;
        value ^= value >> 17;
        value ^= value >> 9;
        value ^= value >> 5;
        return value;
    }
    unsigned chunk_bits_, channel_bits_, group_bits_, column_bits_, bank_bits_;
};

}  // namespace heddle::models
