#include "workloads/zoo/tape.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "isa/common/error.h"

namespace heddle::zoo {
namespace {

constexpr std::uint64_t own_storage = std::uint64_t{1} << 40;

Shape broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()), 1);
    for (const Shape* shape : {&a, &b}) {
        const std::size_t missing = result.size() - shape->size();
        for (std::size_t i = 0; i < shape->size(); ++i) {
            if ((*shape)[i] != 1) result[missing + i] = (*shape)[i];
        }
    }
    return result;
}

}  // namespace

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
    for (Tensor& output : outputs) {
        if (phase_ == Phase::backward && output.role == TensorRole::activation)
            output.role = TensorRole::gradient;
        op.outputs.push_back(trace_.add(std::move(output)));
    }
    add_dependencies(op, static_cast<trace::OpId>(trace_.ops.size()));
    std::vector<TensorId> results = op.outputs;
    trace_.add(std::move(op));
    return results;
}

TensorId Tape::external(const std::string& name, ElementType type, Shape shape, TensorRole role) {
    return trace_.add(Tensor{name, type, std::move(shape), role, next_storage_++});
}

std::uint64_t Tape::shared_storage(TensorId id) {
    Tensor& source = trace_.tensors.at(id);
    if (source.storage == 0) {
        // From now on the storage has a number that several tensors share; what was known of it moves along.
        source.storage = next_storage_++;
        if (const auto known = uses_.extract(own_storage + id)) uses_[source.storage] = known.mapped();
    }
    return source.storage;
}

TensorId Tape::view(const std::string& name, TensorId x, Shape shape) {
    const Tensor source = tensor(x);
    if (trace::element_count(shape) != source.elements()) {
        throw Error(
            "a view of " + trace::to_text(source.shape) + " cannot have shape " + trace::to_text(shape),
            {.key = name});
    }
    const TensorId id =
        trace_.add(Tensor{name, source.type, std::move(shape), source.role, shared_storage(x)});
    view_of_[id] = x;
    return id;
}

TensorId Tape::part_of(const std::string& name, TensorId x, Shape shape) {
    const Tensor source = tensor(x);
    return trace_.add(Tensor{name, source.type, std::move(shape), source.role, shared_storage(x)});
}

TensorId Tape::matmul(const std::string& name, TensorId a, TensorId b, const MatmulOptions& options) {
    const Shape& left = tensor(a).shape;
    const Shape& right = tensor(b).shape;
    if (left.size() < 2 || right.size() < 2)
        throw Error("a matmul takes tensors of two axes or more", {.key = name});
    Shape shape = broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
    shape.push_back(options.transpose_a ? left.back() : left[left.size() - 2]);
    shape.push_back(options.transpose_b ? right[right.size() - 2] : right.back());
    Op op;
    op.name = name;
    op.kind = OpKind::matmul;
    op.inputs = {a, b};
    if (options.bias) op.inputs.push_back(*options.bias);
    op.attributes["transpose_a"] = std::int64_t{options.transpose_a};
    op.attributes["transpose_b"] = std::int64_t{options.transpose_b};
    return record(std::move(op), {Tensor{name, options.type.value_or(tensor(a).type), shape}})[0];
}

TensorId Tape::elementwise(const std::string& name, const std::string& expression,
                           const std::vector<TensorId>& inputs, std::optional<ElementType> type,
                           const std::vector<double>& scalars) {
    Shape shape;
    for (const TensorId input : inputs) shape = broadcast(shape, tensor(input).shape);
    Op op;
    op.name = name;
    op.kind = OpKind::elementwise;
    op.inputs = inputs;
    op.attributes["expression"] = expression;
    if (!scalars.empty()) op.attributes["scalars"] = scalars;
    return record(std::move(op), {Tensor{name, type.value_or(tensor(inputs.at(0)).type), shape}})[0];
}

std::vector<TensorId> Tape::update_in_place(const std::string& name, const std::string& expression,
                                            const std::vector<TensorId>& inputs,
                                            const std::vector<TensorId>& targets,
                                            const std::vector<double>& scalars) {
    Op op;
    op.name = name;
    op.kind = OpKind::elementwise;
    op.inputs = inputs;
    op.attributes["expression"] = expression;
    if (!scalars.empty()) op.attributes["scalars"] = scalars;
    std::vector<Tensor> outputs;
    for (const TensorId target : targets) {
        Tensor output = tensor(target);
        output.name += ".updated";
        outputs.push_back(output);
    }
    return record(std::move(op), outputs);
}

