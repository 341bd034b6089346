#include "sim/distributed/cluster_model.h"

#include <algorithm>

#include "sim/distributed/cluster_network.h"

namespace heddle::sim {

ClusterModel cluster_for(const ClusterQuestion& question) {
    std::vector<std::string> overrides = question.overrides;
    Cluster cluster = load_cluster(question.name, overrides);
    const bool torus = cluster.network.fabric == models::network::Fabric::torus;
    const bool said = std::any_of(overrides.begin(), overrides.end(),
                                  [](const std::string& text) { return text.rfind("nodes=", 0) == 0; });
    std::uint32_t nodes = question.nodes;
    if (nodes == 0 && !torus && !said) {
        // A file's own number is the least.
        const std::uint32_t needed =
            (question.devices + cluster.devices_per_node - 1) / cluster.devices_per_node;
        nodes = std::max(cluster.nodes, needed);
    }
    if (nodes != 0 && nodes != cluster.nodes) overrides.push_back("nodes=" + std::to_string(nodes));
    if (question.servers > cluster.servers)
        overrides.push_back("servers=" + std::to_string(question.servers));
    if (overrides.size() != question.overrides.size()) cluster = load_cluster(question.name, overrides);

    ClusterModel model;
    model.name = cluster.name;
    model.hardware = cluster.device;
    model.description = cluster.description;
    model.nodes = cluster.nodes;
    model.devices_per_node = cluster.devices_per_node;
    model.price_per_hour = cluster.price_device_hour;
    // Devices behind one PCIe switch share its way up.
    const models::network::NetworkConfig& n = cluster.network;
    if (!torus)
        model.host.link = n.pcie_efficiency * std::min(n.pcie_bandwidth, n.pcie_uplink / n.pcie_devices);
    model.network = std::make_shared<ClusterNetwork>(cluster);
    return model;
}

ClusterModel cluster_for(const std::string& name, std::uint32_t nodes, std::uint32_t devices) {
    ClusterQuestion question;
    question.name = name;
    question.nodes = nodes;
    question.devices = devices;
    return cluster_for(question);
}

}  // namespace heddle::sim
