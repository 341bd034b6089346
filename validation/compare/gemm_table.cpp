#include "validation/compare/gemm_table.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "isa/common/checked.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/run/workers/worker_pool.h"
#include "validation/recorded/csv_table.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

/// 2.5 us, 750 TFLOP/s and 2.7 TB/s on an H100 in 16 bits; the same parts of the peaks elsewhere.
double roofline(const GemmRow& row, const models::gpu::GpuConfig& config, const kernels::GemmMachine& machine,
                double element_bytes) {
    const double m = double(row.m) * row.batch, n = row.n, k = row.k;
    const double rate = 0.7006 * 2 * machine.macs_per_cycle * config.sm.count * config.clock;
    const double bandwidth = 0.806 * config.hbm.bandwidth;
    const double bytes = (m * k + row.batch * n * k) * element_bytes + m * n * 2;
    const double launch = config.launch.graph_before + config.launch.after + 1.07e-6;
    return 1e6 * (launch + std::max(2 * m * n * k / rate, bytes / bandwidth));
}

/// Watts by the closed form: what always flows, what memory takes, and what the tensor cores take at a clock whose
/// voltage follows it.
double estimated_watts(const GemmRow& row, const kernels::GemmChoice& choice, const models::gpu::GpuConfig& config,
                       const kernels::GemmMachine& machine, const kernels::GemmSurroundings& surroundings,
                       double element_bytes) {
    const kernels::GemmWork work{double(row.m), double(row.n), double(row.k), double(row.batch), element_bytes, 2};
    const kernels::GemmResidency resident = kernels::gemm_residency(machine, surroundings, work);
    const double a = work.m * work.k * element_bytes * work.batch, b = work.n * work.k * element_bytes * work.batch;
    const double moved =
        a * (1 - resident.a) + b * (1 - resident.b) + work.m * work.n * 2 * work.batch * (1 - resident.d);
    const double seconds = choice.estimated_seconds, relative = choice.estimated_clock / machine.power_clock;
    const double at_full = machine.macs_per_cycle * config.sm.count * machine.power_clock;
    const double products = work.m * work.n * work.k * work.batch / seconds;
    return config.power.limit * (machine.static_power + machine.tensor_power * relative * relative * products / at_full) +
           config.power.dram_byte * moved / seconds;
}

/// Places of the columns of other software's times.
std::vector<std::size_t> other_places(const CsvTable& table, const std::vector<std::string>& columns) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
        const std::string& name = table.columns()[i];
        if (name.ends_with("_us") && std::find(columns.begin(), columns.end(), name) == columns.end()) places.push_back(i);
    }
    return places;
}

/// Warp instructions, very roughly: long ones begin first.
double cost(const GemmRow& row) {
    return std::min(1e12, static_cast<double>(row.m) * row.n * row.k * row.batch) +
           1e4 * (double(row.m) + row.n);
}

const std::string kFailed = "failed: ";

struct Job {
    std::size_t row;
    kernels::GemmChoice choice;
};

sim::GemmQuestion question_of(const GemmTableOptions& options, const GemmRow& row) {
    sim::GemmQuestion question{row.m, row.n, row.k, options.type};
    question.quantise = options.quantise;
    question.batch = row.batch;
    return question;
}

class Worker : public sim::JobRunner {
  public:
    Worker(const models::gpu::GpuConfig& config, const GemmTableOptions& options,
           const std::vector<GemmRow>& rows, const std::vector<Job>& jobs)
        : timer_(config, {options.surroundings, options.sample, options.cache}),
          question_(question_of(options, {})),
          rows_(rows),
          jobs_(jobs) {}

    std::string run(std::size_t job) override {
        const GemmRow& row = rows_[jobs_[job].row];
        try {
            sim::GemmQuestion question = question_;
            question.m = row.m;
            question.n = row.n;
            question.k = row.k;
            question.batch = row.batch;
            return to_text(timer_.time(question, jobs_[job].choice));
        } catch (const Error& error) {
            return kFailed + std::string(error.what());
        }
    }

