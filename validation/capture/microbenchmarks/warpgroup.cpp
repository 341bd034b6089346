// wgmma of a Hopper SM: rate and latency by N, type, and where A comes from.
#include <array>
#include <memory>

#include "validation/capture/microbenchmarks/timed_loop.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::PtxWriter;
using kernels::Reg;
using kernels::vector_of;

struct WarpgroupType {
    const char* name;
    unsigned k;             ///< of one instruction: 32 bytes
    const char* types;      ///< of D, A and B
    bool f32_accumulators;  ///< else 32-bit registers; two f16 in each when `half_accumulators`
    bool half_accumulators;
    const char* immediates;  ///< after scale-d, A from shared memory
    const char* immediates_register_a;
};

constexpr std::array kTypes{
    WarpgroupType{"bf16_f32", 16, "f32.bf16.bf16", true, false, ", 1, 1, 0, 0", ", 1, 1, 0"},
    WarpgroupType{"f16_f32", 16, "f32.f16.f16", true, false, ", 1, 1, 0, 0", ", 1, 1, 0"},
    WarpgroupType{"f16_f16", 16, "f16.f16.f16", false, true, ", 1, 1, 0, 0", ", 1, 1, 0"},
    WarpgroupType{"tf32_f32", 8, "f32.tf32.tf32", true, false, ", 1, 1", ", 1, 1"},
    WarpgroupType{"e4m3_f32", 32, "f32.e4m3.e4m3", true, false, ", 1, 1", ", 1, 1"},
    WarpgroupType{"e5m2_f32", 32, "f32.e5m2.e5m2", true, false, ", 1, 1", ", 1, 1"},
    WarpgroupType{"s8_s32", 32, "s32.s8.s8", false, false, "", ""},
};

struct WarpgroupCase {
    const WarpgroupType* type;
    unsigned n;
    bool a_from_registers = false;
    unsigned warpgroups = 1;
    bool wait_each = false;  ///< commit and wait after every product: its latency
};

/// Matrix descriptor of a K-major tile of rows of 128 bytes, swizzled by 128 bytes (PTX manual, "Matrix
/// descriptor"): address / 16 in bits 0-13, stride between groups of eight rows / 16 in bits 32-45, swizzle 1
/// in bits 62-63.
Reg descriptor(PtxWriter& w, const Reg& address) {
    const Reg field = w.make_b32("bfe.u32", address, 4, 14);
    const Reg low = w.make_b64("cvt.u64.u32", field);
    return w.make_b64("or.b64", low, "0x4000004000010000");
}

