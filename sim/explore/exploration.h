// What an exploration found: the one structure that tables, exports and pictures read. Types only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::explore {

/// A parameter that was varied.
struct AxisSummary {
    std::string path;  ///< "l2.size"
    std::string text;  ///< as asked for: "25MiB,50MiB,100MiB"
    std::string base;  ///< what the base device has: "50 MiB"
    /// All values in the order of the axis, in base units (bytes, hertz, ...; words by their position), and
    /// as a hardware file writes them. Empty where any number between `low` and `high` may come.
    std::vector<double> values;
    std::vector<std::string> shown;
    double low = 0, high = 0;
    bool logarithmic = false;  ///< drawn so: steps are factors
};

/// What is made small or large.
struct Objective {
    std::string name;     ///< "time", "energy", "area", ...; sim/explore/objectives.h lists them
    std::string unit;     ///< "us", "J", "mm2", "$", ...
    std::string meaning;  ///< one sentence
    bool maximise = false;
};

enum class Fidelity : std::uint8_t {
    sampled,  ///< kernels are simulated until their time has settled
    full,     ///< every cycle
};

enum class PointStatus : std::uint8_t {
    done,
    failed,      ///< its evaluation ended with an error, or its process died
    infeasible,  ///< no such machine, or a constraint does not hold: never evaluated
};

/// What one workload did on a design.
struct WorkloadResult {
    std::string workload;
    double weight = 1;  ///< steps of it for one step of a workload of weight 1
    /// Totals ("step_time_us", "energy_j", "clock_hz"), fractions ("utilisation/tensor", "reason/memory"),
    /// and microseconds by kind of op ("kind/matmul") and op ("op/matmul 512x512x512 bf16").
    std::map<std::string, double> statistics;
    std::vector<std::string> notes;
};

/// A design that was asked for.
struct Point {
    std::uint64_t id =
        0;  ///< in the order in which the strategy asked: the same in every run; 0 is the base device
    Fidelity fidelity = Fidelity::sampled;
    PointStatus status = PointStatus::done;
    std::string error;                  ///< of a point that is not done
    std::vector<double> values;         ///< by axis, in base units
    std::vector<std::string> shown;     ///< by axis: "50 MiB"
    std::vector<std::string> settings;  ///< that make the design of the base: "sm.count=132"
    std::map<std::string, double>
        derived;                     ///< "area.total" in mm2, "price.hour" in dollars, "power.tdp" in watts
    std::vector<double> objectives;  ///< by objective; empty unless done
    std::vector<WorkloadResult> workloads;
    bool on_front = false;  ///< no other point of the same fidelity is better in all objectives
    double wall_s = 0;      ///< differs from run to run; no export has it unless asked to
};

struct Exploration {
    std::string hardware;                ///< the base device
    std::vector<std::string> workloads;  ///< as asked for, with options and weights
    std::string strategy;                ///< "grid", "nsga2", ...
    std::uint64_t seed = 0;
    std::string version;  ///< of Heddle
    std::vector<AxisSummary> axes;
    std::vector<std::string> links, constraints;  ///< as asked for
    std::vector<Objective> objectives;
    std::vector<Point> points;  ///< by id; a point run at both fidelities is there twice, sampled first
    bool complete = false;      ///< the strategy came to its end

    /// The point of the base device at the highest fidelity that there is, if it is done.
    const Point* base() const {
        const Point* found = nullptr;
        for (const Point& point : points)
            if (point.id == 0 && point.status == PointStatus::done) found = &point;
        return found;
    }
};

}  // namespace heddle::explore
