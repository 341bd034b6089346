// Which CTAs belong together: clusters, and where their shared memory is; grids of cooperative launches.
#include <array>
#include <span>

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

bool has_exited(const Cta::Implementation& self, std::uint64_t address) {
    const std::uint64_t tag = address >> kClusterRankShift;
    return self.cluster != nullptr && tag > 0 && tag <= self.cluster->size &&
           (self.cluster->exited >> (tag - 1) & 1u) != 0;
}

Cta::Implementation* cta_of_address(Cta::Implementation& self, std::uint64_t address, std::uint64_t& offset) {
    const std::uint64_t tag = address >> kClusterRankShift;
    offset = address & kClusterOffsetMask;
    if (tag == 0 || tag == self.cluster_rank + 1) return &self;
    if (self.cluster == nullptr || tag > self.cluster->size) return nullptr;
    return self.cluster->ctas[tag - 1];
}

// What cooperative groups expect there: the size of the workspace, then the barrier's counter, both of 32
// bits. Every block adds to the counter so that its top bit changes when all have, which leaves it ready for
// more.
void make_cooperative(LaunchContext& launch) {
    if (launch.memory == nullptr) throw Error("a cooperative launch without memory");
    std::array<std::uint32_t, 2> workspace{};
    workspace[0] = sizeof(workspace);
    launch.grid_workspace = launch.memory->allocate("the grid's barrier", sizeof(workspace), true);
    launch.memory->write(launch.grid_workspace, std::as_bytes(std::span(workspace)));
}

}  // namespace heddle::ptx
