// When everything that a host hands to a device runs: streams, dependencies, the host's own time, and kernels
// that share the device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle::sim {

/// What carries a piece of work out.
enum class Engine : std::uint8_t { kernels, copy, network };

/// One kernel, copy or collective, in the order in which the host hands them out.
struct StreamWork {
    std::uint32_t stream = 0;
    Engine engine = Engine::kernels;
    double host_us = 0;  ///< that the host works before it has handed this out
    double gap_us = 0;   ///< from the end of the work before it in its stream, and of what it waits for
    double time_us = 0;  ///< alone on the device
    /// Of kernels: thread blocks for each that the device has room for; 1: one wave fills it. 0: none are
    /// known.
    double waves = 1;
    std::map<std::string, double> demand;  ///< of each resource that it uses: part of the peak, alone
    std::vector<std::size_t> after;        ///< earlier work that must have ended
    bool blocks_host = false;              ///< the host goes on when this has ended
    /// Of a collective: part of the device's SMs that its thread blocks keep, one each.
    double holds = 0;
    /// Of a collective or a copy: that the end of a kernel beside it waits for the writes that it has on
    /// their way; and the parts of its time between which it has such writes. For the rest it waits for
    /// others.
    double flush_us = 0;
    double writes_from = 0, writes_until = 1;
};

/// The part of its time for which a kernel needs SMs, and as many as there are: that of its busiest unit of
/// the SMs, or else what memory and L2 leave of it. With fewer SMs that part takes longer.
double need_of_sms(const std::map<std::string, double>& demand);

struct WorkTimes {
    double launched_us = 0;  ///< the host has handed it out
    double start_us = 0, end_us = 0;
};

/// How the time of a step divides. The parts add up to `total_us`.
struct StepDivision {
    double total_us = 0;
    double kernels_us = 0;        ///< at least one kernel runs
    double communication_us = 0;  ///< no kernel, but a collective
    double copies_us = 0;         ///< neither, but a copy
    double gaps_us = 0;           ///< nothing runs, work is being started
    double host_us = 0;           ///< nothing runs, and nothing could: the host has not handed it out
    double overlapped_us =
        0;  ///< what running side by side saved: times of all work less the time in which any ran
};

struct StreamSchedule {
    std::vector<WorkTimes> work;
    StepDivision division;
};

/// Work [first, last) that is done `turns` times, one turn after the other, and is given once.
struct RepeatedWork {
    std::size_t first = 0, last = 0;
    double turns = 1;
};

/// Work of one stream runs in order. Work that may start does so `gap_us` later; it needs its engine's place:
/// copies (one at a time) and collectives (one at a time) have engines of their own; kernels share the
/// device.
///
/// Kernels side by side. The block scheduler hands out thread blocks of the kernel that came first and gives
/// others the places that it leaves ("leftover policy": Pai et al., ASPLOS 2013; Amert et al., RTSS 2017). So
/// a kernel that finds a part of the places it wants proceeds at that part of its speed. What then runs
/// together, collectives and copies included, shares each resource: where the demands add up to more than 1,
/// all who use it slow down by that sum. The rates found so never ask for more than a resource has.
///
/// Beside a collective a kernel has the SMs that the collective does not hold: it takes as many times longer
/// as it needs more whole waves there, for the part of its time that SMs decide (need_of_sms).
///
/// The end of a kernel flushes: it waits for all writes on their way, those of a collective or a copy beside
/// it too (`flush_us`). Beside both it waits twice for the copy: thread blocks of the collective fence after
/// every slice that they send, these fences wait for the copy as well, and the kernel's comes behind one.
///
/// `launch_latency_us`: from the host's call to the earliest start. `repeated`: apart or within one another,
/// in order, outer ones before inner ones; one turn is scheduled, and times are stretched for all of them
/// (repeated_work.h).
StreamSchedule schedule_streams(const std::vector<StreamWork>& work, double launch_latency_us,
                                const std::vector<RepeatedWork>& repeated = {});

}  // namespace heddle::sim
