// How the fragments of the tensor-core GEMM leave shared memory.
#include "workloads/kernels/gemm_mma_operand.h"

namespace heddle::kernels {

void MmaOperand::set_up_fragments(unsigned warp_extent) {
    switch (load_) {
        case FragmentLoad::elements:
            return set_up_elements(warp_extent);
        case FragmentLoad::quads:
            return set_up_quads(warp_extent);
        default:
            return set_up_matrices(warp_extent);
    }
}

void MmaOperand::load_fragment(const std::vector<Reg>& into, unsigned stage, unsigned index,
                               unsigned k_step) {
    const std::int64_t stage_offset = shape_.shared_offset + stage * shape_.stage_bytes();
    switch (load_) {
        case FragmentLoad::matrix:
            w_.op("ldmatrix.sync.aligned.m8n8.x4.shared.b16", vector_of(into),
                  at(fragment_addresses_[k_step], stage_offset + index * 16 * row_bytes()));
            break;
        case FragmentLoad::transposed_matrix:
            w_.op("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", vector_of(into),
                  at(fragment_addresses_[index], stage_offset + k_step * 16 * row_bytes()));
            break;
        case FragmentLoad::elements:
            load_elements_of(into, stage_offset, index, k_step);
            break;
        case FragmentLoad::quads:
            load_quads(into, stage_offset, index, k_step);
            break;
    }
}

/// ldmatrix moves 8x8 matrices of 16-bit elements, or rows of 16 bytes of anything where k is contiguous.
void MmaOperand::set_up_matrices(unsigned warp_extent) {
    const Reg low3 = w_.make_b32("and.b32", lane_, 7);
    const Reg bit3 = w_.make_b32("bfe.u32", lane_, 3, 1), bit4 = w_.make_b32("bfe.u32", lane_, 4, 1);
    // Which of the four 8x8 matrices a lane's address belongs to: lanes 8i ... 8i + 7 name the rows of matrix
    // i. A: (m 0, k 0) (m 8, k 0) (m 0, k 8) (m 8, k 8); B: (n 0, k 0) (n 0, k 8) (n 8, k 0) (n 8, k 8).
    const Reg outer_half = shape_.is_b ? bit4 : bit3;  // second 8 along m or n
    const Reg k_half = shape_.is_b ? bit3 : bit4;      // second 16 bytes along k
    if (shape_.contiguous_in_k) {
        const Reg row = w_.make_b32("mad.lo.u32", outer_half, 8, low3);
        const Reg placed = w_.make_b32("add.u32", row, warp_first_);
        const Reg row_part = w_.make_b32("mad.lo.u32", placed, row_bytes(), shared_base_);
        const Reg swizzled = w_.make_b32("xor.b32", k_half, swizzle_.of_row(w_, row));
        for (unsigned step = 0; step < chunks_ / 2; ++step) {
            const Reg chunk = step == 0 ? swizzled : w_.make_b32("xor.b32", swizzled, step * 2);
            fragment_addresses_.push_back(w_.make_b32("mad.lo.u32", chunk, 16, row_part));
        }
        return;
    }
    const Reg row = w_.make_b32("mad.lo.u32", k_half, 8, low3);
    const Reg row_part = w_.make_b32("mad.lo.u32", row, row_bytes(), shared_base_);
    const Reg first_chunk = w_.make_b32("add.u32", w_.make_b32("shr.u32", warp_first_, 3), outer_half);
    const Reg pattern = swizzle_.of_row(w_, row);
    for (unsigned index = 0; index < warp_extent / 16; ++index) {
        const Reg chunk = index == 0 ? first_chunk : w_.make_b32("add.u32", first_chunk, index * 2);
        fragment_addresses_.push_back(
            w_.make_b32("mad.lo.u32", w_.make_b32("xor.b32", chunk, pattern), 16, row_part));
    }
}

/// A lane has row lane / 4 (and the 8th after it) at k = lane % 4 (and the 4th after it). Addresses: of every
/// fourth k of a tile, where k is contiguous; else of every eight along m (or n) until chunks repeat.
void MmaOperand::set_up_elements(unsigned warp_extent) {
    const unsigned bytes = shape_.element_bytes, per_chunk = shape_.chunk_elements();
    const Reg group = w_.make_b32("shr.u32", lane_, 2), four = w_.make_b32("and.b32", lane_, 3);
    const Reg row = shape_.contiguous_in_k ? group : four, column = shape_.contiguous_in_k ? four : group;
    const Reg placed = shape_.contiguous_in_k ? w_.make_b32("add.u32", row, warp_first_) : row;
    const Reg row_part = w_.make_b32("mad.lo.u32", placed, row_bytes(), shared_base_);
    const Reg within = w_.multiply_by(w_.remainder_by(column, per_chunk), bytes);
    const Reg start = w_.make_b32("add.u32", row_part, within);
    const Reg pattern = swizzle_.of_row(w_, row);
    Reg chunk = w_.divide_by(column, per_chunk);
    if (!shape_.contiguous_in_k) chunk = w_.make_b32("add.u32", chunk, w_.divide_by(warp_first_, per_chunk));
    const unsigned stride = (shape_.contiguous_in_k ? 4 : 8) / per_chunk;  // in chunks
    const unsigned extent = shape_.contiguous_in_k ? chunks_ : std::min(8u, warp_extent / per_chunk);
    for (unsigned at = 0; at < extent; at += stride) {
        const Reg here = at == 0 ? chunk : w_.make_b32("add.u32", chunk, at);
        const Reg swizzled = w_.make_b32("xor.b32", here, pattern);
        fragment_addresses_.push_back(w_.make_b32("mad.lo.u32", swizzled, 16, start));
    }
}

void MmaOperand::load_elements_of(const std::vector<Reg>& into, std::int64_t stage_offset, unsigned index,
                                  unsigned k_step) {
    const char* opcode = shape_.element_bytes == 8 ? "ld.shared.f64" : "ld.shared.b32";
    for (unsigned part = 0; part < 4; ++part) {
        // A: (m 0, k 0) (m 8, k 0) (m 0, k 4) (m 8, k 4); B: (n 0, k 0) (n 0, k 4) (n 8, k 0) (n 8, k 4).
        const unsigned outer = shape_.is_b ? part / 2 : part % 2, inner = shape_.is_b ? part % 2 : part / 2;
        if (shape_.contiguous_in_k) {
            w_.op(opcode, into[part],
                  at(fragment_addresses_[k_step * 2 + inner],
                     stage_offset + std::int64_t{index * 16 + outer * 8} * row_bytes()));
            continue;
        }
        const unsigned eight = index * 2 + outer, stride = 8 / shape_.chunk_elements(), period = 8 / stride;
        w_.op(opcode, into[part],
              at(fragment_addresses_[eight % period], stage_offset +
                                                          std::int64_t{k_step * 8 + inner * 4} * row_bytes() +
                                                          std::int64_t{eight / period} * 8 * 16));
    }
}

/// Quad pair q (lanes 4q to 4q + 3 and those 16 after them) has rows 4 (q % 2) to + 3 and the eight after
/// them, of columns 4 (q / 2) to + 3 and the eight after them: then eight lanes read eight rows.
void MmaOperand::set_up_quads(unsigned warp_extent) {
    const Reg four = w_.make_b32("and.b32", lane_, 3), half = w_.make_b32("shr.u32", lane_, 4);
    const Reg pair = w_.make_b32("bfe.u32", lane_, shape_.is_b ? 3 : 2, 1);
    if (shape_.contiguous_in_k) {
        const Reg low = w_.make_b32("mad.lo.u32", pair, 4, four);
        const Reg row = w_.make_b32("mad.lo.u32", half, 8, low);
        const Reg placed = w_.make_b32("add.u32", row, warp_first_);
        const Reg row_part = w_.make_b32("mad.lo.u32", placed, row_bytes(), shared_base_);
        const Reg pattern = swizzle_.of_row(w_, row);
        for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
            const Reg swizzled = w_.make_b32("xor.b32", pattern, chunk);
            fragment_addresses_.push_back(w_.make_b32("mad.lo.u32", swizzled, 16, row_part));
        }
        return;
    }
    // Two addresses of each 16 along m (or n): for k = 0 to 3 and 4 to 7.
    const Reg first_chunk = w_.make_b32("add.u32", w_.make_b32("shr.u32", warp_first_, 3), half);
    const Reg within = w_.make_b32("shl.b32", pair, 3);
    for (unsigned index = 0; index < warp_extent / 16; ++index) {
        const Reg chunk = index == 0 ? first_chunk : w_.make_b32("add.u32", first_chunk, index * 2);
        for (unsigned later = 0; later < 8; later += 4) {
            const Reg row = later == 0 ? four : w_.make_b32("add.u32", four, later);
            const Reg row_part = w_.make_b32("mad.lo.u32", row, row_bytes(), shared_base_);
            const Reg swizzled = w_.make_b32("xor.b32", chunk, swizzle_.of_row(w_, row));
            fragment_addresses_.push_back(
                w_.make_b32("mad.lo.u32", swizzled, 16, w_.make_b32("add.u32", row_part, within)));
        }
    }
}

void MmaOperand::load_quads(const std::vector<Reg>& into, std::int64_t stage_offset, unsigned index,
                            unsigned k_step) {
    if (shape_.contiguous_in_k) {
        w_.op("ld.shared.v4.b32", vector_of(into),
              at(fragment_addresses_[k_step], stage_offset + index * 16 * row_bytes()));
        return;
    }
    for (unsigned later = 0; later < 2; ++later) {
        w_.op("ld.shared.v2.b32", vector_of({into[2 * later], into[2 * later + 1]}),
              at(fragment_addresses_[2 * index + later], stage_offset + k_step * 8 * row_bytes()));
    }
}

}  // namespace heddle::kernels
