// When everything that a program handed to its devices runs, in simulated time: kernels, copies and fills on streams, events between them, and the
// host's own calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/gpu/gpu_machine.h"
#include "sim/run/assemble/result.h"
#include "sim/run/schedule/streams.h"

namespace heddle::driver {

class DeviceTimeline {
  public:
    explicit DeviceTimeline(const sim::GpuMachine& machine) : machine_(&machine) {}

    /// A kernel that was timed; `kernel.time_us` and `gap_us` are those alone on the device. `priority`: as sim::StreamWork has it.
    void add_kernel(std::uint32_t stream, sim::KernelResult kernel, int priority = 0);
    /// A copy over the host's link, or within memory, or a fill. `host_waits`: for its end.
    void add_copy(std::uint32_t stream, const std::string& name, double bytes, double seconds, bool by_engine, bool host_waits);
    void record(std::uint32_t event, std::uint32_t stream);
    void wait(std::uint32_t stream, std::uint32_t event);
    /// The host works for itself before what it asks for next.
    void host_works(double us) { host_us_ += us; }
    /// The host waits for a stream, or for everything.
    void synchronise(std::uint32_t stream);
    void synchronise_event(std::uint32_t event);
    void synchronise_all();
    /// From one event to another, both of which were recorded. Milliseconds.
    double elapsed(std::uint32_t from, std::uint32_t to);
    bool is_recorded(std::uint32_t event) const { return events_.count(event) != 0; }
    void set_non_blocking(std::uint32_t stream) { non_blocking_[stream] = true; }

    /// When the host would have handed out what came now into a stream, and when that would begin. Microseconds.
    struct Place {
        double launched_us = 0, start_us = 0;
    };
    Place next(std::uint32_t stream);

    /// When everything that the device was given has ended.
    double now_us() const { return base_us_; }
    /// What comes next begins no earlier.
    void begin_no_earlier(double us);

    /// Everything so far.
    sim::RunResult result(const std::string& workload, const sim::Hardware& hardware);

  private:
    struct Event {
        std::vector<std::size_t> after;  ///< work before it in its stream; what of it is settled is left out
        double settled_us = 0;           ///< when the rest of it had ended
    };
    sim::StreamWork& add(std::uint32_t stream);
    /// The work that must have ended before a stream goes on.
    std::vector<std::size_t> before(std::uint32_t stream) const;
    void host_waits_for(const std::vector<std::size_t>& works);
    void schedule();
    void settle();
    double time_of(const Event& event);

    const sim::GpuMachine* machine_;
    std::vector<sim::KernelResult> done_;      ///< with their times
    std::vector<sim::KernelResult> pending_;   ///< of each `work_`
    std::vector<sim::StreamWork> work_;        ///< since the host last waited for everything
    std::vector<sim::WorkTimes> times_;        ///< of `work_`, as far as it is scheduled
    sim::StepDivision division_{};             ///< of what is settled
    sim::StepDivision pending_division_{};
    double host_us_ = 0;                       ///< work of the host before the next piece of `work_`
    double base_us_ = 0;                       ///< where `work_` begins
    std::map<std::uint32_t, std::size_t> last_;                 ///< by stream: its last work
    std::map<std::uint32_t, std::vector<std::size_t>> waits_;   ///< by stream: what its next work waits for
    std::map<std::uint32_t, bool> non_blocking_;
    std::map<std::uint32_t, Event> events_;
};

}  // namespace heddle::driver
