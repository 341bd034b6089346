// Why two runs differ: compares the folders of two runs and divides the difference of their times exactly by
// cause.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::sim {

/// What is read from a run's folder: summary.json, stats.sqlite and, where it exists, configuration.json.
struct StoredRun {
    std::string folder, workload, hardware;
    double step_us = 0;
    std::map<std::string, double>
        division;  ///< "kernels", "waiting for the host", ...: microseconds of the step
    double cycle = 0, estimated = 0, unknown = 0;  ///< fractions of the coverage
    double clock_hz = 0;                           ///< 0: not known
    double joules = 0;
    /// Parameters of the hardware, by path; empty when not stored.
    std::map<std::string, std::string> parameters;
    std::map<std::string, std::string> options;  ///< options of the command

    /// One kernel of the run; `reasons` and `op` are as in KernelResult.
    struct Kernel {
        std::string name, op, kind, phase, fidelity;
        double time_us = 0, dram_bytes = 0, l2_bytes = 0;
        double cycles = 0;
        std::map<std::string, double> reasons;  ///< fractions of its time
    };
    std::vector<Kernel> kernels;
};

/// Reads a run's folder. Throws heddle::Error for a folder that does not contain a run or whose files are
/// damaged.
StoredRun read_run(const std::string& folder);

/// One quantity in both runs, in microseconds unless stated otherwise.
struct Both {
    std::string name;
    double first = 0, second = 0;
    std::string more = {};  ///< additional text: "matmul_128x128 -> matmul_128x256"
    double difference() const { return second - first; }
};

/// Two runs and their differences.
struct RunComparison {
    StoredRun first, second;
    std::vector<Both> division;  ///< parts of the step's time
    std::vector<Both> kinds;     ///< by op kind
    std::vector<Both> ops;       ///< by op; `more` says how its kernels changed
    std::vector<Both> reasons;   ///< time of simulated kernels by the reason of their cycles
    /// The difference of the kernels' times by cause; `second` is the part of the cause, and `first` is 0.
    /// The parts add up to the difference between the sums of all kernels' times.
    std::vector<Both> causes;
    std::vector<std::pair<std::string, std::pair<std::string, std::string>>> parameters,
        options;  ///< that differ
};

/// Compares two runs and attributes the difference to causes. Ops are matched by what they compute, their
/// kind and their phase. For ops that only one run has, or has more often, their time is a cause of its own.
/// For matched ops, t = cycles / clock in both runs, so (cycles2 - cycles1) / clock1 is the difference in
/// work, and cycles2 (1 / clock2 - 1 / clock1) is the effect of the clock. The difference in work is
/// attributed to the choice of kernels where their names differ, and otherwise to the reasons for which the
/// same kernels waited. Where one of the two times was not found by simulation, the difference is attributed
/// to the coverage.
RunComparison compare_runs(StoredRun first, StoredRun second);

/// Formats a comparison for people, with at most `rows` rows in each table and lines of `width` columns (0:
/// no limit).
std::string format_run_comparison(const RunComparison& comparison, std::size_t rows, std::size_t width);
/// Formats a comparison as one JSON object.
std::string run_comparison_json(const RunComparison& comparison);

}  // namespace heddle::sim
