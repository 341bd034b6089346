// Matrix products of cuBLAS, cuBLASLt and CUTLASS.
#include <array>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

/// tanh form of GELU (Hendrycks and Gimpel 2016), which Transformer Engine fuses behind its products.
const std::string gelu_of_sum =
    "t0 = x0 + x1; y0 = 0.5 * t0 * (1 + tanh(0.7978845608028654 * (t0 + 0.044715 * t0 * t0 * t0))); y1 = t0";
const std::string gelu_alone =
    "y0 = 0.5 * x0 * (1 + tanh(0.7978845608028654 * (x0 + 0.044715 * x0 * x0 * x0))); y1 = x0";

bool is_matrix_kernel(const KernelName& name) {
    if (name.contains("splitKreduce") || name.contains("globalKernelBgrad")) return false;
    // FBGEMM's namespace is in the names of its kernels whatever they do.
    std::string full = name.full;
    const std::string library = "fbgemm";
    for (std::size_t at = full.find(library); at != std::string::npos; at = full.find(library, at))
        full.erase(at, library.size());
    for (const char* part : {"gemm", "nvjet", "Gemm", "GEMM"}) {
        if (full.find(part) != std::string::npos) return true;
    }
    return false;
}

/// An operand whose last two axes lie transposed in memory is taken as its transpose, dense, with the flag
/// turned.
struct Matrix {
    RecordedTensor tensor;
    bool transposed = false;
};

Matrix matrix(const RecordedTensor& recorded, bool transposed) {
    Matrix result{recorded, transposed};
    const std::size_t axes = recorded.shape.size();
    if (axes < 2) throw NotUnderstood{"a matrix operand has less than two axes"};
    const std::int64_t row = recorded.strides[axes - 2], column = recorded.strides[axes - 1];
    if (column != 1 && row == 1) {
        std::swap(result.tensor.shape[axes - 2], result.tensor.shape[axes - 1]);
        std::swap(result.tensor.strides[axes - 2], result.tensor.strides[axes - 1]);
        result.transposed = !transposed;
    }
    return result;
}

void product(Builder& builder, Op& op, const RecordedTensor& a, bool transpose_a, const RecordedTensor& b,
             bool transpose_b) {
    const Matrix left = matrix(a, transpose_a), right = matrix(b, transpose_b);
    builder.input(op, left.tensor);
    builder.input(op, right.tensor);
    op.set(keys::matmul.transpose_a, left.transposed);
    op.set(keys::matmul.transpose_b, right.transposed);
    const std::size_t axes = left.tensor.shape.size();
    op.set(keys::matmul.k, left.tensor.shape[left.transposed ? axes - 2 : axes - 1]);
}

/// Transformer Engine's te_gemm: cuBLAS arguments (A, scale, ..., transa, B, scale, ..., transb, D, ...,
/// bias, .., pre-GELU, .., grad, workspace, size, accumulate). cuBLAS is column-major: for row-major readers
/// D = op(B) op(A).
void transformer_engine(Builder& builder, Op& op, const Call& call) {
    const RecordedTensor& a = need(call.gpu_tensor(0), "A of te_gemm");
    const RecordedTensor& b = need(call.gpu_tensor(5), "B of te_gemm");
    const RecordedTensor& d = need(call.gpu_tensor(10), "D of te_gemm");
    const auto flag = [&call](std::size_t index) {
        const Literal* value = call.literal(index);
        return value != nullptr && value->number(0) != 0;
    };
    product(builder, op, b, flag(9), a, flag(4));
    const RecordedTensor* bias = call.gpu_tensor(14);
    const RecordedTensor* pre_gelu = call.gpu_tensor(16);
    const bool has_bias = bias != nullptr && bias->elements() > 0;
    const bool has_gelu = pre_gelu != nullptr && pre_gelu->elements() > 0;
    const bool gradient = flag(17);
    if (gradient && has_gelu) throw NotUnderstood{"a product fused with the gradient of GELU"};
    // In a gradient product the bias operand is a result, which a kernel of its own computes
    // (globalKernelBgrad).
    if (has_bias && !gradient) builder.input(op, *bias);
    if (flag(20)) builder.input(op, d);
    if (has_gelu) op.set(keys::matmul.epilogue, has_bias ? gelu_of_sum : gelu_alone);
    builder.output(op, d);
    if (has_gelu) builder.output(op, *pre_gelu);
    if (gradient && has_bias) op.set(keys::matmul.bias_gradient, 1);
}

