// How a training step is distributed over devices: all forms of parallelism and their combination.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::parallel {

/// The order in which a pipeline's stages execute the passes of their micro-batches.
enum class PipelineSchedule : std::uint8_t {
    gpipe,                 ///< all forward passes, then all backward (Huang et al., 2019)
    one_forward_one_back,  ///< 1F1B (PipeDream-Flush; Narayanan et al., 2021)
    interleaved,           ///< 1F1B over several chunks of layers for each device (Narayanan et al., 2021)
    zero_bubble,  ///< gradients of weights fill the time in which 1F1B is idle (Qi et al., 2023, ZB-H1)
};

/// How data-parallel devices combine their gradients or weights.
enum class DataParallel : std::uint8_t {
    all_reduce,        ///< gradients in buckets beside the backward pass, as PyTorch's DDP
    parameter_server,  ///< central, synchronous: gradients there, weights back
    asynchronous,      ///< central; no device waits for another
    local_sgd,         ///< weights are averaged every few steps
};

/// Which activations are computed again in the backward pass: none; all except the results of products with
/// weights, of convolutions and of fused attention; or all of a part.
enum class Recomputation : std::uint8_t { none, selective, full };

/// How a step is distributed over devices.
struct ParallelPlan {
    std::int64_t data = 1, tensor = 1, pipeline = 1, expert = 1, context = 1;
    /// How devices of a context group exchange keys and values: passed round in a ring during attention, or
    /// gathered before it.
    bool context_ring = true;
    double expert_skew = 0;  ///< tokens choose the r-th most popular expert in proportion to r^-skew
    bool sequence_parallel =
        false;  ///< with tensor: between shared layers each device has a part of the tokens

    std::int64_t micro_batch = 1;    ///< sequences of one micro-batch
    std::int64_t micro_batches = 1;  ///< of one device in one step
    PipelineSchedule schedule = PipelineSchedule::one_forward_one_back;
    std::int64_t chunks = 1;  ///< of layers for each device: interleaved
    /// Passes wait until their messages have arrived, as in Megatron-LM, where one call handles both
    /// directions.
    bool blocking_sends = false;
    bool scatter_gather = true;  ///< between stages each device of a tensor group sends only its part
    Recomputation recompute = Recomputation::none;

    DataParallel data_parallel = DataParallel::all_reduce;
    /// What devices with the same weights share instead of each holding a copy (Rajbhandari et al., 2020): 0
    /// nothing, 1 the optimizer's state, 2 also gradients, 3 also weights (FSDP).
    int zero = 0;
    std::int64_t prefetch = 1;       ///< ZeRO 3: blocks whose weights are gathered ahead
    bool overlap = true;             ///< gradients are sent beside the backward pass
    double bucket_bytes = 25 << 20;  ///< of gradients that are sent together (PyTorch's default)
    int gradient_bytes = 2;          ///< of an element, as it is sent
    int accumulated_bytes = 4;       ///< of an element, where those of several micro-batches are added up
    std::int64_t local_steps = 1;    ///< local SGD: steps between two averages
    std::int64_t servers = 1;        ///< parameter servers: devices' hosts that hold a part each
    bool offload_optimizer = false;  ///< state and update on the host (ZeRO-Offload, Ren et al., 2021)

    /// The number of devices that hold the same weights; they have other sequences, or other parts of the
    /// same sequences.
    std::int64_t replicas() const { return data * context; }
    std::int64_t expert_replicas() const { return replicas() / expert; }
    std::int64_t devices() const { return data * tensor * pipeline * context; }
    /// The number of sequences of one step over all devices.
    std::int64_t batch() const { return data * micro_batch * micro_batches; }
};

/// Return the names as the command line writes them.
std::string name_of(PipelineSchedule schedule);
std::string name_of(DataParallel data);
std::string name_of(Recomputation recompute);
/// Read a name. They throw heddle::Error that lists the known names.
PipelineSchedule pipeline_schedule_from_name(const std::string& name);
DataParallel data_parallel_from_name(const std::string& name);
Recomputation recomputation_from_name(const std::string& name);

/// Throws heddle::Error that names the option which does not agree with the others.
void check(const ParallelPlan& plan);

/// Describes a plan: "data 4, tensor 2, pipeline 4 (1f1b), ZeRO 1, 8 micro-batches of 2".
std::string describe(const ParallelPlan& plan);

}  // namespace heddle::parallel
