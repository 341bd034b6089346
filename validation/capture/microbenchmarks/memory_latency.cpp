// Latencies of the memory hierarchy by pointer chase: the size of the ring decides which level answers.
#include <array>
#include <memory>
#include <numeric>

#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/microbenchmarks/timed_loop.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

constexpr unsigned kMemoryLatencyThreads = 1024;
constexpr unsigned kUnroll = 16;
/// The model has no translation of addresses, and the host pays for the memory.
constexpr std::uint64_t kLargestSimulated = std::uint64_t{1} << 30;

/// Element i of the ring, `stride` bytes apart, becomes the address of element (a i + c) mod n: one cycle
/// through all of them, in an order that no prefetcher follows (Hull and Dobell 1962), see Order.
GeneratedKernel generate_ring(unsigned capability) {
    PtxWriter w("make_ring", capability);
    const Reg ring = w.pointer_parameter("ring"), elements = w.b32_parameter("elements"),
              stride = w.b32_parameter("stride"), multiplier = w.b32_parameter("multiplier"),
              increment = w.b32_parameter("increment");
    const Reg index = w.make_b32("mad.lo.u32", w.cta_x(), kMemoryLatencyThreads, w.tid());
    const Reg outside = w.make_predicate("setp.ge.u32", index, elements);
    const std::string end = w.new_label("end");
    w.jump_if(outside, end);
    const Reg next = w.make_b32("rem.u32", w.make_b32("mad.lo.u32", index, multiplier, increment), elements);
    const Reg from = w.make_b64("mad.wide.u32", index, stride, ring);
    const Reg to = w.make_b64("mad.wide.u32", next, stride, ring);
    w.op("st.global.u64", at(from), to);
    w.place(end);
    return w.finish({kMemoryLatencyThreads, 1, 1});
}

/// Rings whose elements are all touched before: (i + c) mod n, c near 0.618 n and without a common factor, so
/// that element j of the order is j c mod n and can be touched by any thread. The others, n a power of two:
/// (5 i + c) mod n, c odd.
struct Order {
    std::uint64_t multiplier = 5, increment = 1;
    Order(std::uint64_t n, bool touched) : increment((n / 2 + n / 8) | 1) {
        if (!touched) return;
        multiplier = 1;
        increment = static_cast<std::uint64_t>(0.6180339887 * static_cast<double>(n)) | 1;
        while (std::gcd(increment, n) != 1) increment += 2;
    }
};

/// All threads touch every element (`touched` of them) in the order of the chase (what is to be found least
/// recently used in a cache is what the chase comes to first), then one follows `turns` times 16 pointers.
GeneratedKernel generate_chase(unsigned capability, const std::string& cache) {
    PtxWriter w("chase_" + cache, capability);
    const Reg ring = w.pointer_parameter("ring"), touched = w.b32_parameter("touched"),
              stride = w.b32_parameter("stride"), step = w.b32_parameter("step"),
              turns = w.b32_parameter("turns"), out = w.pointer_parameter("out");
    const Reg count = w.make_b64("cvt.u64.u32", touched);
    const Reg thread = w.tid(), index = w.make_b32("mov.u32", thread), kept = w.make_b64("mov.u64", 0);
    const std::string touch = w.new_label("touch"), touched_all = w.new_label("touched_all"),
                      chase = w.new_label("chase"), end = w.new_label("end");
    const std::string load = "ld.global." + cache + ".u64";
    const Reg done = w.predicate();
    w.place(touch);
    w.op("setp.ge.u32", done, index, touched);
    w.jump_if(done, touched_all);
    const Reg place = w.make_b64("rem.u64", w.make_b64("mul.wide.u32", index, step), count);
    const Reg element = w.make_b32("cvt.u32.u64", place);
    const Reg value = w.make_b64(load, at(w.make_b64("mad.wide.u32", element, stride, ring)));
    w.op("xor.b64", kept, kept, value);
    w.op("add.u32", index, index, kMemoryLatencyThreads);
    w.jump(touch);
    w.place(touched_all);
    w.cta_barrier();
    const Reg others = w.make_predicate("setp.ne.u32", thread, 0);
    w.jump_if(others, end);
    const Reg pointer = w.make_b64("mov.u64", ring), left = w.make_b32("mov.u32", turns),
              more = w.predicate();
    // The first pointers are followed before the clock is read: the instructions are there.
    for (unsigned i = 0; i < 2; ++i) w.op(load, pointer, at(pointer));
    const Reg start = w.make_b64("mov.u64", "%clock64");
    w.place(chase);
    w.op(".pragma", "\"nounroll\"");
    for (unsigned i = 0; i < kUnroll; ++i) w.op(load, pointer, at(pointer));
    w.op("sub.u32", left, left, 1);
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, chase);
    // The last pointer is needed before the clock is read again.
    const Reg null = w.make_predicate("setp.eq.u64", pointer, 0);
    w.jump_if(null, end);
    const Reg stop = w.make_b64("mov.u64", "%clock64");
    w.op("st.global.u64", at(out), w.make_b64("sub.u64", stop, start));
    w.op("st.global.u64", at(out, 8), w.make_b64("xor.b64", kept, pointer));
    w.place(end);
    return w.finish({kMemoryLatencyThreads, 1, 1});
}

