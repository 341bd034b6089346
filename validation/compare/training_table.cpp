#include "validation/compare/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::validation {
namespace {

std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

class Worker : public sim::JobRunner {
  public:
    Worker(const std::vector<TrainingRow>& rows, const std::string& cluster,
           const TrainingTableOptions& options)
        : rows_(rows),
          name_(cluster),
          hardware_(sim::load_hardware(sim::cluster_for(cluster, 1).hardware)),
          simulated_(hardware_, {true, true, 1}),
          options_(options) {}

    std::string run(std::size_t job) override {
        const TrainingRow& row = rows_[job];
        nlohmann::json json;
        try {
            sim::ClusterModel cluster =
                sim::cluster_for(name_, 0, static_cast<std::uint32_t>(row.plan.devices()));
            cluster.host = row.host;
            sim::OpTimes& times =
                options_.simulated ? static_cast<sim::OpTimes&>(simulated_) : closed_form(row.kernels);
            sim::DistributedOptions how;
            how.ignore_memory = true;
            const sim::DistributedResult r = sim::simulate_distributed("gpt2-small", row.options, row.plan,
                                                                       cluster, hardware_, times, how);
            const sim::DeviceAccount& first = r.stages.front().account;
            const auto part = [&](sim::Purpose purpose) {
                const auto i = static_cast<std::size_t>(purpose);
                return (first.busy[i] + first.exposed[i]) / r.seconds;
            };
            json = {{"seconds", r.seconds},
                    {"flops", r.flops_per_device()},
                    {"bubble", r.bubble},
                    {"tensor", part(sim::Purpose::tensor)},
                    {"data", part(sim::Purpose::data)}};
        } catch (const Error& error) {
            json = {{"failure", error.what()}};
        }
        return json.dump();
    }

  private:
    sim::ClosedForm& closed_form(const sim::ClosedFormConfig& kernels) {
        return closed_.try_emplace(kernels.unaligned, hardware_, kernels).first->second;
    }

    const std::vector<TrainingRow>& rows_;
    std::string name_;
    sim::Hardware hardware_;
    std::map<double, sim::ClosedForm> closed_;  ///< by what differs between frameworks
    sim::Simulated simulated_;
    const TrainingTableOptions& options_;
};

bool fits(const TrainingRow& row, const sim::Hardware& hardware) {
    // Memory needs no times.
    class NoTimes : public sim::OpTimes {
      public:
        std::vector<sim::OpTime> times_of(const trace::Trace& trace) override {
            return std::vector<sim::OpTime>(trace.ops.size());
        }
        double streamed(double) const override { return 0; }
        std::string name() const override { return "none"; }
    } none;
    const sim::TimedStep step =
        sim::time_parts(sim::trace_of("gpt2-small", row.options, row.plan), row.plan, none, {});
    const sim::MemoryRoom memory = hardware.machine().memory_room();
    const double room = (memory.capacity - memory.context) / (1 + memory.fragmentation);
    for (std::int64_t stage = 0; stage < row.plan.pipeline; ++stage)
        if (sim::memory_of(step, row.plan, stage).total() > room) return false;
    return true;
}

}  // namespace

void decide_recomputation(std::vector<TrainingRow>& rows, const std::string& cluster,
                          const TrainingTableOptions& options) {
    if (!options.recompute.empty()) {
        for (TrainingRow& row : rows)
            row.plan.recompute = parallel::recomputation_from_name(options.recompute);
        return;
    }
    const sim::Hardware hardware = sim::load_hardware(sim::cluster_for(cluster, 1).hardware);
    if (!hardware.machine().memory_room().by_tensor) return;
    // Of rows that share layers alike, the one with the largest micro-batch needs most.
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, const TrainingRow*> largest;
    for (const TrainingRow& row : rows) {
        if (row.recompute_published) continue;
        const TrainingRow*& most = largest[{row.model, row.plan.tensor, row.plan.pipeline}];
        if (most == nullptr || row.plan.micro_batch > most->plan.micro_batch) most = &row;
    }
    std::set<std::string> full;
    for (const auto& [alike, most] : largest) {
        const TrainingRow& row = *most;
        if (full.contains(row.model)) continue;
        try {
            if (!fits(row, hardware)) full.insert(row.model);
        } catch (const Error&) {
            // Told when the row is simulated.
        }
    }
    for (TrainingRow& row : rows)
        if (!row.recompute_published && full.contains(row.model))
            row.plan.recompute = parallel::Recomputation::full;
}

void time_training_table(std::vector<TrainingRow>& rows, const std::string& cluster,
                         const TrainingTableOptions& options) {
    const unsigned workers = options.workers != 0 ? options.workers : sim::available_cores();
    std::size_t done = 0;
    sim::run_jobs(
        rows.size(), workers, [&] { return std::make_unique<Worker>(rows, cluster, options); },
        [&](std::size_t job, const std::string& text) {
            const nlohmann::json json = nlohmann::json::parse(text);
            TrainingRow& row = rows[job];
            if (json.contains("failure")) {
                row.failure = json["failure"];
            } else {
                row.simulated = json["seconds"];
                row.flops = json["flops"];
                row.bubble = json["bubble"];
                row.tensor = json["tensor"];
                row.data = json["data"];
            }
            options.progress(static_cast<double>(++done) / static_cast<double>(rows.size()), row.model);
        });
}

std::vector<TrainingRow> sample_of(std::vector<TrainingRow> rows, std::size_t count, std::uint64_t seed) {
    if (rows.size() <= count) return rows;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < count; ++i) std::swap(rows[i], rows[i + random() % (rows.size() - i)]);
    rows.resize(count);
    return rows;
}

unsigned half_of(unsigned line) {
    return mixed(line) % 2;
}

