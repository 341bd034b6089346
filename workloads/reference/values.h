// The contents of a trace's tensors in double precision.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::reference {

/// The contents of all tensors. Tensors of one storage share one buffer, so updates in place and views behave
/// as on a device. A buffer is as long as its largest tensor (plus offset) needs.
class TensorValues {
  public:
    /// Allocates every tensor of the trace and fills what comes from outside with initial_values().
    explicit TensorValues(const trace::Trace& trace, std::uint64_t seed = 0);

    /// Returns the tensor's elements from the start of its storage.
    std::span<double> operator[](trace::TensorId id);
    std::span<const double> operator[](trace::TensorId id) const;
    /// Returns the whole buffer of a tensor, for operands with strides.
    std::span<double> storage(trace::TensorId id);

  private:
    std::vector<std::vector<double>> buffers_;
    std::vector<std::size_t> buffer_of_;
    std::vector<std::size_t> elements_;
};

/// Deterministic values of a tensor that no op of the trace makes, from a counter-based generator over (seed,
/// tensor number, element), so that any device can be given the same:
///   parameters of two axes or more: uniform within +-2^floor(log2(sqrt(6 / (columns + rows)))) (Glorot's
///   bound, rounded
///     down to a power of two); vectors: 1 when the name ends in "gamma", otherwise 0
///   inputs and other activations: uniform in [-1, 1)
///   labels and indices (integer types that an op looks up with): uniform over the classes or rows of that op
///   integers whose name ends in "positions": 0, 1, 2, ...
///   names like "theta10000.rotary" [sequence, 2, 2, half]: factors of a rotary embedding with this base
///   optimizer state, other: 65536 when the name ends in "loss_scale", 1 when it ends in "scale" or
///     "running_variance", otherwise 0; gradients: 0
/// Uniform numbers are multiples of 2^-7 of their bound, so that f32, f16 and bf16 hold them exactly.
std::vector<double> initial_values(const trace::Trace& trace, trace::TensorId id, std::uint64_t seed);

/// Returns the tensors that some op reads before any op of the trace has written their storage; of several
/// views of the same size, the one with the lowest number.
std::vector<trace::TensorId> external_tensors(const trace::Trace& trace);

}  // namespace heddle::reference
