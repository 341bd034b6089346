// Bandwidth of each level: of one SM in bytes per cycle, of the whole GPU in GB/s by size of the buffer.
#include <algorithm>
#include <memory>

#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/microbenchmarks/timed_loop.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

enum class Level : std::uint8_t { shared, l1, l2 };

/// Every thread loads 16 bytes per link; the next turn's addresses need what this one loaded (zeros), so that
/// no load can be moved out of the loop.
TimedBody load_body(Level level, unsigned warps) {
    struct State {
        Reg address, address_b32, kept, last;
        std::vector<Reg> waiting;
    };
    auto state = std::make_shared<State>();
    TimedBody body;
    body.entry = level == Level::shared ? "load_shared" : level == Level::l1 ? "load_l1" : "load_l2";
    body.threads = 32 * warps;
    const unsigned step = body.threads * 16;
    // L1: the long loop's bytes fit; L2: more than L1 holds; shared: one static array.
    body.links = level == Level::l2 ? std::min(32u, kScratchBytes / step / 2) : 4;
    body.prologue = [state, level, step](PtxWriter& w, const Reg&, const Reg& scratch) {
        const Reg thread = w.tid();
        state->kept = w.constant_b32(0);
        if (level == Level::shared) {
            const std::string words = w.shared("words", 8 * step);
            const Reg base = w.make_b32("mov.u32", words);
            state->address_b32 = w.make_b32("mad.lo.u32", thread, 16, base);
            const Reg zero = w.make_b32("ld.global.b32", at(scratch));
            for (unsigned i = 0; i < 8; ++i) {
                w.op("st.shared.v4.b32", at(state->address_b32, std::int64_t{i} * step),
                     kernels::vector_of({zero, zero, zero, zero}));
            }
            w.cta_barrier();
        } else {
            state->address = w.element_address(scratch, thread, 16);
        }
    };
    body.link = [state, level, step](PtxWriter& w, unsigned link) {
        const std::vector<Reg> words = w.b32s(4);
        const std::string into = "{" + words[0] + ", " + words[1] + ", " + words[2] + ", " + words[3] + "}";
        if (level == Level::shared) {
            w.op("ld.shared.v4.b32", into, at(state->address_b32, std::int64_t{link} * step));
        } else {
            w.op(level == Level::l1 ? "ld.global.ca.v4.b32" : "ld.global.cg.v4.b32", into,
                 at(state->address, static_cast<std::int64_t>(link) * step));
        }
        // Four loads are under way before the first is used.
        state->waiting.insert(state->waiting.end(), words.begin(), words.end());
        if (link % 4 != 3) return;
        for (const Reg& word : state->waiting) w.op("xor.b32", state->kept, state->kept, word);
        state->waiting.clear();
        state->last = words[0];
    };
    body.end_turn = [state, level](PtxWriter& w) {
        if (level == Level::shared) {
            w.op("add.u32", state->address_b32, state->address_b32, state->last);
        } else {
            w.op("add.u64", state->address, state->address, w.make_b64("cvt.u64.u32", state->last));
        }
    };
    body.results = [state](PtxWriter&) { return std::vector<Reg>{state->kept}; };
    return body;
}

TimedBody store_shared_body(unsigned warps) {
    auto address = std::make_shared<Reg>();
    auto value = std::make_shared<Reg>();
    TimedBody body;
    body.entry = "store_shared";
    body.threads = 32 * warps;
    body.links = 16;
    body.prologue = [address, value, threads = body.threads](PtxWriter& w, const Reg&, const Reg& scratch) {
        const std::string words = w.shared("words", threads * 16);
        *address = w.make_b32("mad.lo.u32", w.tid(), 16, w.make_b32("mov.u32", words));
        *value = w.make_b32("ld.global.b32", at(scratch));
    };
    body.link = [address, value](PtxWriter& w, unsigned) {
        w.op("st.volatile.shared.v4.b32", at(*address),
             "{" + *value + ", " + *value + ", " + *value + ", " + *value + "}");
    };
    body.results = [address](PtxWriter& w) {
        return std::vector<Reg>{w.make_b32("ld.shared.b32", at(*address))};
    };
    return body;
}