std::vector<TrainingRow> half_of(const std::vector<TrainingRow>& rows, unsigned half) {
    std::vector<TrainingRow> chosen;
    for (const TrainingRow& row : rows)
        if (half_of(row.line) == half) chosen.push_back(row);
    return chosen;
}

TrainingErrors errors_of(const std::vector<TrainingRow>& rows) {
    std::vector<double> errors;
    TrainingErrors result;
    for (const TrainingRow& row : rows) {
        if (!row.failure.empty()) continue;
        errors.push_back(std::abs(row.error()));
        result.mean += errors.back();
        result.bias += row.error();
    }
    result.n = errors.size();
    if (errors.empty()) return result;
    std::sort(errors.begin(), errors.end());
    result.mean /= static_cast<double>(result.n);
    result.bias /= static_cast<double>(result.n);
    result.median = errors[errors.size() / 2];
    result.p90 = errors[errors.size() * 9 / 10];
    result.worst = errors.back();
    return result;
}

namespace {

std::vector<TrainingRow> rows_by_use(const std::vector<TrainingRow>& rows, bool fitted) {
    std::vector<TrainingRow> chosen;
    for (const TrainingRow& row : rows)
        if (row.fitted == fitted) chosen.push_back(row);
    return chosen;
}

std::string failures_text(const std::vector<TrainingRow>& rows) {
    const std::size_t timed = errors_of(rows).n;
    return timed == rows.size() ? "" : fmt::format("{} rows could not be timed\n", rows.size() - timed);
}

/// Which of the rows the framework's figures were fitted to, and how far off they and the others are.
std::string fitted_text(const std::vector<TrainingRow>& rows) {
    const std::size_t fitted = rows_by_use(rows, true).size();
    if (fitted == 0) return "nothing was fitted to these rows\n";
    if (fitted == rows.size()) return "the framework's figures were fitted to these rows\n";
    std::string text;
    for (const bool use : {true, false}) {
        const TrainingErrors own = errors_of(rows_by_use(rows, use));
        text += fmt::format("{:<13} {:>4} rows: mean error {:.2f} %, median {:.2f} %, worst {:.1f} %{}\n",
                            use ? "fitted to" : "not fitted to", own.n, 100 * own.mean, 100 * own.median,
                            100 * own.worst, use ? "; the framework's figures were fitted to these" : "");
    }
    return text;
}

}  // namespace

std::string format_training_table(const std::vector<TrainingRow>& rows, const std::string& heading,
                                  bool all) {
    const TrainingErrors e = errors_of(rows);
    std::string text = fmt::format(
        "{}\n\n{} rows: mean error {:.2f} %, median {:.2f} %, 90th percentile {:.2f} %, worst {:.1f} %, bias "
        "{:+.2f} %\n",
        heading, e.n, 100 * e.mean, 100 * e.median, 100 * e.p90, 100 * e.worst, 100 * e.bias);
    text += failures_text(rows) + fitted_text(rows);
    std::vector<const TrainingRow*> shown;
    shown.reserve(rows.size());
    for (const TrainingRow& row : rows) shown.push_back(&row);
    if (!all) {
        std::stable_sort(shown.begin(), shown.end(), [](const TrainingRow* a, const TrainingRow* b) {
            return std::abs(a->error()) > std::abs(b->error());
        });
        if (shown.size() > 12) shown.resize(12);
        text += "\nfurthest from what was recorded:\n";
    }
    text += fmt::format("\n{:>5}  {:<22} {:<66} {:>10} {:>10} {:>7} {:>7} {:>7} {:>6}\n", "line", "model",
                        "plan", "recorded", "simulated", "error", "bubble", "tensor", "data");
    for (const TrainingRow* row : shown) {
        if (!row->failure.empty()) {
            text += fmt::format("{:>5}  {:<22} {}\n", row->line, row->model, row->failure);
            continue;
        }
        text += fmt::format(
            "{:>5}  {:<22} {:<66} {:>8.4f} s {:>8.4f} s {:>+6.1f}% {:>6.1f}% {:>6.1f}% {:>5.1f}%\n",
            row->line, row->model, parallel::describe(row->plan), row->recorded, row->simulated,
            100 * row->error(), 100 * row->bubble, 100 * row->tensor, 100 * row->data);
    }
    return text;
}

std::string training_table_json(const std::vector<TrainingRow>& rows) {
    const TrainingErrors e = errors_of(rows);
    nlohmann::ordered_json json{{"n", e.n},     {"mape", e.mean},   {"median", e.median},
                                {"p90", e.p90}, {"worst", e.worst}, {"bias", e.bias}};
    json["failed"] = 0;
    for (const bool fitted : {true, false}) {
        const TrainingErrors own = errors_of(rows_by_use(rows, fitted));
        json[fitted ? "fitted" : "not_fitted"] = {{"n", own.n}, {"mape", own.mean}};
    }
    json["rows"] = nlohmann::json::array();
    for (const TrainingRow& row : rows) {
        if (!row.failure.empty()) {
            json["failed"] = json["failed"].get<int>() + 1;
            json["rows"].push_back({{"line", row.line}, {"failure", row.failure}});
            continue;
        }
        json["rows"].push_back({{"line", row.line},
                                {"fitted", row.fitted},
                                {"model", row.model},
                                {"plan", parallel::describe(row.plan)},
                                {"recorded_s", row.recorded},
                                {"simulated_s", row.simulated},
                                {"error", row.error()},
                                {"bubble", row.bubble},
                                {"tensor", row.tensor},
                                {"data", row.data}});
        if (row.fingerprint != 0)
            json["rows"].back()["fingerprint"] = fmt::format("{:#018x}", row.fingerprint);
    }
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::validation
