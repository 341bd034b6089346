#include "models/gpu/tensor_unit.h"

#include <algorithm>

namespace heddle::models::gpu {

void describe(TensorUnitConfig& c, ParameterList& list) {
    list.add("tcgen05.issue_latency", c.issue_latency, Quantity::cycles, 1, 1000, "From the issue of a product to its first multiplication.");
    list.add("tcgen05.tail", c.tail, Quantity::cycles, 1, 10000, "From the last multiplication to the arrival that tcgen05.commit makes.");
    list.add("tcgen05.minimum_interval", c.minimum_interval, Quantity::cycles, 1, 1000, "Between products, however small they are.");
    list.add("tcgen05.copy_bytes", c.copy_bytes, Quantity::per_cycle, 1, 4096, "From shared memory to tensor memory, and moved within it, of an SM.");
    list.add("tcgen05.load_bytes", c.load_bytes, Quantity::per_cycle, 1, 4096, "From tensor memory to registers, of a sub-core.");
    list.add("tcgen05.store_bytes", c.store_bytes, Quantity::per_cycle, 1, 4096, "From registers to tensor memory, of a sub-core.");
    list.add("tcgen05.load_latency", c.load_latency, Quantity::cycles, 1, 1000, "From the last word read to the end of a wait for it.");
    list.add("tcgen05.store_latency", c.store_latency, Quantity::cycles, 1, 1000, "From the last word written to the end of a wait for it.");
}

void TensorUnit::reset() {
    work_.reset();
    for (BandwidthServer& port : loads_) port.reset();
    for (BandwidthServer& port : stores_) port.reset();
    busy_ = fetched_ = 0;
}

Cycle TensorUnit::multiply(FineCycles multiply, FineCycles fetch, unsigned ctas, Cycle now) {
    const FineCycles time = std::max({multiply, fetch, FineCycles{config_.minimum_interval} << kFineBits});
    work_.take(now + config_.issue_latency, time);
    busy_ += static_cast<double>(time) / fine(1) * ctas;
    fetched_ += static_cast<double>(fetch) / fine(1) * ctas;
    return work_.done_at();
}

Cycle TensorUnit::copy(std::uint32_t bytes, Cycle now) {
    work_.take(now + config_.issue_latency, fine(bytes / config_.copy_bytes));
    return work_.done_at();
}

Cycle TensorUnit::load(unsigned sub_core, std::uint32_t bytes, Cycle now) {
    loads_[sub_core].take(now, fine(bytes / config_.load_bytes));
    return loads_[sub_core].done_at() + config_.load_latency;
}

Cycle TensorUnit::store(unsigned sub_core, std::uint32_t bytes, Cycle now) {
    stores_[sub_core].take(now, fine(bytes / config_.store_bytes));
    return stores_[sub_core].done_at() + config_.store_latency;
}

}  // namespace heddle::models::gpu
