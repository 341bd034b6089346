// Records a model op by op and derives its backward pass from one gradient rule per kind of op.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/shape.h"
#include "workloads/trace/trace.h"

namespace heddle::zoo {

using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::Phase;
using trace::Shape;
using trace::Tensor;
using trace::TensorId;
using trace::TensorRole;

/// The gradient of one tensor: either a tensor of the same shape, or the same number everywhere. The latter
/// keeps the head of a backward pass free of ops that only fill and scale.
struct Gradient {
    std::optional<TensorId> tensor;
    double uniform = 0;
};

struct MatmulOptions {
    bool transpose_a = false, transpose_b = false;
    std::optional<TensorId> bias;
    std::optional<ElementType> type;  ///< of the result; that of A when left out
};

/// Every method records one op (or none, for views) and returns its first result. Shapes that do not fit
/// throw heddle::Error from finish(). Dependencies are derived from storages: an op waits for the last writer
/// of what it reads, and for the readers and the writer of what it overwrites.
class Tape {
  public:
    explicit Tape(std::string name) { trace_.name = std::move(name); }

    void set_phase(Phase phase) { phase_ = phase; }

    /// A tensor from outside: input, label, parameter (f32 master weights), optimizer state. It has its own
    /// storage.
    TensorId external(const std::string& name, ElementType type, Shape shape, TensorRole role);
    TensorId matmul(const std::string& name, TensorId a, TensorId b, const MatmulOptions& options = {});
    /// Results have the broadcast shape of the inputs and the given type (of input 0 when left out).
    TensorId elementwise(const std::string& name, const std::string& expression,
                         const std::vector<TensorId>& inputs, std::optional<ElementType> type = {},
                         const std::vector<double>& scalars = {});
    TensorId cast(const std::string& name, TensorId x, ElementType type);
    /// The same storage seen with another shape; no op.
    TensorId view(const std::string& name, TensorId x, Shape shape);
    /// Some elements of `x`, seen with the given shape; the op that uses it says where they are in
    /// "input<i>_strides" and "input<i>_offset".
    TensorId part_of(const std::string& name, TensorId x, Shape shape);
    TensorId transpose(const std::string& name, TensorId x, const std::vector<std::int64_t>& permutation);
    TensorId concat(const std::string& name, const std::vector<TensorId>& inputs, std::int64_t axis);
    TensorId reduce(const std::string& name, TensorId x, const std::string& reduction,
                    const std::vector<std::int64_t>& axes, Shape result_shape);
    /// Loss per row [N] and probabilities [N, C].
    struct CrossEntropy {
        TensorId loss, probabilities;
    };
    CrossEntropy softmax_cross_entropy(const std::string& name, TensorId logits, TensorId labels);
    TensorId softmax(const std::string& name, TensorId x);
    TensorId layer_norm(const std::string& name, TensorId x, TensorId gamma, TensorId beta,
                        double epsilon = 1e-5);
    TensorId attention(const std::string& name, TensorId q, TensorId k, TensorId v, bool causal);
    TensorId embedding(const std::string& name, TensorId table, TensorId indices);
    TensorId fill(const std::string& name, ElementType type, Shape shape, double value);

    /// Overwrites parameters or state: outputs are new tensors that share the storage of `targets`.
    std::vector<TensorId> update_in_place(const std::string& name, const std::string& expression,
                                          const std::vector<TensorId>& inputs,
                                          const std::vector<TensorId>& targets,
                                          const std::vector<double>& scalars);

    /// Records the backward pass of everything recorded so far: gradients of `loss` (times `scale`) towards
    /// each of `wanted`. Ops on no path from a wanted tensor to the loss are not differentiated.
    std::map<TensorId, Gradient> backward(TensorId loss, const std::vector<TensorId>& wanted,
                                          double scale = 1);

    /// Any op; `outputs` are the tensors it makes.
    std::vector<TensorId> record(Op op, std::vector<Tensor> outputs);
    const trace::Trace& trace() const { return trace_; }
    const Tensor& tensor(TensorId id) const { return trace_.tensor(id); }

    /// Checks and returns the trace.
    trace::Trace finish();

    /// A gradient as a tensor: a uniform one is written out by a fill.
    TensorId materialise(const Gradient& gradient, const std::string& name, TensorId like);

  private:
    struct StorageUse {
        std::optional<trace::OpId> writer;
        std::vector<trace::OpId> readers;
    };
    std::uint64_t storage_of(TensorId id) const;
    std::uint64_t shared_storage(TensorId id);
    void add_dependencies(Op& op, trace::OpId self);
    Gradient add_gradients(const Gradient& a, const Gradient& b, TensorId of);

    trace::Trace trace_;
    Phase phase_ = Phase::forward;
    std::uint64_t next_storage_ = 1;
    std::map<std::uint64_t, StorageUse> uses_;
    std::map<TensorId, TensorId> view_of_;
};

/// The gradient rule of an op: one entry per input of the op at `index`, absent where nothing flows back.
/// `upstream` holds the gradient of each output, absent where it has none; `needed` says which inputs are
/// asked for. Throws heddle::Error for a kind of op that has no rule.
std::vector<std::optional<Gradient>> gradient_rule(Tape& tape, trace::OpId index,
                                                   const std::vector<std::optional<Gradient>>& upstream,
                                                   const std::vector<bool>& needed);

}  // namespace heddle::zoo
