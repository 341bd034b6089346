// Asynchronous copies and the barriers that they signal: cp.async, bulk copies (TMA), tensor copies,
// mbarrier.
#include <algorithm>
#include <array>
#include <memory>

#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/microbenchmarks/timed_loop.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

/// Waits until the phase of parity `parity` (b32) of the barrier has ended.
void emit_wait(PtxWriter& w, const Reg& barrier, const Reg& parity) {
    const std::string again = w.new_label("wait");
    const Reg ended = w.predicate();
    w.place(again);
    w.op("mbarrier.try_wait.parity.shared::cta.b64", ended, at(barrier), parity);
    w.jump_unless(ended, again);
}

/// One thread arrives and waits for what it has completed.
TimedBody mbarrier_body(const char* wait) {
    struct State {
        Reg barrier;
    };
    auto state = std::make_shared<State>();
    TimedBody body;
    body.entry = std::string("mbarrier_") + wait;
    body.threads = 1;
    body.links = 16;
    body.minimum_capability = std::string(wait) == "try_wait" ? 90 : 80;
    body.prologue = [state](PtxWriter& w, const Reg&, const Reg&) {
        state->barrier = w.make_b32("mov.u32", w.shared("barrier", 8));
        w.op("mbarrier.init.shared.b64", at(state->barrier), 1);
    };
    body.link = [state, wait](PtxWriter& w, unsigned) {
        const Reg phase = w.make_b64("mbarrier.arrive.shared.b64", at(state->barrier));
        const std::string again = w.new_label("wait");
        const Reg ended = w.predicate();
        w.place(again);
        w.op(std::string("mbarrier.") + wait + ".shared.b64", ended, at(state->barrier), phase);
        w.jump_unless(ended, again);
    };
    body.results = [](PtxWriter&) { return std::vector<Reg>{}; };
    return body;
}

/// cp.async of 16 bytes by each thread; `wait_each`: waits for each copy, else for those of a turn.
TimedBody copy_body(unsigned warps, bool wait_each) {
    struct State {
        Reg from, to;
    };
    auto state = std::make_shared<State>();
    TimedBody body;
    body.entry = "copy_async";
    body.threads = 32 * warps;
    body.links = 16;
    body.minimum_capability = 80;
    body.prologue = [state, threads = body.threads](PtxWriter& w, const Reg&, const Reg& scratch) {
        const std::string tile = w.shared("tile", threads * 16);
        const Reg thread = w.tid();
        state->from = w.element_address(scratch, thread, 16);
        state->to = w.make_b32("mad.lo.u32", thread, 16, w.make_b32("mov.u32", tile));
    };
    const auto wait = [](PtxWriter& w) {
        w.op("cp.async.commit_group");
        w.op("cp.async.wait_group", 0);
    };
    body.link = [state, wait, wait_each, threads = body.threads](PtxWriter& w, unsigned link) {
        w.op("cp.async.cg.shared.global", at(state->to),
             at(state->from, static_cast<std::int64_t>(link) * threads * 16), 16);
        if (wait_each) wait(w);
    };
    if (!wait_each) body.end_turn = wait;
    body.results = [state](PtxWriter& w) {
        return std::vector<Reg>{w.make_b32("ld.shared.b32", at(state->to))};
    };
    return body;
}

/// One thread starts a bulk copy of `bytes` from L2 and waits for it.
TimedBody bulk_body(unsigned bytes) {
    struct State {
        Reg from, to, barrier, parity;
    };
    auto state = std::make_shared<State>();
    TimedBody body;
    body.entry = "bulk_copy_" + std::to_string(bytes);
    body.threads = 1;
    body.links = 8;
    body.minimum_capability = 90;
    body.prologue = [state, bytes](PtxWriter& w, const Reg&, const Reg& scratch) {
        state->to = w.make_b32("mov.u32", w.shared("tile", bytes, 128));
        state->barrier = w.make_b32("mov.u32", w.shared("barrier", 8));
        state->from = scratch;
        state->parity = w.constant_b32(0);
        w.op("mbarrier.init.shared.b64", at(state->barrier), 1);
        w.op("fence.mbarrier_init.release.cluster");
    };
    body.link = [state, bytes](PtxWriter& w, unsigned link) {
        const std::uint64_t offset = (std::uint64_t{link} * bytes) % kScratchBytes;
        w.op("mbarrier.arrive.expect_tx.shared.b64", w.b64(), at(state->barrier), bytes);
        w.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", at(state->to),
             at(state->from, static_cast<std::int64_t>(offset)), bytes, at(state->barrier));
        emit_wait(w, state->barrier, state->parity);
        w.op("xor.b32", state->parity, state->parity, 1);
    };
    body.results = [state](PtxWriter& w) {
        return std::vector<Reg>{w.make_b32("ld.shared.b32", at(state->to))};
    };
    return body;
}

// Streams through bulk or tensor copies with the whole GPU.

constexpr unsigned kRowBytes = 128;  ///< of a tensor copy's box

