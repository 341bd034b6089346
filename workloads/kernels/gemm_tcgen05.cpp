// A GEMM by tcgen05: how Blackwell's tensor core is fed and where its sums go. Tiles, ring and copies are those of gemm_wgmma_producer.cpp.
//
// Warps 0 to 3 store sums, of the lanes of tensor memory that they reach; one thread of warp 4 copies, one of warp 5 issues products. Tensor
// memory holds the sums of two tiles, so that one is multiplied while the other is stored. Of a pair of CTAs the first issues the products for
// both, and its barriers count the copies of both; tcgen05.commit tells both that a stage is empty and that sums are complete.
#include <algorithm>
#include <bit>

#include "workloads/kernels/gemm_wgmma_writer.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kStoringWarps = 4;
constexpr unsigned kSumBuffers = 2;

struct TensorInput {
    const char* kind;
    unsigned code;  // in the instruction descriptor
};

TensorInput tensor_input(ElementType type) {
    switch (type) {
        case ElementType::f16:
            return {"f16", 0};
        case ElementType::bf16:
            return {"f16", 1};
        case ElementType::f32:
            return {"tf32", 2};
        case ElementType::i8:
            return {"i8", 1};
        case ElementType::e5m2:
            return {"f8f6f4", 1};
        default:
            return {"f8f6f4", 0};
    }
}

}  // namespace

void GemmWgmmaWriter::set_up_tensor_memory() {
    const std::string done = w_.new_label("barriers"), allocated = w_.new_label("allocated");
    const Reg tid = w_.tid();
    w_.jump_if(w_.make_predicate("setp.ne.u32", tid, 0), done);
    const Reg one = w_.constant_b32(1), ctas = w_.constant_b32(tile_.cluster_m), stores = w_.constant_b32(kStoringWarps * tile_.cluster_m);
    for (unsigned s = 0; s < tile_.stages; ++s) {
        w_.op("mbarrier.init.shared::cta.b64", at(shared_, layout_.full + 8 * s), ctas);
        w_.op("mbarrier.init.shared::cta.b64", at(shared_, layout_.empty + 8 * s), one);
    }
    for (unsigned s = 0; s < kSumBuffers; ++s) {
        w_.op("mbarrier.init.shared::cta.b64", at(shared_, layout_.sums_full + 8 * s), one);
        w_.op("mbarrier.init.shared::cta.b64", at(shared_, layout_.sums_empty + 8 * s), stores);
    }
    w_.op("fence.mbarrier_init.release.cluster");
    w_.place(done);
    const Reg allocates = w_.make_predicate("setp.eq.u32", w_.divide_by(tid, 32), kStoringWarps + 1);
    w_.jump_unless(allocates, allocated);
    w_.op("tcgen05.alloc." + group() + ".sync.aligned.shared::cta.b32", at(shared_, layout_.tensor_address), std::bit_ceil(kSumBuffers * sum_columns()));
    w_.op("tcgen05.relinquish_alloc_permit." + group() + ".sync.aligned");
    w_.place(allocated);
    w_.op("tcgen05.fence::before_thread_sync");
    if (tile_.cluster_size() > 1) {
        w_.op("barrier.cluster.arrive");
        w_.op("barrier.cluster.wait");
    } else {
        w_.op("barrier.sync", 0);
    }
    w_.op("tcgen05.fence::after_thread_sync");
    tensor_memory_ = w_.make_b32("ld.shared.b32", at(shared_, layout_.tensor_address));
}

