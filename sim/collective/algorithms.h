// Collective algorithms as schedules. Positions in a ring, pieces of a vector: counted in elements, as NCCL
// does.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/collective.h"
#include "sim/collective/schedule_builder.h"

namespace heddle::sim {

inline std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

/// Part of a vector that one channel works on, in elements.
struct Span {
    std::uint64_t offset = 0, count = 0;
};

/// A ring of ranks; position i sends to position i + 1.
struct Ring {
    std::vector<std::uint32_t> order;  ///< rank at each position
    /// Positions that are simulated: the whole ring, or one period of it when all periods do the same at the
    /// same time.
    std::uint32_t period = 0;
    /// Steps are those of a ring of so many positions; order.size(), or fewer when the rest is known to
    /// repeat.
    std::uint32_t turns = 0;
    explicit Ring(std::vector<std::uint32_t> ranks)
        : order(std::move(ranks)), period(static_cast<std::uint32_t>(order.size())), turns(period) {}
    std::uint32_t size() const { return static_cast<std::uint32_t>(order.size()); }
};

/// What a ring does with a span: `shard` is not 0 when piece p of the span lies at p * shard of the vector
/// (all-gather, reduce-scatter), which ends at `end`; else the pieces lie side by side. `from_output`: what a
/// rank has lies in its output.
enum class RingPart : std::uint8_t { all_reduce, reduce_scatter, all_gather };
void add_ring(ScheduleBuilder& builder, const Ring& ring, RingPart part, std::uint32_t role,
              std::uint32_t lane, Span span, std::uint64_t shard, bool from_output,
              std::uint64_t end = ~std::uint64_t{0});

/// Along a chain from its first rank, or to it.
void add_chain(ScheduleBuilder& builder, const std::vector<std::uint32_t>& order, bool reduces,
               std::uint32_t lane, Span span);

/// All-reduce up and down a tree over nodes, with chains inside them: ranks of each node in order, the first
/// is in the tree. `mirrored`: the second of two trees, in which leaves of the first are inner nodes.
void add_tree(ScheduleBuilder& builder, const std::vector<std::vector<std::uint32_t>>& nodes,
              CollectiveKind kind, bool mirrored, std::uint32_t lane, Span span);

/// All-reduce, all-gather or reduce-scatter of a power of two of ranks.
void add_halving_doubling(ScheduleBuilder& builder, CollectiveKind kind, std::uint32_t lane, Span span,
                          std::uint64_t shard);

/// All-reduce, all-gather or reduce-scatter by the switch; all ranks in one node.
void add_in_switch(ScheduleBuilder& builder, CollectiveKind kind, double rate, std::uint32_t lane, Span span,
                   std::uint64_t shard);

/// Every rank to every other and to itself; or the first rank to the second.
void add_direct(ScheduleBuilder& builder, bool all, std::uint32_t lane, Span span, std::uint64_t shard);

/// One group of rings after another over the same vector: reduce-scatter in every dimension, then all-gather
/// back. dimensions[d][k]: the ranks of ring k in dimension d. Portions of so many elements follow one
/// another through the dimensions.
void add_dimensions(ScheduleBuilder& builder,
                    const std::vector<std::vector<std::vector<std::uint32_t>>>& dimensions,
                    std::uint32_t lane, Span span, std::uint32_t role, std::uint64_t portion);

}  // namespace heddle::sim
