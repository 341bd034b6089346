// What a launch costs: kernels back to back in a graph, thread blocks handed out by the scheduler; and the SM
// clock.
#include <algorithm>

#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::capture {
namespace {

using kernels::GeneratedKernel;
using kernels::PtxWriter;
using kernels::Reg;

GeneratedKernel generate_empty(unsigned capability, unsigned threads) {
    PtxWriter w("empty_" + std::to_string(threads), capability);
    return w.finish({threads, 1, 1});
}

/// Waits until `cycles` of the SM's clock have passed.
GeneratedKernel generate_spin(unsigned capability) {
    PtxWriter w("spin", capability);
    const Reg cycles = w.b64_parameter("cycles");
    const Reg start = w.make_b64("mov.u64", "%clock64"), now = w.b64(), more = w.predicate();
    const std::string loop = w.new_label("loop");
    w.place(loop);
    w.op("mov.u64", now, "%clock64");
    w.op("sub.u64", now, now, start);
    w.op("setp.lt.u64", more, now, cycles);
    w.jump_if(more, loop);
    return w.finish({32, 1, 1});
}

/// Microseconds of `launches` launches one after the other, in one graph.
std::vector<double> time_launches(Device& device, const Launch& launch, unsigned launches,
                                  unsigned repetitions) {
    TimingOptions options;
    options.repetitions = repetitions;
    return device.time(
        [&] {
            for (unsigned i = 0; i < launches; ++i) device.launch(launch);
        },
        options);
}

Benchmark empty_benchmark(std::string id, std::string group, unsigned threads) {
    Benchmark benchmark;
    benchmark.id = std::move(id);
    benchmark.group = std::move(group);
    benchmark.texts = [threads](unsigned capability) {
        return std::vector{generate_empty(capability, threads)};
    };
    return benchmark;
}

/// From one empty kernel to the next.
void add_back_to_back(std::vector<Benchmark>& list, unsigned ctas) {
    Benchmark benchmark = empty_benchmark("launch/back_to_back/ctas=" + std::to_string(ctas), "launch", 128);
    benchmark.parameters = {{"ctas", ctas}};
    benchmark.quick = ctas == 1;
    benchmark.measure = [ctas](Device& device, const MeasureSettings& settings) {
        const GeneratedKernel kernel = generate_empty(ptx_capability(device), 128);
        const KernelHandle handle = device.load(kernel.text, kernel.entry);
        const Launch launch = make_launch(handle, kernel, {ctas, 1, 1}, {});
        Measurement result;
        const unsigned few = 4, many = device.is_silicon() ? 68 : 8;
        const double short_run = median(time_launches(device, launch, few, settings.repetitions));
        result.microseconds = time_launches(device, launch, many, settings.repetitions);
        result.value = (median(result.microseconds) - short_run) / (many - few);
        result.unit = "us";
        result.details.number("microseconds_of_4", short_run);
        return result;
    };
    list.push_back(std::move(benchmark));
}

/// One launch of many thread blocks that end at once: how fast the scheduler hands them out.
void add_cta_rate(std::vector<Benchmark>& list, unsigned threads, unsigned ctas_per_sm) {
    Benchmark benchmark = empty_benchmark(
        "launch/ctas/threads=" + std::to_string(threads) + "/per_sm=" + std::to_string(ctas_per_sm), "launch",
        threads);
    benchmark.parameters = {{"threads", threads}, {"ctas_per_sm", ctas_per_sm}};
    benchmark.quick = threads == 128 && ctas_per_sm == 16;
    benchmark.measure = [threads, ctas_per_sm](Device& device, const MeasureSettings& settings) {
        const GeneratedKernel kernel = generate_empty(ptx_capability(device), threads);
        const KernelHandle handle = device.load(kernel.text, kernel.entry);
        Measurement result;
        double microseconds[2] = {0, 0};
        for (unsigned longer = 0; longer < 2; ++longer) {
            const unsigned ctas = device.sm_count() * (longer != 0 ? 2 * ctas_per_sm : ctas_per_sm);
            const Launch launch = make_launch(handle, kernel, {ctas, 1, 1}, {});
            result.microseconds = time_launches(device, launch, 1, settings.repetitions);
            microseconds[longer] = median(result.microseconds);
        }
        result.value = (microseconds[1] - microseconds[0]) * 1e3 / (device.sm_count() * ctas_per_sm);
        result.unit = "ns/CTA";
        result.details.number("microseconds_of_half", microseconds[0]);
        return result;
    };
    list.push_back(std::move(benchmark));
}

/// The SM clock: the time of a known number of cycles.
void add_clock(std::vector<Benchmark>& list) {
    Benchmark benchmark;
    benchmark.id = "clock/sm";
    benchmark.group = "clock";
    benchmark.quick = true;
    benchmark.texts = [](unsigned capability) { return std::vector{generate_spin(capability)}; };
    benchmark.measure = [](Device& device, const MeasureSettings& settings) {
        Measurement result;
        result.value = measure_sm_clock(device, settings.repetitions);
        result.unit = "MHz";
        return result;
    };
    list.push_back(std::move(benchmark));
}

}  // namespace

double measure_sm_clock(Device& device, unsigned repetitions) {
    const GeneratedKernel kernel = generate_spin(ptx_capability(device));
    const KernelHandle handle = device.load(kernel.text, kernel.entry);
    const std::uint64_t cycles = device.is_silicon() ? 400'000 : 20'000;
    double microseconds[2] = {0, 0};
    for (unsigned longer = 0; longer < 2; ++longer) {
        const Launch launch = make_launch(handle, kernel, {1, 1, 1}, {{"cycles", cycles * (longer + 1)}});
        microseconds[longer] = median(time_launches(device, launch, 1, repetitions));
    }
    return static_cast<double>(cycles) / (microseconds[1] - microseconds[0]);
}

void add_launch_benchmarks(std::vector<Benchmark>& list) {
    add_clock(list);
    for (const unsigned ctas : {1u, 132u, 528u}) add_back_to_back(list, ctas);
    for (const unsigned threads : {32u, 128u, 256u, 512u, 1024u}) {
        const unsigned wave = 2048 / std::max(threads, 64u);  // CTAs of an SM at a time
        for (const unsigned waves : {1u, 2u, 4u}) add_cta_rate(list, threads, wave * waves);
    }
}

}  // namespace heddle::capture
