// When everything on many devices runs: every device works through its program; collectives make devices wait
// for one another. Devices that see the same are simulated once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/distributed/device_network.h"

namespace heddle::sim {

/// Queues of one device; work of one queue runs in order.
enum class Lane : std::uint8_t {
    compute,
    data,  ///< collectives with devices that hold the same weights
    forward_receive,
    forward_send,
    backward_receive,
    backward_send,
    host_link,  ///< copies to and from the host
    context,    ///< keys and values on their way round
};
inline constexpr std::size_t kLanes = 8;

/// Which of a device's groups a collective is of.
enum class Slot : std::uint8_t {
    tensor,
    expert,
    context,
    data,
    forward_in,  ///< pairs with the stages before and after, for activations, and for their gradients
    forward_out,
    backward_in,
    backward_out,
    shared_weights,  ///< stages that hold the same weights
    expert_data,     ///< devices that hold the same experts
};
inline constexpr std::size_t kSlots = 10;

/// What kind of time a piece of work is, for the account of a step.
enum class Purpose : std::uint8_t { compute, tensor, expert, context, data, pipeline, optimizer, offload };
inline constexpr std::size_t kPurposes = 8;
std::string name_of(Purpose purpose);

struct Work {
    Lane lane = Lane::compute;
    Purpose purpose = Purpose::compute;
    double seconds = 0;  ///< not of collectives
    bool collective = false;
    Exchange kind = Exchange::all_reduce;
    Slot slot = Slot::tensor;
    double bytes = 0;
    double repeats = 1;  ///< of the collective, one after the other; less than 1: the share of one in a step
    std::vector<std::uint32_t> after;  ///< earlier work that must have ended; the lane's order comes on top
};

/// What one device does in a step.
struct DeviceProgram {
    std::string name;  ///< "stage 2"
    std::vector<Work> work;
};

constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

struct ManyDevices {
    struct Device {
        std::uint32_t program = 0;
        std::array<std::uint32_t, kSlots> groups;  ///< by slot, or kNoGroup
    };
    struct Member {
        std::uint32_t device = 0;
        Slot slot = Slot::tensor;
        bool operator==(const Member&) const = default;
    };
    struct Group {
        std::vector<Member> members;  ///< who takes part in each call
        DeviceGroup devices;          ///< for the network: all, in order of rank
    };
    std::vector<std::shared_ptr<const DeviceProgram>> programs;
    std::vector<Device> devices;
    std::vector<Group> groups;
    std::vector<double> stands_for;  ///< by device: how many it is the image of; empty: 1 each

    std::uint32_t add_device(std::uint32_t program);
    void add_group(const std::vector<Member>& members);
};

/// Tells every group who does the same at the same time and may meet it on a link, and asks the network for
/// its shape. Groups of the same slots act together where their places (DeviceNetwork::place_of) touch,
/// messages between two devices where they go from the same place to the same.
void find_neighbours(ManyDevices& machine, const DeviceNetwork& network);

/// The machine with one device for each class of devices that nothing tells apart: classes are refined by
/// program and by the classes of all whom a device's groups bring it together with, until they no longer
/// split (colour refinement), groups by what the network says of their shape.
ManyDevices fold(const ManyDevices& machine, const DeviceNetwork& network);

struct WorkSpan {
    double start = 0, end = 0;
};

/// Of one device. The parts add up to the step's time.
struct DeviceAccount {
    std::array<double, kPurposes> busy{};     ///< of the compute lane: kernels, collectives that it waits in
    std::array<double, kPurposes> exposed{};  ///< it waited for such work on other lanes
    std::array<double, kPurposes>
        hidden{};       ///< such work on other lanes while it computed or idled otherwise
    double bubble = 0;  ///< it waited for other devices to come as far
};

struct ManyDevicesResult {
    double seconds = 0;
    std::vector<DeviceAccount> devices;
    std::vector<std::vector<WorkSpan>> spans;  ///< by device, by work
    std::uint64_t work_simulated = 0;
};

/// The longest path through everything: work starts when its lane, what it is after and, of collectives, all
/// members are ready. Throws heddle::Error naming a device when members of a group wait for one another for
/// ever.
ManyDevicesResult simulate_devices(const ManyDevices& machine, const DeviceNetwork& network);

}  // namespace heddle::sim