struct Chase {
    std::string cache;  ///< "ca" or "cg"
    std::uint64_t elements = 0;
    std::uint32_t stride = 128;
    bool touch = true;  ///< bring all elements in before; else L2 is emptied of them
    unsigned steps = 2048;
};

Measurement measure_chase(Chase chase, Device& device, const MeasureSettings& settings) {
    chase.elements = settings.reduced(chase.elements, 64);
    chase.steps = static_cast<unsigned>(settings.reduced(chase.steps, kUnroll));
    const std::uint64_t bytes = chase.elements * chase.stride;
    if (bytes + (1u << 28) > device.free_bytes())
        throw DeviceError("not enough device memory for a ring of " + std::to_string(bytes) + " bytes");
    if (bytes > kLargestSimulated && !device.is_silicon())
        throw DeviceError("rings of more than 1 GiB are measured on silicon alone");
    const unsigned capability = ptx_capability(device);
    const GeneratedKernel maker = generate_ring(capability), kernel = generate_chase(capability, chase.cache);
    const KernelHandle make = device.load(maker.text, maker.entry),
                       handle = device.load(kernel.text, kernel.entry);
    const DeviceBuffer ring(device, bytes), out(device, 16);
    const Order order(chase.elements, chase.touch);
    device.launch(make_launch(make, maker, {kernels::divide_up(chase.elements, kMemoryLatencyThreads), 1, 1},
                              {{"ring", ring.address()},
                               {"elements", chase.elements},
                               {"stride", chase.stride},
                               {"multiplier", order.multiplier},
                               {"increment", order.increment}}));
    std::unique_ptr<DeviceBuffer> flush;
    if (!chase.touch) flush = std::make_unique<DeviceBuffer>(device, 2 * device.l2_bytes());

    Measurement result;
    result.unit = "cycles";
    const unsigned turns = chase.steps / kUnroll;
    std::vector<double> per_step;
    for (unsigned repetition = 0; repetition < settings.repetitions; ++repetition) {
        if (flush) device.fill(flush->address(), static_cast<std::uint8_t>(repetition), flush->bytes());
        device.launch(make_launch(handle, kernel, {1, 1, 1},
                                  {{"ring", ring.address()},
                                   {"touched", chase.touch ? chase.elements : 0},
                                   {"stride", chase.stride},
                                   {"step", order.increment},
                                   {"turns", turns},
                                   {"out", out.address()}}));
        const double cycles =
            static_cast<double>(read_values<std::uint64_t>(device, out.address(), 1).front());
        result.cycles.push_back(cycles);
        per_step.push_back(cycles / (static_cast<double>(turns) * kUnroll));
    }
    result.value = median(per_step);
    return result;
}