  private:
    sim::GemmTimer timer_;
    sim::GemmQuestion question_;
    const std::vector<GemmRow>& rows_;
    const std::vector<Job>& jobs_;
};

double figure_of(const GemmRow& row, GemmFigure figure) {
    return figure == GemmFigure::simulated   ? row.simulated_us()
           : figure == GemmFigure::estimated ? row.estimated
                                             : row.roofline;
}

/// 64 bits well mixed (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/// Of an even number of figures the mean of the two in the middle.
double median_figure(std::vector<double> figures) {
    std::sort(figures.begin(), figures.end());
    const std::size_t middle = figures.size() / 2;
    return figures.size() % 2 != 0 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
    const auto count = static_cast<double>(x.size());
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        syy += y[i] * y[i];
        sxy += x[i] * y[i];
    }
    const double spread = (sxx - sx * sx / count) * (syy - sy * sy / count);
    return spread > 0 ? (sxy - sx * sy / count) / std::sqrt(spread) : 0;
}

}  // namespace

std::vector<GemmRow> read_gemm_table(const fs::path& file, const std::string& column) {
    return read_gemm_table(file, std::vector<std::string>{column});
}

std::vector<GemmRow> read_gemm_table(const fs::path& file, const std::vector<std::string>& columns) {
    const CsvTable table(file, "a table of GEMM times");
    const std::size_t m = table.column("m"), n = table.column("n"), k = table.column("k");
    std::vector<std::size_t> times;
    for (const std::string& column : columns) {
        times.push_back(table.column(column));
        if (std::count(times.begin(), times.end(), times.back()) > 1)
            throw Error("the column `" + column + "` is named twice", {file.string(), 0, ""},
                        "name every recording once");
    }
    const std::optional<std::size_t> batch = table.find("batch"), watts = table.find("watts");
    const std::vector<std::size_t> others = other_places(table, columns);
    std::vector<GemmRow> rows;
    for (const CsvRow& cells : table.rows()) {
        GemmRow row;
        for (const std::size_t time : times)
            if (!cells.cells[time].empty()) row.recordings.push_back(table.positive(cells, time));
        if (row.recordings.empty()) continue;
        row.recorded = median_figure(row.recordings);
        row.m = table.extent(cells, m);
        row.n = table.extent(cells, n);
        row.k = table.extent(cells, k);
        if (batch && !cells.cells[*batch].empty()) row.batch = table.extent(cells, *batch);
        for (const std::size_t other : others)
            row.others.push_back(cells.cells[other].empty() ? 0 : table.positive(cells, other));
        if (watts && !cells.cells[*watts].empty()) row.recorded_watts = table.positive(cells, *watts);
        const auto rows_of_a = static_cast<double>(row.m), inner = static_cast<double>(row.k),
                   width = static_cast<double>(row.n);
        if (!gates::kElements.admits(static_cast<double>(row.batch) *
                                     (rows_of_a * inner + inner * width + rows_of_a * width)))
            throw Error("these matrices are larger than the memory of any GPU", table.place(cells));
        rows.push_back(std::move(row));
    }
    if (rows.empty()) {
        std::string names;
        for (const std::string& column : columns) names += (names.empty() ? "`" : ", `") + column + "`";
        throw Error("no row has a figure in " + names, {file.string(), 0, ""});
    }
    return rows;
}

std::vector<std::string> other_gemm_columns(const fs::path& file, const std::vector<std::string>& columns) {
    const CsvTable table(file, "a table of GEMM times");
    std::vector<std::string> names;
    for (const std::size_t place : other_places(table, columns)) names.push_back(table.columns()[place]);
    return names;
}

std::vector<GemmRow> half_of(const std::vector<GemmRow>& rows, unsigned half) {
    std::vector<GemmRow> kept;
    for (const GemmRow& row : rows)
        if ((mixed(std::uint64_t{row.n} << 32 | row.k) & 1) == half) kept.push_back(row);
    return kept;
}

