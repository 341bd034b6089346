// A Hopper GEMM: where CTAs and tiles are, barriers, and the warpgroup that copies.
#include "workloads/kernels/gemm_wgmma_writer.h"

namespace heddle::kernels {

void GemmWgmmaWriter::parameters() {
    a_.map = w_.tensor_map_parameter("tensor_a");
    b_.map = w_.tensor_map_parameter("tensor_b");
    if (staged_) map_d_ = w_.tensor_map_parameter("tensor_d");
    if (staged_ && WgmmaStore(spec_).tail != 0) map_d_tail_ = w_.tensor_map_parameter("tensor_d_tail");
    p_.c = w_.pointer_parameter("c");
    p_.bias = w_.pointer_parameter("bias");
    p_.d = w_.pointer_parameter("d");
    p_.auxiliary = w_.pointer_parameter("auxiliary");
    p_.m = w_.b32_parameter("m");
    p_.n = w_.b32_parameter("n");
    p_.ldc = w_.b32_parameter("ldc");
    p_.ldd = w_.b32_parameter("ldd");
    p_.stride_c = w_.b64_parameter("stride_c");
    p_.stride_d = w_.b64_parameter("stride_d");
    tiles_ = w_.b32_parameter("tiles");
    tiles_n_ = w_.b32_parameter("tiles_n");
    k_tiles_ = w_.b32_parameter("k_tiles");
    k_tiles_per_split_ = w_.b32_parameter("k_tiles_per_split");
    p_.splits = w_.b32_parameter("splits");
    a_.entries = w_.b32_parameter("a_entries");
    b_.entries = w_.b32_parameter("b_entries");
    tiles_per_entry_ = w_.divider_parameter("tiles_per_entry");
    tiles_m_ = w_.divider_parameter("tiles_m");
    if (stream_) {
        stages_per_tile_ = w_.divider_parameter("stages_per_tile");
        stages_per_cta_ = w_.divider_parameter("stages_per_cta");
    }
    if (spec_.epilogue.expression) {
        for (unsigned i = 0; i < spec_.epilogue.expression->scalar_count; ++i)
            p_.scalars.push_back(w_.f32_parameter("s" + std::to_string(i)));
        load_factors(w_, spec_.epilogue, ComputeType::f32, p_);
    }
}

void GemmWgmmaWriter::positions() {
    const unsigned size = tile_.cluster_size();
    const Reg tid = w_.tid();
    warpgroup_ = w_.divide_by(tid, kWarpgroup);
    thread_ = w_.make_b32("and.b32", tid, kWarpgroup - 1);
    const Reg dynamic = w_.make_b32("mov.u32", w_.dynamic_shared(gemm_wgmma_shared_bytes(spec_)));
    shared_ = w_.make_b32("and.b32", w_.make_b32("add.u32", dynamic, kSwizzleAtom - 1),
                          -static_cast<std::int64_t>(kSwizzleAtom));
    id_ = w_.divide_by(w_.cta_x(), size);
    id_step_ = w_.divide_by(w_.make_b32("mov.u32", "%nctaid.x"), size);
    if (stream_) {
        id_ = w_.make_b32("mul.lo.u32", w_.cta_x(), stages_per_cta_.divisor);
        tiles_ = w_.make_b32("min.u32", w_.make_b32("add.u32", id_, stages_per_cta_.divisor), tiles_);
    }
    if (size > 1) {
        const Reg rank = w_.make_b32("mov.u32", "%cluster_ctarank");
        rank_m_ = w_.remainder_by(rank, tile_.cluster_m);
        rank_n_ = w_.divide_by(rank, tile_.cluster_m);
    }
    a_.extent = tile_.m;
    b_.extent = tile_.n;
    a_.shared_by = tile_.cluster_n;
    b_.shared_by = tile_.cluster_m;
    rows().along_k = layout_.row_operand_along_k;
    rows().offset = layout_.row_operand;
    rows().bytes = layout_.row_bytes;
    columns().along_k = layout_.column_operand_along_k;
    columns().offset = layout_.column_operand;
    columns().bytes = layout_.column_bytes;
}

void GemmWgmmaWriter::set_up_barriers() {
    const std::string done = w_.new_label("barriers");
    const Reg tid = w_.tid();
    w_.jump_if(w_.make_predicate("setp.ne.u32", tid, 0), done);
    const Reg one = w_.constant_b32(1), consumers = w_.constant_b32(tile_.consumers * peers());
    const Reg each = tile_.schedule == WgmmaSchedule::ping_pong ? w_.constant_b32(peers()) : consumers;
    for (unsigned s = 0; s < tile_.stages; ++s) {
        w_.op("mbarrier.init.shared::cta.b64", at(shared_, layout_.full + 8 * s), one);
        w_.op("mbarrier.init.shared::cta.b64", at(shared_, layout_.empty + 8 * s), each);
    }
    w_.op("fence.mbarrier_init.release.cluster");
    w_.place(done);
    if (tile_.cluster_size() > 1) {
        cluster_barrier();
    } else {
        w_.cta_barrier();
    }
}

void GemmWgmmaWriter::wait(const Reg& barrier, unsigned offset, const Reg& parity) {
    const std::string again = w_.new_label("wait");
    w_.place(again);
    const Reg done =
        w_.make_predicate("mbarrier.try_wait.parity.shared::cta.b64", at(barrier, offset), parity);
    w_.jump_unless(done, again);
}

/// Stream-K: id_ counts stages, tiles_ is where this CTA's end.
void GemmWgmmaWriter::decode_stream() {
    const Reg tile = w_.divide_fast(id_, stages_per_tile_);
    first_k_tile_ = w_.remainder_fast(id_, tile, stages_per_tile_);
    const Reg of_tile = w_.make_b32("sub.u32", stages_per_tile_.divisor, first_k_tile_);
    count_ = w_.make_b32("min.u32", of_tile, w_.make_b32("sub.u32", tiles_, id_));
    const Reg tile_n = w_.divide_fast(tile, tiles_m_);
    row_ = w_.multiply_by(w_.remainder_fast(tile, tile_n, tiles_m_), tile_.m);
    column_ = w_.multiply_by(tile_n, tile_.n);
    // The slice: how many CTAs came before this one in the tile.
    const Reg begin = w_.make_b32("sub.u32", id_, first_k_tile_);
    entry_ = w_.make_b32("sub.u32", w_.cta_x(), w_.divide_fast(begin, stages_per_cta_));
}

void GemmWgmmaWriter::next_tile(const std::string& loop) {
    w_.op("add.u32", id_, id_, stream_ ? count_ : id_step_);
    w_.jump_if(w_.make_predicate("setp.lt.u32", id_, tiles_), loop);
}

/// Decodes id_, or goes on to `next` with the tiles that only fill the raster.
void GemmWgmmaWriter::decode_tile(const std::string& next, bool producer) {
    if (stream_) return decode_stream();
    const Reg entry = w_.divide_fast(id_, tiles_per_entry_);
    const Reg within = w_.remainder_fast(id_, entry, tiles_per_entry_);
    const Reg group = spec_.raster_log2 == 0 ? within : w_.make_b32("shr.u32", within, spec_.raster_log2);
    const Reg minor = w_.divide_fast(group, tiles_m_);
    Reg tile_m = w_.remainder_fast(group, minor, tiles_m_), tile_n = minor;
    if (spec_.raster_log2 != 0) {
        const Reg low = w_.make_b32("and.b32", within, (1u << spec_.raster_log2) - 1);
        tile_n = w_.make_b32("mad.lo.u32", minor, 1u << spec_.raster_log2, low);
        w_.jump_if(w_.make_predicate("setp.ge.u32", tile_n, tiles_n_), next);
    }
    if (tile_.cluster_m > 1) tile_m = w_.make_b32("mad.lo.u32", tile_m, tile_.cluster_m, rank_m_);
    if (tile_.cluster_n > 1) tile_n = w_.make_b32("mad.lo.u32", tile_n, tile_.cluster_n, rank_n_);
    row_ = w_.multiply_by(tile_m, tile_.m);
    column_ = w_.multiply_by(tile_n, tile_.n);
    entry_ = entry;
    count_ = k_tiles_;
    first_k_tile_.clear();
    Reg operand_entry = entry;
    if (split_) {
        operand_entry = batched_ ? w_.make_b32("div.u32", entry, p_.splits) : w_.constant_b32(0);
        const Reg slice = batched_ ? w_.make_b32("rem.u32", entry, p_.splits) : entry;
        first_k_tile_ = w_.make_b32("mul.lo.u32", slice, k_tiles_per_split_);
        count_ = w_.make_b32("min.u32", w_.make_b32("sub.u32", k_tiles_, first_k_tile_), k_tiles_per_split_);
    }
    if (producer && batched_) {
        a_.entry = w_.make_b32("mul.lo.u32", operand_entry, a_.entries);
        b_.entry = w_.make_b32("mul.lo.u32", operand_entry, b_.entries);
    }
}

void GemmWgmmaWriter::copy_operand(const WgmmaOperand& operand, const Reg& k, const Reg& stage_area,
                                   const Reg& barrier) {
    const unsigned line = 128 / bytes_of(spec_.type);
    std::string opcode = std::string("cp.async.bulk.tensor.") + (batched_ ? "3d" : "2d") +
                         ".shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    const bool halves = paired() && operand.shared_by > 1;  // each CTA of a pair keeps what it copies
    if (operand.shared_by > 1 && !halves) opcode += ".multicast::cluster";
    if (paired()) opcode += ".cta_group::2";
    const auto copy = [&](const Reg& to, const Reg& x, const Reg& y) {
        std::vector<Reg> corner{x, y};
        if (batched_) corner.push_back(operand.entry);
        const std::string box = at_box(operand.map, corner);
        if (operand.shared_by > 1 && !halves) {
            w_.op(opcode, at(to), box, at(barrier), operand.peers);
        } else {
            w_.op(opcode, at(to), box, at(barrier));
        }
    };
    const Reg area = operand.offset == 0 ? stage_area : w_.make_b32("add.u32", stage_area, operand.offset);
    // Each CTA of a cluster copies one part of the lines.
    const unsigned lines = (operand.along_k ? operand.extent : tile_k_) / operand.shared_by;
    const Reg to = operand.shared_by > 1 && !halves ? w_.make_b32("mad.lo.u32", operand.part, lines * 128, area) : area;
    const auto part_of = [&](const Reg& first) {
        return operand.shared_by > 1 ? w_.make_b32("mad.lo.u32", operand.part, lines, first) : first;
    };
    if (operand.along_k) {
        copy(to, k, part_of(operand.first));
        return;
    }
    const Reg y = part_of(k);
    for (unsigned box = 0; box < divide_up(operand.extent, line); ++box) {
        copy(box == 0 ? to : w_.make_b32("add.u32", to, box * tile_k_ * 128),
             box == 0 ? operand.first : w_.make_b32("add.u32", operand.first, box * line), y);
    }
}

void GemmWgmmaWriter::produce(const std::string& end) {
    w_.jump_if(w_.make_predicate("setp.ne.u32", thread_, 0), end);
    w_.op("prefetch.tensormap", at(a_.map));
    w_.op("prefetch.tensormap", at(b_.map));
    if (tile_.cluster_size() > 1) {
        // Rank is m' + cluster_m * n': A goes to the CTAs with the same m', B to those with the same n'.
        std::uint32_t same_m = 0;
        for (unsigned i = 0; i < tile_.cluster_n; ++i) same_m |= 1u << i * tile_.cluster_m;
        const auto mask = [&](std::uint32_t pattern, const Reg& shift) {
            const Reg bits = w_.make_b32("shl.b32", w_.constant_b32(pattern), shift);
            Reg narrow = w_.b16();
            w_.op("cvt.u16.u32", narrow, bits);
            return narrow;
        };
        if (a_.shared_by > 1) {
            a_.part = rank_n_;
            a_.peers = mask(same_m, rank_m_);
        }
        if (b_.shared_by > 1) {
            b_.part = rank_m_;
            b_.peers = mask((1u << tile_.cluster_m) - 1, w_.multiply_by(rank_n_, tile_.cluster_m));
        }
    }
    // Stage by stage around the ring: the barriers follow one another, and so do the stages of an operand.
    const Reg stage = w_.constant_b32(0), parity = w_.constant_b32(1);
    const std::string end_of_tile = w_.new_label("produced"), loop = w_.new_label("produce_tile");
    w_.jump_if(w_.make_predicate("setp.ge.u32", id_, tiles_), end);
    w_.place(loop);
    decode_tile(end_of_tile, true);
    a_.first = row_;
    b_.first = column_;
    const Reg k = first_k_tile_.empty() ? w_.constant_b32(0) : w_.multiply_by(first_k_tile_, tile_k_);
    const Reg left = w_.make_b32("mov.u32", count_);
    const std::string next_k = w_.new_label("produce");
    w_.place(next_k);
    const Reg barrier = w_.make_b32("mad.lo.u32", stage, 8, shared_);
    wait(barrier, layout_.empty, parity);
    const Reg full = of_leader(w_.make_b32("add.u32", barrier, layout_.full));
    w_.op(paired() ? "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64" : "mbarrier.arrive.expect_tx.shared::cta.b64", "_", at(full), layout_.stage_bytes());
    for (const WgmmaOperand* operand : {&a_, &b_}) {
        copy_operand(*operand, k, w_.make_b32("mad.lo.u32", stage, operand->bytes, shared_), full);
    }
    w_.op("add.u32", k, k, tile_k_);
    w_.op("add.u32", stage, stage, 1);
    const Reg wraps = w_.make_predicate("setp.eq.u32", stage, tile_.stages);
    w_.op_if(wraps, "mov.u32", stage, 0);
    w_.op_if(wraps, "xor.b32", parity, parity, 1);
    w_.op("sub.u32", left, left, 1);
    w_.jump_if(w_.make_predicate("setp.ne.u32", left, 0), next_k);
    w_.place(end_of_tile);
    next_tile(loop);
}

}  // namespace heddle::kernels