/// Shared loads of 4 bytes at a stride of words: conflicts of banks.
TimedBody conflict_body(unsigned stride) {
    auto address = std::make_shared<Reg>();
    TimedBody body;
    body.entry = "shared_stride_" + std::to_string(stride);
    body.threads = 1024;
    body.links = 16;
    body.prologue = [address, stride](PtxWriter& w, const Reg&, const Reg&) {
        const std::string words = w.shared("words", 32 * 4 * 33);
        const Reg base = w.make_b32("mov.u32", words), lane = w.make_b32("and.b32", w.tid(), 31);
        *address = w.make_b32("mad.lo.u32", lane, 4 * stride, base);
        w.op("st.shared.b32", at(*address), *address);
        w.cta_barrier();
    };
    body.link = [address](PtxWriter& w, unsigned) { w.op("ld.shared.b32", *address, at(*address)); };
    body.results = [address](PtxWriter&) { return std::vector<Reg>{*address}; };
    return body;
}

void add_per_sm(std::vector<Benchmark>& list) {
    const auto add = [&list](const std::string& id, const TimedBody& body, double bytes, bool quick) {
        const unsigned threads = body.threads;
        list.push_back(timed_loop_benchmark(id, "bandwidth of an SM", body, {{"warps", threads / 32}},
                                            "bytes/cycle/SM", bytes));
        list.back().quick = quick;
    };
    add("bandwidth/sm/shared_load", load_body(Level::shared, 8), 16.0 * 256, true);
    add("bandwidth/sm/shared_store", store_shared_body(32), 16.0 * 1024, false);
    add("bandwidth/sm/l1_load", load_body(Level::l1, 32), 16.0 * 1024, true);
    add("bandwidth/sm/l2_load", load_body(Level::l2, 32), 16.0 * 1024, true);
    for (const unsigned warps : {1u, 2u, 4u, 8u, 16u})
        add("bandwidth/sm/l2_load/warps=" + std::to_string(warps), load_body(Level::l2, warps),
            16.0 * 32 * warps, false);
    for (const unsigned warps : {4u, 16u})
        add("bandwidth/sm/l1_load/warps=" + std::to_string(warps), load_body(Level::l1, warps),
            16.0 * 32 * warps, false);
    for (const unsigned stride : {1u, 2u, 4u, 8u, 16u, 32u, 33u})
        add("bandwidth/sm/shared_stride/" + std::to_string(stride), conflict_body(stride), 4.0 * 1024, false);
}

// The whole GPU.

enum class Access : std::uint8_t { read, write, copy, sum };
constexpr unsigned kBandwidthThreads = 1024, kCtasPerSm = 2;
constexpr unsigned kAddends = 5;  ///< of Access::sum

const char* name_of(Access access) {
    return access == Access::read    ? "read"
           : access == Access::write ? "write"
           : access == Access::copy  ? "copy"
                                     : "sum_of_five";
}
/// Pieces of 16 bytes that a thread has under way per stream.
unsigned unroll_of(Access access) {
    return access == Access::sum ? 1 : 4;
}
/// Buffers side by side that it goes through.
unsigned streams_of(Access access) {
    return access == Access::sum ? kAddends + 1 : access == Access::copy ? 2 : 1;
}

