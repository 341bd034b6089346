// An exploration on disk: one SQLite file with one writer. Each point is one transaction, so a run that is
// killed loses at most the evaluations that were in progress.
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
    /// Creates a file, or, with `resume`, opens one that an interrupted run of the same `specification` (one
    /// JSON object) left. `build` identifies the executable; results of different builds are not mixed.
    /// Throws heddle::Error for a file that already exists, another specification (naming the difference),
    /// another build, another process that writes, a damaged file, a folder that cannot be written and a full
    /// disk. None of these changes what the file contains.
    static Store open(const std::string& path, const std::string& specification, const std::string& version,
                      const std::string& build, bool resume);
    /// Opens a store for reading only.
    static Store open_to_read(const std::string& path);
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    std::string meta(const std::string& key) const;  ///< "" when the key does not exist
    /// Adds a point. `configuration` is every parameter of the design as JSON.
    void add(const Point& point, const std::vector<Objective>& objectives, const std::string& configuration);
    /// Removes the points that failed, so that they are evaluated again.
    void forget_failed();
    void complete();  ///< records that the strategy has finished

    std::vector<Point> points() const;  ///< by id, sampled first
    bool is_complete() const { return meta("complete") == "1"; }

  private:
    struct State;
    explicit Store(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace heddle::explore
