// The result of an exploration: the one structure from which tables, exports and charts are made. It contains
// only types.
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
    std::string text;  ///< as the user wrote it: "25MiB,50MiB,100MiB"
    std::string base;  ///< the base device's value: "50 MiB"
    /// All values in the order of the axis, in base units (bytes, hertz, ...; words by their index), and as a
    /// hardware file writes them. Both are empty where the axis is continuous between `low` and `high`.
    std::vector<double> values;
    std::vector<std::string> shown;
    double low = 0, high = 0;
    bool logarithmic = false;  ///< charts use a logarithmic scale, because steps are factors
};

/// A quantity that an exploration minimises or maximises.
struct Objective {
    std::string name;     ///< "time", "energy", "area", ...; sim/explore/objectives.h lists them
    std::string unit;     ///< "us", "J", "mm2", "$", ...
    std::string meaning;  ///< one sentence
    bool maximise = false;
};

/// How much of each kernel is simulated.
enum class Fidelity : std::uint8_t {
    sampled,  ///< kernels are simulated until their time has settled
    full,     ///< every cycle
};

/// What happened to a point.
enum class PointStatus : std::uint8_t {
    done,
    failed,      ///< its evaluation ended with an error, or its process died
    infeasible,  ///< the machine is impossible or violates a constraint; it is never evaluated
};

/// The result of one workload on a design.
struct WorkloadResult {
    std::string workload;
    double weight = 1;  ///< steps of this workload for each step of a workload of weight 1
    /// Totals ("step_time_us", "energy_j", "clock_hz"), fractions ("utilisation/tensor", "reason/memory"),
    /// and microseconds by kind of op ("kind/matmul") and op ("op/matmul 512x512x512 bf16").
    std::map<std::string, double> statistics;
    std::vector<std::string> notes;
};

/// A design that the strategy proposed.
struct Point {
    std::uint64_t id =
        0;  ///< in the order in which the strategy asked: the same in every run; 0 is the base device
    Fidelity fidelity = Fidelity::sampled;
    PointStatus status = PointStatus::done;
    std::string error;               ///< why the point is not done
    std::vector<double> values;      ///< by axis, in base units
    std::vector<std::string> shown;  ///< by axis: "50 MiB"
    /// Settings that turn the base device into this design: "sm.count=132".
    std::vector<std::string> settings;
    std::map<std::string, double>
        derived;                     ///< "area.total" in mm2, "price.hour" in dollars, "power.tdp" in watts
    std::vector<double> objectives;  ///< by objective; empty unless done
    std::vector<WorkloadResult> workloads;
    bool on_front = false;  ///< no other point of the same fidelity dominates it
    double wall_s = 0;      ///< differs between runs; exports contain it only on request
};

/// All that is known about an exploration.
struct Exploration {
    std::string hardware;                ///< the base device
    std::vector<std::string> workloads;  ///< as the user wrote them, with options and weights
    std::string strategy;                ///< "grid", "nsga2", ...
    std::uint64_t seed = 0;
    std::string version;  ///< version of Heddle
    std::vector<AxisSummary> axes;
    std::vector<std::string> links, constraints;  ///< as the user wrote them
    std::vector<Objective> objectives;
    std::vector<Point> points;  ///< by id; a point evaluated at both fidelities occurs twice, sampled first
    bool complete = false;      ///< the strategy has finished

    /// Returns the point of the base device at the highest available fidelity, or nullptr when it is not
    /// done.
    const Point* base() const {
        const Point* found = nullptr;
        for (const Point& point : points)
            if (point.id == 0 && point.status == PointStatus::done) found = &point;
        return found;
    }
};

}  // namespace heddle::explore
