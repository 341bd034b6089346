#include "workloads/kernels/gemm_wgmma.h"

#include <algorithm>
#include <bit>

#include "isa/common/error.h"
#include "workloads/kernels/gemm_wgmma_parts.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kRegisterFile = 65536, kWarpgroup = 128;
constexpr unsigned kInstructionBytes = 32;  // of k, in one wgmma
constexpr unsigned kSteps = 128 / kInstructionBytes;

/// Registers per thread: of all at the start, and after setmaxnreg.
struct RegisterShares {
    unsigned start, producer, consumer;
    bool moved() const { return consumer > start; }
};

RegisterShares shares_of(const WgmmaTile& tile) {
    RegisterShares shares;
    shares.start = std::min(248u, kRegisterFile / tile.ctas_per_sm / tile.threads() / 8 * 8);
    shares.producer = tile.consumers == 2 && tile.ctas_per_sm == 1 ? 40 : 24;
    shares.consumer =
        std::min(240u, (shares.start * (tile.consumers + 1) - shares.producer) / tile.consumers / 8 * 8);
    if (tile.consumers == 1) shares.consumer = shares.start;
    return shares;
}

/// Per thread of a consumer.
unsigned accumulators_of(const WgmmaTile& tile) {
    const unsigned shared_by = tile.schedule == WgmmaSchedule::ping_pong ? 1 : tile.consumers;
    return tile.rows() / (64 * shared_by) * tile.columns() / 2;
}

void check(const GemmWgmmaSpec& spec) {
    const WgmmaTile& t = spec.tile;
    const auto fail = [&t](const std::string& problem, const std::string& remedy) {
        throw Error(problem, {.key = "gemm_wgmma tile " + std::to_string(t.m) + "x" + std::to_string(t.n)},
                    remedy);
    };
    const bool half = spec.type == ElementType::f16 || spec.type == ElementType::bf16;
    const bool integers = spec.type == ElementType::i8;
    const bool eight = spec.type == ElementType::e4m3 || spec.type == ElementType::e5m2;
    if (spec.type_b && (!eight || (*spec.type_b != ElementType::e4m3 && *spec.type_b != ElementType::e5m2)))
        fail("gemm_wgmma multiplies two types only where both are 8-bit floats", "convert one operand");
    if (!half && !integers && !eight && spec.type != ElementType::f32) {
        fail("gemm_wgmma multiplies f16, bf16, e4m3, e5m2, f32 (as tf32) or i8, not " + name_of(spec.type),
             "use another generator");
    }
    if (!half && (spec.transpose_a || !spec.transpose_b))
        fail("wgmma reads " + name_of(spec.type) + " only where k is contiguous", "transpose the operand");
    if (integers && (spec.epilogue.output != ElementType::i32 || spec.epilogue.expression ||
                     spec.partition.split_k || !spec.tensor_store)) {
        fail("products of i8 are stored as i32, as they are", "");
    }
    if (integers && t.columns() > 32 && t.columns() % 16 != 0)
        fail("wgmma of i8 has columns in steps of 16", "");
    if (t.consumers < 1 || t.consumers > 3) fail("1 to 3 warpgroups can multiply", "");
    const bool ping_pong = t.schedule == WgmmaSchedule::ping_pong;
    if (ping_pong && t.consumers != 2) fail("ping-pong takes two consumers", "");
    const unsigned unit = 64 * (ping_pong ? 1 : t.consumers);
    if (t.rows() == 0 || t.rows() % unit != 0 || t.rows() > 256) {
        fail("the rows of the tile must be a multiple of " + std::to_string(unit) + ", at most 256", "");
    }
    if (t.columns() % 8 != 0 || t.columns() < 8 || t.columns() > 256) {
        fail("the columns of the tile must be a multiple of 8 from 8 to 256", "");
    }
    if (!wgmma_sums_fit(t)) {
        fail(std::to_string(accumulators_of(t)) + " accumulators do not fit in " +
                 std::to_string(shares_of(t).consumer) + " registers of a thread",
             "use a smaller tile");
    }
    if (t.stages < 2 || t.stages > kMostStages)
        fail("a ring of 2 to " + std::to_string(kMostStages) + " stages is needed", "");
    if (!std::has_single_bit(t.cluster_m) || !std::has_single_bit(t.cluster_n) || t.cluster_size() > 8) {
        fail("a cluster has 1, 2, 4 or 8 thread blocks", "");
    }
    if (t.m / t.cluster_n % 8 != 0 || t.n / t.cluster_m % 8 != 0) {
        fail("each thread block of a cluster must copy whole groups of 8 lines", "use a smaller cluster");
    }
    const bool words = spec.partition.split_k || bytes_of(spec.epilogue.output) == 4;
    const unsigned unit_of_store = words ? 8 : 16;
    if (spec.tensor_store && !t.swap && t.columns() % unit_of_store != 0) {
        fail("the result of such a narrow tile cannot be staged", "swap rows and columns");
    }
    if (!spec.tensor_store && t.swap) fail("direct stores go by rows", "do not swap rows and columns");
}