TimedBody warpgroup_body(const WarpgroupCase& which) {
    struct State {
        std::vector<Reg> d, a;
        Reg a_descriptor, b_descriptor, accumulate;
    };
    auto state = std::make_shared<State>();
    const WarpgroupType type = *which.type;
    TimedBody body;
    body.entry = std::string("wgmma_") + type.name + "_n" + std::to_string(which.n);
    body.threads = 128 * which.warpgroups;
    body.links = 8;
    body.minimum_capability = 90;
    body.specific_target = true;
    body.prologue = [state, which, type](PtxWriter& w, const Reg&, const Reg& scratch) {
        *state = {};
        constexpr unsigned kRowBytes = 128;
        const unsigned bytes = (64 + which.n) * kRowBytes;
        const std::string tiles = w.shared("tiles", bytes, 1024);
        const Reg base = w.make_b32("mov.u32", tiles), thread = w.tid();
        const Reg zero = w.make_b32("ld.global.b32", at(scratch));
        // Zeros that the assembler does not know.
        const Reg mine = w.make_b32("mad.lo.u32", thread, 16, base);
        const unsigned step = 128 * which.warpgroups * 16;
        for (unsigned offset = 0; offset < bytes; offset += step) {
            const Reg at_end = w.make_b32("add.u32", mine, offset);
            const Reg inside = w.make_predicate("setp.lt.u32", at_end, w.make_b32("add.u32", base, bytes));
            w.op_if(inside, "st.shared.v4.b32", at(at_end), vector_of({zero, zero, zero, zero}));
        }
        w.op("fence.proxy.async");
        w.cta_barrier();
        state->a_descriptor = descriptor(w, base);
        state->b_descriptor = descriptor(w, w.make_b32("add.u32", base, 64 * kRowBytes));
        state->accumulate = w.make_predicate("setp.eq.b32", zero, 0);
        for (unsigned i = 0; i < 4; ++i) state->a.push_back(w.make_b32("mov.b32", zero));
        const unsigned registers = which.n / (type.half_accumulators ? 4 : 2);
        for (unsigned i = 0; i < registers; ++i) {
            state->d.push_back(type.f32_accumulators ? w.f32() : w.b32());
            w.op("mov.b32", state->d.back(), zero);
        }
    };
    body.begin_turn = [](PtxWriter& w) { w.op("wgmma.fence.sync.aligned"); };
    const auto wait = [](PtxWriter& w) {
        w.op("wgmma.commit_group.sync.aligned");
        w.op("wgmma.wait_group.sync.aligned", 0);
    };
    body.link = [state, which, type, wait](PtxWriter& w, unsigned) {
        const std::string opcode = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(which.n) + "k" +
                                   std::to_string(type.k) + "." + type.types;
        std::string d = "{" + state->d[0];
        for (std::size_t i = 1; i < state->d.size(); ++i) d += ", " + state->d[i];
        w.op(opcode, d + "}", which.a_from_registers ? vector_of(state->a) : state->a_descriptor,
             state->b_descriptor,
             state->accumulate + (which.a_from_registers ? type.immediates_register_a : type.immediates));
        if (which.wait_each) wait(w);
    };
    if (!which.wait_each) body.end_turn = wait;
    body.results = [state](PtxWriter& w) {
        std::vector<Reg> kept;
        for (const Reg& value : state->d) kept.push_back(w.make_b32("mov.b32", value));
        return kept;
    };
    return body;
}

void add(std::vector<Benchmark>& list, const WarpgroupCase& which, bool quick = false) {
    const std::string name = std::string(which.type->name) + "/n=" + std::to_string(which.n) +
                             (which.a_from_registers ? "/a=registers" : "/a=shared");
    std::vector<BenchmarkParameter> parameters{
        {"n", which.n}, {"k", which.type->k}, {"warpgroups", which.warpgroups}};
    const double macs = 64.0 * which.n * which.type->k * which.warpgroups;
    Benchmark benchmark =
        which.wait_each
            ? timed_loop_benchmark("latency/wgmma/" + name, "warpgroup latency", warpgroup_body(which),
                                   parameters)
            : timed_loop_benchmark(
                  "throughput/wgmma/" + name + "/warpgroups=" + std::to_string(which.warpgroups),
                  "warpgroup throughput", warpgroup_body(which), parameters, "MAC/cycle/SM", macs);
    benchmark.quick = quick;
    list.push_back(std::move(benchmark));
}

}  // namespace

void add_warpgroup_benchmarks(std::vector<Benchmark>& list) {
    const WarpgroupType* bf16 = &kTypes[0];
    for (const unsigned n : {256u, 128u, 64u, 8u, 16u, 32u, 96u, 192u, 24u, 160u}) {
        for (const bool registers : {false, true}) {
            add(list, {bf16, n, registers, 1, false}, n == 256 && !registers);
            add(list, {bf16, n, registers, 1, true}, n == 64 && !registers);
        }
    }
    for (const WarpgroupType& type : kTypes) {
        if (&type == bf16) continue;
        for (const unsigned n : {256u, 128u, 64u, 16u}) {
            add(list, {&type, n, false, 1, false});
            add(list, {&type, n, true, 1, false});
        }
        add(list, {&type, 256, false, 1, true});
        add(list, {&type, 64, false, 1, true});
    }
    for (const unsigned n : {8u, 64u, 128u, 256u}) {
        add(list, {bf16, n, false, 2, false});
        add(list, {bf16, n, true, 2, false});
        if (n <= 128) add(list, {bf16, n, false, 4, false});
    }
}

}  // namespace heddle::capture
