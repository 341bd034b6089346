// Thread block clusters: which CTAs belong together, and where their shared memory is.
#include "isa/common/error.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

unsigned cluster_size(const LaunchContext& launch) {
    return static_cast<unsigned>(launch.cluster.count());
}

std::uint64_t cta_of_cluster(const LaunchContext& launch, std::uint64_t cluster, unsigned rank) {
    const Dim3 &shape = launch.cluster, &grid = launch.grid;
    const std::uint64_t across = grid.x / shape.x, down = grid.y / shape.y;
    const std::uint64_t x = cluster % across * shape.x + rank % shape.x;
    const std::uint64_t y = cluster / across % down * shape.y + rank / shape.x % shape.y;
    const std::uint64_t z = cluster / across / down * shape.z + rank / shape.x / shape.y;
    return (z * grid.y + y) * grid.x + x;
}

Cluster::Cluster(const LaunchContext& launch) : implementation_(std::make_unique<Implementation>()) {
    implementation_->size = cluster_size(launch);
    implementation_->live_threads = launch.block.count() * implementation_->size;
}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;

void ClusterState::notify_others(const Cta::Implementation& self) {
    for (unsigned rank = 0; rank < size; ++rank) {
        Cta::Implementation* const cta = ctas[rank];
        if (cta != nullptr && cta != &self) cta->notify();
    }
}

void Cta::Implementation::notify() {
    if (released_warps == 0) return;
    const std::uint32_t released = released_warps;
    released_warps = 0;
    if (observer != nullptr) observer->warps_released(observer_tag, released);
}

Cta::Implementation* cta_of_address(Cta::Implementation& self, std::uint64_t address, std::uint64_t& offset) {
    const std::uint64_t tag = address >> kClusterRankShift;
    offset = address & kClusterOffsetMask;
    if (tag == 0 || tag == self.cluster_rank + 1) return &self;
    if (self.cluster == nullptr || tag > self.cluster->size) return nullptr;
    return self.cluster->ctas[tag - 1];
}

}  // namespace heddle::ptx
