#include "validation/compare/recorded_rows.h"

#include <algorithm>
#include <memory>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"
#include "validation/recorded/row_table.h"
#include "workloads/trace/trace.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;
using trace::ElementType;
using trace::Op;
using trace::OpKind;

/// One call, as the recording's program makes it: PyTorch 2.0; torch.softmax as it is, the other two under
/// torch.compile (LLMCompass, software_model/*.py).
struct Recording {
    const char* file;
    const char* name;
    std::size_t extents;  ///< numbers before the rate
    /// Microseconds that every call takes on the host besides the kernel: the launch's way through PyTorch
    /// before it, the synchronisation after it. Read off the rows whose kernels take next to no time.
    double floor_us;
    Op (*op)();
};

Op softmax() {
    Op op;
    op.kind = OpKind::softmax;
    op.set(keys::softmax.form, "three_reads");
    return op;
}

Op layer_norm() {
    Op op;
    op.kind = OpKind::layer_norm;
    op.set(keys::layer_norm.compiled, 1);
    return op;
}

/// Inductor gives 1,024 elements to 128 threads.
Op gelu() {
    Op op;
    op.kind = OpKind::elementwise;
    op.set(keys::elementwise.expression,
           "y0 = 0.5 * x0 * (1 + tanh(0.7978845608028654 * (x0 + 0.044715 * x0 * x0 * x0)))");
    op.set(keys::any.vector_width, 8);
    op.set(keys::any.elements_per_thread, 8);
    op.set(keys::any.threads, 128);
    return op;
}

constexpr Recording kRecordings[] = {
    {"softmax_A100.csv", "softmax", 2, 13.1, softmax},
    {"layernorm_A100.csv", "layer norm", 2, 52.2, layer_norm},
    {"gelu_A100.csv", "GELU", 1, 47.5, gelu},
};
constexpr const char* kHardware = "a100-sxm";
constexpr double kLargestMeanError = 12;  // per cent
constexpr unsigned kCalls = 4;            // until L2 holds what earlier calls leave there

std::string name_of_row(const Recording& recording, const RecordedRow& row) {
    std::string name = recording.name;
    for (std::size_t i = 0; i < row.shape.size(); ++i)
        name += (i == 0 ? " " : "x") + std::to_string(row.shape[i]);
    return name;
}

/// The calls of the recording's loop: each new result goes to the block of memory that the one before the
/// last had.
trace::Trace loop_of(const Recording& recording, const RecordedRow& row) {
    trace::Trace trace;
    trace.name = name_of_row(recording, row);
    const auto tensor = [&](const std::string& name) {
        trace::Tensor made;
        made.name = name;
        made.type = ElementType::f16;
        made.shape = row.shape;
        return trace.add(made);
    };
    const trace::TensorId x = tensor("x"), results[2] = {tensor("first"), tensor("second")};
    for (unsigned call = 0; call < kCalls; ++call) {
        Op op = recording.op();
        op.name = trace.name;
        op.inputs = {x};
        op.outputs = {results[call % 2]};
        if (call > 0) op.dependencies = {call - 1};
        trace.add(op);
    }
    return trace;
}

Comparison compare(const fs::path& file, const Recording& recording, const CompareOptions& options) {
    Comparison comparison;
    comparison.title = std::string(recording.name) + " of PyTorch, recorded by others";
    comparison.reference.kind = "publication";
    comparison.reference.name =
        "LLMCompass (ISCA 2024), " + file.filename().string() +
        ": fp16, calls of PyTorch 2.0 with a synchronisation after each, timed by the host";
    comparison.reference.brief = "LLMCompass (ISCA 2024), fp16";
    comparison.reference.device = "NVIDIA A100 SXM 80 GB";
    comparison.reference.hardware = kHardware;
    const sim::Hardware hardware = sim::load_hardware(kHardware);
    sim::SimulateOptions simulation;
    simulation.sample = true;
    simulation.jobs = options.workers;
    const std::vector<RecordedRow> rows = read_rows(file, recording.extents);
    std::size_t at_floor = 0, done = 0;
    for (const RecordedRow& recorded : rows) {
        ComparisonRow row;
        row.name = name_of_row(recording, recorded);
        row.category = recording.name;
        options.progress(static_cast<double>(done++) / static_cast<double>(rows.size()), row.name);
        if (!options.selects(row.name, row.category)) continue;
        if (recorded.microseconds <= 2 * recording.floor_us) {
            ++at_floor;
            continue;
        }
        row.captured = recorded.microseconds;
        row.unit = "us";
        const sim::RunResult result =
            sim::simulate(loop_of(recording, recorded), row.name, hardware, simulation);
        if (result.kernels.empty() || result.kernels.back().fidelity != sim::Fidelity::cycle) {
            row.note = "no kernel of the model does it";
        } else {
            row.simulated = recording.floor_us + result.kernels.back().time_us;
            row.note = result.kernels.back().bound_by;
        }
        comparison.rows.push_back(std::move(row));
    }
    if (comparison.rows.empty()) return comparison;
    comparison.notes.push_back(
        "A call takes " + std::to_string(recording.floor_us).substr(0, 4) +
        " us on the host beside the kernel: one constant, the time of the rows whose kernels take "
        "next to no time. " +
        std::to_string(at_floor) + " rows within twice of it are left out.");
    const auto summaries = summarise(comparison.rows);
    if (!summaries.empty() && summaries.front().quantities > 0)
        comparison.bars.push_back(at_most("mean error of " + std::string(recording.name),
                                          100 * summaries.front().mean_error, kLargestMeanError));
    add_error_bars(comparison, options);
    return comparison;
}

}  // namespace

std::vector<Comparison> compare_recorded_rows(const fs::path& data, const CompareOptions& options) {
    std::vector<Comparison> comparisons;
    if (!options.hardware.empty() && options.hardware != kHardware) return comparisons;
    for (const Recording& recording : kRecordings) {
        const fs::path file = data / "kernels" / recording.file;
        std::error_code ignored;
        if (data.empty() || !fs::exists(file, ignored)) continue;
        Comparison comparison = compare(file, recording, options);
        if (!comparison.rows.empty()) comparisons.push_back(std::move(comparison));
    }
    return comparisons;
}

}  // namespace heddle::validation
