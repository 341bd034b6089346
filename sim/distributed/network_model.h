// How long messages between devices take, asked by whoever simulates a step of many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

enum class Exchange : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    send,  ///< from the first of the group to the second
    push,  ///< everybody's gradients to the servers of parameters, and the sum back: both ways of a step
};
std::string name_of(Exchange kind);
/// "all_reduce", as ops of a trace say; heddle::Error for anything else.
Exchange exchange_from_name(const std::string& name);

using DeviceGroup = std::vector<std::uint32_t>;  ///< device numbers, in order of rank

class DeviceNetwork {
  public:
    virtual ~DeviceNetwork() = default;
    /// `bytes`: of the whole result (all-gather), of the whole operand of one device (all others).
    virtual double seconds(Exchange kind, double bytes, const DeviceGroup& group) const = 0;
    /// Groups of equal shape take equal time for everything: "4 of each of 2 nodes".
    virtual std::string shape_of(const DeviceGroup& group) const = 0;
};

/// Bytes that one of n devices sends: 2 (n - 1) / n of an all-reduce's, (n - 1) / n of a reduce-scatter's,
/// all-gather's and all-to-all's (Patarasuk and Yuan, 2009; Thakur et al., 2005).
double bytes_sent(Exchange kind, double bytes, double devices);

/// One way from any device to any other: every message takes `latency` and its bytes over `bandwidth`, and
/// messages do not disturb one another. Closed forms of the ring algorithms; for tests, and for thinking.
struct IdealLink {
    double latency = 0;    ///< seconds
    double bandwidth = 0;  ///< bytes per second, each way; 0: messages take their latency alone
};

class IdealNetwork : public DeviceNetwork {
  public:
    explicit IdealNetwork(IdealLink link) : link_(link) {}
    double seconds(Exchange kind, double bytes, const DeviceGroup& group) const override;
    std::string shape_of(const DeviceGroup& group) const override { return std::to_string(group.size()); }

  private:
    IdealLink link_;
};

/// Nodes of equal devices: one kind of link within a node, a network adapter for each device between nodes.
struct NodeNetworkConfig {
    std::uint32_t devices_per_node = 8;
    IdealLink inside;   ///< what a device reaches towards the others of its node
    IdealLink outside;  ///< what one adapter reaches
    double adapters_per_device = 1;
    double start = 0;  ///< seconds from the call of a collective to its first message
};

/// Rings through the nodes, as many side by side as the group has devices in a node (NCCL's rings over
/// rails): a ring's slowest link is the adapter's share or the link inside.
class NodeNetwork : public DeviceNetwork {
  public:
    explicit NodeNetwork(const NodeNetworkConfig& config) : config_(config) {}
    double seconds(Exchange kind, double bytes, const DeviceGroup& group) const override;
    std::string shape_of(const DeviceGroup& group) const override;

  private:
    struct Shape {
        double nodes = 1, most_in_a_node = 1;
    };
    Shape find_shape(const DeviceGroup& group) const;
    NodeNetworkConfig config_;
};

}  // namespace heddle::sim
