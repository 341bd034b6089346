// What must balance when a kernel has ended, whatever it did.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::models::gpu {

/// The two sides of every account. Sectors are 32 bytes.
struct Ledger {
    std::uint64_t requests_under_way = 0;  ///< taken from the pool and not given back
    std::uint64_t sm_requested_sectors = 0, sm_received_sectors = 0;  ///< must be equal
    /// SMs to L2, through the GPCs' ports. Loads of one SM may be answered together with another's.
    std::uint64_t gpc_requests = 0, l2_requests = 0, l2_answers = 0;
    std::uint64_t
        sm_loaded_sectors = 0,
        l2_loaded_sectors =
            0;  ///< sectors of loads, as SMs and as L2 count them; loads that joined others' count in both
    std::uint64_t sm_stored_sectors = 0, l2_stored_sectors = 0;  ///< atomics among them
    std::uint64_t l2_fill_sectors = 0, dram_read_sectors = 0;
    std::uint64_t l2_write_back_sectors = 0, dram_write_sectors = 0;
    std::uint64_t issued_instructions = 0, pipeline_instructions = 0;
    std::uint64_t ctas_launched = 0, ctas_finished = 0;
};

/// The first account that does not balance, in a sentence; empty when all do.
std::string imbalance(const Ledger& ledger);
/// Throws heddle::Error with it. An imbalance is a defect of the simulator.
void check_conservation(const Ledger& ledger, const std::string& kernel);

}  // namespace heddle::models::gpu
