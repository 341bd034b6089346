// How long a collective takes on a cluster. This header answers the question; schedules, networks and
// payloads have headers of their own.
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

/// The collectives. Rank numbers are positions in CollectiveRequest::ranks.
enum class CollectiveKind : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,  ///< from the first rank
    reduce,     ///< to the first rank
    all_to_all,
    send_receive,  ///< from the first rank to the second
};

/// The algorithms that can carry a collective out.
enum class CollectiveAlgorithm : std::uint8_t {
    automatic,
    ring,
    tree,              ///< one binary tree over nodes, chains inside them (all-reduce, broadcast, reduce)
    double_tree,       ///< two binary trees, each node a leaf of one, half of the bytes each (NCCL's tree)
    halving_doubling,  ///< recursive halving and doubling; powers of two
    in_switch,         ///< the switch adds and copies, as NVLS does
    hierarchical,      ///< inside nodes, across nodes on every rail, inside nodes
    direct,            ///< every rank to every other (all-to-all, send/receive)
    torus,             ///< one dimension of the torus after the other; a part of the bytes in each order
};

/// How the network is simulated.
enum class NetworkModel : std::uint8_t {
    flows,   ///< max-min fair shares of links, event by event, without SystemC
    chunks,  ///< SystemC: chunks queue at every link; one cluster in a process
};

/// A collective to be timed.
struct CollectiveRequest {
    CollectiveKind kind = CollectiveKind::all_reduce;
    /// The size as nccl-tests counts it: the vector of all-reduce, broadcast and reduce; the result of
    /// all-gather; the input of one rank of reduce-scatter; what one rank sends in all-to-all, including to
    /// itself; the message of send-receive.
    std::uint64_t bytes = 0;
    std::string type = "f16";  ///< f32, f16, bf16, i8: in-switch reduction adds no i8
    std::vector<std::uint32_t>
        ranks;  ///< devices (or servers) in the order of their ranks; empty: all devices
    /// Other groups that do the same at the same time and share links with this one, such as the other
    /// data-parallel groups of a step.
    std::vector<std::vector<std::uint32_t>> beside;
    /// The same in another form: by link, the fraction of its rate that this group gets. Such answers are not
    /// remembered.
    std::shared_ptr<const LinkLoads> link_parts;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
    CollectiveProtocol protocol = CollectiveProtocol::automatic;
    NetworkModel model = NetworkModel::flows;
    bool fold = true;  ///< what is the same by symmetry is simulated once; false changes nothing but the time
                       ///< it takes
};

/// How busy a kind of link was.
struct LinkUse {
    std::string name;         ///< name of the busiest link of the kind: "device 0 to switch"
    std::uint64_t bytes = 0;  ///< bytes that it carried, without headers
    double busy = 0;          ///< fraction of the time in which it was busy
};

/// The time of a collective, and how it was carried out.
struct CollectiveResult {
    double seconds = 0;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
    CollectiveProtocol protocol = CollectiveProtocol::simple;
    std::uint32_t channels = 1;
    double algorithm_bandwidth = 0;  ///< bytes of the request divided by seconds
    double bus_bandwidth = 0;        ///< as nccl-tests defines it, to compare with links
    std::vector<LinkUse> links;      ///< busiest of each kind, busiest first
    std::uint64_t events = 0;        ///< number of events that were simulated
};

/// Answers requests about one cluster and remembers the answers. An answer depends only on its request.
class CollectiveTimer {
  public:
    explicit CollectiveTimer(Cluster cluster);
    ~CollectiveTimer();
    CollectiveTimer(CollectiveTimer&&) noexcept;

    /// Returns the time of a collective. Throws heddle::Error for ranks that do not exist or occur twice, and
    /// for algorithms that are not possible for the kind, the number of ranks or the cluster.
    CollectiveResult time(const CollectiveRequest& request);
    const Cluster& cluster() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

const char* name_of(CollectiveKind kind);            ///< "all-reduce"
const char* name_of(CollectiveAlgorithm algorithm);  ///< "halving-doubling"
/// Convert names to values. They throw heddle::Error with the nearest name.
CollectiveKind collective_kind(const std::string& name);
CollectiveAlgorithm collective_algorithm(const std::string& name);
CollectiveProtocol collective_protocol(const std::string& name);

}  // namespace heddle::sim
