// GPT: a decoder-only transformer (Radford et al., 2019) with one training step: token and position
// embedding, pre-layer-norm blocks of causal attention and a GELU MLP, cross-entropy of the next token, SGD
// or AdamW.
#pragma once

#include "workloads/trace/trace.h"
#include "workloads/zoo/step.h"

namespace heddle::zoo {

/// Sizes and training options of the model.
struct GptOptions {
    std::int64_t layers = 2, hidden = 128, heads = 2;
    std::int64_t feed_forward = 0;  ///< 0: 4 * hidden
    std::int64_t batch = 4, sequence = 64, vocabulary = 256;
    /// The type of activations, their gradients and the weights that ops read. Below f32, master weights stay
    /// f32 and are cast at the start of the step; logits and loss are always f32.
    trace::ElementType type = trace::ElementType::f32;
    AttentionForm attention = AttentionForm::automatic;
    bool tied = false;  ///< the head is the token embedding transposed
    /// Every sum has an order that depends only on the step: attention is composed, and the gradient of the
    /// token embedding is a product with a one-hot matrix instead of additions in memory in an arbitrary
    /// order.
    bool deterministic = false;
    OptimizerOptions optimizer;
};

/// Builds one training step on one batch of tokens. With D hidden, F feed_forward, S sequence and V
/// vocabulary, the number of parameters is V D + S D + layers (4 D^2 + 4 D + 2 D F + F + D + 4 D) + 2 D, plus
/// V D for a head that is not tied. Query, key and value have separate projections. Weights are [out, in] as
/// in PyTorch.
trace::Trace gpt(const GptOptions& options);

}  // namespace heddle::zoo
