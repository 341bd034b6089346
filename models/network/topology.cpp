#include "models/network/topology.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace heddle::models::network {
namespace {

constexpr std::uint32_t kDirections = 6;  // +x -x +y -y +z -z

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

/// Spreads neighbouring numbers (SplitMix64's finaliser).
std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

}  // namespace

Topology::Topology(const NetworkConfig& config, std::uint32_t nodes, std::uint32_t devices_per_node,
                   std::uint32_t servers)
    : config_(config),
      nodes_(nodes),
      devices_per_node_(devices_per_node),
      devices_(nodes * devices_per_node),
      servers_(servers),
      first_(kLinkKinds, 0) {
    const NetworkConfig& c = config_;
    const double device = c.device_bandwidth * c.device_efficiency,
                 pcie = c.pcie_bandwidth * c.pcie_efficiency;
    const bool crossbar = c.fabric == Fabric::crossbar, torus = c.fabric == Fabric::torus;
    switches_per_node_ = divide_up(devices_per_node, c.pcie_devices);
    add(LinkKind::device_out, crossbar ? devices_ : 0, device, c.device_latency);
    add(LinkKind::device_in, crossbar ? devices_ : 0, device, 0);
    const bool outside = c.between != Between::none;
    const bool has_pcie = !torus && (outside || c.fabric == Fabric::pcie);
    const std::uint64_t switches = has_pcie ? std::uint64_t{nodes} * switches_per_node_ : 0;
    add(LinkKind::pcie_out, has_pcie ? devices_ : 0, pcie, c.pcie_latency);
    add(LinkKind::pcie_in, has_pcie ? devices_ : 0, pcie, c.pcie_latency);
    add(LinkKind::pcie_up, switches, c.pcie_uplink * c.pcie_efficiency, c.pcie_latency);
    add(LinkKind::pcie_down, switches, c.pcie_uplink * c.pcie_efficiency, c.pcie_latency);
    const std::uint64_t cards = outside ? std::uint64_t{nodes + servers} * c.nics : 0;
    const double nic = c.nic_bandwidth * c.nic_efficiency;
    add(LinkKind::nic_out, cards, nic, c.nic_latency + c.hop_latency, c.nic_message);
    add(LinkKind::nic_in, cards, nic, c.nic_latency);
    if (c.between == Between::fat_tree) add_fat_tree();
    if (c.between == Between::dragonfly) add_dragonfly();
    add(LinkKind::torus, torus ? std::uint64_t{devices_} * kDirections : 0,
        c.torus_bandwidth * c.torus_efficiency, c.torus_latency);
}

void Topology::add(LinkKind kind, std::uint64_t count, double bandwidth, double latency, double message) {
    first_[static_cast<std::size_t>(kind)] = static_cast<LinkId>(links_.size());
    links_.insert(links_.end(), count, Link{kind, bandwidth, latency, message});
}

void Topology::add_fat_tree() {
    const NetworkConfig& c = config_;
    const double nic = c.nic_bandwidth * c.nic_efficiency;
    const std::uint32_t hosts = nodes_ + servers_;
    const std::uint32_t groups = divide_up(hosts, c.leaf_nodes);
    const std::uint32_t leaves = groups * (c.rails ? c.nics : 1);
    const double down = static_cast<double>(std::min(c.leaf_nodes, hosts)) * (c.rails ? 1 : c.nics) * nic;
    const double up = down / c.oversubscription;
    const std::uint32_t pods = divide_up(groups, c.pod_leaves);
    const double pod_up =
        up * std::min(c.pod_leaves, groups) * (c.rails ? c.nics : 1) / c.core_oversubscription;
    // With adaptive routing all ways up act as one wide link.
    if (c.routing == Routing::hashed) {
        leaf_ways_ = std::max(1u, static_cast<std::uint32_t>(std::lround(up / nic)));
        spine_ways_ = std::max(1u, static_cast<std::uint32_t>(std::lround(pod_up / nic)));
    }
    add(LinkKind::leaf_up, groups > 1 ? std::uint64_t{leaves} * leaf_ways_ : 0, up / leaf_ways_,
        c.hop_latency);
    add(LinkKind::leaf_down, groups > 1 ? std::uint64_t{leaves} * leaf_ways_ : 0, up / leaf_ways_,
        c.hop_latency);
    add(LinkKind::spine_up, pods > 1 ? std::uint64_t{pods} * spine_ways_ : 0, pod_up / spine_ways_,
        c.hop_latency);
    add(LinkKind::spine_down, pods > 1 ? std::uint64_t{pods} * spine_ways_ : 0, pod_up / spine_ways_,
        c.hop_latency);
}

