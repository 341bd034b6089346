#include <algorithm>

#include "isa/common/error.h"
#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/attention_wgmma_parts.h"

namespace heddle::kernels {

AttentionWgmmaLaunch attention_wgmma_launch(const AttentionWgmmaSpec& spec, const AttentionProblem& p,
                                            unsigned sm_count) {
    AttentionWgmmaLaunch launch;
    std::vector<KernelArgument>& arguments = launch.arguments;
    const auto map = [&](const char* name, const AttentionOperand& operand, std::uint32_t rows,
                         std::uint32_t heads, std::uint32_t batch, unsigned lines) {
        arguments.push_back(tensor_map_argument(
            name, operand.memory,
            attention_operand_map(spec.type, spec.head_dim, operand, rows, heads, batch, lines)));
    };
    map("tensor_q", p.q, p.queries, p.heads, p.batch, kWarpgroupRows);
    const auto map_keys = [&](const char* name, const AttentionOperand& operand) {
        if (!spec.paged) return map(name, operand, p.keys, p.kv_heads, p.batch, spec.block_n);
        map(name, operand, kAttentionPage, p.kv_heads, p.pages, kAttentionPage);
    };
    map_keys("tensor_k", p.k);
    map_keys("tensor_v", p.v);
    const auto pointer = [&](const char* name, KernelArgument argument) {
        argument.parameter = name;
        arguments.push_back(std::move(argument));
    };
    pointer("o", p.o.memory);
    pointer("lse", p.lse);
    pointer("counter", p.counter);
    if (spec.paged) {
        pointer("page_list", p.page_list);
        arguments.push_back(integer_argument("pages_per_entry", p.pages_per_entry));
    }
    const std::uint32_t blocks = divide_up(p.queries, kAttentionWgmmaQueries);
    const std::uint64_t tiles = std::uint64_t{blocks} * p.heads * p.batch;
    if (tiles + sm_count >= std::uint64_t{1} << 31)
        throw Error("attention with " + std::to_string(tiles) + " tiles", {}, "divide the batch");
    const auto integer = [&](const char* name, std::uint64_t value) {
        arguments.push_back(integer_argument(name, value));
    };
    integer("queries", p.queries);
    integer("keys", p.keys);
    integer("heads", p.heads);
    integer("tiles", tiles);
    integer("o_row", p.o.row);
    integer("o_head", p.o.head);
    integer("o_batch", p.o.batch);
    add_divider_arguments(arguments, "outer", spec.longest_first ? p.batch * p.heads : p.heads * blocks);
    add_divider_arguments(arguments, "inner", spec.longest_first ? p.batch : blocks);
    add_divider_arguments(arguments, "heads_per_kv_head", p.heads / p.kv_heads);
    arguments.push_back(f32_argument("scale", p.scale));
    if (spec.dropout) add_dropout_arguments(arguments, p.dropout, p.stream);
    launch.grid[0] = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, sm_count));
    return launch;
}

AttentionWgmmaSpec attention_wgmma_choice(ElementType type, unsigned head_dim, bool causal,
                                          const AttentionProblem& p, std::uint64_t l2_bytes) {
    AttentionWgmmaSpec spec;
    spec.type = type;
    spec.head_dim = head_dim;
    spec.causal = causal;
    spec.block_n = head_dim <= 64 ? 256 : 128;
    spec.take_turns = false;
    const std::uint64_t bytes = std::uint64_t{4} * p.batch * p.heads * p.keys * head_dim;
    spec.longest_first = causal && bytes <= l2_bytes;
    spec.dropout = p.dropout > 0;
    spec.narrow_dropout =
        spec.dropout && narrow_dropout(std::uint64_t{p.batch} * p.heads * p.queries, p.keys);
    return spec;
}

}  // namespace heddle::kernels
