// Residual networks for images (He et al., 2016), as in torchvision: the stride of a bottleneck is in its 3 x
// 3 convolution.
#pragma once

#include "workloads/zoo/network.h"

namespace heddle::zoo {

/// Sizes and training options of a residual network.
struct ResNetOptions {
    std::int64_t depth = 50;  ///< 18, 34, 50, 101, 152
    std::int64_t image = 224, classes = 1000, batch = 1;
    std::int64_t width = 64;     ///< channels of the first stage
    bool channels_last = false;  ///< [N, H, W, C] in memory
    StepOptions step;
};

/// Builds one training step.
trace::Trace resnet(const std::string& name, const ResNetOptions& options);

/// Convolution without bias and batch norm; x is [N, C, H, W] or, channels last, [N, H, W, C]. Parameters
/// name.weight, name.norm.gamma, name.norm.beta.
TensorId convolution_and_norm(Network& network, const std::string& name, TensorId x, std::int64_t filters,
                              std::int64_t window, std::int64_t stride, bool channels_last);

/// Sizes and training options of the LSTM.
struct LstmOptions {
    std::int64_t layers = 2, hidden = 650, vocabulary = 10000, batch = 20, sequence = 35;
    StepOptions step;
};

/// A language model of LSTM layers (Zaremba et al., 2014, "medium"): embedding, layers with dropout between
/// them, a head of its own. Parameters: 2 V H + V + layers (8 H^2 + 4 H).
trace::Trace lstm(const std::string& name, const LstmOptions& options);

}  // namespace heddle::zoo