struct CopyStream {
    bool tensor = false;  ///< two-dimensional boxes of rows of 128 bytes, swizzled; else plain bulk copies
    unsigned bytes = 0;   ///< of one copy
    unsigned stages = 1;  ///< copies under way per CTA
    unsigned ctas_per_sm = 1;
    std::uint64_t buffer = 0;
    bool cold = false;  ///< from DRAM
};

/// The parameter `source` becomes the tensor map itself: a map in global memory would need a fence of its
/// proxy.
void pass_map_by_value(std::string& text, const Reg& source) {
    const auto replace = [&text](const std::string& what, const std::string& with) {
        text.replace(text.find(what), what.size(), with);
    };
    replace(".param .u64 p_source", ".param .align 64 .b8 p_source[128]");
    replace("ld.param.u64 " + source + ", [p_source];",
            "mov.b64 " + source + ", p_source;\n    cvta.param.u64 " + source + ", " + source + ";");
}

/// One thread of each CTA keeps `stages` copies under way, `turns` times all of them.
GeneratedKernel generate_copy_stream(const CopyStream& stream, unsigned capability) {
    PtxWriter w(std::string(stream.tensor ? "tensor" : "bulk") + "_stream_" + std::to_string(stream.bytes) +
                    "_" + std::to_string(stream.stages),
                capability, 90, "bulk copies");
    const Reg source = stream.tensor ? w.b64_parameter("source") : w.pointer_parameter("source");
    const Reg pieces = w.b32_parameter("pieces"), turns = w.b32_parameter("turns");
    const std::string tile = w.dynamic_shared(stream.stages * stream.bytes + 1024);
    const std::string barriers = w.shared("barriers", 8 * stream.stages);
    const Reg start = w.make_b32("mov.u32", tile), barrier = w.make_b32("mov.u32", barriers);
    const Reg base = w.make_b32("and.b32", w.make_b32("add.u32", start, 1023), "0xfffffc00");
    for (unsigned stage = 0; stage < stream.stages; ++stage)
        w.op("mbarrier.init.shared.b64", at(barrier, 8 * stage), 1);
    w.op("fence.mbarrier_init.release.cluster");
    const Reg ctas = w.make_b32("mov.u32", "%nctaid.x");
    const Reg piece = w.make_b32("rem.u32", w.cta_x(), pieces);
    const Reg parity = w.constant_b32(0), left = w.make_b32("mov.u32", turns), more = w.predicate();
    const Reg column = w.constant_b32(0);
    const auto issue = [&](unsigned stage) {
        const std::string bar = at(barrier, 8 * stage);
        w.op("mbarrier.arrive.expect_tx.shared.b64", w.b64(), bar, stream.bytes);
        const Reg to = w.make_b32("add.u32", base, stage * stream.bytes);
        if (stream.tensor) {
            const Reg row = w.make_b32("mul.lo.u32", piece, stream.bytes / kRowBytes);
            w.op("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", at(to),
                 kernels::at_box(source, {column, row}), bar);
        } else {
            const Reg from = w.make_b64("mad.wide.u32", piece, stream.bytes, source);
            w.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", at(to), at(from),
                 stream.bytes, bar);
        }
        w.op("add.u32", piece, piece, ctas);
        const Reg beyond = w.make_predicate("setp.ge.u32", piece, pieces);
        w.op_if(beyond, "sub.u32", piece, piece, pieces);
    };
    for (unsigned stage = 0; stage < stream.stages; ++stage) issue(stage);
    const std::string loop = w.new_label("loop"), last = w.new_label("last");
    w.place(loop);
    w.op("sub.u32", left, left, 1);
    w.op("setp.eq.u32", more, left, 0);
    w.jump_if(more, last);
    for (unsigned stage = 0; stage < stream.stages; ++stage) {
        emit_wait(w, w.make_b32("add.u32", barrier, 8 * stage), parity);
        issue(stage);
    }
    w.op("xor.b32", parity, parity, 1);
    w.jump(loop);
    w.place(last);
    for (unsigned stage = 0; stage < stream.stages; ++stage)
        emit_wait(w, w.make_b32("add.u32", barrier, 8 * stage), parity);
    GeneratedKernel kernel = w.finish({1, 1, 1});
    if (stream.tensor) pass_map_by_value(kernel.text, source);
    return kernel;
}

/// Rows of 128 bytes, as bf16, in boxes of the copy's size.
std::array<std::byte, 128> tensor_map(Device& device, const CopyStream& stream, Address address) {
    TensorMapDescription map;
    map.data_type = 9;  // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
    map.rank = 2;
    map.address = address;
    map.sizes = {kRowBytes / 2, stream.buffer / kRowBytes};
    map.strides = {kRowBytes};
    map.box = {kRowBytes / 2, stream.bytes / kRowBytes};
    map.swizzle = 3;  // CU_TENSOR_MAP_SWIZZLE_128B
    return device.encode_tensor_map(map);
}

