// What stands before and after the gradient of attention on Hopper, and the launches.
#include <cmath>

#include "isa/common/error.h"
#include "workloads/kernels/attention_grad_wgmma.h"
#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/attention_wgmma_parts.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kRowThreads = 128, kFinishThreads = 256;

std::string name_for(const char* stem, const AttentionGradWgmmaSpec& spec) {
    return std::string(stem) + "_" + name_of(spec.type) + "_d" + std::to_string(spec.head_dim);
}

/// A pointer to a head of a batch entry (grid y and z).
Reg head_pointer(PtxWriter& w, const Reg& base, const Reg& batch_stride, const Reg& head_stride) {
    const Reg batch = w.make_b64("mul.lo.u64", w.make_b64("cvt.u64.u32", w.cta_y()), batch_stride);
    const Reg elements = w.make_b64("mad.wide.u32", w.cta_z(), head_stride, batch);
    return w.make_b64("add.s64", base, w.make_b64("shl.b64", elements, 1));
}
Reg matrix_of(PtxWriter& w) {
    return w.make_b32("mad.lo.u32", w.cta_y(), w.make_b32("mov.u32", "%nctaid.z"), w.cta_z());
}

}  // namespace

GeneratedKernel generate_attention_grad_wgmma_rows(const AttentionGradWgmmaSpec& spec) {
    PtxWriter w(name_for("attention_grad_wgmma_rows", spec), spec.compute_capability);
    const unsigned lanes = spec.head_dim / 8, rows = kRowThreads / lanes;
    const Reg shift = w.pointer_parameter("shift"), delta = w.pointer_parameter("delta"),
              accumulator = w.pointer_parameter("dq_accumulator"), o = w.pointer_parameter("o"),
              d_o = w.pointer_parameter("d_o"), lse = w.pointer_parameter("lse");
    const Reg queries = w.b32_parameter("queries");
    const Reg o_row = w.b32_parameter("o_row"), o_head = w.b32_parameter("o_head");
    const Reg do_row = w.b32_parameter("do_row"), do_head = w.b32_parameter("do_head");
    const Reg o_batch = w.b64_parameter("o_batch"), do_batch = w.b64_parameter("do_batch");
    const Reg tid = w.tid();
    const Reg lane_in_row = w.remainder_by(tid, lanes), column = w.multiply_by(lane_in_row, 8);
    // The grid covers whole blocks of queries.
    const Reg row = w.make_b32("mad.lo.u32", w.cta_x(), rows, w.divide_by(tid, lanes));
    const Reg inside = w.make_predicate("setp.lt.u32", row, queries);
    const auto elements = [&](const Reg& base, const Reg& batch_stride, const Reg& head_stride,
                              const Reg& row_stride) {
        const Reg first = w.make_b64("mad.wide.u32", row, row_stride, w.make_b64("cvt.u64.u32", column));
        return load_raw(w, "ld.global", spec.type, 8,
                        w.make_b64("add.s64", head_pointer(w, base, batch_stride, head_stride),
                                   w.make_b64("shl.b64", first, 1)),
                        0, inside);
    };
    const RawVector o_raw = elements(o, o_batch, o_head, o_row),
                    do_raw = elements(d_o, do_batch, do_head, do_row);
    const Reg matrix = matrix_of(w);
    const Reg own = w.make_b64("mad.wide.u32", matrix, queries, w.make_b64("cvt.u64.u32", row));
    const Reg value = w.constant_f32(INFINITY);
    w.op_if(inside, "ld.global.f32", value, at(w.make_b64("add.s64", lse, w.make_b64("shl.b64", own, 2))));
    // Rows of the workspaces.
    const Reg grid_rows = w.multiply_by(w.make_b32("mov.u32", "%nctaid.x"), rows);
    const Reg place = w.make_b64("mad.wide.u32", matrix, grid_rows, w.make_b64("cvt.u64.u32", row));
    const Reg cleared = w.make_b64("mad.lo.u64", place, spec.head_dim, w.make_b64("cvt.u64.u32", column));
    const Reg clear_at = w.make_b64("add.s64", accumulator, w.make_b64("shl.b64", cleared, 2));
    const Reg zero = w.constant_f32(0);
    for (unsigned half = 0; half < 2; ++half)
        w.op("st.global.v4.f32", at(clear_at, half * 16), vector_of({zero, zero, zero, zero}));
    const std::vector<Reg> a = convert_raw(w, o_raw, ComputeType::f32),
                           b = convert_raw(w, do_raw, ComputeType::f32);
    const Reg sum = w.constant_f32(0);
    for (unsigned i = 0; i < 8; ++i) w.op("fma.rn.f32", sum, a[i], b[i], sum);
    emit_warp_reduce(w, Combine::add, {sum}, lanes);
    const Reg known = w.make_f32("selp.f32", sum, zero, inside);
    const Reg negative = w.make_f32("mul.rn.f32", value, f32_immediate(-kLog2E));
    const Reg writes = w.make_predicate("setp.eq.u32", lane_in_row, 0);
    const Reg offset = w.make_b64("shl.b64", place, 2);
    w.op_if(writes, "st.global.f32", at(w.make_b64("add.s64", delta, offset)), known);
    w.op_if(writes, "st.global.f32", at(w.make_b64("add.s64", shift, offset)), negative);
    return w.finish({kRowThreads, 1, 1});
}

