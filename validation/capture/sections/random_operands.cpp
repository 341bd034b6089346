#include "validation/capture/sections/random_operands.h"

#include <algorithm>

#include "validation/capture/microbenchmarks/launching.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::PtxWriter;
using kernels::Reg;

constexpr unsigned kRandomOperandsThreads = 256;

/// word[i] = hash(i) & kept | set, for pairs of words.
kernels::GeneratedKernel generate_fill(unsigned capability) {
    PtxWriter w("fill_random", capability);
    const Reg to = w.pointer_parameter("to"), words = w.b64_parameter("words"),
              seed = w.b32_parameter("seed");
    const Reg kept[2] = {w.b32_parameter("kept_even"), w.b32_parameter("kept_odd")};
    const Reg set[2] = {w.b32_parameter("set_even"), w.b32_parameter("set_odd")};
    const Reg thread = w.make_b32("mad.lo.u32", w.cta_x(), kRandomOperandsThreads, w.tid());
    const Reg index = w.make_b64("mul.wide.u32", thread, 2), more = w.predicate();
    const Reg step = w.make_b64("mul.wide.u32", w.make_b32("mov.u32", "%nctaid.x"), 2 * kRandomOperandsThreads);
    const std::string loop = w.new_label("loop"), end = w.new_label("end");
    w.place(loop);
    w.op("setp.ge.u64", more, index, words);
    w.jump_if(more, end);
    std::vector<Reg> values;
    for (unsigned i = 0; i < 2; ++i) {
        // Two rounds of a multiplicative hash (Wang).
        Reg x = w.make_b32("add.u32", w.make_b32("cvt.u32.u64", index), i);
        x = w.make_b32("xor.b32", x, seed);
        for (const char* factor : {"0x7feb352d", "0x846ca68b"}) {
            x = w.make_b32("xor.b32", x, w.make_b32("shr.u32", x, 16));
            x = w.make_b32("mul.lo.u32", x, factor);
        }
        x = w.make_b32("xor.b32", x, w.make_b32("shr.u32", x, 15));
        values.push_back(w.make_b32("or.b32", w.make_b32("and.b32", x, kept[i]), set[i]));
    }
    const Reg address = w.make_b64("add.u64", to, w.make_b64("shl.b64", index, 2));
    w.op("st.global.v2.b32", at(address), kernels::vector_of(values));
    w.op("add.u64", index, index, step);
    w.jump(loop);
    w.place(end);
    return w.finish({kRandomOperandsThreads, 1, 1});
}

/// Bits that stay random, and bits that are set, of two words.
struct Pattern {
    std::uint32_t kept_even, kept_odd, set_even, set_odd;
};
Pattern pattern_of(Type type) {
    const auto both = [](std::uint32_t kept, std::uint32_t set) { return Pattern{kept, kept, set, set}; };
    switch (type) {
        case Type::bf16:
            return both(0x81ff81ff, 0x3e003e00);
        case Type::f16:
            return both(0x8fff8fff, 0x30003000);
        case Type::f32:
            return both(0x81ffffff, 0x3e000000);
        case Type::e4m3:
            return both(0x9f9f9f9f, 0x20202020);
        case Type::e5m2:
            return both(0x8f8f8f8f, 0x30303030);
        case Type::f64:
            return {0xffffffff, 0x803fffff, 0, 0x3fc00000};
        case Type::i8:
        case Type::i32:
            break;
    }
    return both(0xffffffff, 0);
}

}  // namespace

void fill_random(Device& device, Address to, std::uint64_t bytes, Type type, std::uint32_t seed) {
    const kernels::GeneratedKernel kernel = generate_fill(ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const Pattern pattern = pattern_of(type);
    const std::uint64_t words = bytes / 8 * 2;  // whole pairs
    const auto ctas = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(words / (2 * kRandomOperandsThreads), 1, std::uint64_t{8} * device.sm_count()));
    device.launch(make_launch(handle, kernel, {ctas, 1, 1},
                              {{"to", to},
                               {"words", words},
                               {"seed", seed},
                               {"kept_even", pattern.kept_even},
                               {"kept_odd", pattern.kept_odd},
                               {"set_even", pattern.set_even},
                               {"set_odd", pattern.set_odd}}));
}

}  // namespace heddle::capture
