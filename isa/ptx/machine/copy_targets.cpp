#include "isa/ptx/machine/copy_targets.h"

#include "isa/common/hexadecimal.h"

namespace heddle::ptx {
namespace {

void add_target(const SharedPlace& place, const SharedPlace& barrier, AsyncOperation& operation,
                std::vector<SharedPlace>& places) {
    places.push_back(place);
    operation.destinations |= static_cast<std::uint16_t>(1u << place.cta->cluster_rank);
    operation.signals.push_back({static_cast<std::uint16_t>(barrier.cta->cluster_rank),
                                 static_cast<std::uint32_t>(barrier.offset), 0, operation.bytes});
}

}  // namespace

std::vector<SharedPlace> find_targets(const Warp::State& warp, unsigned lane, const CopyTarget& target,
                                      AsyncOperation& operation) {
    const SharedPlace place = find_shared(warp, lane, target.space, target.address, operation.bytes,
                                          target.alignment, "the destination of a bulk copy");
    operation.shared_address = static_cast<std::uint32_t>(place.offset);
    SharedPlace barrier = find_shared(warp, lane, target.space, target.barrier, 8, 8, "the mbarrier");
    const bool named = target.space == StateSpace::shared_cluster && target.barrier >> kClusterRankShift != 0;
    if (target.pair && !named && (warp.cta->cluster_rank & 1u) != 0)
        barrier = find_shared(warp, lane, StateSpace::shared_cluster, cluster_address(warp.cta->cluster_rank - 1, barrier.offset), 8, 8, "the mbarrier");
    std::vector<SharedPlace> places;
    if (!target.multicast) {
        add_target(place, barrier, operation, places);
        return places;
    }
    const ClusterState& cluster = warp.cta->own_cluster();
    if (target.mask == 0 || target.mask >> cluster.size != 0) {
        fail_running(warp, lane,
                     "a copy to the CTAs of mask " + hexadecimal(target.mask) + " of a cluster of " +
                         std::to_string(cluster.size),
                     "set a bit for each CTA of the cluster that is to receive the data, and no other");
    }
    for (unsigned rank = 0; rank < cluster.size; ++rank) {
        if ((target.mask >> rank & 1u) == 0) continue;
        Cta::Implementation* cta = cluster.ctas[rank];
        if (cta == nullptr || cta->unfinished == 0) {
            fail_running(warp, lane, "a copy to CTA rank " + std::to_string(rank) + ", which does not run",
                         "let all CTAs of the cluster wait for one another before they exit");
        }
        Cta::Implementation* told = cta;
        if (target.pair) told = cluster.ctas[(rank & ~1u) | (barrier.cta->cluster_rank & 1u)];
        if (told == nullptr) fail_running(warp, lane, "a copy to a pair of CTAs of which one does not run", "let all CTAs of the cluster wait for one another before they exit");
        add_target({cta, place.offset}, {told, barrier.offset}, operation, places);
    }
    return places;
}

void add_piece(AsyncOperation& operation, std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return;
    if (!operation.pieces.empty()) {
        AsyncOperation::Piece& last = operation.pieces.back();
        if (last.address + last.bytes == address) {
            last.bytes += static_cast<std::uint32_t>(bytes);
            return;
        }
    }
    operation.pieces.push_back({address, static_cast<std::uint32_t>(bytes)});
}

}  // namespace heddle::ptx
