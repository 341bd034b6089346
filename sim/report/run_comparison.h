// Why do two runs differ? Two folders of runs beside each other, with the difference of their times divided
// exactly.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::sim {

/// What is read back of a run's folder: summary.json, stats.sqlite and, where it is there,
/// configuration.json.
struct StoredRun {
    std::string folder, workload, hardware;
    double step_us = 0;
    std::map<std::string, double>
        division;  ///< "kernels", "waiting for the host", ...: microseconds of the step
    double cycle = 0, estimated = 0, unknown = 0;  ///< coverage, fractions
    double clock_hz = 0;                           ///< 0: not known
    double joules = 0;
    std::map<std::string, std::string> parameters;  ///< of the hardware, by path; empty when not stored
    std::map<std::string, std::string> options;     ///< of the command

    struct Kernel {
        std::string name, op, kind, phase, fidelity;
        double time_us = 0, dram_bytes = 0, l2_bytes = 0;
        double cycles = 0;
        std::map<std::string, double> reasons;  ///< fractions of its time
    };
    std::vector<Kernel> kernels;
};

/// Throws heddle::Error for a folder that is not a run, or whose files are damaged.
StoredRun read_run(const std::string& folder);

/// A quantity of both runs; in microseconds unless said otherwise.
struct Both {
    std::string name;
    double first = 0, second = 0;
    std::string more = {};  ///< for people: "matmul_128x128 -> matmul_128x256"
    double difference() const { return second - first; }
};

struct RunComparison {
    StoredRun first, second;
    std::vector<Both> division;  ///< of the step
    std::vector<Both> kinds;     ///< by op kind
    std::vector<Both> ops;       ///< by op; `more` says what changed about it
    std::vector<Both> reasons;   ///< time of simulated kernels by what it went to
    /// The difference of the kernels' times by cause; `second` is the cause's part, `first` is 0. They add up
    /// to the difference of the sums of all kernels' times.
    std::vector<Both> causes;
    std::vector<std::pair<std::string, std::pair<std::string, std::string>>> parameters,
        options;  ///< that differ
};

/// Causes. Ops are matched by what they compute, their kind and phase. Of ops that one run alone has, or has
/// more often, the time is a cause of its own. Else an op's difference divides: t = cycles / clock in both,
/// so (cycles2 - cycles1) / clock1 is work and cycles2 (1 / clock2 - 1 / clock1) is the clock. Work belongs
/// to the choice of kernels where their names differ, and else to what the same kernels waited for, reason by
/// reason. Where one of both times was not found by simulation, the difference belongs to the coverage.
RunComparison compare_runs(StoredRun first, StoredRun second);

std::string format_run_comparison(const RunComparison& comparison, std::size_t rows, std::size_t width);
std::string run_comparison_json(const RunComparison& comparison);

}  // namespace heddle::sim
