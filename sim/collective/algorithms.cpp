#include "sim/collective/algorithms.h"

#include <algorithm>
#include <functional>

#include "models/network/transport.h"

namespace heddle::sim {
namespace {

using models::network::Operation;

/// A part of [0, count): number `index` of those of `size` elements.
Span piece(std::uint64_t index, std::uint64_t size, std::uint64_t count) {
    const std::uint64_t begin = std::min(index * size, count);
    return {begin, std::min(size, count - begin)};
}

/// The workers of a ring and what connects them.
struct RingWorkers {
    std::vector<std::uint32_t> workers, to_next, from_previous;
};

RingWorkers workers_of(ScheduleBuilder& builder, const Ring& ring, std::uint32_t role, std::uint32_t lane) {
    RingWorkers result;
    const std::uint32_t period = ring.period, n = ring.size();
    for (std::uint32_t i = 0; i < period; ++i)
        result.workers.push_back(builder.worker(ring.order[i], role, lane));
    result.from_previous.resize(period);
    for (std::uint32_t i = 0; i < period; ++i) {
        const std::uint32_t next = (i + 1) % period;
        std::uint32_t connection;
        if (i + 1 == period && period < n) {
            // Into the next period, which does the same. Ways between periods differ a little: their mean.
            double latency = 0;
            const std::uint32_t ways = n / period;
            for (std::uint32_t j = i; j < n; j += period)
                latency +=
                    builder.topology()
                        .route(builder.ranks()[ring.order[j]], builder.ranks()[ring.order[(j + 1) % n]], lane)
                        .latency;
            connection =
                builder.connect(result.workers[i], result.workers[next], builder.ranks()[ring.order[i]],
                                builder.ranks()[ring.order[i + 1]], latency / ways);
        } else {
            connection = builder.connect(result.workers[i], result.workers[next]);
        }
        result.to_next.push_back(connection);
        result.from_previous[next] = connection;
    }
    return result;
}

}  // namespace

void add_ring(ScheduleBuilder& builder, const Ring& ring, RingPart part, std::uint32_t role,
              std::uint32_t lane, Span span, std::uint64_t shard, bool from_output, std::uint64_t end) {
    const std::uint32_t n = ring.size(), turns = ring.turns;
    if (n < 2 || span.count == 0) return;
    const RingWorkers at = workers_of(builder, ring, role, lane);
    const bool reduces = part != RingPart::all_gather, gathers = part != RingPart::reduce_scatter;
    // With shards, every shard has its part of this span; else the span is cut into pieces, chunk by chunk.
    const std::uint64_t extent = shard > 0 ? span.count : divide_up(span.count, n);
    const std::uint64_t loop_size = std::min(builder.plan().chunk, extent);
    for (std::uint64_t done = 0; done < extent; done += loop_size) {
        const std::uint64_t loop = std::min(loop_size, extent - done);
        const auto place = [&](std::uint32_t p) {
            if (shard > 0) {
                const std::uint64_t begin = std::min(p * shard + span.offset + done, end);
                return Span{begin, std::min(loop, end - begin)};
            }
            const Span inside = piece(p, loop, std::min(loop * n, span.count - done * n));
            return Span{span.offset + done * n + inside.offset, inside.count};
        };
        for (std::uint32_t i = 0; i < ring.period; ++i) {
            const auto operation = [&](std::uint32_t p) {
                const Span where = place((p % n + n) % n);
                Operation o;
                o.bytes = builder.bytes(where.count);
                o.offset = o.input = where.offset;
                o.from_output = from_output;
                return o;
            };
            const std::uint32_t worker = at.workers[i];
            if (reduces) {
                for (std::uint32_t s = 0; s + 1 < turns; ++s) {  // pieces i-1, i-2, ...
                    Operation o = operation(i + 2 * n - 1 - s % n);
                    if (s > 0) o.receive[0] = at.from_previous[i];
                    o.own = true;
                    o.send[0] = at.to_next[i];
                    builder.add(worker, o);
                }
                Operation last = operation(i);
                last.receive[0] = at.from_previous[i];
                last.own = last.store = true;
                if (gathers) last.send[0] = at.to_next[i];
                builder.add(worker, last);
            } else {
                Operation first = operation(i);
                if (shard > 0 && !from_output)
                    first.input = span.offset + done;  // all-gather's input is its own shard
                first.own = first.store = true;
                first.send[0] = at.to_next[i];
                builder.add(worker, first);
            }
            for (std::uint32_t s = 1; gathers && s < turns; ++s) {
                Operation o = operation(i + n - s % n);
                o.receive[0] = at.from_previous[i];
                o.store = true;
                if (s + 1 < turns) o.send[0] = at.to_next[i];
                builder.add(worker, o);
            }
        }
    }
}

void add_chain(ScheduleBuilder& builder, const std::vector<std::uint32_t>& given, bool reduces,
               std::uint32_t lane, Span span) {
    std::vector<std::uint32_t> order = given;
    if (reduces) std::reverse(order.begin(), order.end());
    std::vector<std::uint32_t> workers;
    workers.reserve(order.size());
    for (const std::uint32_t rank : order) workers.push_back(builder.worker(rank, 0, lane));
    for (std::uint64_t done = 0; done < span.count; done += builder.plan().chunk) {
        const std::uint64_t count = std::min(builder.plan().chunk, span.count - done);
        for (std::size_t i = 0; i < workers.size(); ++i) {
            Operation o;
            o.bytes = builder.bytes(count);
            o.offset = o.input = span.offset + done;
            o.own = reduces || i == 0;
            o.store = !reduces || i + 1 == workers.size();
            if (i > 0) o.receive[0] = builder.connect(workers[i - 1], workers[i]);
            if (i + 1 < workers.size()) o.send[0] = builder.connect(workers[i], workers[i + 1]);
            builder.add(workers[i], o);
        }
    }
}

namespace {

/// Parent of each node in a binary tree over 0..n-1 in which odd numbers are leaves, as in the double binary
/// trees of Sanders, Speck and Traeff (2009): a node's parent is found by its lowest set bit. Node 0 is the
/// root.
std::uint32_t parent_of(std::uint32_t node, std::uint32_t n) {
    if (node == 0) return models::network::kNone;
    const std::uint32_t bit = node & (~node + 1);
    const std::uint32_t up = (node ^ bit) | (bit << 1);
    return up < n ? up : node ^ bit;
}

struct Tree {
    std::vector<std::uint32_t> parent;                 ///< by rank; kNone at the root
    std::vector<std::vector<std::uint32_t>> children;  ///< by rank
    std::vector<std::uint32_t> order;                  ///< from the root down
};

Tree tree_of(const std::vector<std::vector<std::uint32_t>>& nodes, std::uint32_t ranks, bool mirrored) {
    Tree tree{std::vector<std::uint32_t>(ranks, models::network::kNone),
              std::vector<std::vector<std::uint32_t>>(ranks),
              {}};
    const auto n = static_cast<std::uint32_t>(nodes.size());
    // The second tree: mirrored for an even number of nodes, shifted by one for an odd one (as NCCL does).
    const auto node_at = [&](std::uint32_t v) {
        return !mirrored ? v : n % 2 == 0 ? n - 1 - v : (v + n - 1) % n;
    };
    const auto link = [&](std::uint32_t child, std::uint32_t parent) {
        tree.parent[child] = parent;
        tree.children[parent].push_back(child);
    };
    for (std::uint32_t v = 1; v < n; ++v)
        link(nodes[node_at(v)].front(), nodes[node_at(parent_of(v, n))].front());
    for (const std::vector<std::uint32_t>& node : nodes)
        for (std::size_t i = 1; i < node.size(); ++i) link(node[i], node[i - 1]);
    tree.order.push_back(nodes[node_at(0)].front());
    for (std::size_t i = 0; i < tree.order.size(); ++i)
        for (const std::uint32_t child : tree.children[tree.order[i]]) tree.order.push_back(child);
    return tree;
}

}  // namespace

void add_tree(ScheduleBuilder& builder, const std::vector<std::vector<std::uint32_t>>& nodes,
              CollectiveKind kind, bool mirrored, std::uint32_t lane, Span span) {
    const Tree tree = tree_of(nodes, builder.rank_count(), mirrored);
    const std::uint32_t up = mirrored ? 2 : 0, down = up + 1;
    const bool reduces = kind != CollectiveKind::broadcast, spreads = kind != CollectiveKind::reduce;
    for (std::uint64_t done = 0; done < span.count; done += builder.plan().chunk) {
        const std::uint64_t count = std::min(builder.plan().chunk, span.count - done);
        Operation basic;
        basic.bytes = builder.bytes(count);
        basic.offset = basic.input = span.offset + done;
        for (const std::uint32_t rank : tree.order) {
            const bool root = tree.parent[rank] == models::network::kNone;
            const auto to_children = [&](Operation& o, std::uint32_t from) {
                for (std::size_t c = 0; c < tree.children[rank].size(); ++c)
                    o.send[c] = builder.connect(from, builder.worker(tree.children[rank][c], down, lane));
            };
            if (reduces) {
                Operation o = basic;
                o.own = true;
                const std::uint32_t me = builder.worker(rank, up, lane);
                for (std::size_t c = 0; c < tree.children[rank].size(); ++c)
                    o.receive[c] = builder.connect(builder.worker(tree.children[rank][c], up, lane), me);
                if (!root) o.send[0] = builder.connect(me, builder.worker(tree.parent[rank], up, lane));
                if (root) o.store = true;
                if (root && spreads) to_children(o, me);
                builder.add(me, o);
            }
            if (!spreads || (root && reduces)) continue;
            Operation o = basic;
            const std::uint32_t me = builder.worker(rank, down, lane);
            o.own = root;
            o.store = true;
            if (!root) {
                const std::uint32_t parent = tree.parent[rank];
                const bool from_root = tree.parent[parent] == models::network::kNone && reduces;
                o.receive[0] = builder.connect(builder.worker(parent, from_root ? up : down, lane), me);
            }
            to_children(o, me);
            builder.add(me, o);
        }
    }
}

void add_halving_doubling(ScheduleBuilder& builder, CollectiveKind kind, std::uint32_t lane, Span span,
                          std::uint64_t shard) {
    const std::uint32_t n = builder.rank_count();
    const bool reduces = kind != CollectiveKind::all_gather, gathers = kind != CollectiveKind::reduce_scatter;
    const std::uint64_t unit = shard > 0 ? span.count : divide_up(span.count, n);
    std::vector<std::uint32_t> workers;
    for (std::uint32_t r = 0; r < n; ++r) workers.push_back(builder.worker(r, 0, lane));
    // Of blocks [first, first + count) of the vector, one operation for each, so that shards may lie apart.
    const auto add = [&](std::uint32_t r, std::uint32_t first, std::uint32_t count,
                         const std::function<void(Operation&)>& fill) {
        const std::uint32_t runs = shard > 0 ? count : 1, each = count / runs;
        for (std::uint32_t k = 0; k < runs; ++k) {
            const Span where = shard > 0 ? Span{(first + k) * shard + span.offset, span.count}
                                         : piece(first / each, unit * each, span.count);
            Operation o;
            o.bytes = builder.bytes(where.count);
            o.offset = o.input = shard > 0 ? where.offset : span.offset + where.offset;
            fill(o);
            builder.add(workers[r], o);
        }
    };
    for (std::uint32_t r = 0; r < n; ++r) {
        std::uint32_t first = 0, count = n;
        for (std::uint32_t distance = n / 2; reduces && distance >= 1; distance /= 2) {
            const std::uint32_t peer = r ^ distance;
            const std::uint32_t kept = (r & distance) != 0 ? first + count / 2 : first;
            const std::uint32_t given = (r & distance) != 0 ? first : first + count / 2;
            const bool begun = distance < n / 2;  // later steps add to what the output holds
            add(r, given, count / 2, [&](Operation& o) {
                o.own = true;
                o.from_output = begun;
                o.send[0] = builder.connect(workers[r], workers[peer]);
            });
            add(r, kept, count / 2, [&](Operation& o) {
                o.own = o.store = true;
                o.from_output = begun;
                o.receive[0] = builder.connect(workers[peer], workers[r]);
            });
            first = kept;
            count /= 2;
        }
        if (!reduces) {
            first = r;
            count = 1;
        }
        for (std::uint32_t distance = 1; gathers && distance < n; distance *= 2) {
            const std::uint32_t peer = r ^ distance, theirs = first ^ distance;
            const bool own_input = !reduces && distance == 1;
            add(r, first, count, [&](Operation& o) {
                o.own = true;
                o.from_output = !own_input;
                o.store = own_input;
                if (own_input && shard > 0) o.input = span.offset;
                o.send[0] = builder.connect(workers[r], workers[peer]);
            });
            add(r, theirs, count, [&](Operation& o) {
                o.store = true;
                o.receive[0] = builder.connect(workers[peer], workers[r]);
            });
            first = std::min(first, theirs);
            count *= 2;
        }
    }
}

void add_in_switch(ScheduleBuilder& builder, CollectiveKind kind, double rate, std::uint32_t lane, Span span,
                   std::uint64_t shard) {
    const std::uint32_t n = builder.rank_count();
    const models::network::Topology& topology = builder.topology();
    models::network::Schedule& schedule = builder.schedule();
    schedule.reduce_rate = schedule.send_rate = rate;
    const std::uint64_t latency =
        models::network::picoseconds(topology.config().device_latency + builder.step_latency(false));
    const std::uint64_t extent = shard > 0 ? span.count : divide_up(span.count, n);
    // Two workers of a rank: one has its part added up by the switch, the other has the sum copied to all.
    for (std::uint32_t r = 0; r < n; ++r) {
        const std::uint32_t adder = builder.worker(r, 0, lane), copier = builder.worker(r, 1, lane);
        const auto link = [&](std::uint32_t from, std::uint32_t to, bool reads) {
            models::network::Connection c;
            c.from = from;
            c.to = to;
            c.latency = latency;
            for (std::uint32_t other = 0; other < n; ++other)
                c.links.push_back(reads ? topology.device_out(builder.ranks()[other])
                                        : topology.device_in(builder.ranks()[other]));
            c.links.push_back(reads ? topology.device_in(builder.ranks()[r])
                                    : topology.device_out(builder.ranks()[r]));
            schedule.connections.push_back(std::move(c));
            return static_cast<std::uint32_t>(schedule.connections.size() - 1);
        };
        const bool reduces = kind != CollectiveKind::all_gather,
                   copies = kind != CollectiveKind::reduce_scatter;
        const std::uint32_t reading = reduces ? link(adder, copier, true) : models::network::kNone;
        const std::uint32_t ender = copies ? builder.worker(r, 2, lane) : models::network::kNone;
        const std::uint32_t writing = copies ? link(copier, ender, false) : models::network::kNone;
        for (std::uint64_t done = 0; done < extent; done += builder.plan().chunk) {
            const std::uint64_t loop = std::min(builder.plan().chunk, extent - done);
            const Span where = shard > 0 ? Span{r * shard + span.offset + done, loop}
                                         : Span{span.offset + std::min(r * extent + done, span.count),
                                                r * extent + done >= span.count
                                                    ? 0
                                                    : std::min(loop, span.count - r * extent - done)};
            Operation o;
            o.bytes = builder.bytes(where.count);
            o.offset = o.input = where.offset;
            if (reduces) {
                Operation read = o;
                read.own = read.wide_sum = true;  // of all ranks
                read.send[0] = reading;
                builder.add(adder, read);
            } else if (shard > 0) {
                o.input = span.offset + done;
            }
            Operation write = o;
            write.own = !reduces;
            write.receive[0] = reading;
            write.store = true;
            write.send[0] = writing;
            builder.add(copier, write);
            if (!copies) continue;
            Operation seen = o;
            seen.bytes = o.bytes;
            seen.receive[0] = writing;
            seen.store = seen.to_all = true;
            builder.add(ender, seen);
        }
    }
}

void add_direct(ScheduleBuilder& builder, bool all, std::uint32_t lane, Span span, std::uint64_t shard) {
    const std::uint32_t n = builder.rank_count();
    const std::uint32_t senders = all ? n : 1;
    for (std::uint32_t r = 0; r < senders; ++r) {
        for (std::uint32_t k = all ? 0 : 1; k < (all ? n : 2); ++k) {
            const std::uint32_t peer = (r + k) % n;
            // A worker for each peer; the receiving one likewise.
            const std::uint32_t sender = builder.worker(r, 1 + 2 * k, lane);
            const std::uint32_t receiver = k == 0 ? sender : builder.worker(peer, 2 + 2 * k, lane);
            for (std::uint64_t done = 0; done < span.count; done += builder.plan().chunk) {
                Operation o;
                o.bytes = builder.bytes(std::min(builder.plan().chunk, span.count - done));
                o.input = (all ? peer * shard : 0) + span.offset + done;
                o.offset = (all ? r * shard : 0) + span.offset + done;
                Operation give = o, take = o;
                give.own = true;
                give.store = k == 0;
                if (k > 0) give.send[0] = builder.connect(sender, receiver);
                builder.add(sender, give);
                if (k == 0) continue;
                take.receive[0] = give.send[0];
                take.store = true;
                builder.add(receiver, take);
            }
        }
    }
}

void add_dimensions(ScheduleBuilder& builder,
                    const std::vector<std::vector<std::vector<std::uint32_t>>>& dimensions,
                    std::uint32_t lane, Span whole, std::uint32_t role, std::uint64_t portion) {
    const auto count = static_cast<std::uint32_t>(dimensions.size());
    const auto hand_on = [&](std::uint32_t phase) {
        for (std::uint32_t r = 0; r < builder.rank_count(); ++r)
            builder.then(builder.worker(r, role + phase, lane), builder.worker(r, role + phase + 1, lane));
    };
    for (std::uint64_t done = 0; done < whole.count; done += portion) {
        const Span span{whole.offset + done, std::min(portion, whole.count - done)};
        // What a rank holds before each dimension; it shrinks with every one.
        std::vector<std::vector<Span>> held(count, std::vector<Span>(builder.rank_count(), span));
        for (std::uint32_t d = 0; d < count; ++d) {
            const bool last = d + 1 == count;
            for (const std::vector<std::uint32_t>& ranks : dimensions[d]) {
                const Span all = held[d][ranks.front()];
                const std::uint64_t each = divide_up(all.count, ranks.size()), end = all.offset + all.count;
                if (last) {
                    add_ring(builder, Ring(ranks), RingPart::all_reduce, role + d, lane, all, 0, d > 0);
                    continue;
                }
                add_ring(builder, Ring(ranks), RingPart::reduce_scatter, role + d, lane, {all.offset, each},
                         each, d > 0, end);
                for (std::size_t p = 0; p < ranks.size(); ++p) {
                    const Span inside = piece(p, each, all.count);
                    held[d + 1][ranks[p]] = {all.offset + inside.offset, inside.count};
                }
            }
            if (!last) hand_on(d);
        }
        for (std::uint32_t d = count - 1; d-- > 0;) {
            const std::uint32_t phase = 2 * (count - 1) - d;
            hand_on(phase - 1);
            for (const std::vector<std::uint32_t>& ranks : dimensions[d]) {
                const Span all = held[d][ranks.front()];
                const std::uint64_t each = divide_up(all.count, ranks.size());
                add_ring(builder, Ring(ranks), RingPart::all_gather, role + phase, lane, {all.offset, each},
                         each, true, all.offset + all.count);
            }
        }
    }
}

}  // namespace heddle::sim
