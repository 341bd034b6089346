#include "validation/compare/recorded_gemms.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "isa/common/error.h"
#include "validation/compare/timing_jobs.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

struct RecordedGemm {
    std::uint64_t m = 0, n = 0, k = 0;
    double microseconds = 0;
};

double number_of(const std::string& text, const fs::path& file, unsigned line) {
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size() || !(value >= 0))
        throw Error("'" + text + "' is no number", {file.string(), line, ""},
                    "a line is m,n,k and microseconds");
    return value;
}

std::vector<RecordedGemm> read_gemms(const fs::path& file) {
    std::ifstream stream(file);
    if (!stream) throw Error("cannot be read", {file.string(), 0, ""});
    std::vector<RecordedGemm> gemms;
    std::string text;
    std::getline(stream, text);  // names of the columns
    for (unsigned line = 2; std::getline(stream, text); ++line) {
        std::vector<std::string> fields;
        std::stringstream row(text);
        for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
        if (fields.size() < 4)
            throw Error("a line has " + std::to_string(fields.size()) + " columns", {file.string(), line, ""},
                        "a line is m,n,k and microseconds");
        const auto figure = std::find_if(fields.begin() + 3, fields.end(),
                                         [](const std::string& field) { return !field.empty(); });
        if (figure == fields.end()) continue;
        gemms.push_back({static_cast<std::uint64_t>(number_of(fields[0], file, line)),
                         static_cast<std::uint64_t>(number_of(fields[1], file, line)),
                         static_cast<std::uint64_t>(number_of(fields[2], file, line)),
                         number_of(*figure, file, line)});
    }
    return gemms;
}

capture::GemmProblem linear_layer(const RecordedGemm& gemm) {
    capture::GemmProblem problem;
    problem.m = gemm.m;
    problem.n = gemm.n;
    problem.k = gemm.k;
    problem.a = problem.b = problem.c = problem.d = problem.bias = capture::Type::bf16;
    problem.transpose_b = true;
    return problem;
}

const char* category_of(double microseconds) {
    return microseconds < 5    ? "gemm bf16 below 5 us"
           : microseconds < 10 ? "gemm bf16 5-10 us"
                               : "gemm bf16 above 10 us";
}

/// As many of each category, evenly spread over the file.
std::vector<RecordedGemm> sample_of(const std::vector<RecordedGemm>& gemms, std::size_t of_each) {
    std::map<std::string, std::vector<RecordedGemm>> by_category;
    for (const RecordedGemm& gemm : gemms)
        if (simulation_cost(linear_layer(gemm)) <= kLargestSimulation / 10)
            by_category[category_of(gemm.microseconds)].push_back(gemm);
    std::vector<RecordedGemm> sample;
    for (const auto& [category, all] : by_category) {
        const std::size_t count = std::min(of_each, all.size());
        for (std::size_t i = 0; i < count; ++i) sample.push_back(all[i * all.size() / count]);
    }
    return sample;
}

struct Recording {
    const char* file;
    const char* hardware;
    const char* device;
};
constexpr Recording kRecordings[] = {
    {"h100_sxm_bf16.csv", "h100-sxm", "NVIDIA H100 SXM 80 GB"},
    {"a100_sxm_bf16.csv", "a100-sxm", "NVIDIA A100 SXM 80 GB"},
};
constexpr std::size_t kOfEachCategory = 5;

Comparison compare(const fs::path& file, const Recording& recording, const CompareOptions& options) {
    Comparison comparison;
    comparison.title = "GEMMs, recorded by others";
    comparison.reference.kind = "publication";
    comparison.reference.name = "NVIDIA aiconfigurator, " + file.filename().string() +
                                ": linear layers in CUDA graphs, weights from DRAM, activations warm in L2";
    comparison.reference.device = recording.device;
    comparison.reference.hardware = recording.hardware;
    std::vector<TimingJob> jobs;
    for (const RecordedGemm& gemm : sample_of(read_gemms(file), kOfEachCategory)) {
        ComparisonRow row;
        row.name = "gemm/" + linear_layer(gemm).name();
        row.category = category_of(gemm.microseconds);
        if (!options.selects(row.name, row.category)) continue;
        row.captured = gemm.microseconds;
        row.unit = "us";
        comparison.rows.push_back(std::move(row));
        jobs.push_back({TimingJob::Kind::gemm, comparison.rows.back().name, linear_layer(gemm)});
    }
    const auto results = run_timing_jobs(recording.hardware, jobs, options);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (results[i].error.empty()) {
            comparison.rows[i].simulated = results[i].value;
        } else {
            comparison.rows[i].note = results[i].error;
        }
    }
    comparison.notes.push_back(
        "The vendor's kernel on the GPU, Heddle's own (TMA and wgmma on Hopper, else mma.sync) on the model, "
        "whose L2 is cold: the difference is that of the kernels too. A sample of the shapes that are "
        "simulated in seconds.");
    add_error_bars(comparison, options);
    return comparison;
}

}  // namespace

std::vector<Comparison> compare_recorded_gemms(const fs::path& data, const CompareOptions& options) {
    std::vector<Comparison> comparisons;
    for (const Recording& recording : kRecordings) {
        const fs::path file = data / "gemm" / recording.file;
        std::error_code ignored;
        if (data.empty() || !fs::exists(file, ignored)) continue;
        if (!options.hardware.empty() && options.hardware != recording.hardware) continue;
        Comparison comparison = compare(file, recording, options);
        if (!comparison.rows.empty()) comparisons.push_back(std::move(comparison));
    }
    return comparisons;
}

}  // namespace heddle::validation
