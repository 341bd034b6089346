// Tables of recorded training steps, by their headings.
#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "isa/common/error.h"
#include "validation/compare/training_table.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fields_of(std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> fields;
    std::stringstream row(line);
    for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
    return fields;
}

/// One line of a table whose columns have names.
class Line {
  public:
    Line(const fs::path& file, unsigned number, const std::vector<std::string>& names,
         const std::vector<std::string>& fields)
        : file_(file), number_(number), names_(names), fields_(fields) {}

    /// Of the first of several headings that the table has; a heading may go on after the name given.
    std::optional<double> find(std::initializer_list<const char*> headings) const {
        for (const char* heading : headings) {
            for (std::size_t i = 0; i < names_.size(); ++i) {
                if (names_[i].rfind(heading, 0) != 0) continue;
                double value = 0;
                const std::string& text = i < fields_.size() ? fields_[i] : std::string();
                const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
                if (result.ec != std::errc() || result.ptr != text.data() + text.size())
                    throw Error("'" + text + "' is no number", {file_.string(), number_, names_[i]});
                return value;
            }
        }
        return std::nullopt;
    }
    double get(std::initializer_list<const char*> headings) const {
        if (const auto value = find(headings)) return *value;
        throw Error(fmt::format("there is no column `{}`", *headings.begin()), {file_.string(), 1, ""},
                    "tables of vTrain, Megatron-LM and MLPerf are read");
    }
    std::int64_t whole(std::initializer_list<const char*> headings) const {
        const double value = get(headings);
        if (!(value >= 1) || value != static_cast<double>(static_cast<std::int64_t>(value)))
            throw Error(fmt::format("{} is no whole number above 0", value),
                        {file_.string(), number_, *headings.begin()});
        return static_cast<std::int64_t>(value);
    }
    const fs::path& file() const { return file_; }
    unsigned number() const { return number_; }

  private:
    const fs::path& file_;
    unsigned number_;
    const std::vector<std::string>& names_;
    const std::vector<std::string>& fields_;
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
    if (batch % (data * micro_batch) != 0)
        throw Error(fmt::format("a batch of {} is no multiple of {} times {}", batch, data, micro_batch),
                    {line.file().string(), line.number(), ""});
    row.plan.micro_batches = batch / data / micro_batch;
    row.plan.overlap = false;
    row.plan.blocking_sends = true;
    // Megatron-LM in PyTorch's eager mode, in Python: fitted to vTrain's recorded steps on one node (blocks
    // that are too small for the device take 1.8 ms forward and 1.2 ms backward there). An op of ours stands
    // for several.
    row.host.forward_op = 84e-6;
    row.host.backward_op = 32e-6;
    row.host.collective = 80e-6;
}

TrainingRow vtrain_row(const Line& line) {
    TrainingRow row;
    set_model(row, line.whole({"hidden size"}), line.whole({"attention heads"}), line.whole({"# layers"}),
              line.whole({"sequence length"}), 50257);
    set_plan(row, line, line.whole({"tensor parallelism"}), line.whole({"pipeline parallelism"}),
             line.whole({"data parallelism"}), line.whole({"global batch"}), line.whole({"micro batch"}));
    row.recorded = 1e-3 * line.get({"iteration time (ms)"});
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
    const double virtual_layers = line.find({"layers_per_virtual_stage"}).value_or(0);
    if (virtual_layers > 0 && pipeline > 1) {
        const auto chunks =
            static_cast<std::int64_t>(static_cast<double>(layers / pipeline) / virtual_layers);
        if (chunks > 1) {
            row.plan.chunks = chunks;
            row.plan.schedule = parallel::PipelineSchedule::interleaved;
        }
    }
    row.recorded = line.get({"derived_iter_s"});
    return row;
}

/// GPT-3 175B in NeMo: 8-bit products, fused attention, sequence parallelism, interleaved stages, overlapped
/// communication with a distributed optimizer.
TrainingRow mlperf_row(const Line& line) {
    TrainingRow row;
    set_model(row, 12288, 96, 96, line.whole({"seq"}), 51200);
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
    row.host = {};
    row.host.forward_op = row.host.backward_op = row.host.collective = 0;  // CUDA graphs
    row.plan.zero = 1;
    if (row.plan.micro_batches % pipeline == 0 && pipeline > 1) {
        row.plan.schedule = parallel::PipelineSchedule::interleaved;
        row.plan.chunks = 96 / pipeline / 2;
    }
    row.recorded = line.get({"median_step_s"});
    return row;
}

}  // namespace

std::vector<TrainingRow> read_training_table(const fs::path& file) {
    std::ifstream stream(file);
    if (!stream)
        throw Error("cannot be read", {file.string(), 0, ""}, "--data names a table of training steps");
    std::string text;
    std::getline(stream, text);
    const std::vector<std::string> names = fields_of(text);
    const auto has = [&](const char* heading) {
        for (const std::string& name : names)
            if (name.rfind(heading, 0) == 0) return true;
        return false;
    };
    std::vector<TrainingRow> rows;
    for (unsigned number = 2; std::getline(stream, text); ++number) {
        if (text.empty() || text == "\r") continue;
        const std::vector<std::string> fields = fields_of(text);
        const Line line(file, number, names, fields);
        TrainingRow row = has("iteration time (ms)") ? vtrain_row(line)
                          : has("median_step_s")     ? mlperf_row(line)
                                                     : megatron_row(line);
        row.line = number;
        if (!(row.recorded > 0)) throw Error("the recorded time is not above 0", {file.string(), number, ""});
        rows.push_back(std::move(row));
    }
    if (rows.empty()) throw Error("has no rows", {file.string(), 0, ""});
    return rows;
}

}  // namespace heddle::validation
