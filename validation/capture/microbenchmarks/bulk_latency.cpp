// Latency of bulk copies (TMA) by where the line is: what L2 holds in the near and the far half, and DRAM.
#include <memory>
#include <numeric>

#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

constexpr unsigned kBulkLatencyThreads = 1024;
constexpr unsigned kBytes = 128;
constexpr unsigned kWarmUp = 4;

/// All threads touch the lines (`touched` of them, 0: none), all sectors of each; then one thread copies one
/// line after the other, each when the one before has arrived, in the order in which they were touched: line
/// (i + step) mod `lines` follows line i.
GeneratedKernel generate_bulk_latency(unsigned capability) {
    PtxWriter w("bulk_latency", capability, 90, "bulk copies");
    const Reg buffer = w.pointer_parameter("buffer"), lines = w.b32_parameter("lines"),
              stride = w.b32_parameter("stride"), touched = w.b32_parameter("touched"),
              step = w.b32_parameter("step"), turns = w.b32_parameter("turns"),
              out = w.pointer_parameter("out");
    const Reg count = w.make_b64("cvt.u64.u32", touched);
    const Reg tile = w.make_b32("mov.u32", w.shared("tile", kBytes, 128));
    const Reg barrier = w.make_b32("mov.u32", w.shared("barrier", 8));
    const Reg thread = w.tid(), index = w.make_b32("mov.u32", thread), kept = w.constant_b32(0);
    const std::string touch = w.new_label("touch"), touched_all = w.new_label("touched_all"),
                      end = w.new_label("end");
    const Reg done = w.predicate();
    w.place(touch);
    w.op("setp.ge.u32", done, index, touched);
    w.jump_if(done, touched_all);
    const Reg place = w.make_b64("rem.u64", w.make_b64("mul.wide.u32", index, step), count);
    const Reg element = w.make_b32("cvt.u32.u64", place);
    const Reg line_address = w.make_b64("mad.wide.u32", element, stride, buffer);
    for (unsigned sector = 0; sector < kBytes; sector += 32)
        w.op("xor.b32", kept, kept, w.make_b32("ld.global.cg.u32", at(line_address, sector)));
    w.op("add.u32", index, index, kBulkLatencyThreads);
    w.jump(touch);
    w.place(touched_all);
    w.cta_barrier();
    w.jump_if(w.make_predicate("setp.ne.u32", thread, 0), end);
    w.op("mbarrier.init.shared.b64", at(barrier), 1);
    w.op("fence.mbarrier_init.release.cluster");
    const Reg line = w.constant_b32(0), parity = w.constant_b32(0), left = w.make_b32("mov.u32", turns),
              more = w.predicate(), warm = w.predicate(), ended = w.predicate();
    const Reg start = w.make_b64("mov.u64", "%clock64");
    const std::string loop = w.new_label("copy"), again = w.new_label("wait");
    const Reg from = w.make_b64("mov.u64", buffer);
    w.place(loop);
    w.op(".pragma", "\"nounroll\"");
    w.op("mbarrier.arrive.expect_tx.shared.b64", w.b64(), at(barrier), kBytes);
    w.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", at(tile), at(from), kBytes,
         at(barrier));
    w.op("add.u32", line, line, step);
    w.op("rem.u32", line, line, lines);
    w.op("mad.wide.u32", from, line, stride, buffer);
    w.place(again);
    w.op("mbarrier.try_wait.parity.shared::cta.b64", ended, at(barrier), parity);
    w.jump_unless(ended, again);
    w.op("xor.b32", parity, parity, 1);
    w.op("sub.u32", left, left, 1);
    // The first copies bring the instructions and the engine in.
    w.op("setp.eq.u32", warm, left, w.make_b32("sub.u32", turns, kWarmUp));
    w.op_if(warm, "mov.u64", start, "%clock64");
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, loop);
    const Reg stop = w.make_b64("mov.u64", "%clock64");
    w.op("st.global.u64", at(out), w.make_b64("sub.u64", stop, start));
    w.op("st.global.u32", at(out, 8), kept);
    w.place(end);
    return w.finish({kBulkLatencyThreads, 1, 1});
}

struct BulkChase {
    const char* name;
    std::uint32_t lines, stride;
    bool touch;
};

Measurement measure_bulk_chase(BulkChase chase, Device& device, const MeasureSettings& settings) {
    const auto turns = static_cast<unsigned>(settings.reduced(1024, 2 * kWarmUp));
    chase.lines = static_cast<std::uint32_t>(settings.reduced(chase.lines, 64));
    std::uint32_t step = static_cast<std::uint32_t>(0.6180339887 * chase.lines) | 1;
    while (std::gcd(step, chase.lines) != 1) step += 2;
    const GeneratedKernel kernel = generate_bulk_latency(ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const std::uint64_t bytes = std::uint64_t{chase.lines} * chase.stride;
    const DeviceBuffer buffer(device, bytes), out(device, 16);
    device.fill(buffer.address(), 0, bytes);
    std::unique_ptr<DeviceBuffer> flush;
    if (!chase.touch) flush = std::make_unique<DeviceBuffer>(device, 2 * device.l2_bytes());
    Measurement result;
    result.unit = "cycles";
    for (unsigned repetition = 0; repetition < settings.repetitions; ++repetition) {
        if (flush) device.fill(flush->address(), static_cast<std::uint8_t>(repetition), flush->bytes());
        device.launch(make_launch(handle, kernel, {1, 1, 1},
                                  {{"buffer", buffer.address()},
                                   {"lines", chase.lines},
                                   {"stride", chase.stride},
                                   {"touched", chase.touch ? chase.lines : 0},
                                   {"step", step},
                                   {"turns", turns},
                                   {"out", out.address()}}));
        result.cycles.push_back(
            static_cast<double>(read_values<std::uint64_t>(device, out.address(), 1).front()));
    }
    result.value = median(result.cycles) / (turns - kWarmUp);
    return result;
}

}  // namespace

void add_bulk_latency_benchmarks(std::vector<Benchmark>& list) {
    for (const BulkChase& chase :
         {BulkChase{"l2", 8192, kBytes, true}, BulkChase{"far", 327680, kBytes, true},
          BulkChase{"dram", 16384, 16384 + kBytes, false}}) {
        Benchmark benchmark;
        benchmark.id = std::string("latency/tma/") + chase.name + "/128";
        benchmark.group = "TMA latency";
        benchmark.minimum_capability = 90;
        benchmark.parameters = {{"bytes", static_cast<std::int64_t>(chase.lines) * chase.stride},
                                {"stride", chase.stride},
                                {"touched", chase.touch ? 1 : 0}};
        benchmark.texts = [](unsigned capability) { return std::vector{generate_bulk_latency(capability)}; };
        benchmark.measure = [chase](Device& device, const MeasureSettings& settings) {
            return measure_bulk_chase(chase, device, settings);
        };
        list.push_back(std::move(benchmark));
    }
}

}  // namespace heddle::capture