/// The other addends, the "sum" of all (their XOR: bits instead of numbers), and where it goes.
void emit_sum(PtxWriter& w, const Reg& first, const Reg& size, const std::vector<Reg>& sum) {
    Reg address = first;
    std::vector<std::vector<Reg>> addends;
    for (unsigned i = 1; i < kAddends; ++i) {
        address = w.make_b64("add.u64", address, size);
        addends.push_back(w.b32s(4));
        w.op("ld.global.cg.v4.b32", kernels::vector_of(addends.back()), at(address));
    }
    for (const std::vector<Reg>& addend : addends)
        for (unsigned i = 0; i < 4; ++i) w.op("xor.b32", sum[i], sum[i], addend[i]);
    w.op("st.global.cg.v4.b32", at(w.make_b64("add.u64", address, size)), kernels::vector_of(sum));
}

/// Each thread goes `turns` times 4 pieces of 16 bytes, all threads side by side, and begins again at the
/// buffer's end. Copies go from the first half of the buffer to the second; sums from five sixths, a piece
/// at a time, to the last.
GeneratedKernel generate_stream(Access access, unsigned capability) {
    PtxWriter w(std::string("stream_") + name_of(access), capability);
    const Reg buffer = w.pointer_parameter("buffer"), size = w.b64_parameter("bytes"),
              turns = w.b32_parameter("turns"), sink = w.pointer_parameter("sink");
    const Reg ctas = w.make_b32("mov.u32", "%nctaid.x");
    const Reg step = w.make_b64("rem.u64", w.make_b64("mul.wide.u32", ctas, kBandwidthThreads * 16), size);
    const Reg thread = w.make_b32("mad.lo.u32", w.cta_x(), kBandwidthThreads, w.tid());
    const Reg offset = w.make_b64("rem.u64", w.make_b64("mul.wide.u32", thread, 16), size);
    const Reg left = w.make_b32("mov.u32", turns), more = w.predicate(), kept = w.constant_b32(0);
    const std::string loop = w.new_label("loop");
    w.place(loop);
    w.op(".pragma", "\"nounroll\"");
    const unsigned unroll = unroll_of(access);
    std::vector<Reg> addresses;
    for (unsigned i = 0; i < unroll; ++i) {
        addresses.push_back(w.make_b64("add.u64", buffer, offset));
        w.op("add.u64", offset, offset, step);
        const Reg beyond = w.make_predicate("setp.ge.u64", offset, size);
        w.op_if(beyond, "sub.u64", offset, offset, size);
    }
    std::vector<std::vector<Reg>> values;
    for (unsigned i = 0; i < unroll; ++i) {
        values.push_back(w.b32s(4));
        const std::string words = kernels::vector_of(values.back());
        if (access == Access::write) {
            for (const Reg& word : values.back()) w.op("mov.u32", word, thread);
        } else {
            w.op("ld.global.cg.v4.b32", words, at(addresses[i]));
        }
    }
    for (unsigned i = 0; i < unroll; ++i) {
        const std::string words = kernels::vector_of(values[i]);
        if (access == Access::write) w.op("st.global.cg.v4.b32", at(addresses[i]), words);
        if (access == Access::sum) emit_sum(w, addresses[i], size, values[i]);
        if (access == Access::copy)
            w.op("st.global.cg.v4.b32", at(w.make_b64("add.u64", addresses[i], size)), words);
        if (access == Access::read)
            for (const Reg& word : values[i]) w.op("xor.b32", kept, kept, word);
    }
    w.op("sub.u32", left, left, 1);
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, loop);
    const Reg never = w.make_predicate("setp.eq.u32", kept, "0x5a5a5a5a");
    w.op_if(never, "st.global.u32", at(sink), kept);
    return w.finish({kBandwidthThreads, 1, 1}, kCtasPerSm);
}

