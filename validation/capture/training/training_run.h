// Some steps of a model's training on a device, and what is kept of them: the bits of every loss, hashes of
// every gradient and weight.
//
// The same code runs on silicon, when a capture is made, and on the virtual GPU, when it is compared
// (validation/compare/training.h): a step is the launches of workloads/lowering/gpu, one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/target/target.h"
#include "validation/capture/device.h"
#include "validation/capture/section.h"

namespace heddle::capture {

/// Who computes what.
enum class TrainingVariant : std::uint8_t {
    exact,   ///< our kernels, with every approximation replaced (workloads/kernels/exact_functions.h): two
             ///< machines that follow the PTX specification agree in every bit
    vendor,  ///< the same, but matrix products by the device's Blas: they agree where its order is known
    approximate,  ///< our kernels as they are: how far the special function unit carries the training away
};
const char* name_of(TrainingVariant variant);
/// Throws std::invalid_argument.
TrainingVariant training_variant_of(const std::string& name);

struct TrainingItem {
    std::string model;                           ///< of the zoo: "mlp", "gpt"
    std::map<std::string, std::string> options;  ///< of the model
    TrainingVariant variant = TrainingVariant::exact;
    Compute compute = Compute::f32;  ///< of the vendor's products of f32: f32 or tf32
    unsigned steps = 20;

    /// "gpt bf16 vendor", "mlp f32 vendor tf32": unique in a capture.
    std::string id() const;
};

/// What the section records, the most valuable first.
std::vector<TrainingItem> training_items(Extent extent);

/// Elements of each gradient that are kept, evenly spread over it.
inline constexpr std::size_t kGradientSample = 16;

struct TrainingStep {
    float loss = 0;
    std::vector<std::uint64_t> gradients, weights;  ///< hash_bits() of each parameter's, after the step
    /// For each parameter kGradientSample elements of its gradient (element i * count / kGradientSample), as
    /// f32.
    std::vector<float> samples;
};

/// A matrix product of the step, where a vendor's library was asked.
struct TrainingProduct {
    std::string op;  ///< of the trace
    GemmProblem problem;
    std::optional<GemmAlgorithm> algorithm;
    std::string why_not;  ///< why our own kernel did it; empty when the library did
};

struct TrainingRun {
    std::vector<std::string> parameters;
    std::vector<TrainingStep> steps;
    std::vector<TrainingProduct> products;  ///< vendor only
};

/// What the generators of kernels must know of a device. Generations that are newer than Hopper are given
/// kernels for Hopper, which they run.
target::GpuTarget training_target(unsigned compute_capability, unsigned sm_count, std::uint64_t l2_bytes);

/// Runs items on one device. Kernels are compiled once.
class TrainingMachine {
  public:
    /// `blas` may be nullptr: then there are no vendor runs. Both must outlive the machine.
    TrainingMachine(Device& device, Blas* blas, target::GpuTarget target)
        : device_(device), blas_(blas), target_(std::move(target)) {}

    /// All steps, from initial values that depend on the item alone (reference::initial_values, seed 0;
    /// scratch memory is zero). Throws DeviceError, and heddle::Error for an op without a kernel.
    TrainingRun run(const TrainingItem& item);

  private:
    Device& device_;
    Blas* blas_;
    target::GpuTarget target_;
    std::map<std::string, KernelHandle> kernels_;  ///< by text
};

/// A capture's record of a run: the item's members, "target", "parameters", "loss_bits", "losses", hashes by
/// step and parameter, "products". The samples are the record's bytes, f32 by step, parameter and element.
Record record_of(const TrainingItem& item, const target::GpuTarget& target, const TrainingRun& run);
std::vector<std::byte> samples_of(const TrainingRun& run);

}  // namespace heddle::capture
