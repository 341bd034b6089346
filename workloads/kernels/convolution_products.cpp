// What the warps of a convolution multiply: fragments for mma.sync, squares for the CUDA cores.
#include "workloads/kernels/convolution_writer.h"

namespace heddle::kernels {

void ConvolutionWriter::set_up_products(const ConvolutionLoader& a, const ConvolutionLoader& b) {
    if (spec_.wgmma) return set_up_wgmma(a);
    lane_ = w_.make_b32("and.b32", tid_, 31);
    if (tensor_) {
        const Reg warp = w_.make_b32("shr.u32", tid_, 5);
        const unsigned warp_m = spec_.tile_m / warps_m_, warp_n = spec_.tile_n / warps_n_;
        warp_row_ = w_.multiply_by(w_.divide_by(warp, warps_n_), warp_m);
        warp_column_ = w_.multiply_by(w_.remainder_by(warp, warps_n_), warp_n);
        sums_ = make_accumulators(w_, warp_m / 16, warp_n / 8, true);
        if (tf32_ring(spec_)) {
            const auto operand = [&](bool is_b, std::uint32_t shared_offset, const Reg& first) {
                MmaOperandShape shape;
                shape.extent = is_b ? spec_.tile_n : spec_.tile_m;
                shape.tile_k = tile_k_;
                shape.element_bytes = 4;
                shape.contiguous_in_k = is_b ? b_along_k_ : a_along_k_;
                shape.copy_elements = 4;
                shape.threads = threads_;
                shape.stages = spec_.stages;
                shape.is_b = is_b;
                shape.shared_offset = shared_offset;
                MmaOperand result(w_, shape);
                result.read_from(shared_, lane_, first);
                result.set_up_fragments(is_b ? warp_n : warp_m);
                return result;
            };
            a_fragments_.emplace(operand(false, 0, warp_row_));
            b_fragments_.emplace(operand(true, spec_.stages * a.stage_bytes(), warp_column_));
            return;
        }
        if (spec_.tf32) {
            // Lane 4 g + t of a fragment: rows g and g + 8, k of t and t + 4; columns g.
            const Reg group = w_.make_b32("shr.u32", lane_, 2), k = w_.make_b32("and.b32", lane_, 3);
            const auto first = [&](const ConvolutionLoader& loader, const Reg& warp_first) {
                const Reg line = w_.make_b32("mad.lo.u32", k, loader.row_bytes(), shared_);
                return w_.make_b32("mad.lo.u32", w_.make_b32("add.u32", warp_first, group), 4, line);
            };
            a_read_ = first(a, warp_row_);
            b_read_ = first(b, warp_column_);
            return;
        }
        const auto pattern = [&](bool along_k, FragmentKind along, FragmentKind across, const Reg& first,
                                 const ConvolutionLoader& loader) {
            if (along_k) return FragmentPattern(w_, along, lane_, shared_, loader.row_bytes() / 2, first);
            return FragmentPattern(w_, across, lane_, shared_, loader.row_bytes() / 2, Reg{},
                                   w_.make_b32("shr.u32", first, 3));
        };
        a_pattern_.emplace(pattern(a_along_k_, FragmentKind::a, FragmentKind::a_transposed, warp_row_, a));
        b_pattern_.emplace(pattern(b_along_k_, FragmentKind::b, FragmentKind::b_transposed, warp_column_, b));
        return;
    }
    // A thread has 8 x 8: two fours of rows and of columns, half a tile apart.
    const unsigned across = spec_.tile_n / 8;
    thread_row_ = w_.multiply_by(w_.divide_by(tid_, across), 4);
    thread_column_ = w_.multiply_by(w_.remainder_by(tid_, across), 4);
    a_read_ = w_.make_b32("mad.lo.u32", thread_row_, 4, shared_);
    b_read_ = w_.make_b32("mad.lo.u32", thread_column_, 4, shared_);
    for (unsigned i = 0; i < 64; ++i) plain_sums_.push_back(w_.constant_f32(0));
}

void ConvolutionWriter::multiply(const ConvolutionLoader& a, const ConvolutionLoader& b, unsigned stage) {
    const std::uint32_t a_tile = stage * a.stage_bytes();
    const std::uint32_t b_tile = spec_.stages * a.stage_bytes() + stage * b.stage_bytes();
    if (spec_.tf32) return multiply_tf32(a, b, a_tile, b_tile);
    if (tensor_) {
        emit_warp_multiply(
            w_, spec_.type, sums_, tile_k_ / 16,
            [&](unsigned m, unsigned step, std::vector<Reg>& into) {
                if (into.empty()) into = w_.b32s(4);
                if (a_along_k_)
                    a_pattern_->load(into, a_tile, m, step);
                else
                    a_pattern_->load(into, a_tile, step, m);
            },
            [&](unsigned pair, unsigned step, std::vector<Reg>& into) {
                if (b_along_k_)
                    b_pattern_->load(into, b_tile, pair, step);
                else
                    b_pattern_->load(into, b_tile, step, pair);
            });
        return;
    }
    for (unsigned k = 0; k < tile_k_; ++k) {
        std::vector<Reg> left, right;
        for (unsigned half = 0; half < 2; ++half) {
            const std::vector<Reg> x = w_.f32s(4), y = w_.f32s(4);
            w_.op("ld.shared.v4.f32", vector_of(x),
                  at(a_read_, a_tile + k * a.row_bytes() + half * spec_.tile_m * 2));
            w_.op("ld.shared.v4.f32", vector_of(y),
                  at(b_read_, b_tile + k * b.row_bytes() + half * spec_.tile_n * 2));
            left.insert(left.end(), x.begin(), x.end());
            right.insert(right.end(), y.begin(), y.end());
        }
        for (unsigned i = 0; i < 8; ++i) {
            for (unsigned j = 0; j < 8; ++j) {
                const Reg& sum = plain_sums_[i * 8 + j];
                w_.op("fma.rn.f32", sum, left[i], right[j], sum);
            }
        }
    }
}

void ConvolutionWriter::multiply_tf32(const ConvolutionLoader& a, const ConvolutionLoader& b,
                                      std::uint32_t a_tile, std::uint32_t b_tile) {
    const auto word = [this](const Reg& base, std::uint32_t offset) {
        return w_.make_b32("ld.shared.b32", at(base, offset));
    };
    for (unsigned step = 0; step < tile_k_ / 8; ++step) {
        const std::uint32_t a_step = a_tile + step * 8 * a.row_bytes(), a_half = 4 * a.row_bytes();
        const std::uint32_t b_step = b_tile + step * 8 * b.row_bytes(), b_half = 4 * b.row_bytes();
        std::vector<std::vector<Reg>> right;
        for (unsigned j = 0; j < sums_[0].size(); ++j)
            right.push_back({word(b_read_, b_step + j * 32), word(b_read_, b_step + b_half + j * 32)});
        for (unsigned i = 0; i < sums_.size(); ++i) {
            const std::uint32_t row = a_step + i * 64;
            const std::vector<Reg> left{word(a_read_, row), word(a_read_, row + 32),
                                        word(a_read_, row + a_half), word(a_read_, row + a_half + 32)};
            for (unsigned j = 0; j < right.size(); ++j) {
                const Reg sum = vector_of(sums_[i][j]);
                w_.op("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", sum, vector_of(left),
                      vector_of(right[j]), sum);
            }
        }
    }
}

}  // namespace heddle::kernels
