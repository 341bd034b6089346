// The tensor memory of an SM (Blackwell): 512 columns of 128 lanes of 32 bits, which thread blocks take in whole columns.
//
// An address is a lane in bits 16 and up, and a column in bits 0 to 15. Source: PTX manual, "Tensor Memory".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::ptx {

inline constexpr unsigned kTensorColumns = 512, kTensorLanes = 128;

/// Who has which columns, what lies in them, and who waits for some.
class TensorMemory {
  public:
    /// Columns that lie side by side, from a multiple of `count` on. std::nullopt: no such range is free here, nor in `peer` at the
    /// same place (nullptr: it does not matter).
    std::optional<unsigned> find_free(unsigned count, const TensorMemory* peer = nullptr) const;
    void take(unsigned first, unsigned count, const void* owner);
    /// The columns are free again; the words in them stay until somebody writes there.
    void give_back(unsigned first, unsigned count);

    /// Who has the column, and who had it last when nobody has. nullptr: nobody.
    const void* owner(unsigned column) const { return owner_[column]; }
    const void* former_owner(unsigned column) const { return former_[column]; }
    unsigned free_columns() const;

    /// The words of a column, one for each lane; those of the next column follow. All are 0 when the memory is first used.
    std::uint32_t* words(unsigned column) {
        if (words_.empty()) words_.resize(std::size_t{kTensorColumns} * kTensorLanes);
        return words_.data() + std::size_t{column} * kTensorLanes;
    }

    /// A warp that waits for columns: a Cta::Implementation of isa/ptx and the warp's index there.
    struct Waiter {
        void* cta;
        unsigned warp;
    };
    std::vector<Waiter> waiters;

    /// Forgets owners, words and those who wait. To be called between launches.
    void reset();

  private:
    std::array<const void*, kTensorColumns> owner_{}, former_{};
    std::vector<std::uint32_t> words_;
};

/// What a thread block has done about allocations.
struct TensorPermits {
    /// Columns that it has.
    struct Allocation {
        std::uint16_t first, count;
        std::uint8_t group;  ///< CTAs of .cta_group
        std::uint32_t line;  ///< of tcgen05.alloc
    };
    std::vector<Allocation> allocations;
    bool relinquished = false;  ///< it may allocate no more
    /// cta_group::2: what a warp of this CTA has asked for, which is done when one of the other CTA asks for the same.
    unsigned wanted = 0;
    std::optional<unsigned> given;  ///< the first column: done by the other CTA, for the warp that waits here
};

}  // namespace heddle::ptx
