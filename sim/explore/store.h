// An exploration on disk: one SQLite file, one writer. A point is one transaction, so a run that is killed at
// any moment loses at most the evaluations that were under way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/explore/exploration.h"

namespace heddle::explore {

/// Tables: meta(key, value); points(id, fidelity, status, error, settings, value, shown, derived, objectives,
/// configuration, notes, wall_s), of which settings to notes are JSON; objectives(id, fidelity, name, value);
/// statistics(id, fidelity, workload, name, value).
class Store {
  public:
    /// A new file, or with `resume` one that an interrupted run of the same `specification` (JSON, one
    /// object) left. `build`: of the executable; results of another build are not mixed with these. Throws
    /// heddle::Error: a file that is there already, another specification (naming what differs), another
    /// build, another process that writes, a damaged file, a folder that cannot be written, a full disk. What
    /// is in a file is never lost by that.
    static Store open(const std::string& path, const std::string& specification, const std::string& version,
                      const std::string& build, bool resume);
    /// To read only.
    static Store open_to_read(const std::string& path);
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    std::string meta(const std::string& key) const;  ///< "" when there is none
    /// `configuration`: every parameter of the design, JSON.
    void add(const Point& point, const std::vector<Objective>& objectives, const std::string& configuration);
    /// Removes the points that failed, so that they are evaluated again.
    void forget_failed();
    void complete();  ///< the strategy came to its end

    std::vector<Point> points() const;  ///< by id, sampled first
    bool is_complete() const { return meta("complete") == "1"; }

  private:
    struct State;
    explicit Store(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace heddle::explore
