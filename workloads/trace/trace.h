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
    f64, f32, tf32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u8, boolean,
};
unsigned bytes_of(ElementType type);
std::string name_of(ElementType type);                       ///< "bf16", "f32", ...
ElementType element_type_from_name(const std::string& name);  ///< throws heddle::Error

enum class Phase : std::uint8_t { forward, backward, optimizer, communication, other };
std::string name_of(Phase phase);

/// What an op computes. Tensors are dense and row-major unless a stride attribute says otherwise.
enum class OpKind : std::uint8_t {
    matmul,                ///< y = op(A) op(B) [+ bias]; attributes transpose_a, transpose_b (0/1); leading batch dimensions;
                           ///< optional "epilogue" expression over x0 = accumulator, x1 = bias
    elementwise,           ///< attribute "expression"; inputs broadcast to the first output's shape, NumPy rules
    reduce,                ///< attributes "reduction" (sum, mean, max), "axes"
    softmax_cross_entropy,       ///< logits [N, C], labels [N] -> loss per row [N], probabilities [N, C]
    softmax_cross_entropy_grad,  ///< probabilities, labels -> d logits, scaled by attribute "scale" (1/N for a mean loss)
    softmax,               ///< over the last axis
    softmax_grad,
    layer_norm,            ///< x [rows, columns], gamma, beta -> y, mean, rstd
    layer_norm_grad,
    attention,             ///< q, k, v [batch, heads, sequence, head_dim]; attribute causal -> out, log-sum-exp
    attention_grad,
    embedding,             ///< table [V, D], indices [N] -> [N, D]
    embedding_grad,        ///< d out [N, D], indices [N] -> d table [V, D]
    copy,                  ///< copy, cast, transpose: attribute "permutation" when axes move
    concat,                ///< attribute "axis"
    fill,                  ///< attribute "value"
    gather,                ///< indexed load along an axis
    scatter,               ///< indexed store or add
    random,                ///< fills with random numbers
    host_copy,             ///< between host and device; attribute "direction"
    collective,            ///< attributes "collective", "bytes"
    unknown,               ///< not understood: has a measured time or counts as unknown, never as zero
};
std::string name_of(OpKind kind);

using TensorId = std::uint32_t;
using OpId = std::uint32_t;

enum class TensorRole : std::uint8_t { activation, input, label, parameter, gradient, optimizer_state, other };

struct Tensor {
    std::string name;
    ElementType type = ElementType::f32;
    std::vector<std::int64_t> shape;   ///< empty for a scalar
    TensorRole role = TensorRole::activation;
    /// Tensors with the same storage share memory (views, in-place updates). 0: its own.
    std::uint64_t storage = 0;

    std::int64_t elements() const;
    std::uint64_t bytes() const;
};

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

struct Op {
    std::string name;
    OpKind kind = OpKind::unknown;
    Phase phase = Phase::forward;
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    std::map<std::string, Attribute> attributes;
    std::vector<OpId> dependencies;            ///< earlier ops whose results or effects this one needs
    std::optional<double> measured_us;         ///< recorded duration on real hardware
    std::string kernel_name;                   ///< recorded kernel, empty when not from a recording

    std::int64_t integer(const std::string& key, std::int64_t fallback) const;
    double real(const std::string& key, double fallback) const;
    std::string text(const std::string& key, const std::string& fallback = "") const;
    std::vector<std::int64_t> integers(const std::string& key) const;
};

/// A training step (or any run of ops).
struct Trace {
    std::string name;
    std::vector<Tensor> tensors;
    std::vector<Op> ops;

    TensorId add(Tensor tensor);
    OpId add(Op op);
    const Tensor& tensor(TensorId id) const { return tensors.at(id); }
    /// Throws heddle::Error when an op refers to what does not exist, shapes do not fit its kind, or dependencies are
    /// not on earlier ops.
    void check() const;
};

/// Floating-point operations of an op by the textbook (2 m n k for a matmul), and bytes of its distinct operands.
double floating_point_operations(const Trace& trace, const Op& op);
double bytes_moved(const Trace& trace, const Op& op);

}  // namespace heddle::trace
