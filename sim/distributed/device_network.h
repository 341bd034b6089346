// The interface through which a step of many devices asks how long messages between them take.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim {

/// The patterns of communication within a group of devices.
enum class Exchange : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    shift,  ///< each to the next one of the group, and the last to the first, at the same time
    send,   ///< from the first of the group to the second
    push,   ///< the gradients of all to the parameter servers, and the sums back: both directions of a step
};

/// The name as ops of a trace write it: "all_reduce".
std::string name_of(Exchange kind);
/// Reads the name that ops of a trace write. Throws heddle::Error for any other text.
Exchange exchange_from_name(const std::string& name);

using DeviceList = std::vector<std::uint32_t>;  ///< device numbers, in order of rank

/// The devices that take part in an exchange, and the groups that do the same at the same time.
struct DeviceGroup {
    DeviceList devices;
    /// All concurrent groups of this kind that may share a link with this one, including itself; null: there
    /// are no others.
    std::shared_ptr<const std::vector<DeviceList>> together;
    std::uint64_t shape = 0;  ///< result of DeviceNetwork::shape_of(); 0: not computed yet
};

/// Times of messages between devices.
class DeviceNetwork {
  public:
    virtual ~DeviceNetwork() = default;
    /// Returns the seconds that an exchange takes. `bytes` is the size of the whole result for an all-gather,
    /// and of one device's whole operand for all others.
    virtual double seconds(Exchange kind, double bytes, const DeviceGroup& group) const = 0;
    /// Returns a number other than 0. Groups of equal shape take equal times for every exchange.
    virtual std::uint64_t shape_of(const DeviceGroup& group) const = 0;
    /// Returns the number of the node, or of a larger unit, in which a device lies. Messages within different
    /// places share no link that could be a bottleneck.
    virtual std::uint32_t place_of(std::uint32_t device) const = 0;
};

/// Returns how many bytes one of n devices sends: 2 (n - 1) / n of the size for an all-reduce, (n - 1) / n
/// for a reduce-scatter, all-gather or all-to-all (Patarasuk and Yuan, 2009; Thakur et al., 2005).
double bytes_sent(Exchange kind, double bytes, double devices);

}  // namespace heddle::sim
