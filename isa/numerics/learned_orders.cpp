#include "isa/numerics/learned_orders.h"

#include <algorithm>
#include <stdexcept>

#include "isa/numerics/cublas_kernel_name.h"

namespace heddle::numerics {
namespace {

/// The most summands that one node adds besides sums: L; 1 for plain additions.
unsigned fused_length(const SummationTree& tree) {
    std::size_t longest = 1;
    for (auto node = static_cast<SummationTree::Node>(tree.leaf_count()); node < tree.node_count(); ++node) {
        const std::span<const SummationTree::Node> children = tree.children(node);
        if (children.size() < 3) continue;
        const auto leaves = static_cast<std::size_t>(
            std::count_if(children.begin(), children.end(),
                          [&](SummationTree::Node child) { return tree.is_leaf(child); }));
        longest = std::max(longest, leaves);
    }
    return static_cast<unsigned>(longest);
}

class Family {
  public:
    Family(const SummationTree& tree, ReductionPlan base) : tree_(tree), k_(tree.leaf_count()), base_(base) {}

    std::vector<ReductionPlan> find(std::span<const ReductionPlan> guesses) {
        const bool one = std::any_of(guesses.begin(), guesses.end(),
                                     [](const ReductionPlan& guess) { return guess.accumulators == 1; });
        for (const ReductionPlan& guess : guesses)
            if (!one || shows_accumulators(guess)) try_plan(guess);
        const unsigned length = fused_length(tree_);
        if (!fit_arithmetic(length)) return found_;
        blocks_ = {base_.block_k};
        for (const unsigned block_k : {8u, 16u, 32u, 64u, 128u, 256u})
            if (block_k >= length) blocks_.push_back(block_k);
        vary_tiles({ResidueTile::last, ResidueTile::first}, ChunkRule::ceiling);
        if (found_.empty()) vary_accumulators();
        // What no library is known to do is not held against the plans above, only tried after them.
        if (found_.empty()) vary_tiles({ResidueTile::last, ResidueTile::first}, ChunkRule::balanced);
        if (found_.empty()) vary_tiles({ResidueTile::wrapped}, ChunkRule::ceiling);
        return found_;
    }

  private:
    bool fit_arithmetic(unsigned length) {
        if (base_.arithmetic == Arithmetic::integer) return false;
        if (base_.arithmetic != Arithmetic::tensor_core) return length == 1;
        if (length == 1 && k_ > 2) {
            base_.arithmetic = Arithmetic::fused_multiply_add;
            base_.accumulator = base_.a == Element::fp64 ? Element::fp64 : Element::fp32;
            // fp32 numbers are not cut to tf32 there.
            if (base_.a == Element::tf32) base_.a = base_.b = Element::fp32;
            base_.instruction_k = 1;
            return true;
        }
        // One short block says nothing of longer ones.
        if (length < base_.tensor_core.block_length && k_ > length) base_.tensor_core.block_length = length;
        if (length > base_.tensor_core.block_length) base_.tensor_core.block_length = length;
        base_.instruction_k = std::max(base_.instruction_k, length);
        return true;
    }

    /// False where K is too short for more than one of the plan's accumulators: a chain then is no sign of
    /// them.
    bool shows_accumulators(const ReductionPlan& plan) const {
        if (plan.accumulators == 1) return true;
        ReductionPlan single = plan;
        single.accumulators = 1;
        return summation_tree(single, k_) != summation_tree(plan, k_);
    }

    bool has_tree(const ReductionPlan& plan) const {
        try {
            return summation_tree(plan, k_) == tree_;
        } catch (const std::invalid_argument&) {  // lengths that do not go together
            return false;
        }
    }

    void keep(const ReductionPlan& plan) {
        if (std::find(found_.begin(), found_.end(), plan) == found_.end()) found_.push_back(plan);
    }

    void try_plan(const ReductionPlan& plan) {
        if (has_tree(plan)) keep(plan);
    }

    /// Slices by other grains, and the defect of the short tile, where there are slices.
    void vary_split(ReductionPlan plan) {
        if (plan.splits < 2) {
            try_plan(plan);
            return;
        }
        for (const unsigned grain : {plan.block_k, 64u, 8u, 32u, 16u, 128u, 1u}) {
            plan.split_grain = grain;
            plan.drops_tail = !tree_.missing().empty();
            try_plan(plan);
        }
    }

    void vary_tiles(const std::vector<ResidueTile>& residues, ChunkRule rule) {
        if (rule == ChunkRule::balanced && base_.splits < 2) return;
        for (const unsigned promotion : {0u, base_.promotion_interval, 128u, 64u, 32u, 256u, 512u}) {
            for (const unsigned block_k : blocks_) {
                for (const ResidueTile residue : residues) {
                    // Tiles without a short one at the front are nothing but a chain.
                    if (residue == ResidueTile::last && block_k != blocks_[0]) continue;
                    ReductionPlan plan = base_;
                    plan.accumulators = 1;
                    plan.chunk_rule = rule;
                    plan.promotion_interval = promotion;
                    plan.block_k = block_k;
                    plan.residue = residue;
                    vary_split(plan);
                }
            }
            if (!found_.empty()) return;
        }
    }

    void vary_accumulators() {
        for (const unsigned accumulators : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u}) {
            for (const Combination combination :
                 {Combination::forward, Combination::neighbours_first, Combination::halves_first,
                  Combination::warps_then_forward, Combination::warps_then_halves}) {
                // Two have one order; within a warp halves are halves.
                if (accumulators == 2 && combination != Combination::forward) continue;
                if (accumulators <= 32 && combination > Combination::halves_first) continue;
                if (accumulators == 64 && combination == Combination::warps_then_halves) continue;
                ReductionPlan plan = base_;
                plan.promotion_interval = 0;
                plan.accumulators = accumulators;
                plan.combination = combination;
                vary_dealing(plan);
            }
            if (!found_.empty()) return;
        }
    }