GeneratedKernel generate_attention_grad_wgmma_finish(const AttentionGradWgmmaSpec& spec) {
    PtxWriter w(name_for("attention_grad_wgmma_finish", spec), spec.compute_capability);
    const Reg dq = w.pointer_parameter("dq"), accumulator = w.pointer_parameter("dq_accumulator");
    const Reg queries = w.b32_parameter("queries");
    const Reg dq_row = w.b32_parameter("dq_row"), dq_head = w.b32_parameter("dq_head");
    const Reg dq_batch = w.b64_parameter("dq_batch");
    const Reg scale = w.f32_parameter("scale");
    // A CTA has 64 x 64 elements. A thread has 8 columns of a row and of the row 8 further: what four
    // neighbouring threads of a consumer had.
    const Reg tid = w.tid(), part = w.cta_x();
    const Reg columns = w.remainder_by(tid, 8), quad = w.divide_by(tid, 8);
    const Reg parts = w.make_b32("mov.u32", "%nctaid.x");
    const Reg place = w.make_b64("mad.wide.u32", matrix_of(w), parts, w.make_b64("cvt.u64.u32", part));
    const Reg within = w.make_b32("mad.lo.u32", columns, kWarpgroupThreads, w.multiply_by(quad, 4));
    const Reg own =
        w.make_b64("add.s64", w.make_b64("shl.b64", place, 14), w.make_b64("mul.wide.u32", within, 16));
    const Reg from = w.make_b64("add.s64", accumulator, own);
    std::vector<std::vector<Reg>> fours;
    for (unsigned i = 0; i < 4; ++i)
        fours.push_back(load_raw(w, "ld.global", ElementType::f32, 4, from, i * 16).words);
    // Rows and columns of the head: parts are halves of columns (heads of 128) or follow one another.
    const Reg warp = w.divide_by(quad, 8), eighth = w.remainder_by(quad, 8);
    Reg row = w.make_b32("mad.lo.u32", warp, 16, eighth), column = w.multiply_by(columns, 8);
    if (spec.head_dim == 128) {
        row = w.make_b32("mad.lo.u32", w.divide_by(part, 2), kWarpgroupRows, row);
        column = w.make_b32("mad.lo.u32", w.remainder_by(part, 2), 64, column);
    } else {
        row = w.make_b32("mad.lo.u32", part, kWarpgroupRows, row);
    }
    const Reg base = head_pointer(w, dq, dq_batch, dq_head);
    for (unsigned half = 0; half < 2; ++half) {
        const Reg own_row = half == 0 ? row : w.make_b32("add.u32", row, 8);
        std::vector<Reg> words;
        for (const std::vector<Reg>& four : fours) {
            const Reg low = w.make_f32("mul.rn.f32", four[half * 2], scale),
                      high = w.make_f32("mul.rn.f32", four[half * 2 + 1], scale);
            words.push_back(pack_pair(w, spec.type, low, high));
        }
        const Reg element = w.make_b64("mad.wide.u32", own_row, dq_row, w.make_b64("cvt.u64.u32", column));
        w.op_if(w.make_predicate("setp.lt.u32", own_row, queries), "st.global.v4.b32",
                at(w.make_b64("add.s64", base, w.make_b64("shl.b64", element, 1))), vector_of(words));
    }
    return w.finish({kFinishThreads, 1, 1});
}