/// One thread. `end`: where it goes on afterwards.
void GemmWgmmaWriter::issue_products(const std::string& end) {
    const TensorInput a = tensor_input(spec_.type), b = tensor_input(spec_.type_b.value_or(spec_.type));
    const unsigned rows_of_product = tile_.m * tile_.cluster_m;
    const std::uint32_t type_of_sums = spec_.type == ElementType::i8 ? 2 : 1;
    const Reg descriptor_of_product =
        w_.constant_b32(std::int64_t{type_of_sums << 4 | a.code << 7 | b.code << 10 | (rows().along_k ? 0u : 1u) << 15 | (columns().along_k ? 0u : 1u) << 16 |
                                     tile_.columns() / 8 << 17 | rows_of_product / 16 << 24});
    // 8 lines of 128 bytes with their swizzle, as wgmma has them; bit 46 is set, and the swizzle has another code.
    high_ = w_.constant_b32(std::int64_t{2u << 29 | 1u << 14 | kSwizzleAtom / 16});
    const auto low_of = [&](const WgmmaOperand& operand) {
        const std::uint32_t leading = operand.along_k ? 1 : tile_k_ * 128 / 16;
        const Reg address = w_.make_b32("shr.u32", w_.make_b32("add.u32", shared_, operand.offset), 4);
        return w_.make_b32("add.u32", address, leading << 16);
    };
    row_low_ = low_of(rows());
    column_low_ = low_of(columns());
    Reg both;
    if (paired()) {
        both = w_.b16();
        w_.op("mov.u16", both, 3);
        w_.jump_if(w_.make_predicate("setp.ne.u32", rank_m_, 0), end);
    }
    const auto commit = [&](const Reg& barrier) {
        const std::string opcode = "tcgen05.commit." + group() + ".mbarrier::arrive::one.shared::cluster";
        if (paired())
            w_.op(opcode + ".multicast::cluster.b64", at(barrier), both);
        else
            w_.op(opcode + ".b64", at(barrier));
    };
    const Reg stage = w_.constant_b32(0), parity = w_.constant_b32(0), buffer = w_.constant_b32(0), buffer_parity = w_.constant_b32(1);
    const Reg adds = w_.predicate();
    const std::string loop = w_.new_label("multiply_tile"), next = w_.new_label("multiplied"), next_k = w_.new_label("multiply");
    w_.jump_if(w_.make_predicate("setp.ge.u32", id_, tiles_), end);
    w_.place(loop);
    decode_tile(next, false);
    const Reg left = w_.make_b32("mov.u32", count_);
    const Reg sums_barrier = w_.make_b32("mad.lo.u32", buffer, 8, shared_);
    wait(sums_barrier, layout_.sums_empty, buffer_parity);
    w_.op("tcgen05.fence::after_thread_sync");
    const Reg sums = w_.make_b32("mad.lo.u32", buffer, sum_columns(), tensor_memory_);
    w_.op("setp.ne.u32", adds, left, left);
    w_.place(next_k);
    const Reg barrier = w_.make_b32("mad.lo.u32", stage, 8, shared_);
    wait(barrier, layout_.full, parity);
    w_.op("tcgen05.fence::after_thread_sync");
    const Reg row_low = w_.make_b32("mad.lo.u32", stage, rows().bytes / 16, row_low_);
    const Reg column_low = w_.make_b32("mad.lo.u32", stage, columns().bytes / 16, column_low_);
    for (unsigned step = 0; step < kWgmmaSteps; ++step) {
        w_.op("tcgen05.mma." + group() + ".kind::" + a.kind, at(sums), descriptor(row_low, step * step_bytes(rows())),
              descriptor(column_low, step * step_bytes(columns())), descriptor_of_product, adds);
        if (step == 0) w_.op("setp.eq.u32", adds, left, left);
    }
    commit(w_.make_b32("add.u32", barrier, layout_.empty));
    w_.op("add.u32", stage, stage, 1);
    const Reg wraps = w_.make_predicate("setp.eq.u32", stage, tile_.stages);
    w_.op_if(wraps, "mov.u32", stage, 0);
    w_.op_if(wraps, "xor.b32", parity, parity, 1);
    w_.op("sub.u32", left, left, 1);
    w_.jump_if(w_.make_predicate("setp.ne.u32", left, 0), next_k);
    commit(w_.make_b32("add.u32", sums_barrier, layout_.sums_full));
    w_.op("xor.b32", buffer, buffer, 1);
    w_.op_if(w_.make_predicate("setp.eq.u32", buffer, 0), "xor.b32", buffer_parity, buffer_parity, 1);
    w_.place(next);
    next_tile(loop);
}

/// Through shared memory and TMA: each warp its 32 rows, a line of 128 bytes (or what N leaves) at a time.
void GemmWgmmaWriter::store_staged_sums(const Reg& sums, const Reg& warp, const Reg& lane) {
    const WgmmaStore shape(spec_);
    const unsigned size = bytes_of(shape.type), columns = shape.inner, line = shape.line_bytes;
    const Reg area = w_.make_b32("mad.lo.u32", warp, 32 * 128, shared_);
    const Reg buffer = w_.make_b32("add.u32", area, layout_.staging);
    const Reg own = w_.make_b32("mad.lo.u32", lane, line, buffer);
    const Reg swizzle = w_.make_b32("and.b32", w_.make_b32("shr.u32", own, 3), (line / 16 - 1) << 4);
    const Reg elected = w_.make_predicate("setp.eq.u32", lane, 0);
    const Reg row = w_.make_b32("mad.lo.u32", warp, 32, row_);
    for (unsigned first = 0; first < tile_.columns(); first += columns) {
        const std::vector<Reg> words = w_.b32s(columns);
        w_.op("tcgen05.ld.sync.aligned.32x32b.x" + std::to_string(columns) + ".b32", vector_of(words), at(sums, first));
        w_.op("tcgen05.wait::ld.sync.aligned");
        std::vector<Reg> packed = words;
        if (size == 2) {
            packed.clear();
            for (unsigned i = 0; i < columns; i += 2) {
                const Reg low = w_.make_f32("mov.b32", words[i]), high = w_.make_f32("mov.b32", words[i + 1]);
                packed.push_back(pack_pair(w_, shape.type, low, high));
            }
        }
        w_.op_if(elected, "cp.async.bulk.wait_group.read", 0);
        w_.warp_barrier();
        for (unsigned chunk = 0; chunk < line / 16; ++chunk) {
            const Reg to = w_.make_b32("xor.b32", swizzle, chunk * 16);
            w_.op("st.shared.v4.b32", at(w_.make_b32("add.u32", own, to)), vector_of({packed.begin() + 4 * chunk, packed.begin() + 4 * chunk + 4}));
        }
        w_.op("fence.proxy.async.shared::cta");
        w_.warp_barrier();
        const std::string skip = w_.new_label("stored");
        w_.jump_unless(elected, skip);
        std::vector<Reg> corner{first == 0 ? column_ : w_.make_b32("add.u32", column_, first), row};
        if (batched_ || split_) corner.push_back(entry_);
        w_.op(std::string("cp.async.bulk.tensor.") + (batched_ || split_ ? "3d" : "2d") + ".global.shared::cta.tile.bulk_group", at_box(map_d_, corner), at(buffer));
        w_.op("cp.async.bulk.commit_group");
        w_.place(skip);
    }
}

