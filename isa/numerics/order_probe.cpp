#include "isa/numerics/order_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>

namespace heddle::numerics {
namespace {

using Node = SummationTree::Node;

/// The answer contradicts every tree.
struct Contradiction : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Pair {
    std::uint32_t i, j;
};

/// Asks for counts of survivors: cuts the units into parts that can be counted, and adds up.
class Counter {
  public:
    Counter(std::size_t k, const ProbedSum& sum, const ProbeOptions& options)
        : k_(static_cast<std::uint32_t>(k)), sum_(sum), options_(options) {
        if (options.maximum_units == 0) throw std::invalid_argument("probes need units: maximum_units is 0");
    }

    std::size_t probes() const { return probes_; }

    /// Units of [begin, end) that arrive when nothing is in their way.
    std::size_t arriving(std::uint32_t begin, std::uint32_t end) {
        std::vector<ProbeVector> vectors;
        append(vectors, {ProbeVector::kNone, ProbeVector::kNone, begin, end});
        std::size_t total = 0;
        for (const double count : ask(vectors)) total += whole(count, "all units", "");
        return total;
    }

    /// Survivors for every pair.
    std::vector<std::size_t> surviving(std::span<const Pair> pairs) {
        std::vector<std::size_t> totals;
        totals.reserve(pairs.size());
        // Lists of bounded length: a round of the search can have millions of pairs.
        const std::size_t parts = (k_ + units_at_once() - 1) / units_at_once();
        const std::size_t step = std::max<std::size_t>(1, kListLength / parts);
        for (std::size_t first = 0; first < pairs.size(); first += step) {
            const std::span<const Pair> some = pairs.subspan(first, std::min(step, pairs.size() - first));
            std::vector<ProbeVector> vectors;
            for (const Pair& pair : some) append(vectors, {pair.i, pair.j, 0, k_});
            const std::vector<double> counts = ask(vectors);
            for (std::size_t p = 0; p < some.size(); ++p) {
                std::size_t total = 0;
                for (std::size_t part = 0; part < parts; ++part) {
                    total += whole(counts[p * parts + part], "+M at " + std::to_string(some[p].i),
                                   " and -M at " + std::to_string(some[p].j));
                }
                totals.push_back(total);
            }
        }
        return totals;
    }

  private:
    static constexpr std::size_t kListLength = 1 << 16;

    std::uint32_t units_at_once() const { return std::min(options_.maximum_units, k_); }

    void append(std::vector<ProbeVector>& vectors, const ProbeVector& whole) const {
        for (std::uint32_t begin = whole.units_begin; begin < whole.units_end;) {
            const std::uint32_t end = begin + std::min(options_.maximum_units, whole.units_end - begin);
            vectors.push_back({whole.plus, whole.minus, begin, end});
            begin = end;
        }
    }

    std::vector<double> ask(std::span<const ProbeVector> vectors) {
        probes_ += vectors.size();
        if (probes_ > options_.maximum_probes)
            throw Contradiction("more than " + std::to_string(options_.maximum_probes) +
                                " probes would be needed");
        std::vector<double> counts = sum_(vectors);
        if (counts.size() != vectors.size())
            throw std::invalid_argument("the probed sum must return one number for every vector");
        return counts;
    }

    std::size_t whole(double count, const std::string& what, const std::string& more) const {
        if (count >= 0 && count <= k_ && count == std::floor(count)) return static_cast<std::size_t>(count);
        throw Contradiction(what + more + " leave " + std::to_string(count) +
                            " units, which is no count of " + std::to_string(k_) +
                            " summands: M does not cancel, or the sum is not exact on units");
    }

