// What connects the devices of a cluster: links inside a node, network cards, and the network between nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/common/parameter.h"

namespace heddle::models::network {

/// The kind of links between the devices of one node.
enum class Fabric : std::uint8_t {
    crossbar,  ///< every device has a port to a non-blocking switch (NVLink with NVSwitch)
    pcie,      ///< groups of devices share a PCIe switch, whose way up they share
    torus,     ///< no nodes: all devices of the cluster form one 2-D or 3-D torus (TPU ICI)
};

/// The topology of the network between the nodes.
enum class Between : std::uint8_t { none, fat_tree, dragonfly };

/// How a message chooses among several equal routes.
enum class Routing : std::uint8_t {
    adaptive,  ///< spread over all of them: they act as one wide link
    hashed,    ///< one of them, by source and destination (ECMP): two messages may meet on it
};

/// Bandwidths are raw ones of one direction, in bytes per second; data get the part `efficiency` of them.
/// Latencies are seconds from the first bit in to the first bit out.
struct NetworkConfig {
    Fabric fabric = Fabric::crossbar;  ///< what joins the devices of a node
    double device_bandwidth = 100e9, device_efficiency = 1,
           device_latency = 0;                  ///< bytes per second, part of it
                                                ///< that data get, seconds
    bool switch_reduction = false;              ///< the switch of a node can add what devices send
    double switch_reduction_bandwidth = 100e9;  ///< bytes per second of a device's data

    double pcie_bandwidth = 32e9, pcie_efficiency = 1, pcie_latency = 0;  ///< of a device's link: bytes per
                                                                          ///< second, part of it that data
                                                                          ///< get, seconds
    std::uint32_t pcie_devices = 2;                                       ///< that share a switch
    double pcie_uplink = 32e9;                                            ///< of a switch to the host, shared

    std::uint32_t torus_x = 1, torus_y = 1, torus_z = 1;  ///< devices along each dimension
    bool torus_wrap = true;                               ///< the ends of each dimension are joined
    double torus_bandwidth = 45e9, torus_efficiency = 1,
           torus_latency = 0;  ///< of a link between neighbours:
                               ///< bytes per second, part of it
                               ///< that data get, seconds

    std::uint32_t nics = 1;  ///< of a node
    double nic_bandwidth = 25e9, nic_efficiency = 1, nic_latency = 0,
           nic_message = 0;  ///< of one card: bytes per second,
                             ///< part of it that data get,
                             ///< seconds, seconds per message

    Between between = Between::none;      ///< what joins the nodes
    Routing routing = Routing::adaptive;  ///< how equal ways are chosen
    bool rails = false;                   ///< NIC i of all nodes of a group share a leaf switch of their own
    double hop_latency = 0;               ///< of a switch between nodes
    std::uint32_t leaf_nodes = 16;        ///< nodes below a leaf switch
    double oversubscription = 1;          ///< of leaf switches: capacity down divided by capacity up
    std::uint32_t pod_leaves = 16;        ///< groups of leaf_nodes nodes below one layer of spines
    double core_oversubscription = 1;     ///< of spines: capacity down divided by capacity up

    std::uint32_t router_nodes = 4, group_routers = 8;  ///< dragonfly: nodes of a router, routers of a group
    double local_bandwidth = 25e9;                      ///< between two routers of a group
    double global_bandwidth = 100e9;                    ///< between two groups
};

/// Lists every field with its path, unit, range and meaning.
void describe(NetworkConfig& config, ParameterList& list);

/// The contradictions in a configuration, as sentences that begin with the parameter's path; empty when there
/// are none.
std::vector<std::string> check(const NetworkConfig& config, std::uint32_t nodes,
                               std::uint32_t devices_per_node);

}  // namespace heddle::models::network