TensorId Tape::cast(const std::string& name, TensorId x, ElementType type) {
    Op op;
    op.name = name;
    op.kind = OpKind::copy;
    op.inputs = {x};
    return record(std::move(op), {Tensor{name, type, tensor(x).shape}})[0];
}

TensorId Tape::transpose(const std::string& name, TensorId x, const std::vector<std::int64_t>& permutation) {
    Op op;
    op.name = name;
    op.kind = OpKind::copy;
    op.inputs = {x};
    op.attributes["permutation"] = permutation;
    Shape shape;
    for (const std::int64_t axis : permutation) shape.push_back(tensor(x).shape.at(axis));
    return record(std::move(op), {Tensor{name, tensor(x).type, shape}})[0];
}

TensorId Tape::concat(const std::string& name, const std::vector<TensorId>& inputs, std::int64_t axis) {
    Op op;
    op.name = name;
    op.kind = OpKind::concat;
    op.inputs = inputs;
    op.attributes["axis"] = axis;
    Shape shape = tensor(inputs.at(0)).shape;
    for (std::size_t i = 1; i < inputs.size(); ++i) shape.at(axis) += tensor(inputs[i]).shape.at(axis);
    return record(std::move(op), {Tensor{name, tensor(inputs[0]).type, shape}})[0];
}

TensorId Tape::reduce(const std::string& name, TensorId x, const std::string& reduction,
                      const std::vector<std::int64_t>& axes, Shape result_shape) {
    Op op;
    op.name = name;
    op.kind = OpKind::reduce;
    op.inputs = {x};
    op.attributes["reduction"] = reduction;
    op.attributes["axes"] = axes;
    return record(std::move(op), {Tensor{name, tensor(x).type, std::move(result_shape)}})[0];
}

Tape::CrossEntropy Tape::softmax_cross_entropy(const std::string& name, TensorId logits, TensorId labels) {
    Op op;
    op.name = name;
    op.kind = OpKind::softmax_cross_entropy;
    op.inputs = {logits, labels};
    const Tensor& x = tensor(logits);
    const auto results = record(std::move(op), {Tensor{name + ".loss", ElementType::f32, {x.shape.at(0)}},
                                                Tensor{name + ".probabilities", x.type, x.shape}});
    return {results[0], results[1]};
}

TensorId Tape::softmax(const std::string& name, TensorId x) {
    Op op;
    op.name = name;
    op.kind = OpKind::softmax;
    op.inputs = {x};
    return record(std::move(op), {Tensor{name, tensor(x).type, tensor(x).shape}})[0];
}

TensorId Tape::layer_norm(const std::string& name, TensorId x, TensorId gamma, TensorId beta,
                          double epsilon) {
    Op op;
    op.name = name;
    op.kind = OpKind::layer_norm;
    op.inputs = {x, gamma, beta};
    op.attributes["epsilon"] = epsilon;
    const Tensor& source = tensor(x);
    const Shape rows(source.shape.begin(), source.shape.end() - 1);
    return record(std::move(op),
                  {Tensor{name, source.type, source.shape}, Tensor{name + ".mean", ElementType::f32, rows},
                   Tensor{name + ".rstd", ElementType::f32, rows}})[0];
}

TensorId Tape::attention(const std::string& name, TensorId q, TensorId k, TensorId v, bool causal) {
    Op op;
    op.name = name;
    op.kind = OpKind::attention;
    op.inputs = {q, k, v};
    op.attributes["causal"] = std::int64_t{causal};
    Shape out = tensor(q).shape;
    out.back() = tensor(v).shape.back();
    const Shape rows(out.begin(), out.end() - 1);
    return record(std::move(op), {Tensor{name, tensor(q).type, out},
                                  Tensor{name + ".log_sum_exp", ElementType::f32, rows}})[0];
}

TensorId Tape::embedding(const std::string& name, TensorId table, TensorId indices) {
    Op op;
    op.name = name;
    op.kind = OpKind::embedding;
    op.inputs = {table, indices};
    Shape shape = tensor(indices).shape;
    shape.push_back(tensor(table).shape.at(1));
    return record(std::move(op), {Tensor{name, tensor(table).type, shape}})[0];
}

