// The latency of each of many lines from one SM: L2 is divided, and lines of the other partition are further.
#include <algorithm>
#include <array>
#include <cmath>

#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

constexpr unsigned kLines = 4096;
constexpr unsigned kPasses = 3;  // the first brings the lines in

/// One thread of the first CTA that runs on SM `target` times one load of each line; the shortest of the
/// passes from `first_pass` on goes to `out`, in 16 bits.
GeneratedKernel generate_line_latency(unsigned capability) {
    PtxWriter w("line_latency", capability);
    const Reg buffer = w.pointer_parameter("buffer"), stride = w.b32_parameter("stride"),
              target = w.b32_parameter("target"), first_pass = w.b32_parameter("first_pass"),
              passes = w.b32_parameter("passes"), taken = w.pointer_parameter("taken"),
              out = w.pointer_parameter("out");
    const std::string shortest = w.shared("shortest", 2 * kLines);
    const std::string end = w.new_label("end"), each_pass = w.new_label("pass"), each = w.new_label("line");
    const Reg here = w.make_b32("mov.u32", "%smid");
    w.jump_if(w.make_predicate("setp.ne.u32", here, target), end);
    w.jump_if(w.make_predicate("setp.ne.u32", w.tid(), 0), end);
    const Reg others = w.make_b32("atom.global.exch.b32", at(taken), 1);
    w.jump_if(w.make_predicate("setp.ne.u32", others, 0), end);

    const Reg pass = w.constant_b32(0), line = w.b32(), more = w.predicate();
    const Reg slot = w.b32();
    w.place(each_pass);
    w.op("mov.u32", line, 0);
    w.op("mov.u32", slot, shortest);
    w.place(each);
    w.op(".pragma", "\"nounroll\"");
    const Reg address = w.make_b64("mad.wide.u32", line, stride, buffer);
    const Reg start = w.make_b64("mov.u64", "%clock64");
    const Reg value = w.make_b32("ld.global.cg.b32", at(address));
    // The branch needs the value, and the clock is read behind the branch.
    w.jump_if(w.make_predicate("setp.eq.u32", value, "0x5a5a5a5a"), end);
    const Reg stop = w.make_b64("mov.u64", "%clock64");
    // All 64 bits are looked at: of the low half alone ptxas makes a slower read of the clock (S2UR).
    const Reg taken_cycles = w.make_b64("min.u64", w.make_b64("sub.u64", stop, start), 65535);
    const Reg cycles = w.make_b32("cvt.u32.u64", taken_cycles);
    const Reg before = w.b32(), first = w.make_predicate("setp.le.u32", pass, first_pass);
    const Reg half = w.b16();
    w.op("ld.shared.u16", half, at(slot));
    w.op("cvt.u32.u16", before, half);
    w.op_if(first, "mov.u32", before, 65535);
    w.op("cvt.u16.u32", half, w.make_b32("min.u32", cycles, before));
    w.op("st.shared.u16", at(slot), half);
    w.op("add.u32", slot, slot, 2);
    w.op("add.u32", line, line, 1);
    w.op("setp.lt.u32", more, line, kLines);
    w.jump_if(more, each);
    w.op("add.u32", pass, pass, 1);
    w.op("setp.lt.u32", more, pass, passes);
    w.jump_if(more, each_pass);

    const std::string copy = w.new_label("copy");
    w.op("mov.u32", line, 0);
    w.place(copy);
    const Reg from = w.make_b32("add.u32", line, w.make_b32("mov.u32", shortest));
    const Reg word = w.make_b32("ld.shared.u32", at(from));
    w.op("st.global.u32", at(w.element_address(out, line, 1)), word);
    w.op("add.u32", line, line, 4);
    w.op("setp.lt.u32", more, line, 2 * kLines);
    w.jump_if(more, copy);
    w.place(end);
    return w.finish({32, 1, 1});
}

