// Determines when everything that a host launches on a device runs: streams, dependencies, the host's own
// time, and kernels that share the device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace heddle::sim {

/// The part of a device that executes a piece of work.
enum class Engine : std::uint8_t { kernels, copy, network };

/// One kernel, copy or collective. A schedule takes them in the order in which the host launches them.
struct StreamWork {
    std::uint32_t stream = 0;
    Engine engine = Engine::kernels;
    double host_us = 0;  ///< time that the host works before it has launched this
    /// Time from the end of the previous work in its stream, and of all that it depends on, to its start.
    double gap_us = 0;
    double time_us = 0;  ///< its duration when it runs alone on the device
    /// For kernels: the number of thread blocks divided by how many the device holds at a time; 1 means that
    /// one full wave fills the device. 0: the number is not known.
    double waves = 1;
    /// By resource: fraction of the peak that it uses when it runs alone.
    std::map<std::string, double> demand;
    std::vector<std::size_t> after;  ///< indices of earlier work that must have ended before this starts
    bool blocks_host = false;        ///< the host continues only when this has ended
    /// For kernels: thread blocks of those with the lowest number are placed first; among equals, of the kernel that
    /// began first.
    int priority = 0;
    /// For collectives: the fraction of the device's SMs that its thread blocks occupy, one SM for each
    /// block.
    double holds = 0;
    /// For collectives and copies: how much longer the end of a kernel that runs concurrently waits for the
    /// writes that this has in flight, and the interval in which there are such writes, as fractions of its
    /// own time. In the rest of its time it waits for other devices.
    double flush_us = 0;
    double writes_from = 0, writes_until = 1;
    /// Kernels with the same number were simulated in one run, so that `time_us` contains what they cost one another; 0: alone.
    std::uint32_t together = 0;
};

/// Returns the fraction of a kernel's time that depends on the number of SMs: the utilisation of the busiest
/// unit of the SMs, or, where that is larger, what memory and L2 do not explain. That fraction of the time
/// grows when the kernel has fewer SMs.
double need_of_sms(const std::map<std::string, double>& demand);

/// When a piece of work was launched, started and ended.
struct WorkTimes {
    double launched_us = 0;  ///< when the host had launched it
    double start_us = 0, end_us = 0;
};

/// How the time of a step divides. The parts add up to `total_us`.
struct StepDivision {
    double total_us = 0;
    double kernels_us = 0;        ///< time in which at least one kernel runs
    double communication_us = 0;  ///< time in which no kernel runs, but a collective does
    double copies_us = 0;         ///< time in which neither runs, but a copy does
    double gaps_us = 0;           ///< time in which nothing runs and work is being started
    double host_us = 0;           ///< time in which nothing runs because the host has not launched anything
    double overlapped_us =
        0;  ///< what running side by side saved: times of all work less the time in which any ran
};

/// What schedule_streams() returns.
struct StreamSchedule {
    std::vector<WorkTimes> work;
    StepDivision division;
};

/// A loop: the work with indices [first, last) is given once and executed `turns` times in sequence.
struct RepeatedWork {
    std::size_t first = 0, last = 0;
    double turns = 1;
};

/// Schedules work. Work of one stream runs in order. Work that is ready starts `gap_us` later, when its
/// engine is free: copies and collectives have an engine each, which executes one at a time; kernels share
/// the device.
///
/// Concurrent kernels: the block scheduler places the thread blocks of the kernel that came first, or has the lowest
/// `priority`, and gives the remaining places to others (the "leftover policy" of Pai et al., ASPLOS 2013, and Amert et al., RTSS
/// 2017). A kernel that finds only a fraction of the places it needs proceeds at that fraction of its speed.
/// All work that then runs together, including collectives and copies, shares each resource: where the
/// demands add up to more than 1, everything that uses the resource slows down by that sum. The resulting
/// rates never exceed a resource's peak.
///
/// Kernels that were simulated together (`together`) have taken what they cost one another already.
///
/// Beside a collective, a kernel has the SMs that the collective does not occupy. The fraction of its time
/// that depends on SMs (need_of_sms) grows by the ratio of the numbers of whole waves.
///
/// The end of a kernel flushes: it waits for all writes in flight, including those of a concurrent collective
/// or copy (`flush_us`). When both run, it waits twice for the copy: thread blocks of the collective execute
/// a fence after every slice that they send, these fences wait for the copy as well, and the kernel's fence
/// comes after one of them.
///
/// `launch_latency_us` is the time from the host's call to the earliest start. `repeated` lists loops that
/// are disjoint or nested, in order, outer ones before inner ones; one iteration is scheduled, and times are
/// extended to all of them (repeated_work.h).
StreamSchedule schedule_streams(const std::vector<StreamWork>& work, double launch_latency_us,
                                const std::vector<RepeatedWork>& repeated = {});

}  // namespace heddle::sim
