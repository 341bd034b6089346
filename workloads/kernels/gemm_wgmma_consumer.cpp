// A Hopper GEMM: descriptors of matrices, the warpgroups that multiply, and what they store.
#include <bit>

#include "workloads/kernels/gemm_wgmma_writer.h"

namespace heddle::kernels {
namespace {

/// As wgmma calls it.
std::string input_name(ElementType type) {
    return type == ElementType::f32 ? "tf32" : type == ElementType::i8 ? "s8" : name_of(type);
}

}  // namespace

/// The low half of a descriptor has the address, the high half is the same for all.
Reg GemmWgmmaWriter::descriptor(const Reg& low, unsigned offset) {
    const Reg word = offset == 0 ? low : w_.make_b32("add.u32", low, offset / 16);
    return w_.make_b64("mov.b64", "{" + word + ", " + high_ + "}");
}

void GemmWgmmaWriter::hoist_descriptors() {
    // 8 lines of 128 bytes with their swizzle, 1,024 bytes from one such group to the next; where rows are
    // contiguous, 64 of them to the line and tile_k lines to the next 64.
    constexpr std::uint32_t kHigh = 1u << 30 | kSwizzleAtom / 16;
    high_ = w_.constant_b32(kHigh);
    const auto low_of = [&](const WgmmaOperand& operand, const Reg& first) {
        const std::uint32_t leading = operand.along_k ? 1 : tile_k_ * 128 / 16;
        const Reg address = w_.make_b32("shr.u32", first, 4);
        return w_.make_b32("add.u32", address, leading << 16);
    };
    Reg row_area = w_.make_b32("add.u32", shared_, layout_.row_operand);
    if (tile_.schedule == WgmmaSchedule::cooperative && tile_.consumers > 1) {
        row_area = w_.make_b32("mad.lo.u32", warpgroup_, layout_.fragments * kSwizzleAtom * 8, row_area);
    }
    row_low_ = low_of(rows(), row_area);
    column_low_ = low_of(columns(), w_.make_b32("add.u32", shared_, layout_.column_operand));
    const unsigned accumulators = layout_.fragments * tile_.columns() / 2;
    const unsigned hoisted = 2 * tile_.stages * kWgmmaSteps * (layout_.fragments + 1);
    if (accumulators + hoisted + 32 > wgmma_register_shares(tile_).consumer) {
        const unsigned ready = 2 * kWgmmaSteps * (layout_.fragments + 1);
        if (!drains() || accumulators + ready + 32 > wgmma_register_shares(tile_).consumer) return;
        for (unsigned i = 0; i < kWgmmaSteps * layout_.fragments; ++i) ready_rows_.push_back(w_.b64());
        for (unsigned i = 0; i < kWgmmaSteps; ++i) ready_columns_.push_back(w_.b64());
        return;
    }
    for (unsigned s = 0; s < tile_.stages; ++s) {
        for (unsigned step = 0; step < kWgmmaSteps; ++step) {
            for (unsigned f = 0; f < layout_.fragments; ++f)
                row_descriptors_.push_back(descriptor(row_low_, row_offset(s, step, f)));
            column_descriptors_.push_back(descriptor(column_low_, column_offset(s, step)));
        }
    }
}

/// Descriptors of stage s, or of the one at which `row_low` and `column_low` are, while a product runs.
void GemmWgmmaWriter::make_ready(const Reg& row_low, const Reg& column_low, unsigned s) {
    const auto set = [&](const Reg& ready, const Reg& low, unsigned offset) {
        const Reg word = offset == 0 ? low : w_.make_b32("add.u32", low, offset / 16);
        w_.op("mov.b64", ready, "{" + word + ", " + high_ + "}");
    };
    if (ready_columns_.empty()) return;
    for (unsigned step = 0; step < kWgmmaSteps; ++step) {
        set(ready_columns_[step], column_low, column_offset(s, step));
        for (unsigned f = 0; f < layout_.fragments; ++f)
            set(ready_rows_[step * layout_.fragments + f], row_low, row_offset(s, step, f));
    }
}

void GemmWgmmaWriter::multiply(unsigned s, bool first_round) {
    const std::string a = input_name(spec_.type), b = input_name(spec_.type_b.value_or(spec_.type));
    const unsigned depth = kWgmmaBytes / bytes_of(spec_.type);
    const bool integers = spec_.type == ElementType::i8;
    const std::string opcode = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(tile_.columns()) + "k" +
                               std::to_string(depth) + (integers ? ".s32." : ".f32.") +
                               (tile_.swap ? b + "." + a : a + "." + b);
    for (unsigned step = 0; step < kWgmmaSteps; ++step) {
        const std::size_t place = std::size_t{s} * kWgmmaSteps + step;
        const Reg right = !ready_columns_.empty()       ? ready_columns_[step]
                          : column_descriptors_.empty() ? descriptor(column_low_, column_offset(s, step))
                                                        : column_descriptors_[place];
        for (unsigned f = 0; f < layout_.fragments; ++f) {
            const Reg left = !ready_rows_.empty()       ? ready_rows_[step * layout_.fragments + f]
                             : row_descriptors_.empty() ? descriptor(row_low_, row_offset(s, step, f))
                                                        : row_descriptors_[place * layout_.fragments + f];
            std::vector<Reg> all;
            for (const std::vector<Reg>& four : accumulators_[f])
                all.insert(all.end(), four.begin(), four.end());
            const Reg adds = first_round && step == 0 ? accumulate_ : "1";
            // Signs of the operands, then which of them have their rows contiguous: 16-bit types alone.
            if (integers) {
                w_.op(opcode, vector_of(all), left, right, adds);
            } else if (bytes_of(spec_.type) != 2) {
                w_.op(opcode, vector_of(all), left, right, adds, 1, 1);
            } else {
                w_.op(opcode, vector_of(all), left, right, adds, 1, 1, rows().along_k ? 0 : 1,
                      columns().along_k ? 0 : 1);
            }
        }
    }
}

/// One stage of the ring; `exit`: where to go after the last.
void GemmWgmmaWriter::stage(unsigned s, bool first_round, const std::string& exit) {
    wait(full_, 8 * s, parity_);
    w_.op("wgmma.fence.sync.aligned");
    multiply(s, first_round);
    w_.op("wgmma.commit_group.sync.aligned");
    w_.op("wgmma.wait_group.sync.aligned", 1);
    const unsigned before = (s + tile_.stages - 1) % tile_.stages;
    const Reg releases = first_round ? w_.make_predicate("and.pred", releases_, accumulate_) : releases_;
    w_.op_if(releases, arrive(), "_", at(release_base_, 8 * before));
    if (first_round) w_.op("setp.eq.u32", accumulate_, remaining_, remaining_);
    w_.op("sub.u32", remaining_, remaining_, 1);
    w_.jump_if(w_.make_predicate("setp.eq.u32", remaining_, 0), exit);
}

void GemmWgmmaWriter::drained_stage(unsigned s, bool first_round, const std::string& exit) {
    w_.op("wgmma.fence.sync.aligned");
    multiply(s, first_round);
    w_.op("wgmma.commit_group.sync.aligned");
    const unsigned before = (s + tile_.stages - 1) % tile_.stages;
    const Reg releases = first_round ? w_.make_predicate("and.pred", releases_, accumulate_) : releases_;
    w_.op_if(releases, arrive(), "_", at(release_base_, 8 * before));
    if (first_round) w_.op("setp.eq.u32", accumulate_, remaining_, remaining_);
    w_.op("sub.u32", remaining_, remaining_, 1);
    w_.jump_if(w_.make_predicate("setp.eq.u32", remaining_, 0), exit);
    const bool wraps = s + 1 == tile_.stages;
    make_ready(row_low_, column_low_, wraps ? 0 : s + 1);
    wait(full_, wraps ? 0 : 8 * (s + 1), wraps ? w_.make_b32("xor.b32", parity_, 1) : parity_);
    w_.op("wgmma.wait_group.sync.aligned", 0);
}

/// The products of one tile. A first round begins at the stage where the last tile ended; then all stages,
/// again and again: their addresses are constants.
void GemmWgmmaWriter::consume_tile() {
    const bool ping_pong = tile_.schedule == WgmmaSchedule::ping_pong;
    const unsigned stages = tile_.stages;
    const Reg start = w_.remainder_by(position_, stages);
    w_.op("and.b32", parity_, w_.divide_by(position_, stages), 1);
    w_.op("add.u32", position_, position_, count_);
    w_.op("mov.u32", remaining_, count_);
    w_.op("setp.ne.u32", accumulate_, remaining_, remaining_);
    if (ping_pong) w_.op("bar.sync", w_.make_b32("add.u32", warpgroup_, 1), 2 * kWarpgroup);
    if (drains()) {
        make_ready(w_.make_b32("mad.lo.u32", start, rows().bytes / 16, row_low_),
                   w_.make_b32("mad.lo.u32", start, columns().bytes / 16, column_low_), 0);
        wait(w_.make_b32("mad.lo.u32", start, 8, full_), 0, parity_);
    }
    const auto one_stage = [&](unsigned s, bool first_round, const std::string& exit) {
        drains() ? drained_stage(s, first_round, exit) : stage(s, first_round, exit);
    };
    std::vector<std::string> exits;
    for (unsigned s = 0; s < stages; ++s) exits.push_back(w_.new_label("last"));
    for (unsigned s = 0; s < stages; ++s) {
        const std::string skip = w_.new_label("stage");
        w_.jump_if(w_.make_predicate("setp.gt.u32", start, s), skip);
        one_stage(s, true, exits[s]);
        w_.place(skip);
    }
    const std::string round = w_.new_label("round"), done = w_.new_label("multiplied");
    w_.place(round);
    w_.op("xor.b32", parity_, parity_, 1);
    for (unsigned s = 0; s < stages; ++s) one_stage(s, false, exits[s]);
    w_.jump(round);
    for (unsigned s = 0; s < stages; ++s) {
        w_.place(exits[s]);
        if (ping_pong) w_.op("bar.arrive", w_.make_b32("sub.u32", 2, warpgroup_), 2 * kWarpgroup);
        w_.op("wgmma.wait_group.sync.aligned", 0);
        w_.op_if(releases_, arrive(), "_", at(release_base_, 8 * s));
        if (s + 1 < stages) w_.jump(done);
    }
    w_.place(done);
}

/// With the pointers of the epilogue moved to the batch entry or slice at hand.
GemmParameters GemmWgmmaWriter::parameters_of_entry(const WgmmaPlace& place) {
    GemmParameters p = p_;
    if (place.batch.empty()) return p;
    const auto move = [&](Reg& base, const Reg& stride, ElementType type) {
        const Reg elements = w_.make_b64("mul.lo.u64", w_.make_b64("cvt.u64.u32", place.batch), stride);
        const Reg bytes = w_.make_b64("shl.b64", elements, std::countr_zero(bytes_of(type)));
        base = w_.make_b64("add.s64", base, bytes);
    };
    if (!staged_) move(p.d, p_.stride_d, split_ ? ElementType::f32 : spec_.epilogue.output);
    if (!split_ && spec_.epilogue.expression) {
        if (ExpressionCode::reads_input(*spec_.epilogue.expression, 2))
            move(p.c, p_.stride_c, spec_.epilogue.c);
        if (spec_.epilogue.expression->outputs.size() > 1)
            move(p.auxiliary, p_.stride_d, spec_.epilogue.auxiliary);
    }
    return p;
}

void GemmWgmmaWriter::consume() {
    const bool ping_pong = tile_.schedule == WgmmaSchedule::ping_pong;
    full_ = w_.make_b32("add.u32", shared_, layout_.full);
    const Reg empty = w_.make_b32("add.u32", shared_, layout_.empty);
    releases_ = w_.make_predicate("setp.lt.u32", thread_, peers());
    release_base_ = empty;
    if (tile_.cluster_size() > 1) {
        // Thread t tells CTA number t of those that send to this one: first those with the same m' and any
        // n', then the others with the same n'.
        const Reg beyond = w_.make_b32("sub.u32", thread_, tile_.cluster_n);
        const Reg other = w_.make_b32("add.u32", beyond, 1);
        const Reg m = w_.make_b32("and.b32", w_.make_b32("add.u32", rank_m_, other), tile_.cluster_m - 1);
        const Reg by_n = w_.make_b32("mad.lo.u32", thread_, tile_.cluster_m, rank_m_);
        const Reg by_m = w_.make_b32("mad.lo.u32", rank_n_, tile_.cluster_m, m);
        const Reg first = w_.make_predicate("setp.lt.u32", thread_, tile_.cluster_n);
        const Reg peer = w_.make_b32("selp.b32", by_n, by_m, first);
        const Reg valid = w_.make_b32("selp.b32", peer, 0, releases_);
        release_base_ = w_.make_b32("mapa.shared::cluster.u32", empty, valid);
    }
    const bool integers = spec_.type == ElementType::i8;
    for (unsigned f = 0; f < layout_.fragments; ++f) {
        accumulators_.emplace_back();
        for (unsigned block = 0; block < tile_.columns() / 8; ++block)
            accumulators_.back().push_back(integers ? w_.b32s(4) : w_.f32s(4));
    }
    hoist_descriptors();
    position_ = w_.constant_b32(0);
    parity_ = w_.b32();
    remaining_ = w_.b32();
    accumulate_ = w_.predicate();
    std::optional<WgmmaTensorStore> output;
    if (staged_) output.emplace(w_, spec_, layout_, shared_, map_d_, map_d_tail_, warpgroup_, thread_);
    Reg turn;
    if (ping_pong) {
        // The second consumer lets the first begin.
        turn = w_.make_b32("mov.u32", warpgroup_);
        w_.op_if(w_.make_predicate("setp.eq.u32", warpgroup_, 1), "bar.arrive", 1, 2 * kWarpgroup);
    }
    const std::string loop = w_.new_label("tile"), next = w_.new_label("next"),
                      done = w_.new_label("consumed");
    w_.jump_if(w_.make_predicate("setp.ge.u32", id_, tiles_), done);
    w_.place(loop);
    decode_tile(next, false);
    if (ping_pong) {
        // Every other tile; the stages of the one between are not ours.
        const std::string ours = w_.new_label("ours");
        w_.op("xor.b32", turn, turn, 1);
        w_.jump_if(w_.make_predicate("setp.ne.u32", turn, 0), ours);
        w_.op("add.u32", position_, position_, count_);
        w_.jump(next);
        w_.place(ours);
    }
    consume_tile();
    WgmmaPlace place{tile_.swap ? column_ : row_, tile_.swap ? row_ : column_,
                     batched_ || split_ ? entry_ : Reg{}, warpgroup_, thread_};
    if (!ping_pong && tile_.consumers > 1)
        place.row = w_.make_b32("mad.lo.u32", warpgroup_, layout_.fragments * 64, place.row);
    const GemmParameters parameters = parameters_of_entry(place);
    if (output) {
        output->store(accumulators_, place, parameters);
    } else {
        store_wgmma_directly(w_, spec_, parameters, accumulators_, place);
    }
    w_.place(next);
    next_tile(loop);
    w_.place(done);
    if (output) output->drain();
}

}  // namespace heddle::kernels