std::vector<GemmRow> sample_of(std::vector<GemmRow> rows, std::size_t count, std::uint64_t seed) {
    if (rows.size() <= count) return rows;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t other = i + static_cast<std::size_t>(random() % (rows.size() - i));
        std::swap(rows[i], rows[other]);
    }
    rows.resize(count);
    return rows;
}

void time_gemm_table(std::vector<GemmRow>& rows, const sim::Hardware& hardware,
                     const GemmTableOptions& options) {
    models::gpu::GpuConfig config = sim::gpu_config(hardware);
    // Whoever reads watts repeats a product for longer than a board may exceed its limit.
    const bool watts = std::any_of(rows.begin(), rows.end(), [](const GemmRow& row) { return row.recorded_watts > 0; });
    if (watts) config.power.allowance = 0;
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        GemmRow& row = rows[i];
        const sim::GemmQuestion question = question_of(options, row);
        check(question, config);
        std::vector<kernels::GemmChoice> choices = candidates(question, config, options.surroundings);
        row.estimated = (choices.front().estimated_seconds +
                         sim::quantise_estimate(question, config, options.surroundings)) *
                        1e6;
        row.roofline = roofline(row, config, sim::gemm_machine(config, kernel_type_of(question)),
                                trace::bytes_of(options.type));
        const kernels::GemmMachine machine = sim::gemm_machine(config, kernel_type_of(question));
        row.estimated_watts = estimated_watts(row, choices.front(), config, machine, options.surroundings,
                                              trace::bytes_of(options.type));
        sim::keep_best(choices, options.autotune, question, config);
        for (const kernels::GemmChoice& choice : choices) jobs.push_back({i, choice});
    }
    if (!options.simulate) return;
    std::stable_sort(jobs.begin(), jobs.end(),
                     [&](const Job& a, const Job& b) { return cost(rows[a.row]) > cost(rows[b.row]); });
    const unsigned cores = options.workers != 0 ? options.workers : sim::available_cores();
    const std::vector<GemmRow> questions = rows;
    double done = 0;
    sim::run_jobs(
        jobs.size(), static_cast<unsigned>(std::min<std::size_t>(cores, jobs.size())),
        [&] { return std::make_unique<Worker>(config, options, questions, jobs); },
        [&](std::size_t job, const std::string& text) {
            GemmRow& row = rows[jobs[job].row];
            options.progress(
                ++done / static_cast<double>(jobs.size()),
                std::to_string(row.m) + "x" + std::to_string(row.n) + "x" + std::to_string(row.k));
            if (text.starts_with(kFailed)) {
                row.failure = text.substr(kFailed.size());
                return;
            }
            const sim::GemmAnswer answer = sim::gemm_answer_from_text(text);
            // Of equal times the better estimate, whichever came first.
            const bool better = !row.simulated || answer.seconds < row.simulated->seconds ||
                                (answer.seconds == row.simulated->seconds &&
                                 answer.estimated_seconds < row.simulated->estimated_seconds);
            if (better) row.simulated = answer;
        });
}

namespace {

/// Means, quantiles and correlation of pairs of what was recorded and what is said.
GemmErrors errors_of_pairs(const std::vector<std::pair<double, double>>& pairs) {
    GemmErrors result;
    std::vector<double> errors, recorded, said;
    for (const auto& [truth, value] : pairs) {
        const double ratio = value / truth;
        errors.push_back(std::abs(ratio - 1));
        result.bias += ratio - 1;
        recorded.push_back(std::log(truth));
        said.push_back(std::log(value));
    }
    result.n = errors.size();
    if (errors.empty()) return result;
    for (const double error : errors) result.mape += error;
    result.mape /= static_cast<double>(errors.size());
    result.bias /= static_cast<double>(errors.size());
    std::sort(errors.begin(), errors.end());
    const auto quantile = [&](double part) {
        return errors[static_cast<std::size_t>(std::lround(part * static_cast<double>(errors.size() - 1)))];
    };
    result.median = quantile(0.5);
    result.p90 = quantile(0.9);
    result.r = correlation(recorded, said);
    return result;
}

}  // namespace

