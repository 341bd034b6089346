// What a warp will do, in few bytes: about two for each instruction, so that the thread blocks in flight on a
// whole GPU fit in memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::sass {

/// One instruction performed by a warp.
struct ReplayStep {
    std::uint32_t row = 0;    ///< in TraceTable
    std::uint32_t lanes = 0;  ///< that took part
    bool accesses = false;
    std::array<std::uint64_t, 32> addresses;  ///< of the lanes that took part, lowest first; with `accesses`
};

/// Steps one behind another. Mostly an instruction is the one that follows in the table, for the same lanes
/// as the one before, and its addresses go up evenly: then a byte says so.
class PackedWarp {
  public:
    void add(std::uint32_t row, std::uint32_t lanes, std::span<const std::uint64_t> addresses);
    void finish() { bytes_.shrink_to_fit(); }
    std::uint64_t steps() const { return steps_; }
    std::size_t bytes() const { return bytes_.size(); }

    /// Where one reader is.
    class Cursor {
      public:
        bool at_end() const { return at_ == end_; }
        /// The row of the next step, without taking it. Not at the end.
        std::uint32_t peek() const;
        void next(ReplayStep& step);

      private:
        friend class PackedWarp;
        const std::uint8_t* at_ = nullptr;
        const std::uint8_t* end_ = nullptr;
        std::uint32_t row_ = ~std::uint32_t{0}, lanes_ = 0;
        std::array<std::uint64_t, 16>
            last_{};  // first address of the last access, by row modulo their number
    };
    /// From the first step. Valid while this is not changed.
    Cursor begin() const;

  private:
    void put(std::uint64_t value);
    void put_signed(std::uint64_t value);

    std::vector<std::uint8_t> bytes_;
    std::uint64_t steps_ = 0;
    std::uint32_t row_ = ~std::uint32_t{0}, lanes_ = 0;
    std::array<std::uint64_t, 16> last_{};
};

}  // namespace heddle::sass
