#include "validation/compare/tpu_v1_convolutions.h"

#include <array>
#include <set>

#include "isa/common/error.h"
#include "models/tpu/tpu.h"
#include "sim/hardware/load_hardware.h"
#include "sim/tpu/tpu_machine.h"
#include "sim/tpu/tpu_options.h"
#include "validation/compare/tpu_jobs.h"
#include "validation/compare/tpu_v1_breakdown.h"
#include "workloads/lowering/tpu/common_memory.h"

namespace heddle::validation::tpu_v1 {
namespace {

/// Cycles, then cycles of active, useful, unused, weight stall and weight shift.
std::vector<double> run_layer(models::Tpu& tpu, const ConvolutionNet& net, const ConvolutionLayer& layer) {
    const trace::Trace trace = trace_of(net, layer);
    // Images stay on the chip.
    std::set<std::uint64_t> on_chip;
    for (const trace::TensorId id : {trace.ops[0].inputs[0], trace.ops[0].outputs[0]})
        on_chip.insert(lowering::common_memory_storage(trace.tensor(id), id));
    const models::TpuResult result =
        run_op(tpu, trace, sim::lowering_options_of(tpu.config(), true), on_chip);
    const auto cycles = static_cast<double>(result.cycles);
    const models::MatrixBreakdown& where = result.where;
    return {cycles,
            cycles * where.active,
            cycles * where.useful,
            cycles * where.unused,
            cycles * where.weight_stall,
            cycles * where.weight_shift};
}

const Application& application_named(const std::string& name) {
    for (const Application& app : applications())
        if (app.name == name) return app;
    throw Error("the TPU v1 paper has no application " + name);
}

}  // namespace

double ConvolutionNet::weights() const {
    double sum = 0;
    for (const ConvolutionLayer& layer : layers)
        sum += double(layer.times) * double(layer.window * layer.window * layer.channels * layer.filters);
    return sum;
}

double ConvolutionNet::multiplications() const {
    double sum = 0;
    for (const ConvolutionLayer& layer : layers)
        sum += double(layer.times) * double(layer.window * layer.window * layer.channels * layer.filters) *
               double(batch * layer.image * layer.image);
    return sum;
}

const std::vector<ConvolutionNet>& convolution_nets() {
    static const std::vector<ConvolutionNet> all{
        {"CNN0",
         "16 layers over boards of 19 x 19 as the published networks for Go have them: 5 x 5 over 48 planes, "
         "13 of 3 x 3 with 256 filters, 1 x 1 with 256 and with one (8.0 M weights, 2,888 operations for "
         "each)",
         8,
         {{19, 48, 256, 5, 1}, {19, 256, 256, 3, 13}, {19, 256, 256, 1, 1}, {19, 256, 1, 1, 1}}},
        {"CNN1",
         "12 early convolutions (27 x 27, 3 x 3, 128 to 512 channels), 60 late ones (2 x 2, 3 x 3, 96 to "
         "1,024), 4 dense layers of 3200 x 3200; the poolings, 13 in the paper, are left out",
         32,
         {{27, 128, 512, 3, 12}, {2, 96, 1024, 3, 60}, {1, 3200, 3200, 1, 4}}},
    };
    return all;
}

trace::Trace trace_of(const ConvolutionNet& net, const ConvolutionLayer& layer) {
    trace::Trace trace;
    trace.name = net.name;
    trace::Op op;
    op.name = "layer";
    op.kind = trace::OpKind::convolution;
    const auto add = [&](std::vector<std::int64_t> shape) {
        trace::Tensor tensor;
        tensor.type = trace::ElementType::i8;
        tensor.shape = std::move(shape);
        return trace.add(std::move(tensor));
    };
    const std::int64_t size = layer.image, window = layer.window;
    op.inputs = {add({net.batch, size, size, layer.channels}),
                 add({layer.filters, window, window, layer.channels})};
    op.outputs = {add({net.batch, size, size, layer.filters})};
    op.set(keys::convolution.layout, "nhwc");
    op.set(keys::convolution.strides, {1, 1});
    op.set(keys::convolution.padding, {window / 2, window / 2});
    op.set(keys::convolution.dilation, {1, 1});
    op.set(keys::convolution.groups, 1);
    trace.add(std::move(op));
    return trace;
}

Comparison compare_convolutions(const CompareOptions& options) {
    Comparison comparison;
    comparison.title = "TPU v1: CNN0 and CNN1 as convolution ops, one after the other";
    comparison.reference = paper("table 3");
    // The Unified Buffer, beside the array's staging: 256 bytes a cycle in and out (ISCA 2017).
    const models::TpuConfig config =
        sim::tpu_config(sim::load_hardware("tpu-v1",
                           {"cmem.size=24 MiB", "cmem.bandwidth=358 GB/s", "cmem.latency=10 cycles"}));
    std::vector<std::pair<const ConvolutionNet*, const ConvolutionLayer*>> jobs;
    for (const ConvolutionNet& net : convolution_nets())
        for (const ConvolutionLayer& layer : net.layers) jobs.emplace_back(&net, &layer);
    const auto results = run_on_tpu(config, jobs.size(), options, [&](models::Tpu& tpu, std::size_t job) {
        return run_layer(tpu, *jobs[job].first, *jobs[job].second);
    });
    BreakdownRows rows("by the convolution op", "TPU v1 convolutions", "TPU v1 convolutions");
    for (const ConvolutionNet& net : convolution_nets()) {
        std::array<double, 6> sum{};
        for (std::size_t job = 0; job < jobs.size(); ++job) {
            if (jobs[job].first != &net) continue;
            for (std::size_t i = 0; i < sum.size(); ++i)
                sum[i] += jobs[job].second->times * results[job].at(i);
        }
        const Application& app = application_named(net.name);
        // As in the applications: the host's bytes, its part of a batch, then the layers.
        const double host = static_cast<double>(app.input_bytes + app.output_bytes) /
                            (config.host.bandwidth * config.host.efficiency);
        const double cycles = sum[0] + (host + config.launch_seconds) * config.clock_hertz;
        const auto share = [&](std::size_t counter) { return 100 * sum[counter] / cycles; };
        const Breakdown shares{share(1), share(2), share(3),
                               share(4), share(5), 100 - share(1) - share(4) - share(5)};
        rows.add(net.name + " as ops", app, net.assumption, shares,
                 2 * net.multiplications() / cycles * config.clock_hertz / 1e12);
        comparison.notes.push_back(net.name + ": " + net.assumption + ".");
    }
    comparison.rows = rows.rows();
    comparison.tables.push_back(rows.table());
    comparison.notes.push_back(
        "No bar: each op brings its own weights before it begins, which the application's program hides "
        "under "
        "the layer before; the table's own useful MACs give 71.9 and 20.7 TOPS, not 86.0 and 14.1.");
    return comparison;
}

}  // namespace heddle::validation::tpu_v1
