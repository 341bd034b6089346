// The network under steps of many devices: closed forms where links are ideal, shares where groups meet, and
// shapes that tell everything.
#include "sim/distributed/cluster_network.h"

#include <catch2/catch.hpp>
#include <random>

#include "ideal_network.h"
#include "isa/common/error.h"
#include "sim/distributed/step_programs.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

/// 100 GB/s in a node, one card of 10 GB/s; no latency anywhere.
Cluster plain(std::uint32_t nodes, std::uint32_t devices, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"nodes=" + std::to_string(nodes), "devices_per_node=" + std::to_string(devices),
                             "nic.count=1", "nic.bandwidth=10 GB/s"});
    return load_cluster("ideal", more);
}

DeviceGroup of(std::vector<DeviceList> groups, std::size_t which) {
    DeviceGroup group;
    group.devices = groups[which];
    group.together = std::make_shared<const std::vector<DeviceList>>(std::move(groups));
    return group;
}

}  // namespace

TEST_CASE("Collectives of a step on ideal links take the closed forms' time") {
    const ClusterNetwork network(plain(1, 8));
    const IdealNetwork ideal(0, 100e9);
    for (const std::uint32_t n : {2u, 4u, 8u}) {
        DeviceGroup group;
        for (std::uint32_t d = 0; d < n; ++d) group.devices.push_back(d);
        for (const Exchange kind : {Exchange::all_reduce, Exchange::all_gather, Exchange::reduce_scatter,
                                    Exchange::all_to_all, Exchange::shift}) {
            INFO(name_of(kind) << " of " << n);
            CHECK(network.seconds(kind, 64e6, group) ==
                  Approx(ideal.seconds(kind, 64e6, group)).epsilon(1e-6));
        }
    }
    CHECK(network.seconds(Exchange::send, 64e6, {{3, 5}, nullptr, 0}) == Approx(64e6 / 100e9).epsilon(1e-6));
}

