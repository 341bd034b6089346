// How a model is trained: precision, optimizer, micro-batches and recomputation, with the same options for
// all models.
#pragma once

#include <functional>
#include <string>

#include "workloads/zoo/optimizer.h"

namespace heddle::zoo {

/// How attention is recorded.
enum class AttentionForm : std::uint8_t {
    automatic,  ///< fused where a GPU kernel for it exists (16 bits, heads of 64 or 128), else composed
    fused,      ///< one op forward and one backward
    composed,   ///< scores, mask, softmax, product: an op each
};

/// How devices that share a sequence exchange keys and values.
enum class ContextExchange : std::uint8_t {
    ring,        ///< handed round beside the attention to those that are there (Liu et al., 2023)
    all_gather,  ///< all at once before it
};

/// From which values the scale of a tensor that is rounded to 8 bits follows.
enum class Fp8Recipe : std::uint8_t {
    delayed,  ///< the largest of the last 16 steps, so that one pass over a tensor is enough
    current,  ///< its own largest, which takes a pass of its own before
};

/// How a model is trained.
struct StepOptions {
    /// The type of activations, their gradients and the weights that ops read. Below f32, master weights stay
    /// f32 and are cast when they are first read; logits and loss are always f32. tf32 is a format of the
    /// tensor cores' inputs; in memory it is f32.
    ElementType type = ElementType::f32;
    /// Products of linear layers in 8 bits, where rows, inputs and outputs are multiples of 16: e4m3 forward,
    /// e5m2 for gradients, a scale for each tensor (delayed or current scaling, as in NVIDIA's Transformer
    /// Engine).
    bool fp8 = false;
    Fp8Recipe fp8_recipe = Fp8Recipe::delayed;
    Recompute recompute = Recompute::none;
    std::int64_t micro_batches = 1;  ///< the batch in as many parts, whose gradients are added up in f32
    AttentionForm attention = AttentionForm::automatic;
    double dropout = 0;
    OptimizerOptions optimizer;
    /// For transformers: the number of devices that share each layer; the trace is one device's part (Shoeybi
    /// et al., Megatron-LM, 2019). Heads, the width of MLPs and the vocabulary are divided, and collectives
    /// of the group "tensor" are ops of the trace.
    std::int64_t tensor = 1;
    /// With `tensor`: norms, dropout and sums between the shared layers see a part of the tokens (Korthikanti
    /// et al., 2022).
    bool sequence_parallel = false;
    /// Devices that share the experts of every mixture; collectives of the group "expert".
    std::int64_t expert = 1;
    /// How unevenly tokens choose experts: the r-th most popular is chosen in proportion to r^-skew (Zipf);
    /// 0: evenly. Experts are assigned to devices in the order of their popularity; the trace is that of the
    /// fullest device.
    double expert_skew = 0;
    /// For decoders: the number of devices that share each sequence; every device has two chunks, so that
    /// causal attention is the same work for all (Megatron-LM). Collectives have the group "context".
    std::int64_t context = 1;
    ContextExchange context_exchange = ContextExchange::ring;
    /// Gives every op an attribute "part": 0 before the first block, then one number for each block and for
    /// what lies between blocks, in order.
    bool parts = false;
};

/// Throws heddle::Error naming "<model> option <key>".
void check(const StepOptions& options, const std::string& model);

class Network;

/// Builds one training step. `forward` records a micro-batch and returns its loss, a scalar; it is called
/// once for each micro-batch. Then the optimizer updates every parameter that was read.
trace::Trace record_step(const std::string& name, const StepOptions& options,
                         const std::function<TensorId(Network&)>& forward);

}  // namespace heddle::zoo