/// "tn" of "..._tn_n_tilesize...": how cuBLAS reads its (column-major) A and B.
std::string layout_of(const std::string& name) {
    for (const char* layout : {"tn", "nt", "nn", "tt"}) {
        if (name.find("_" + std::string(layout) + "_") != std::string::npos) return layout;
    }
    return {};
}

/// Slices of k, from the grid: its third extent counts products and their slices (cuBLAS, CUTLASS).
void describe_slices(Op& op, const RecordedTensor& result, const std::vector<std::int64_t>& grid) {
    if (grid.size() != 3 || grid[2] < 1 || result.shape.size() < 2) return;
    std::int64_t products = 1;
    for (std::size_t axis = 0; axis + 2 < result.shape.size(); ++axis) products *= result.shape[axis];
    if (products > 0 && grid[2] % products == 0) op.set(keys::any.slices, grid[2] / products);
}

}  // namespace

void torch_product(Builder& builder, Op& op, const Call& call) {
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    if (call.name == "mm" || call.name == "bmm" || call.name == "matmul") {
        product(builder, op, need(call.gpu_tensor(0), "A"), false, need(call.gpu_tensor(1), "B"), false);
    } else if (call.name == "linear") {
        product(builder, op, need(call.gpu_tensor(0), "input"), false, need(call.gpu_tensor(1), "weight"),
                true);
        if (const RecordedTensor* bias = call.gpu_tensor(2)) builder.input(op, *bias);
    } else {
        product(builder, op, need(call.gpu_tensor(1), "A"), false, need(call.gpu_tensor(2), "B"), false);
        const Literal *beta = call.literal(3), *alpha = call.literal(4);
        const double beta_value = beta != nullptr ? beta->number(1) : 1;
        const double alpha_value = alpha != nullptr ? alpha->number(1) : 1;
        if (beta_value != 0) builder.input(op, need(call.gpu_tensor(0), "added matrix"));
        if (alpha_value != 1 || (beta_value != 0 && beta_value != 1)) {
            op.set(keys::matmul.epilogue,
                   "y0 = " + number_text(alpha_value) + " * x0" +
                       (beta_value != 0 ? " + " + number_text(beta_value) + " * x1" : ""));
        }
    }
    builder.output(op, result);
}

void describe_product(Op& op, const KernelName& name) {
    if (const auto tile = tile_of(name.full); !tile.empty()) op.set(keys::any.tile, tile);
    if (const std::int64_t stages = stages_of(name.full); stages > 0) op.set(keys::any.stages, stages);
    if (const std::int64_t elements = alignment_of(name.full); elements > 0)
        op.set(keys::any.copy_elements, elements);
    if (const std::int64_t warpgroups = warpgroups_of(name.full); warpgroups > 0)
        op.set(keys::any.warpgroups, warpgroups);
    if (const std::string layout = layout_of(name.full); !layout.empty()) op.set(keys::matmul.layout, layout);
    // On Ampere and later, s1688 and s16816 of f32 operands are tf32 instructions; "tf32" may not be spelt
    // out.
    const bool tensor_cores = name.contains("s1688") || name.contains("s16816") || name.contains("xmma");
    if (name.contains("tf32") || (tensor_cores && !name.contains("f16") && !name.contains("h16816")))
        op.set(keys::any.compute_type, "tf32");
}

bool matmul_rule(Builder& builder, const Launch& launch) {
    if (!is_matrix_kernel(launch.name)) return false;
    const Call& call = need(launch.enclosing({"tex_ts::te_gemm_ts", "mm", "addmm", "bmm", "baddbmm", "linear",
                                              "matmul", "_addmm_activation"}),
                            "call that multiplies matrices");
    Op op;
    op.kind = OpKind::matmul;
    if (call.name == "tex_ts::te_gemm_ts") {
        transformer_engine(builder, op, call);
    } else {
        torch_product(builder, op, call);
    }
    const RecordedTensor& result =
        call.name == "tex_ts::te_gemm_ts" ? *call.gpu_tensor(10) : *call.output_tensor(0);
    if (result.shape.size() >= 2) {
        op.set(keys::matmul.m, result.shape[result.shape.size() - 2]);
        op.set(keys::matmul.n, result.shape.back());
    }
    describe_product(op, launch.name);
    describe_slices(op, result, launch.kernel.grid);
    builder.add(std::move(op), launch, &call);
    return true;
}

}  // namespace heddle::importers