    std::uint32_t k_;
    const ProbedSum& sum_;
    const ProbeOptions& options_;
    std::size_t probes_ = 0;
};

/// Leaves that no node reads, by halving. `arrive` of [begin, end) do.
void find_missing(Counter& counter, std::uint32_t begin, std::uint32_t end, std::size_t arrive,
                  std::vector<bool>& missing) {
    if (arrive == end - begin) return;
    if (arrive == 0) {
        std::fill(missing.begin() + begin, missing.begin() + end, true);
        return;
    }
    if (arrive > end - begin)
        throw Contradiction("of units [" + std::to_string(begin) + ", " + std::to_string(end) + ") " +
                            std::to_string(arrive) + " are counted");
    const std::uint32_t middle = begin + (end - begin) / 2;
    const std::size_t left = counter.arriving(begin, middle), right = counter.arriving(middle, end);
    if (left + right != arrive)
        throw Contradiction("units [" + std::to_string(begin) + ", " + std::to_string(end) +
                            ") count differently together and apart");
    find_missing(counter, begin, middle, left, missing);
    find_missing(counter, middle, end, right, missing);
}

/// The search. A problem is a set of leaves: one whole subtree, or several children of one node. Its first
/// leaf is paired with all others; leaves at the same distance form the problems below.
class Search {
  public:
    Search(std::size_t k, const ProbedSum& sum, const ProbeOptions& options)
        : k_(k), options_(options), counter_(k, sum, options), random_(options.seed) {}

    RevealedOrder run() {
        RevealedOrder order;
        try {
            order.tree = reveal();
            check(*order.tree);
        } catch (const Contradiction& contradiction) {
            order.tree.reset();
            order.problem = contradiction.what();
        }
        order.probes = counter_.probes();
        order.complete = complete_;
        return order;
    }

  private:
    struct Group {
        std::size_t size;  ///< of the node that joins the group to the problem's first leaf
        std::size_t problem;
    };
    struct Problem {
        std::vector<std::uint32_t> leaves;
        std::size_t parent_size;    ///< of the node above
        unsigned depth;             ///< of the search
        std::vector<Group> groups;  ///< nearest first
        bool flat = false;          ///< all leaves are taken for children of the node above
    };
    struct Result {
        std::vector<Node> children;  ///< of the root; a single leaf has itself
        std::size_t size, leaves;
    };

    SummationTree reveal() {
        const auto all = static_cast<std::uint32_t>(k_);
        std::vector<bool> missing(k_, false);
        present_ = counter_.arriving(0, all);
        find_missing(counter_, 0, all, present_, missing);
        Problem first;
        for (std::uint32_t leaf = 0; leaf < all; ++leaf)
            if (!missing[leaf]) first.leaves.push_back(leaf);
        first.parent_size = std::numeric_limits<std::size_t>::max();
        first.depth = 0;
        SummationTree::Builder builder(k_);
        if (first.leaves.empty()) return builder.finish(SummationTree::kNone);
        problems_.push_back(std::move(first));
        std::size_t begin = 0;
        while (begin < problems_.size()) {
            const std::size_t end = problems_.size();
            solve_round(begin, end);
            begin = end;
        }
        return assemble(builder);
    }

    /// All problems that are known so far, in one list of probes.
    void solve_round(std::size_t begin, std::size_t end) {
        std::vector<Pair> pairs;
        for (std::size_t p = begin; p < end; ++p) {
            const std::vector<std::uint32_t>& leaves = problems_[p].leaves;
            for (std::size_t i = 1; i < leaves.size(); ++i) pairs.push_back({leaves[0], leaves[i]});
        }
        const std::vector<std::size_t> survivors = counter_.surviving(pairs);
        std::size_t next = 0;
        for (std::size_t p = begin; p < end; ++p) {
            std::map<std::size_t, std::vector<std::uint32_t>> by_size;
            for (std::size_t i = 1; i < problems_[p].leaves.size(); ++i, ++next) {
                const std::size_t size = present_ - std::min(present_, survivors[next]);
                if (size < 2 || size > problems_[p].parent_size)
                    throw Contradiction("summands " + pair_text(pairs[next]) + " meet in a node of " +
                                        std::to_string(size) + ", which fits no tree");
                by_size[size].push_back(problems_[p].leaves[i]);
            }
            for (auto& [size, leaves] : by_size) {
                problems_[p].groups.push_back({size, problems_.size()});
                choose_first(leaves, problems_[p].depth + 1);
                problems_.push_back({std::move(leaves), size, problems_[p].depth + 1, {}, false});
            }
        }
        if (k_ > options_.complete_up_to) guess_flat(end);
    }

