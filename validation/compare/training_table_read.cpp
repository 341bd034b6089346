// Tables of recorded training steps, by their headings.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "isa/common/checked.h"
#include "validation/compare/fitted_rows.h"
#include "validation/compare/training_fit.h"
#include "validation/compare/training_table.h"
#include "validation/recorded/csv_table.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

/// One row of a table whose columns have several names.
class Line {
  public:
    Line(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

    /// Of the first of several headings that the table has; a heading may go on after the name given.
    std::optional<std::size_t> find(std::initializer_list<const char*> headings) const {
        for (const char* heading : headings)
            if (const auto column = table_.find_prefix(heading)) return column;
        return std::nullopt;
    }
    std::size_t column(std::initializer_list<const char*> headings) const {
        if (const auto found = find(headings)) return *found;
        throw Error(fmt::format("there is no column `{}`", *headings.begin()), {place().file, 1, ""},
                    "tables of vTrain, Megatron-LM and MLPerf are read");
    }
    std::int64_t whole(std::size_t column, const Gate& gate) const {
        return static_cast<std::int64_t>(
            gate.check(table_.number(row_, column), place(table_.columns()[column])));
    }
    double seconds(std::initializer_list<const char*> headings) const {
        return table_.positive(row_, column(headings));
    }
    std::int64_t whole(std::initializer_list<const char*> headings) const {
        constexpr Gate kExtents{"a number of a published step", 1, 1 << 24, true};
        const std::size_t place = column(headings);
        return kExtents.check(std::int64_t{table_.extent(row_, place)}, this->place(table_.columns()[place]));
    }
    SourceLocation place(const std::string& column = "") const { return table_.place(row_, column); }

  private:
    const CsvTable& table_;
    const CsvRow& row_;
};

void set_model(TrainingRow& row, std::int64_t hidden, std::int64_t heads, std::int64_t layers,
               std::int64_t sequence, std::int64_t vocabulary) {
    row.options = {{"hidden", std::to_string(hidden)},
                   {"heads", std::to_string(heads)},
                   {"layers", std::to_string(layers)},
                   {"sequence", std::to_string(sequence)},
                   {"positions", std::to_string(sequence)},
                   {"vocabulary", std::to_string(vocabulary)},
                   {"type", "f16"},
                   {"attention", "composed"},
                   {"dropout", "0.1"}};
    row.model = fmt::format("h {}, {} layers", hidden, layers);
}

/// What Megatron-LM does: one all-reduce after the backward pass, in 16 bits.
void set_plan(TrainingRow& row, const Line& line, std::int64_t tensor, std::int64_t pipeline,
              std::int64_t data, std::int64_t batch, std::int64_t micro_batch) {
    row.plan.tensor = tensor;
    row.plan.pipeline = pipeline;
    row.plan.data = data;
    row.plan.micro_batch = micro_batch;
    const auto devices = checked_product(tensor * pipeline, data);
    if (!devices || !gates::kThings.admits(*devices))
        throw Error(fmt::format("no cluster has {} times {} times {} devices", tensor, pipeline, data),
                    line.place());
    if (batch % (data * micro_batch) != 0)
        throw Error(fmt::format("a batch of {} is no multiple of {} times {}", batch, data, micro_batch),
                    line.place());
    row.plan.micro_batches = batch / data / micro_batch;
    row.plan.overlap = false;
    row.plan.blocking_sends = true;
    const FrameworkFigures figures = framework_figures();
    row.host.forward_op = figures.forward_op;
    row.host.backward_op = figures.backward_op;
    row.host.collective = figures.collective;
    row.kernels.unaligned = figures.unaligned;
}

TrainingRow vtrain_row(const Line& line) {
    TrainingRow row;
    set_model(row, line.whole({"hidden size"}), line.whole({"attention heads"}), line.whole({"# layers"}),
              line.whole({"sequence length"}), 50257);
    set_plan(row, line, line.whole({"tensor parallelism"}), line.whole({"pipeline parallelism"}),
             line.whole({"data parallelism"}), line.whole({"global batch"}), line.whole({"micro batch"}));
    const double milliseconds = line.seconds({"iteration time (ms)"});
    row.recorded = 1e-3 * milliseconds;
    std::vector<double> numbers;
    for (const char* column :
         {"hidden size", "attention heads", "# layers", "sequence length", "tensor parallelism",
          "pipeline parallelism", "data parallelism", "global batch", "micro batch"})
        numbers.push_back(static_cast<double>(line.whole({column})));
    numbers.push_back(milliseconds);
    row.fingerprint = fingerprint_of_step(numbers);
    row.fitted = framework_was_fitted_to(row.fingerprint);
    return row;
}

/// Narayanan et al., 2021: full recomputation, interleaved stages where a number of layers is given.
TrainingRow megatron_row(const Line& line) {
    TrainingRow row;
    const std::int64_t layers = line.whole({"layers"}), pipeline = line.whole({"pp"});
    set_model(row, line.whole({"hidden"}), line.whole({"heads"}), layers, line.whole({"seq"}),
              line.whole({"vocab"}));
    set_plan(row, line, line.whole({"tp"}), pipeline, line.whole({"dp"}), line.whole({"global_batch"}),
             line.whole({"micro_batch"}));
    row.plan.recompute = parallel::Recomputation::full;
    row.recompute_published = true;
    const auto virtual_column = line.find({"layers_per_virtual_stage"});
    constexpr Gate kLayers{"a number of layers", 0, 1 << 24, true};
    const std::int64_t virtual_layers = virtual_column ? line.whole(*virtual_column, kLayers) : 0;
    if (virtual_layers > 0 && pipeline > 1) {
        const std::int64_t chunks = layers / pipeline / virtual_layers;
        if (chunks > 1) {
            row.plan.chunks = chunks;
            row.plan.schedule = parallel::PipelineSchedule::interleaved;
        }
    }
    row.recorded = line.seconds({"derived_iter_s"});
    return row;
}

/// NVIDIA's MLPerf v4.0 submissions of GPT-3 175B, by their published configuration
/// (mlcommons/training_results_v4.0, NVIDIA/benchmarks/gpt3/implementations/nemo): 8-bit products, fused
/// attention, sequence parallelism, a distributed optimizer with buckets of 200 MB whose gradients are bf16,
/// also where they are added up (distributed_fused_adam.yaml: grad_sync_dtype, contiguous_grad_buffer;
/// config_common.sh), nothing recomputed (custom.yaml: activations_checkpoint_granularity null), no dropout.
TrainingRow mlperf_row(const Line& line) {
    constexpr std::int64_t kLayers = 96;
    TrainingRow row;
    set_model(row, 12288, 96, kLayers, line.whole({"seq"}), 51200);
    row.model = "GPT-3 175B";
    row.options["type"] = "bf16";
    row.options["fp8"] = "1";
    row.options["attention"] = "fused";
    row.options["dropout"] = "0";
    const std::int64_t pipeline = line.whole({"pp"});
    set_plan(row, line, line.whole({"tp"}), pipeline, line.whole({"dp"}), line.whole({"global_batch"}),
             line.whole({"micro_batch"}));
    row.plan.sequence_parallel = row.plan.tensor > 1;
    row.plan.overlap = true;
    row.plan.blocking_sends = false;
    row.plan.bucket_bytes = 200 << 20;
    row.plan.accumulated_bytes = 2;
    row.recompute_published = true;
    row.host = {};
    row.host.forward_op = row.host.backward_op = row.host.collective = 0;  // CUDA graphs
    row.kernels = {};
    row.plan.zero = 1;
    if (pipeline > 1) {
        // INTERLEAVED_PIPELINE: 4 in config_DGXH100_64x8x128x4x8_mbs2.sh, 8 in those of 1,344 and 1,452
        // nodes.
        row.plan.schedule = parallel::PipelineSchedule::interleaved;
        row.plan.chunks = line.whole({"gpus"}) <= 512 ? 4 : 8;
        if (kLayers % (pipeline * row.plan.chunks) != 0 || row.plan.micro_batches % pipeline != 0)
            throw Error(fmt::format("{} stages of {} chunks do not divide {} layers, or {} micro-batches",
                                    pipeline, row.plan.chunks, kLayers, row.plan.micro_batches),
                        line.place("pp"), "submissions of NVIDIA in v4.0 are read");
    }
    row.recorded = line.seconds({"median_step_s"});
    return row;
}

}  // namespace

FrameworkFigures framework_figures() {
    // source: fitted to the first half (half_of) of vTrain's recorded steps on one node by
    // `heddle validate training --half first --fit`; no other row was looked at. fitted_rows.cpp lists them.
    FrameworkFigures figures;
    figures.forward_op = 52.4e-6;
    figures.backward_op = 50e-6;
    figures.collective = 66.9e-6;
    figures.unaligned = sim::ClosedFormConfig().unaligned;
    return figures;
}

std::vector<TrainingRow> read_training_table(const fs::path& file) {
    const CsvTable table(file, "a table of training steps");
    const auto has = [&](const char* heading) { return table.find_prefix(heading).has_value(); };
    std::vector<TrainingRow> rows;
    for (const CsvRow& cells : table.rows()) {
        const Line line(table, cells);
        TrainingRow row = has("iteration time (ms)") ? vtrain_row(line)
                          : has("median_step_s")     ? mlperf_row(line)
                                                     : megatron_row(line);
        row.line = cells.line;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace heddle::validation