/// As wgmma calls it.
std::string input_name(ElementType type) {
    return type == ElementType::f32 ? "tf32" : type == ElementType::i8 ? "s8" : name_of(type);
}

std::string name_for(const GemmWgmmaSpec& spec) {
    const WgmmaTile& t = spec.tile;
    std::string name =
        "gemm_wgmma_" + name_of(spec.type) + (spec.type_b ? "_" + name_of(*spec.type_b) : "") + "_" +
        name_of(spec.epilogue.output) + "_" + std::to_string(t.m) + "x" + std::to_string(t.n) + "x" +
        std::to_string(wgmma_tile_k(spec.type)) + "_stages" + std::to_string(t.stages) + "_" +
        std::to_string(t.cluster_m) + "x" + std::to_string(t.cluster_n) + "_" +
        (t.schedule == WgmmaSchedule::ping_pong ? "pingpong" : "coop") + std::to_string(t.consumers);
    if (t.swap) name += "_swap";
    if (t.ctas_per_sm != 1) name += "_ctas" + std::to_string(t.ctas_per_sm);
    name += "_" + layout_name(spec.transpose_a, spec.transpose_b);
    if (spec.partition.batched) name += "_batched";
    if (spec.partition.split_k) name += "_splitk";
    if (!spec.tensor_store) name += "_direct";
    return name + "_raster" + std::to_string(spec.raster_log2) + epilogue_name(spec.epilogue);
}

/// One operand: its copies and its matrix descriptors.
struct Operand {
    Reg map, entries;
    bool along_k = true;
    unsigned extent = 0, shared_by = 1;  ///< of the tile; CTAs of the cluster that have it in common
    unsigned offset = 0, bytes = 0;      ///< in shared memory: of stage 0, of one stage
    Reg part, peers;                     ///< which part this CTA copies; mask of the CTAs that get it
    // Of the tile at hand.
    Reg first, entry;
};

/// The kernel, written part by part.
class Writer {
  public:
    explicit Writer(const GemmWgmmaSpec& spec)
        : spec_(spec),
          tile_(spec.tile),
          layout_(spec),
          staged_(spec.tensor_store),
          batched_(spec.partition.batched),
          split_(spec.partition.split_k),
          tile_k_(wgmma_tile_k(spec.type)),
          w_(name_for(spec), spec.compute_capability, 90, "wgmma") {}

    GeneratedKernel write() {
        w_.use_architecture_specific();
        const unsigned size = tile_.cluster_size();
        w_.set_cluster({size, 1, 1});
        const RegisterShares shares = shares_of(tile_);
        w_.limit_registers(shares.start);
        parameters();
        positions();
        set_up_barriers();
        const std::string producer = w_.new_label("producer"), end = w_.new_label("end");
        w_.jump_if(w_.make_predicate("setp.eq.u32", warpgroup_, tile_.consumers), producer);
        if (shares.moved()) w_.op("setmaxnreg.inc.sync.aligned.u32", shares.consumer);
        consume();
        w_.jump(end);
        w_.place(producer);
        if (shares.moved()) w_.op("setmaxnreg.dec.sync.aligned.u32", shares.producer);
        produce(end);
        w_.place(end);
        if (size > 1) cluster_barrier();  // nobody leaves while others may still signal its barriers
        return w_.finish({tile_.threads(), 1, 1});
    }