    /// The leaf to pair with all others stands first. The first one suits chains that run upwards, the last
    /// one those that run downwards, a random one anything.
    void choose_first(std::vector<std::uint32_t>& leaves, unsigned depth) {
        if (depth == 1) {
            std::swap(leaves.front(), leaves.back());
        } else if (leaves.size() > 2) {
            std::uniform_int_distribution<std::size_t> any(0, leaves.size() - 1);
            std::swap(leaves.front(), leaves[any(random_)]);
        }
    }

    /// Groups that look like the leaves of one fused node are taken for that when some pairs agree.
    void guess_flat(std::size_t begin) {
        std::vector<Pair> pairs;
        std::vector<std::size_t> owner;
        for (std::size_t p = begin; p < problems_.size(); ++p) {
            const std::vector<std::uint32_t>& leaves = problems_[p].leaves;
            if (leaves.size() < 4) continue;
            const auto ask = [&](std::size_t i, std::size_t j) {
                pairs.push_back({leaves[i], leaves[j]});
                owner.push_back(p);
            };
            for (std::size_t i = 0; i + 1 < leaves.size() && i < kFlatLimit; ++i) ask(i, i + 1);
            std::uniform_int_distribution<std::size_t> any(0, leaves.size() - 1);
            for (std::size_t n = 0; n < leaves.size() && n < kFlatLimit; ++n) {
                const std::size_t i = any(random_), j = any(random_);
                if (i != j) ask(i, j);
            }
            problems_[p].flat = leaves.size() <= kFlatLimit;
        }
        const std::vector<std::size_t> survivors = counter_.surviving(pairs);
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            Problem& problem = problems_[owner[i]];
            if (present_ - std::min(present_, survivors[i]) != problem.parent_size) problem.flat = false;
        }
        for (std::size_t p = begin; p < problems_.size(); ++p) {
            Problem& problem = problems_[p];
            if (!problem.flat) continue;
            complete_ = false;
            std::vector<std::uint32_t> rest(problem.leaves.begin() + 1, problem.leaves.end());
            problem.leaves.resize(1);
            flat_rest_[p] = std::move(rest);
        }
    }

    SummationTree assemble(SummationTree::Builder& builder) {
        std::vector<Result> results(problems_.size());
        for (std::size_t p = problems_.size(); p-- > 0;) {
            const Problem& problem = problems_[p];
            Result result{{problem.leaves[0]}, 1, 1};
            if (problem.flat) {
                const std::vector<std::uint32_t>& rest = flat_rest_[p];
                result.children.insert(result.children.end(), rest.begin(), rest.end());
                results[p] = {std::move(result.children), problem.parent_size, rest.size() + 1};
                continue;
            }
            for (const Group& group : problem.groups)
                join(builder, problem, result, group, results[group.problem]);
            results[p] = std::move(result);
        }
        return builder.finish(builder.add(results[0].children));
    }

    void join(SummationTree::Builder& builder, const Problem& problem, Result& result, const Group& group,
              Result& other) {
        const auto contradiction = [&] {
            throw Contradiction("a node of " + std::to_string(group.size) + " summands above summand " +
                                std::to_string(problem.leaves[0]) + " joins " +
                                std::to_string(result.leaves + other.leaves) +
                                ": the counts belong to no tree, or change from run to run");
        };
        if (other.size > group.size || (other.size < group.size && other.leaves != other.size))
            contradiction();
        Result joined{{builder.add(result.children)}, group.size, result.leaves + other.leaves};
        if (other.size == group.size)
            joined.children.insert(joined.children.end(), other.children.begin(), other.children.end());
        else
            joined.children.push_back(builder.add(other.children));
        // Only children of the node above, of which this problem is a part, may be too few.
        if (joined.leaves != group.size && group.size != problem.parent_size) contradiction();
        result = std::move(joined);
    }

