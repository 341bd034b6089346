// One channel of device memory (HBM or GDDR).
#pragma once

#include <array>
#include <cstdint>
#include <systemc>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/common/parameter.h"
#include "models/memory/bandwidth_server.h"
#include "models/memory/delay_queue.h"
#include "models/memory/memory_ports.h"

namespace heddle::models {

/// Device memory. The defaults describe the five HBM3 stacks of an H100 SXM.
struct MemoryConfig {
    std::uint32_t channels = 40;
    double bandwidth =
        3.35e12;  ///< bytes per second, all channels, before refresh and turnaround (datasheet)
    /// From the arrival of a read at the channel to its data leaving for L2, row closed and bus idle. What is
    /// left of the measured DRAM latencies without L1, crossbar and L2: 220 to 232 ns on H100 and A100.
    double latency = 220e-9;
    double row_penalty = 28e-9;  ///< part of `latency` that a read of an open row does not pay (tRP + tRCD)
    double row_cycle = 45e-9;    ///< least time between two activations of a bank (tRC)
    std::uint32_t row_bytes = 1024;    ///< of one bank of one pseudo channel
    std::uint32_t banks = 64;          ///< per channel: 4 pseudo channels of 16
    std::uint32_t reorder_rows = 4;    ///< rows per bank among which the controller reorders requests
    double refresh_interval = 244e-9;  ///< per-bank refresh: tREFI of 3.9 us over 16 banks
    double refresh_duration = 12e-9;   ///< of it, bus time lost; fitted to streaming rates
    double turnaround = 10e-9;         ///< bus time lost at a change from reads to writes and back
    std::uint32_t write_batch = 64;    ///< write-backs collected before the bus turns round
    std::uint32_t burst_bytes = 64;    ///< smallest transfer
};
void describe(MemoryConfig& config, ParameterList& list);

struct MemoryChannelStatistics {
    std::uint64_t read_bytes = 0, write_bytes = 0;
    std::uint64_t reads = 0, row_hits = 0;
    double busy_cycles = 0;
};

/// Reads are answered in order of arrival on the data bus, with first-ready scheduling taken into account by
/// letting a few rows per bank count as open; writes wait until a batch is worth a turnaround.
class MemoryChannel : public Block, public RequestInterface {
  public:
    sc_core::sc_export<RequestInterface> requests;  ///< from L2 slices
    sc_core::sc_port<ResponseInterface, 0, sc_core::SC_ZERO_OR_MORE_BOUND>
        responses;  ///< to L2 slices, by position

    /// `position` staggers refresh among the channels. Responses go to port `request.issuer - first_issuer`.
    MemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock, const MemoryConfig& config,
                  std::uint32_t position, std::uint32_t first_issuer, std::uint32_t issuers);

    void send(MemoryRequest& request, Cycle arrival) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    MemoryChannelStatistics statistics() const;

  private:
    struct Bank {
        std::array<std::uint32_t, 8> rows{};  // recently open, newest first; 0: none
        Cycle activated = 0;  // last activation may not be followed by another before row_cycle
        bool ever = false;
    };
    void end_of_elaboration() override;
    void read(MemoryRequest& request, Cycle now);
    void write_batch(Cycle now);
    bool open_row(Bank& bank, std::uint32_t row) const;
    void wait_for_refresh(Cycle now);

    const MemoryConfig config_;
    const std::uint32_t position_, first_issuer_, issuers_;
    Cycle latency_, row_penalty_, row_cycle_, refresh_interval_, refresh_duration_, refresh_phase_;
    FineCycles byte_time_times_1024_, turnaround_;
    std::vector<ResponseInterface*> receivers_;

    DelayQueue inbox_;
    BandwidthServer bus_;
    std::vector<Bank> banks_;
    MemoryRequest* writes_ = nullptr;
    std::uint32_t write_count_ = 0;
    bool writing_ = false;  // direction of the bus
    MemoryChannelStatistics statistics_;
};

}  // namespace heddle::models
