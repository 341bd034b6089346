#include "workloads/kernels/attention_wgmma_parts.h"

namespace heddle::kernels {

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
              "[" + map + ", {" + w_.constant_b32(panel * kLineElements) + ", " + row + ", " + head + ", " +
                  batch + "}]",
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
