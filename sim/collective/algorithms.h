// Collective algorithms as schedules. Offsets and sizes are counted in elements of the vector, as NCCL does.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/collective.h"
#include "sim/collective/schedule_builder.h"

namespace heddle::sim {

/// Divides and rounds up.
inline std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

/// The part of a vector that one channel works on, in elements.
struct Span {
    std::uint64_t offset = 0, count = 0;
};

/// A ring of ranks; position i sends to position i + 1.
struct Ring {
    std::vector<std::uint32_t> order;  ///< rank at each position
    /// Number of positions that are simulated: the whole ring, or one period of it when all periods do the
    /// same at the same time.
    std::uint32_t period = 0;
    /// The number of steps is that of a ring with this many positions: order.size(), or fewer when the
    /// remaining steps are known to repeat.
    std::uint32_t turns = 0;
    explicit Ring(std::vector<std::uint32_t> ranks)
        : order(std::move(ranks)), period(static_cast<std::uint32_t>(order.size())), turns(period) {}
    std::uint32_t size() const { return static_cast<std::uint32_t>(order.size()); }
};

/// The collective that a ring carries out on a span.
enum class RingPart : std::uint8_t { all_reduce, reduce_scatter, all_gather };
/// Adds the steps of a ring. `shard` is not 0 when piece p of the span lies at p * shard of the vector
/// (all-gather, reduce-scatter), which ends at `end`; otherwise the pieces are adjacent. `from_output` says
/// that a rank's own data lies in its output.
void add_ring(ScheduleBuilder& builder, const Ring& ring, RingPart part, std::uint32_t role,
              std::uint32_t lane, Span span, std::uint64_t shard, bool from_output,
              std::uint64_t end = ~std::uint64_t{0});

/// Adds a chain that carries a span from its first rank to the last, or reduces it towards the first.
void add_chain(ScheduleBuilder& builder, const std::vector<std::uint32_t>& order, bool reduces,
               std::uint32_t lane, Span span);

/// Adds a reduction up a tree over nodes and a broadcast down, with chains inside the nodes. `nodes` lists
/// the ranks of each node in order; the first of each takes part in the tree. `mirrored` selects the second
/// of two trees, in which leaves of the first are inner nodes.
void add_tree(ScheduleBuilder& builder, const std::vector<std::vector<std::uint32_t>>& nodes,
              CollectiveKind kind, bool mirrored, std::uint32_t lane, Span span);

/// Adds an all-reduce, all-gather or reduce-scatter by recursive halving and doubling; the number of ranks is
/// a power of two.
void add_halving_doubling(ScheduleBuilder& builder, CollectiveKind kind, std::uint32_t lane, Span span,
                          std::uint64_t shard);

/// Adds an all-reduce, all-gather or reduce-scatter that the switch computes; all ranks are in one node.
/// `rate` is in bytes per second.
void add_in_switch(ScheduleBuilder& builder, CollectiveKind kind, double rate, std::uint32_t lane, Span span,
                   std::uint64_t shard);

/// Adds messages from every rank to every rank, itself included, or, unless `all`, from the first rank to the
/// second.
void add_direct(ScheduleBuilder& builder, bool all, std::uint32_t lane, Span span, std::uint64_t shard);

/// Adds groups of rings over the same vector in sequence: reduce-scatter in every dimension, then all-gather
/// in reverse. dimensions[d][k] lists the ranks of ring k in dimension d. The vector passes through the
/// dimensions in portions of `portion` elements.
void add_dimensions(ScheduleBuilder& builder,
                    const std::vector<std::vector<std::vector<std::uint32_t>>>& dimensions,
                    std::uint32_t lane, Span span, std::uint32_t role, std::uint64_t portion);

}  // namespace heddle::sim
