#include "workloads/kernels/swizzled_tile.h"

#include <algorithm>

#include "isa/common/error.h"
#include "workloads/kernels/memory_access.h"

namespace heddle::kernels {

TileCopier::TileCopier(PtxWriter& w, const Reg& tid, const Reg& shared_base, unsigned threads,
                       unsigned row_elements)
    : w_(w), chunks_(row_elements / 8), rows_per_pass_(threads / chunks_) {
    if (chunks_ < 8 || rows_per_pass_ % 8 != 0) {
        throw Error("tiles of " + std::to_string(row_elements) + " elements per row and " +
                    std::to_string(threads) + " threads do not suit the swizzle");
    }
    row_ = w.divide_by(tid, chunks_);
    chunk_ = w.remainder_by(tid, chunks_);
    const Reg swizzled = w.make_b32("xor.b32", chunk_, w.make_b32("and.b32", row_, 7));
    const Reg row_part = w.make_b32("mad.lo.u32", row_, chunks_ * 16, shared_base);
    target_ = w.make_b32("mad.lo.u32", swizzled, 16, row_part);
}

Reg TileCopier::thread_pointer(const Reg& base, const Reg& row_stride) {
    const Reg start = w_.make_b64("mul.wide.u32", row_, row_stride);
    const Reg column = w_.make_b64("mul.wide.u32", chunk_, 8);
    const Reg bytes = w_.make_b64("shl.b64", w_.make_b64("add.s64", start, column), 1);
    return w_.make_b64("add.s64", base, bytes);
}

Reg TileCopier::pass_bytes(const Reg& row_stride) {
    return w_.make_b64("mul.wide.u32", row_stride, rows_per_pass_ * 2);
}

void TileCopier::copy(unsigned rows, std::uint32_t tile_offset, const Reg& pointer, const Reg& pass_bytes,
                      const Reg& rows_left) {
    const Reg left = rows_left.empty() ? Reg{} : w_.make_b32("sub.s32", rows_left, row_);
    Reg address = pointer;
    for (unsigned first = 0; first < rows; first += rows_per_pass_) {
        if (first != 0) address = w_.make_b64("add.s64", address, pass_bytes);
        const std::string target = at(target_, tile_offset + first * chunks_ * 16);
        if (left.empty()) {
            w_.op("cp.async.cg.shared.global", target, at(address), 16);
            continue;
        }
        const Reg inside = w_.make_predicate("setp.gt.s32", left, first);
        w_.op("cp.async.cg.shared.global", target, at(address), 16, w_.make_b32("selp.b32", 16, 0, inside));
    }
}

FragmentPattern::FragmentPattern(PtxWriter& w, FragmentKind kind, const Reg& lane, const Reg& shared_base,
                                 unsigned row_elements, const Reg& row_first, const Reg& chunk_first)
    : w_(w),
      transposed_(kind == FragmentKind::a_transposed || kind == FragmentKind::b_transposed),
      row_bytes_(row_elements * 2) {
    const bool is_b = kind == FragmentKind::b || kind == FragmentKind::b_transposed;
    const Reg low3 = w.make_b32("and.b32", lane, 7);
    const Reg bit3 = w.make_b32("bfe.u32", lane, 3, 1), bit4 = w.make_b32("bfe.u32", lane, 4, 1);
    // Lanes 8i ... 8i + 7 name the rows of matrix i. A: (m 0, k 0) (m 8, k 0) (m 0, k 8) (m 8, k 8);
    // B: (n 0, k 0) (n 0, k 8) (n 8, k 0) (n 8, k 8).
    const Reg outer_half = is_b ? bit4 : bit3, k_half = is_b ? bit3 : bit4;
    const Reg row_half = transposed_ ? k_half : outer_half;
    Reg chunk = transposed_ ? outer_half : k_half;
    const Reg row = w.make_b32("mad.lo.u32", row_half, 8, low3);
    const Reg placed = row_first.empty() ? row : w.make_b32("add.u32", row, row_first);
    const Reg row_part = w.make_b32("mad.lo.u32", placed, row_bytes_, shared_base);
    if (!chunk_first.empty()) chunk = w.make_b32("add.u32", chunk, chunk_first);
    for (unsigned i = 0; i < 4; ++i) {
        const Reg own = i == 0 ? chunk : w.make_b32("add.u32", chunk, i * 2);
        addresses_[i] = w.make_b32("mad.lo.u32", w.make_b32("xor.b32", own, low3), 16, row_part);
    }
}

void FragmentPattern::load(const std::vector<Reg>& into, std::uint32_t tile_offset, unsigned row_block,
                           unsigned chunk_pair) const {
    // Four pairs are the 8 chunks that the swizzle permutes; the next four lie 128 bytes on.
    const std::int64_t offset = tile_offset + row_block * 16 * row_bytes_ + chunk_pair / 4 * 128;
    w_.op(transposed_ ? "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
                      : "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
          vector_of(into), at(addresses_[chunk_pair % 4], offset));
}

AccumulatorTile make_accumulators(PtxWriter& w, unsigned blocks_m, unsigned blocks_n, bool zero) {
    AccumulatorTile tile(blocks_m, std::vector<std::vector<Reg>>(blocks_n));
    for (auto& row : tile) {
        for (auto& block : row) {
            for (unsigned i = 0; i < 4; ++i) block.push_back(zero ? w.constant_f32(0) : w.f32());
        }
    }
    return tile;
}

void emit_warp_multiply(PtxWriter& w, ElementType type, AccumulatorTile& c, unsigned steps,
                        const std::function<void(unsigned, unsigned, std::vector<Reg>&)>& load_a,
                        const std::function<void(unsigned, unsigned, std::vector<Reg>&)>& load_b,
                        const std::vector<Reg>& zero) {
    constexpr unsigned kAhead = 2;  // fragments of B in flight beyond the one in use
    const unsigned blocks_m = static_cast<unsigned>(c.size()), pairs = static_cast<unsigned>(c[0].size()) / 2;
    std::vector<std::vector<Reg>> b(kAhead + 1);
    for (auto& fragment : b) fragment = w.b32s(4);
    std::vector<std::vector<std::vector<Reg>>> a(2, std::vector<std::vector<Reg>>(blocks_m));
    const auto load_all_a = [&](unsigned step) {
        for (unsigned m = 0; m < blocks_m; ++m) load_a(m, step, a[step % 2][m]);
    };
    const unsigned total = steps * pairs;
    load_all_a(0);
    for (unsigned i = 0; i < kAhead && i < total; ++i) load_b(i % pairs, i / pairs, b[i % (kAhead + 1)]);
    const std::string t = name_of(type);
    const std::string opcode = "mma.sync.aligned.m16n8k16.row.col.f32." + t + "." + t + ".f32";
    for (unsigned i = 0; i < total; ++i) {
        const unsigned step = i / pairs, pair = i % pairs, ahead = i + kAhead;
        if (ahead < total) load_b(ahead % pairs, ahead / pairs, b[ahead % (kAhead + 1)]);
        if (pair == 0 && step + 1 < steps) load_all_a(step + 1);
        const std::vector<Reg>& fragment = b[i % (kAhead + 1)];
        for (unsigned half = 0; half < 2; ++half) {
            for (unsigned m = 0; m < blocks_m; ++m) {
                const std::vector<Reg>& accumulator = c[m][pair * 2 + half];
                w.op(opcode, vector_of(accumulator), vector_of(a[step % 2][m]),
                     vector_of({fragment[half * 2], fragment[half * 2 + 1]}),
                     vector_of(step == 0 && !zero.empty() ? zero : accumulator));
            }
        }
    }
}

std::vector<std::vector<std::vector<Reg>>> pack_accumulators(PtxWriter& w, ElementType type,
                                                             const AccumulatorTile& c) {
    std::vector<std::vector<std::vector<Reg>>> packed(c.size());
    for (std::size_t m = 0; m < c.size(); ++m) {
        for (std::size_t n = 0; n + 1 < c[m].size(); n += 2) {
            const std::vector<Reg>&low = c[m][n], &high = c[m][n + 1];
            packed[m].push_back({pack_pair(w, type, low[0], low[1]), pack_pair(w, type, low[2], low[3]),
                                 pack_pair(w, type, high[0], high[1]), pack_pair(w, type, high[2], high[3])});
        }
    }
    return packed;
}

void emit_row_store(PtxWriter& w, ElementType type, const AccumulatorTile& c, const RowStore& store) {
    const unsigned chunks = static_cast<unsigned>(c[0].size()), row_bytes = chunks * 16;
    const unsigned rows = static_cast<unsigned>(c.size()) * 16;
    const Reg group = w.make_b32("shr.u32", store.lane, 2), pair = w.make_b32("and.b32", store.lane, 3);
    const Reg write_row = w.make_b32("mad.lo.u32", group, row_bytes, store.own);
    const Reg write = w.make_b32("mad.lo.u32", pair, 4, write_row);
    w.warp_barrier();
    for (unsigned j = 0; j < chunks; ++j) {
        // Rows group and group + 8 share their low three bits.
        const Reg swizzled = w.make_b32("xor.b32", group, j % 8);
        const Reg address = w.make_b32("mad.lo.u32", swizzled, 16, write);
        for (unsigned half = 0; half < rows / 8; ++half) {
            const std::vector<Reg>& block = c[half / 2][j];
            w.op("st.shared.b32", at(address, half * 8 * row_bytes + j / 8 * 128),
                 pack_pair(w, type, block[half % 2 * 2], block[half % 2 * 2 + 1]));
        }
    }
    w.warp_barrier();
    const Reg lane_row = w.divide_by(store.lane, chunks), chunk = w.remainder_by(store.lane, chunks);
    const unsigned rows_per_pass = 32 / std::max(1u, chunks);
    const Reg read_row = w.make_b32("mad.lo.u32", lane_row, row_bytes, store.own);
    Reg row = w.make_b32("add.u32", store.first_row, lane_row);
    const Reg start = w.make_b64("mul.wide.u32", row, store.row_stride);
    const Reg element = w.make_b64("mad.wide.u32", chunk, 8, start);
    Reg target = w.make_b64("add.s64", store.base, w.make_b64("shl.b64", element, 1));
    const Reg step = w.make_b64("mul.wide.u32", store.row_stride, rows_per_pass * 2);
    for (unsigned first = 0; first < rows; first += rows_per_pass) {
        if (first != 0) {
            row = w.make_b32("add.u32", row, rows_per_pass);
            target = w.make_b64("add.s64", target, step);
        }
        const Reg low = w.make_b32("and.b32", w.make_b32("add.u32", lane_row, first), 7);
        const Reg address = w.make_b32("mad.lo.u32", w.make_b32("xor.b32", chunk, low), 16, read_row);
        const std::vector<Reg> words = w.b32s(4);
        w.op("ld.shared.v4.b32", vector_of(words), at(address, first * row_bytes));
        w.op_if(w.make_predicate("setp.lt.u32", row, store.row_limit), "st.global.v4.b32", at(target),
                vector_of(words));
    }
}

}  // namespace heddle::kernels
