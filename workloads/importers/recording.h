// A recorded PyTorch execution as a tree of calls: which op launched which kernel, on which tensors with
// which strides.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/importers/literal.h"
#include "workloads/trace/shape.h"
#include "workloads/trace_files/chakra.h"

namespace heddle::importers {

using trace::ChakraNode;
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

/// A call that the recording lists: an op of PyTorch, an annotation, an autograd node.
struct Call {
    const ChakraNode* node = nullptr;
    std::string name;  ///< without "aten::", trailing "_" of in-place ops and "(0)" of split nodes
    std::vector<Argument> inputs;
    std::vector<Argument> outputs;
    std::size_t position = 0;  ///< in the file
    std::optional<std::size_t> parent;
    std::vector<std::size_t> children;
    bool on_gpu = false;

    /// The nth input as a tensor on the GPU; nullptr when it is something else.
    const RecordedTensor* gpu_tensor(std::size_t index) const;
    const RecordedTensor* output_tensor(std::size_t index) const;
    const Literal* literal(std::size_t index) const;
};

class Recording {
  public:
    /// Keeps references into the graph. Operands that do not parse are a heddle::Error naming the node.
    explicit Recording(const trace::ChakraGraph& graph);

    const std::vector<Call>& calls() const { return calls_; }
    const Call& call(std::size_t position) const { return calls_[position]; }
    /// Positions of kernels and memory copies, in order.
    const std::vector<std::size_t>& kernels() const { return kernels_; }
    const Call* find(std::uint64_t id) const;
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
    void read_call(const ChakraNode& node, std::size_t position);
    std::optional<std::size_t> launcher_of(const Call& call) const;
    void link();
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

/// "aten::add_(0)" -> "add"
std::string plain_name(const std::string& name);

}  // namespace heddle::importers
