#include "sim/distributed/network_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

constexpr std::array<const char*, 7> kNames{
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send", "push"};

double transfer(double bytes, double bandwidth) {
    return bandwidth > 0 ? bytes / bandwidth : 0;
}

/// Messages of a ring that follow one another.
double ring_steps(Exchange kind, double n) {
    switch (kind) {
        case Exchange::all_reduce:
            return 2 * (n - 1);
        case Exchange::send:
            return 1;
        case Exchange::push:
            return 2;
        default:
            return n - 1;
    }
}

}  // namespace

std::string name_of(Exchange kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

Exchange exchange_from_name(const std::string& name) {
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (name == kNames[i]) return static_cast<Exchange>(i);
    throw Error("there is no collective `" + name + "`", {}, "all_reduce, all_gather, reduce_scatter, ...");
}

double bytes_sent(Exchange kind, double bytes, double n) {
    switch (kind) {
        case Exchange::all_reduce:
            return 2 * (n - 1) / n * bytes;
        case Exchange::send:
        case Exchange::broadcast:
            return bytes;
        case Exchange::push:
            return 2 * bytes;
        default:
            return (n - 1) / n * bytes;
    }
}

double IdealNetwork::seconds(Exchange kind, double bytes, const DeviceGroup& group) const {
    const auto n = static_cast<double>(group.size());
    if (n < 2) return 0;
    // A central server receives from all others, one after the other through its one link, and answers so.
    const double sent = kind == Exchange::push ? 2 * (n - 1) * bytes : bytes_sent(kind, bytes, n);
    return ring_steps(kind, n) * link_.latency + transfer(sent, link_.bandwidth);
}

NodeNetwork::Shape NodeNetwork::find_shape(const DeviceGroup& group) const {
    std::map<std::uint32_t, double> in_node;
    for (const std::uint32_t device : group) ++in_node[device / config_.devices_per_node];
    Shape shape{static_cast<double>(in_node.size()), 0};
    for (const auto& [node, count] : in_node) shape.most_in_a_node = std::max(shape.most_in_a_node, count);
    return shape;
}

std::string NodeNetwork::shape_of(const DeviceGroup& group) const {
    const Shape shape = find_shape(group);
    return fmt::format("{} on {} nodes, at most {} on one", group.size(), shape.nodes, shape.most_in_a_node);
}

double NodeNetwork::seconds(Exchange kind, double bytes, const DeviceGroup& group) const {
    const auto n = static_cast<double>(group.size());
    if (n < 2) return 0;
    const Shape shape = find_shape(group);
    if (shape.nodes < 2) return config_.start + IdealNetwork(config_.inside).seconds(kind, bytes, group);
    const double adapter = config_.outside.bandwidth * config_.adapters_per_device;
    if (kind == Exchange::send || kind == Exchange::push) {
        const double sent = kind == Exchange::push ? 2 * (n - 1) * bytes : bytes;
        return config_.start + ring_steps(kind, n) * config_.outside.latency + transfer(sent, adapter);
    }
    if (kind == Exchange::all_to_all) {
        const double local = shape.most_in_a_node, remote = n - local;
        const double inside = transfer(bytes * (local - 1) / n, config_.inside.bandwidth);
        const double outside = transfer(bytes * remote / n, adapter);
        return config_.start + config_.outside.latency * (shape.nodes - 1) +
               config_.inside.latency * (local - 1) + std::max(inside, outside);
    }
    const double steps = ring_steps(kind, n), between = steps * shape.nodes / n;
    const double bandwidth =
        std::min(config_.inside.bandwidth > 0 && shape.most_in_a_node > 1 ? config_.inside.bandwidth
                                                                          : adapter * shape.most_in_a_node,
                 adapter * shape.most_in_a_node);
    return config_.start + between * config_.outside.latency + (steps - between) * config_.inside.latency +
           transfer(bytes_sent(kind, bytes, n), bandwidth);
}

}  // namespace heddle::sim
