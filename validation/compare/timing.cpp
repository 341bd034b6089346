#include "validation/compare/timing.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "isa/common/checked.h"
#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/sections/kernel_items.h"
#include "validation/compare/capture_reference.h"
#include "validation/compare/timing_jobs.h"
#include "validation/published/microbenchmarks.h"
#include "validation/read/blas_record.h"

namespace heddle::validation {
namespace {

double median_of(const CapturedRecord& record, const std::string& key) {
    return capture::median(record.times(key));
}

/// Microseconds that the start of a graph adds to a cold time, beyond what a launch within a graph takes: an
/// empty kernel timed as cold runs are, less one that follows another.
double start_of_graph(const RecordedCapture& capture) {
    const auto overhead = capture.device().find("timing_overhead_us");
    const CapturedRecord* launch =
        capture.has("timing") ? capture.section("timing").find("launch/back_to_back/ctas=1") : nullptr;
    if (overhead == capture.device().end() || !overhead->is_number() || launch == nullptr ||
        !launch->values.contains("value"))
        return 0;
    const double microseconds = gates::kMicroseconds.check(
        overhead->get<double>(),
        {(capture.folder() / "manifest.json").string(), 0, "device.timing_overhead_us"});
    return std::max(0.0, microseconds - launch->measurement("value"));
}

std::string name_of_kind(const capture::GemmProblem& problem) {
    std::string name = std::string("gemm ") + capture::name_of(problem.a);
    if (problem.compute == capture::Compute::tf32) name = "gemm tf32";
    return name;
}

/// Rows to be filled in by jobs; what is left out, by reason.
struct Plan {
    std::vector<ComparisonRow> rows;
    std::vector<TimingJob> jobs;  ///< jobs[i] simulates rows[i]
    std::map<std::string, unsigned> left_out;

    void add(ComparisonRow row, TimingJob job) {
        rows.push_back(std::move(row));
        jobs.push_back(std::move(job));
    }
};

void plan_benchmarks(const RecordedCapture& capture, const CompareOptions& options, Plan& plan) {
    const std::vector<capture::Benchmark> benchmarks = capture::microbenchmarks();
    for (const CapturedRecord& record : capture.section("timing").records) {
        if (record.get_or<std::string>("kind", "") != "microbenchmark") continue;
        const auto group = record.get<std::string>("group");
        if (!options.selects(record.id, group)) continue;
        if (record.values.contains("error")) {
            ++plan.left_out["the GPU gave no value: " + record.get<std::string>("error")];
            continue;
        }
        const auto known = std::find_if(benchmarks.begin(), benchmarks.end(),
                                        [&](const auto& benchmark) { return benchmark.id == record.id; });
        if (known == benchmarks.end()) {
            ++plan.left_out["this version has no such micro-benchmark"];
            continue;
        }
        ComparisonRow row;
        row.name = record.id;
        row.category = group;
        row.captured = record.measurement("value");
        row.unit = record.get<std::string>("unit");
        plan.add(std::move(row), {TimingJob::Kind::benchmark, record.id, {}});
    }
}

void plan_gemms(const RecordedCapture& capture, const CompareOptions& options, Plan& plan) {
    for (const CapturedRecord& record : capture.section("timing").records) {
        if (record.get_or<std::string>("kind", "") != "gemm") continue;
        if (!options.selects(record.id, "gemm")) continue;
        if (!record.values.contains("problem") || !record.values.contains("cold")) {
            ++plan.left_out["the GPU gave no time"];
            continue;
        }
        const capture::GemmProblem problem = problem_of(record, record.values["problem"]);
        ComparisonRow row;
        row.name = record.id;
        row.category = name_of_kind(problem);
        if (!options.selects(row.name, row.category)) continue;
        if (!can_simulate(problem)) {
            ++plan.left_out[std::string(row.category) + ": Heddle's kernels do not do it"];
            continue;
        }
        if (simulation_cost(problem) > kLargestSimulation) {
            ++plan.left_out[std::string(row.category) + ": too long to simulate here"];
            continue;
        }
        row.captured = std::max(0.1, median_of(record, "cold") - start_of_graph(capture));
        row.unit = "us";
        if (record.values.contains("algorithm"))
            row.note = algorithm_of(record, record.values["algorithm"]).kernels;
        plan.add(std::move(row), {TimingJob::Kind::gemm, record.id, problem});
    }
}

void plan_kernels(const RecordedCapture& capture, const CompareOptions& options, Plan& plan) {
    if (!capture.has("kernels")) return;
    const auto items = capture::kernel_items(capture.compute_capability(), false);
    for (const CapturedRecord& record : capture.section("kernels").records) {
        if (!record.values.contains("cold")) continue;
        ComparisonRow row;
        row.name = record.id;
        row.category = "kernel " + record.get<std::string>("category");
        if (!options.selects(row.name, row.category)) continue;
        const auto known =
            std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.id == record.id; });
        if (known == items.end() ||
            record.hexadecimal("fingerprint") != capture::fingerprint(known->kernel)) {
            ++plan.left_out["the kernel has changed since"];
            continue;
        }
        row.captured = std::max(0.1, median_of(record, "cold") - start_of_graph(capture));
        row.unit = "us";
        if (*row.captured > kLongestKernel) {
            ++plan.left_out[row.category + ": too long to simulate here"];
            continue;
        }
        plan.add(std::move(row), {TimingJob::Kind::kernel, record.id, {}});
    }
}

