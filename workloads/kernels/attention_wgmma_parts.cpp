#include "workloads/kernels/attention_wgmma_parts.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kStartRegisters = 168, kProducerRegisters = 24, kConsumerRegisters = 240;

}  // namespace

void check_attention_wgmma(ElementType type, unsigned head_dim, const SourceLocation& where) {
    if (type != ElementType::f16 && type != ElementType::bf16)
        throw Error("attention kernels take f16 or bf16, not " + name_of(type), where,
                    "cast, or use GEMM and softmax");
    if (head_dim != 64 && head_dim != 128)
        throw Error("attention kernels have head dimensions of 64 and 128", where, "use GEMM and softmax");
}

void AttentionWgmmaParts::begin() {
    w_.use_architecture_specific();
    w_.limit_registers(kStartRegisters);
}

AttentionWgmmaParts::Position AttentionWgmmaParts::position(unsigned bytes) {
    Position result;
    const Reg tid = w_.tid();
    result.group = w_.divide_by(tid, kWarpgroupThreads);
    result.thread = w_.make_b32("and.b32", tid, kWarpgroupThreads - 1);
    const Reg dynamic = w_.make_b32("mov.u32", w_.dynamic_shared(bytes + kAtom));
    result.shared =
        w_.make_b32("and.b32", w_.make_b32("add.u32", dynamic, kAtom - 1), -static_cast<std::int64_t>(kAtom));
    return result;
}

void AttentionWgmmaParts::make_barriers(const std::function<void()>& make) {
    const std::string done = w_.new_label("barriers");
    w_.jump_if(w_.make_predicate("setp.ne.u32", w_.tid(), 0), done);
    make();
    w_.op("fence.mbarrier_init.release.cluster");
    w_.place(done);
    w_.cta_barrier();
}

GeneratedKernel AttentionWgmmaParts::finish(const Reg& group, const Role& consume, const Role& produce) {
    const std::string producer = w_.new_label("producer"), end = w_.new_label("end");
    w_.jump_if(w_.make_predicate("setp.eq.u32", group, kAttentionConsumers), producer);
    w_.op("setmaxnreg.inc.sync.aligned.u32", kConsumerRegisters);
    consume(end);
    w_.jump(end);
    w_.place(producer);
    w_.op("setmaxnreg.dec.sync.aligned.u32", kProducerRegisters);
    produce(end);
    w_.place(end);
    return w_.finish({kAttentionThreads, 1, 1});
}

void AttentionWgmmaParts::make_barrier(const Reg& base, unsigned offset, const Reg& count) {
    w_.op("mbarrier.init.shared::cta.b64", at(base, offset), count);
}

void AttentionWgmmaParts::wait(const Reg& base, unsigned offset, const Reg& parity) {
    const std::string again = w_.new_label("wait");
    w_.place(again);
    w_.jump_unless(w_.make_predicate("mbarrier.try_wait.parity.shared::cta.b64", at(base, offset), parity),
                   again);
}

void AttentionWgmmaParts::arrive(const Reg& guard, const Reg& base, unsigned offset) {
    w_.op_if(guard, "mbarrier.arrive.shared::cta.b64", "_", at(base, offset));
}

void AttentionWgmmaParts::expect_bytes(const Reg& base, unsigned offset, unsigned bytes) {
    w_.op("mbarrier.arrive.expect_tx.shared::cta.b64", "_", at(base, offset), bytes);
}

void AttentionWgmmaParts::copy(const Reg& map, unsigned panels, unsigned lines, const Reg& to, const Reg& row,
                               const Reg& head, const Reg& batch, const Reg& barrier,
                               unsigned barrier_offset) {
    for (unsigned panel = 0; panel < panels; ++panel) {
        const Reg place = panel == 0 ? to : w_.make_b32("add.u32", to, panel * lines * kLine);
        w_.op("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", at(place),
              at_box(map, {w_.constant_b32(panel * kLineElements), row, head, batch}),
              at(barrier, barrier_offset));
    }
}

Reg AttentionWgmmaParts::descriptor_low(const Reg& address, unsigned panel_bytes) {
    return w_.make_b32("add.u32", w_.make_b32("shr.u32", address, 4),
                       static_cast<std::int64_t>(panel_bytes / 16) << 16);
}

Reg AttentionWgmmaParts::descriptor(const Reg& low, unsigned offset) {
    const Reg word = offset == 0 ? low : w_.make_b32("add.u32", low, offset / 16);
    return w_.make_b64("mov.b64", "{" + word + ", " + high_ + "}");
}

std::string AttentionWgmmaParts::opcode(unsigned columns) const {
    const std::string type = name_of(type_);
    return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." + type + "." + type;
}

std::vector<Reg> AttentionWgmmaParts::all_of(const AccumulatorTile& tile) {
    std::vector<Reg> all;
    for (const auto& four : tile[0]) all.insert(all.end(), four.begin(), four.end());
    return all;
}

TensorMapSpec attention_operand_map(ElementType type, unsigned head_dim, const AttentionOperand& operand,
                                    std::uint32_t rows, std::uint32_t heads, std::uint32_t batch,
                                    unsigned lines) {
    TensorMapSpec map;
    map.data_type = tensor_map_type(type);
    map.rank = 4;
    map.sizes = {head_dim, rows, heads, batch};
    map.strides = {operand.row * 2, operand.head * 2, operand.batch * 2};
    map.box = {kLineElements, lines, 1, 1};
    map.swizzle = 3;       // 128 bytes
    map.l2_promotion = 2;  // 128 bytes
    return map;
}

}  // namespace heddle::kernels
