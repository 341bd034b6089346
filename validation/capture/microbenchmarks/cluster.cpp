// Thread block clusters: shared memory of another SM, and bulk copies to several CTAs at once.
#include <algorithm>

#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

constexpr unsigned kSteps = 512, kUnroll = 16;

void cluster_barrier(PtxWriter& w) {
    w.op("barrier.cluster.arrive.release.aligned");
    w.op("barrier.cluster.wait.acquire.aligned");
}

/// A thread of the first CTA follows pointers in the shared memory of every CTA of the cluster in turn: each
/// points to itself. out[rank]: cycles of kSteps loads.
GeneratedKernel generate_remote_chase(unsigned capability) {
    PtxWriter w("remote_chase", capability, 90, "clusters");
    const Reg out = w.pointer_parameter("out"), sink = w.pointer_parameter("sink"),
              ctas = w.b32_parameter("ctas");
    const Reg word = w.make_b32("mov.u32", w.shared("word", 16));
    const Reg rank = w.make_b32("mov.u32", "%cluster_ctarank");
    w.op("st.shared.u32", at(word), w.make_b32("mapa.shared::cluster.u32", word, rank));
    cluster_barrier(w);
    const std::string end = w.new_label("end"), each = w.new_label("rank"), chase = w.new_label("chase");
    w.jump_if(w.make_predicate("setp.ne.u32", rank, 0), end);
    const Reg which = w.constant_b32(0), left = w.b32(), more = w.predicate(), kept = w.constant_b32(0);
    w.place(each);
    const Reg pointer = w.make_b32("mapa.shared::cluster.u32", word, which);
    for (unsigned i = 0; i < 4; ++i) w.op("ld.shared::cluster.u32", pointer, at(pointer));
    w.op("mov.u32", left, kSteps / kUnroll);
    const Reg start = w.make_b64("mov.u64", "%clock64");
    w.place(chase);
    w.op(".pragma", "\"nounroll\"");
    for (unsigned i = 0; i < kUnroll; ++i) w.op("ld.shared::cluster.u32", pointer, at(pointer));
    w.op("sub.u32", left, left, 1);
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, chase);
    w.jump_if(w.make_predicate("setp.eq.u32", pointer, "0x5a5a5a5a"), end);
    const Reg stop = w.make_b64("mov.u64", "%clock64");
    w.op("st.global.u64", at(w.element_address(out, which, 8)), w.make_b64("sub.u64", stop, start));
    w.op("xor.b32", kept, kept, pointer);
    w.op("add.u32", which, which, 1);
    w.op("setp.lt.u32", more, which, ctas);
    w.jump_if(more, each);
    w.op("st.global.u32", at(sink), kept);
    w.place(end);
    cluster_barrier(w);
    return w.finish({1, 1, 1});
}

