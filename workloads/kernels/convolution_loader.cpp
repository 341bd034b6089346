#include "workloads/kernels/convolution_loader.h"

#include "workloads/kernels/gemm_mma_operand.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kBlock = 64;  // elements of a line of a tile in blocks

}  // namespace

ConvolutionLoader::ConvolutionLoader(PtxWriter& w, const Shape& shape, Decode row_part, Decode k_part,
                                     Locate locate)
    : w_(w),
      s_(shape),
      row_part_(std::move(row_part)),
      k_part_(std::move(k_part)),
      locate_(std::move(locate)) {}

std::uint32_t ConvolutionLoader::row_bytes() const {
    if (words()) return (s_.extent + s_.padding) * 4;
    if (s_.blocked) return kBlock * bytes_of(s_.type);
    return (s_.along_k ? s_.tile_k : s_.extent) * bytes_of(s_.type);
}
std::uint32_t ConvolutionLoader::stage_bytes() const {
    if (s_.blocked) return s_.extent / kBlock * s_.tile_k * row_bytes();
    const bool rows_are_k = words() || !s_.along_k;
    return (rows_are_k ? s_.tile_k : s_.extent) * row_bytes();
}

void ConvolutionLoader::set_up(const Reg& shared, const Reg& tid, const Reg& first, const Reg& limit,
                               const Reg& k_begin, const Reg& k_end) {
    k_end_ = k_end;
    const unsigned fast = (s_.along_k ? s_.tile_k : s_.extent) / s_.vector;
    const Reg column = w_.multiply_by(w_.remainder_by(tid, fast), s_.vector);
    const Reg line = w_.divide_by(tid, fast);
    const unsigned lines = s_.threads / fast;
    slots_ = s_.extent * s_.tile_k / s_.vector / s_.threads;
    const Reg last = w_.make_b32("sub.u32", limit, 1);
    const auto row_of = [&](const Reg& local) {
        // Rows beyond the edge fetch the last one: what comes of them is never stored.
        Reg row = w_.make_b32("add.u32", first, local);
        if (s_.vector == 1 || s_.along_k)
            row = w_.make_b32("min.u32", row, last);
        else
            row = w_.make_b32("min.u32", row, w_.make_b32("sub.u32", limit, s_.vector));
        return row_part_(row);
    };
    for (unsigned slot = 0; slot < slots_; ++slot) {
        const Reg at_line = slot == 0 ? line : w_.make_b32("add.u32", line, slot * lines);
        const Reg row = s_.along_k ? at_line : column, k = s_.along_k ? column : at_line;
        if (s_.along_k || slot == 0) rows_.push_back(row_of(row));
        if (!s_.along_k || slot == 0) ks_.push_back(w_.make_b32("add.u32", k, k_begin));
        // Where the permutation of chunks comes round between slots, they lie at constant distances.
        const unsigned line_bytes = words() && s_.along_k ? 4 : row_bytes();
        if (slot > 0 && (words() || lines % 8 == 0))
            places_.emplace_back(places_[0].first, slot * lines * line_bytes);
        else
            places_.emplace_back(place(shared, row, k), 0);
    }
}

void ConvolutionLoader::load() {
    values_.clear();
    for (unsigned slot = 0; slot < slots_; ++slot) {
        const auto [address, guard] = locate_slot(slot);
        values_.push_back(load_raw(w_, "ld.global.nc", s_.type, s_.vector, address, 0, guard));
    }
}

void ConvolutionLoader::copy(unsigned stage) {
    const std::uint32_t offset = s_.shared_offset + stage * stage_bytes();
    const unsigned bytes = s_.vector * bytes_of(s_.type);
    for (unsigned slot = 0; slot < slots_; ++slot) {
        const auto [address, guard] = locate_slot(slot);
        w_.op(bytes == 16 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global",
              at(places_[slot].first, offset + places_[slot].second), at(address), bytes,
              w_.make_b32("selp.b32", bytes, 0, guard));
    }
}

void ConvolutionLoader::store(unsigned stage) {
    const std::uint32_t offset = s_.shared_offset + stage * stage_bytes();
    for (unsigned slot = 0; slot < slots_; ++slot) {
        if (!words() || !s_.along_k || s_.vector == 1) {
            store_raw(w_, "st.shared", values_[slot], places_[slot].first, offset + places_[slot].second);
            continue;
        }
        for (unsigned e = 0; e < s_.vector; ++e)  // transposed
            w_.op("st.shared.b32", at(places_[slot].first, offset + places_[slot].second + e * row_bytes()),
                  values_[slot].words[e]);
    }
}

/// Address and guard of what this thread has of the next tile of k; slots come in order.
std::pair<Reg, Reg> ConvolutionLoader::locate_slot(unsigned slot) {
    if (!s_.along_k || slot == 0) {
        const Reg& index = ks_[slot];
        inside_ = w_.make_predicate("setp.lt.u32", index, k_end_);
        k_ = k_part_(index);
        // A part may be the index itself: it moves on when no slot needs it any more.
    }
    const auto [address, guard] = locate_(rows_[s_.along_k ? slot : 0], k_);
    if (!s_.along_k || slot + 1 == slots_) {
        const Reg& index = ks_[s_.along_k ? 0 : slot];
        w_.op("add.u32", index, index, s_.tile_k);
    }
    return {address, guard.empty() ? inside_ : w_.make_predicate("and.pred", inside_, guard)};
}

Reg ConvolutionLoader::place(const Reg& shared, const Reg& row, const Reg& k) {
    if (words()) return w_.make_b32("mad.lo.u32", k, row_bytes(), w_.make_b32("mad.lo.u32", row, 4, shared));
    const Reg& line = s_.along_k ? row : k;
    const Reg& column = s_.along_k ? k : row;
    if (s_.swizzled) {
        const ChunkSwizzle swizzle(row_bytes() / 16, !s_.along_k);
        const Reg chunk = w_.make_b32("xor.b32", w_.make_b32("shr.u32", column, 2), swizzle.of_row(w_, line));
        const Reg within = w_.make_b32("shl.b32", w_.make_b32("and.b32", column, 3), 2);
        const Reg start = w_.make_b32("mad.lo.u32", line, row_bytes(), shared);
        return w_.make_b32("add.u32", w_.make_b32("mad.lo.u32", chunk, 16, start), within);
    }
    // Swizzled as swizzled_tile.h has it: 16-byte chunks by the line's low three bits.
    if (s_.blocked) {
        const Reg block = w_.make_b32("shr.u32", column, 6);
        const Reg start = w_.make_b32("mad.lo.u32", block, s_.tile_k * row_bytes(),
                                      w_.make_b32("mad.lo.u32", line, row_bytes(), shared));
        return swizzled(start, w_.make_b32("and.b32", column, kBlock - 1), line);
    }
    return swizzled(w_.make_b32("mad.lo.u32", line, row_bytes(), shared), column, line);
}

Reg ConvolutionLoader::swizzled(const Reg& start, const Reg& column, const Reg& line) {
    const Reg chunk =
        w_.make_b32("xor.b32", w_.make_b32("shr.u32", column, 3), w_.make_b32("and.b32", line, 7));
    const Reg within = w_.make_b32("shl.b32", w_.make_b32("and.b32", column, 7), 1);
    return w_.make_b32("add.u32", w_.make_b32("mad.lo.u32", chunk, 16, start), within);
}

}  // namespace heddle::kernels
