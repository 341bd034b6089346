// Which images of a step get channels last: what layout.h says asks for it, and what follows.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::fusion {

using Shape = std::vector<std::int64_t>;

/// [N, C, space...] as [N, space..., C].
Shape channels_last(Shape shape);
/// Permutations of a copy: axis i of the result is axis [i] of the operand.
Shape to_last(std::size_t axes);
Shape to_first(std::size_t axes);

/// Whether a shape can be that of an image: batch, channels and at least one spatial axis.
bool is_image(const Shape& shape);
/// Whether both orders of axes are the same in memory: there is only one channel, or one pixel.
bool lies_both_ways(const Shape& shape);
/// Prepends axes of extent one until the shape has `axes` axes.
Shape padded(const Shape& shape, std::size_t axes);

/// Whether ops of this kind are convolutions or batch norms, or gradients of these.
bool is_convolution(trace::OpKind kind);
bool is_batch_norm(trace::OpKind kind);
/// Convolutions and poolings, and their gradients.
bool slides(const trace::Op& op);
/// A copy that does no more than change the type.
bool is_plain_copy(const trace::Trace& trace, const trace::Op& op);

/// Decided by storage: tensors that share memory are laid out alike.
class LayoutAssignment {
  public:
    explicit LayoutAssignment(const trace::Trace& trace) : trace_(trace) {}

    /// Decides. False: the step has nothing that asks for channels last.
    bool assign();

    bool is_assigned(trace::TensorId id) const { return assigned_.contains(storage(id)); }
    /// Tensors without a storage of their own number get one that no other has.
    std::uint64_t storage(trace::TensorId id) const {
        const std::uint64_t shared = trace_.tensor(id).storage;
        return shared != 0 ? shared : (std::uint64_t{1} << 40) + id;
    }
    const Shape& shape(trace::TensorId id) const { return trace_.tensor(id).shape; }
    /// The last op that writes the tensor's storage; nullptr: none does.
    const trace::OpId* last_writer(trace::TensorId id) const {
        const auto found = last_write_.find(storage(id));
        return found == last_write_.end() ? nullptr : &found->second;
    }

    /// A convolution or pooling whose channels come first, and matter.
    bool asks(const trace::Op& op) const;
    /// Reads or writes an image that has channels last.
    bool touches(const trace::Op& op) const;
    /// Can be carried out with channels last, and would not turn more than it leaves in place.
    bool follows(const trace::Op& op) const;
    /// Whether operand `k` of an op that follows a layout is an image [N, C, space...]; other operands are
    /// not changed.
    bool is_image_operand(const trace::Op& op, bool output, std::size_t k) const;

  private:
    void find_candidates();
    template <class Visit>
    void for_each_image(const trace::Op& op, Visit visit) const {
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            if (is_image_operand(op, false, k)) visit(op.inputs[k]);
        for (std::size_t k = 0; k < op.outputs.size(); ++k)
            if (is_image_operand(op, true, k)) visit(op.outputs[k]);
    }
    void assign(const trace::Op& op);
    void assign_one(trace::TensorId id);
    void seed(const trace::Op& op);
    bool propagate(const trace::Op& op);
    bool beside_window(trace::TensorId id, bool reads) const;
    bool maps(const trace::Op& op, const Shape& whole) const;
    bool pays(const trace::Op& op, std::size_t axes) const;
    bool reduces(const trace::Op& op) const;

    const trace::Trace& trace_;
    std::set<std::uint64_t> candidates_, assigned_;                ///< storages
    std::map<std::uint64_t, trace::OpId> last_read_, last_write_;  ///< by storage
};

}  // namespace heddle::fusion
