// How long does a collective take on a cluster? The quick question; schedules, networks and payloads are in
// the headers beside.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/cluster/collective_config.h"
#include "sim/collective/link_parts.h"

namespace heddle::sim {

enum class CollectiveKind : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,  ///< from the first rank
    reduce,     ///< to the first rank
    all_to_all,
    send_receive,  ///< from the first rank to the second
};

enum class CollectiveAlgorithm : std::uint8_t {
    automatic,
    ring,
    tree,              ///< one binary tree over nodes, chains inside them (all-reduce, broadcast, reduce)
    double_tree,       ///< two binary trees, each node a leaf of one, half of the bytes each (NCCL's tree)
    halving_doubling,  ///< recursive halving and doubling; powers of two
    in_switch,         ///< sums and copies in the switch, as NVLS has it
    hierarchical,      ///< inside nodes, across nodes on every rail, inside nodes
    direct,            ///< every rank to every other (all-to-all, send/receive)
    torus,             ///< one dimension of the torus after the other, parts of the bytes in each order
};

/// How the network is simulated.
enum class NetworkModel : std::uint8_t {
    flows,   ///< max-min fair shares of links; event by event, no SystemC
    chunks,  ///< SystemC: chunks queue at every link. One cluster in a process.
};

struct CollectiveRequest {
    CollectiveKind kind = CollectiveKind::all_reduce;
    /// As nccl-tests counts: the vector of all-reduce, broadcast and reduce; the result of all-gather; what a
    /// rank gives to reduce-scatter; what a rank sends in all-to-all, to itself too; the message.
    std::uint64_t bytes = 0;
    std::string type = "f16";  ///< f32, f16, bf16, i8: in-switch reduction adds no i8
    std::vector<std::uint32_t>
        ranks;  ///< devices (or servers) in the order of their ranks; empty: all devices
    /// Other groups that do the same at the same time and share links with it: the other data-parallel groups
    /// of a step.
    std::vector<std::vector<std::uint32_t>> beside;
    /// The same, counted already: by link, the part of it that is left. Such answers are not remembered.
    std::shared_ptr<const LinkLoads> link_parts;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
    CollectiveProtocol protocol = CollectiveProtocol::automatic;
    NetworkModel model = NetworkModel::flows;
    bool fold = true;  ///< what is the same by symmetry is simulated once; false changes nothing but the time
                       ///< it takes
};

/// How much a kind of link was used.
struct LinkUse {
    std::string name;         ///< of the busiest: "device 0 to switch"
    std::uint64_t bytes = 0;  ///< that it carried, headers not counted
    double busy = 0;          ///< part of the time
};

struct CollectiveResult {
    double seconds = 0;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
    CollectiveProtocol protocol = CollectiveProtocol::simple;
    std::uint32_t channels = 1;
    double algorithm_bandwidth = 0;  ///< bytes / seconds
    double bus_bandwidth = 0;        ///< as nccl-tests defines it, to compare with links
    std::vector<LinkUse> links;      ///< busiest of each kind, busiest first
    std::uint64_t events = 0;        ///< of the simulation
};

/// Answers requests about one cluster and remembers the answers. Pure: the same request, the same answer.
class CollectiveTimer {
  public:
    explicit CollectiveTimer(Cluster cluster);
    ~CollectiveTimer();
    CollectiveTimer(CollectiveTimer&&) noexcept;

    /// Throws heddle::Error for ranks that are not there or named twice, and for algorithms that the kind,
    /// the number of ranks or the cluster does not have.
    CollectiveResult time(const CollectiveRequest& request);
    const Cluster& cluster() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

const char* name_of(CollectiveKind kind);            ///< "all-reduce"
const char* name_of(CollectiveAlgorithm algorithm);  ///< "halving-doubling"
/// Throw heddle::Error with the nearest name.
CollectiveKind collective_kind(const std::string& name);
CollectiveAlgorithm collective_algorithm(const std::string& name);
CollectiveProtocol collective_protocol(const std::string& name);

}  // namespace heddle::sim
