#include "models/network/network_config.h"

namespace heddle::models::network {
namespace {

constexpr double kMostBandwidth = 1e15, kLongest = 1;

void describe_inside(NetworkConfig& c, ParameterList& list) {
    list.add_choice(
        "inside.fabric", c.fabric, {"crossbar", "pcie", "torus"},
        "What connects the devices of a node: a switch, PCIe, or one torus of the whole cluster.");
    list.add("inside.bandwidth", c.device_bandwidth, Quantity::bandwidth, 1e6, kMostBandwidth,
             "Of a device's port to the switch, one direction.");
    list.add("inside.efficiency", c.device_efficiency, Quantity::ratio, 0.01, 1,
             "Part of inside.bandwidth that carries data, after headers and flow control.");
    list.add("inside.latency", c.device_latency, Quantity::time, 0, kLongest,
             "From a device through the switch to another device.");
    list.add("inside.reduction", c.switch_reduction, Quantity::count, 0, 1,
             "The switch adds what devices send and copies what one sends to all (NVLink SHARP).");
    list.add("inside.reduction_bandwidth", c.switch_reduction_bandwidth, Quantity::bandwidth, 1e6,
             kMostBandwidth,
             "Of sums that a device takes from the switch, and of copies that it gives; used with "
             "inside.reduction only.");
    list.add("pcie.bandwidth", c.pcie_bandwidth, Quantity::bandwidth, 1e6, kMostBandwidth,
             "Of a device's PCIe link, one direction.");
    list.add("pcie.efficiency", c.pcie_efficiency, Quantity::ratio, 0.01, 1,
             "Part of PCIe's bandwidth that carries data.");
    list.add("pcie.latency", c.pcie_latency, Quantity::time, 0, kLongest, "Of one PCIe link or switch.");
    list.add("pcie.devices", c.pcie_devices, Quantity::count, 1, 1024, "Devices that share a PCIe switch.");
    list.add("pcie.uplink", c.pcie_uplink, Quantity::bandwidth, 1e6, kMostBandwidth,
             "Of a PCIe switch to the host, one direction; its devices share it.");
    list.add("torus.x", c.torus_x, Quantity::count, 1, 4096, "Devices along x.");
    list.add("torus.y", c.torus_y, Quantity::count, 1, 4096, "Devices along y.");
    list.add("torus.z", c.torus_z, Quantity::count, 1, 4096, "Devices along z; 1 in a 2-D torus.");
    list.add("torus.wrap", c.torus_wrap, Quantity::count, 0, 1, "Links join the ends of every line.");
    list.add("torus.bandwidth", c.torus_bandwidth, Quantity::bandwidth, 1e6, kMostBandwidth,
             "Of a link between neighbours, one direction.");
    list.add("torus.efficiency", c.torus_efficiency, Quantity::ratio, 0.01, 1,
             "Part of torus.bandwidth that carries data.");
    list.add("torus.latency", c.torus_latency, Quantity::time, 0, kLongest, "Of one hop.");
}

void describe_between(NetworkConfig& c, ParameterList& list) {
    list.add("nic.count", c.nics, Quantity::count, 1, 1024, "Network cards of a node.");
    list.add("nic.bandwidth", c.nic_bandwidth, Quantity::bandwidth, 1e6, kMostBandwidth,
             "Of a network card, one direction.");
    list.add("nic.efficiency", c.nic_efficiency, Quantity::ratio, 0.01, 1,
             "Part of the bandwidth between nodes that carries data.");
    list.add("nic.latency", c.nic_latency, Quantity::time, 0, kLongest,
             "From memory to the wire or back, of one card.");
    list.add("nic.message", c.nic_message, Quantity::time, 0, kLongest,
             "For which a message occupies its card besides the time of its bytes.");
    list.add_choice("network.topology", c.between, {"none", "fat-tree", "dragonfly"},
                    "What connects the nodes.");
    list.add_choice("network.routing", c.routing, {"adaptive", "hashed"},
                    "Messages spread over equal ways, or keep to one by source and destination.");
    list.add("network.rails", c.rails, Quantity::count, 0, 1,
             "Cards of the same number have leaf switches of their own.");
    list.add("network.hop", c.hop_latency, Quantity::time, 0, kLongest, "Of a switch, with its cable.");
    list.add("fat_tree.leaf_nodes", c.leaf_nodes, Quantity::count, 1, 1e6, "Nodes below a leaf switch.");
    list.add("fat_tree.oversubscription", c.oversubscription, Quantity::count, 1, 1000,
             "Of leaf switches: bandwidth down divided by bandwidth up.");
    list.add(
        "fat_tree.pod_leaves", c.pod_leaves, Quantity::count, 1, 1e6,
        "Leaf switches (of a rail) below one layer of spines; beyond them messages go through the core.");
    list.add("fat_tree.core_oversubscription", c.core_oversubscription, Quantity::count, 1, 1000,
             "Of spines: bandwidth down divided by bandwidth up.");
    list.add("dragonfly.router_nodes", c.router_nodes, Quantity::count, 1, 1e6, "Nodes of a router.");
    list.add("dragonfly.group_routers", c.group_routers, Quantity::count, 1, 1e6,
             "Routers of a group; each is linked to every other.");
    list.add("dragonfly.local_bandwidth", c.local_bandwidth, Quantity::bandwidth, 1e6, kMostBandwidth,
             "Between two routers of a group, one direction.");
    list.add("dragonfly.global_bandwidth", c.global_bandwidth, Quantity::bandwidth, 1e6, kMostBandwidth,
             "Between two groups, one direction.");
}

}  // namespace

void describe(NetworkConfig& config, ParameterList& list) {
    describe_inside(config, list);
    describe_between(config, list);
}

std::vector<std::string> check(const NetworkConfig& c, std::uint32_t nodes, std::uint32_t devices_per_node) {
    std::vector<std::string> problems;
    const std::uint64_t devices = std::uint64_t{nodes} * devices_per_node;
    const std::uint64_t places = std::uint64_t{c.torus_x} * c.torus_y * c.torus_z;
    if (c.fabric == Fabric::torus && places != devices)
        problems.push_back("torus.x, y and z make " + std::to_string(places) + " places for " +
                           std::to_string(devices) + " devices (nodes x devices_per_node)");
    if (c.fabric != Fabric::torus && nodes > 1 && c.between == Between::none)
        problems.push_back("network.topology is none, so the " + std::to_string(nodes) +
                           " nodes cannot reach one another");
    if (c.fabric == Fabric::torus && c.between != Between::none)
        problems.push_back("network.topology must be none: a torus connects all devices");
    if (c.switch_reduction && c.fabric != Fabric::crossbar)
        problems.push_back("inside.reduction needs a switch: inside.fabric must be crossbar");
    if (c.fabric != Fabric::torus && c.nics > devices_per_node && devices_per_node > 0 &&
        c.nics % devices_per_node != 0)
        problems.push_back("nic.count must divide the devices of a node, or be a multiple of them");
    if (c.fabric != Fabric::torus && c.nics <= devices_per_node && devices_per_node % c.nics != 0)
        problems.push_back("nic.count must divide the devices of a node, or be a multiple of them");
    return problems;
}

}  // namespace heddle::models::network
