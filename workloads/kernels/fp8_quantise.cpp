#include "workloads/kernels/fp8_quantise.h"

#include "isa/target/generation.h"
#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kAmaxThreads = 1024, kDivideThreads = 256, kUnroll = 4;

/// Elements from the thread's first on, a grid apart; the pointers are at the first.
StridedLoop elements_of(PtxWriter& w, const Fp8QuantiseSpec& spec, unsigned threads, const Reg& elements,
                        std::vector<std::pair<Reg, unsigned>> pointers) {
    const Reg first = w.make_b32("mad.lo.u32", w.cta_x(), threads, w.tid());
    for (auto& [pointer, bytes] : pointers) pointer = w.element_address(pointer, first, bytes);
    return {first, elements, threads * spec.ctas, kUnroll, std::move(pointers)};
}

/// One element at each of `count` places of the loop.
std::vector<Reg> load_places(PtxWriter& w, ElementType type, const StridedLoop& loop, unsigned count) {
    std::vector<RawVector> raw;
    for (unsigned i = 0; i < count; ++i)
        raw.push_back(load_raw(w, "ld.global", type, 1, loop.pointers[0].first,
                               std::int64_t{i} * loop.step * bytes_of(type)));
    std::vector<Reg> values;
    values.reserve(raw.size());
    for (const RawVector& each : raw) values.push_back(convert_raw(w, each, ComputeType::f32)[0]);
    return values;
}

std::string name_for(const char* what, const Fp8QuantiseSpec& spec) {
    return std::string(what) + "_" + name_of(spec.input) + "_" + name_of(spec.output) + "_ctas" +
           std::to_string(spec.ctas);
}

}  // namespace

double largest_finite(ElementType fp8) {
    return fp8 == ElementType::e5m2 ? 57344 : 448;
}

GeneratedKernel generate_clear_scale(unsigned compute_capability) {
    PtxWriter w("clear_scale", compute_capability);
    const Reg scale = w.pointer_parameter("scale");
    const Reg first = w.make_predicate("setp.eq.u32", w.tid(), 0);
    w.op_if(first, "st.global.b32", at(scale), w.constant_b32(0));
    return w.finish({32, 1, 1});
}

GeneratedKernel generate_amax_scale(const Fp8QuantiseSpec& spec) {
    PtxWriter w(name_for("amax_scale", spec), spec.compute_capability,
                target::first_with(&target::Generation::has_fp8), "8-bit floats");
    const Reg x = w.pointer_parameter("x"), scale = w.pointer_parameter("scale");
    const Reg elements = w.b32_parameter("elements");
    const std::string shared = w.shared("maxima", 4 * 32);
    const Reg largest = w.constant_f32(0);
    const StridedLoop loop = elements_of(w, spec, kAmaxThreads, elements, {{x, bytes_of(spec.input)}});
    emit_strided_loop(w, loop, [&](unsigned count) {
        for (const Reg& value : load_places(w, spec.input, loop, count))
            w.op("max.f32", largest, largest, w.make_f32("abs.f32", value));
    });
    const Reg tid = w.tid();
    emit_cta_reduce(w, Combine::maximum, {largest}, tid, kAmaxThreads, shared);
    // One thread goes on: dividing in all of them would take as long as the reduction.
    const std::string end = w.new_label("end");
    w.jump_if(w.make_predicate("setp.ne.u32", tid, 0), end);
    const double finite = largest_finite(spec.output);
    const Reg divided = w.make_f32("div.rn.f32", largest, f32_immediate(finite));
    const Reg result = w.make_f32("max.f32", divided, f32_immediate(1 / (finite * 512)));
    // Positive floats are in the order of their bits.
    w.op("red.global.max.u32", at(scale), w.make_b32("mov.b32", result));
    w.place(end);
    return w.finish({kAmaxThreads, 1, 1});
}

GeneratedKernel generate_quantise(const Fp8QuantiseSpec& spec) {
    PtxWriter w(name_for("quantise", spec), spec.compute_capability,
                target::first_with(&target::Generation::has_fp8), "8-bit floats");
    const Reg x = w.pointer_parameter("x"), scale_at = w.pointer_parameter("scale");
    const Reg y = w.pointer_parameter("y");
    const Reg elements = w.b32_parameter("elements");
    const Reg scale = w.make_f32("ld.global.f32", at(scale_at));
    const StridedLoop loop = elements_of(w, spec, kDivideThreads, elements,
                                         {{x, bytes_of(spec.input)}, {y, bytes_of(spec.output)}});
    emit_strided_loop(w, loop, [&](unsigned count) {
        // One element after the other: 8-bit floats are characters, which may lie anywhere, so a compiler
        // loads nothing ahead of the store before it.
        for (unsigned i = 0; i < count; ++i) {
            const RawVector raw = load_raw(w, "ld.global", spec.input, 1, loop.pointers[0].first,
                                           std::int64_t{i} * loop.step * bytes_of(spec.input));
            const Reg value = convert_raw(w, raw, ComputeType::f32)[0];
            const Reg divided = w.make_f32("div.rn.f32", value, scale);
            store_elements(w, "st.global", spec.output, {divided}, loop.pointers[1].first,
                           std::int64_t{i} * loop.step, ComputeType::f32);
        }
    });
    return w.finish({kDivideThreads, 1, 1});
}

}  // namespace heddle::kernels
