// A recorded PyTorch execution as a tree of calls: which op launched which kernel, on which tensors with
// which strides.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/importers/literal.h"
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
    std::string device;
    Shape shape;
    ElementType type = ElementType::f32;
    Shape strides;  ///< elements; row-major of `shape` when nothing else was recorded

    bool on_gpu() const { return device.rfind("cpu", 0) != 0; }
    bool is_contiguous() const;
    std::int64_t elements() const { return trace::element_count(shape); }
    bool same_place(const RecordedTensor& other) const {
        return storage == other.storage && offset == other.offset && shape == other.shape &&
               type == other.type;
    }
};

struct Argument {
    std::optional<RecordedTensor> tensor;
    std::vector<RecordedTensor> tensors;  ///< of a list of tensors
    Literal value;
};

/// A call that the recording lists: an op of PyTorch, an annotation, an autograd node; or a kernel or memory
/// copy on the GPU. A reader fills in the first part, Recording the second.
struct Call {
    std::uint64_t id = 0;   ///< unique within the recording, not 0
    std::string full_name;  ///< as recorded
    std::vector<Argument> inputs;
    std::vector<Argument> outputs;
    std::uint64_t caller = 0;          ///< id of the call that made this one; 0: none was recorded
    std::uint64_t operand_digest = 0;  ///< the same for calls recorded with the same input values; 0: none
    std::vector<std::uint64_t> data_dependencies;
    std::int64_t sequence = -1;             ///< of autograd: a forward call and its gradient share it
    std::int64_t stream = -1;               ///< of a kernel
    std::int64_t collective_bytes = -1;     ///< of a kernel that communicates, where recorded
    std::int64_t ranks = -1;                ///< that take part, where recorded
    std::string collective;                 ///< its name, where it was recorded: "allreduce"
    std::int64_t copied_bytes = -1;         ///< of a memory copy or memset, where recorded
    std::vector<std::int64_t> grid, block;  ///< of a kernel, where recorded
    double start_us = -1;                   ///< of a kernel, on the GPU; below 0: not recorded
    double launched_us = -1;                ///< when the host launched it
    double waited_us = 0;                   ///< by the host for the device, since the launch before
    double duration_us = 0;
    bool on_gpu = false;

    std::string name;          ///< without "aten::", trailing "_" of in-place ops and "(0)" of split nodes
    std::size_t position = 0;  ///< in the order of time, or of the file
    std::optional<std::size_t> parent;
    std::vector<std::size_t> children;

    /// The nth input as a tensor on the GPU; nullptr when it is something else.
    const RecordedTensor* gpu_tensor(std::size_t index) const;
    const RecordedTensor* output_tensor(std::size_t index) const;
    const Literal* literal(std::size_t index) const;
};

class Recording {
  public:
    Recording() = default;
    /// A graph in Chakra's form. Operands that do not parse are a heddle::Error naming the node.
    explicit Recording(const trace::ChakraGraph& graph);

    /// Appends a call; calls come in order. After the last one, finish() ties them together.
    void add(Call call);
    void add(const trace::ChakraNode& node);
    void finish();
    /// Whether anything says how long kernels took.
    bool has_kernels() const { return !kernels_.empty(); }
    /// Throws heddle::Error when calls call each other in a circle.
    void check_callers() const;
    /// Of a run on a host alone: takes all its tensors as if they were on the device.
    void place_on_device();
    trace::RecordedDevice device;

    const std::vector<Call>& calls() const { return calls_; }
    const Call& call(std::size_t position) const { return calls_[position]; }
    /// Positions of kernels and memory copies, in order.
    const std::vector<std::size_t>& kernels() const { return kernels_; }
    const Call* find(std::uint64_t id) const;
    Call& call(std::size_t position) { return calls_[position]; }
    const Call* parent(const Call& call) const { return call.parent ? &calls_[*call.parent] : nullptr; }
    /// From the nearest enclosing call outward; at most a few dozen.
    std::vector<const Call*> enclosing(const Call& call) const;
    /// The first enclosing call with one of these names, or nullptr.
    const Call* enclosing(const Call& call, const std::vector<std::string>& names) const;
    /// Calls inside `scope` (at any depth) that come before `before`.
    std::vector<const Call*> inside(const Call& scope, const Call& before) const;
    /// The forward call that an autograd node differentiates: the same sequence number, not a "...Backward"
    /// itself.
    const Call* forward_of(const Call& backward) const;

  private:
    std::optional<std::size_t> launcher_of(const Call& call) const;
    void learn_strides(Call& call);
    void apply_strides(Argument& argument);

    std::vector<Call> calls_;
    std::vector<std::size_t> kernels_;
    std::unordered_map<std::uint64_t, std::size_t> by_id_;
    std::map<std::int64_t, std::vector<std::size_t>> by_sequence_;

    struct KnownStrides {
        std::uint64_t storage;
        Shape shape, strides;
    };
    std::unordered_map<std::uint64_t, KnownStrides> strides_;
};

/// A tensor [id, storage, offset, elements, bytes per element, device] of PyTorch; nothing when the value is
/// not one, or when type or size are impossible. `type` is PyTorch's name of the element type.
std::optional<RecordedTensor> tensor_of(const Literal& value, const Literal* shape, const std::string& type);
/// Operands as PyTorch lists them: values, shapes and types, one for each.
std::vector<Argument> arguments_of(Literal values, const Literal& shapes, const Literal& types);
std::optional<ElementType> torch_element_type(const std::string& name);
/// Not negative, and no more elements than fit in any memory.
bool possible_shape(const Shape& shape);

/// "aten::add_(0)" -> "add"
std::string plain_name(const std::string& name);

}  // namespace heddle::importers
