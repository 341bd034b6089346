#include "models/gpu/warpgroup_unit.h"

namespace heddle::models::gpu {

void describe(WarpgroupConfig& c, ParameterList& list) {
    list.add("wgmma.issue_latency", c.issue_latency, Quantity::cycles, 1, 1000,
             "From the issue of a warpgroup's product to its first multiplication.");
    list.add("wgmma.shared_tail", c.shared_tail, Quantity::cycles, 1, 1000,
             "From the last multiplication to the end of a wait, A from shared memory.");
    list.add("wgmma.register_tail", c.register_tail, Quantity::cycles, 1, 1000,
             "From the last multiplication to the end of a wait, A from registers.");
    list.add("wgmma.minimum_interval", c.minimum_interval, Quantity::cycles, 1, 1000,
             "Between the products of a warpgroup, however small they are.");
    list.add("wgmma.queue", c.queue, Quantity::count, 1, 8, "Products that a warpgroup may have waiting.");
}

WarpgroupUnit::Outcome WarpgroupUnit::start(unsigned sub_core, const WarpgroupProduct& product,
                                            FineCycles shared_busy, Cycle now) {
    Core& core = cores_[sub_core];
    const Cycle earliest = now + config_.issue_latency;
    const bool idle = core.products.free_at() <= now;
    core.debt = idle ? 0 : core.debt + (shared_busy - core.seen);
    core.seen = shared_busy;
    const FineCycles least = FineCycles{config_.minimum_interval} << kFineBits;
    FineCycles time = std::max({product.multiply, product.fetch, least});
    const FineCycles spare = time - product.fetch;
    core.debt -= std::min(core.debt, spare);
    // What later products of a full queue can still make up for is left to them.
    const FineCycles left = std::min(core.debt, spare * config_.queue);
    time += core.debt - left;
    core.debt = left;
    fetched_ += product.fetch;
    const Cycle begin = core.products.take(earliest, time);
    return {begin, core.products.done_at() + product.tail};
}

double WarpgroupUnit::busy_cycles() const {
    double cycles = 0;
    for (const Core& core : cores_) cycles += core.products.busy_cycles();
    return cycles;
}

}  // namespace heddle::models::gpu