  private:
    void parameters();
    void positions();
    void set_up_barriers();
    void produce(const std::string& end);
    void copy_operand(const Operand& operand, const Reg& k, const Reg& stage_area, const Reg& barrier);
    void consume();
    void consume_tile();
    GemmParameters parameters_of_entry(const WgmmaPlace& place);
    void stage(unsigned s, bool first_round, const std::string& exit);
    void drained_stage(unsigned s, bool first_round, const std::string& exit);
    std::string arrive() const {
        return tile_.cluster_size() > 1 ? "mbarrier.arrive.release.cluster.shared::cluster.b64"
                                        : "mbarrier.arrive.shared::cta.b64";
    }
    /// A consumer that has the tensor cores to itself ends each stage before it begins the next, for which it
    /// has waited in the meantime.
    bool drains() const { return tile_.consumers == 1; }
    void multiply(unsigned s, bool first_round);
    void make_ready(const Reg& row_low, const Reg& column_low, unsigned s);
    Reg descriptor(const Reg& low, unsigned offset);
    void hoist_descriptors();
    unsigned row_offset(unsigned s, unsigned step, unsigned fragment) {
        return s * rows().bytes + step * step_bytes(rows()) + fragment * 8 * kSwizzleAtom;
    }
    unsigned column_offset(unsigned s, unsigned step) {
        return s * columns().bytes + step * step_bytes(columns());
    }
    static unsigned step_bytes(const Operand& operand) {
        return operand.along_k ? kInstructionBytes : 16 * 128;
    }
    void decode_tile(const std::string& next, bool producer);
    void wait(const Reg& barrier, unsigned offset, const Reg& parity);
    void cluster_barrier() {
        w_.op("barrier.cluster.arrive.aligned");
        w_.op("barrier.cluster.wait.aligned");
    }
    unsigned peers() const { return tile_.cluster_m + tile_.cluster_n - 1; }
    Operand& rows() { return tile_.swap ? b_ : a_; }
    Operand& columns() { return tile_.swap ? a_ : b_; }

    const GemmWgmmaSpec& spec_;
    const WgmmaTile& tile_;
    WgmmaLayout layout_;
    bool staged_, batched_, split_;
    unsigned tile_k_;
    PtxWriter w_;

    Operand a_, b_;
    GemmParameters p_;
    Reg map_d_, map_d_tail_, tiles_, tiles_n_, k_tiles_, k_tiles_per_split_;
    PtxWriter::Divider tiles_per_entry_, tiles_m_;
    Reg shared_, warpgroup_, thread_, rank_m_, rank_n_;
    Reg id_, id_step_;
    // The tile at hand.
    Reg row_, column_, entry_, first_k_tile_, count_;
    // Of a consumer.
    Reg position_, parity_, accumulate_, releases_, release_base_, full_, remaining_;
    Reg row_low_, column_low_, high_;
    std::vector<Reg> row_descriptors_, column_descriptors_;
    /// Where there is no room for those of all stages: of the stage that comes next.
    std::vector<Reg> ready_rows_, ready_columns_;
    WgmmaAccumulators accumulators_;
};

void Writer::parameters() {
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
    if (spec_.epilogue.expression) {
        for (unsigned i = 0; i < spec_.epilogue.expression->scalar_count; ++i)
            p_.scalars.push_back(w_.f32_parameter("s" + std::to_string(i)));
    }
}