Measurement measure_copy_stream(CopyStream stream, Device& device, const MeasureSettings& settings) {
    stream.buffer = settings.reduced(stream.buffer, 4 << 20);
    // The host of a simulator pays for the memory.
    if (!device.is_silicon()) stream.buffer = std::min<std::uint64_t>(stream.buffer, 192u << 20);
    if (stream.buffer + (1u << 28) > device.free_bytes())
        throw DeviceError("not enough device memory for " + std::to_string(stream.buffer) + " bytes");
    const GeneratedKernel kernel = generate_copy_stream(stream, ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const DeviceBuffer buffer(device, stream.buffer);
    device.fill(buffer.address(), 0, stream.buffer);
    const std::uint64_t ctas = std::uint64_t{stream.ctas_per_sm} * device.sm_count();
    const std::uint64_t per_turn = ctas * stream.stages * stream.bytes;
    const std::uint64_t wanted =
        device.is_silicon() ? 256u << 20 : std::min<std::uint64_t>(8u << 20, stream.buffer);
    const auto turns = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted / per_turn, 1, 4096));
    TimingOptions options;
    options.repetitions = settings.repetitions;
    Measurement result;
    double microseconds[2] = {0, 0};
    for (unsigned longer = 0; longer < 2; ++longer) {
        Launch launch = make_launch(handle, kernel, {static_cast<std::uint32_t>(ctas), 1, 1},
                                    {{"source", buffer.address()},
                                     {"pieces", stream.buffer / stream.bytes},
                                     {"turns", turns << longer}});
        if (stream.tensor)
            launch.parameters.front() = parameter(tensor_map(device, stream, buffer.address()));
        result.microseconds = device.time([&] { device.launch(launch); }, options);
        microseconds[longer] = median(result.microseconds);
    }
    result.value = static_cast<double>(per_turn) * turns / (microseconds[1] - microseconds[0]) / 1e3;
    result.unit = "GB/s";
    result.details.number("bytes_moved", 2.0 * static_cast<double>(per_turn) * turns);
    return result;
}

void add_copy_stream(std::vector<Benchmark>& list, const CopyStream& stream, bool quick = false) {
    Benchmark benchmark;
    benchmark.id = std::string("tma/") + (stream.tensor ? "tensor" : "bulk") +
                   (stream.cold ? "/dram" : "/l2") + "/bytes=" + std::to_string(stream.bytes) +
                   "/stages=" + std::to_string(stream.stages) + "/ctas=" + std::to_string(stream.ctas_per_sm);
    benchmark.group = stream.cold ? "TMA bandwidth from DRAM" : "TMA bandwidth from L2";
    benchmark.quick = quick;
    benchmark.minimum_capability = 90;
    benchmark.parameters = {{"bytes", stream.bytes},
                            {"stages", stream.stages},
                            {"ctas_per_sm", stream.ctas_per_sm},
                            {"buffer", static_cast<std::int64_t>(stream.buffer)}};
    benchmark.texts = [stream](unsigned capability) {
        return std::vector{generate_copy_stream(stream, capability)};
    };
    benchmark.measure = [stream](Device& device, const MeasureSettings& settings) {
        return measure_copy_stream(stream, device, settings);
    };
    list.push_back(std::move(benchmark));
}

}  // namespace

void add_asynchronous_benchmarks(std::vector<Benchmark>& list) {
    list.push_back(timed_loop_benchmark("latency/mbarrier/arrive_try_wait", "synchronisation",
                                        mbarrier_body("try_wait"), {}));
    list.back().quick = true;
    list.push_back(timed_loop_benchmark("latency/mbarrier/arrive_test_wait", "synchronisation",
                                        mbarrier_body("test_wait"), {}));
    for (const unsigned bytes : {128u, 1024u, 16u, 512u, 2048u, 4096u, 8192u, 16384u, 32768u}) {
        list.push_back(timed_loop_benchmark("latency/tma/bulk/" + std::to_string(bytes), "TMA latency",
                                            bulk_body(bytes), {{"bytes", bytes}}));
        list.back().quick = bytes == 128;
    }
    list.push_back(timed_loop_benchmark("latency/cp_async", "memory latency", copy_body(1, true), {}));
    for (const unsigned warps : {4u, 8u, 16u}) {
        list.push_back(timed_loop_benchmark("bandwidth/sm/cp_async/warps=" + std::to_string(warps),
                                            "bandwidth of an SM", copy_body(warps, false), {{"warps", warps}},
                                            "bytes/cycle/SM", 512.0 * warps));
    }
    constexpr std::uint64_t kInL2 = 16u << 20, kInDram = 1u << 30;
    for (const bool cold : {true, false}) {
        const std::uint64_t buffer = cold ? kInDram : kInL2;
        for (const unsigned bytes : {1024u, 2048u, 4096u, 8192u, 16384u, 32768u}) {
            for (const unsigned ctas : {1u, 3u}) {
                add_copy_stream(list, {false, bytes, 1, ctas, buffer, cold});
                if (4 * bytes * ctas <= 196608) add_copy_stream(list, {false, bytes, 4, ctas, buffer, cold});
            }
        }
        for (const unsigned bytes : {1024u, 4096u, 8192u, 16384u, 32768u}) {
            add_copy_stream(list, {true, bytes, 1, 1, buffer, cold});
            add_copy_stream(list, {true, bytes, 4, 1, buffer, cold}, !cold && bytes == 8192);
        }
    }
}

}  // namespace heddle::capture
