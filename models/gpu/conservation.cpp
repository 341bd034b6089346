#include "models/gpu/conservation.h"

#include <initializer_list>

#include "isa/common/error.h"

namespace heddle::models::gpu {

std::string imbalance(const Ledger& l) {
    struct Account {
        const char* what;
        std::uint64_t one;
        const char* than;
        std::uint64_t other;
    };
    for (const Account& a : std::initializer_list<Account>{
             {"requests were not answered", l.requests_under_way, "allowed", 0},
             {"sectors were asked of L2 by SMs", l.sm_requested_sectors, "received", l.sm_received_sectors},
             {"requests passed the GPCs' ports", l.gpc_requests, "taken by L2", l.l2_requests},
             {"requests were taken by L2", l.l2_requests, "answered", l.l2_answers},
             {"sectors were loaded by SMs", l.sm_loaded_sectors, "served by L2", l.l2_loaded_sectors},
             {"sectors were stored by SMs", l.sm_stored_sectors, "taken by L2", l.l2_stored_sectors},
             {"sectors were asked of memory by L2", l.l2_fill_sectors, "served", l.dram_read_sectors},
             {"sectors were written back by L2", l.l2_write_back_sectors, "written", l.dram_write_sectors},
             {"instructions were issued", l.issued_instructions, "carried out", l.pipeline_instructions},
             {"thread blocks were launched", l.ctas_launched, "finished", l.ctas_finished}}) {
        if (a.one != a.other)
            return std::to_string(a.one) + " " + a.what + ", " + std::to_string(a.other) + " " + a.than;
    }
    return {};
}

void check_conservation(const Ledger& ledger, const std::string& kernel) {
    const std::string found = imbalance(ledger);
    if (!found.empty()) throw Error("internal: kernel " + kernel + ": " + found);
}

}  // namespace heddle::models::gpu