double spread_of(const std::vector<const GemmRow*>& rows) {
    double sum = 0;
    std::size_t count = 0;
    for (const GemmRow* row : rows) {
        if (row->recordings.size() < 2) continue;
        for (const double recording : row->recordings) sum += std::abs(recording / row->recorded - 1);
        count += row->recordings.size();
    }
    return count == 0 ? 0 : sum / static_cast<double>(count);
}

const std::vector<GemmClass>& gemm_classes_of_m() {
    static const std::vector<GemmClass> classes{
        {"m of 1", 1, 2},         {"m of 2-16", 2, 17},         {"m of 17-64", 17, 65},
        {"m of 65-256", 65, 257}, {"m of 257-1024", 257, 1025}, {"m above 1024", 1025, 1e300}};
    return classes;
}

std::vector<const GemmRow*> rows_of_m(const std::vector<GemmRow>& rows, const GemmClass& extent) {
    std::vector<const GemmRow*> chosen;
    for (const GemmRow& row : rows)
        if (row.m >= extent.from && row.m < extent.to) chosen.push_back(&row);
    return chosen;
}

GemmErrors errors_of(const std::vector<const GemmRow*>& rows, GemmFigure figure) {
    std::vector<std::pair<double, double>> pairs;
    for (const GemmRow* row : rows)
        if (figure != GemmFigure::simulated || row->simulated)
            pairs.emplace_back(row->recorded, figure_of(*row, figure));
    return errors_of_pairs(pairs);
}

GemmErrors disagreement_of(const std::vector<const GemmRow*>& rows, std::size_t other) {
    std::vector<std::pair<double, double>> pairs;
    for (const GemmRow* row : rows)
        if (other < row->others.size() && row->others[other] > 0)
            pairs.emplace_back(row->recorded, row->others[other]);
    return errors_of_pairs(pairs);
}

GemmErrors watt_errors_of(const std::vector<const GemmRow*>& rows, bool simulated) {
    std::vector<std::pair<double, double>> pairs;
    for (const GemmRow* row : rows) {
        const double watts = !simulated ? row->estimated_watts : row->simulated ? row->simulated->power : 0;
        if (row->recorded_watts > 0 && watts > 0) pairs.emplace_back(row->recorded_watts, watts);
    }
    return errors_of_pairs(pairs);
}

const std::vector<GemmClass>& gemm_classes() {
    static const std::vector<GemmClass> classes{{"below 5 us", 0, 5},           {"5-10 us", 5, 10},
                                                {"10-20 us", 10, 20},           {"20-100 us", 20, 100},
                                                {"100-1000 us", 100, 1000},     {"above 1 ms", 1000, 1e300},
                                                {"all above 20 us", 20, 1e300}, {"all", 0, 1e300}};
    return classes;
}

std::vector<const GemmRow*> rows_of(const std::vector<GemmRow>& rows, const GemmClass& size) {
    std::vector<const GemmRow*> chosen;
    for (const GemmRow& row : rows)
        if (row.recorded >= size.from && row.recorded < size.to) chosen.push_back(&row);
    return chosen;
}

std::vector<const GemmRow*> worst_of(const std::vector<GemmRow>& rows, GemmFigure figure, std::size_t count) {
    std::vector<const GemmRow*> worst;
    for (const GemmRow& row : rows)
        if (figure != GemmFigure::simulated || row.simulated) worst.push_back(&row);
    const auto error = [&](const GemmRow* row) {
        return std::abs(figure_of(*row, figure) / row->recorded - 1);
    };
    std::stable_sort(worst.begin(), worst.end(),
                     [&](const GemmRow* a, const GemmRow* b) { return error(a) > error(b); });
    worst.resize(std::min(count, worst.size()));
    return worst;
}

}  // namespace heddle::validation
