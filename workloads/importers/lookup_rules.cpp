// Embeddings and indexed reads and writes.
#include "workloads/importers/operands.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

/// Index tensors of index(self, [i, j]) and the first axis that they replace. None before them skips axes.
struct Indices {
    std::vector<RecordedTensor> tensors;
    std::int64_t axis = 0;
};

Indices indices_of(const Call& call, std::size_t argument) {
    if (argument >= call.inputs.size()) throw NotUnderstood{"no indices were recorded"};
    Indices result;
    result.tensors = call.inputs[argument].tensors;
    if (result.tensors.empty()) throw NotUnderstood{"no index tensors were recorded"};
    if (const LiteralList* list = call.inputs[argument].value.list()) {
        for (const Literal& item : *list) {
            if (!item.is_none()) break;
            ++result.axis;
        }
        if (list->size() != result.tensors.size() + static_cast<std::size_t>(result.axis)) {
            throw NotUnderstood{"index tensors do not address neighbouring axes"};
        }
    }
    for (const RecordedTensor& tensor : result.tensors) {
        if (tensor.type == ElementType::boolean)
            throw NotUnderstood{"a boolean mask chooses how many elements"};
    }
    return result;
}

void embedding_forward(Builder& builder, const Launch& launch) {
    // index_select(self, dim, index)
    const Call& call = need(launch.enclosing({"index_select", "embedding"}), "lookup");
    const bool select = call.name == "index_select";
    const RecordedTensor& table = need(call.gpu_tensor(0), "table");
    const std::int64_t axis = select ? integer_operand(call, 1, 0) : 0;
    Op op;
    op.kind = axis == 0 && table.shape.size() == 2 ? OpKind::embedding : OpKind::gather;
    if (op.kind == OpKind::gather) op.set(keys::gather.axis, axis);
    if (op.kind == OpKind::embedding && launch.name.function == "indexSelectLargeIndex")
        op.set(keys::embedding.one_by_one, 1);
    builder.input(op, table);
    builder.input(op, need(call.gpu_tensor(select ? 2 : 1), "indices"));
    builder.output(op, need(call.output_tensor(0), "result of the lookup"));
    builder.add(std::move(op), launch, &call);
}

void embedding_backward(Builder& builder, const Launch& launch) {
    // embedding_dense_backward(gradient, indices, rows, padding, scale by frequency)
    const Call& call = need(launch.enclosing({"embedding_dense_backward"}), "embedding gradient");
    Op op;
    op.kind = OpKind::embedding_grad;
    op.set(keys::embedding.accumulate, 1);  // the table was filled with zeros by a kernel of its own
    if (launch.name.function.rfind("embedding_backward_feature", 0) == 0) op.set(keys::embedding.in_order, 1);
    builder.input(op, need(call.gpu_tensor(0), "gradient"));
    builder.input(op, need(call.gpu_tensor(1), "indices"));
    builder.output(op, need(call.output_tensor(0), "gradient of the table"));
    builder.add(std::move(op), launch, &call);
}

void index(Builder& builder, const Launch& launch, bool put) {
    // index(self, [indices]); _index_put_impl_(self, [indices], values, accumulate, unsafe)
    const Call& call =
        need(put ? launch.enclosing({"_index_put_impl", "index_put"}) : launch.enclosing({"index"}), "index");
    const Indices indices = indices_of(call, 1);
    Op op;
    op.kind = put ? OpKind::scatter : OpKind::gather;
    op.set(keys::gather.axis, indices.axis);
    const RecordedTensor& self = need(call.gpu_tensor(0), "indexed tensor");
    builder.input(op, self);
    for (const RecordedTensor& tensor : indices.tensors) builder.input(op, tensor);
    if (put) {
        builder.input(op, need(call.gpu_tensor(2), "values"));
        if (call.literal(3) != nullptr) op.set(keys::gather.accumulate, integer_operand(call, 3, 0));
        builder.output(op, self);
    } else {
        builder.output(op, need(call.output_tensor(0), "result of index"));
    }
    builder.add(std::move(op), launch, &call);
}

void along(Builder& builder, const Launch& launch, bool scatter) {
    // gather(self, dim, index); scatter(self, dim, index, src)
    const Call& call =
        need(scatter ? launch.enclosing({"scatter", "scatter_add"}) : launch.enclosing({"gather"}), "lookup");
    const RecordedTensor& self = need(call.gpu_tensor(0), "indexed tensor");
    std::int64_t axis = integer_operand(call, 1, 0);
    if (axis < 0) axis += static_cast<std::int64_t>(self.shape.size());
    Op op;
    op.kind = scatter ? OpKind::scatter : OpKind::gather;
    op.set(keys::gather.axis, axis);
    op.set(keys::gather.along, 1);
    builder.input(op, self);
    builder.input(op, need(call.gpu_tensor(2), "indices"));
    if (scatter) {
        builder.input(op, need(call.gpu_tensor(3), "values"));
        op.set(keys::gather.accumulate, call.name == "scatter_add");
        builder.output(op, self);
    } else {
        builder.output(op, need(call.output_tensor(0), "result of gather"));
    }
    builder.add(std::move(op), launch, &call);
}

}  // namespace

void lookup_operation(Builder& builder, const Launch& launch) {
    // The first of these around the kernel, or the call itself.
    const Call& call =
        need(launch.enclosing({"index_select", "embedding", "embedding_dense_backward", "index",
                               "_index_put_impl", "index_put", "gather", "scatter", "scatter_add"}),
             "lookup");
    if (call.name == "index_select" || call.name == "embedding") {
        embedding_forward(builder, launch);
    } else if (call.name == "embedding_dense_backward") {
        embedding_backward(builder, launch);
    } else if (call.name == "gather" || call.name.rfind("scatter", 0) == 0) {
        along(builder, launch, call.name != "gather");
    } else {
        index(builder, launch, call.name != "index");
    }
}

bool lookup_rule(Builder& builder, const Launch& launch) {
    const KernelName& name = launch.name;
    if (name.function.rfind("indexSelect", 0) == 0) {
        embedding_forward(builder, launch);
    } else if (name.function.rfind("embedding_backward", 0) == 0 || name.contains("compute_grad_weight")) {
        embedding_backward(builder, launch);
    } else if (name.function == "index_elementwise_kernel") {
        index(builder, launch, name.contains("index_put"));
    } else if (name.contains("_scatter_gather_elementwise_kernel") ||
               name.contains("vectorized_gather_kernel")) {
        along(builder, launch, launch.enclosing({"scatter", "scatter_add"}) != nullptr);
    } else {
        return false;
    }
    return true;
}

}  // namespace heddle::importers
