// Records a model op by op and derives its backward pass from one gradient rule per kind of op.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
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

/// The largest number of ops of a step, two hundred times that of GPT-3. Beyond it, a number of layers,
/// moments or parts must be a mistake.
inline constexpr std::size_t kMostOps = std::size_t{1} << 20;
/// Throws heddle::Error for a step that exceeds kMostOps; `at` names the op or the option.
[[noreturn]] void fail_as_too_long(const std::string& at);

/// The gradient of one tensor: either a tensor of the same shape, or the same number everywhere, which avoids
/// ops that only fill and scale at the beginning of a backward pass.
struct Gradient {
    std::optional<TensorId> tensor;
    double uniform = 0;
};

/// Options of a matrix product.
struct MatmulOptions {
    bool transpose_a = false, transpose_b = false;
    std::optional<TensorId> bias;
    std::optional<ElementType> type;  ///< of the result; that of A when left out
};

/// Which results the forward pass may discard, so that the backward pass computes them again.
enum class Recompute : std::uint8_t {
    none,
    selective,  ///< results of products with weights, of convolutions and of fused attention are kept; what
                ///< else a gradient reads is computed again, each op when it is first needed
    full,       ///< only what enters a segment is kept; all of its ops run again
};

/// Several ops that are differentiated as one. `derive` receives the gradient of `output` as a tensor of its
/// shape and returns a gradient for each of `inputs`, whether it is `needed` or not.
struct Composite {
    std::vector<TensorId> inputs;
    TensorId output = 0;
    std::function<std::vector<std::optional<Gradient>>(class Tape&, TensorId upstream,
                                                       const std::vector<bool>& needed)>
        derive;
};

/// Where a backward pass begins and how far back it goes.
struct BackwardOptions {
    double scale = 1;       ///< gradient of the loss
    trace::OpId first = 0;  ///< ops before this one are not differentiated
};

/// Options of a convolution.
struct ConvolutionOptions {
    std::vector<std::int64_t> strides, padding, dilation;  ///< one per axis; empty: 1, 0, 1
    std::int64_t groups = 1;
    bool channels_last = false;
    std::optional<TensorId> bias;
};

/// Options of a pooling.
struct PoolingOptions {
    bool maximum = true;
    std::vector<std::int64_t> window, strides, padding;  ///< one per axis; padding empty: 0
    bool channels_last = false;
};

/// Every method records one op (or none, for views) and returns its first result. Shapes that do not fit
/// throw heddle::Error from finish(). Dependencies are derived from storages: an op waits for the last writer
/// of what it reads, and for the readers and the writer of what it overwrites.
class Tape {
  public:
    explicit Tape(std::string name) { trace_.name = std::move(name); }

    void set_phase(Phase phase) { phase_ = phase; }

    /// Throws heddle::Error when `more` further ops would make the step too long, so that a repetition
    /// reports this immediately and not after a million ops.
    void expect(std::int64_t more) const;
    /// Does the same for `times` repetitions of the ops recorded from op `first` on. It is meant for the
    /// second repetition, because the first one may create what all of them read.
    void expect_again(std::size_t first, std::int64_t times) const;
    std::size_t ops() const { return trace_.ops.size(); }

    /// A tensor from outside: input, label, parameter (f32 master weights), optimizer state. It has its own
    /// storage.
    TensorId external(const std::string& name, ElementType type, Shape shape, TensorRole role);
    TensorId matmul(const std::string& name, TensorId a, TensorId b, const MatmulOptions& options = {});
    /// Results have the broadcast shape of the inputs and the given type (of input 0 when left out).
    TensorId elementwise(const std::string& name, const std::string& expression,
                         const std::vector<TensorId>& inputs, std::optional<ElementType> type = {},
                         const std::vector<double>& scalars = {});
    TensorId cast(const std::string& name, TensorId x, ElementType type);
    /// Returns the same storage with another shape, without an op.
    TensorId view(const std::string& name, TensorId x, Shape shape);
    /// Some elements of `x`, seen with the given shape; the op that uses it says where they are in
    /// "input<i>_strides" and "input<i>_offset".
    TensorId part_of(const std::string& name, TensorId x, Shape shape);
    /// Memory that ops fill in parts: each records results whose `storage` is the buffer's
    /// (storage_number()) and says in "output<i>_offset" and "output<i>_strides" where they lie.
    TensorId buffer(const std::string& name, ElementType type, Shape shape);
    std::uint64_t storage_number(TensorId id) { return shared_storage(id); }
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
    TensorId rms_norm(const std::string& name, TensorId x, TensorId gamma, double epsilon = 1e-5);
    /// x [N, C, ...]; running mean and variance (f32), when given, are updated in place.
    TensorId batch_norm(const std::string& name, TensorId x, TensorId gamma, TensorId beta,
                        const std::vector<TensorId>& running = {}, double epsilon = 1e-5,
                        double momentum = 0.1);
    TensorId attention(const std::string& name, TensorId q, TensorId k, TensorId v, bool causal);
    TensorId convolution(const std::string& name, TensorId x, TensorId w, const ConvolutionOptions& options);
    TensorId pooling(const std::string& name, TensorId x, const PoolingOptions& options);
    /// `offset` picks other random numbers of the same seed.
    TensorId dropout(const std::string& name, TensorId x, double probability, std::int64_t offset);
    struct LstmCell {
        TensorId h, c;
    };
    /// Products with x and with h [N, 4H], c [N, H], bias [4H].
    LstmCell lstm_cell(const std::string& name, TensorId from_x, TensorId from_h, TensorId c, TensorId bias);
    struct TopK {
        TensorId values, indices;
    };
    TopK top_k(const std::string& name, TensorId x, std::int64_t k);
    /// Element i along the axis is the sum of elements 0 to i.
    TensorId cumulative_sum(const std::string& name, TensorId x, std::int64_t axis);
    TensorId quantise(const std::string& name, TensorId x, ElementType type, TensorId scale);
    /// Rows of x: y[i] = x[indices[i]]. `distinct`: no index repeats, so gradients need not be added up.
    TensorId gather(const std::string& name, TensorId x, TensorId indices, bool distinct = false);
    /// x with rows indices[i] replaced by updates[i]. Where indices repeat, the last one stays, yet every
    /// update gets the row's gradient: repeated rows must have none.
    TensorId scatter(const std::string& name, TensorId x, TensorId indices, TensorId updates);
    TensorId embedding(const std::string& name, TensorId table, TensorId indices);
    TensorId fill(const std::string& name, ElementType type, Shape shape, double value);
    /// Sets the shape of an external tensor whose extent is known only at the end.
    void set_shape(TensorId id, Shape shape) { trace_.tensors.at(id).shape = std::move(shape); }

