#include "models/memory/memory_config.h"

#include <bit>

#include "models/memory/memory_request.h"
#include "models/memory/pseudo_channel.h"

namespace heddle::models {

void describe(MemoryConfig& c, ParameterList& list) {
    list.add("hbm.channels", c.channels, Quantity::count, 1, 256,
             "Channels that are simulated as blocks; L2 slices divide among them.");
    list.add("hbm.bandwidth", c.bandwidth, Quantity::bandwidth, 1e9, 1e14,
             "Peak bandwidth of all channels together, before refresh and turnaround.");
    list.add("hbm.latency", c.latency, Quantity::time, 1e-9, 1e-5,
             "From a read's arrival at an idle channel with a closed row to its data leaving for L2.");
    list.add("hbm.burst_bytes", c.burst_bytes, Quantity::bytes, 32, 128,
             "Smallest transfer; also the granularity of L2 fills.");
    list.add("hbm.pseudo_channels", c.pseudo_channels, Quantity::count, 1, 16,
             "Independent buses of a simulated channel; a power of two.");
    list.add("hbm.bank_groups", c.bank_groups, Quantity::count, 1, 16,
             "Bank groups of a pseudo channel, those of all stack levels; a power of two.");
    list.add("hbm.banks", c.banks, Quantity::count, 1, 16, "Banks of a bank group; a power of two.");
    list.add("hbm.row_bytes", c.row_bytes, Quantity::bytes, 128, 65536, "Bytes of one row of one bank.");
    list.add("hbm.read_queue", c.read_queue, Quantity::count, 1, 256,
             "Reads of a pseudo channel among which the scheduler chooses.");
    list.add("hbm.write_queue", c.write_queue, Quantity::count, 1, 256,
             "Writes of a pseudo channel among which the scheduler chooses.");
    list.add("hbm.write_high", c.write_high, Quantity::count, 1, 256,
             "Queued writes at which the bus turns from reading to writing though reads wait.");
    list.add("hbm.batch", c.batch, Quantity::count, 1, 65536,
             "Requests served in one direction before the bus turns while others of that direction wait.");
    list.add("hbm.starvation", c.starvation, Quantity::time, 0, 1,
             "A request that has waited so long is next.");
    list.add_choice("hbm.row_policy", c.row_policy, {"open", "closed", "adaptive"},
                    "When a row is closed: for another row; as soon as no request for it is queued; "
                    "when nobody has asked for it for hbm.row_timeout.");
    list.add("hbm.row_timeout", c.row_timeout, Quantity::time, 0, 1e-3,
             "Time without use after which the adaptive policy closes a row.");
    list.add_choice("hbm.refresh", c.refresh, {"all_bank", "per_bank", "none"},
                    "All banks of a pseudo channel at once, one after another, or never.");
    describe(c.timing, list);
    list.add_text(
        "hbm.model", c.model,
        "Shared library with a TLM-2.0 model that takes the DRAM's place (models/memory/dram_plugin.h); "
        "a path, relative to the file that names it.");
}

std::vector<std::string> check(const MemoryConfig& c) {
    std::vector<std::string> problems;
    const auto require = [&problems](bool holds, const char* sentence) {
        if (!holds) problems.emplace_back(sentence);
    };
    require(std::has_single_bit(c.pseudo_channels), "hbm.pseudo_channels must be a power of two");
    require(std::has_single_bit(c.bank_groups), "hbm.bank_groups must be a power of two");
    require(std::has_single_bit(c.banks), "hbm.banks must be a power of two");
    require(c.banks_in_all() <= kMaximumBanks, "hbm.bank_groups times hbm.banks must not exceed 64");
    require(c.row_bytes >= kLineBytes && std::has_single_bit(c.row_bytes),
            "hbm.row_bytes must be a power of two, 128 at least");
    require(c.row_bytes >= c.interleave_bytes, "hbm.row_bytes must not be less than l2.interleave");
    require(std::has_single_bit(c.burst_bytes), "hbm.burst_bytes must be 32, 64 or 128");
    require(c.write_high <= c.write_queue, "hbm.write_high must not exceed hbm.write_queue");
    require(c.latency >= c.timing.rcd + c.timing.cl,
            "hbm.latency includes hbm.timing.rcd and hbm.timing.cl and must not be shorter");
    require(c.timing.ras <= c.timing.rc, "hbm.timing.ras is a part of hbm.timing.rc and must not be longer");
    require(c.refresh != RefreshPolicy::all_bank || c.timing.rfc < c.timing.refi / 2,
            "hbm.timing.rfc must be shorter than half of hbm.timing.refi");
    require(c.refresh != RefreshPolicy::per_bank || c.timing.rfc_pb < c.timing.refi / 2,
            "hbm.timing.rfc_pb must be shorter than half of hbm.timing.refi");
    return problems;
}

}  // namespace heddle::models