Measurement measure_remote_chase(Device& device, unsigned ctas, const MeasureSettings& settings) {
    const GeneratedKernel kernel = generate_remote_chase(ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const DeviceBuffer out(device, 8 * ctas), sink(device, 16);
    Launch launch = make_launch(handle, kernel, {ctas, 1, 1},
                                {{"out", out.address()}, {"sink", sink.address()}, {"ctas", ctas}});
    launch.cluster = {ctas, 1, 1};
    std::vector<std::vector<double>> by_rank(ctas);
    Measurement result;
    for (unsigned repetition = 0; repetition < settings.repetitions; ++repetition) {
        device.launch(launch);
        const auto cycles = read_values<std::uint64_t>(device, out.address(), ctas);
        for (unsigned rank = 0; rank < ctas; ++rank)
            by_rank[rank].push_back(static_cast<double>(cycles[rank]) / kSteps);
    }
    for (const auto& cycles : by_rank) result.cycles.push_back(median(cycles));
    result.value = median({result.cycles.begin() + 1, result.cycles.end()});
    result.unit = "cycles";
    result.details.text("cycles_are", "per load, by rank of the CTA that is read; the first reads itself");
    return result;
}

constexpr unsigned kClusterThreads = 512;

/// Every thread loads 16 bytes at a time from the next CTA of the cluster: cycles of the whole, by CTA.
GeneratedKernel generate_remote_load(unsigned capability) {
    PtxWriter w("remote_load", capability, 90, "clusters");
    const Reg out = w.pointer_parameter("out"), sink = w.pointer_parameter("sink"),
              ctas = w.b32_parameter("ctas"), turns = w.b32_parameter("turns");
    const Reg words = w.make_b32("mov.u32", w.shared("words", kClusterThreads * 16)), thread = w.tid();
    const Reg rank = w.make_b32("mov.u32", "%cluster_ctarank");
    const Reg zero = w.make_b32("ld.global.b32", at(sink));
    const Reg mine = w.make_b32("mad.lo.u32", thread, 16, words);
    w.op("st.shared.v4.b32", at(mine), "{" + zero + ", " + zero + ", " + zero + ", " + zero + "}");
    const Reg next = w.make_b32("rem.u32", w.make_b32("add.u32", rank, 1), ctas);
    const Reg remote = w.make_b32("mapa.shared::cluster.u32", mine, next);
    const Reg left = w.make_b32("mov.u32", turns), more = w.predicate(), kept = w.constant_b32(0);
    cluster_barrier(w);
    const Reg start = w.make_b64("mov.u64", "%clock64");
    const std::string loop = w.new_label("loop");
    w.place(loop);
    w.op(".pragma", "\"nounroll\"");
    std::vector<Reg> values = w.b32s(4);
    for (unsigned i = 0; i < 8; ++i) {
        w.op("ld.shared::cluster.v4.b32", kernels::vector_of(values), at(remote));
        for (const Reg& value : values) w.op("xor.b32", kept, kept, value);
        w.op("add.u32", remote, remote, values[0]);
    }
    w.op("sub.u32", left, left, 1);
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, loop);
    w.cta_barrier();
    const Reg stop = w.make_b64("mov.u64", "%clock64");
    cluster_barrier(w);
    const Reg first = w.make_predicate("setp.eq.u32", thread, 0);
    w.op_if(first, "st.global.u64", at(w.element_address(out, rank, 8)), w.make_b64("sub.u64", stop, start));
    w.op("st.global.u32", at(sink, 16), kept);
    return w.finish({kClusterThreads, 1, 1});
}

Measurement measure_remote_load(Device& device, unsigned ctas, const MeasureSettings& settings) {
    const GeneratedKernel kernel = generate_remote_load(ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const DeviceBuffer out(device, 8 * ctas), sink(device, 32);
    device.fill(sink.address(), 0, 32);
    constexpr unsigned kTurns = 16;
    Launch launch =
        make_launch(handle, kernel, {ctas, 1, 1},
                    {{"out", out.address()}, {"sink", sink.address()}, {"ctas", ctas}, {"turns", kTurns}});
    launch.cluster = {ctas, 1, 1};
    Measurement result;
    for (unsigned repetition = 0; repetition < settings.repetitions; ++repetition) {
        device.launch(launch);
        const auto cycles = read_values<std::uint64_t>(device, out.address(), ctas);
        result.cycles.push_back(static_cast<double>(*std::max_element(cycles.begin(), cycles.end())));
    }
    result.value = kTurns * 8.0 * 16 * kClusterThreads / median(result.cycles);
    result.unit = "bytes/cycle/SM";
    return result;
}

/// Each CTA of the cluster fetches its share of a tile and sends it to all: every CTA receives the whole
/// tile. One thread, `turns` tiles one after the other.
GeneratedKernel generate_multicast(unsigned capability, unsigned ctas, unsigned tile_bytes) {
    PtxWriter w("multicast_" + std::to_string(ctas) + "_" + std::to_string(tile_bytes), capability, 90,
                "clusters");
    const Reg source = w.pointer_parameter("source"), turns = w.b32_parameter("turns"),
              out = w.pointer_parameter("out");
    const unsigned share = tile_bytes / ctas;
    const Reg tile = w.make_b32("mov.u32", w.shared("tile", tile_bytes, 128));
    const Reg barrier = w.make_b32("mov.u32", w.shared("barrier", 8));
    const Reg rank = w.make_b32("mov.u32", "%cluster_ctarank");
    w.op("mbarrier.init.shared.b64", at(barrier), 1);
    w.op("fence.mbarrier_init.release.cluster");
    cluster_barrier(w);
    const Reg to = w.make_b32("mad.lo.u32", rank, share, tile);
    const Reg from = w.make_b64("mad.wide.u32", rank, share, source);
    const Reg mask = w.b16(), parity = w.constant_b32(0), left = w.make_b32("mov.u32", turns),
              more = w.predicate(), ended = w.predicate();
    w.op("mov.u16", mask, (1u << ctas) - 1);
    const Reg start = w.make_b64("mov.u64", "%clock64");
    const std::string loop = w.new_label("loop"), again = w.new_label("wait");
    w.place(loop);
    w.op("mbarrier.arrive.expect_tx.shared.b64", w.b64(), at(barrier), tile_bytes);
    // No CTA sends before all have said what they expect.
    cluster_barrier(w);
    if (ctas == 1) {
        w.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", at(to), at(from), share,
             at(barrier));
    } else {
        w.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster", at(to),
             at(from), share, at(barrier), mask);
    }
    w.place(again);
    w.op("mbarrier.try_wait.parity.shared::cta.b64", ended, at(barrier), parity);
    w.jump_unless(ended, again);
    w.op("xor.b32", parity, parity, 1);
    w.op("sub.u32", left, left, 1);
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, loop);
    const Reg stop = w.make_b64("mov.u64", "%clock64");
    w.op("st.global.u64", at(w.element_address(out, w.cta_x(), 8)), w.make_b64("sub.u64", stop, start));
    cluster_barrier(w);
    return w.finish({1, 1, 1});
}

