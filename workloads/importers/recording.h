// A recorded PyTorch execution as a tree of calls: which op launched which kernel, on which tensors with
// which strides.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/common/error.h"
#include "workloads/importers/boxed.h"
#include "workloads/importers/literal.h"
#include "workloads/importers/name.h"
#include "workloads/trace/recorded_device.h"
#include "workloads/trace/shape.h"
#include "workloads/trace_files/chakra.h"

namespace heddle::importers {

using trace::ElementType;
using trace::Shape;

/// A tensor as recorded: [tensor id, storage id, offset, elements, bytes per element, device] with shape and
/// type.
struct RecordedTensor {
    std::uint64_t id = 0, storage = 0;
    std::int64_t offset = 0;  ///< elements from the start of the storage
    Shape shape;
    Shape strides;  ///< elements; empty: row-major of `shape`, which Recording::add() fills in
    ElementType type = ElementType::f32;
    bool on_host = false;

    bool on_gpu() const { return !on_host; }
    bool is_contiguous() const;
    std::int64_t elements() const { return trace::element_count(shape); }
    bool same_place(const RecordedTensor& other) const {
        return storage == other.storage && offset == other.offset && shape == other.shape &&
               type == other.type;
    }
};

/// One operand of a recorded call: a tensor, a list of tensors, or a literal.
struct Argument {
    Boxed<RecordedTensor> tensor;
    std::vector<RecordedTensor> tensors;  ///< of a list of tensors
    Literal value;
};

/// A call that the recording lists: an op of PyTorch, an annotation, an autograd node; or a kernel or memory
/// copy on the GPU. A reader fills in the first part, Recording the second. Recordings have millions of them.
struct Call {
    std::uint64_t id = 0;  ///< unique within the recording, not 0
    Name full_name;        ///< as recorded; of the recording's names()
    std::vector<Argument> inputs;
    std::vector<Argument> outputs;
    std::uint64_t caller = 0;            ///< id of the call that made this one; 0: none was recorded
    std::uint64_t operand_digest = 0;    ///< the same for calls recorded with the same input values; 0: none
    std::int64_t sequence = -1;          ///< of autograd: a forward call and its gradient share it
    std::int64_t stream = -1;            ///< of a kernel
    std::int64_t collective_bytes = -1;  ///< of a kernel that communicates, where recorded
    std::int64_t ranks = -1;             ///< that take part, where recorded
    std::int64_t copied_bytes = -1;      ///< of a memory copy or memset, where recorded
    std::vector<std::int64_t> grid, block;  ///< of a kernel, where recorded
    double start_us = -1;                   ///< of a kernel, on the GPU; below 0: not recorded
    double launched_us = -1;                ///< when the host launched it
    double waited_us = 0;                   ///< by the host for the device, since the launch before
    double duration_us = 0;
    bool on_gpu = false;
    bool has_results = false;    ///< what it returned was recorded, if only that it returned nothing
    bool is_annotation = false;  ///< somebody's name for a stretch of time, where a recording tells

    Name name;                 ///< without "aten::", trailing "_" of in-place ops and "(0)" of split nodes
    std::size_t position = 0;  ///< in the order of time, or of the file
    std::optional<std::size_t> parent;

    /// The nth input as a tensor on the GPU; nullptr when it is something else.
    const RecordedTensor* gpu_tensor(std::size_t index) const;
    const RecordedTensor* output_tensor(std::size_t index) const;
    const Literal* literal(std::size_t index) const;
};

/// A recording, which readers fill and finish() completes.
class Recording {
  public:
    Recording() = default;
    Recording(Recording&&) = default;
    Recording& operator=(Recording&&) = default;
    /// A graph in Chakra's form. Operands that do not parse are a heddle::Error naming the node.
    explicit Recording(const trace::ChakraGraph& graph);

    /// The pool of the calls' names.
    Names& names() { return names_; }
    /// Appends a call; calls come in order. After the last one, finish() ties them together; two calls with
    /// one number are a heddle::Error.
    void add(Call call);
    void add(const trace::ChakraNode& node);
    void finish();
    /// Returns whether the recording contains kernel times.
    bool has_kernels() const { return !kernels_.empty(); }
    /// Throws heddle::Error when calls form a circle of callers.
    void check_callers() const;
    /// For a run without a GPU: treats all its tensors as if they were on the device.
    void place_on_device();
    trace::RecordedDevice device;

    const std::deque<Call>& calls() const { return calls_; }
    const Call& call(std::size_t position) const { return calls_[position]; }
    /// The positions of kernels and memory copies, in order.
    const std::vector<std::size_t>& kernels() const { return kernels_; }
    const Call* find(std::uint64_t id) const;
    /// The positions of the calls that a call made, in order.
    std::span<const std::uint32_t> children(const Call& call) const;
    /// The ids of the calls for which a call waited, where they were recorded.
    std::span<const std::uint64_t> data_dependencies(const Call& call) const;
    Call& call(std::size_t position) { return calls_[position]; }
    const Call* parent(const Call& call) const { return call.parent ? &calls_[*call.parent] : nullptr; }
    /// The enclosing calls, the nearest first; at most a few dozen.
    std::vector<const Call*> enclosing(const Call& call) const;
    /// The first enclosing call with one of these names, or nullptr.
    const Call* enclosing(const Call& call, const std::vector<std::string>& names) const;
    /// Returns the calls inside `scope` (at any depth) that come before `before`.
    std::vector<const Call*> inside(const Call& scope, const Call& before) const;
    /// The forward call that an autograd node differentiates: the same sequence number, not a "...Backward"
    /// itself.
    const Call* forward_of(const Call& backward) const;

  private:
    std::optional<std::size_t> position_of(std::uint64_t id) const;
    std::optional<std::size_t> launcher_of(const Call& call) const;
    void index_numbers();
    void list_children();
    void learn_strides(Call& call);
    void apply_strides(Argument& argument);

    Names names_;
    std::deque<Call> calls_;
    std::vector<std::size_t> kernels_;
    /// Of call i: elements [starts[i], starts[i + 1]) of the list.
    std::vector<std::uint32_t> child_starts_, children_;
    std::vector<std::size_t> dependency_starts_{0};
    std::vector<std::uint64_t> dependencies_;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> by_id_;       ///< and position, sorted
    std::vector<std::pair<std::int64_t, std::uint32_t>> by_sequence_;  ///< the same

    struct KnownStrides {
        std::uint64_t storage;
        Shape shape, strides;
    };
    std::unordered_map<std::uint64_t, KnownStrides> strides_;
};

/// Reads PyTorch's form of a tensor, [id, storage, offset, elements, bytes per element, device]; nothing when
/// the value is not one, or has an unknown type. `type` is PyTorch's name of the element type. Throws
/// heddle::Error when a tensor of that size is impossible.
std::optional<RecordedTensor> tensor_of(const Literal& value, const Literal* shape, const std::string& type);
/// Operands as PyTorch lists them: values, shapes and types, one for each.
std::vector<Argument> arguments_of(Literal values, const Literal& shapes, const Literal& types);
std::optional<ElementType> torch_element_type(const std::string& name);
/// Gives a tensor the strides that were recorded, one for each axis; any other number of strides counts as
/// not recorded. Throws heddle::Error when a tensor with such strides cannot exist.
void take_strides(RecordedTensor& tensor, const Shape& strides);

/// Returns the plain name of an op: "add" for "aten::add_(0)".
std::string plain_name(const std::string& name);

}  // namespace heddle::importers