TEST_CASE("Groups that go through one card at the same time have a part of it each") {
    const ClusterNetwork network(plain(2, 4));
    const std::vector<DeviceList> data{{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    const double alone = network.seconds(Exchange::all_reduce, 80e6, {data[0], nullptr, 0});
    CHECK(alone == Approx(80e6 / 10e9).epsilon(1e-6));
    CHECK(network.seconds(Exchange::all_reduce, 80e6, of(data, 0)) == Approx(4 * alone).epsilon(1e-6));
    CHECK(network.seconds(Exchange::send, 80e6, of({data[1], data[3]}, 1)) ==
          Approx(2 * alone).epsilon(1e-6));
    // A card for each device: nobody waits for anybody.
    const ClusterNetwork cards(
        load_cluster("ideal", {"nodes=2", "devices_per_node=4", "nic.count=4", "nic.bandwidth=10 GB/s"}));
    CHECK(cards.seconds(Exchange::all_reduce, 80e6, of(data, 0)) == Approx(alone).epsilon(1e-6));
}

TEST_CASE("Neighbours are found by kind and place") {
    parallel::ParallelPlan plan;
    plan.data = 4;
    plan.tensor = 2;
    plan.pipeline = 2;
    plan.micro_batches = 2;
    TimedStep step;
    step.parts.resize(2);
    step.chunks = {{0, 1}, {1, 2}};
    ManyDevices machine = machine_of(step, plan, {});
    find_neighbours(machine, ClusterNetwork(plain(4, 4)));
    for (const ManyDevices::Group& group : machine.groups) {
        const std::size_t together = group.devices.together ? group.devices.together->size() : 1;
        switch (group.members.front().slot) {
            case Slot::tensor:  // two in a node
                CHECK(together == 2);
                break;
            case Slot::data:  // both tensor ranks of a stage, which has two nodes
                CHECK(together == 2);
                break;
            default:  // four devices of a node speak to those of another
                CHECK(together == 4);
        }
    }
}

TEST_CASE("Parameter servers: everybody's gradients through the servers' cards, and back") {
    for (const std::uint32_t servers : {1u, 2u}) {
        const ClusterNetwork network(plain(4, 1, {"servers=" + std::to_string(servers)}));
        const double bytes = 30e6;
        const double expected = 2 * 4 * bytes / servers / 10e9;
        CHECK(network.seconds(Exchange::push, bytes, {{0, 1, 2, 3}, nullptr, 0}) ==
              Approx(expected).epsilon(1e-6));
    }
    // One device alone is as quick as its own card.
    const ClusterNetwork network(plain(4, 1, {"servers=4"}));
    CHECK(network.seconds(Exchange::push, 30e6, {{0}, nullptr, 0}) == Approx(2 * 30e6 / 10e9).epsilon(1e-6));
    CHECK_THROWS_WITH(ClusterNetwork(plain(4, 1)).seconds(Exchange::push, 1, {{0}, nullptr, 0}),
                      Catch::Contains("no parameter servers"));
}

TEST_CASE("Presets: what their narrowest link lets through") {
    const auto everybody = [](const Cluster& cluster) {
        DeviceGroup group;
        for (std::uint32_t d = 0; d < cluster.device_count(); ++d) group.devices.push_back(d);
        return group;
    };
    // 64 gradients of GPT-2 into two servers with 25 Gb/s each, 94 % of it payload, and as many weights back.
    const Cluster rack = load_cluster("parameter-server-rack");
    const double pushed = 2 * 64 * 248e6 / 2 / (0.94 * 3.125e9);
    const double push = ClusterNetwork(rack).seconds(Exchange::push, 248e6, everybody(rack));
    CHECK(push >= pushed);
    CHECK(push <= 1.03 * pushed);  // messages cost their cards something too
    // 4 x 4 x 4 chips with six links of 45 GB/s of payload.
    const Cluster slice = load_cluster("tpu-v4-slice");
    const double bytes = 64 << 20, around = 2 * 63.0 / 64 * bytes / (6 * 45e9);
    const double sum = ClusterNetwork(slice).seconds(Exchange::all_reduce, bytes, everybody(slice));
    CHECK(sum >= around);
    CHECK(sum <= 1.05 * around);
    // Between nodes with a card for each GPU: 2 (n - 1) / n of an eighth of the bytes through every card.
    for (const auto& [name, rate] :
         {std::pair{"dgx-a100", 0.97 * 25e9}, std::pair{"dgx-h100", 0.97 * 50e9}}) {
        const Cluster dgx = load_cluster(name, {"nodes=4"});
        const double large = 4e9, cards = 2 * 3.0 / 4 * large / 8 / rate;
        const double time = ClusterNetwork(dgx).seconds(Exchange::all_reduce, large, everybody(dgx));
        INFO(name << " " << time << " " << cards);
        CHECK(time >= cards);
        CHECK(time <= 1.5 * cards);
    }
}

TEST_CASE("Groups of one shape take the same time, wherever they are") {
    const Cluster cluster = load_cluster("dgx-a100", {"nodes=24", "fat_tree.leaf_nodes=8"});
    const ClusterNetwork network(cluster, false);
    std::mt19937 random(7);
    std::map<std::uint64_t, double> known;
    std::size_t again = 0;
    for (int i = 0; i < 60; ++i) {
        // Of each of some nodes the same devices, as the groups of a step are.
        const std::uint32_t count = 1 + random() % 4, step = 1 + random() % 2, first = random() % 2;
        const std::uint32_t apart = 1 + random() % 5, node = random() % (24 - 4 * apart);
        DeviceGroup group;
        for (std::uint32_t n = 0; n < count; ++n)
            for (std::uint32_t d = first; d < 8; d += 2 * step)
                group.devices.push_back((node + n * apart) * 8 + d);
        const double seconds = network.seconds(Exchange::all_reduce, 8e6, group);
        const auto [place, fresh] = known.try_emplace(network.shape_of(group), seconds);
        if (!fresh) ++again;
        CHECK(place->second == seconds);
    }
    CHECK(again > 20);
}
