// What L2's eviction policies do: a block is read with one policy, a stream with another goes by, and the
// part of the block that is still there is found by the latency of its lines.
#include <algorithm>
#include <array>

#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

constexpr unsigned kCachePolicyThreads = 1024, kSamples = 2048, kLine = 128;

/// Reads `lines` lines from `base`, one sector each, with a policy; one CTA.
void emit_sweep(PtxWriter& w, const Reg& base, const Reg& lines, const std::string& policy, const Reg& kept) {
    const Reg hint = w.make_b64("createpolicy.fractional.L2::" + policy + ".b64", "1.0");
    const Reg index = w.tid(), done = w.predicate();
    const std::string loop = w.new_label("sweep"), end = w.new_label("swept");
    w.place(loop);
    w.op("setp.ge.u32", done, index, lines);
    w.jump_if(done, end);
    const Reg value =
        w.make_b32("ld.global.L2::cache_hint.b32", at(w.element_address(base, index, kLine)), hint);
    w.op("xor.b32", kept, kept, value);
    w.op("add.u32", index, index, kCachePolicyThreads);
    w.jump(loop);
    w.place(end);
    w.cta_barrier();
}

GeneratedKernel generate_policy(unsigned capability, const std::string& block_policy,
                                const std::string& stream_policy) {
    PtxWriter w("policy_" + block_policy + "_" + stream_policy, capability, 80, "L2 eviction policies");
    const Reg block = w.pointer_parameter("block"), block_lines = w.b32_parameter("block_lines"),
              stream = w.pointer_parameter("stream"), stream_lines = w.b32_parameter("stream_lines"),
              sample_step = w.b32_parameter("sample_step"), out = w.pointer_parameter("out"),
              sink = w.pointer_parameter("sink");
    const Reg kept = w.constant_b32(0);
    emit_sweep(w, block, block_lines, block_policy, kept);
    emit_sweep(w, stream, stream_lines, stream_policy, kept);
    const std::string end = w.new_label("end"), each = w.new_label("sample");
    w.jump_if(w.make_predicate("setp.ne.u32", w.tid(), 0), end);
    const Reg sample = w.constant_b32(0), more = w.predicate();
    w.place(each);
    w.op(".pragma", "\"nounroll\"");
    const Reg line = w.make_b32("mul.lo.u32", sample, sample_step);
    const Reg address = w.element_address(block, line, kLine);
    const Reg start = w.make_b64("mov.u64", "%clock64");
    const Reg value = w.make_b32("ld.global.cg.b32", at(address));
    w.jump_if(w.make_predicate("setp.eq.u32", value, "0x5a5a5a5a"), end);
    const Reg stop = w.make_b64("mov.u64", "%clock64");
    // All 64 bits are looked at: of the low half alone ptxas makes a slower read of the clock (S2UR).
    const Reg cycles = w.make_b64("min.u64", w.make_b64("sub.u64", stop, start), 65535);
    const Reg half = w.b16();
    w.op("cvt.u16.u32", half, w.make_b32("cvt.u32.u64", cycles));
    w.op("st.global.u16", at(w.element_address(out, sample, 2)), half);
    w.op("add.u32", sample, sample, 1);
    w.op("setp.lt.u32", more, sample, kSamples);
    w.jump_if(more, each);
    w.op("st.global.u32", at(sink), kept);
    w.place(end);
    return w.finish({kCachePolicyThreads, 1, 1});
}

struct PolicyCase {
    std::string block_policy, stream_policy;
    unsigned block_mebibytes = 8, stream_mebibytes = 32;
};

/// Part of the samples that took less than the middle between the fastest and the slowest of all.
double part_found(std::vector<std::uint16_t> cycles, double border) {
    const auto found = std::count_if(cycles.begin(), cycles.end(), [border](auto c) { return c < border; });
    return static_cast<double>(found) / static_cast<double>(cycles.size());
}

Measurement measure_policy(const PolicyCase& which, Device& device, const MeasureSettings& settings) {
    const std::uint64_t least = std::uint64_t{kSamples} * kLine,
                        block_bytes = settings.reduced(std::uint64_t{which.block_mebibytes} << 20, least),
                        stream_bytes = settings.reduced(std::uint64_t{which.stream_mebibytes} << 20, least);
    const GeneratedKernel kernel =
        generate_policy(ptx_capability(device), which.block_policy, which.stream_policy);
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const DeviceBuffer block(device, block_bytes), stream(device, stream_bytes), out(device, 2 * kSamples),
        sink(device, 16);
    const std::uint64_t block_lines = block_bytes / kLine;
    const auto launch = [&](std::uint64_t swept, std::uint64_t streamed) {
        device.launch(make_launch(handle, kernel, {1, 1, 1},
                                  {{"block", block.address()},
                                   {"block_lines", swept},
                                   {"stream", stream.address()},
                                   {"stream_lines", streamed},
                                   {"sample_step", block_lines / kSamples},
                                   {"out", out.address()},
                                   {"sink", sink.address()}}));
        return read_values<std::uint16_t>(device, out.address(), kSamples);
    };
    const auto empty_l2 = [&](std::uint8_t value) {
        const DeviceBuffer flush(device, 3 * device.l2_bytes());
        device.fill(flush.address(), value, flush.bytes());
    };
    const auto middle = [](std::vector<std::uint16_t> cycles) {
        std::sort(cycles.begin(), cycles.end());
        return static_cast<double>(cycles[cycles.size() / 2]);
    };
    empty_l2(0);
    const double missing = middle(launch(0, 0));
    empty_l2(1);
    const double present = middle(launch(block_lines, 0));
    Measurement result;
    std::vector<double> parts;
    for (unsigned repetition = 0; repetition < std::min(3u, settings.repetitions); ++repetition) {
        empty_l2(static_cast<std::uint8_t>(2 + repetition));
        parts.push_back(part_found(launch(block_lines, stream_bytes / kLine), (missing + present) / 2));
    }
    result.value = median(parts);
    result.unit = "part found";
    result.details.number("cycles_present", present)
        .number("cycles_missing", missing)
        .numbers("parts", parts);
    return result;
}

}  // namespace

void add_cache_policy_benchmarks(std::vector<Benchmark>& list) {
    const std::array<std::pair<const char*, const char*>, 5> pairs{{{"evict_normal", "evict_normal"},
                                                                    {"evict_last", "evict_normal"},
                                                                    {"evict_normal", "evict_first"},
                                                                    {"evict_first", "evict_normal"},
                                                                    {"evict_last", "evict_first"}}};
    for (const unsigned stream : {32u, 48u, 64u, 128u}) {
        for (const auto& [block_policy, stream_policy] : pairs) {
            const PolicyCase which{block_policy, stream_policy, 8, stream};
            Benchmark benchmark;
            benchmark.id = "l2_policy/" + which.block_policy + "_then_" + which.stream_policy +
                           "/stream=" + std::to_string(stream) + "MiB";
            benchmark.group = "L2 policy";
            benchmark.minimum_capability = 80;
            benchmark.parameters = {{"block_MiB", 8}, {"stream_MiB", stream}};
            benchmark.texts = [which](unsigned capability) {
                return std::vector{generate_policy(capability, which.block_policy, which.stream_policy)};
            };
            benchmark.measure = [which](Device& device, const MeasureSettings& settings) {
                return measure_policy(which, device, settings);
            };
            list.push_back(std::move(benchmark));
        }
    }
}

}  // namespace heddle::capture
