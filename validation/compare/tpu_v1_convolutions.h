// CNN0 and CNN1 of the TPU v1 paper as convolution ops, lowered as any step's are: images in the Unified
// Buffer, im2col on the fly, weights from DDR3. tpu_v1_applications.h writes the same layers as one program
// by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validation/compare/result.h"
#include "workloads/trace/trace.h"

namespace heddle::validation::tpu_v1 {

/// A convolution over square images with results of the same size, of int8 as all layers; a dense layer has
/// images and windows of one pixel.
struct ConvolutionLayer {
    std::int64_t image = 1, channels = 0, filters = 0, window = 1;
    std::uint32_t times = 1;
};

struct ConvolutionNet {
    std::string name;
    std::string assumption;  ///< which choices are ours
    std::int64_t batch = 0;
    std::vector<ConvolutionLayer> layers;

    double weights() const;
    double multiplications() const;  ///< per batch; borders' zeros count, as the array multiplies them
};

/// CNN0 and CNN1.
const std::vector<ConvolutionNet>& convolution_nets();

/// The layer as an op of a trace.
trace::Trace trace_of(const ConvolutionNet& net, const ConvolutionLayer& layer);

/// Beside the paper's shares and TOPS. No bar: an op brings its own weights before it begins, where the
/// application asks for those of the next layer while one is at work.
Comparison compare_convolutions(const CompareOptions& options);

}  // namespace heddle::validation::tpu_v1