void add(std::vector<Benchmark>& list, const std::string& id, const std::string& group, const Chase& chase,
         bool quick = false) {
    Benchmark benchmark;
    benchmark.id = id;
    benchmark.group = group;
    benchmark.quick = quick;
    benchmark.parameters = {{"bytes", static_cast<std::int64_t>(chase.elements * chase.stride)},
                            {"stride", chase.stride},
                            {"touched", chase.touch ? 1 : 0}};
    benchmark.texts = [cache = chase.cache](unsigned capability) {
        return std::vector{generate_ring(capability), generate_chase(capability, cache)};
    };
    benchmark.measure = [chase](Device& device, const MeasureSettings& settings) {
        return measure_chase(chase, device, settings);
    };
    list.push_back(std::move(benchmark));
}

std::string kibibytes(std::uint64_t bytes) {
    return std::to_string(bytes >> 10) + "KiB";
}

/// A shared-memory word that holds its own address; a constant of zero that is added to its own address.
void add_on_chip(std::vector<Benchmark>& list) {
    auto pointer = std::make_shared<Reg>();
    TimedBody shared;
    shared.entry = "chase_shared";
    shared.prologue = [pointer](PtxWriter& w, const Reg&, const Reg&) {
        const std::string words = w.shared("words", 128);
        *pointer = w.make_b32("mad.lo.u32", w.tid(), 4, w.make_b32("mov.u32", words));
        w.op("st.shared.u32", at(*pointer), *pointer);
        w.cta_barrier();
    };
    shared.link = [pointer](PtxWriter& w, unsigned) { w.op("ld.shared.u32", *pointer, at(*pointer)); };
    shared.results = [pointer](PtxWriter&) { return std::vector<Reg>{*pointer}; };
    list.push_back(timed_loop_benchmark("latency/shared", "memory latency", shared, {{"bytes", 128}}));
    list.back().quick = true;

    TimedBody constant;
    auto value = std::make_shared<Reg>();
    constant.entry = "chase_constant";
    constant.module_variables = ".const .align 16 .b32 constants[64];\n\n";
    constant.prologue = [pointer, value](PtxWriter& w, const Reg&, const Reg&) {
        *pointer = w.make_b32("mov.u32", "constants");
        *value = w.b32();
    };
    constant.link = [pointer, value](PtxWriter& w, unsigned) {
        w.op("ld.const.b32", *value, at(*pointer));
        w.op("add.u32", *pointer, *pointer, *value);
    };
    constant.results = shared.results;
    list.push_back(
        timed_loop_benchmark("latency/constant_and_add", "memory latency", constant, {{"bytes", 256}}));
}

}  // namespace

void add_memory_latency_benchmarks(std::vector<Benchmark>& list) {
    add_on_chip(list);
    add(list, "latency/l1", "memory latency", {"ca", 64, 128, true, 4096}, true);
    add(list, "latency/l2", "memory latency", {"cg", 8192, 128, true, 2048}, true);
    add(list, "latency/dram", "memory latency", {"cg", 16384, 16384 + 128, false, 2048}, true);
    // Where L1 ends: one ring of lines, kept at the level's steady state.
    for (const unsigned kib : {16u, 32u, 64u, 128u, 256u, 512u}) {
        add(list, "latency/ring/ca/" + std::to_string(kib) + "KiB", "memory latency by size",
            {"ca", kib * 8, 128, true, 4096});
    }
    // Where L2 ends, and how far its parts lie.
    for (const unsigned mib : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 1024u, 24u, 40u, 48u}) {
        add(list, "latency/ring/cg/" + kibibytes(std::uint64_t{mib} << 20), "memory latency by size",
            {"cg", std::uint64_t{mib} << 13, 128, true, 4096});
    }
    // Few lines, far apart: what translation of addresses adds.
    for (const unsigned mib : {128u, 512u, 1024u, 2048u, 4096u, 8192u, 16384u, 32768u}) {
        add(list, "latency/pages_of_2MiB/" + std::to_string(mib) + "MiB", "address translation",
            {"cg", mib / 2, 2u << 20, true, 2048});
    }
    for (const unsigned mib : {64u, 256u, 1024u, 4096u}) {
        add(list, "latency/pages_of_64KiB/" + std::to_string(mib) + "MiB", "address translation",
            {"cg", mib * 16, 64u << 10, true, 2048});
    }
}

}  // namespace heddle::capture