    void check(const SummationTree& tree) {
        const SummationTree::PairSizes sizes(tree);
        std::vector<std::uint32_t> leaves;
        for (std::uint32_t leaf = 0; leaf < k_; ++leaf) leaves.push_back(leaf);
        for (const Node leaf : tree.missing()) leaves.erase(std::find(leaves.begin(), leaves.end(), leaf));
        if (leaves.size() < 2) return;
        std::uniform_int_distribution<std::size_t> any(0, leaves.size() - 1);
        std::vector<Pair> pairs;
        while (pairs.size() < options_.repeated_probes) {
            const std::uint32_t i = leaves[any(random_)], j = leaves[any(random_)];
            if (i != j) pairs.push_back({i, j});
        }
        const std::vector<std::size_t> survivors = counter_.surviving(pairs);
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            if (survivors[p] + sizes(pairs[p].i, pairs[p].j) != present_)
                throw Contradiction("summands " + pair_text(pairs[p]) +
                                    " contradict the tree of all others: no tree, or it changes from run to "
                                    "run");
        }
    }

    static std::string pair_text(const Pair& pair) {
        return std::to_string(pair.i) + " and " + std::to_string(pair.j);
    }

    static constexpr std::size_t kFlatLimit = 64;

    std::size_t k_;
    const ProbeOptions& options_;
    Counter counter_;
    std::mt19937_64 random_;
    std::size_t present_ = 0;
    bool complete_ = true;
    std::vector<Problem> problems_;
    std::map<std::size_t, std::vector<std::uint32_t>> flat_rest_;
};

/// Pairs to try a tree with: neighbours at random places, at distances of powers of two, and any.
std::vector<Pair> pairs_to_try(std::size_t k, std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::uint32_t> any(0, static_cast<std::uint32_t>(k - 1));
    std::uniform_int_distribution<unsigned> power(0, 31);
    std::vector<Pair> pairs;
    while (pairs.size() < count) {
        Pair pair{any(random), any(random)};
        if (pairs.size() % 3 == 0) pair.j = pair.i + 1;
        if (pairs.size() % 3 == 1) pair.j = pair.i ^ 1u << power(random);
        if (pair.j < k && pair.i != pair.j) pairs.push_back(pair);
    }
    return pairs;
}

}  // namespace

std::string contradiction(const SummationTree& tree, const ProbedSum& sum, std::size_t probes,
                          const ProbeOptions& options) {
    const std::size_t k = tree.leaf_count();
    try {
        Counter counter(k, sum, options);
        const std::vector<Node> missing = tree.missing();
        const std::size_t present = k - missing.size();
        const std::size_t arriving = counter.arriving(0, static_cast<std::uint32_t>(k));
        if (arriving != present)
            return std::to_string(arriving) + " summands arrive, of the tree " + std::to_string(present);
        if (present < 2) return {};
        std::vector<Pair> pairs = pairs_to_try(k, probes, options.seed);
        const auto absent = [&](std::uint32_t leaf) {
            return std::binary_search(missing.begin(), missing.end(), leaf);
        };
        std::erase_if(pairs, [&](const Pair& pair) { return absent(pair.i) || absent(pair.j); });
        const SummationTree::PairSizes sizes(tree);
        const std::vector<std::size_t> survivors = counter.surviving(pairs);
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const std::size_t size = sizes(pairs[p].i, pairs[p].j);
            if (survivors[p] + size == present) continue;
            return "summands " + std::to_string(pairs[p].i) + " and " + std::to_string(pairs[p].j) +
                   " meet in a node of " + std::to_string(present - survivors[p]) + ", of the tree " +
                   std::to_string(size);
        }
    } catch (const Contradiction& problem) {
        return problem.what();
    }
    return {};
}

RevealedOrder reveal_order(std::size_t k, const ProbedSum& sum, const ProbeOptions& options) {
    if (k == 0) return {SummationTree::Builder(0).finish(SummationTree::kNone), {}, 0, true};
    return Search(k, sum, options).run();
}

}  // namespace heddle::numerics
