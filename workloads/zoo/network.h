// The layers that models are written in. A Network records one training step; parameters are declared by name
// where they are first read.
#pragma once

#include "workloads/zoo/step.h"

namespace heddle::zoo {

/// The place of the heads of an attention operand: row t of [tokens, width] holds head h at offset + h *
/// head_dim.
struct Heads {
    TensorId rows = 0;
    std::int64_t width = 0, offset = 0;
};

/// The sizes of one attention layer.
struct AttentionSizes {
    std::int64_t batch = 1, queries = 1, keys = 1;  ///< tokens are batch * queries and batch * keys
    std::int64_t heads = 1, key_heads = 1, head_dim = 64;
    bool causal = false;
    double scale = 0;  ///< of scores; 0: 1 / sqrt(head_dim)
    /// Added to the scores: [heads, queries, keys]. Needs composed attention.
    std::optional<TensorId> bias;
};

/// How full experts are when the r-th most popular one is chosen in proportion to r^-skew (Zipf) and experts
/// are assigned to devices in that order.
struct ExpertLoad {
    double slots = 1;    ///< slots of an expert, as a multiple of tokens / experts
    double dropped = 0;  ///< fraction of the tokens that find no slot
};

/// Computes the load. `capacity` is the number of slots as a multiple of tokens / experts; 0: as many as the
/// experts of the fullest device need on average.
ExpertLoad expert_load(std::int64_t experts, std::int64_t devices, double skew, double capacity);

/// Records the layers of one model.
class Network {
  public:
    Network(const std::string& name, const StepOptions& options);

    Tape& tape() { return tape_; }
    const StepOptions& options() const { return options_; }
    ElementType type() const { return type_; }  ///< of activations in memory
    const Shape& shape(TensorId id) const { return tape_.tensor(id).shape; }

    /// Declares data of one micro-batch.
    TensorId input(const std::string& name, ElementType type, Shape shape, TensorRole role);
    /// Declares numbers that every step reads; the same name gives the same tensor. See
    /// reference::initial_values().
    TensorId constant(const std::string& name, ElementType type, const Shape& shape);
    /// Returns the tensor that layers read: a copy of the parameter in their type, or the master weights
    /// themselves.
    TensorId parameter(const std::string& name, const Shape& shape);
    /// Ops until the next block or end_block() may be computed again (StepOptions::recompute).
    void begin_block() { tape_.begin_segment(options_.recompute); }
    void end_block() { tape_.end_segment(); }

    /// [rows, in] -> [rows, out]; parameters name.weight [out, in] and name.bias [out].
    TensorId linear(const std::string& name, TensorId x, std::int64_t out, bool bias = true);
    /// Does the same with an existing weight.
    TensorId linear_with(const std::string& name, TensorId x, TensorId weight,
                         std::optional<TensorId> bias = {});
    TensorId layer_norm(const std::string& name, TensorId x, double epsilon = 1e-5);
    TensorId rms_norm(const std::string& name, TensorId x, double epsilon = 1e-5);
    /// x [rows, channels], or [N, C, ...]; with running statistics.
    TensorId batch_norm(const std::string& name, TensorId x);
    /// relu, gelu (by erf), gelu_tanh, silu, tanh, sigmoid.
    TensorId activation(const std::string& name, TensorId x, const std::string& function);
    TensorId add(const std::string& name, TensorId x, TensorId y);
    /// Returns x when the step has no dropout.
    TensorId dropout(const std::string& name, TensorId x);
    TensorId dropout(const std::string& name, TensorId x, double probability);
    TensorId embedding(const std::string& name, TensorId tokens, std::int64_t rows, std::int64_t width);

    bool fused(const AttentionSizes& sizes) const;
    /// Query, key and value heads of x [batch * sequence, hidden]: one product for all three where attention
    /// is fused and not grouped, else three. Parameters name.qkv or name.query, name.key, name.value.
    struct QueryKeyValue {
        Heads q, k, v;
    };
    QueryKeyValue query_key_value(const std::string& name, TensorId x, const AttentionSizes& sizes,
                                  bool bias);
    /// Rotates the heads by their position (RoPE, with halves paired).
    Heads rotary(const std::string& name, const Heads& x, std::int64_t batch, std::int64_t sequence,
                 std::int64_t heads, std::int64_t head_dim, double theta);
    /// [batch * queries, heads * head_dim]
    TensorId attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                       const AttentionSizes& sizes);

    /// One LSTM layer over x [time * batch, in]; the result is [time * batch, width]. Parameters name.input
    /// [4 width, in], name.recurrent [4 width, width], name.bias [4 width]. All products with x are one, as
    /// are the gradients of both weights.
    TensorId lstm(const std::string& name, TensorId x, std::int64_t time, std::int64_t width);

    struct MixtureOptions {
        std::int64_t experts = 8, feed_forward = 0;
        /// Slots of an expert over tokens / experts; 0: no limit, as many as the fullest device needs.
        double capacity = 1.25;
        double balance = 0.01;  ///< weight of the loss that spreads tokens evenly
        std::string function = "relu";
    };
    /// Switch layer (Fedus et al., 2022): each token goes to the expert that its router likes best, in the
    /// order of the tokens until the expert is full; the rest get 0. Its loss is added by loss().
    TensorId mixture(const std::string& name, TensorId x, const MixtureOptions& options);

