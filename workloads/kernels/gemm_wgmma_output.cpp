#include <algorithm>
#include <optional>

#include "workloads/kernels/gemm_wgmma_parts.h"

namespace heddle::kernels {
namespace {

/// Exclusive-or with what the swizzle of lines of `line_bytes` adds to the address of a line: the bits of the
/// address from 7 up, as many as count 16-byte chunks in a line, at the place of these.
Reg swizzle_of(PtxWriter& w, const Reg& line_address, unsigned line_bytes) {
    const Reg bits = w.make_b32("shr.u32", line_address, 3);
    return w.make_b32("and.b32", bits, (line_bytes / 16 - 1) << 4);
}

}  // namespace

WgmmaTensorStore::WgmmaTensorStore(PtxWriter& w, const GemmWgmmaSpec& spec, const WgmmaLayout& layout,
                                   const Reg& shared, const Reg& map, const Reg& tail_map,
                                   const Reg& warpgroup, const Reg& thread)
    : w_(w), spec_(spec), shape_(spec), map_(map), tail_map_(tail_map), thread_(thread) {
    barrier_ = w.make_b32("add.u32", warpgroup, 3);
    elected_ = w.make_predicate("setp.eq.u32", thread, 0);
    const Reg area = w.make_b32("mad.lo.u32", warpgroup, staging_buffers(spec.tile) * kStagingBytes, shared);
    buffers_ = w.make_b32("add.u32", area, layout.staging);
    const Reg lane = w.make_b32("and.b32", thread, 31), warp = w.make_b32("shr.u32", thread, 5);
    const unsigned line = shape_.line_bytes;
    if (bytes_of(shape_.type) == 2) {
        // Lane l gives stmatrix row l % 8 of matrix l / 8: rows, then rows + 8, then both 8 columns further.
        const Reg row = w.make_b32("and.b32", lane, 7), matrix = w.make_b32("shr.u32", lane, 3);
        const Reg low = w.make_b32("and.b32", matrix, 1), high = w.make_b32("shr.u32", matrix, 1);
        Reg line_index, chunk;
        if (spec.tile.swap) {
            line_index = w.make_b32("mad.lo.u32", high, 8, row);
            chunk = w.make_b32("mad.lo.u32", warp, 2, low);
        } else {
            line_index = w.make_b32("mad.lo.u32", warp, 16, w.make_b32("mad.lo.u32", low, 8, row));
            chunk = high;
        }
        const Reg address = w.multiply_by(line_index, line);
        const Reg place = w.make_b32("xor.b32", w.multiply_by(chunk, 16), swizzle_of(w, address, line));
        lanes_.push_back(w.make_b32("add.u32", w.make_b32("add.u32", address, buffers_), place));
        return;
    }
    const Reg group = w.make_b32("shr.u32", lane, 2), pair = w.make_b32("and.b32", lane, 3);
    if (!spec.tile.swap) {
        const Reg row = w.make_b32("mad.lo.u32", warp, 16, group);
        const Reg address = w.multiply_by(row, line);
        const Reg chunk = w.multiply_by(w.make_b32("shr.u32", pair, 1), 16);
        const Reg place = w.make_b32("xor.b32", chunk, swizzle_of(w, address, line));
        const Reg within = w.multiply_by(w.make_b32("and.b32", pair, 1), 8);
        const Reg base = w.make_b32("add.u32", w.make_b32("add.u32", address, buffers_), within);
        lanes_.push_back(w.make_b32("add.u32", base, place));
        return;
    }
    // Words of four addresses: two columns, each at a row and at the row 8 below.
    const Reg half = w.make_b32("shr.u32", warp, 1);
    const Reg first = w.make_b32("mad.lo.u32", w.make_b32("and.b32", warp, 1), 4,
                                 w.make_b32("shr.u32", group, 2));  // 16-byte chunk in the line
    const Reg box = w.make_b32("mad.lo.u32", half, shape_.chunk * line, buffers_);
    const Reg within = w.make_b32("mad.lo.u32", w.make_b32("and.b32", group, 3), 4, box);
    for (unsigned column = 0; column < 2; ++column) {
        const Reg line_index = w.make_b32("mad.lo.u32", pair, 2, column);
        const Reg address = w.multiply_by(line_index, line);
        for (unsigned below = 0; below < 2; ++below) {
            const Reg chunk = w.make_b32("add.u32", first, 2 * below);
            const Reg place = w.make_b32("xor.b32", w.multiply_by(chunk, 16), swizzle_of(w, address, line));
            lanes_.push_back(w.make_b32("add.u32", w.make_b32("add.u32", within, address), place));
        }
    }
}

void WgmmaTensorStore::barrier() {
    w_.op("bar.sync", barrier_, 128);
}

void WgmmaTensorStore::write_halves(const std::vector<std::vector<Reg>>& chunk, unsigned buffer) {
    const auto count = static_cast<unsigned>(chunk.size());
    const unsigned line = shape_.line_bytes;
    const std::string transposed = shape_.swap ? ".trans" : "";
    for (unsigned block = 0; block < count; block += 2) {
        std::vector<Reg> words;
        for (unsigned b = block; b < std::min(block + 2, count); ++b) {
            const std::vector<Reg>& c = chunk[b];
            words.push_back(pack_pair(w_, shape_.type, c[0], c[1]));
            words.push_back(pack_pair(w_, shape_.type, c[2], c[3]));
        }
        Reg address = lanes_[0];
        unsigned offset = buffer * kStagingBytes;
        if (shape_.swap) {
            offset += block * 8 * line;
        } else if (block != 0) {
            address = w_.make_b32("xor.b32", address, block * 16);
        }
        w_.op("stmatrix.sync.aligned.m8n8.x" + std::to_string(words.size()) + transposed + ".shared.b16",
              at(address, offset), vector_of(words));
    }
}

void WgmmaTensorStore::write_words(const std::vector<std::vector<Reg>>& chunk, unsigned buffer) {
    const unsigned line = shape_.line_bytes;
    for (unsigned block = 0; block < chunk.size(); ++block) {
        const std::vector<Reg>& c = chunk[block];
        const unsigned offset = buffer * kStagingBytes;
        if (shape_.swap) {
            const unsigned step = offset + block * 8 * line;
            w_.op("st.shared.b32", at(lanes_[0], step), c[0]);
            w_.op("st.shared.b32", at(lanes_[2], step), c[1]);
            w_.op("st.shared.b32", at(lanes_[1], step), c[2]);
            w_.op("st.shared.b32", at(lanes_[3], step), c[3]);
            continue;
        }
        const Reg address = block == 0 ? lanes_[0] : w_.make_b32("xor.b32", lanes_[0], block * 32);
        w_.op("st.shared.v2.b32", at(address, offset), vector_of({c[0], c[1]}));
        w_.op("st.shared.v2.b32", at(address, offset + 8 * line), vector_of({c[2], c[3]}));
    }
}

void WgmmaTensorStore::store(const WgmmaAccumulators& accumulators, const WgmmaPlace& place,
                             const GemmParameters& parameters) {
    std::optional<WgmmaEpilogue> epilogue;
    if (spec_.epilogue.expression && !spec_.partition.split_k) epilogue.emplace(w_, spec_, parameters, place);
    const unsigned blocks = spec_.tile.columns() / 8, chunk_blocks = shape_.chunk / 8;
    const unsigned chunks = static_cast<unsigned>(accumulators.size()) * divide_up(blocks, chunk_blocks);
    const std::string dimensions = place.batch.empty() ? "2d" : "3d";
    const unsigned buffers = staging_buffers(spec_.tile);
    unsigned done = 0;
    for (unsigned fragment = 0; fragment < accumulators.size(); ++fragment) {
        for (unsigned first = 0; first < blocks; first += chunk_blocks, ++done) {
            const unsigned buffer = done % buffers;
            // The store before the last may still read the other buffer; with an odd number of chunks the
            // last tile ended in the buffer that the next begins with.
            const bool wraps = done == 0 && chunks % buffers != 0;
            const unsigned end = std::min(blocks, first + chunk_blocks);
            const Reg& map = end - first < chunk_blocks ? tail_map_ : map_;
            std::vector<std::vector<Reg>> chunk;
            for (unsigned block = first; block < end; ++block) {
                const std::vector<Reg>& c = accumulators[fragment][block];
                chunk.push_back(epilogue ? epilogue->apply(fragment, block, c) : c);
            }
            w_.op_if(elected_, "cp.async.bulk.wait_group.read", wraps ? 0 : buffers - 1);
            barrier();
            if (bytes_of(shape_.type) == 2) {
                write_halves(chunk, buffer);
            } else {
                write_words(chunk, buffer);
            }
            w_.op("fence.proxy.async.shared::cta");
            barrier();
            const std::string skip = w_.new_label("stored");
            w_.jump_unless(elected_, skip);
            for (unsigned box = 0; box < shape_.boxes; ++box) {
                const unsigned along_rows = fragment * 64 + box * shape_.inner, along_columns = first * 8;
                const Reg row = along_rows == 0 ? place.row : w_.make_b32("add.u32", place.row, along_rows);
                const Reg column =
                    along_columns == 0 ? place.column : w_.make_b32("add.u32", place.column, along_columns);
                const Reg from = w_.make_b32("add.u32", buffers_,
                                             buffer * kStagingBytes + box * shape_.chunk * shape_.line_bytes);
                std::vector<Reg> corner{column, row};
                if (shape_.swap) std::swap(corner[0], corner[1]);
                if (!place.batch.empty()) corner.push_back(place.batch);
                w_.op("cp.async.bulk.tensor." + dimensions + ".global.shared::cta.tile.bulk_group",
                      at_box(map, corner), at(from));
            }
            w_.op("cp.async.bulk.commit_group");
            w_.place(skip);
        }
    }
}

void WgmmaTensorStore::drain() {
    w_.op_if(elected_, "cp.async.bulk.wait_group.read", 0);
}

void store_wgmma_directly(PtxWriter& w, const GemmWgmmaSpec& spec, const GemmParameters& parameters,
                          const WgmmaAccumulators& accumulators, const WgmmaPlace& place) {
    const Reg lane = w.make_b32("and.b32", place.thread, 31), warp = w.make_b32("shr.u32", place.thread, 5);
    const Reg group = w.make_b32("shr.u32", lane, 2), pair = w.make_b32("and.b32", lane, 3);
    const Reg row = w.make_b32("add.u32", w.make_b32("mad.lo.u32", warp, 16, place.row), group);
    const Reg column = w.make_b32("mad.lo.u32", pair, 2, place.column);
    GemmEpilogue pairs = spec.epilogue;
    pairs.vector_width = std::min(pairs.vector_width, 2u);
    GemmOutput output(w, parameters, pairs, spec.partition.split_k, ComputeType::f32, row, column);
    for (unsigned fragment = 0; fragment < accumulators.size(); ++fragment) {
        if (fragment != 0) output.advance_rows(64 - 8);
        for (unsigned below = 0; below < 2; ++below) {
            if (below != 0) output.advance_rows(8);
            for (unsigned block = 0; block < accumulators[fragment].size(); ++block) {
                const std::vector<Reg>& c = accumulators[fragment][block];
                output.store(block * 8, {c[2 * below], c[2 * below + 1]});
            }
        }
    }
}

}  // namespace heddle::kernels
