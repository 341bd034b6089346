#include "validation/capture/microbenchmarks/timed_loop.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "validation/capture/microbenchmarks/launching.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::PtxWriter;
using kernels::Reg;

constexpr unsigned kClocks = 4;  // start and stop of the short loop, start and stop of the long one

void emit_region(PtxWriter& w, const TimedBody& body, unsigned links, const Reg& turns, const Reg& start,
                 const Reg& stop) {
    const Reg left = w.b32();
    const Reg more = w.predicate();
    const std::string loop = w.new_label("loop");
    w.op("mov.u32", left, turns);
    w.cta_barrier();
    w.op("mov.u64", start, "%clock64");
    w.place(loop);
    w.op(".pragma", "\"nounroll\"");
    if (body.begin_turn) body.begin_turn(w);
    for (unsigned i = 0; i < links; ++i) body.link(w, i);
    if (body.end_turn) body.end_turn(w);
    w.op("sub.u32", left, left, 1);
    w.op("setp.ne.u32", more, left, 0);
    w.jump_if(more, loop);
    w.op("mov.u64", stop, "%clock64");
}

std::vector<std::byte> operand_table() {
    std::vector<std::byte> table(kOperandTableBytes);
    const auto put = [&table](int offset, auto value) {
        std::memcpy(table.data() + offset, &value, sizeof value);
    };
    put(operand_offset::f32_one, 1.0f);
    put(operand_offset::f32_small, 0x1p-20f);
    put(operand_offset::b32_three, std::uint32_t{3});
    put(operand_offset::b32_five, std::uint32_t{5});
    put(operand_offset::f16x2_one, std::uint32_t{0x3c003c00});
    put(operand_offset::f16x2_small, std::uint32_t{0x04000400});
    put(operand_offset::bf16x2_one, std::uint32_t{0x3f803f80});
    put(operand_offset::bf16x2_small, std::uint32_t{0x35803580});
    put(operand_offset::f64_one, 1.0);
    put(operand_offset::f64_small, 0x1p-20);
    return table;
}

}  // namespace

kernels::GeneratedKernel generate_timed_loop(const TimedBody& body, unsigned compute_capability) {
    PtxWriter w(body.entry, compute_capability, body.minimum_capability);
    const Reg out = w.pointer_parameter("out"), sink = w.pointer_parameter("sink"),
              operands = w.pointer_parameter("operands"), scratch = w.pointer_parameter("scratch"),
              turns = w.b32_parameter("turns");
    if (body.prologue) body.prologue(w, operands, scratch);
    std::vector<Reg> clocks;
    for (unsigned i = 0; i < kClocks; ++i) clocks.push_back(w.b64());
    // The first pass fetches instructions and data; the second is kept.
    const Reg now = w.constant_b32(2), pass = w.constant_b32(0), again = w.predicate();
    const std::string measure = w.new_label("measure");
    w.place(measure);
    emit_region(w, body, body.links, now, clocks[0], clocks[1]);
    emit_region(w, body, 2 * body.links, now, clocks[2], clocks[3]);
    w.op("mov.u32", now, turns);
    w.op("add.u32", pass, pass, 1);
    w.op("setp.lt.u32", again, pass, 2);
    w.jump_if(again, measure);

    const Reg thread = w.tid();
    const Reg lane = w.make_b32("and.b32", thread, 31), warp = w.make_b32("shr.u32", thread, 5);
    const Reg first = w.make_predicate("setp.eq.u32", lane, 0);
    const Reg mine = w.element_address(out, warp, kClocks * 8);
    for (unsigned i = 0; i < kClocks; ++i) w.op_if(first, "st.global.u64", at(mine, 8 * i), clocks[i]);
    Reg kept = w.constant_b32(0);
    for (const Reg& result : body.results(w)) kept = w.make_b32("xor.b32", kept, result);
    w.op("st.global.u32", at(w.element_address(sink, thread, 4)), kept);
    kernels::GeneratedKernel kernel = w.finish({body.threads, 1, 1});
    if (!body.module_variables.empty())
        kernel.text.insert(kernel.text.find(".visible .entry"), body.module_variables);
    constexpr std::string_view kVersion = ".version ";
    if (!body.version.empty())
        kernel.text.replace(kernel.text.find(kVersion) + kVersion.size(), body.version.size(), body.version);
    return body.specific_target ? for_specific_target(std::move(kernel)) : kernel;
}

Measurement measure_timed_loop(const TimedBody& body, Device& device, const MeasureSettings& settings,
                               unsigned links_wanted) {
    const kernels::GeneratedKernel kernel = generate_timed_loop(body, ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const unsigned warps = (body.threads + 31) / 32;
    const auto wanted = static_cast<unsigned>(settings.reduced(links_wanted));
    const unsigned turns = std::max(2u, (wanted + body.links - 1) / body.links);
    const DeviceBuffer out(device, std::uint64_t{warps} * kClocks * 8), sink(device, body.threads * 4),
        operands(device, operand_table()), scratch(device, kScratchBytes);
    device.fill(scratch.address(), 0, kScratchBytes);

    Measurement result;
    result.unit = "cycles";
    std::vector<double> per_link;
    for (unsigned repetition = 0; repetition < settings.repetitions; ++repetition) {
        device.launch(make_launch(handle, kernel, {1, 1, 1},
                                  {{"out", out.address()},
                                   {"sink", sink.address()},
                                   {"operands", operands.address()},
                                   {"scratch", scratch.address()},
                                   {"turns", turns}}));
        const auto clocks = read_values<std::uint64_t>(device, out.address(), warps * kClocks);
        const auto elapsed = [&](unsigned start) {
            std::uint64_t begin = ~0ull, end = 0;
            for (unsigned warp = 0; warp < warps; ++warp) {
                begin = std::min(begin, clocks[warp * kClocks + start]);
                end = std::max(end, clocks[warp * kClocks + start + 1]);
            }
            return static_cast<double>(end - begin);
        };
        const double difference = elapsed(2) - elapsed(0);
        result.cycles.push_back(difference);
        per_link.push_back(difference / (static_cast<double>(turns) * body.links));
    }
    result.value = median(per_link);
    result.details.integer("links", static_cast<std::int64_t>(turns) * body.links);
    return result;
}

Benchmark timed_loop_benchmark(std::string id, std::string group, const TimedBody& body,
                               std::vector<BenchmarkParameter> parameters, const std::string& unit,
                               double scale) {
    Benchmark benchmark;
    benchmark.id = std::move(id);
    benchmark.group = std::move(group);
    benchmark.parameters = std::move(parameters);
    benchmark.minimum_capability = body.minimum_capability;
    if (body.specific_target) benchmark.only_capability = 90;
    benchmark.texts = [body](unsigned capability) {
        return std::vector{generate_timed_loop(body, capability)};
    };
    benchmark.measure = [body, unit, scale](Device& device, const MeasureSettings& settings) {
        Measurement result = measure_timed_loop(body, device, settings);
        if (scale != 0) {
            result.value = result.value > 0 ? scale / result.value : 0;
            result.unit = unit;
        }
        return result;
    };
    return benchmark;
}

}  // namespace heddle::capture
