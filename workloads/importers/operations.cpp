// Ops of PyTorch by schema: which family an op is of, and those that are families of one.
#include "workloads/importers/operations.h"

#include <unordered_set>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

void product(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::matmul;
    torch_product(builder, op, call);
    describe_product(op, launch.name);
    builder.add(std::move(op), launch, &call);
}

void random_numbers(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::random;
    op.attributes["distribution"] = std::string("uniform");
    op.attributes["low"] = 0.0;
    op.attributes["high"] = 1.0;
    if (call.name != "uniform") assume(op, "uniform numbers instead of " + call.name);
    const RecordedTensor* target = call.gpu_tensor(0) != nullptr ? call.gpu_tensor(0) : call.output_tensor(0);
    builder.output(op, need(target, "tensor of random numbers"));
    builder.add(std::move(op), launch, &call);
}

void lstm(Builder& builder, const Launch& launch, const Call& call) {
    // (input gates, hidden gates, c [, bias, bias]) -> h, c, workspace
    Op op;
    op.kind = OpKind::lstm_cell;
    for (std::size_t i = 0; i < 3; ++i) builder.input(op, operand(call, i, "operand"));
    for (std::size_t i = 3; i < 5; ++i)
        if (const RecordedTensor* bias = call.gpu_tensor(i)) builder.input(op, *bias);
    for (std::size_t i = 0; i < 3; ++i) {
        if (const RecordedTensor* made = call.output_tensor(i)) builder.output(op, *made);
    }
    builder.add(std::move(op), launch, &call);
}

void collective(Builder& builder, const Launch& launch, const Call& call) {
    static_cast<void>(call);
    if (!collective_rule(builder, launch)) throw NotUnderstood{"an unknown collective"};
}

template <void (*function)(Builder&, const Launch&)>
void by_launch(Builder& builder, const Launch& launch, const Call&) {
    function(builder, launch);
}

const OperationTable& families() {
    static const OperationTable table = [] {
        OperationTable made;
        for (const auto* family : {&reduction_operations(), &normalisation_operations(),
                                   &attention_operations(), &collective_operations()})
            made.insert(family->begin(), family->end());
        for (const char* name : {"mm", "bmm", "addmm", "baddbmm", "linear", "_addmm_activation"})
            made[name] = product;
        made["_thnn_fused_lstm_cell"] = lstm;
        for (const char* name : {"uniform", "normal", "bernoulli", "random", "exponential", "randn", "rand"})
            made[name] = random_numbers;
        for (const char* name : {"fill", "zero", "full", "ones"}) made[name] = by_launch<fill_operation>;
        made["arange"] = by_launch<arange_operation>;
        for (const char* name : {"native_dropout", "_fused_dropout"})
            made[name] = by_launch<dropout_operation>;
        for (const char* name : {"index_select", "embedding", "embedding_dense_backward", "index",
                                 "index_put", "_index_put_impl", "gather", "scatter", "scatter_add"})
            made[name] = by_launch<lookup_operation>;
        made["record_param_comms"] = collective;
        return made;
    }();
    return table;
}

const std::unordered_set<std::string>& idle_calls() {
    static const std::unordered_set<std::string> table{"view",
                                                       "t",
                                                       "transpose",
                                                       "permute",
                                                       "expand",
                                                       "as_strided",
                                                       "slice",
                                                       "select",
                                                       "unsqueeze",
                                                       "squeeze",
                                                       "detach",
                                                       "alias",
                                                       "empty",
                                                       "empty_like",
                                                       "empty_strided",
                                                       "result_type",
                                                       "resolve_conj",
                                                       "resolve_neg",
                                                       "narrow",
                                                       "split",
                                                       "split_with_sizes",
                                                       "chunk",
                                                       "unbind",
                                                       "_unsafe_view",
                                                       "_reshape_alias",
                                                       "resize",
                                                       "resize_as",
                                                       "set",
                                                       "record_stream",
                                                       "lift_fresh",
                                                       "unfold",
                                                       "diagonal",
                                                       "movedim",
                                                       "swapaxes",
                                                       "swapdims",
                                                       "view_as",
                                                       "expand_as",
                                                       "size",
                                                       "stride",
                                                       "sym_size",
                                                       "numel",
                                                       "is_pinned",
                                                       "pin_memory",
                                                       "_pin_memory",
                                                       "new_empty",
                                                       "new_empty_strided",
                                                       "is_nonzero",
                                                       "_has_compatible_shallow_copy_type",
                                                       "requires_grad",
                                                       "data",
                                                       "is_same_size",
                                                       "can_cast",
                                                       "unsafe_split",
                                                       "unsafe_chunk",
                                                       "unflatten",
                                                       "mT",
                                                       "numpy_T",
                                                       "real",
                                                       "view_as_real",
                                                       "view_as_complex",
                                                       "is_complex",
                                                       "is_floating_point",
                                                       "output_nr",
                                                       "_version",
                                                       "retain_grad",
                                                       "promote_types",
                                                       "broadcast_tensors",
                                                       "broadcast_to",
                                                       "tensor_split",
                                                       "hsplit",
                                                       "vsplit",
                                                       "_conj",
                                                       "positive",
                                                       "is_contiguous",
                                                       "_local_scalar",
                                                       "isclose_dummy",
                                                       "_nested_tensor_size"};
    return table;
}

}  // namespace

bool is_operation(const std::string& name) {
    return families().contains(name) || is_pointwise_operation(name) || is_window_operation(name) ||
           is_list_operation(name) || is_movement(name);
}

bool is_frame(const std::string& name) {
    static const std::unordered_set<std::string> frames{"linear",
                                                        "embedding",
                                                        "full",
                                                        "ones",
                                                        "arange",
                                                        "index_put",
                                                        "randn",
                                                        "rand",
                                                        "record_param_comms",
                                                        "square",
                                                        "stack",
                                                        "clone",
                                                        "contiguous",
                                                        "_to_copy",
                                                        "zeros",
                                                        "zeros_like",
                                                        "ones_like",
                                                        "full_like",
                                                        "new_zeros",
                                                        "select_backward",
                                                        "slice_backward"};
    return frames.contains(name);
}

bool does_nothing(const std::string& name) {
    return idle_calls().contains(name);
}

void add_operation(Builder& builder, const Launch& launch, const Call& call) {
    if (pointwise_operation(builder, launch, call) || window_operation(builder, launch, call) ||
        list_operation(builder, launch, call) || movement_operation(builder, launch, call))
        return;
    const auto found = families().find(call.name);
    if (found == families().end()) throw NotUnderstood{"no rule for " + call.full_name};
    found->second(builder, launch, call);
}

}  // namespace heddle::importers
