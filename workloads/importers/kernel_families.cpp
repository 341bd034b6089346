// Families of kernels by their names: which library or model part a kernel is of that no rule understands.
#include <algorithm>
#include <cctype>

#include "workloads/importers/inferred_ops.h"

namespace heddle::importers {
namespace {

struct KernelFamily {
    const char* name;
    /// Parts of a kernel's name in small letters; any of them is enough.
    std::initializer_list<const char*> parts;
};

/// The first that fits counts: special libraries before general words.
const KernelFamily kernel_families[] = {
    {"communication (NCCL)", {"nccl"}},
    {"MoE dispatch and combine (DeepEP)", {"deep_ep::", "internode::", "intranode::"}},
    {"grouped matrix product (DeepGEMM, CUTLASS)",
     {"deep_gemm", "fp8_gemm_kernel", "groupproblemshape", "grouped_gemm", "group_gemm", "gemmgrouped"}},
    {"embedding lookup (FBGEMM)", {"split_embedding", "fbgemm", "bounds_check_indices", "linearize_index"}},
    {"FlashAttention",
     {"flash_fwd", "flash_bwd", "flash_attn", "flashattn", "flash::", "fmha", "flash_mla", "flashmla"}},
    {"attention (cuDNN)", {"cudnn_generated_fort_native_sdpa", "sdpa"}},
    {"convolution (cuDNN)",
     {"scudnn", "hcudnn", "implicit_gemm", "implicitgemm", "winograd", "dgrad", "wgrad", "fprop", "conv2d",
      "convolve"}},
    {"batch norm (cuDNN)", {"bn_fw", "bn_bw", "batch_norm", "batchnorm"}},
    {"matrix product", {"gemm", "nvjet", "gemv", "splitkreduce", "_mma_"}},
    {"MoE routing and permutation",
     {"moe", "permute_kernel", "unpermute", "topk_gating", "expert", "router", "topk"}},
    {"fp8 cast and scaling", {"fp8", "e4m3", "e5m2", "per_token_cast", "per_block_cast", "cast_transpose"}},
    {"rotary embedding", {"rotary", "rope"}},
    {"gated activation", {"swiglu", "geglu", "silu_and_mul", "gated", "dgated"}},
    {"fused cross entropy", {"cross_entropy", "crossentropy"}},
    {"normalisation", {"layer_norm", "layernorm", "rms_norm", "rmsnorm", "group_norm", "groupnorm", "ln_fwd",
                       "ln_bwd", "rowwisemoments", "gammabeta"}},
    {"sort (CUB)", {"radixsort", "radix_sort", "mergesort", "sortkeyvalue", "bitonic"}},
    {"scan and select (CUB)", {"devicescan", "deviceselect", "devicecompact", "reducebykey", "unique", "cumsum"}},
    {"optimizer over lists of tensors", {"multi_tensor", "adam", "lamb", "foreach"}},
    {"loops of TorchInductor", {"triton_"}},
    {"softmax", {"softmax"}},
    {"pooling", {"max_pool", "avg_pool", "pooling"}},
    {"dropout and random numbers", {"dropout", "distribution_"}},
    {"reduction", {"reduce_kernel", "devicereduce", "nll_loss"}},
    {"indexing", {"index", "gather", "scatter", "embedding"}},
    {"change of layout", {"nchwtonhwc", "nhwctonchw", "transpose", "catarray", "copy"}},
    {"pointwise", {"elementwise"}},
};

}  // namespace

std::string family_of(const std::string& kernel) {
    std::string small(kernel);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    for (const KernelFamily& family : kernel_families)
        for (const char* part : family.parts)
            if (small.find(part) != std::string::npos) return family.name;
    return {};
}

}  // namespace heddle::importers