void Topology::add_dragonfly() {
    const NetworkConfig& c = config_;
    const std::uint32_t routers = divide_up(nodes_ + servers_, c.router_nodes);
    groups_ = divide_up(routers, c.group_routers);
    add(LinkKind::local, std::uint64_t{groups_} * c.group_routers * c.group_routers,
        c.local_bandwidth * c.nic_efficiency, c.hop_latency);
    add(LinkKind::global, std::uint64_t{groups_} * groups_, c.global_bandwidth * c.nic_efficiency,
        c.hop_latency);
}

std::uint32_t Topology::switch_of(EndpointId device) const {
    return device / devices_per_node_ * switches_per_node_ +
           device % devices_per_node_ / config_.pcie_devices;
}

std::uint32_t Topology::switch_of_card(std::uint32_t card) const {
    const std::uint32_t number = card % config_.nics;
    const std::uint32_t device = number * devices_per_node_ / config_.nics;  // its first
    return card / config_.nics * switches_per_node_ + device / config_.pcie_devices;
}

std::uint32_t Topology::card_of(EndpointId endpoint, std::uint32_t lane) const {
    const std::uint32_t first = node_of(endpoint) * config_.nics;
    if (endpoint >= devices_) return first + lane % config_.nics;
    const std::uint32_t number = endpoint % devices_per_node_;
    if (config_.nics <= devices_per_node_) return first + number * config_.nics / devices_per_node_;
    const std::uint32_t each = config_.nics / devices_per_node_;
    return first + number * each + lane % each;
}

void Topology::inside_node(Route& route, EndpointId from, EndpointId to) const {
    if (config_.fabric == Fabric::crossbar) {
        take(route, at(LinkKind::device_out, from));
        take(route, at(LinkKind::device_in, to));
        return;
    }
    take(route, at(LinkKind::pcie_out, from));
    if (switch_of(from) != switch_of(to)) {
        take(route, at(LinkKind::pcie_up, switch_of(from)));
        take(route, at(LinkKind::pcie_down, switch_of(to)));
    }
    take(route, at(LinkKind::pcie_in, to));
}

void Topology::to_card(Route& route, EndpointId from, std::uint32_t card) const {
    if (from < devices_) {
        take(route, at(LinkKind::pcie_out, from));
        if (switch_of(from) != switch_of_card(card)) {
            take(route, at(LinkKind::pcie_up, switch_of(from)));
            take(route, at(LinkKind::pcie_down, switch_of_card(card)));
        }
    }
    take(route, at(LinkKind::nic_out, card));
}

void Topology::from_card(Route& route, EndpointId to, std::uint32_t card) const {
    take(route, at(LinkKind::nic_in, card));
    if (to >= devices_) return;
    if (switch_of(to) != switch_of_card(card)) {
        take(route, at(LinkKind::pcie_up, switch_of_card(card)));
        take(route, at(LinkKind::pcie_down, switch_of(to)));
    }
    take(route, at(LinkKind::pcie_in, to));
}

void Topology::through_fat_tree(Route& route, std::uint32_t from, std::uint32_t to,
                                std::uint64_t hash) const {
    const std::uint32_t nics = config_.nics;
    const auto group = [&](std::uint32_t card) { return card / nics / config_.leaf_nodes; };
    const auto leaf = [&](std::uint32_t card) {
        return config_.rails ? group(card) * nics + card % nics : group(card);
    };
    if (leaf(from) == leaf(to)) return;
    // Rails of one group have no spines when the group is alone: their switches then act as one.
    if (first_[static_cast<std::size_t>(LinkKind::leaf_up)] ==
        first_[static_cast<std::size_t>(LinkKind::leaf_down)])
        return;
    take(route, at(LinkKind::leaf_up, std::uint64_t{leaf(from)} * leaf_ways_ + hash % leaf_ways_));
    const std::uint32_t pod_from = group(from) / config_.pod_leaves, pod_to = group(to) / config_.pod_leaves;
    if (pod_from != pod_to) {
        take(route, at(LinkKind::spine_up, std::uint64_t{pod_from} * spine_ways_ + hash % spine_ways_));
        take(route, at(LinkKind::spine_down, std::uint64_t{pod_to} * spine_ways_ + hash % spine_ways_));
    }
    take(route, at(LinkKind::leaf_down, std::uint64_t{leaf(to)} * leaf_ways_ + hash % leaf_ways_));
}

void Topology::through_dragonfly(Route& route, std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t size = config_.group_routers;
    const auto router = [&](std::uint32_t card) { return card / config_.nics / config_.router_nodes; };
    const auto local = [&](std::uint32_t group, std::uint32_t a, std::uint32_t b) {
        if (a != b) take(route, at(LinkKind::local, (std::uint64_t{group} * size + a) * size + b));
    };
    const std::uint32_t group_from = router(from) / size, group_to = router(to) / size;
    const std::uint32_t a = router(from) % size, b = router(to) % size;
    if (group_from == group_to) {
        local(group_from, a, b);
        return;
    }
    // The router that has the link to group g is number g modulo the routers of a group.
    const std::uint32_t leave = group_to % size, enter = group_from % size;
    local(group_from, a, leave);
    take(route, at(LinkKind::global, std::uint64_t{group_from} * groups_ + group_to));
    local(group_to, enter, b);
}

