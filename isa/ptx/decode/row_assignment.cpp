#include <algorithm>

#include "isa/ptx/decode/decoder.h"

namespace heddle::ptx {
namespace {

struct Range {
    std::uint32_t start = kNowhere, end = 0;
    void cover(std::uint32_t at) {
        start = std::min(start, at);
        end = std::max(end, at);
    }
};

// From the first to the last place where the register is live or written. A destination never shares the row
// of a source of the same instruction, so handlers may write before they have read everything.
std::vector<Range> live_ranges(const Kernel& kernel, const Analysis& analysis) {
    std::vector<Range> ranges(kernel.registers.size() + 1);
    for (std::size_t b = 0; b < analysis.flow.blocks.size(); ++b) {
        const BasicBlock& block = analysis.flow.blocks[b];
        analysis.liveness.live_in[b].for_each([&](std::uint32_t r) { ranges[r].cover(block.first); });
        analysis.liveness.live_out[b].for_each([&](std::uint32_t r) { ranges[r].cover(block.last); });
        for (std::uint32_t i = block.first; i <= block.last; ++i) {
            for (const std::uint32_t r : analysis.uses[i].reads) ranges[r].cover(i);
            for (const std::uint32_t r : analysis.uses[i].writes) ranges[r].cover(i);
        }
    }
    return ranges;
}

// Rows of one size: a row is free again after the last instruction of its range.
class Pool {
  public:
    std::uint32_t take(const Range& range) {
        for (std::size_t row = 0; row < busy_until_.size(); ++row) {
            if (busy_until_[row] < range.start) {
                busy_until_[row] = range.end;
                return static_cast<std::uint32_t>(row);
            }
        }
        busy_until_.push_back(range.end);
        return static_cast<std::uint32_t>(busy_until_.size() - 1);
    }
    std::size_t size() const { return busy_until_.size(); }

  private:
    std::vector<std::uint32_t> busy_until_;
};

std::size_t round_up(std::size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

// Appends the rows of `registers`, which are sorted by the start of their ranges.
RowAssignment::Block assign_body(const Kernel& kernel, const std::vector<Range>& ranges,
                                 const std::vector<std::uint32_t>& registers, RowAssignment& rows) {
    enum { kPredicates, kNarrow, kWide };
    const auto pool_of = [&](std::uint32_t r) {
        if (r == kernel.registers.size() || kernel.registers[r].type == Type::pred) return kPredicates;
        return bits_of(kernel.registers[r].type) == 64 ? kWide : kNarrow;
    };
    Pool pools[3];
    for (const std::uint32_t r : registers) rows.offset[r] = pools[pool_of(r)].take(ranges[r]);
    const std::size_t start = rows.bytes;
    const std::size_t narrow = start + round_up(pools[kPredicates].size() * kPredicateRow);
    const std::size_t wide = narrow + pools[kNarrow].size() * kNarrowRow;
    rows.bytes = wide + pools[kWide].size() * kWideRow;
    for (const std::uint32_t r : registers) {
        const auto pool = pool_of(r);
        const std::size_t base = pool == kPredicates ? start : pool == kNarrow ? narrow : wide;
        const std::size_t size = pool == kPredicates ? kPredicateRow
                                 : pool == kNarrow   ? kNarrowRow
                                                     : kWideRow;
        rows.offset[r] = static_cast<std::uint32_t>(base + rows.offset[r] * size);
    }
    return {start, narrow, wide, rows.bytes};
}

}  // namespace

RowAssignment assign_rows(const Kernel& kernel, const Analysis& analysis, const std::vector<bool>& used) {
    const std::vector<Range> ranges = live_ranges(kernel, analysis);
    std::vector<std::uint32_t> order;
    for (std::uint32_t r = 0; r < ranges.size(); ++r) {
        if (used[r] && ranges[r].start != kNowhere) order.push_back(r);
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return ranges[a].start != ranges[b].start ? ranges[a].start < ranges[b].start : a < b;
    });
    // Functions have blocks of rows of their own: while one runs, its callers wait with theirs.
    RowAssignment rows;
    rows.offset.assign(ranges.size(), kAbsent);
    std::vector<std::uint32_t> body;
    const auto take_function = [&](const CalledFunction& function) {
        body.clear();
        const auto first = std::stable_partition(order.begin(), order.end(), [&](std::uint32_t r) {
            return r < function.first_register || r >= function.end_register;
        });
        body.assign(first, order.end());
        order.erase(first, order.end());
    };
    std::vector<std::vector<std::uint32_t>> bodies;
    for (const CalledFunction& function : kernel.functions) {
        take_function(function);
        bodies.push_back(body);
    }
    assign_body(kernel, ranges, order, rows);
    for (const std::vector<std::uint32_t>& registers : bodies)
        rows.functions.push_back(assign_body(kernel, ranges, registers, rows));
    return rows;
}

}  // namespace heddle::ptx
