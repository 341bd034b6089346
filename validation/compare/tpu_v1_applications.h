// The six applications of the TPU v1 paper ("In-Datacenter Performance Analysis of a Tensor Processing Unit",
// ISCA 2017), rebuilt from what its tables say, as programs for the model of that chip.
//
// The paper gives layers by kind, weights, batch and operations per byte of weights; shapes inside are not
// published. Those here are ours, chosen to agree with the tables: each application says how. Weights are
// read tile by tile (64 KiB, whatever part of a tile is used) into a FIFO of four, as Read_Weights does; a
// layer begins when the one before has written its results; input comes from and output goes to the host once
// per batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/tpu/memory.h"
#include "isa/tpu/program.h"
#include "models/tpu/tpu_config.h"

namespace heddle::validation::tpu_v1 {

/// Matrix products over the same activations, then the activation function.
struct MatrixLayer {
    std::uint32_t rows = 0;      ///< streamed: batch, or batch x positions of a convolution
    std::uint32_t depth = 0;     ///< contraction of one tap
    std::uint32_t columns = 0;   ///< outputs
    std::uint32_t matrices = 1;  ///< side by side: the gates of an LSTM
    std::uint32_t taps = 1;      ///< positions of a convolution's window, each with weights of its own
    bool wide = false;           ///< activations of 16 bits: half the rate
    std::uint32_t rows_at_a_time = 2048;  ///< held by the accumulators
};
/// Elementwise work, or pooling.
struct VectorLayer {
    std::uint32_t rows = 0, columns = 0;
    std::uint32_t passes = 1;
    bool wide = false;
};
struct Layer {
    enum class Kind : std::uint8_t { matrix, vector } kind = Kind::matrix;
    MatrixLayer matrix = {};
    VectorLayer vector = {};
    std::uint32_t times = 1;
};

/// Shares of all cycles, in per cent, as the paper's counters say.
struct Breakdown {
    double active, useful, unused, weight_stall, weight_shift, non_matrix;
};

struct Application {
    std::string name;
    std::string assumption;  ///< which choices are ours
    std::uint32_t batch = 0;
    std::vector<std::vector<Layer>> groups;  ///< each group's layers in order, the whole `repeats` times
    std::vector<std::uint32_t> repeats;
    std::uint64_t input_bytes = 0, output_bytes = 0;
    bool prefetch = true;  ///< weights of a layer are asked for while the one before is still at work
    Breakdown published{};
    double published_tops = 0;

    double weights() const;          ///< numbers
    double multiplications() const;  ///< useful ones, per batch
};

/// MLP0, MLP1, LSTM0, LSTM1, CNN0, CNN1.
const std::vector<Application>& applications();

/// One batch. Makes the allocations that it needs in `memory`, without values.
tpu::Program program_of(const Application& application, const models::TpuConfig& device, tpu::Memory& memory);

}  // namespace heddle::validation::tpu_v1