/// A lane stores its row, through the epilogue's expression.
void GemmWgmmaWriter::store_direct_sums(const Reg& sums, const Reg& warp, const Reg& lane) {
    WgmmaPlace place{row_, column_, batched_ || split_ ? entry_ : Reg{}, warpgroup_, thread_};
    const GemmParameters parameters = parameters_of_entry(place);
    const Reg row = w_.make_b32("add.u32", w_.make_b32("mad.lo.u32", warp, 32, row_), lane);
    GemmOutput output(w_, parameters, spec_.epilogue, split_, ComputeType::f32, row, column_);
    for (unsigned first = 0; first < tile_.columns(); first += 16) {
        const std::vector<Reg> values = w_.f32s(16);
        w_.op("tcgen05.ld.sync.aligned.32x32b.x16.b32", vector_of(values), at(sums, first));
        w_.op("tcgen05.wait::ld.sync.aligned");
        output.store(first, values);
    }
}

void GemmWgmmaWriter::store_sums() {
    const Reg warp = w_.divide_by(thread_, 32), lane = w_.make_b32("and.b32", thread_, 31);
    const Reg own = w_.make_b32("mad.lo.u32", warp, 32u << 16, tensor_memory_);
    const Reg buffer = w_.constant_b32(0), parity = w_.constant_b32(0);
    const Reg elected = w_.make_predicate("setp.eq.u32", lane, 0);
    const std::string loop = w_.new_label("store_tile"), next = w_.new_label("next"), done = w_.new_label("stored_all");
    w_.jump_if(w_.make_predicate("setp.ge.u32", id_, tiles_), done);
    w_.place(loop);
    decode_tile(next, false);
    const Reg barrier = w_.make_b32("mad.lo.u32", buffer, 8, shared_);
    wait(barrier, layout_.sums_full, parity);
    w_.op("tcgen05.fence::after_thread_sync");
    const Reg sums = w_.make_b32("mad.lo.u32", buffer, sum_columns(), own);
    if (staged_)
        store_staged_sums(sums, warp, lane);
    else
        store_direct_sums(sums, warp, lane);
    w_.op("tcgen05.fence::before_thread_sync");
    w_.warp_barrier();
    const Reg empty = of_leader(w_.make_b32("add.u32", barrier, layout_.sums_empty));
    w_.op_if(elected, paired() ? "mbarrier.arrive.release.cluster.shared::cluster.b64" : "mbarrier.arrive.shared::cta.b64", "_", at(empty));
    w_.op("xor.b32", buffer, buffer, 1);
    w_.op_if(w_.make_predicate("setp.eq.u32", buffer, 0), "xor.b32", parity, parity, 1);
    w_.place(next);
    next_tile(loop);
    w_.place(done);
    if (staged_) w_.op_if(elected, "cp.async.bulk.wait_group.read", 0);
}

GeneratedKernel GemmWgmmaWriter::write_tensor_memory() {
    w_.use_architecture_specific();
    w_.require_version("9.0");
    const unsigned size = tile_.cluster_size();
    w_.set_cluster({size, 1, 1});
    w_.limit_registers(248);
    parameters();
    positions();
    set_up_tensor_memory();
    const std::string producer = w_.new_label("producer"), issuer = w_.new_label("issuer"), end = w_.new_label("end");
    w_.jump_if(w_.make_predicate("setp.eq.u32", warpgroup_, 1), producer);
    store_sums();
    w_.jump(end);
    w_.place(producer);
    w_.jump_if(w_.make_predicate("setp.eq.u32", thread_, 32), issuer);
    produce(end);
    w_.jump(end);
    w_.place(issuer);
    issue_products(end);
    w_.place(end);
    w_.op("tcgen05.fence::before_thread_sync");
    if (size > 1) {
        w_.op("barrier.cluster.arrive");
        w_.op("barrier.cluster.wait");
    } else {
        w_.op("barrier.sync", 0);
    }
    const std::string freed = w_.new_label("freed");
    w_.jump_unless(w_.make_predicate("setp.eq.u32", w_.divide_by(w_.tid(), 32), kStoringWarps + 1), freed);
    w_.op("tcgen05.dealloc." + group() + ".sync.aligned.b32", tensor_memory_, std::bit_ceil(kSumBuffers * sum_columns()));
    w_.place(freed);
    return w_.finish({tile_.threads(), 1, 1});
}

}  // namespace heddle::kernels
