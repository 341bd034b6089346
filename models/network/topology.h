// Links, and which of them a message takes. What endpoints there are follows sim/cluster: devices node by
// node, then servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/network_config.h"

namespace heddle::models::network {

/// Position in Topology::links().
using LinkId = std::uint32_t;
/// Devices come first, node by node, then servers.
using EndpointId = std::uint32_t;

/// Kinds of links, all of one direction.
enum class LinkKind : std::uint8_t {
    device_out,
    device_in,  ///< a device's port to the switch of its node
    pcie_out,
    pcie_in,  ///< a device's PCIe link
    pcie_up,
    pcie_down,  ///< a PCIe switch's way to the host
    nic_out,
    nic_in,  ///< a network card
    leaf_up,
    leaf_down,  ///< a leaf switch's way to the spines
    spine_up,
    spine_down,  ///< a pod's way to the core
    local,
    global,  ///< of a dragonfly: between routers of a group, between groups
    torus,   ///< between neighbours
};
inline constexpr std::size_t kLinkKinds = 15;

/// One direction of a physical link.
struct Link {
    LinkKind kind = LinkKind::device_out;  ///< where in the cluster it lies
    double bandwidth = 0;                  ///< bytes of data per second
    double latency = 0;                    ///< seconds
    double message = 0;                    ///< seconds for which a message occupies it besides its bytes
};

/// The way of a message.
struct Route {
    std::vector<LinkId> links;     ///< in the order in which they are passed
    double latency = 0;            ///< of all of them
    bool crosses_network = false;  ///< whether it leaves the node
};

/// All links of a cluster, and the route between any two endpoints; it does not change after construction.
class Topology {
  public:
    Topology(const NetworkConfig& config, std::uint32_t nodes, std::uint32_t devices_per_node,
             std::uint32_t servers = 0);

    /// The route from one endpoint to another. `lane` spreads messages over network cards of a device and,
    /// with hashed routing, over equal ways.
    Route route(EndpointId from, EndpointId to, std::uint32_t lane = 0) const;

    /// The node of an endpoint. A server counts as a node of its own, behind the others.
    std::uint32_t node_of(EndpointId endpoint) const {
        return endpoint < devices_ ? endpoint / devices_per_node_ : nodes_ + (endpoint - devices_);
    }
    /// Sizes of the cluster, as given to the constructor.
    std::uint32_t device_count() const { return devices_; }
    std::uint32_t endpoint_count() const { return devices_ + servers_; }
    std::uint32_t devices_per_node() const { return devices_per_node_; }
    const NetworkConfig& config() const { return config_; }
    const std::vector<Link>& links() const { return links_; }
    /// A text such as "device 3 to its switch".
    std::string name_of(LinkId link) const;
    /// The links of a device's port to the switch of its node. There are such links only with
    /// Fabric::crossbar.
    LinkId device_out(EndpointId device) const { return first_[0] + device; }
    LinkId device_in(EndpointId device) const { return first_[1] + device; }

  private:
    void add(LinkKind kind, std::uint64_t count, double bandwidth, double latency, double message = 0);
    void add_fat_tree();
    void add_dragonfly();
    LinkId at(LinkKind kind, std::uint64_t index) const {
        return first_[static_cast<std::size_t>(kind)] + static_cast<LinkId>(index);
    }
    void take(Route& route, LinkId link) const {
        route.links.push_back(link);
        route.latency += links_[link].latency;
    }
    void inside_node(Route& route, EndpointId from, EndpointId to) const;
    void to_card(Route& route, EndpointId from, std::uint32_t card) const;
    void from_card(Route& route, EndpointId to, std::uint32_t card) const;
    void between_cards(Route& route, std::uint32_t from, std::uint32_t to, std::uint64_t hash) const;
    void through_fat_tree(Route& route, std::uint32_t from, std::uint32_t to, std::uint64_t hash) const;
    void through_dragonfly(Route& route, std::uint32_t from, std::uint32_t to) const;
    void through_torus(Route& route, EndpointId from, EndpointId to) const;
    std::uint32_t card_of(EndpointId endpoint, std::uint32_t lane) const;
    std::uint32_t switch_of(EndpointId device) const;
    std::uint32_t switch_of_card(std::uint32_t card) const;

    NetworkConfig config_;
    std::uint32_t nodes_, devices_per_node_, devices_, servers_;
    std::uint32_t switches_per_node_ = 1;
    std::uint32_t leaf_ways_ = 1, spine_ways_ = 1;  ///< equal ways up
    std::uint32_t groups_ = 1;                      ///< of a dragonfly
    std::vector<Link> links_;
    std::vector<LinkId> first_;  ///< by kind
};

}  // namespace heddle::models::network
