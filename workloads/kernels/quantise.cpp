#include "workloads/kernels/quantise.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kQuantiseThreads = 256, kCtasPerSm = 8;

/// Bytes of 8-bit floats, packed into words or, below four, into a narrower register.
RawVector pack(PtxWriter& w, const std::vector<Reg>& values, bool e5m2) {
    const std::string opcode = e5m2 ? "cvt.rn.satfinite.e5m2x2.f32" : "cvt.rn.satfinite.e4m3x2.f32";
    RawVector raw{ElementType::u8, static_cast<unsigned>(values.size()), {}};
    if (values.size() == 1) {
        const Reg pair = w.b16();
        w.op(opcode, pair, f32_immediate(0), values[0]);
        raw.words.push_back(w.make_b32("and.b32", w.make_b32("cvt.u32.u16", pair), 255));
        return raw;
    }
    std::vector<Reg> pairs;
    for (std::size_t i = 0; i < values.size(); i += 2) {
        pairs.push_back(w.b16());
        w.op(opcode, pairs.back(), values[i + 1], values[i]);
    }
    if (pairs.size() == 1) {
        raw.words.push_back(w.make_b32("cvt.u32.u16", pairs[0]));
        return raw;
    }
    for (std::size_t i = 0; i < pairs.size(); i += 2)
        raw.words.push_back(w.make_b32("mov.b32", vector_of({pairs[i], pairs[i + 1]})));
    return raw;
}

}  // namespace

GeneratedKernel generate_quantise(const QuantiseSpec& spec) {
    const unsigned width = spec.vector_width, size = bytes_of(spec.x);
    if (width != 1 && width != 2 && width != 4 && width != 8)
        throw Error("quantisation takes vectors of 1, 2, 4 or 8 elements");
    PtxWriter w("quantise_" + name_of(spec.x) + (spec.e5m2 ? "_e5m2" : "_e4m3") +
                    (spec.scale ? "_scale" : "") + (spec.amax ? "_amax" : "") + "_v" + std::to_string(width),
                spec.compute_capability, target::first_with(&target::Generation::has_fp8),
                "conversion to 8-bit floats");
    const Reg y = w.pointer_parameter("y");
    const Reg scale_pointer = spec.scale ? w.pointer_parameter("scale") : Reg{};
    const Reg amax_pointer = spec.amax ? w.pointer_parameter("amax") : Reg{};
    const Reg x = w.pointer_parameter("x"), elements = w.b32_parameter("elements");
    const Reg scale = spec.scale ? w.make_f32("ld.global.f32", at(scale_pointer)) : w.constant_f32(1);
    const Reg amax = w.constant_f32(0);
    const Reg tid = w.tid();
    const Reg thread = w.make_b32("mad.lo.u32", w.cta_x(), kQuantiseThreads, tid);
    const Reg index = w.make_b32("mul.lo.u32", thread, width);
    const Reg step = w.make_b32("mul.lo.u32", w.make_b32("mov.u32", "%nctaid.x"), kQuantiseThreads * width);
    const std::string loop = w.new_label("vector"), done = w.new_label("done");
    w.jump_if(w.make_predicate("setp.ge.u32", index, elements), done);
    w.place(loop);
    std::vector<Reg> values =
        load_elements(w, "ld.global", spec.x, width, w.element_address(x, index, size), 0, ComputeType::f32);
    for (Reg& value : values) {
        if (spec.amax) w.op("max.f32", amax, amax, w.make_f32("abs.f32", value));
        value = w.make_f32("mul.rn.f32", value, scale);
    }
    store_raw(w, "st.global", pack(w, values, spec.e5m2), w.element_address(y, index, 1), 0);
    w.op("add.u32", index, index, step);
    w.jump_if(w.make_predicate("setp.lt.u32", index, elements), loop);
    w.place(done);
    if (spec.amax) {
        emit_cta_reduce(w, Combine::maximum, {amax}, tid, kQuantiseThreads, w.shared("amax_of_warps", 128));
        // Magnitudes compare as integers do.
        const Reg bits = w.b32();
        w.op("mov.b32", bits, amax);
        w.op_if(w.make_predicate("setp.eq.u32", tid, 0), "red.global.max.u32", at(amax_pointer), bits);
    }
    return w.finish({kQuantiseThreads, 1, 1});
}

Extent3 quantise_grid(const QuantiseSpec& spec, std::uint32_t elements, unsigned sm_count) {
    return {std::max(1u, std::min(divide_up(elements, std::uint64_t{kQuantiseThreads} * spec.vector_width),
                                  kCtasPerSm * sm_count)),
            1, 1};
}

}  // namespace heddle::kernels
