// Determines when everything on many devices runs. Every device executes its program in order; collectives
// make devices wait for one another. Devices that are equivalent are simulated once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/distributed/device_network.h"

namespace heddle::sim {

/// The queues of one device. Work of one queue runs in order.
enum class Lane : std::uint8_t {
    compute,
    data,  ///< collectives with the devices that hold the same weights
    forward_receive,
    forward_send,
    backward_receive,
    backward_send,
    host_link,  ///< copies to and from the host
    context,    ///< keys and values that circulate among the devices of a context group
};
inline constexpr std::size_t kLanes = 8;

/// The role of a group for a device: which of its groups a collective belongs to.
enum class Slot : std::uint8_t {
    tensor,
    expert,
    context,
    data,
    forward_in,  ///< pairs with the stages before and after, for activations and for their gradients
    forward_out,
    backward_in,
    backward_out,
    shared_weights,  ///< stages that hold the same weights
    expert_data,     ///< devices that hold the same experts
};
inline constexpr std::size_t kSlots = 10;

/// What a piece of work is for, in the account of a step's time.
enum class Purpose : std::uint8_t { compute, tensor, expert, context, data, pipeline, optimizer, offload };
inline constexpr std::size_t kPurposes = 8;
std::string name_of(Purpose purpose);

/// A computation or a collective of one device.
struct Work {
    Lane lane = Lane::compute;
    Purpose purpose = Purpose::compute;
    double seconds = 0;  ///< duration of a computation; unused for collectives
    bool collective = false;
    Exchange kind = Exchange::all_reduce;
    Slot slot = Slot::tensor;
    double bytes = 0;
    /// How often the collective runs in sequence; less than 1: the fraction of one that falls into a step.
    double repeats = 1;
    /// Earlier work that must have ended, in addition to the queue's order.
    std::vector<std::uint32_t> after;
};

/// What one device does in a step.
struct DeviceProgram {
    std::string name;  ///< "stage 2"
    std::vector<Work> work;
};

constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

/// The devices of a cluster with their programs and groups.
struct ManyDevices {
    /// One device: its program, and its group for each slot.
    struct Device {
        std::uint32_t program = 0;
        std::array<std::uint32_t, kSlots> groups;  ///< by slot, or kNoGroup
    };
    /// A device's participation in a group.
    struct Member {
        std::uint32_t device = 0;
        Slot slot = Slot::tensor;
        bool operator==(const Member&) const = default;
    };
    /// Devices that communicate with one another.
    struct Group {
        std::vector<Member> members;  ///< those that take part in each call
        DeviceGroup devices;          ///< all devices in order of rank, for the network
    };
    std::vector<std::shared_ptr<const DeviceProgram>> programs;
    std::vector<Device> devices;
    std::vector<Group> groups;
    std::vector<double> stands_for;  ///< by device: how many devices it represents; empty: 1 each

    /// Adds a device without groups and returns its number.
    std::uint32_t add_device(std::uint32_t program);
    /// Adds a group and enters it into the devices of its members. Ignores groups of fewer than two.
    void add_group(const std::vector<Member>& members);
};

/// Determines, for every group, the concurrent groups that may share a link with it, and asks the network for
/// its shape. Groups of the same slots are concurrent where their places (DeviceNetwork::place_of) overlap;
/// messages between two devices are concurrent where they go between the same two places.
void find_neighbours(ManyDevices& machine, const DeviceNetwork& network);

/// Returns the machine with one device for each class of equivalent devices. Classes are refined by program
/// and by the classes of all devices that share a group, until no class splits any more (colour refinement);
/// groups are compared by the shape that the network reports.
ManyDevices fold(const ManyDevices& machine, const DeviceNetwork& network);

/// When a piece of work starts and ends, in seconds.
struct WorkSpan {
    double start = 0, end = 0;
};

/// How the time of one device divides, in seconds. The parts add up to the step's time.
struct DeviceAccount {
    /// Time of the compute lane: kernels, and collectives that run in it.
    std::array<double, kPurposes> busy{};
    /// Time in which the compute lane waited for work on other lanes.
    std::array<double, kPurposes> exposed{};
    std::array<double, kPurposes>
        hidden{};       ///< such work on other lanes while it computed or idled otherwise
    double bubble = 0;  ///< time in which it waited for other devices
};

/// The schedule of a step.
struct ManyDevicesResult {
    double seconds = 0;  ///< of the whole step
    std::vector<DeviceAccount> devices;
    std::vector<std::vector<WorkSpan>> spans;  ///< by device, by work
    std::uint64_t work_simulated = 0;
};

/// Computes the longest path through all work: work starts when its lane is free, everything that it depends
/// on has ended and, for collectives, all members are ready. Throws heddle::Error that names a device when
/// members of a group wait for one another in a cycle.
ManyDevicesResult simulate_devices(const ManyDevices& machine, const DeviceNetwork& network);

}  // namespace heddle::sim
