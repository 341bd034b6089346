// Multi-layer perceptron classifier: linear layers with bias, ReLU between them, mean softmax cross-entropy,
// SGD.
#pragma once

#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::zoo {

/// Sizes and training options of the model.
struct MlpOptions {
    std::int64_t batch = 256;
    /// Input features, hidden widths, classes.
    std::vector<std::int64_t> widths = {784, 512, 256, 10};
    /// The type of activations, their gradients and the weights that matmuls read. Below f32, master weights
    /// stay f32 and are cast at the start of the step; logits and loss are always f32 (Micikevicius et al.,
    /// Mixed Precision Training, 2018).
    trace::ElementType type = trace::ElementType::f32;
    double learning_rate = 0.1;
    double momentum = 0;    ///< 0: plain SGD without state
    double loss_scale = 1;  ///< multiplies the loss before the backward pass, divided out in the update
};

/// Builds one training step. Weights are [out, in] as in PyTorch: y = x W^T + b. The number of parameters is
/// the sum of in * out + out over layers.
trace::Trace mlp(const MlpOptions& options);

}  // namespace heddle::zoo
