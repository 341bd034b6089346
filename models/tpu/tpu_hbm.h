// Device memory of a TPU: a bus with a rate, shared by the DMA queues of all cores, and a latency.
//
// A transfer is one request, however large. The bus serves `arbitration_bytes` of one queue, then lets the
// next queue have its turn, so that cores and directions share it evenly. Banks and refresh are inside
// `efficiency`.
#pragma once

#include <deque>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/tpu/tpu_config.h"

namespace heddle::models {

/// A unit that sends requests and is told of their end.
class HbmClient {
  public:
    virtual ~HbmClient() = default;
    /// All bytes of the request will have been moved in cycle `at`, which is in the future.
    virtual void served(std::uint64_t request, Cycle at) = 0;
};

/// A transfer between HBM and a core.
struct HbmRequest {
    HbmClient* client = nullptr;     ///< told when it is served
    std::uint64_t number = 0;        ///< the client's name for it
    std::uint64_t bytes = 0;         ///< in whole pieces of access_bytes
    std::uint64_t least_cycles = 0;  ///< what the client itself needs to take or give the bytes
    bool write = false;              ///< towards HBM
};

/// The memory as cores see it.
class HbmInterface : public virtual sc_core::sc_interface {
  public:
    /// Puts a request into a queue, where it becomes visible in cycle `at`, which is in the future. Requests
    /// of a queue are served in order.
    virtual void request(unsigned queue, const HbmRequest& request, Cycle at) = 0;
};

/// Counts since reset().
struct HbmStatistics {
    std::uint64_t bytes_read = 0, bytes_written = 0;  ///< on the bus, whole pieces
    double busy_cycles = 0;                           ///< of the bus, fractions included
};

/// Serves its queues in turn at the bandwidth of the bus; a latency is added to each request.
class TpuHbm : public Block, public HbmInterface {
  public:
    sc_core::sc_export<HbmInterface> requests;  ///< from DMA engines

    TpuHbm(const sc_core::sc_module_name& name, ClockDomain& clock, const HbmConfig& config, unsigned queues);
    /// Counts since reset().
    const HbmStatistics& statistics() const { return statistics_; }

    void request(unsigned queue, const HbmRequest& request, Cycle at) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    std::vector<SignalDeclaration> signals() const override;

  private:
    /// Time in units of 2^-20 cycles: what lets a rate that is no whole number of bytes per cycle be kept
    /// exactly.
    using Instant = std::uint64_t;
    static constexpr unsigned kFraction = 20;
    static Instant instant(Cycle cycle) { return cycle << kFraction; }
    static Cycle cycle_at_or_after(Instant time) { return (time + (1u << kFraction) - 1) >> kFraction; }

    struct Waiting {
        HbmRequest request;
        Cycle visible = 0;
        std::uint64_t left = 0;
    };
    struct Queue {
        std::deque<Waiting> waiting;
        Instant free_at = 0;  ///< the client is through with what it was given
    };
    /// When the queue's next piece can go, not counting the bus.
    Instant ready_at(const Queue& queue) const;
    void serve(Queue& queue);

    HbmConfig config_;
    double units_per_byte_ = 0;
    std::vector<Queue> queues_;
    unsigned turn_ = 0;
    Instant bus_free_at_ = 0;
    HbmStatistics statistics_;
};

}  // namespace heddle::models
