// How collectives, copies and kernels that run concurrently on one device slow one another down.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/machine/machine.h"
#include "sim/run/assemble/result.h"
#include "sim/run/schedule/streams.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Returns the resources that kernels share and how much of each peak this kernel uses when it runs alone,
/// 0..1.
std::map<std::string, double> demand_of(const KernelResult& kernel);

/// The rate at which a recorded collective writes to other devices, and when it does.
struct PeerWrites {
    double bytes_per_us = 0;     ///< while it writes
    double from = 0, until = 0;  ///< interval in which it writes, as fractions of its recorded time
};

/// Returns one entry for each op. A recorded collective begins when its own device is ready and ends when all
/// devices are, so for a part of its time it waits for the others. The collective with the highest rate of
/// bytes per time of each kind is assumed not to have waited; all others write at its rate. A ring does not
/// move data until the last device has arrived, so it writes at the end of its time; messages to single
/// devices go to those that are ready, so they are written from the beginning. Collectives without a recorded
/// time, and other ops, write nothing.
std::vector<PeerWrites> peer_writes(const trace::Trace& trace);

/// Describes a collective for schedule_streams(): the SMs that its thread blocks hold, one for each
/// (attribute "thread_blocks"), and its writes to other devices.
StreamWork collective_work(const trace::Op& op, double time_us, const PeerWrites& writes,
                           const SharedDevice& device);

/// Describes a copy between host and device for schedule_streams().
StreamWork copy_work(const trace::Op& op, double time_us, const SharedDevice& device);

/// Predicts the times of a recording's kernels while the collectives and copies run that ran concurrently
/// when they were recorded (the importer's attributes "beside" and "beside_start_ns"), with the rules of
/// schedule_streams(). `trace` must outlive it.
class RecordedNeighbours {
  public:
    RecordedNeighbours(const trace::Trace& trace, const SharedDevice& device);

    /// Returns the time of all kernels of an op in microseconds, without gaps; the sum of their times alone
    /// when nothing ran concurrently.
    double time_beside(trace::OpId op, const std::vector<const KernelResult*>& kernels) const;

  private:
    const trace::Trace& trace_;
    SharedDevice device_;
    std::vector<PeerWrites> writes_;
};

}  // namespace heddle::sim
