#include "workloads/kernels/gemm_mma_operand.h"

#include <algorithm>
#include <bit>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

FragmentLoad load_of(const target::Generation& generation, const MmaOperandShape& shape) {
    if (generation.mma_by_quads) return FragmentLoad::quads;
    if (shape.element_bytes == 8) return FragmentLoad::elements;
    if (shape.contiguous_in_k) return FragmentLoad::matrix;
    return shape.element_bytes == 2 ? FragmentLoad::transposed_matrix : FragmentLoad::elements;
}

}  // namespace

MmaOperand::MmaOperand(PtxWriter& w, const MmaOperandShape& shape)
    : w_(w),
      shape_(shape),
      load_(load_of(w.generation(), shape)),
      chunks_((shape.contiguous_in_k ? shape.tile_k : shape.extent) / shape.chunk_elements()),
      rows_per_pass_(shape.threads / chunks_),
      slots_(shape.extent * shape.tile_k / shape.chunk_elements() / shape.threads),
      swizzle_(chunks_, load_ == FragmentLoad::elements),
      through_registers_(!w.generation().has_cp_async || copy_bytes() < 4),
      interleaved_(!through_registers_ && pieces() > 1 && chunks_ % pieces() == 0),
      walks_(!shape.contiguous_in_k && pieces() > 1) {
    if (shape.threads % chunks_ != 0 || slots_ * shape.threads * 16 != shape.stage_bytes()) {
        throw Error("a tile of " + std::to_string(shape.extent) + "x" + std::to_string(shape.tile_k) +
                        " does not divide into 16-byte copies of " + std::to_string(shape.threads) +
                        " threads",
                    {.key = "gemm_mma"}, "use a larger tile or fewer warps");
    }
}

void MmaOperand::set_up(const Reg& shared_base, const Reg& tid, const Reg& lane, const Reg& base,
                        const Reg& first, const Reg& extent, const Reg& leading, const Reg& k_begin,
                        const Reg& k_end, const Reg& warp_first) {
    read_from(shared_base, lane, warp_first);
    const Reg row0 = w_.divide_by(tid, chunks_);
    const Reg chunk = w_.remainder_by(tid, chunks_);
    const Reg column = w_.multiply_by(chunk, interleaved_ ? shape_.copy_elements : shape_.chunk_elements());
    const unsigned element = shape_.element_bytes;
    const auto bytes_of = [&](const Reg& elements) {
        return element == 1 ? elements : w_.make_b64("shl.b64", elements, std::countr_zero(element));
    };
    const bool along_k = shape_.contiguous_in_k;
    const Reg k_local = along_k ? column : row0;
    const Reg k_first = k_begin.empty() ? k_local : w_.make_b32("add.u32", k_local, k_begin);
    remaining_ = w_.make_b32("sub.s32", k_end, k_first);
    const unsigned clamp = along_k ? 1 : shape_.copy_elements;
    const Reg last = w_.make_b32("sub.u32", extent, clamp);
    Reg column_offset;
    if (!along_k) {
        step_ = w_.make_b64("mul.wide.u32", leading, (walks_ ? rows_per_pass_ : shape_.tile_k) * element);
        const Reg here = w_.make_b32("add.u32", first, column);
        const Reg row_start = walks_ ? w_.make_b64("mul.wide.u32", k_first, leading) : Reg{};
        const Reg start = walks_ ? w_.make_b64("add.s64", base, bytes_of(row_start)) : Reg{};
        if (guards_columns()) columns_ = w_.make_b32("sub.s32", extent, here);
        for (unsigned piece = 0; piece < (guards_columns() ? 1 : pieces()); ++piece) {
            const Reg place = piece == 0 ? here : w_.make_b32("add.u32", here, piece * piece_stride());
            const Reg safe = guards_columns() ? place : w_.make_b32("min.u32", place, last);
            column_offset = w_.make_b64("mul.wide.u32", safe, element);
            if (walks_) pointers_.push_back(w_.make_b64("add.s64", start, column_offset));
        }
    }
    for (unsigned i = 0; i < slots_; ++i) {
        const Reg row = i == 0 ? row0 : w_.make_b32("add.u32", row0, i * rows_per_pass_);
        if (i < target_period()) {
            targets_.emplace_back();
            for (unsigned piece = 0; piece < (interleaved_ ? pieces() : 1); ++piece)
                targets_[i].push_back(target_register(shared_base, chunk, row, piece));
        }
        // Rows and columns beyond the matrix read its last element, or none: what comes of them is never
        // stored.
        if (along_k) {
            const Reg safe = w_.make_b32("min.u32", w_.make_b32("add.u32", first, row), last);
            const Reg row_start = w_.make_b64("mul.wide.u32", safe, leading);
            const Reg elements = w_.make_b64("add.s64", row_start, w_.make_b64("cvt.u64.u32", k_first));
            pointers_.push_back(w_.make_b64("add.s64", base, bytes_of(elements)));
        } else if (!walks_) {
            const Reg k = i == 0 ? k_first : w_.make_b32("add.u32", k_first, i * rows_per_pass_);
            const Reg row_start = w_.make_b64("mul.wide.u32", k, leading);
            const Reg pointer = w_.make_b64("add.s64", base, bytes_of(row_start));
            pointers_.push_back(w_.make_b64("add.s64", pointer, column_offset));
        }
    }
    staged_.assign(slots_of_part(), {});
    if (!by_elements()) return;
    for (std::vector<Reg>& elements : staged_) {
        for (unsigned piece = 0; piece < pieces(); ++piece) {
            elements.push_back(w_.b16());
            w_.op("mov.b16", elements.back(), 0);
        }
    }
}

