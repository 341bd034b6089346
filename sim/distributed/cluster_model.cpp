#include "sim/distributed/cluster_model.h"

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

struct Preset {
    const char* name;
    const char* hardware;
    const char* description;
    NodeNetworkConfig network;
    HostConfig host;
    double price;
};

/// Links inside a node: what NCCL's rings reach (bus bandwidth of large all-reduces).
Preset dgx_a100() {
    NodeNetworkConfig n;
    n.devices_per_node = 8;
    n.inside = {4.5e-6, 230e9};
    n.outside = {9e-6, 21e9};  // HDR InfiniBand, 25 GB/s, one adapter for each GPU
    n.start = 12e-6;
    return {"dgx-a100", "a100-sxm", "8 A100 80 GB, NVSwitch, 8 HDR adapters in a node", n, {}, 4.10};
}

Preset dgx_h100() {
    NodeNetworkConfig n;
    n.devices_per_node = 8;
    n.inside = {4e-6, 360e9};
    n.outside = {8e-6, 46e9};  // NDR InfiniBand, 50 GB/s, one adapter for each GPU
    n.start = 10e-6;
    return {"dgx-h100", "h100-sxm", "8 H100, NVSwitch, 8 NDR adapters in a node", n, {}, 12.29};
}

}  // namespace

ClusterModel cluster_for(const std::string& name, std::uint32_t nodes, std::uint32_t devices) {
    for (const Preset& preset : {dgx_a100(), dgx_h100()}) {
        if (name != preset.name) continue;
        ClusterModel cluster;
        cluster.name = preset.name;
        cluster.hardware = preset.hardware;
        cluster.description = preset.description;
        cluster.devices_per_node = preset.network.devices_per_node;
        const std::uint32_t needed = (devices + cluster.devices_per_node - 1) / cluster.devices_per_node;
        cluster.nodes = nodes != 0 ? nodes : std::max(1u, needed);
        cluster.host = preset.host;
        cluster.price_per_hour = preset.price;
        cluster.network = std::make_shared<NodeNetwork>(preset.network);
        return cluster;
    }
    throw Error("there is no cluster `" + name + "`", {"--cluster", 0, ""}, "known ones: dgx-a100, dgx-h100");
}

}  // namespace heddle::sim
