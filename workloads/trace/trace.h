// The first waist of the house: what a training step is. A graph of tensor operations, in execution order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace heddle::trace {

enum class ElementType : std::uint8_t {
    f64,
    f32,
    tf32,
    f16,
    bf16,
    e4m3,
    e5m2,
    i64,
    i32,
    i16,
    i8,
    u8,
    boolean,
};
unsigned bytes_of(ElementType type);
std::string name_of(ElementType type);                        ///< "bf16", "f32", ...
ElementType element_type_from_name(const std::string& name);  ///< throws heddle::Error

enum class Phase : std::uint8_t { forward, backward, optimizer, communication, other };
std::string name_of(Phase phase);

/// What an op computes: operands in order -> results. [] marks what may be left out. Tensors are dense and
/// row-major unless a stride attribute says otherwise ("input0_strides", "output0_strides": elements, one per
/// axis; "input0_offset", "output0_offset": elements from the start of the storage).
enum class OpKind : std::uint8_t {
    matmul,  ///< A, B [, bias or accumulator, more epilogue operands] -> y = op(A) op(B); attributes
             ///< transpose_a, transpose_b (0/1); leading batch dimensions broadcast. Third operand without
             ///< "epilogue": added. Optional "epilogue": expression over x0 = product, x1, x2 = the other
             ///< operands, broadcast to y
    elementwise,  ///< attribute "expression", numbers s0, s1 in "scalars"; inputs broadcast to the first
                  ///< output's shape, NumPy rules; all outputs have the same number of elements
    reduce,       ///< x [, more] -> y [, more]; attributes "reduction" (sum, mean, max, min, norm2), "axes"
                  ///< (absent: all). Optional "expression" over the inputs (broadcast to the first) applied
    ///< before; result i reduces its output i. "argument" = 1: the second result is the index of the
    ///< extremum
    softmax_cross_entropy,       ///< logits [N, C], labels [N] -> loss per row [N], probabilities [N, C]
    softmax_cross_entropy_grad,  ///< probabilities, labels [, d loss [N]] -> d logits, times "scale" (1/N:
                                 ///< mean loss)
    softmax,          ///< x -> y over "axis" (the last one); "logarithm" = 1: its logarithm. "form"
                      ///< = "three_reads": the kernel of PyTorch 2.0
    softmax_grad,     ///< y, dy -> dx over "axis" (the last one); "logarithm" = 1: y is the logarithm
    layer_norm,       ///< x [rows, columns] [, gamma, beta] -> y [, mean, rstd]; attribute "epsilon" (default
                      ///< 1e-5). "compiled" = 1: the kernel of torch.compile
    layer_norm_grad,  ///< dy, x, mean, rstd, gamma -> dx [, d gamma, d beta]
    rms_norm,         ///< x [rows, columns], gamma -> y [, rstd]; attribute "epsilon" (1e-5)
    rms_norm_grad,    ///< dy, x, rstd, gamma -> dx [, d gamma]
    group_norm,  ///< x [N, C, ...], gamma, beta [C] -> y [, mean, rstd [N, groups]]; attributes "groups",
                 ///< "epsilon" (1e-5)
    group_norm_grad,  ///< dy, x, mean, rstd, gamma -> dx [, d gamma, d beta]; "groups"
    batch_norm,  ///< x [N, C, ...], gamma, beta [, running mean, running variance [C]] -> y [, mean, rstd
                 ///< [C] [, running mean, running variance]]; training mode; attributes "epsilon"
                 ///< (1e-5), "momentum" (0.1): running = (1 - momentum) running + momentum new, the
                 ///< variance without bias
    batch_norm_grad,  ///< dy, x, mean, rstd, gamma -> dx [, d gamma, d beta]
    dropout,  ///< x -> y [, mask (boolean)]; attributes "probability" of a zero, "seed" (0), "offset" (0).
              ///< Element i is kept, times 1 / (1 - probability), when number i of Philox
              ///< (isa/numerics/philox.h) is at least the probability
    quantise,  ///< x [, scale] -> y (e4m3 or e5m2) [, amax]: y = x times scale, limited to the largest finite
               ///< value and rounded to nearest even; amax = max |x|
    top_k,  ///< x [rows, columns] -> values, indices [rows, k]: the k largest of each row, the largest first;
            ///< of equal ones the first
    expert_slots,  ///< expert indices [N] -> slot [N] (i32), attributes "experts", "capacity": index i is the
                   ///< r-th (from 0) of those that chose expert e: slot e * capacity + r, or experts *
                   ///< capacity when r is capacity or more (the expert is full)
    cumulative_sum,  ///< x -> y: along "axis" (the last one) element i is the sum of elements 0 to i, or
                     ///< with "reverse" = 1 of those from i on
    attention,       ///< q, k, v [batch, heads, sequence, head_dim] -> out [, log-sum-exp [batch, heads,
                ///< sequence]]; attributes causal, "scale" (default 1/sqrt(head_dim)); k and v may have fewer
                ///< heads (grouped). "dropout" (probability) and "stream":
                ///< expression::WeightDropout says which weights are kept
    attention_grad,  ///< d out, q, k, v, out, log-sum-exp -> dq, dk, dv
    convolution,     ///< x, w [, bias] -> y. "layout" nchw (default): x [N, C, space...], w [filters, C /
                     ///< groups, window...], or nhwc: x [N, space..., C], w [filters, window..., C / groups].
                     ///< Attributes "strides", "dilation" (1), "padding" (0; one per axis, or low and high of
                     ///< each), "groups" (1). workloads/trace/sliding_window.h
    convolution_data_grad,    ///< dy, w -> dx
    convolution_weight_grad,  ///< dy, x -> dw [, d bias]
    pooling,  ///< x -> y [, position of the maximum in its plane]; attributes "pooling" (max, mean),
              ///< "window", "strides" (1), "padding", "dilation", "layout", "round_up" (0; as ceil_mode),
              ///< "padding_counts" (1; mean)
    pooling_grad,  ///< dy [, x [, positions]] -> dx; max needs x (the first maximum has the gradient) or, as
                   ///< third, positions
    lstm_cell,  ///< products with x and with h [N, 4H] (input, forget, cell, output gate), c [N, H] [, bias,
                ///< second bias [4H]] -> h', c' [N, H] [, gates after sigmoid and tanh [N, 4H]]
    lstm_cell_grad,  ///< dh', dc', c, c' [N, H], gates [N, 4H] -> d gates [N, 4H] (before sigmoid and tanh),
                     ///< dc [N, H]
    embedding,       ///< table [V, D], indices [N] -> [N, D]
    embedding_grad,  ///< d out [N, D], indices [N] -> d table [V, D]
    copy,            ///< copy, cast, reshape, broadcast; transpose with "permutation": y axis i is x axis
                     ///< permutation[i]
    concat,          ///< attribute "axis"
    fill,            ///< -> y; attribute "value"; with "step" element i is value + i * step (a range)
    gather,     ///< x, indices [, more indices] -> y, attribute "axis" (default 0). Indices replace the axis;
                ///< several index tensors of one shape replace as many axes from "axis" on. "along" = 1: one
                ///< index per result element, as take_along_axis (the axis may be dropped)
    scatter,    ///< x, indices [, more], updates -> y: gather's positions of x overwritten, or added to
                ///< ("accumulate" = 1)
    random,     ///< -> y; attributes "distribution" (uniform, integer), "low", "high", "stream"
    host_copy,  ///< between host and device; attribute "direction" (host_to_device, device_to_host)
    collective,  ///< attributes "collective" (all_reduce, all_gather, ...), "bytes"
    unknown,     ///< not understood: has a measured time or counts as unknown, never as zero
};
std::string name_of(OpKind kind);