/// Slots after which the permutation of a row's chunks repeats.
unsigned MmaOperand::target_period() const {
    const unsigned rows = (swizzle_.mask + 1) << swizzle_.shift;
    if (rows_per_pass_ % rows == 0) return 1;
    return interleaved_ && rows % rows_per_pass_ == 0 ? std::min(slots_, rows / rows_per_pass_) : slots_;
}

/// `chunk`: the thread's place in the row, counted in chunks, or in pieces if interleaved.
Reg MmaOperand::target_register(const Reg& shared_base, const Reg& chunk, const Reg& row, unsigned piece) {
    Reg own = chunk;
    if (interleaved_) {
        own = w_.divide_by(chunk, pieces());
        if (piece != 0) own = w_.make_b32("or.b32", own, piece * (chunks_ / pieces()));
    }
    const Reg swizzled = w_.make_b32("xor.b32", own, swizzle_.of_row(w_, row));
    const Reg row_part = w_.make_b32("mad.lo.u32", row, row_bytes(), shared_base);
    Reg target = w_.make_b32("mad.lo.u32", swizzled, 16, row_part);
    if (!interleaved_) return target;
    return w_.make_b32("mad.lo.u32", w_.remainder_by(chunk, pieces()), copy_bytes(), target);
}

std::string MmaOperand::target_of(unsigned slot, unsigned piece, unsigned stage) const {
    const unsigned period = target_period(), place = slot % period;
    const unsigned within = interleaved_ ? 0 : piece * copy_bytes();
    return at(targets_[place][interleaved_ ? piece : 0], shape_.shared_offset + stage * shape_.stage_bytes() +
                                                             (slot - place) * rows_per_pass_ * row_bytes() +
                                                             within);
}

void MmaOperand::read_from(const Reg& shared_base, const Reg& lane, const Reg& warp_first) {
    shared_base_ = shared_base;
    lane_ = lane;
    warp_first_ = warp_first;
}

/// Whether a piece of a copy lies before the end of k. Immediates hold everything but the thread's first k.
Reg MmaOperand::piece_guard(unsigned slot, unsigned piece, unsigned ahead) {
    const unsigned beyond =
        ahead * shape_.tile_k + (shape_.contiguous_in_k ? piece * piece_stride() : slot * rows_per_pass_);
    return w_.make_predicate("setp.gt.s32", remaining_, beyond);
}

std::string MmaOperand::piece_address(unsigned slot, unsigned piece, unsigned ahead, std::int64_t& offset) {
    if (shape_.contiguous_in_k) {
        offset = shape_.element_bytes * (std::int64_t{ahead} * shape_.tile_k + piece * piece_stride());
        return pointers_[slot];
    }
    offset = guards_columns() ? piece * shape_.element_bytes : 0;
    return pointers_[guards_columns() ? 0 : walks_ ? piece : slot];
}

void MmaOperand::begin_copy(unsigned stage, unsigned ahead) {
    stage_ = stage;
    ahead_ = ahead;
    guards_.clear();
    sizes_.clear();
    column_guards_.clear();
}

// Single elements stay in the same registers from stage to stage. Those beyond the end of k must be zero:
// they are cleared before the stage in which a thread has some.
void MmaOperand::begin_part() {
    if (!by_elements() || shape_.full_k) return;
    const unsigned own =
        shape_.contiguous_in_k ? pieces() * piece_stride() : (slots_ - 1) * rows_per_pass_ + 1;
    const Reg whole = w_.make_predicate("setp.ge.s32", remaining_, ahead_ * shape_.tile_k + own);
    const std::string filled = w_.new_label("filled");
    w_.jump_if(whole, filled);
    for (const std::vector<Reg>& elements : staged_)
        for (const Reg& element : elements) w_.op("mov.b16", element, 0);
    w_.place(filled);
}

