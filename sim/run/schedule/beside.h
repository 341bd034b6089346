// What collectives, copies and kernels that run beside each other on one device do to each other.
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

/// Resources that kernels share, and how much of each this one needs when it is alone.
std::map<std::string, double> demand_of(const KernelResult& kernel);

/// What a recorded collective writes to other devices, and when.
struct PeerWrites {
    double bytes_per_us = 0;     ///< while it writes
    double from = 0, until = 0;  ///< parts of its recorded time between which it writes
};

/// By op. A recorded collective begins when this device is there and ends when all are, so for a part of its
/// time it waits for the others. The quickest collective of a kind, by bytes per time, is taken to have
/// waited for nobody; the others write at its rate. A ring stands still until the last device has come, and
/// writes at the end of its time; messages to single devices go to those that are there, from its beginning.
/// Collectives without a recorded time, and other ops, write nothing.
std::vector<PeerWrites> peer_writes(const trace::Trace& trace);

/// A collective as work: the SMs that its thread blocks (attribute "thread_blocks") hold, one each, and its
/// writes to other devices.
StreamWork collective_work(const trace::Op& op, double time_us, const PeerWrites& writes,
                           const SharedDevice& device);

/// A copy between host and device as work.
StreamWork copy_work(const trace::Op& op, double time_us, const SharedDevice& device);

/// Times of the kernels of a recording beside the collectives and copies that ran beside them when they were
/// recorded (attributes "beside" and "beside_start_ns": the importer's), by the rules of schedule_streams().
class RecordedNeighbours {
  public:
    RecordedNeighbours(const trace::Trace& trace, const SharedDevice& device);

    /// Microseconds of all kernels of an op, without gaps; those alone when nothing ran beside it.
    double time_beside(trace::OpId op, const std::vector<const KernelResult*>& kernels) const;

  private:
    const trace::Trace& trace_;
    SharedDevice device_;
    std::vector<PeerWrites> writes_;
};

}  // namespace heddle::sim
