// How long messages between devices take, asked by whoever simulates a step of many.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim {

enum class Exchange : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    shift,  ///< everybody to the next of the group, the last to the first, all at once
    send,   ///< from the first of the group to the second
    push,   ///< everybody's gradients to the servers of parameters, and the sum back: both ways of a step
};
std::string name_of(Exchange kind);
/// "all_reduce", as ops of a trace say; heddle::Error for anything else.
Exchange exchange_from_name(const std::string& name);

using DeviceList = std::vector<std::uint32_t>;  ///< device numbers, in order of rank

/// Who takes part in an exchange, and who does the same at the same time.
struct DeviceGroup {
    DeviceList devices;
    /// All groups of this kind that may meet on a link, this one among them; null: nobody else.
    std::shared_ptr<const std::vector<DeviceList>> together;
    std::uint64_t shape = 0;  ///< DeviceNetwork::shape_of(), once asked for; 0: not yet
};

class DeviceNetwork {
  public:
    virtual ~DeviceNetwork() = default;
    /// `bytes`: of the whole result (all-gather), of the whole operand of one device (all others).
    virtual double seconds(Exchange kind, double bytes, const DeviceGroup& group) const = 0;
    /// Not 0. Groups of equal shape take equal time for everything.
    virtual std::uint64_t shape_of(const DeviceGroup& group) const = 0;
    /// Messages of devices at different places share no link that could be short: number of the node, or of
    /// something larger.
    virtual std::uint32_t place_of(std::uint32_t device) const = 0;
};

/// Bytes that one of n devices sends: 2 (n - 1) / n of an all-reduce's, (n - 1) / n of a reduce-scatter's,
/// all-gather's and all-to-all's (Patarasuk and Yuan, 2009; Thakur et al., 2005).
double bytes_sent(Exchange kind, double bytes, double devices);

}  // namespace heddle::sim
