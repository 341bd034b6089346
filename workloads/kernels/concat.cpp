#include "workloads/kernels/concat.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kConcatThreads = 128;

std::string numbered(const char* stem, unsigned i) {
    return stem + std::to_string(i);
}

}  // namespace

GeneratedKernel generate_concat(const ConcatSpec& spec) {
    const unsigned bytes = spec.element_bytes;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        throw Error("elements of " + std::to_string(bytes) + " bytes cannot be concatenated");
    if (spec.operands == 0 || spec.operands > 32 || spec.dimensions == 0 || spec.dimensions > 8 ||
        spec.axis >= spec.dimensions)
        throw Error("a concatenation takes 1 to 32 operands of 1 to 8 axes");
    PtxWriter w("concat_" + std::to_string(bytes) + "byte_" + std::to_string(spec.operands) + "of" +
                    std::to_string(spec.dimensions) + "_axis" + std::to_string(spec.axis),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y");
    std::vector<Reg> pointers, elements, extents, begins, sizes, strides;
    for (unsigned i = 0; i < spec.operands; ++i) pointers.push_back(w.pointer_parameter(numbered("x", i)));
    for (unsigned i = 0; i < spec.operands; ++i) {
        elements.push_back(w.b32_parameter(numbered("elements", i)));
        extents.push_back(w.b32_parameter(numbered("extent", i)));
        begins.push_back(w.b32_parameter(numbered("begin", i)));
    }
    for (unsigned d = 0; d < spec.dimensions; ++d) {
        sizes.push_back(d + 1 < spec.dimensions ? w.b32_parameter(numbered("size", d)) : Reg{});
        strides.push_back(w.b32_parameter(numbered("stride", d)));
    }
    // The operand of this row of CTAs.
    const Reg part = w.cta_y();
    const Reg source = w.make_b64("mov.b64", pointers[0]), count = w.make_b32("mov.b32", elements[0]);
    const Reg extent = w.make_b32("mov.b32", extents[0]), begin = w.make_b32("mov.b32", begins[0]);
    for (unsigned i = 1; i < spec.operands; ++i) {
        const Reg chosen = w.make_predicate("setp.eq.u32", part, i);
        w.op("selp.b64", source, pointers[i], source, chosen);
        w.op("selp.b32", count, elements[i], count, chosen);
        w.op("selp.b32", extent, extents[i], extent, chosen);
        w.op("selp.b32", begin, begins[i], begin, chosen);
    }
    // Sizes do not change in the loop: the compiler keeps their reciprocals, and a quotient in it is a
    // product and two corrections.
    std::vector<Reg> divisors, reciprocals;
    for (unsigned d = 0; d + 1 < spec.dimensions; ++d) {
        divisors.push_back(d == spec.axis ? extent : sizes[d]);
        reciprocals.push_back(w.make_b32("div.u32", "0xffffffff", divisors.back()));
    }
    const Reg index = w.make_b32("mad.lo.u32", w.cta_x(), kConcatThreads, w.tid());
    const Reg step = w.make_b32("mul.lo.u32", w.make_b32("mov.u32", "%nctaid.x"), kConcatThreads);
    const std::string loop = w.new_label("element"), done = w.new_label("done");
    w.jump_if(w.make_predicate("setp.ge.u32", index, count), done);
    w.place(loop);
    Reg rest = index, target = begin;
    for (unsigned d = 0; d < spec.dimensions; ++d) {
        Reg along = rest;
        if (d + 1 < spec.dimensions) {
            const Reg quotient = w.make_b32("mul.hi.u32", rest, reciprocals[d]);
            along = w.make_b32("sub.u32", rest, w.make_b32("mul.lo.u32", quotient, divisors[d]));
            for (unsigned correction = 0; correction < 2; ++correction) {
                const Reg more = w.make_predicate("setp.ge.u32", along, divisors[d]);
                w.op_if(more, "sub.u32", along, along, divisors[d]);
                w.op_if(more, "add.u32", quotient, quotient, 1);
            }
            rest = quotient;
        }
        target = w.make_b32("mad.lo.u32", along, strides[d], target);
    }
    const ElementType type = bytes == 1   ? ElementType::u8
                             : bytes == 2 ? ElementType::f16
                             : bytes == 4 ? ElementType::i32
                                          : ElementType::i64;
    const RawVector raw = load_raw(w, "ld.global", type, 1, w.element_address(source, index, bytes), 0);
    store_raw(w, "st.global", raw, w.element_address(y, target, bytes), 0);
    w.op("add.u32", index, index, step);
    w.jump_if(w.make_predicate("setp.lt.u32", index, count), loop);
    w.place(done);
    return w.finish({kConcatThreads, 1, 1});
}

Extent3 concat_grid(const ConcatSpec& spec, std::uint64_t most_elements, unsigned sm_count) {
    const std::uint32_t threads = divide_up(most_elements, 16 / spec.element_bytes);
    return {std::max(1u, std::min(divide_up(threads, kConcatThreads), 32 * sm_count)), spec.operands, 1};
}

}  // namespace heddle::kernels
