// A collective as data: who hands which bytes to whom, in which order. What carries it out knows no
// algorithm.
//
//   worker        a thread block (or DMA queue) of a rank: performs its operations one after the other
//   connection    from one worker to another, with room for some slices (slots)
//   operation     takes bytes from up to 3 connections, adds its own if it has any, keeps the result, sends
//   it on to up to 3 slice         part of an operation that is handed on by itself
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/network/topology.h"

namespace heddle::models::network {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
inline constexpr std::size_t kFan = 3;

/// A way between two workers that carries the slices of operations in order.
struct Connection {
    std::uint32_t from = 0, to = 0;  ///< workers
    std::vector<LinkId>
        links;  ///< that its bytes occupy, all at once (cut-through); none: within a rank, costs nothing
    std::uint64_t latency = 0;  ///< picoseconds from the last byte sent to the receiver's knowledge of it
    double message_bytes = 0;   ///< what a slice costs its links besides its bytes
};

/// One step of a worker: it receives from at most kFan connections, reduces or copies, and sends to at most
/// kFan.
struct Operation {
    std::uint64_t bytes = 0;  ///< payload; of all channels that the worker stands for
    std::array<std::uint32_t, kFan> receive{kNone, kNone, kNone}, send{kNone, kNone, kNone};  ///< connections
    // What is computed. Elements of the rank's vectors; in timing only `reduces` matters.
    std::uint64_t offset = 0;  ///< of the rank's output (and of its input unless the next says otherwise)
    std::uint64_t input = 0;   ///< of the rank's input, where `own`
    bool own = false;          ///< the rank's own input comes first
    bool from_output = false;  ///< what is the rank's own is what its output holds already
    bool store = false;        ///< the result is written to the output
    bool reduces() const { return receive[0] != kNone && (own || receive[1] != kNone); }
    // Of the switch:
    bool wide_sum = false;  ///< `own` is that of all ranks, added in float and rounded once
    bool to_all = false;    ///< stored in the outputs of all ranks
};

/// What performs operations one after another: a rank may have several, one for each channel and role.
struct Worker {
    std::uint32_t rank = 0;             ///< whose vectors it works on
    std::vector<Operation> operations;  ///< in order
};

/// A whole collective.
struct Schedule {
    std::vector<Worker> workers;          ///< Connection::from and to are indices into it
    std::vector<Connection> connections;  ///< Operation::receive and send are indices into it
    std::uint32_t slots = 8;              ///< slices that may wait at a receiver
    std::uint32_t slices = 1;             ///< of an operation
    std::uint64_t slice_bytes = 1;        ///< at least
    double wire = 1;                      ///< payload divided by what travels
    double send_rate = 1e15, receive_rate = 1e15,
           reduce_rate = 1e15;  ///< of a worker, payload bytes per second
};

/// Bytes of each slice but the last.
std::uint64_t slice_of(const Schedule& schedule, std::uint64_t bytes);

}  // namespace heddle::models::network
