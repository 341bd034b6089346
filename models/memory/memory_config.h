// Device memory (HBM or GDDR) as numbers: its organisation, its controller, its timing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/common/parameter.h"
#include "models/memory/dram_timing.h"

namespace heddle {
class DramModel;
struct DramModelSettings;
}  // namespace heddle

namespace heddle::models {

/// When an open row that no request wants is closed.
enum class RowPolicy : std::uint8_t {
    open,      ///< it stays open until another row of the bank is wanted
    closed,    ///< it is closed as soon as no request for it is queued
    adaptive,  ///< it is closed when nobody has asked for it for `row_timeout`
};
enum class RefreshPolicy : std::uint8_t { all_bank, per_bank, none };

inline constexpr std::uint32_t kBurstBytes =
    32;  ///< on a pseudo channel: HBM2 64 bits x 4, HBM3 32 x 8, GDDR6 16 x 16

/// Device memory. The defaults describe the five HBM3 stacks of an H100 SXM.
struct MemoryConfig {
    std::uint32_t channels = 40;  ///< simulated as one block each
    double bandwidth = 3.35e12;   ///< bytes per second, all channels, of the bare data bus (datasheet)
    /// From the arrival of a read of `burst_bytes` at an idle channel with a closed row to its data leaving
    /// for L2: controller and wires, activation, column command and data.
    double latency = 211e-9;
    std::uint32_t burst_bytes = 64;  ///< smallest transfer; also the granularity of L2 fills

    std::uint32_t pseudo_channels = 4;  ///< of a channel: buses that share nothing
    std::uint32_t bank_groups = 8;      ///< of a pseudo channel, of all its stack levels
    std::uint32_t banks = 4;            ///< of a bank group
    std::uint32_t row_bytes = 1024;     ///< of a bank
    /// L2Config::interleave_bytes: so many consecutive ones lie in one row.
    std::uint32_t interleave_bytes = 128;

    std::uint32_t read_queue = 64;   ///< reads of a pseudo channel among which the scheduler chooses
    std::uint32_t write_queue = 64;  ///< the same of writes
    std::uint32_t write_high = 40;   ///< queued writes at which the bus turns to writing though reads wait
    std::uint32_t batch = 64;        ///< requests that are served before the bus turns while others wait
    double starvation = 2e-6;        ///< a request that has waited so long is next
    RowPolicy row_policy = RowPolicy::adaptive;       ///< see RowPolicy
    double row_timeout = 100e-9;                      ///< of the adaptive row policy
    RefreshPolicy refresh = RefreshPolicy::all_bank;  ///< all banks at once, or one after another
    DramTiming timing;                                ///< least times between commands, in seconds

    /// Shared library with a DRAM model that takes the place of this one (dram_plugin.h); empty: none. Of the
    /// above, channels, bandwidth and burst_bytes still count.
    std::string model;
    /// The same from a linked target.
    std::function<std::shared_ptr<DramModel>(const char* name, const DramModelSettings& settings)> make_model;

    /// Banks of one pseudo channel.
    std::uint32_t banks_in_all() const { return bank_groups * banks; }
    /// Bursts per second that the data bus of one pseudo channel carries at most.
    double bursts_per_second() const { return bandwidth / channels / pseudo_channels / kBurstBytes; }
};
void describe(MemoryConfig& config, ParameterList& list);
/// What is impossible about it, one sentence each; empty when nothing is.
std::vector<std::string> check(const MemoryConfig& config);

}  // namespace heddle::models
