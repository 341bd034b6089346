#include "workloads/kernels/dropout.h"

#include <algorithm>

#include "workloads/kernels/philox_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kDropoutThreads = 256, kWidth = 4, kCtasPerSm = 8;

}  // namespace

GeneratedKernel generate_dropout(const DropoutSpec& spec) {
    PtxWriter w("dropout_" + name_of(spec.x) + "_" + name_of(spec.y) + (spec.mask ? "_mask" : ""),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), mask = spec.mask ? w.pointer_parameter("mask") : Reg{};
    const Reg x = w.pointer_parameter("x"), elements = w.b32_parameter("elements");
    const std::array<Reg, 2> seed{w.b32_parameter("seed_low"), w.b32_parameter("seed_high")};
    const Reg offset_low = w.b32_parameter("offset_low"), offset_high = w.b32_parameter("offset_high");
    const Reg probability = w.f32_parameter("probability"), scale = w.f32_parameter("scale");
    const Reg block = w.make_b32("mad.lo.u32", w.cta_x(), kDropoutThreads, w.tid());
    const Reg step = w.make_b32("mul.lo.u32", w.make_b32("mov.u32", "%nctaid.x"), kDropoutThreads);
    const Reg first = w.make_b32("mul.lo.u32", block, kWidth);
    const Reg zero = w.constant_b32(0);
    const std::string loop = w.new_label("block"), single = w.new_label("single"), done = w.new_label("done"),
                      next = w.new_label("next");
    w.jump_if(w.make_predicate("setp.ge.u32", first, elements), done);
    w.place(loop);
    const auto words = emit_philox(w, {offset_low, offset_high, block, zero}, seed);
    std::vector<Reg> factors, kept;
    for (const Reg& word : words) {
        const Reg keep = w.make_predicate("setp.ge.f32", emit_uniform(w, word), probability);
        kept.push_back(w.make_f32("selp.f32", f32_immediate(1), f32_immediate(0), keep));
        factors.push_back(w.make_f32("mul.rn.f32", kept.back(), scale));
    }
    const auto part = [&](unsigned begin, unsigned width, const Reg& guard) {
        const Reg at_element = begin == 0 ? first : w.make_b32("add.u32", first, begin);
        std::vector<Reg> values =
            load_elements(w, "ld.global", spec.x, width, w.element_address(x, at_element, bytes_of(spec.x)),
                          0, ComputeType::f32, guard);
        for (unsigned i = 0; i < width; ++i)
            values[i] = w.make_f32("mul.rn.f32", values[i], factors[begin + i]);
        store_elements(w, "st.global", spec.y, values, w.element_address(y, at_element, bytes_of(spec.y)), 0,
                       ComputeType::f32, guard);
        if (!spec.mask) return;
        store_elements(w, "st.global", ElementType::boolean,
                       {kept.begin() + begin, kept.begin() + begin + width},
                       w.element_address(mask, at_element, 1), 0, ComputeType::f32, guard);
    };
    const Reg last = w.make_b32("add.u32", first, kWidth);
    w.jump_if(w.make_predicate("setp.gt.u32", last, elements), single);
    part(0, kWidth, {});
    w.jump(next);
    w.place(single);
    for (unsigned i = 0; i < kWidth; ++i) {
        const Reg own = i == 0 ? first : w.make_b32("add.u32", first, i);
        part(i, 1, w.make_predicate("setp.lt.u32", own, elements));
    }
    w.place(next);
    w.op("add.u32", block, block, step);
    w.op("mad.lo.u32", first, step, kWidth, first);
    w.jump_if(w.make_predicate("setp.lt.u32", first, elements), loop);
    w.place(done);
    return w.finish({kDropoutThreads, 1, 1});
}

Extent3 dropout_grid(const DropoutSpec&, std::uint32_t elements, unsigned sm_count) {
    return {std::max(1u, std::min(divide_up(elements, kDropoutThreads * kWidth), kCtasPerSm * sm_count)), 1, 1};
}

}  // namespace heddle::kernels