    void vary_dealing(ReductionPlan plan) {
        for (const unsigned group : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 0u}) {
            const unsigned turn = group * plan.accumulators;
            plan.accumulator_group = group;
            // Whether the tree is the recorded one, by what of the tiles matters to it: trees are costly.
            std::map<std::pair<std::size_t, unsigned>, bool> known;
            for (const unsigned block_k : blocks_) {
                for (const ResidueTile residue : {ResidueTile::last, ResidueTile::first}) {
                    plan.block_k = std::max(block_k, turn);
                    plan.residue = residue;
                    if (plan.splits > 1) {
                        vary_split(plan);
                        continue;
                    }
                    const std::size_t front = residue == ResidueTile::first ? k_ % plan.block_k : 0;
                    const bool whole_turns = turn != 0 && plan.block_k % turn == 0;
                    const auto [entry, first] =
                        known.try_emplace({front, whole_turns ? 0 : plan.block_k}, false);
                    if (first) entry->second = has_tree(plan);
                    if (entry->second) keep(plan);
                }
            }
        }
    }

    const SummationTree& tree_;
    std::size_t k_;
    ReductionPlan base_;
    std::vector<unsigned> blocks_;
    std::vector<ReductionPlan> found_;
};

std::string key_of(const CublasGemm& gemm) {
    const CublasKernelName name = parse_cublas_kernels(gemm.kernels);
    std::string key = std::string(name_of(gemm.a)) + " " + name_of(gemm.b);
    for (const int number :
         {static_cast<int>(gemm.compute), gemm.fast_accumulation ? 1 : 0,
          static_cast<int>(gemm.compute_capability), gemm.algorithm, gemm.stages, gemm.custom_option,
          gemm.inner_shape, gemm.reduction_scheme, std::max(1, gemm.split_k), static_cast<int>(name.family),
          static_cast<int>(name.block_k), static_cast<int>(name.instruction_k),
          static_cast<int>(name.slices_of_k), name.scalar ? 1 : 0, name.followed_by_reduce ? 1 : 0})
        key += " " + std::to_string(number);
    return key;
}

/// The plan of an entry for another problem: its own formats, epilogue and merge.
ReductionPlan adapted(ReductionPlan plan, const CublasGemm& gemm) {
    plan.c = gemm.c;
    plan.d = gemm.d;
    plan.bias = gemm.bias;
    plan.epilogue = gemm.epilogue;
    return plan;
}

}  // namespace

std::vector<ReductionPlan> plans_with_tree(const SummationTree& tree, const ReductionPlan& base,
                                           std::span<const ReductionPlan> guesses) {
    return Family(tree, base).find(guesses);
}

void LearnedOrders::add(const CublasGemm& gemm, const SummationTree& tree) {
    Entry& entry = entries_[key_of(gemm)];
    const std::size_t k = tree.leaf_count();
    const auto [known, inserted] = entry.trees.emplace(k, tree);
    if (!inserted) {
        if (known->second != tree) entry.contradiction = true;
        return;
    }
    const std::vector<ReductionPlan> guesses = likely_plans(gemm);
    if (guesses.empty()) return;
    if (entry.k.empty()) {
        entry.plans = plans_with_tree(tree, guesses.front(), guesses);
    } else {
        // A plan that a short K does not tell apart may be the first one outside of an early list.
        std::vector<ReductionPlan> plans = plans_with_tree(tree, guesses.front(), guesses);
        plans.insert(plans.begin(), entry.plans.begin(), entry.plans.end());
        std::vector<ReductionPlan> kept;
        for (const ReductionPlan& plan : plans) {
            const bool all = std::all_of(entry.trees.begin(), entry.trees.end(), [&](const auto& recorded) {
                return summation_tree(plan, recorded.first) == recorded.second;
            });
            if (all && std::find(kept.begin(), kept.end(), plan) == kept.end()) kept.push_back(plan);
        }
        entry.plans = std::move(kept);
    }
    entry.k.push_back(k);
}

CublasPlan LearnedOrders::plan(const CublasGemm& gemm) const {
    CublasPlan certain = plan_of(gemm);
    const auto found = entries_.find(key_of(gemm));
    if (found == entries_.end()) {
        if (certain.plan) return certain;
        return {std::nullopt, certain.reason + "; no order of it was revealed"};
    }
    const Entry& entry = found->second;
    if (entry.contradiction) return {std::nullopt, "the orders revealed at one K contradict each other"};
    if (certain.plan) {
        for (const auto& [k, tree] : entry.trees)
            if (summation_tree(*certain.plan, k) != tree)
                return {std::nullopt, certain.reason + " is contradicted by the order revealed at K = " +
                                          std::to_string(k)};
        return {certain.plan, certain.reason + ", confirmed by FPRev"};
    }
    if (entry.plans.empty()) return {std::nullopt, "the order revealed is none that plans can say"};
    const ReductionPlan& first = entry.plans.front();
    const SummationTree here = summation_tree(first, gemm.k);
    for (const ReductionPlan& other : entry.plans) {
        if (summation_tree(other, gemm.k) != here)
            return {std::nullopt, "the orders revealed leave several that differ at this K"};
    }
    return {adapted(first, gemm), "order revealed by FPRev: " + describe(first)};
}

}  // namespace heddle::numerics
