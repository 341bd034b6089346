// Ops of PyTorch by schema: which family an op is of, and those that are families of one.
#include "workloads/importers/operations.h"

#include <algorithm>
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
    op.set(keys::random.distribution, "uniform");
    op.set(keys::random.low, 0.0);
    op.set(keys::random.high, 1.0);
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

constexpr const char* kAllocations[] = {"empty",          "empty_like", "empty_strided",
                                        "empty_permuted", "new_empty",  "new_empty_strided",
                                        "resize",         "resize_as",  "set"};
constexpr const char* kFills[] = {"fill", "zero", "full", "ones", "arange"};
constexpr const char* kRandoms[] = {"uniform",     "normal", "bernoulli", "random",
                                    "exponential", "randn",  "rand"};

template <std::size_t N>
bool listed(const char* const (&names)[N], const std::string& name) {
    return std::any_of(std::begin(names), std::end(names), [&name](const char* one) { return name == one; });
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
        for (const char* name : kRandoms) made[name] = random_numbers;
        for (const char* name : kFills) made[name] = by_launch<fill_operation>;
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

/// "aten::is_nonzero", "aten::sym_size"
bool is_question(const std::string& name) {
    return name.rfind("is_", 0) == 0 || name.rfind("_is_", 0) == 0 || name.rfind("_has_", 0) == 0 ||
           name.rfind("sym_", 0) == 0 || name == "cudnn_is_acceptable";
}

const std::unordered_set<std::string>& idle_calls() {
    static const std::unordered_set<std::string> table{"view",
                                                       "to",
                                                       "type_as",
                                                       "reshape",
                                                       "reshape_as",
                                                       "flatten",
                                                       "ravel",
                                                       "dropout",
                                                       "feature_dropout",
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
                                                       "numel",
                                                       "pin_memory",
                                                       "_pin_memory",
                                                       "requires_grad",
                                                       "data",
                                                       "can_cast",
                                                       "unsafe_split",
                                                       "unsafe_chunk",
                                                       "unflatten",
                                                       "mT",
                                                       "numpy_T",
                                                       "real",
                                                       "view_as_real",
                                                       "view_as_complex",
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
                                                        "new_ones",
                                                        "new_full",
                                                        "scalar_tensor",
                                                        "constant_pad_nd",
                                                        "pad",
                                                        "repeat",
                                                        "tile",
                                                        "concat",
                                                        "concatenate",
                                                        "hstack",
                                                        "vstack",
                                                        "diag_embed",
                                                        "select_backward",
                                                        "slice_backward"};
    return frames.contains(name);
}

bool does_nothing(const std::string& name) {
    return idle_calls().contains(name) || allocates(name) || is_question(name);
}

bool allocates(const std::string& name) {
    return listed(kAllocations, name);
}

bool only_moves(const std::string& name) {
    return is_movement(name) || listed(kFills, name) || listed(kRandoms, name);
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
