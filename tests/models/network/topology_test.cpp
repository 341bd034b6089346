// Routes: how many links of which kind lie between two devices, and that they join.
#include "models/network/topology.h"

#include <catch2/catch.hpp>

namespace {

using namespace heddle::models::network;

std::vector<LinkKind> kinds(const Topology& topology, EndpointId from, EndpointId to) {
    std::vector<LinkKind> result;
    for (const LinkId link : topology.route(from, to).links) result.push_back(topology.links()[link].kind);
    return result;
}

TEST_CASE(
    "crossbar nodes on rails: NVLink inside, the card of the rail outside, spines between groups only") {
    using K = LinkKind;
    NetworkConfig c;
    c.between = Between::fat_tree;
    c.rails = true;
    c.nics = 8;
    c.leaf_nodes = 4;
    const Topology topology(c, 16, 8);
    CHECK(kinds(topology, 0, 5) == std::vector<K>{K::device_out, K::device_in});
    CHECK(kinds(topology, 0, 8) == std::vector<K>{K::pcie_out, K::nic_out, K::nic_in, K::pcie_in});
    // Another rail: over NVLink to the device beside its card first.
    CHECK(kinds(topology, 0, 9) ==
          std::vector<K>{K::device_out, K::device_in, K::pcie_out, K::nic_out, K::nic_in, K::pcie_in});
    CHECK(kinds(topology, 0, 8 * 8) ==
          std::vector<K>{K::pcie_out, K::nic_out, K::leaf_up, K::leaf_down, K::nic_in, K::pcie_in});
    CHECK(topology.route(3, 3).links.empty());
}

TEST_CASE("an oversubscribed leaf has less bandwidth up than down") {
    NetworkConfig c;
    c.between = Between::fat_tree;
    c.nics = 2;
    c.nic_bandwidth = 10e9;
    c.leaf_nodes = 8;
    c.oversubscription = 4;
    const Topology topology(c, 32, 2);
    for (const LinkId link : topology.route(0, 63).links)
        if (topology.links()[link].kind == LinkKind::leaf_up)
            CHECK(topology.links()[link].bandwidth == 8 * 2 * 10e9 / 4);
    CHECK(kinds(topology, 0, 63).size() == 6);
}

TEST_CASE("PCIe: devices of a switch reach one another below it, others by the host") {
    using K = LinkKind;
    NetworkConfig c;
    c.fabric = Fabric::pcie;
    c.pcie_devices = 2;
    c.nics = 1;
    c.between = Between::fat_tree;
    const Topology topology(c, 2, 4, 1);
    CHECK(kinds(topology, 0, 1) == std::vector<K>{K::pcie_out, K::pcie_in});
    CHECK(kinds(topology, 0, 3) == std::vector<K>{K::pcie_out, K::pcie_up, K::pcie_down, K::pcie_in});
    // The card hangs below the first switch. A parameter server has cards only.
    CHECK(kinds(topology, 3, 8) ==
          std::vector<K>{K::pcie_out, K::pcie_up, K::pcie_down, K::nic_out, K::nic_in});
}

TEST_CASE("torus: the shorter way round, |dx| + |dy| + |dz| hops") {
    NetworkConfig c;
    c.fabric = Fabric::torus;
    c.torus_x = 4;
    c.torus_y = 5;
    c.torus_z = 3;
    const Topology wrapped(c, 60, 1);
    c.torus_wrap = false;
    const Topology open(c, 60, 1);
    for (EndpointId a = 0; a < 60; ++a) {
        for (EndpointId b = 0; b < 60; ++b) {
            const auto distance = [&](bool wrap) {
                std::size_t sum = 0;
                const std::uint32_t size[3] = {4, 5, 3}, stride[3] = {1, 4, 20};
                for (int d = 0; d < 3; ++d) {
                    const std::uint32_t p = a / stride[d] % size[d], q = b / stride[d] % size[d],
                                        way = p > q ? p - q : q - p;
                    sum += wrap ? std::min(way, size[d] - way) : way;
                }
                return sum;
            };
            REQUIRE(wrapped.route(a, b).links.size() == distance(true));
            REQUIRE(open.route(a, b).links.size() == distance(false));
        }
    }
}

TEST_CASE("dragonfly: at most local, global, local") {
    using K = LinkKind;
    NetworkConfig c;
    c.between = Between::dragonfly;
    c.router_nodes = 2;
    c.group_routers = 4;
    const Topology topology(c, 32, 1);  // 4 groups of 4 routers of 2 nodes
    CHECK(kinds(topology, 0, 1) == std::vector<K>{K::pcie_out, K::nic_out, K::nic_in, K::pcie_in});
    CHECK(kinds(topology, 0, 2) == std::vector<K>{K::pcie_out, K::nic_out, K::local, K::nic_in, K::pcie_in});
    for (EndpointId b = 8; b < 32; ++b) {
        int global = 0, local = 0;
        for (const K kind : kinds(topology, 0, b)) {
            global += kind == K::global;
            local += kind == K::local;
        }
        CHECK(global == 1);
        CHECK(local <= 2);
    }
}

}  // namespace
