// What collectives and kernels that run beside each other on one device do to each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/run/result.h"
#include "sim/run/streams.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// What decides about work that shares a device.
struct SharedDevice {
    double launch_latency_us = 0;  ///< from the host's call to the earliest start
    double peer_flush_us = 0;      ///< StepConfig::peer_flush
    std::uint32_t sms = 0;         ///< 0: what collectives hold of them is left out
};

/// Resources that kernels share, and how much of each this one needs when it is alone.
std::map<std::string, double> demand_of(const KernelResult& kernel);

/// By op: of each collective the part of its recorded time in which it moves bytes. It waits for the other
/// devices for the rest: a recorded collective begins when the first device is there and ends when all are.
/// The quickest collective of a kind, by bytes per time, is taken to have waited for nobody. 0 for other ops,
/// 1 for collectives without a recorded time.
std::vector<double> writing_parts(const trace::Trace& trace);

/// A collective as work: the SMs that its thread blocks (attribute "thread_blocks") hold, one each, and its
/// writes to other devices.
StreamWork collective_work(const trace::Op& op, double time_us, double writing_part,
                           const SharedDevice& device);

/// Times of the kernels of a recording beside the collectives that ran beside them when they were recorded
/// (attribute "beside": the importer's), by the rules of schedule_streams().
class RecordedNeighbours {
  public:
    RecordedNeighbours(const trace::Trace& trace, const SharedDevice& device);

    /// Microseconds of all kernels of an op, without gaps; those alone when nothing ran beside it.
    double time_beside(trace::OpId op, const std::vector<const KernelResult*>& kernels) const;

  private:
    const trace::Trace& trace_;
    SharedDevice device_;
    std::vector<double> writing_;
};

}  // namespace heddle::sim