std::uint64_t attention_grad_wgmma_rows(const AttentionGradWgmmaSpec& spec, const AttentionGradProblem& p) {
    return std::uint64_t{p.batch} * p.heads * divide_up(p.queries, spec.block_m()) * spec.block_m();
}

std::vector<AttentionGradLaunch> attention_grad_wgmma_launches(const AttentionGradWgmmaSpec& spec,
                                                               const AttentionGradProblem& p) {
    if (p.kv_heads == 0 || p.heads % p.kv_heads != 0)
        throw Error("attention with " + std::to_string(p.heads) + " heads of queries and " +
                        std::to_string(p.kv_heads) + " of keys",
                    {}, "the first must be a multiple of the second");
    const std::uint32_t blocks = divide_up(p.queries, spec.block_m());
    const auto named = [](const char* name, KernelArgument argument) {
        argument.parameter = name;
        return argument;
    };
    const auto strides = [](std::vector<KernelArgument>& arguments, const std::string& name,
                            const AttentionOperand& operand) {
        arguments.push_back(integer_argument(name + "_row", operand.row));
        arguments.push_back(integer_argument(name + "_head", operand.head));
        arguments.push_back(integer_argument(name + "_batch", operand.batch));
    };
    std::vector<KernelArgument> rows{named("shift", p.shift),
                                     named("delta", p.delta),
                                     named("dq_accumulator", p.dq_accumulator),
                                     named("o", p.o.memory),
                                     named("d_o", p.d_o.memory),
                                     named("lse", p.lse),
                                     integer_argument("queries", p.queries)};
    strides(rows, "o", p.o);
    strides(rows, "do", p.d_o);

    const auto map = [&](const char* name, const AttentionOperand& operand, std::uint32_t extent,
                         std::uint32_t heads, unsigned lines) {
        return tensor_map_argument(
            name, operand.memory,
            attention_operand_map(spec.type, spec.head_dim, operand, extent, heads, p.batch, lines));
    };
    std::vector<KernelArgument> main{map("tensor_q", p.q, p.queries, p.heads, spec.block_m()),
                                     map("tensor_k", p.k, p.keys, p.kv_heads, kAttentionGradKeys),
                                     map("tensor_v", p.v, p.keys, p.kv_heads, kAttentionGradKeys),
                                     map("tensor_do", p.d_o, p.queries, p.heads, spec.block_m()),
                                     named("dq_accumulator", p.dq_accumulator),
                                     named("dk", p.dk.memory),
                                     named("dv", p.dv.memory),
                                     named("shift", p.shift),
                                     named("delta", p.delta),
                                     integer_argument("queries", p.queries),
                                     integer_argument("keys", p.keys),
                                     integer_argument("blocks", blocks),
                                     f32_argument("scale", p.scale)};
    add_divider_arguments(main, "heads_per_kv_head", p.heads / p.kv_heads);
    strides(main, "dk", p.dk);
    strides(main, "dv", p.dv);
    if (spec.dropout) add_dropout_arguments(main, p.dropout, p.stream);

    std::vector<KernelArgument> last{named("dq", p.dq.memory), named("dq_accumulator", p.dq_accumulator),
                                     integer_argument("queries", p.queries), f32_argument("scale", p.scale)};
    strides(last, "dq", p.dq);
    const unsigned rows_per_cta = kRowThreads / (spec.head_dim / 8);
    return {{generate_attention_grad_wgmma_rows(spec),
             {blocks * spec.block_m() / rows_per_cta, p.batch, p.heads},
             std::move(rows)},
            {generate_attention_grad_wgmma(spec),
             {divide_up(p.keys, kAttentionGradKeys), p.batch, p.heads},
             std::move(main)},
            {generate_attention_grad_wgmma_finish(spec), {blocks * 2, p.batch, p.heads}, std::move(last)}};
}

}  // namespace heddle::kernels