TensorId Tape::fill(const std::string& name, ElementType type, Shape shape, double value) {
    Op op;
    op.name = name;
    op.kind = OpKind::fill;
    op.attributes["value"] = value;
    return record(std::move(op), {Tensor{name, type, std::move(shape)}})[0];
}

TensorId Tape::materialise(const Gradient& gradient, const std::string& name, TensorId like) {
    if (gradient.tensor) return *gradient.tensor;
    return fill(name, tensor(like).type, tensor(like).shape, gradient.uniform);
}

Gradient Tape::add_gradients(const Gradient& a, const Gradient& b, TensorId of) {
    if (!a.tensor && !b.tensor) return {{}, a.uniform + b.uniform};
    const std::string name = "d " + tensor(of).name + ".sum";
    if (a.tensor && b.tensor) return {elementwise(name, "y0 = x0 + x1", {*a.tensor, *b.tensor}), 0};
    const Gradient& varying = a.tensor ? a : b;
    const double number = a.tensor ? b.uniform : a.uniform;
    return {elementwise(name, "y0 = x0 + s0", {*varying.tensor}, {}, {number}), 0};
}

std::map<TensorId, Gradient> Tape::backward(TensorId loss, const std::vector<TensorId>& wanted,
                                            double scale) {
    const auto root = [this](TensorId id) {
        for (auto found = view_of_.find(id); found != view_of_.end(); found = view_of_.find(id))
            id = found->second;
        return id;
    };
    set_phase(Phase::backward);
    // What depends on a wanted tensor: only that needs a gradient. Views stand for what they look at.
    std::set<TensorId> reached;
    for (const TensorId id : wanted) reached.insert(root(id));
    const std::size_t forward_ops = trace_.ops.size();
    for (std::size_t i = 0; i < forward_ops; ++i) {
        const Op& op = trace_.ops[i];
        if (std::any_of(op.inputs.begin(), op.inputs.end(),
                        [&](TensorId id) { return reached.contains(root(id)); })) {
            for (const TensorId id : op.outputs) reached.insert(root(id));
        }
    }
    // Gradients of roots. A view has the same elements in the same order, so its gradient is only seen
    // differently.
    std::map<TensorId, Gradient> gradients;
    gradients[root(loss)] = {{}, scale};
    const auto shaped = [&](const Gradient& gradient, TensorId as) -> Gradient {
        if (!gradient.tensor || tensor(*gradient.tensor).shape == tensor(as).shape) return gradient;
        return {view("d " + tensor(as).name, *gradient.tensor, tensor(as).shape), 0};
    };
    for (std::size_t i = forward_ops; i-- > 0;) {
        const Op op = trace_.ops[i];
        std::vector<std::optional<Gradient>> upstream;
        for (const TensorId id : op.outputs) {
            const auto found = gradients.find(root(id));
            upstream.push_back(found == gradients.end() ? std::nullopt
                                                        : std::optional<Gradient>(shaped(found->second, id)));
        }
        std::vector<bool> needed;
        for (const TensorId id : op.inputs) needed.push_back(reached.contains(root(id)));
        const bool flows =
            std::any_of(upstream.begin(), upstream.end(), [](const auto& g) { return g.has_value(); });
        if (!flows || std::find(needed.begin(), needed.end(), true) == needed.end()) continue;
        const auto results = gradient_rule(*this, static_cast<trace::OpId>(i), upstream, needed);
        for (std::size_t k = 0; k < op.inputs.size(); ++k) {
            if (!needed[k] || !results.at(k)) continue;
            const TensorId target = root(op.inputs[k]);
            const Gradient gradient = shaped(*results[k], target);
            const auto [place, fresh] = gradients.try_emplace(target, gradient);
            if (!fresh) place->second = add_gradients(place->second, gradient, target);
        }
    }
    std::map<TensorId, Gradient> result;
    for (const TensorId id : wanted) {
        const auto found = gradients.find(root(id));
        if (found == gradients.end())
            throw Error("the loss does not depend on it", {.key = "tensor " + tensor(id).name});
        result[id] = shaped(found->second, id);
    }
    return result;
}

trace::Trace Tape::finish() {
    trace_.check();
    return trace_;
}

}  // namespace heddle::zoo