/// Simulates what is planned and makes the comparison of it.
Comparison carry_out(std::string title, Reference reference, Plan plan, const CompareOptions& options) {
    Comparison comparison;
    comparison.title = std::move(title);
    comparison.reference = std::move(reference);
    const std::string hardware = comparison.reference.hardware;
    const auto results = run_timing_jobs(hardware, plan.jobs, options);
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        if (!results[i].error.empty()) {
            ++plan.left_out[plan.rows[i].category + ": " + results[i].error];
            continue;
        }
        ComparisonRow row = std::move(plan.rows[i]);
        row.simulated = results[i].value;
        comparison.rows.push_back(std::move(row));
    }
    for (const auto& [reason, count] : plan.left_out)
        comparison.missing.push_back(std::to_string(count) + " left out: " + reason);
    add_error_bars(comparison, options);
    return comparison;
}

std::string hardware_for(const RecordedCapture& capture, const CompareOptions& options) {
    std::string hardware = options.hardware.empty() ? capture.preset() : options.hardware;
    if (hardware.empty())
        throw Error("no hardware file describes " + capture.device_name(), {capture.folder().string(), 0, ""},
                    "name one: --hardware h100-sxm, or a YAML file");
    return hardware;
}

ComparisonRow row_of(const PublishedMeasurement& measurement) {
    ComparisonRow row;
    row.name = measurement.benchmark;
    row.category = !measurement.caveat.empty()  ? kNotComparable
                   : measurement.used_by_preset ? kUsedByHardwareFile
                                                : kNotUsed;
    row.captured = measurement.value();
    if (measurement.low != measurement.high) row.range = {measurement.low, measurement.high};
    row.unit = measurement.unit;
    row.note =
        measurement.caveat.empty() ? measurement.source : measurement.caveat + "; " + measurement.source;
    return row;
}

/// One bar for each figure that can be judged, see tolerance(); it is the first of its benchmark.
void add_published_bars(Comparison& comparison, const std::vector<const PublishedMeasurement*>& planned) {
    for (const PublishedMeasurement* measurement : planned) {
        if (!measurement->caveat.empty()) continue;
        const auto row = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                      [&](const auto& each) { return each.name == measurement->benchmark; });
        const double reached = row == comparison.rows.end()
                                   ? std::nan("")
                                   : deviation(*measurement, row->simulated.value_or(std::nan("")));
        comparison.bars.push_back(
            at_most(measurement->benchmark + " as published", 100 * reached, 100 * tolerance(*measurement)));
    }
}

}  // namespace

std::vector<Comparison> compare_timing(const RecordedCapture& capture, const CompareOptions& options) {
    const std::string hardware = hardware_for(capture, options);
    std::vector<Comparison> comparisons;
    const auto add = [&](const char* title, Plan plan, const char* note) {
        if (plan.rows.empty() && plan.left_out.empty()) return;
        comparisons.push_back(carry_out(title, reference_of(capture, hardware), std::move(plan), options));
        comparisons.back().notes.push_back(note);
    };
    Plan benchmarks, gemms;
    plan_benchmarks(capture, options, benchmarks);
    plan_gemms(capture, options, gemms);
    plan_kernels(capture, options, gemms);
    add("Micro-benchmarks", std::move(benchmarks), "The same PTX on the GPU and on the model.");
    add("GEMMs and kernels", std::move(gemms),
        "Captured times are less what the start of a graph takes. GEMMs: the vendor's kernel on the GPU, "
        "Heddle's own on the model, L2 cold. Kernels: the same PTX.");
    return comparisons;
}

std::vector<Comparison> compare_published_timing(const CompareOptions& options) {
    std::vector<Comparison> comparisons;
    std::vector<std::string> devices;
    for (const PublishedMeasurement& measurement : published_measurements()) {
        if (std::find(devices.begin(), devices.end(), measurement.hardware) == devices.end() &&
            (options.hardware.empty() || options.hardware == measurement.hardware))
            devices.push_back(measurement.hardware);
    }
    for (const std::string& hardware : devices) {
        Reference reference;
        reference.kind = "publication";
        reference.name = "latencies and bandwidths that others published (sources in the rows)";
        reference.device = device_name_of(hardware);
        reference.hardware = hardware;
        reference.brief = "papers, vendors, public logs";
        reference.family = family_of(hardware);
        std::vector<const PublishedMeasurement*> measurements;
        Plan plan;
        for (const PublishedMeasurement& measurement : published_measurements()) {
            if (measurement.hardware != hardware) continue;
            ComparisonRow row = row_of(measurement);
            if (!options.selects(row.name, row.category)) continue;
            const auto same = std::count_if(measurements.begin(), measurements.end(), [&](const auto* other) {
                return other->benchmark == measurement.benchmark;
            });
            if (same > 0) row.name += " (" + std::to_string(same + 1) + ")";
            measurements.push_back(&measurement);
            plan.add(std::move(row), {TimingJob::Kind::benchmark, measurement.benchmark, {}});
        }
        if (plan.rows.empty()) continue;
        comparisons.push_back(
            carry_out("Micro-benchmarks, published", std::move(reference), std::move(plan), options));
        add_published_bars(comparisons.back(), measurements);
        comparisons.back().notes.push_back(
            "Rows \"used by the hardware file\" show that the model does what its file says; \"not used\" "
            "are "
            "predictions; \"not comparable\" are shown, with the reason, and not judged.");
    }
    return comparisons;
}

}  // namespace heddle::validation