    /// Overwrites parameters or state: outputs are new tensors that share the storage of `targets`.
    std::vector<TensorId> update_in_place(const std::string& name, const std::string& expression,
                                          const std::vector<TensorId>& inputs,
                                          const std::vector<TensorId>& targets,
                                          const std::vector<double>& scalars);
    /// The last op recorded is one of a list (lowering/gpu/lists.h): a GPU may take all of them in one
    /// launch.
    void put_in_list(std::int64_t list) { trace_.ops.back().set(keys::any.list, list); }

    /// Records the backward pass of everything recorded so far: gradients of `loss` (times `scale`) towards
    /// each of `wanted`. Ops on no path from a wanted tensor to the loss are not differentiated.
    std::map<TensorId, Gradient> backward(TensorId loss, const std::vector<TensorId>& wanted,
                                          double scale = 1) {
        return backward(loss, wanted, BackwardOptions{scale, 0});
    }
    std::map<TensorId, Gradient> backward(TensorId loss, const std::vector<TensorId>& wanted,
                                          const BackwardOptions& options);

    /// The op recorded last stands for several; no rule of their own is asked for.
    void differentiate_as_one(Composite composite);

    /// Ops recorded until end_segment() may run again in the backward pass. Segments do not nest; none opens
    /// a segment.
    void begin_segment(Recompute recompute);
    void end_segment() {
        open_segment_ = -1;
        ++part_;
    }
    /// From now on ops carry the number of their part (StepOptions::parts): it grows with each begin and end
    /// of a segment; ops of the backward pass have the number of what they differentiate.
    void mark_parts() { marks_parts_ = true; }
    std::int64_t part() const { return part_; }
    void set_part(std::int64_t part) { part_ = part; }
    /// Records outside of the open segment, for what belongs to the step as a whole (casts of weights).
    template <class Record>
    auto outside_segments(Record record) {
        const int open = open_segment_;
        open_segment_ = -1;
        auto result = record();
        open_segment_ = open;
        return result;
    }

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
    TensorId root(TensorId id) const;
    Gradient shaped(const Gradient& gradient, TensorId as);
    std::set<TensorId> reached_from(const std::vector<TensorId>& wanted, trace::OpId first) const;

    struct Segment {
        Recompute recompute = Recompute::none;
        std::vector<trace::OpId> ops;
        bool remade = false;
    };
    bool kept(const Op& op) const;
    /// The tensor to read in a backward pass: computed again when it was thrown away.
    TensorId now(TensorId id);
    void remake(trace::OpId op);
    void remake_segment_of(trace::OpId op);

    trace::Trace trace_;
    Phase phase_ = Phase::forward;
    std::uint64_t next_storage_ = 1;
    std::map<std::uint64_t, StorageUse> uses_;
    std::map<TensorId, TensorId> view_of_, part_of_;
    std::map<std::uint64_t, TensorId> owner_;  ///< the first tensor of a storage
    std::set<TensorId> buffers_;
    std::map<trace::OpId, Composite> composites_;
    std::vector<Segment> segments_;
    std::map<trace::OpId, int> segment_of_;
    std::map<TensorId, trace::OpId> made_in_segment_;
    std::map<TensorId, TensorId> now_;
    std::set<trace::OpId> remade_;
    int open_segment_ = -1;
    bool marks_parts_ = false;
    std::int64_t part_ = 0;
    std::vector<std::int64_t> part_of_op_;
};

/// The gradient rule of an op: one entry per input, absent where nothing flows back. `upstream` holds the
/// gradient of each output, absent where it has none; `needed` says which inputs are asked for. Throws
/// heddle::Error for a kind of op that has no rule.
std::vector<std::optional<Gradient>> gradient_rule(Tape& tape, const Op& op,
                                                   const std::vector<std::optional<Gradient>>& upstream,
                                                   const std::vector<bool>& needed);

}  // namespace heddle::zoo