double quantile(const std::vector<std::uint16_t>& sorted, double part) {
    return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

/// Two centres that values gather around (k-means with two means), and the part that is near the lower one.
struct TwoGroups {
    double lower = 0, upper = 0, part_lower = 1;
};
TwoGroups two_groups(const std::vector<std::uint16_t>& sorted) {
    TwoGroups groups{quantile(sorted, 0.05), quantile(sorted, 0.95), 1};
    for (int turn = 0; turn < 50; ++turn) {
        const double border = (groups.lower + groups.upper) / 2;
        double sums[2] = {0, 0}, counts[2] = {0, 0};
        for (const std::uint16_t value : sorted) {
            const int which = value > border ? 1 : 0;
            sums[which] += value;
            counts[which] += 1;
        }
        if (counts[0] > 0) groups.lower = sums[0] / counts[0];
        if (counts[1] > 0) groups.upper = sums[1] / counts[1];
        groups.part_lower = counts[0] / (counts[0] + counts[1]);
    }
    return groups;
}

Measurement measure_lines(Device& device, unsigned sm, std::uint32_t stride, bool cold,
                          const MeasureSettings& settings) {
    const bool one_pass = cold || settings.effort < 1;
    const GeneratedKernel kernel = generate_line_latency(ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const DeviceBuffer buffer(device, std::uint64_t{kLines} * stride), taken(device, 4),
        out(device, 2 * kLines);
    device.fill(buffer.address(), 0, buffer.bytes());
    if (cold) {
        const DeviceBuffer flush(device, 2 * device.l2_bytes());
        device.fill(flush.address(), 1, flush.bytes());
    }
    device.fill(taken.address(), 0, taken.bytes());
    device.fill(out.address(), 0, out.bytes());
    // Thread blocks of other SMs end at once, and what comes after them may go anywhere: some to spare.
    device.launch(make_launch(handle, kernel, {device.sm_count() * (device.is_silicon() ? 8 : 1), 1, 1},
                              {{"buffer", buffer.address()},
                               {"stride", stride},
                               {"target", sm},
                               {"first_pass", one_pass ? 0 : 1},
                               {"passes", one_pass ? 1 : kPasses},
                               {"taken", taken.address()},
                               {"out", out.address()}}));
    auto cycles = read_values<std::uint16_t>(device, out.address(), kLines);
    if (read_values<std::uint32_t>(device, taken.address(), 1).front() == 0)
        throw DeviceError("no thread block ran on SM " + std::to_string(sm));
    Measurement result;
    const auto bytes = std::as_bytes(std::span(cycles));
    result.bytes.assign(bytes.begin(), bytes.end());
    std::sort(cycles.begin(), cycles.end());
    const TwoGroups groups = two_groups(cycles);
    for (const double part : {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0})
        result.cycles.push_back(quantile(cycles, part));
    result.value = quantile(cycles, 0.5);
    result.unit = "cycles";
    result.details.text("cycles_are", "quantiles 0 1 10 25 50 75 90 99 100 %")
        .number("near", groups.lower)
        .number("far", groups.upper)
        .number("part_near", groups.part_lower);
    return result;
}

void add(std::vector<Benchmark>& list, unsigned eighth, bool cold, bool quick) {
    constexpr std::uint32_t kStride = 128 * 33;  // through all slices and channels
    Benchmark benchmark;
    benchmark.id = std::string("lines/") + (cold ? "dram" : "l2") + "/sm_" + std::to_string(eighth) + "_of_8";
    benchmark.group = "latency of lines";
    benchmark.quick = quick;
    benchmark.parameters = {{"lines", kLines}, {"stride", kStride}, {"eighth", eighth}, {"cold", cold}};
    benchmark.texts = [](unsigned capability) { return std::vector{generate_line_latency(capability)}; };
    benchmark.measure = [eighth, cold](Device& device, const MeasureSettings& settings) {
        return measure_lines(device, device.sm_count() * eighth / 8, kStride, cold, settings);
    };
    list.push_back(std::move(benchmark));
}

}  // namespace

void add_line_latency_benchmarks(std::vector<Benchmark>& list) {
    for (unsigned eighth = 0; eighth < 8; ++eighth) add(list, eighth, false, eighth == 0);
    add(list, 0, true, false);
    add(list, 4, true, false);
}

}  // namespace heddle::capture
