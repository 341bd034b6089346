// One channel of device memory (HBM or GDDR): a controller and its pseudo channels on the device's clock.
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/memory/dram_address.h"
#include "models/memory/memory_config.h"
#include "models/memory/memory_ports.h"
#include "models/memory/pseudo_channel.h"

namespace heddle::models {

/// Counts of one channel since reset().
struct MemoryChannelStatistics {
    std::uint64_t read_requests = 0, write_requests = 0;  ///< answered, lines
    std::uint64_t read_sectors = 0, write_sectors = 0;    ///< asked for and answered
    std::uint64_t read_bytes = 0, write_bytes = 0;        ///< moved, whole bursts
    std::uint64_t reads = 0, row_hits = 0;                ///< row_hits: reads that found their row open
    std::uint64_t activations = 0, refreshes = 0, turnarounds = 0;  ///< commands of all its banks; changes of
                                                                    ///< the bus between reads and writes
    double busy_cycles = 0;  ///< of the data buses, mean over the pseudo channels
};

/// A block at the end of the memory system: Heddle's own DRAM, or a model that a plugin brings.
class MemoryBlock : public Block, public RequestInterface {
  public:
    sc_core::sc_export<RequestInterface> requests;  ///< from L2 slices
    sc_core::sc_port<ResponseInterface, 0, sc_core::SC_ZERO_OR_MORE_BOUND>
        responses;  ///< to L2 slices, by position

    /// Responses go to port `request.issuer - first_issuer`.
    MemoryBlock(const sc_core::sc_module_name& name, ClockDomain& clock, const MemoryConfig& config,
                std::uint32_t position, std::uint32_t first_issuer, std::uint32_t issuers);
    virtual MemoryChannelStatistics statistics() const = 0;

  protected:
    void end_of_elaboration() override;
    /// Number of a request's first line among the lines of this channel.
    std::uint64_t line_in_channel(const MemoryRequest& request) const {
        const std::uint64_t chunk = request.tag >> chunk_bits_,
                            in_chunk = request.tag & ((1u << chunk_bits_) - 1);
        return ((chunk * issuers_ + (request.issuer - first_issuer_)) << chunk_bits_) | in_chunk;
    }
    /// Bytes that a request for these sectors moves: whole bursts of `burst_bytes`.
    std::uint32_t bytes_moved(LinesMask sectors) const;
    void answer(MemoryRequest& request, Cycle arrival);

    const MemoryConfig config_;
    const std::uint32_t position_, first_issuer_, issuers_;
    const unsigned chunk_bits_;
    MemoryChannelStatistics statistics_;

  private:
    std::vector<Peer<ResponseInterface>> receivers_;
};

/// Heddle's own DRAM. Its pseudo channels count bursts; this block counts cycles.
///
/// What a request causes is known elsewhere only when its answer has gone all the way back. So the block may
/// look at its arrivals once per window of cycles that is not longer than this way: it takes one pseudo
/// channel after another through the window, each in order of time. The result is that of looking in every
/// cycle.
class MemoryChannel : public MemoryBlock {
  public:
    /// `position` staggers refresh among the channels.
    MemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock, const MemoryConfig& config,
                  std::uint32_t position, std::uint32_t first_issuer, std::uint32_t issuers);

    void send(MemoryRequest& request, Cycle arrival) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    MemoryChannelStatistics statistics() const override;
    std::vector<SignalDeclaration> signals() const override;

  private:
    struct Arrival {
        PseudoChannel::Arrival what;
        std::uint32_t at;  // cycle
    };
    struct Bus {
        PseudoChannel pseudo_channel;
        std::vector<Arrival> arriving;
        Cycle decision = kNever;  // when it may decide next
    };
    static constexpr Cycle kLongestWindow = 128;

    void pass_window(Bus& bus, Cycle now);
    void decide(Bus& bus, Cycle end);
    void serve(Bus& bus, Cycle now);
    void plan(Bus& bus, Cycle from);
    void tell_served(const Bus& bus, const PseudoChannel::Served& served, Cycle now);
    void tell_queues(const Bus& bus, Cycle now);
    /// The last cycle of the window in which `cycle` lies.
    Cycle end_of(Cycle cycle) const { return cycle | window_mask_; }
    /// The slot that begins in cycle `now` or next after.
    Slot slot_of(Cycle now) const;
    /// The first cycle whose slot is `slot` or later.
    Cycle cycle_of(Slot slot) const;
    /// The first cycle that is not before the beginning of `slot`.
    Cycle cycle_after(Slot slot) const;

    const DramAddressMap map_;
    std::uint64_t slots_per_cycle_ = 0;  // times 2^28
    Cycle return_latency_ = 0;           // from the end of the data to L2
    Cycle window_mask_ = 0;
    bool used_ = true;           // a request has come since reset()
    double reset_at_hertz_ = 0;  // of the SMs, when that was
    std::vector<Bus> buses_;
};

}  // namespace heddle::models
