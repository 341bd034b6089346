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

}  // namespace heddle::importers
