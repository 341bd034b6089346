// What the gradient kernels of attention do to scores between the products: the mask, weights from the stored
// log-sum-exps, dropout, gradients of the scores. Scores are transposed (16 keys of a warp by queries), so
// that weights and their gradients are, in registers, the A fragments of the products that make dV and dK.
#pragma once

#include <optional>

#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {

/// One number per query, for the thread's columns 8 j + 2 t + e: [j][e].
using PerQuery = std::vector<std::vector<Reg>>;
/// Fragments of A: [16 keys][16 queries][4].
using PackedWeights = std::vector<std::vector<std::vector<Reg>>>;

/// Emits that part of a gradient kernel.
class AttentionGradWeights {
  public:
    struct Spec {
        ElementType type = ElementType::bf16;
        unsigned step_queries = 64;  ///< of a step
        bool causal = false;
        bool mask_queries = true;  ///< queries beyond the last one must be hidden; else their weights are 0
        bool dropout = false, narrow_dropout = false;
    };
    /// Declares the parameters scale (f32) and, with dropout, its own.
    AttentionGradWeights(PtxWriter& w, const Spec& spec);

    const Reg& scale() const { return scale_; }
    const AttentionDropout* dropout() const { return dropout_ ? &*dropout_ : nullptr; }

    struct Place {
        Reg lane, warp_key;       ///< b32; the warp's first key, from the tensor's first
        Reg first_key, last_key;  ///< b32: of the keys that pass or fail the mask together
        Reg queries, keys;        ///< b32
        Reg first_query;          ///< b32, of the present step; changes
        Reg matrix_row;           ///< b64: (batch * heads + head) * queries
    };
    void begin(const Place& place);
    const Reg& pair_column() const { return pair_column_; }  ///< b32: 2 t
    const Reg& key_in_eight() const { return group_; }       ///< b32: lane / 4

    /// Scores that do not count become -infinity: keys after the query's last, what lies beyond the ends.
    void mask(const AccumulatorTile& scores);
    /// Scores become weights: exp2(score * scale * log2(e) + shift).
    void exponentials(const AccumulatorTile& scores, const PerQuery& shift);
    /// `gradients`, of the weights, become those of the scores (without the factor `scale`). Returns the
    /// weights that the values were multiplied by, packed, without dropout's factor.
    PackedWeights finish(const AccumulatorTile& scores, AccumulatorTile& gradients, const PerQuery& delta);
    /// The generator goes on to the next step.
    void next_step();

  private:
    PackedWeights drop(const AccumulatorTile& scores, AccumulatorTile& gradients, const PerQuery& delta);

    PtxWriter& w_;
    Spec spec_;
    Reg scale_, scale_log2_;
    std::optional<AttentionDropout> dropout_;
    Place place_;
    Reg offset_, group_, pair_column_;
    Reg weight_, row_elements_, odd_key_, is_odd_;
};

}  // namespace heddle::kernels