void Writer::positions() {
    const unsigned size = tile_.cluster_size();
    const Reg tid = w_.tid();
    warpgroup_ = w_.divide_by(tid, kWarpgroup);
    thread_ = w_.make_b32("and.b32", tid, kWarpgroup - 1);
    const Reg dynamic = w_.make_b32("mov.u32", w_.dynamic_shared(gemm_wgmma_shared_bytes(spec_)));
    shared_ = w_.make_b32("and.b32", w_.make_b32("add.u32", dynamic, kSwizzleAtom - 1),
                          -static_cast<std::int64_t>(kSwizzleAtom));
    id_ = w_.divide_by(w_.cta_x(), size);
    id_step_ = w_.divide_by(w_.make_b32("mov.u32", "%nctaid.x"), size);
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

void Writer::set_up_barriers() {
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

void Writer::wait(const Reg& barrier, unsigned offset, const Reg& parity) {
    const std::string again = w_.new_label("wait");
    w_.place(again);
    const Reg done =
        w_.make_predicate("mbarrier.try_wait.parity.shared::cta.b64", at(barrier, offset), parity);
    w_.jump_unless(done, again);
}

/// Decodes id_, or goes on to `next` with the tiles that only fill the raster.
void Writer::decode_tile(const std::string& next, bool producer) {
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

void Writer::copy_operand(const Operand& operand, const Reg& k, const Reg& stage_area, const Reg& barrier) {
    const unsigned line = 128 / bytes_of(spec_.type);
    std::string opcode = std::string("cp.async.bulk.tensor.") + (batched_ ? "3d" : "2d") +
                         ".shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    if (operand.shared_by > 1) opcode += ".multicast::cluster";
    const auto copy = [&](const Reg& to, const Reg& x, const Reg& y) {
        const std::string box =
            "[" + operand.map + ", {" + x + ", " + y + (batched_ ? ", " + operand.entry : "") + "}]";
        if (operand.shared_by > 1) {
            w_.op(opcode, at(to), box, at(barrier), operand.peers);
        } else {
            w_.op(opcode, at(to), box, at(barrier));
        }
    };
    const Reg area = operand.offset == 0 ? stage_area : w_.make_b32("add.u32", stage_area, operand.offset);
    // Each CTA of a cluster copies one part of the lines.
    const unsigned lines = (operand.along_k ? operand.extent : tile_k_) / operand.shared_by;
    const Reg to = operand.shared_by > 1 ? w_.make_b32("mad.lo.u32", operand.part, lines * 128, area) : area;
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

void Writer::produce(const std::string& end) {
    w_.jump_if(w_.make_predicate("setp.ne.u32", thread_, 0), end);
    w_.op("prefetch.tensormap", at(a_.map));
    w_.op("prefetch.tensormap", at(b_.map));
    if (tile_.cluster_size() > 1) {
        // Rank is m' + cluster_m * n': A goes to the CTAs with the same m', B to those with the same n'.
        std::uint32_t same_m = 0;
        for (unsigned i = 0; i < tile_.cluster_n; ++i) same_m |= 1u << i * tile_.cluster_m;
        const auto mask = [&](std::uint32_t pattern, const Reg& shift) {
            const Reg bits = w_.make_b32("shl.b32", w_.constant_b32(pattern), shift);
            const Reg narrow = w_.b16();
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
    const Reg id = id_;
    const std::string next_tile = w_.new_label("produced"), loop = w_.new_label("produce_tile");
    w_.jump_if(w_.make_predicate("setp.ge.u32", id, tiles_), end);
    w_.place(loop);
    decode_tile(next_tile, true);
    a_.first = row_;
    b_.first = column_;
    const Reg k = first_k_tile_.empty() ? w_.constant_b32(0) : w_.multiply_by(first_k_tile_, tile_k_);
    const Reg left = w_.make_b32("mov.u32", count_);
    const std::string next_k = w_.new_label("produce");
    w_.place(next_k);
    const Reg barrier = w_.make_b32("mad.lo.u32", stage, 8, shared_);
    wait(barrier, layout_.empty, parity);
    const Reg full = w_.make_b32("add.u32", barrier, layout_.full);
    w_.op("mbarrier.arrive.expect_tx.shared::cta.b64", "_", at(full), layout_.stage_bytes());
    for (const Operand* operand : {&a_, &b_}) {
        copy_operand(*operand, k, w_.make_b32("mad.lo.u32", stage, operand->bytes, shared_), full);
    }
    w_.op("add.u32", k, k, tile_k_);
    w_.op("add.u32", stage, stage, 1);
    const Reg wraps = w_.make_predicate("setp.eq.u32", stage, tile_.stages);
    w_.op_if(wraps, "mov.u32", stage, 0);
    w_.op_if(wraps, "xor.b32", parity, parity, 1);
    w_.op("sub.u32", left, left, 1);
    w_.jump_if(w_.make_predicate("setp.ne.u32", left, 0), next_k);
    w_.place(next_tile);
    w_.op("add.u32", id, id, id_step_);
    w_.jump_if(w_.make_predicate("setp.lt.u32", id, tiles_), loop);
}

/// The low half of a descriptor has the address, the high half is the same for all.
Reg Writer::descriptor(const Reg& low, unsigned offset) {
    const Reg word = offset == 0 ? low : w_.make_b32("add.u32", low, offset / 16);
    return w_.make_b64("mov.b64", "{" + word + ", " + high_ + "}");
}

void Writer::hoist_descriptors() {
    // 8 lines of 128 bytes with their swizzle, 1,024 bytes from one such group to the next; where rows are
    // contiguous, 64 of them to the line and tile_k lines to the next 64.
    constexpr std::uint32_t kHigh = 1u << 30 | kSwizzleAtom / 16;
    high_ = w_.constant_b32(kHigh);
    const auto low_of = [&](const Operand& operand, const Reg& first) {
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
    const unsigned hoisted = 2 * tile_.stages * kSteps * (layout_.fragments + 1);
    if (accumulators + hoisted + 32 > shares_of(tile_).consumer) {
        const unsigned ready = 2 * kSteps * (layout_.fragments + 1);
        if (!drains() || accumulators + ready + 32 > shares_of(tile_).consumer) return;
        for (unsigned i = 0; i < kSteps * layout_.fragments; ++i) ready_rows_.push_back(w_.b64());
        for (unsigned i = 0; i < kSteps; ++i) ready_columns_.push_back(w_.b64());
        return;
    }
    for (unsigned s = 0; s < tile_.stages; ++s) {
        for (unsigned step = 0; step < kSteps; ++step) {
            for (unsigned f = 0; f < layout_.fragments; ++f)
                row_descriptors_.push_back(descriptor(row_low_, row_offset(s, step, f)));
            column_descriptors_.push_back(descriptor(column_low_, column_offset(s, step)));
        }
    }
}

/// Descriptors of stage s, or of the one at which `row_low` and `column_low` are, while a product runs.
void Writer::make_ready(const Reg& row_low, const Reg& column_low, unsigned s) {
    const auto set = [&](const Reg& ready, const Reg& low, unsigned offset) {
        const Reg word = offset == 0 ? low : w_.make_b32("add.u32", low, offset / 16);
        w_.op("mov.b64", ready, "{" + word + ", " + high_ + "}");
    };
    if (ready_columns_.empty()) return;
    for (unsigned step = 0; step < kSteps; ++step) {
        set(ready_columns_[step], column_low, column_offset(s, step));
        for (unsigned f = 0; f < layout_.fragments; ++f)
            set(ready_rows_[step * layout_.fragments + f], row_low, row_offset(s, step, f));
    }
}

void Writer::multiply(unsigned s, bool first_round) {
    const std::string a = input_name(spec_.type), b = input_name(spec_.type_b.value_or(spec_.type));
    const unsigned depth = kInstructionBytes / bytes_of(spec_.type);
    const bool integers = spec_.type == ElementType::i8;
    const std::string opcode = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(tile_.columns()) + "k" +
                               std::to_string(depth) + (integers ? ".s32." : ".f32.") +
                               (tile_.swap ? b + "." + a : a + "." + b);
    for (unsigned step = 0; step < kSteps; ++step) {
        const std::size_t place = std::size_t{s} * kSteps + step;
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
void Writer::stage(unsigned s, bool first_round, const std::string& exit) {
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

void Writer::drained_stage(unsigned s, bool first_round, const std::string& exit) {
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
void Writer::consume_tile() {
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
GemmParameters Writer::parameters_of_entry(const WgmmaPlace& place) {
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

void Writer::consume() {
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
    w_.op("add.u32", id_, id_, id_step_);
    w_.jump_if(w_.make_predicate("setp.lt.u32", id_, tiles_), loop);
    w_.place(done);
    if (output) output->drain();
}

}  // namespace

bool wgmma_sums_fit(const WgmmaTile& tile) {
    constexpr unsigned kBeside = 24;  // addresses, counters
    return accumulators_of(tile) + kBeside <= shares_of(tile).consumer;
}

GeneratedKernel generate_gemm_wgmma(const GemmWgmmaSpec& spec) {
    check(spec);
    return Writer(spec).write();
}

}  // namespace heddle::kernels
