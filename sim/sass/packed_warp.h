// The instructions that a warp will execute, packed into about two bytes each, so that the thread blocks in
// flight on a whole GPU fit in memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::sass {

/// One instruction that a warp executed.
struct ReplayStep {
    std::uint32_t row = 0;    ///< index in TraceTable
    std::uint32_t lanes = 0;  ///< mask of the active lanes
    bool accesses = false;
    /// Addresses of the active lanes, the lowest first; valid with `accesses`.
    std::array<std::uint64_t, 32> addresses;
};

/// A sequence of steps. Usually an instruction follows its predecessor in the table, has the same lanes as
/// the step before, and its addresses increase evenly; then one byte encodes it.
class PackedWarp {
  public:
    void add(std::uint32_t row, std::uint32_t lanes, std::span<const std::uint64_t> addresses);
    void finish() { bytes_.shrink_to_fit(); }
    std::uint64_t steps() const { return steps_; }
    std::size_t bytes() const { return bytes_.size(); }

    /// The position of one reader.
    class Cursor {
      public:
        bool at_end() const { return at_ == end_; }
        /// Returns the row of the next step without taking it. Must not be called at the end.
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
    /// Returns a cursor at the first step. It is valid until this object changes.
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
