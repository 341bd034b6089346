// Step times of transformers on many GPUs that somebody recorded, beside the model's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/distributed/distributed_step.h"

namespace heddle::validation {

struct TrainingRow {
    unsigned line = 0;  ///< of the file
    std::string model;  ///< "h 3072, 30 layers", or the table's name for it
    sim::ModelOptions options;
    parallel::ParallelPlan plan;
    sim::HostConfig host;           ///< of the software that was recorded
    sim::ClosedFormConfig kernels;  ///< the same, its kernels beside products
    /// What is recomputed was published with the row; else it follows from memory (decide_recomputation).
    bool recompute_published = false;
    std::uint64_t fingerprint = 0;            ///< of a step of vTrain (fitted_rows.h); else 0
    bool fitted = false;                      ///< framework_figures() were fitted to this row, among others
    double recorded = 0;                      ///< seconds
    double simulated = 0;                     ///< seconds
    double flops = 0;                         ///< of the model, per device and second, as simulated
    double bubble = 0, tensor = 0, data = 0;  ///< parts of the step, of the first stage
    std::string failure;
    double error() const { return simulated / recorded - 1; }
};

/// Columns are found by their headings: those of vTrain's tables, of Megatron-LM's (SC21, table 1; its
/// derived seconds, or TFLOP/s per GPU) and of MLPerf's logs. Throws heddle::Error for a damaged file, and
/// when a column is missing.
std::vector<TrainingRow> read_training_table(const std::filesystem::path& file);

struct TrainingTableOptions {
    /// full, selective, none; empty: what was published with the rows, else full for models of which a row
    /// would not fit the device's memory without (one script for all rows of a model).
    std::string recompute;
    bool simulated = false;  ///< kernels cycle by cycle, else in closed form
    unsigned workers = 0;
    std::function<void(double fraction, const std::string& what)> progress = [](double, const std::string&) {
    };
};
void time_training_table(std::vector<TrainingRow>& rows, const std::string& cluster,
                         const TrainingTableOptions& options);
/// To be called with all rows of a table, before some are chosen.
void decide_recomputation(std::vector<TrainingRow>& rows, const std::string& cluster,
                          const TrainingTableOptions& options);

std::vector<TrainingRow> sample_of(std::vector<TrainingRow> rows, std::size_t count, std::uint64_t seed);
/// One of two halves, 0 or 1, by a hash of the line: a choice of rows, which says nothing about what they
/// were used for.
unsigned half_of(unsigned line);
std::vector<TrainingRow> half_of(const std::vector<TrainingRow>& rows, unsigned half);

struct TrainingErrors {
    std::size_t n = 0;
    double mean = 0, median = 0, p90 = 0, worst = 0, bias = 0;
};
TrainingErrors errors_of(const std::vector<TrainingRow>& rows);
/// Rows that the framework's figures were fitted to are told apart from the others.
std::string format_training_table(const std::vector<TrainingRow>& rows, const std::string& heading, bool all);
std::string training_table_json(const std::vector<TrainingRow>& rows);

}  // namespace heddle::validation