using TensorId = std::uint32_t;
using OpId = std::uint32_t;

enum class TensorRole : std::uint8_t {
    activation,
    input,
    label,
    parameter,
    gradient,
    optimizer_state,
    other
};

struct Tensor {
    std::string name;
    ElementType type = ElementType::f32;
    std::vector<std::int64_t> shape;  ///< empty for a scalar
    TensorRole role = TensorRole::activation;
    /// Tensors with the same storage share memory (views, in-place updates). 0: its own.
    std::uint64_t storage = 0;

    std::int64_t elements() const;
    std::uint64_t bytes() const;
};

using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

struct Op {
    std::string name;
    OpKind kind = OpKind::unknown;
    Phase phase = Phase::forward;
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    std::map<std::string, Attribute> attributes;
    std::vector<OpId> dependencies;     ///< earlier ops whose results or effects this one needs
    std::optional<double> measured_us;  ///< recorded duration on real hardware
    std::string kernel_name;            ///< recorded kernel, empty when not from a recording
    /// The queue of the device that it waits in: ops of one stream run in their order, those of different
    /// streams beside each other as far as dependencies allow.
    std::uint32_t stream = 0;
    /// Recorded time that the host worked until it had launched this op, since it had launched the one
    /// before; without the time that it waited for the device.
    std::optional<double> host_us;

    /// An attribute, or the fallback when absent; heddle::Error when it has another type.
    std::int64_t integer(const std::string& key, std::int64_t fallback) const;
    double real(const std::string& key, double fallback) const;
    std::string text(const std::string& key, const std::string& fallback = "") const;
    std::vector<std::int64_t> integers(const std::string& key) const;
    std::vector<double> reals(const std::string& key) const;
};

/// A training step (or any run of ops).
struct Trace {
    std::string name;
    std::vector<Tensor> tensors;
    std::vector<Op> ops;

    TensorId add(Tensor tensor);
    OpId add(Op op);
    const Tensor& tensor(TensorId id) const { return tensors.at(id); }
    /// Throws heddle::Error when an op refers to what does not exist, shapes do not fit its kind, or
    /// dependencies are not on earlier ops.
    void check() const;
    void check_op(OpId id) const;
};

/// Floating-point operations of an op by the textbook: 2 m n k for a matmul, 4 s^2 d per head for attention
/// (10 for its gradient, half when causal), nodes of the expression times elements, ...; 0 where nothing is
/// computed. Bytes: each distinct input once and each distinct output once (rows looked up, not the whole
/// table).
double floating_point_operations(const Trace& trace, const Op& op);
double bytes_moved(const Trace& trace, const Op& op);

}  // namespace heddle::trace
