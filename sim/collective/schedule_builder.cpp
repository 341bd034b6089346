#include "sim/collective/schedule_builder.h"

#include <algorithm>

#include "models/network/transport.h"

namespace heddle::sim {

using namespace models::network;

ScheduleBuilder::ScheduleBuilder(const CollectiveConfig& config, const LanePlan& plan,
                                 const Topology& topology, const std::vector<std::uint32_t>& ranks)
    : config_(config), plan_(plan), topology_(topology), ranks_(ranks) {
    const ProtocolConfig& protocol = config.protocols[static_cast<std::size_t>(plan.protocol)];
    // A ring sends a chunk before it takes one: with room for one only, everybody would wait for everybody.
    schedule_.slots = std::max(config.slots, 2 * protocol.slices);
    schedule_.slices = protocol.slices;
    schedule_.slice_bytes = std::max<std::uint64_t>(1, protocol.slice_bytes * plan.width);
    schedule_.wire = protocol.wire;
    schedule_.send_rate = protocol.channel_rate * plan.width;
    schedule_.receive_rate = protocol.receive_rate * plan.width;
    schedule_.reduce_rate = protocol.reduce_rate * plan.width;
}

std::uint32_t ScheduleBuilder::worker(std::uint32_t rank, std::uint32_t role, std::uint32_t lane) {
    const auto [place, fresh] =
        workers_.insert({{rank, role, lane}, static_cast<std::uint32_t>(schedule_.workers.size())});
    if (fresh) {
        schedule_.workers.push_back({rank, {}});
        lanes_.push_back(lane);
    }
    return place->second;
}

double ScheduleBuilder::step_latency(bool crosses_network) const {
    const ProtocolConfig& protocol = config_.protocols[static_cast<std::size_t>(plan_.protocol)];
    return crosses_network ? protocol.network_step : protocol.step;
}

std::uint32_t ScheduleBuilder::connect(std::uint32_t from, std::uint32_t to) {
    return connect(from, to, ranks_[schedule_.workers[from].rank], ranks_[schedule_.workers[to].rank], -1);
}

std::uint32_t ScheduleBuilder::connect(std::uint32_t from, std::uint32_t to, std::uint32_t endpoint_from,
                                       std::uint32_t endpoint_to, double latency) {
    const auto [place, fresh] =
        connections_.insert({{from, to}, static_cast<std::uint32_t>(schedule_.connections.size())});
    if (!fresh) return place->second;
    Route route = topology_.route(endpoint_from, endpoint_to, lanes_[from]);
    const double total = (latency < 0 ? route.latency : latency) + step_latency(route.crosses_network);
    double message_bytes = 0;
    for (const LinkId link : route.links)
        message_bytes =
            std::max(message_bytes, topology_.links()[link].message * topology_.links()[link].bandwidth);
    schedule_.connections.push_back(
        {from, to, std::move(route.links), picoseconds(total), message_bytes * plan_.width});
    return place->second;
}

void ScheduleBuilder::then(std::uint32_t before, std::uint32_t after) {
    const auto [place, fresh] =
        connections_.insert({{before, after}, static_cast<std::uint32_t>(schedule_.connections.size())});
    if (fresh) schedule_.connections.push_back({before, after, {}, 0, 0});
    Operation send, receive;
    send.send[0] = place->second;
    receive.receive[0] = place->second;
    add(before, send);
    add(after, receive);
}

void ScheduleBuilder::add(std::uint32_t worker, Operation operation) {
    schedule_.workers[worker].operations.push_back(operation);
}

}  // namespace heddle::sim