/// The guard of a piece: one for the whole copy when K is full, one per piece of k when rows run along k (all
/// slots of a thread share their k), else one per slot.
std::size_t MmaOperand::guard_of(unsigned slot, unsigned piece) {
    const std::size_t index = shape_.full_k ? 0 : shape_.contiguous_in_k ? piece : slot;
    if (index == guards_.size()) {
        guards_.push_back(piece_guard(shape_.full_k ? 0 : slot, piece, ahead_));
        if (!shape_.full_k && !through_registers_) {
            sizes_.push_back(w_.make_b32("selp.b32", copy_bytes(), 0, guards_.back()));
        }
    }
    return index;
}

/// Whether a piece of a slot that guard_of() allows lies within the matrix, too.
Reg MmaOperand::column_guard(unsigned slot, unsigned piece, const Reg& guard) {
    const std::size_t index = (shape_.full_k ? 0 : slot) * pieces() + piece;
    if (index == column_guards_.size()) {
        column_guards_.push_back(w_.predicate());
        w_.op("setp.gt.and.s32", column_guards_.back(), columns_, piece, guard);
    }
    return column_guards_[index];
}

void MmaOperand::copy_slot(unsigned slot) {
    if (!by_elements()) staged_[slot % slots_of_part()].clear();
    for (unsigned piece = 0; piece < pieces(); ++piece) {
        const std::size_t guard = guard_of(slot, piece);
        std::int64_t offset = 0;
        const std::string address = piece_address(slot, piece, ahead_, offset);
        if (through_registers_) {
            load_piece(slot, piece,
                       guards_columns() ? column_guard(slot, piece, guards_[guard]) : guards_[guard],
                       at(address, offset));
        } else {
            copy_piece(slot, piece, guard, at(address, offset));
        }
    }
    if (shape_.contiguous_in_k) return;
    for (unsigned i = walks_ ? 0 : slot; i < (walks_ ? pointers_.size() : slot + 1); ++i)
        w_.op("add.s64", pointers_[i], pointers_[i], step_);
}

void MmaOperand::copy_piece(unsigned slot, unsigned piece, std::size_t guard, const std::string& source) {
    const unsigned bytes = copy_bytes();
    const std::string target = target_of(slot, piece, stage_);
    // Copies of 16 bytes go past L1, whose lines they would only displace.
    const char* opcode = bytes == 16 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global";
    if (shape_.full_k) {
        w_.op_if(guards_[guard], opcode, target, source, bytes);
    } else {
        w_.op(opcode, target, source, bytes, sizes_[guard]);
    }
}

void MmaOperand::load_piece(unsigned slot, unsigned piece, const Reg& guard, const std::string& source) {
    std::vector<Reg>& words = staged_[slot % slots_of_part()];
    if (by_elements()) {
        w_.op_if(guard, "ld.global.nc.b16", words[piece], source);
        return;
    }
    std::vector<Reg> loaded;
    const unsigned count = copy_bytes() / 4;
    for (unsigned i = 0; i < count; ++i) loaded.push_back(w_.make_b32("mov.b32", 0));
    const std::string opcode =
        std::string("ld.global.nc") + (count > 1 ? ".v" + std::to_string(count) : "") + ".b32";
    w_.op_if(guard, opcode, vector_of(loaded), source);
    words.insert(words.end(), loaded.begin(), loaded.end());
}

void MmaOperand::finish_part(unsigned part) {
    if (!through_registers_) return;
    for (unsigned i = 0; i < slots_of_part(); ++i) {
        std::vector<Reg> words = staged_[i];
        if (words.size() == 8) {
            std::vector<Reg> packed;
            for (unsigned i = 0; i < 8; i += 2) {
                packed.push_back(w_.make_b32("mov.b32", vector_of({words[i], words[i + 1]})));
            }
            words = packed;
        }
        w_.op("st.shared.v4.b32", target_of(part * slots_of_part() + i, 0, stage_), vector_of(words));
    }
}

void MmaOperand::advance(unsigned tiles) {
    if (shape_.contiguous_in_k) {
        for (const Reg& pointer : pointers_)
            w_.op("add.s64", pointer, pointer, tiles * shape_.tile_k * shape_.element_bytes);
    }
    w_.op("sub.s32", remaining_, remaining_, tiles * shape_.tile_k);
}

}  // namespace heddle::kernels
