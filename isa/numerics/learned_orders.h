// Plans from recorded trees: what FPRev revealed of one algorithm at some K, said for every K.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "isa/numerics/cublas_plan.h"
#include "isa/numerics/reduction_plan.h"

namespace heddle::numerics {

/// The plans with exactly this tree: first those of `guesses`, in their order, then those of a family around
/// `base` (formats, arithmetic, splits and merge as in `base`; the fused length from the tree; tiles,
/// residue, promotion, accumulators and grain of splits varied), the simplest first. Plans that differ only
/// at other K are all in the list. Empty: none has it. A tree without fused nodes makes fused multiply-adds
/// of a tensor core in `base`.
std::vector<ReductionPlan> plans_with_tree(const SummationTree& tree, const ReductionPlan& base,
                                           std::span<const ReductionPlan> guesses = {});

/// Recorded orders by what decides them: types, compute type, algorithm id, stages, custom option, inner
/// shape, reduction scheme, number of slices, and what the kernel's name tells of K.
class LearnedOrders {
  public:
    /// Takes a tree that FPRev revealed of this algorithm at gemm.k.
    void add(const CublasGemm& gemm, const SummationTree& tree);
    /// The plan that the recorded trees leave for this problem, first of all plan_of() if no tree contradicts
    /// it. The reason says which, or why there is none: no tree of the same algorithm, a tree outside of the
    /// family, trees that contradict each other, or several plans left that differ at this K.
    CublasPlan plan(const CublasGemm& gemm) const;
    std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        std::vector<ReductionPlan> plans;
        std::vector<std::size_t> k;  ///< of the trees
        std::map<std::size_t, SummationTree> trees;
        bool contradiction = false;
    };
    std::map<std::string, Entry> entries_;
};

}  // namespace heddle::numerics
