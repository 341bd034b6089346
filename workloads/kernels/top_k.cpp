#include "workloads/kernels/top_k.h"

#include <cmath>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kTopKThreads = 128;

}  // namespace

GeneratedKernel generate_top_k(const TopKSpec& spec) {
    if (spec.columns == 0 || spec.columns > 1024 || spec.k == 0 || spec.k > spec.columns || spec.k > 64)
        throw Error("top-k takes rows of 1 to 1,024 columns, and k of at most 64");
    if (spec.index != ElementType::i64 && spec.index != ElementType::i32)
        throw Error("positions are i32 or i64, not " + name_of(spec.index));
    const unsigned turns = divide_up(spec.columns, 32), size = bytes_of(spec.x);
    PtxWriter w("top_" + std::to_string(spec.k) + "_of_" + std::to_string(spec.columns) + "_" +
                    name_of(spec.x) + "_" + name_of(spec.index),
                spec.compute_capability);
    const Reg values_out = w.pointer_parameter("values"), indices_out = w.pointer_parameter("indices");
    const Reg x = w.pointer_parameter("x"), rows = w.b32_parameter("rows");
    const Reg tid = w.tid(), lane = w.make_b32("and.b32", tid, 31);
    const Reg row = w.make_b32("mad.lo.u32", w.cta_x(), kTopKThreads / 32, w.make_b32("shr.u32", tid, 5));
    w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const Reg start =
        w.make_b64("add.s64", w.make_b64("mul.wide.u32", row, spec.columns), w.make_b64("cvt.u64.u32", lane));
    const Reg address = w.make_b64("mad.lo.s64", start, size, x);
    std::vector<Reg> values;
    std::vector<RawVector> raw;
    std::vector<Reg> guards;
    for (unsigned i = 0; i < turns; ++i) {
        guards.push_back((i + 1) * 32 <= spec.columns
                             ? Reg{}
                             : w.make_predicate("setp.lt.u32", lane, spec.columns - i * 32));
        raw.push_back(load_raw(w, "ld.global", spec.x, 1, address, std::int64_t{i} * 32 * size, guards[i]));
    }
    for (unsigned i = 0; i < turns; ++i) {
        const Reg value = convert_raw(w, raw[i], ComputeType::f32)[0];
        values.push_back(
            guards[i].empty() ? value : w.make_f32("selp.f32", value, f32_immediate(-INFINITY), guards[i]));
    }
    // What was taken is marked, not overwritten: a row may hold -infinity.
    std::vector<Reg> taken;
    for (unsigned i = 0; i < turns; ++i)
        taken.push_back(guards[i].empty() ? w.constant_b32(0) : w.make_b32("selp.b32", 0, 1, guards[i]));
    const Reg first_lane = w.make_predicate("setp.eq.u32", lane, 0);
    const Reg out = w.make_b32("mul.lo.u32", row, spec.k);
    for (unsigned j = 0; j < spec.k; ++j) {
        const Reg best = w.constant_f32(-INFINITY), place = w.constant_b32(0x7fffffff);
        const auto keep = [&](const Reg& value, const Reg& index, const Reg& allowed) {
            const Reg larger = w.make_predicate("setp.gt.f32", value, best);
            const Reg equal = w.make_predicate("setp.eq.f32", value, best);
            const Reg earlier = w.make_predicate("setp.lt.u32", index, place);
            Reg wins = w.make_predicate("or.pred", larger, w.make_predicate("and.pred", equal, earlier));
            if (!allowed.empty()) wins = w.make_predicate("and.pred", wins, allowed);
            w.op("selp.f32", best, value, best, wins);
            w.op("selp.b32", place, index, place, wins);
        };
        for (unsigned i = 0; i < turns; ++i) {
            const Reg own = i == 0 ? lane : w.make_b32("add.u32", lane, i * 32);
            keep(values[i], own, w.make_predicate("setp.eq.u32", taken[i], 0));
        }
        for (unsigned distance = 16; distance >= 1; distance /= 2) {
            const Reg value = w.make_f32("shfl.sync.bfly.b32", best, distance, 31, "0xffffffff");
            keep(value, w.make_b32("shfl.sync.bfly.b32", place, distance, 31, "0xffffffff"), {});
        }
        for (unsigned i = 0; i < turns; ++i) {
            const Reg own = i == 0 ? lane : w.make_b32("add.u32", lane, i * 32);
            w.op("selp.b32", taken[i], 1, taken[i], w.make_predicate("setp.eq.u32", place, own));
        }
        const Reg slot = j == 0 ? out : w.make_b32("add.u32", out, j);
        store_elements(w, "st.global", spec.x, {best}, w.element_address(values_out, slot, size), 0,
                       ComputeType::f32, first_lane);
        if (spec.index == ElementType::i64) {
            w.op_if(first_lane, "st.global.u64", at(w.element_address(indices_out, slot, 8)),
                    w.make_b64("cvt.u64.u32", place));
        } else {
            w.op_if(first_lane, "st.global.u32", at(w.element_address(indices_out, slot, 4)), place);
        }
    }
    return w.finish({kTopKThreads, 1, 1});
}

Extent3 top_k_grid(const TopKSpec&, std::uint32_t rows) {
    return {divide_up(rows, kTopKThreads / 32), 1, 1};
}

}  // namespace heddle::kernels
