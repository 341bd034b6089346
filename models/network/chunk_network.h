// Chunk level, in SystemC: messages are cut into chunks that queue at every link.
//
//   worker --chunk--> [port of link 1] --> [port of link 2] --> ... --> receiver
//                      queue, bandwidth     queue, bandwidth
//
// A port sends one chunk at a time, first come first served. It passes a chunk on as soon as its head has
// come (cut-through), and its tail never leaves before it has come. A sender has at most `window` chunks of a
// message under way that have not left the last port, so that queues stay short and full links push back on
// senders.
#pragma once

#include <memory>

#include "models/network/schedule_run.h"

namespace heddle::models::network {

/// How fine the chunk level is, and how much may queue at a link.
struct ChunkSettings {
    double chunk = 16384;      ///< bytes
    std::uint32_t window = 4;  ///< chunks
};

/// A SystemC model with a fixed number of links, of which a process makes one; schedules run on it one after
/// the other.
class ChunkNetwork {
  public:
    explicit ChunkNetwork(std::size_t most_links);
    ~ChunkNetwork();

    /// Runs a schedule at chunk level, with the same arguments as run_flows(). Throws heddle::Error for more
    /// links than the machine has.
    RunOutcome run(const Schedule& schedule, const std::vector<Link>& links,
                   const ChunkSettings& settings = {});

  private:
    struct Machine;
    std::unique_ptr<Machine> machine_;
};

}  // namespace heddle::models::network
