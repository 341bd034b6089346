#include "validation/compare/recorded_gemms.h"

#include <algorithm>
#include <string>

#include "sim/hardware/load_hardware.h"
#include "validation/compare/gemm_table.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

struct Recording {
    const char* file;
    const char* column;
    const char* hardware;
    const char* device;
    const char* type;
};
constexpr Recording kRecordings[] = {
    {"h100_sxm_bf16.csv", "trtllm_us", "h100-sxm", "NVIDIA H100 SXM 80 GB", "bf16"},
    {"h100_sxm_fp8.csv", "trtllm_us", "h100-sxm", "NVIDIA H100 SXM 80 GB", "fp8"},
    {"a100_sxm_bf16.csv", "sglang_us", "a100-sxm", "NVIDIA A100 SXM 80 GB", "bf16"},
};
constexpr std::size_t kOfEachCategory = 5;
constexpr double kLongest = 200;  // microseconds; what takes longer is simulated in minutes

std::string category_of(const std::string& type, double microseconds) {
    const char* size = microseconds < 10 ? " below 10 us" : microseconds < 50 ? " 10-50 us" : " above 50 us";
    return "gemm " + type + size;
}

std::string row_name(const std::string& type, const GemmRow& row) {
    return "gemm/" + type + "/" + std::to_string(row.m) + "x" + std::to_string(row.n) + "x" +
           std::to_string(row.k);
}

/// As many of each category, by a generator that is the same everywhere, of the half of all (n, k) to which
/// nothing was fitted.
std::vector<GemmRow> some_of_each(const std::vector<GemmRow>& whole, const std::string& type) {
    const std::vector<GemmRow> all = half_of(whole, 1);
    std::vector<GemmRow> sample;
    for (const double typical : {1.0, 20.0, 100.0}) {
        std::vector<GemmRow> rows;
        for (const GemmRow& row : all)
            if (row.recorded <= kLongest && category_of(type, row.recorded) == category_of(type, typical))
                rows.push_back(row);
        for (const GemmRow& row : sample_of(std::move(rows), kOfEachCategory, 1)) sample.push_back(row);
    }
    return sample;
}

Comparison compare(const fs::path& file, const Recording& recording, const CompareOptions& options) {
    const std::string type = recording.type;
    Comparison comparison;
    comparison.title = "GEMMs, recorded by others";
    comparison.reference.kind = "publication";
    comparison.reference.name = "NVIDIA aiconfigurator, " + file.filename().string() +
                                ": linear layers in CUDA graphs, weights from DRAM, activations warm in L2" +
                                (type == "fp8" ? ", with the quantisation of activations" : "");
    comparison.reference.brief = "NVIDIA aiconfigurator, " + type +
                                 (type == "fp8" ? " with its quantisation" : "") + ", the half kept aside";
    comparison.reference.device = recording.device;
    comparison.reference.hardware = recording.hardware;
    std::vector<GemmRow> rows;
    for (const GemmRow& row : some_of_each(read_gemm_table(file, recording.column), type))
        if (options.selects(row_name(type, row), category_of(type, row.recorded))) rows.push_back(row);
    if (rows.empty()) return comparison;
    GemmTableOptions table;
    table.type = sim::gemm_type_from_name(type);
    table.quantise = type == "fp8";
    table.surroundings = {5, true};
    table.workers = options.workers;
    table.progress = options.progress;
    time_gemm_table(rows, sim::load_hardware(recording.hardware), table);
    for (const GemmRow& timed : rows) {
        ComparisonRow row;
        row.name = row_name(type, timed);
        row.category = category_of(type, timed.recorded);
        row.unit = "us";
        row.captured = timed.recorded;
        if (timed.simulated) {
            row.simulated = timed.simulated_us();
        } else {
            row.note = timed.failure;
        }
        comparison.rows.push_back(std::move(row));
    }
    comparison.notes.push_back(
        "The vendor's kernel on the GPU, Heddle's own choice on the model. A few rows up to " +
        std::to_string(static_cast<int>(kLongest)) +
        " us, of the half of all (n, k) to which nothing was fitted; `heddle validate gemm` takes any number "
        "of either.");
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