Measurement measure_multicast(Device& device, unsigned ctas, unsigned tile_bytes,
                              const MeasureSettings& settings) {
    const GeneratedKernel kernel = generate_multicast(ptx_capability(device), ctas, tile_bytes);
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    constexpr unsigned kTurns = 64;
    const DeviceBuffer source(device, tile_bytes), out(device, 8 * ctas);
    device.fill(source.address(), 0, tile_bytes);
    Launch launch = make_launch(handle, kernel, {ctas, 1, 1},
                                {{"source", source.address()}, {"turns", kTurns}, {"out", out.address()}});
    launch.cluster = {ctas, 1, 1};
    Measurement result;
    for (unsigned repetition = 0; repetition < settings.repetitions; ++repetition) {
        device.launch(launch);
        result.cycles.push_back(
            static_cast<double>(read_values<std::uint64_t>(device, out.address(), ctas).front()));
    }
    result.value = median(result.cycles) / kTurns;
    result.unit = "cycles";
    result.details.text("cycles_are", "of 64 tiles, with a barrier of the cluster before each");
    return result;
}

}  // namespace

void add_cluster_benchmarks(std::vector<Benchmark>& list) {
    for (const unsigned ctas : {2u, 4u, 8u, 16u}) {
        Benchmark chase;
        chase.id = "latency/distributed_shared/cluster=" + std::to_string(ctas);
        chase.group = "clusters";
        chase.minimum_capability = 90;
        chase.quick = ctas == 2;
        chase.parameters = {{"ctas", ctas}};
        chase.texts = [](unsigned capability) { return std::vector{generate_remote_chase(capability)}; };
        chase.measure = [ctas](Device& device, const MeasureSettings& settings) {
            return measure_remote_chase(device, ctas, settings);
        };
        list.push_back(chase);
        Benchmark load = chase;
        load.id = "bandwidth/distributed_shared/cluster=" + std::to_string(ctas);
        load.quick = false;
        load.texts = [](unsigned capability) { return std::vector{generate_remote_load(capability)}; };
        load.measure = [ctas](Device& device, const MeasureSettings& settings) {
            return measure_remote_load(device, ctas, settings);
        };
        list.push_back(load);
    }
    for (const unsigned bytes : {8192u, 32768u}) {
        for (const unsigned ctas : {1u, 2u, 4u, 8u}) {
            Benchmark multicast;
            multicast.id =
                "tma/multicast/bytes=" + std::to_string(bytes) + "/cluster=" + std::to_string(ctas);
            multicast.group = "clusters";
            multicast.minimum_capability = 90;
            multicast.quick = bytes == 8192 && ctas == 2;
            multicast.parameters = {{"ctas", ctas}, {"bytes", bytes}};
            multicast.texts = [ctas, bytes](unsigned capability) {
                return std::vector{generate_multicast(capability, ctas, bytes)};
            };
            multicast.measure = [ctas, bytes](Device& device, const MeasureSettings& settings) {
                return measure_multicast(device, ctas, bytes, settings);
            };
            list.push_back(multicast);
        }
    }
}

}  // namespace heddle::capture