Measurement measure_stream(Access access, std::uint64_t bytes, Device& device,
                           const MeasureSettings& settings) {
    bytes = settings.reduced(bytes, 1 << 20);
    // The host of a simulator pays for the memory.
    if (!device.is_silicon())
        bytes = std::min<std::uint64_t>(bytes, access == Access::sum ? 64u << 20 : 192u << 20);
    const std::uint64_t whole = streams_of(access) * bytes;
    if (whole + (1u << 28) > device.free_bytes())
        throw DeviceError("not enough device memory for " + std::to_string(whole) + " bytes");
    const GeneratedKernel kernel = generate_stream(access, ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const DeviceBuffer buffer(device, whole), sink(device, 16);
    device.fill(buffer.address(), 0, whole);
    const std::uint64_t ctas = std::uint64_t{kCtasPerSm} * device.sm_count();
    const std::uint64_t per_turn = ctas * kBandwidthThreads * 16 * unroll_of(access);
    // Long enough that the launch does not matter. A simulator takes the shortest run that shows the rate:
    // what is written must be more than L2 holds back.
    // What L2 holds is read again and again.
    const bool in_l2 = access == Access::read && bytes <= 32u << 20;
    const std::uint64_t simulated = access == Access::read  ? (in_l2 ? 64u << 20 : 32u << 20)
                                    : access == Access::sum ? 32u << 20
                                                            : 96u << 20;
    const std::uint64_t wanted = device.is_silicon() ? std::max<std::uint64_t>(bytes, 256u << 20)
                                 : in_l2             ? settings.reduced(simulated)
                                                     : std::min<std::uint64_t>(bytes, simulated);
    const auto turns = static_cast<std::uint32_t>(std::max<std::uint64_t>(2, wanted / per_turn));
    TimingOptions options;
    options.repetitions = settings.repetitions;
    Measurement result;
    double microseconds[2] = {0, 0};
    for (unsigned longer = 0; longer < 2; ++longer) {
        const Launch launch = make_launch(handle, kernel, {static_cast<std::uint32_t>(ctas), 1, 1},
                                          {{"buffer", buffer.address()},
                                           {"bytes", bytes},
                                           {"turns", turns << longer},
                                           {"sink", sink.address()}});
        result.microseconds = device.time([&] { device.launch(launch); }, options);
        microseconds[longer] = median(result.microseconds);
    }
    const double moved = static_cast<double>(per_turn) * turns * streams_of(access);
    result.value = moved / (microseconds[1] - microseconds[0]) / 1e3;
    result.unit = "GB/s";
    result.details.number("bytes_moved", 2 * moved).number("microseconds_of_half", microseconds[0]);
    return result;
}

void add_stream(std::vector<Benchmark>& list, Access access, std::uint64_t mebibytes, bool quick) {
    Benchmark benchmark;
    benchmark.id = std::string("bandwidth/gpu/") + name_of(access) + "/" + std::to_string(mebibytes) + "MiB";
    benchmark.group = mebibytes <= 16 ? "bandwidth of L2" : "bandwidth by size";
    if (mebibytes >= 256) benchmark.group = "bandwidth of DRAM";
    benchmark.quick = quick;
    const std::uint64_t bytes = mebibytes << 20;
    benchmark.parameters = {{"bytes", static_cast<std::int64_t>(bytes)}};
    benchmark.texts = [access](unsigned capability) {
        return std::vector{generate_stream(access, capability)};
    };
    benchmark.measure = [access, bytes](Device& device, const MeasureSettings& settings) {
        return measure_stream(access, bytes, device, settings);
    };
    list.push_back(std::move(benchmark));
}

}  // namespace

void add_bandwidth_benchmarks(std::vector<Benchmark>& list) {
    for (const Access access : {Access::read, Access::write, Access::copy})
        add_stream(list, access, 1024, false);
    add_stream(list, Access::sum, 1024, false);
    add_stream(list, Access::read, 16, true);
    add_per_sm(list);
    for (const std::uint64_t mebibytes :
         {2, 4, 8, 12, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 96, 128, 256, 512})
        add_stream(list, Access::read, mebibytes, false);
    for (const std::uint64_t mebibytes : {4, 8, 16, 24, 32, 48, 64, 128, 256, 512}) {
        add_stream(list, Access::write, mebibytes, false);
        add_stream(list, Access::copy, mebibytes, false);
    }
}

}  // namespace heddle::capture