    /// Returns one device's part of `count` heads, columns or tokens (StepOptions::tensor). Throws
    /// heddle::Error when they cannot be divided evenly.
    std::int64_t share(const std::string& what, std::int64_t count) const;
    /// Enclose layers that devices share: enter_shared() comes before the first (whose columns are divided),
    /// leave_shared() after the last (whose rows are divided). They return the same tensor where nothing is
    /// shared.
    TensorId enter_shared(const std::string& name, TensorId x);
    TensorId leave_shared(const std::string& name, TensorId x);

    /// Returns the rows first + i * step of x for each i < count.
    TensorId every(const std::string& name, TensorId x, std::int64_t count, std::int64_t step);
    /// Returns the mean cross-entropy of logits [rows, classes] in f32, plus the losses that mixtures add.
    TensorId loss(TensorId logits, TensorId labels);

  private:
    friend trace::Trace record_step(const std::string& name, const StepOptions& options,
                                    const std::function<TensorId(Network&)>& forward);

    TensorId fused_attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                             const AttentionSizes& sizes);
    /// Records attention over all keys of a sequence of which this device has a part (StepOptions::context):
    /// first its own part, then those of all other devices. The trace describes the work and the messages;
    /// the values are not combined.
    TensorId context_attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                               const AttentionSizes& sizes);
    TensorId composed_attention(const std::string& name, const Heads& q, const Heads& k, const Heads& v,
                                const AttentionSizes& sizes);
    TensorId to_heads(const std::string& name, const Heads& x, std::int64_t batch, std::int64_t sequence,
                      std::int64_t heads, std::int64_t head_dim);
    TensorId dispatch(const std::string& name, TensorId x, TensorId slots, std::int64_t experts,
                      std::int64_t capacity);
    TensorId combine(const std::string& name, TensorId y, TensorId slots, TensorId gates);
    /// [experts, capacity, width] of this device's tokens <-> [experts / n, n * capacity, width] of its
    /// experts.
    TensorId to_experts(const std::string& name, TensorId x);
    TensorId from_experts(const std::string& name, TensorId x);
    static TensorId collective(Tape& tape, const std::string& name, const std::string& kind,
                               const std::string& group, std::int64_t size, TensorId x, Shape result);
    TensorId pair(const std::string& name, TensorId x, const Shape& result, const std::string& forward,
                  const std::string& backward, const std::string& group, std::int64_t size);
    TensorId linear_in_8_bits(const std::string& name, TensorId x, TensorId weight,
                              std::optional<TensorId> bias);
    /// Scales of the next step from the largest values of the last ones.
    void adapt_scales();
    /// Returns the same in f32, with its gradient multiplied by the loss scale that is kept on the device.
    TensorId scaled(const std::string& name, TensorId x);
    TensorId loss_scale();

    Tape tape_;
    StepOptions options_;
    ElementType type_;
    std::int64_t micro_batch_ = 0, dropouts_ = 0;
    std::vector<TensorId> masters_;
    std::map<TensorId, std::int64_t> part_of_master_;
    std::map<std::string, TensorId> read_, constants_;
    std::vector<TensorId> more_losses_;
    std::optional<TensorId> loss_scale_;

    /// Scales of all tensors that are rounded to one 8-bit type, by place.
    struct Scales {
        std::string name;
        ElementType type = ElementType::e4m3;
        double largest = 448;
        std::int64_t count = 0;
        /// [count]: kept from step to step, as this step reads them, one over that, largest values; [16,
        /// count]
        TensorId state = 0, scale = 0, inverse = 0, largest_now = 0, history = 0;
    };
    std::int64_t place_in(Scales& scales);
    static TensorId in_8_bits(Tape& tape, const std::string& name, TensorId x, const Scales& scales,
                              std::int64_t place);
    /// One operand of a product: 8-bit numbers, and where one over their scale lies.
    struct Scaled {
        TensorId values = 0, inverse_scales = 0;
        std::int64_t place = 0;
    };
    /// Rounds to 8 bits by the recipe. With delayed scaling `place` is one of `scales`.
    static Scaled rounded(Tape& tape, const std::string& name, TensorId x, const Scales& scales, std::int64_t place,
                          Fp8Recipe recipe);
    static TensorId product(Tape& tape, const std::string& name, const Scaled& a, const Scaled& b, bool transpose_a,
                            bool transpose_b, std::optional<TensorId> bias, ElementType type);
    Scales forward_scales_{"fp8_forward", ElementType::e4m3, 448, 0, 0, 0, 0, 0, 0};
    Scales gradient_scales_{"fp8_gradient", ElementType::e5m2, 57344, 0, 0, 0, 0, 0, 0};
    std::map<TensorId, Scaled> weights_in_8_bits_;
};

}  // namespace heddle::zoo
