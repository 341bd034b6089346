// Atomics: latency of one that returns a value, and rates from one SM and from all.
#include <memory>

#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/microbenchmarks/timed_loop.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

enum class Where : std::uint8_t {
    one_address,
    one_after_another,  ///< one address at a time, on the next line each time: the mean over L2's slices
    each_lane_its_own
};

constexpr unsigned kLineAndMore = 128 * 17;  // bytes from one link's address to the next one's

/// A chain: each atomic's operand is what the one before returned.
TimedBody atomic_body(const std::string& operation, bool shared, Where where, unsigned warps) {
    struct State {
        Reg address, value;
    };
    auto state = std::make_shared<State>();
    TimedBody body;
    body.entry = std::string("atomic_") + (shared ? "shared" : "global");
    body.threads = warps == 0 ? 1 : 32 * warps;
    body.links = where == Where::one_after_another ? 64 : 16;
    body.prologue = [state, shared, where](PtxWriter& w, const Reg&, const Reg& scratch) {
        state->value = w.make_b32("ld.global.b32", at(scratch, 8192));
        // A zero that the assembler does not know: it would add up the lanes of one address by itself.
        const Reg zero = w.make_b32("ld.global.b32", at(w.element_address(scratch, w.tid(), 4), 16384));
        const Reg thread = where == Where::each_lane_its_own ? w.tid() : zero;
        if (shared) {
            const std::string words = w.shared("words", 4096);
            const Reg base = w.make_b32("mov.u32", words);
            w.op("st.shared.u32", at(w.make_b32("mad.lo.u32", w.tid(), 4, base)), state->value);
            w.cta_barrier();
            state->address = w.make_b32("mad.lo.u32", thread, 4, base);
        } else {
            state->address = w.element_address(scratch, thread, 4);
        }
    };
    const std::string opcode = std::string("atom.") + (shared ? "shared." : "global.") + operation;
    const bool compares = operation.rfind("cas", 0) == 0;
    const unsigned stride = where == Where::one_after_another ? kLineAndMore : 0;
    body.link = [state, opcode, compares, stride](PtxWriter& w, unsigned link) {
        const auto word = at(state->address, static_cast<int>(stride * link));
        if (compares) {
            w.op(opcode, state->value, word, state->value, state->value);
        } else {
            w.op(opcode, state->value, word, state->value);
        }
    };
    body.results = [state](PtxWriter&) { return std::vector<Reg>{state->value}; };
    return body;
}

/// Every thread adds `turns` times 8 to one word, or each to its own.
GeneratedKernel generate_reductions(unsigned capability) {
    PtxWriter w("reductions", capability);
    const Reg words = w.pointer_parameter("words"), own = w.b32_parameter("own"),
              turns = w.b32_parameter("turns");
    const Reg thread = w.make_b32("mad.lo.u32", w.cta_x(), 256, w.tid());
    const Reg address = w.element_address(words, w.make_b32("mul.lo.u32", thread, own), 4);
    const Reg left = w.make_b32("mov.u32", turns), more = w.predicate();
    const std::string loop = w.new_label("loop");
    w.place(loop);
    w.op(".pragma", "\"nounroll\"");
    for (unsigned i = 0; i < 8; ++i) w.op("red.relaxed.gpu.global.add.u32", at(address), 1);
    w.op("sub.u32", left, left, 1);
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, loop);
    return w.finish({256, 1, 1});
}

void add_whole_gpu(std::vector<Benchmark>& list, bool own) {
    Benchmark benchmark;
    benchmark.id = std::string("atomics/gpu/") + (own ? "own_words" : "one_word");
    benchmark.group = "atomics";
    benchmark.parameters = {{"own", own}};
    benchmark.texts = [](unsigned capability) { return std::vector{generate_reductions(capability)}; };
    benchmark.measure = [own](Device& device, const MeasureSettings& settings) {
        const GeneratedKernel kernel = generate_reductions(ptx_capability(device));
        const KernelHandle handle = device.load(kernel.text, kernel.entry);
        const std::uint64_t threads = std::uint64_t{256} * 4 * device.sm_count();
        const DeviceBuffer words(device, threads * 4);
        device.fill(words.address(), 0, words.bytes());
        TimingOptions options;
        options.repetitions = settings.repetitions;
        double microseconds[2] = {0, 0};
        Measurement result;
        for (unsigned longer = 0; longer < 2; ++longer) {
            const unsigned turns = device.is_silicon() ? 8 << longer : 1 + longer;
            const Launch launch = make_launch(handle, kernel, {4 * device.sm_count(), 1, 1},
                                              {{"words", words.address()}, {"own", own}, {"turns", turns}});
            result.microseconds = device.time([&] { device.launch(launch); }, options);
            microseconds[longer] = median(result.microseconds);
        }
        const double adds = static_cast<double>(threads) * 8 * (device.is_silicon() ? 8 : 1);
        result.value = adds / (microseconds[1] - microseconds[0]) / 1e3;
        result.unit = "10^9 adds/s";
        return result;
    };
    list.push_back(std::move(benchmark));
}

}  // namespace

void add_atomic_benchmarks(std::vector<Benchmark>& list) {
    const auto latency = [&list](const std::string& name, const std::string& operation, bool shared) {
        list.push_back(timed_loop_benchmark(
            "latency/atomic/" + name, "atomics",
            atomic_body(operation, shared, shared ? Where::one_address : Where::one_after_another, 0), {}));
    };
    latency("global_add_u32", "add.u32", false);
    list.back().quick = true;
    latency("shared_add_u32", "add.u32", true);
    list.back().quick = true;
    latency("global_add_f32", "add.f32", false);
    latency("shared_add_f32", "add.f32", true);
    latency("global_cas_b32", "cas.b32", false);
    latency("shared_cas_b32", "cas.b32", true);
    latency("global_exch_b32", "exch.b32", false);
    latency("shared_exch_b32", "exch.b32", true);
    for (const bool shared : {false, true}) {
        for (const Where where : {Where::one_address, Where::each_lane_its_own}) {
            for (const unsigned warps : {1u, 8u}) {
                const std::string id = std::string("throughput/atomic/") + (shared ? "shared" : "global") +
                                       (where == Where::one_address ? "/one_address" : "/own_addresses") +
                                       "/warps=" + std::to_string(warps);
                list.push_back(timed_loop_benchmark(id, "atomics",
                                                    atomic_body("add.u32", shared, where, warps),
                                                    {{"warps", warps}}, "atomics/cycle/SM", 32.0 * warps));
            }
        }
    }
    add_whole_gpu(list, false);
    add_whole_gpu(list, true);
}

}  // namespace heddle::capture
