// The kinds of ops: one row each, and the attributes that an op of the kind may have.
//
// Every room that does something with each kind makes its own table of HEDDLE_OP_KINDS, in which the name of
// a kind leads to a function: OpCheck::NAME here, run_NAME in workloads/reference, lower_NAME in
// workloads/lowering. A row without such a function does not link.
#pragma once

#include <span>

#include "workloads/trace/attributes.h"

namespace heddle::trace {

/// What any op may have. Where its operands lie: "input<i>_strides", "output<i>_strides" (elements, one per
/// axis) and "..._offset" (elements from the start of the storage); see Op::strides(). The others say what
/// was recorded.
struct AnyKeys {
    Integers turns{"turns"};                         ///< workloads/trace/turns.h
    Integers beside{"beside"};                       ///< collectives that ran at the same time: their ops
    Integers beside_start_ns{"beside_start_ns"};     ///< when each of them had begun, before this one
    Integer part{"part"};                            ///< of the model: layer, embedding, head
    Integer list{"list"};                            ///< ops of one number are carried out by one launch
    Integer kernels{"kernels", 1, Counted::things};  ///< kernels of the recording that this op stands for
    Text assumed{"assumed"};                         ///< what was assumed of a recorded op
    Text reason{"reason"};                           ///< why it was not understood
    Text fused{"fused"};                             ///< the fused kernel that the compiler made of it
    Text compute_type{"compute_type"};               ///< "tf32": how products of f32 are computed
    // How the recorded kernel did it.
    Integers tile{"tile", Counted::things};
    Integer stages{"stages", Counted::things};
    Integer slices{"slices", Counted::things};
    Integer copy_elements{"copy_elements", Counted::things};
    Integer warpgroups{"warpgroups", Counted::things};
    Integer threads{"threads", Counted::things};
    Integer vector_width{"vector_width", Counted::things};
    Integer elements_per_thread{"elements_per_thread", Counted::things};
    Integer chunk_elements{"chunk_elements", Counted::things};
    Integer strided{"strided"};
    Integer casting{"casting"};
    Integer in_turn{"in_turn"};
    Integer eager{"eager"};
};

/// The keys of kinds without attributes of their own.
struct NoKeys : AnyKeys {};

/// A, B [, bias or accumulator, more epilogue operands] -> y = op(A) op(B); leading batch dimensions
/// broadcast. Third operand without "epilogue": added.
struct MatmulKeys : AnyKeys {
    Integer transpose_a{"transpose_a"}, transpose_b{"transpose_b"};
    Text epilogue{"epilogue"};  ///< expression over x0 = product, x1, x2 = the other operands, broadcast to y
    Reals scalars{"scalars"};   ///< s0, s1 of the epilogue
    Integer m{"m"}, n{"n"}, k{"k"};          ///< as recorded
    Text layout{"layout"};                   ///< of the recorded kernel
    Integer bias_gradient{"bias_gradient"};  ///< the recorded kernel summed the bias's gradient, too
};

/// Inputs broadcast to the first output's shape, NumPy rules; all outputs have the same number of elements.
struct ElementwiseKeys : AnyKeys {
    Text expression{"expression"};
    Reals scalars{"scalars"};  ///< s0, s1
};

/// x [, more] -> y [, more]; result i reduces output i of the expression.
struct ReduceKeys : ElementwiseKeys {  ///< expression: over the inputs (broadcast to the first), before
    Text reduction{"reduction"};       ///< sum, mean, max, min, norm2
    Integers axes{"axes"};             ///< absent: all
    Integer argument{"argument"};      ///< 1: the second result is the index of the extremum
    Integer column_alone{"column_alone"};
    Integer partials{"partials"};
    Integer clears_bytes{"clears_bytes", Counted::bytes};
};

/// logits [N, C], labels [N] -> loss per row [N], probabilities [N, C]; its gradient: probabilities, labels
/// [, d loss [N]] -> d logits, times "scale" (1/N: mean loss).
struct CrossEntropyKeys : AnyKeys {
    Real scale{"scale", 1};
};

/// x -> y; its gradient: y, dy -> dx.
struct SoftmaxKeys : AnyKeys {
    Integer axis{"axis"};            ///< absent: the last one
    Integer logarithm{"logarithm"};  ///< 1: y is its logarithm
    Text form{"form"};               ///< "three_reads": the kernel of PyTorch 2.0
};

/// layer_norm: x [rows, columns] [, gamma, beta] -> y [, mean, rstd]; its gradient: dy, x, mean, rstd, gamma
/// -> dx
/// [, d gamma, d beta]. rms_norm: x [rows, columns], gamma -> y [, rstd]; dy, x, rstd, gamma -> dx [, d
/// gamma].
struct RowNormKeys : AnyKeys {
    Real epsilon{"epsilon", 1e-5};
    Integer compiled{"compiled"};  ///< 1: the kernel of torch.compile
};

/// x [N, C, ...], gamma, beta [C] -> y [, mean, rstd [N, groups]]; dy, x, mean, rstd, gamma -> dx [, d gamma,
/// d beta].
struct GroupNormKeys : AnyKeys {
    Integer groups{"groups", 1, Counted::things};
    Real epsilon{"epsilon", 1e-5};
};

/// dy, x, mean, rstd, gamma -> dx [, d gamma, d beta]
struct BatchNormGradKeys : AnyKeys {
    Real epsilon{"epsilon", 1e-5};
};

/// x [N, C, ...], gamma, beta [, running mean, running variance [C]] -> y [, mean, rstd [C] [, running mean,
/// running variance]]; training mode.
struct BatchNormKeys : BatchNormGradKeys {
    /// running = (1 - momentum) running + momentum new, the variance without bias
    Real momentum{"momentum", 0.1};
};

/// x -> y [, mask (boolean)]. Element i is kept, times 1 / (1 - probability), when number i of Philox
/// (isa/numerics/philox.h) is at least the probability.
struct DropoutKeys : AnyKeys {
    Real probability{"probability", 0.5};  ///< of a zero
    Integer seed{"seed"}, offset{"offset"};
};

/// expert indices [N] -> slot [N] (i32): index i is the r-th (from 0) of those that chose expert e: slot e *
/// capacity + r, or experts * capacity when r is capacity or more (the expert is full).
struct ExpertSlotsKeys : AnyKeys {
    Integer experts{"experts", 0, Counted::things}, capacity{"capacity", 0, Counted::elements};
    Real dropped{"dropped"};  ///< part of the tokens that is expected to find no slot
};

/// x -> y: along the axis element i is the sum of elements 0 to i, or with "reverse" = 1 of those from i on.
struct CumulativeSumKeys : AnyKeys {
    Integer axis{"axis"};  ///< absent: the last one
    Integer reverse{"reverse"};
};

/// q, k, v [batch, heads, sequence, head_dim] -> out [, log-sum-exp [batch, heads, sequence]]; k and v may
/// have fewer heads (grouped). Its gradient: d out, q, k, v, out, log-sum-exp -> dq, dk, dv.
struct AttentionKeys : AnyKeys {
    Integer causal{"causal"};
    Real scale{"scale"};       ///< absent: 1/sqrt(head_dim)
    Real dropout{"dropout"};   ///< probability; expression::WeightDropout says which weights are kept
    Integer stream{"stream"};  ///< of the random numbers
    Integer longest_first{"longest_first"};
    Integer warps{"warps"};  ///< of the recorded kernel
};

/// What slides (workloads/trace/sliding_window.h). "nchw": x [N, C, space...], w [filters, C / groups,
/// window...]; "nhwc": x [N, space..., C], w [filters, window..., C / groups].
struct SlidingKeys : AnyKeys {
    Text layout{"layout", "nchw"};
    Integers strides{"strides"};    ///< absent: 1
    Integers dilation{"dilation"};  ///< absent: 1
    Integers padding{"padding"};    ///< absent: 0; one per axis, or low and high of each
};

/// x, w [, bias] -> y; data gradient: dy, w -> dx; weight gradient: dy, x -> dw [, d bias].
struct ConvolutionKeys : SlidingKeys {
    Integer groups{"groups", 1, Counted::things};
};

/// x -> y [, position of the maximum in its plane]; its gradient: dy [, x [, positions]] -> dx; max needs x
/// (the first maximum has the gradient) or, as third, positions.
struct PoolingKeys : SlidingKeys {
    Text pooling{"pooling"};  ///< max, mean
    Integers window{"window"};
    Integer round_up{"round_up"};                 ///< as ceil_mode
    Integer padding_counts{"padding_counts", 1};  ///< mean
};

/// table [V, D], indices [N] -> [N, D]; its gradient: d out [N, D], indices [N] -> d table [V, D].
struct EmbeddingKeys : AnyKeys {
    Integer accumulate{"accumulate"};  ///< 1: the gradient is added to what the table holds
    Integer in_order{"in_order"};      ///< the kernel that adds rows in the order of their indices
    Integer one_by_one{"one_by_one"};  ///< the kernel that looks up element by element
};

/// Copy, cast, reshape, broadcast; transpose with "permutation".
struct CopyKeys : AnyKeys {
    Integers permutation{"permutation"};  ///< y axis i is x axis permutation[i]
    Integer tiles{"tiles"};               ///< the kernel that transposes tiles
};

/// The operands are joined along `axis`.
struct ConcatKeys : AnyKeys {
    Integer axis{"axis"};
};

/// -> y
struct FillKeys : AnyKeys {
    Real value{"value"};
    Real step{"step"};  ///< element i is value + i * step (a range)
};

/// gather: x, indices [, more indices] -> y. Indices replace the axis; several index tensors of one shape
/// replace as many axes from "axis" on. scatter: x, indices [, more], updates -> y: gather's positions of x
/// overwritten, or added to.
struct LookupKeys : AnyKeys {
    Integer axis{"axis"};
    Integer along{
        "along"};  ///< 1: one index per result element, as take_along_axis (the axis may be dropped)
    Integer distinct{"distinct"};      ///< gather: no index repeats
    Integer one_by_one{"one_by_one"};  ///< gather: the kernel that looks up element by element
    Integer accumulate{"accumulate"};  ///< scatter: added
};

/// -> y
struct RandomKeys : AnyKeys {
    Text distribution{"distribution", "uniform"};  ///< uniform, integer
    Real low{"low"}, high{"high", 1};
    Integer stream{"stream"};
};

/// Between host and device.
struct HostCopyKeys : AnyKeys {
    Text direction{"direction"};      ///< host_to_device, device_to_host
    Text host_memory{"host_memory"};  ///< pinned, pageable
    Integer blocking{"blocking"};
};

/// A communication between devices.
struct CollectiveKeys : AnyKeys {
    Text collective{"collective"};  ///< all_reduce, all_gather, ...
    Integer bytes{"bytes", Counted::bytes};
    Text group{"group"};
    Integer size{"size"};                                     ///< of the group
    Integer ranks{"ranks", Counted::things};                  ///< of the group, as recorded
    Integer thread_blocks{"thread_blocks", Counted::things};  ///< of the recorded kernel
    Integer overlaps{"beside"};                               ///< 1: runs beside the ops that follow
};

// clang-format off
/// ROW(kind, its keys, its floating-point operations, the bytes that it moves, the work of matrix units that it is);
/// the functions are those of work.cpp.
#define HEDDLE_OP_KINDS(ROW)                                                                                           \
    ROW(matmul, MatmulKeys, matmul_operations, operand_bytes, product)                                                 \
    ROW(elementwise, ElementwiseKeys, elementwise_operations, operand_bytes, none)                                     \
    ROW(reduce, ReduceKeys, per_input<1>, operand_bytes, none)                                                         \
    /* maximum, subtract, exponential, sum, divide */                                                                  \
    ROW(softmax_cross_entropy, CrossEntropyKeys, per_input<5>, operand_bytes, none)                                    \
    ROW(softmax_cross_entropy_grad, CrossEntropyKeys, per_input<2>, operand_bytes, none)                               \
    ROW(softmax, SoftmaxKeys, per_input<5>, operand_bytes, none)                                                       \
    ROW(softmax_grad, SoftmaxKeys, per_input<4>, operand_bytes, none)                                                  \
    /* mean (1), variance (3), normalise (2), scale and shift (2) */                                                   \
    ROW(layer_norm, RowNormKeys, per_input<8>, operand_bytes, none)                                                    \
    /* x hat (2), two row sums (4), d x (5), d gamma and d beta (3) */                                                 \
    ROW(layer_norm_grad, RowNormKeys, per_input<14>, operand_bytes, none)                                              \
    /* mean of squares (2), normalise and scale (2) */                                                                 \
    ROW(rms_norm, RowNormKeys, per_input<4>, operand_bytes, none)                                                      \
    /* x hat (1), row sum (3), dx (4), d gamma (2) */                                                                  \
    ROW(rms_norm_grad, RowNormKeys, per_input<10>, operand_bytes, none)                                                \
    ROW(group_norm, GroupNormKeys, per_input<8>, operand_bytes, none)                                                  \
    ROW(group_norm_grad, GroupNormKeys, per_input<14>, operand_bytes, none)                                            \
    ROW(batch_norm, BatchNormKeys, per_input<8>, operand_bytes, none)                                                  \
    ROW(batch_norm_grad, BatchNormGradKeys, per_input<14>, operand_bytes, none)                                        \
    ROW(dropout, DropoutKeys, per_input<1>, operand_bytes, none)                                                       \
    /* x [, scale] -> y (e4m3 or e5m2) [, amax]: y = x times scale, limited to the largest finite value and rounded to \
       nearest even; amax = max |x|. Scale, limit, absolute value, maximum */                                          \
    ROW(quantise, NoKeys, per_input<4>, operand_bytes, none)                                                           \
    /* x [rows, columns] -> values, indices [rows, k]: the k largest of each row, the largest first; of equal ones the \
       first */                                                                                                        \
    ROW(top_k, NoKeys, no_operations, operand_bytes, none)                                                             \
    ROW(expert_slots, ExpertSlotsKeys, per_input<1>, operand_bytes, none)                                              \
    ROW(cumulative_sum, CumulativeSumKeys, per_input<1>, operand_bytes, none)                                          \
    ROW(attention, AttentionKeys, attention_operations, operand_bytes, attention)                                      \
    ROW(attention_grad, AttentionKeys, attention_grad_operations, operand_bytes, attention_grad)                       \
    ROW(convolution, ConvolutionKeys, convolution_operations, operand_bytes, product)                                  \
    ROW(convolution_data_grad, ConvolutionKeys, convolution_operations, operand_bytes, product)                        \
    ROW(convolution_weight_grad, ConvolutionKeys, convolution_operations, operand_bytes, product)                      \
    ROW(pooling, PoolingKeys, pooling_operations, operand_bytes, none)                                                 \
    ROW(pooling_grad, PoolingKeys, pooling_operations, operand_bytes, none)                                            \
    /* products with x and with h [N, 4H] (input, forget, cell, output gate), c [N, H] [, bias, second bias [4H]] ->   \
       h', c' [N, H] [, gates after sigmoid and tanh [N, 4H]] */                                                       \
    ROW(lstm_cell, NoKeys, lstm_cell_operations, operand_bytes, none)                                                  \
    /* dh', dc', c, c' [N, H], gates [N, 4H] -> d gates [N, 4H] (before sigmoid and tanh), dc [N, H] */                \
    ROW(lstm_cell_grad, NoKeys, lstm_cell_grad_operations, operand_bytes, none)                                        \
    ROW(embedding, EmbeddingKeys, no_operations, looked_up_bytes, none)                                                \
    ROW(embedding_grad, EmbeddingKeys, per_input<1>, embedding_grad_bytes, none)                                       \
    ROW(copy, CopyKeys, no_operations, operand_bytes, none)                                                            \
    ROW(concat, ConcatKeys, no_operations, operand_bytes, none)                                                        \
    ROW(fill, FillKeys, no_operations, operand_bytes, none)                                                            \
    ROW(gather, LookupKeys, no_operations, looked_up_bytes, none)                                                      \
    ROW(scatter, LookupKeys, no_operations, scatter_bytes, none)                                                       \
    ROW(random, RandomKeys, no_operations, operand_bytes, none)                                                        \
    ROW(host_copy, HostCopyKeys, no_operations, operand_bytes, none)                                                   \
    ROW(collective, CollectiveKeys, no_operations, collective_bytes, none)                                             \
    /* not understood: has a measured time or counts as unknown, never as zero */                                      \
    ROW(unknown, NoKeys, no_operations, operand_bytes, none)
// clang-format on

/// What an op computes. Tensors are dense and row-major unless Op::strides() says otherwise. Rows and keys
/// above say operands in order -> results; [] marks what may be left out.
enum class OpKind : std::uint8_t {
#define HEDDLE_ROW(kind, ...) kind,
    HEDDLE_OP_KINDS(HEDDLE_ROW)
#undef HEDDLE_ROW
};

inline constexpr std::size_t kOpKinds = static_cast<std::size_t>(OpKind::unknown) + 1;

/// The keys of each kind by its name, keys::matmul.transpose_a; those of every kind are keys::any.
namespace keys {
inline constexpr AnyKeys any{};
#define HEDDLE_ROW(kind, Keys, ...) inline constexpr Keys kind{};
HEDDLE_OP_KINDS(HEDDLE_ROW)
#undef HEDDLE_ROW
}  // namespace keys

/// All keys of a kind, those of every kind first; and those that are the kind's own.
std::span<const Key> keys_of(OpKind kind);
std::span<const Key> own_keys_of(OpKind kind);

/// What a GPU gives to its tensor cores, a TPU to its systolic arrays: matrix products and convolutions,
/// attention, and their gradients. One class of work takes alike long for a FLOP.
enum class MatrixWork : std::uint8_t { none, product, attention, attention_grad };
MatrixWork matrix_work(OpKind kind);
bool is_product(OpKind kind);    ///< any work of matrix units
bool is_attention(OpKind kind);  ///< or its gradient

}  // namespace heddle::trace