void Topology::between_cards(Route& route, std::uint32_t from, std::uint32_t to, std::uint64_t hash) const {
    route.crosses_network = true;
    if (config_.between == Between::fat_tree) through_fat_tree(route, from, to, hash);
    if (config_.between == Between::dragonfly) through_dragonfly(route, from, to);
}

void Topology::through_torus(Route& route, EndpointId from, EndpointId to) const {
    const std::array<std::uint32_t, 3> size{config_.torus_x, config_.torus_y, config_.torus_z};
    const std::array<std::uint32_t, 3> stride{1, size[0], size[0] * size[1]};
    EndpointId here = from;
    for (std::uint32_t d = 0; d < 3; ++d) {
        const std::uint32_t a = here / stride[d] % size[d], b = to / stride[d] % size[d];
        const std::uint32_t up = (b + size[d] - a) % size[d], down = (a + size[d] - b) % size[d];
        // Half-way round, odd places go one way and even ones the other.
        const bool forward = config_.torus_wrap ? (up < down || (up == down && a % 2 == 0)) : b > a;
        for (std::uint32_t place = a; place != b;) {
            take(route, at(LinkKind::torus, std::uint64_t{here} * kDirections + 2 * d + (forward ? 0 : 1)));
            const std::uint32_t next = (place + (forward ? 1 : size[d] - 1)) % size[d];
            here = here - place * stride[d] + next * stride[d];
            place = next;
        }
    }
}

Route Topology::route(EndpointId from, EndpointId to, std::uint32_t lane) const {
    Route route;
    if (from == to) return route;
    if (config_.fabric == Fabric::torus && from < devices_ && to < devices_) {
        through_torus(route, from, to);
        return route;
    }
    if (node_of(from) == node_of(to) && from < devices_ && to < devices_) {
        inside_node(route, from, to);
        return route;
    }
    std::uint32_t card_from = card_of(from, lane);
    const std::uint32_t card_to = card_of(to, lane);
    // On rails a message goes to the device beside the right card first, over the faster links inside (NCCL:
    // PXN).
    if (config_.rails && config_.fabric == Fabric::crossbar && from < devices_ &&
        card_from % config_.nics != card_to % config_.nics) {
        const EndpointId beside = from / devices_per_node_ * devices_per_node_ +
                                  card_to % config_.nics * devices_per_node_ / config_.nics;
        if (beside != from) inside_node(route, from, beside);
        from = beside;
        card_from = card_of(beside, lane);
    }
    to_card(route, from, card_from);
    between_cards(route, card_from, card_to,
                  mixed((std::uint64_t{from} << 40) ^ (std::uint64_t{to} << 12) ^ lane));
    from_card(route, to, card_to);
    return route;
}

std::string Topology::name_of(LinkId link) const {
    const LinkKind kind = links_[link].kind;
    const std::uint32_t index = link - first_[static_cast<std::size_t>(kind)];
    std::string number = std::to_string(index);
    switch (kind) {
        case LinkKind::device_out:
            return "device " + number + " to its switch";
        case LinkKind::device_in:
            return "switch to device " + number;
        case LinkKind::pcie_out:
            return "device " + number + " to PCIe";
        case LinkKind::pcie_in:
            return "PCIe to device " + number;
        case LinkKind::pcie_up:
            return "PCIe switch " + number + " to host";
        case LinkKind::pcie_down:
            return "host to PCIe switch " + number;
        case LinkKind::nic_out:
        case LinkKind::nic_in:
            return "network card " + std::to_string(index % config_.nics) + " of node " +
                   std::to_string(index / config_.nics) + (kind == LinkKind::nic_out ? ", out" : ", in");
        case LinkKind::leaf_up:
            return "leaf switch " + std::to_string(index / leaf_ways_) + " up";
        case LinkKind::leaf_down:
            return "leaf switch " + std::to_string(index / leaf_ways_) + " down";
        case LinkKind::spine_up:
            return "pod " + std::to_string(index / spine_ways_) + " to the core";
        case LinkKind::spine_down:
            return "core to pod " + std::to_string(index / spine_ways_);
        case LinkKind::local:
            return "router " + std::to_string(index / config_.group_routers) + " to router " +
                   std::to_string(index / config_.group_routers / config_.group_routers *
                                      config_.group_routers +
                                  index % config_.group_routers);
        case LinkKind::global:
            return "group " + std::to_string(index / groups_) + " to group " +
                   std::to_string(index % groups_);
        case LinkKind::torus: {
            constexpr std::array<const char*, kDirections> kNames{"+x", "-x", "+y", "-y", "+z", "-z"};
            return "device " + std::to_string(index / kDirections) + " " + kNames[index % kDirections];
        }
    }
    return number;
}

}  // namespace heddle::models::network
