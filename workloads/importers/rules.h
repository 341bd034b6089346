// The rules that turn recorded kernels into ops, one family per file. A rule returns false when the kernel is
// not of its family; otherwise it adds exactly one op, or throws NotUnderstood. Rules go by the kernel's
// name, the enclosing calls and their operands; none knows a particular recording.
#pragma once

#include "workloads/importers/builder.h"

namespace heddle::importers {

bool matmul_rule(Builder& builder, const Launch& launch);  ///< cuBLAS, cuBLASLt, CUTLASS matrix products
bool elementwise_rule(Builder& builder,
                      const Launch& launch);  ///< PyTorch's pointwise kernels, dropout, random numbers
bool triton_rule(Builder& builder, const Launch& launch);  ///< kernels that TorchInductor fused
bool reduce_rule(Builder& builder, const Launch& launch);  ///< sums, means, extrema, bias gradients
bool normalisation_rule(Builder& builder,
                        const Launch& launch);                ///< layer normalisation, forward and backward
bool attention_rule(Builder& builder, const Launch& launch);  ///< FlashAttention, forward and backward
bool convolution_rule(Builder& builder,
                      const Launch& launch);               ///< convolution, batch norm, max pooling
bool lookup_rule(Builder& builder, const Launch& launch);  ///< embeddings, indexing
bool multi_tensor_rule(Builder& builder,
                       const Launch& launch);            ///< optimizers and norms over lists of tensors
bool copy_rule(Builder& builder, const Launch& launch);  ///< copies, casts, concatenation, memcpy, memset
bool collective_rule(Builder& builder, const Launch& launch);  ///< NCCL

/// Parts of these rules that go by the enclosing call and not by the kernel; operations.h uses them too.
void torch_product(Builder& builder, Op& op, const Call& call);  ///< mm, addmm, bmm, linear, ...
void describe_product(Op& op, const KernelName& name);           ///< m, n, tile and layout
void describe_access(Op& op, const KernelName& name);            ///< how a pointwise kernel walks over memory
void fill_operation(Builder& builder, const Launch& launch);     ///< fill_, zero_, full
/// Adds the op of a kernel that fills a tensor with consecutive numbers.
void arange_operation(Builder& builder, const Launch& launch);
void dropout_operation(Builder& builder, const Launch& launch);
void lookup_operation(Builder& builder, const Launch& launch);  ///< embedding, index, gather, scatter
/// Returns the convolution call, forward or backward, that encloses a kernel; nullptr when there is none.
const Call* convolving_call(const Launch& launch);
/// cuDNN's changes of layout around its products (nchwToNhwc, nhwcToNchw), products of convolutions whose
/// window is one position (GEMM kernels on each picture), and the sums that follow them.
bool convolution_step_rule(Builder& builder, const Launch& launch);
bool forward_convolution(Builder& builder, const Launch& launch);
/// The operand towards which a convolution's gradient is computed.
enum class ConvolutionGradient : std::uint8_t { data, weight };
void backward_convolution(Builder& builder, const Launch& launch, const Call& call,
                          ConvolutionGradient gradient);
/// Returns the gradient that a kernel's name states; nothing when it states none.
std::optional<ConvolutionGradient> named_gradient(const KernelName& name);
void max_pooling(Builder& builder, const Launch& launch, bool backward);

}  // namespace heddle::importers
