#include "workloads/zoo/tape.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "isa/common/error.h"
#include "workloads/trace/possible_shape.h"

namespace heddle::zoo {
namespace {

constexpr std::uint64_t own_storage = std::uint64_t{1} << 40;
/// Later shapes are computed from it.
TensorId add(trace::Trace& trace, Tensor tensor) {
    if (!trace::is_possible(tensor.shape))
        throw Error("impossible shape " + trace::to_text(tensor.shape), {.key = "tensor " + tensor.name});
    return trace.add(std::move(tensor));
}

}  // namespace

void fail_as_too_long(const std::string& at) {
    throw Error("a step of more than " + std::to_string(kMostOps) + " ops is too long to be written out",
                {.key = at}, "take fewer layers, moments or micro-batches");
}

void Tape::expect(std::int64_t more) const {
    if (more > static_cast<std::int64_t>(kMostOps - trace_.ops.size()))
        fail_as_too_long(trace_.ops.empty() ? trace_.name : trace_.ops.back().name);
}

void Tape::expect_again(std::size_t first, std::int64_t times) const {
    const auto ops = static_cast<std::int64_t>(trace_.ops.size() - first);
    // Without a product, which may be too large for its type.
    if (ops > 0 && times > static_cast<std::int64_t>(kMostOps) / ops)
        fail_as_too_long(trace_.ops.back().name);
    expect(ops * times);
}

std::uint64_t Tape::storage_of(TensorId id) const {
    const std::uint64_t storage = trace_.tensor(id).storage;
    return storage != 0 ? storage : own_storage + id;
}

void Tape::add_dependencies(Op& op, trace::OpId self) {
    std::set<trace::OpId> dependencies(op.dependencies.begin(), op.dependencies.end());
    for (const TensorId id : op.inputs) {
        StorageUse& use = uses_[storage_of(id)];
        if (use.writer) dependencies.insert(*use.writer);
        use.readers.push_back(self);
    }
    for (const TensorId id : op.outputs) {
        StorageUse& use = uses_[storage_of(id)];
        if (use.writer) dependencies.insert(*use.writer);
        dependencies.insert(use.readers.begin(), use.readers.end());
        use.writer = self;
        use.readers.clear();
    }
    dependencies.erase(self);
    op.dependencies.assign(dependencies.begin(), dependencies.end());
}

std::vector<TensorId> Tape::record(Op op, std::vector<Tensor> outputs) {
    op.phase = phase_;
    part_of_op_.push_back(part_);
    if (marks_parts_) op.set(keys::any.part, part_);
    if (phase_ == Phase::backward) {
        for (TensorId& id : op.inputs) id = now(id);
    }
    if (trace_.ops.size() == kMostOps) fail_as_too_long(op.name);
    const auto self = static_cast<trace::OpId>(trace_.ops.size());
    for (Tensor& output : outputs) {
        if (phase_ == Phase::backward && output.role == TensorRole::activation)
            output.role = TensorRole::gradient;
        op.outputs.push_back(add(trace_, std::move(output)));
    }
    if (open_segment_ >= 0) {
        segments_[static_cast<std::size_t>(open_segment_)].ops.push_back(self);
        segment_of_[self] = open_segment_;
        for (const TensorId id : op.outputs) made_in_segment_[id] = self;
    }
    add_dependencies(op, self);
    std::vector<TensorId> results = op.outputs;
    trace_.add(std::move(op));
    return results;
}

TensorId Tape::external(const std::string& name, ElementType type, Shape shape, TensorRole role) {
    const TensorId id = add(trace_, Tensor{name, type, std::move(shape), role, next_storage_++});
    owner_[trace_.tensor(id).storage] = id;
    return id;
}

TensorId Tape::buffer(const std::string& name, ElementType type, Shape shape) {
    const TensorRole role = phase_ == Phase::backward ? TensorRole::gradient : TensorRole::activation;
    const TensorId id = external(name, type, std::move(shape), role);
    buffers_.insert(id);
    if (open_segment_ >= 0) made_in_segment_[id] = static_cast<trace::OpId>(trace_.ops.size());
    return id;
}

std::uint64_t Tape::shared_storage(TensorId id) {
    Tensor& source = trace_.tensors.at(id);
    if (source.storage == 0) {
        // From now on the storage has a number that several tensors share; what was known of it moves along.
        source.storage = next_storage_++;
        owner_[source.storage] = id;
        if (const auto known = uses_.extract(own_storage + id)) uses_[source.storage] = known.mapped();
    }
    return source.storage;
}

TensorId Tape::view(const std::string& name, TensorId x, Shape shape) {
    const Tensor source = tensor(x);
    if (!trace::is_possible(shape) || trace::element_count(shape) != source.elements()) {
        throw Error(
            "a view of " + trace::to_text(source.shape) + " cannot have shape " + trace::to_text(shape),
            {.key = name});
    }
    const TensorId id =
        add(trace_, Tensor{name, source.type, std::move(shape), source.role, shared_storage(x)});
    view_of_[id] = x;
    return id;
}

TensorId Tape::part_of(const std::string& name, TensorId x, Shape shape) {
    const Tensor source = tensor(x);
    const TensorId id =
        add(trace_, Tensor{name, source.type, std::move(shape), source.role, shared_storage(x)});
    part_of_[id] = x;
    return id;
}

trace::Trace Tape::finish() {
    trace_.check();
    return trace_;
}

}  // namespace heddle::zoo
