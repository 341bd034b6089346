#include "workloads/lowering/tpu/matmul_operands.h"

#include <algorithm>

#include "workloads/expression/expression.h"
#include "workloads/lowering/tpu/fp32_parts.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {

using tpu::ElementType;

MatmulOperands::MatmulOperands(ProgramBuilder& program, const TpuLoweringOptions& options)
    : program_(program) {
    const trace::Op& op = program_.op();
    const std::vector<std::int64_t>& y = program_.output(0).shape;
    batch_.assign(y.begin(), y.end() - 2);
    a = matrix(program_.input_view(0), op.get(keys::matmul.transpose_a) != 0);
    b = matrix(program_.input_view(1), op.get(keys::matmul.transpose_b) != 0);
    shape.batches = static_cast<std::uint64_t>(trace::element_count(batch_));
    shape.m = static_cast<std::uint64_t>(y[y.size() - 2]);
    shape.n = static_cast<std::uint64_t>(y.back());
    const std::vector<std::int64_t>& first = program_.input(0).shape;
    shape.k = static_cast<std::uint64_t>(op.get(keys::matmul.transpose_a) != 0 ? first[first.size() - 2]
                                                                               : first.back());
    check_types(options);
    // Activations are read along k. When they lie along m, tiles are turned on the way.
    shape.a_turned = a.column_stride != 1 && shape.k > 1 && shape.m > 1;
    if (shape.a_turned && a.row_stride != 1)
        throw Unsupported{"the first operand is contiguous along no axis"};
    b_turned = b.column_stride != 1 && shape.n > 1;
    if (b_turned && b.row_stride != 1 && shape.k > 1) {
        throw Unsupported{"the second operand is contiguous along no axis"};
    }
    shape.a_bytes = bytes_of(a.view.type);
    shape.b_bytes = bytes_of(b.view.type);
    shape.passes = static_cast<unsigned>(passes.size());
    if (a.view.type == ElementType::int8 && b.view.type == ElementType::int8)
        shape.rows_per_cycle = options.int8_rows_per_cycle;
    shape.rows_per_cycle /= tpu::cycles_per_row(a.view.type, b.view.type);
    prepare_results();
    fold_batches();
}

Matrix MatmulOperands::matrix(HbmView view, bool transposed) const {
    Matrix result;
    const std::size_t axes = view.shape.size();
    result.row_stride = view.strides[axes - 2];
    result.column_stride = view.strides[axes - 1];
    if (view.shape[axes - 1] == 1) result.column_stride = 1;
    if (transposed) std::swap(result.row_stride, result.column_stride);
    const std::size_t given = axes - 2;
    result.batch_strides.assign(batch_.size(), 0);
    for (std::size_t i = 0; i < given; ++i) {
        const std::size_t axis = batch_.size() - given + i;
        if (view.shape[i] != 1) result.batch_strides[axis] = view.strides[i];
    }
    result.view = std::move(view);
    return result;
}

void MatmulOperands::check_types(const TpuLoweringOptions& options) {
    const ProductTypes types = product_types(a.view.type, b.view.type, options.matmul_passes);
    popped = types.popped;
    passes = types.passes;
}

/// Results and the epilogue that makes them from the product.
void MatmulOperands::prepare_results() {
    const trace::Op& op = program_.op();
    const std::size_t extra = op.inputs.size() - 2;
    const std::vector<std::int64_t>& y = program_.output(0).shape;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        HbmView view = i == 0 ? program_.output_view(0) : program_.dense_output(i);
        if (i > 0) view.strides = trace::broadcast_strides(y, y), view.shape = y;
        results.push_back(matrix(view, false));
        if (results.back().column_stride != 1)
            throw Unsupported{"the result is not contiguous along its rows"};
    }
    shape.y_bytes = bytes_of(results[0].view.type);
    const bool plain = extra == 0 && !op.has(keys::matmul.epilogue);
    const ElementType type = results[0].view.type;
    if (plain && (type == popped || (popped == ElementType::fp32 && type == ElementType::bf16))) {
        popped = type;  // the result buffer rounds on the way out
        return;
    }
    const expression::Expression parsed =
        expression::parse(op.get(keys::matmul.epilogue, extra > 0 ? "y0 = x0 + x1" : "y0 = x0"));
    KernelBuilder builder;
    std::vector<ElementType> types{popped};
    std::vector<KernelBuilder::Node> x{builder.input(popped)}, s;
    for (std::size_t i = 0; i < extra; ++i) {
        operands.push_back(matrix(program_.input_view(i + 2, y), false));
        types.push_back(operands.back().view.type);
        x.push_back(builder.input(operands.back().view.type));
    }
    const std::vector<double> given = op.get(keys::matmul.scalars);
    for (unsigned i = 0; i < parsed.scalar_count; ++i) {
        s.push_back(builder.scalar());
        scalars.push_back(static_cast<float>(given.at(i)));
    }
    const auto values = builder.expression(parsed, x, s);
    for (std::size_t i = 0; i < values.size(); ++i) {
        builder.output(values[i], results[i].view.type, results[i].view.boolean);
    }
    epilogue = program_.kernel(builder.finish(), types);
    shape.epilogue_tiles = static_cast<unsigned>(operands.size() + results.size());
    shape.results = static_cast<unsigned>(results.size());
}

/// When all batches share the second operand they are more rows of one product.
void MatmulOperands::fold_batches() {
    const auto one_after_the_other = [&](const Matrix& matrix) {
        std::int64_t expected = static_cast<std::int64_t>(shape.m) * matrix.row_stride;
        for (std::size_t axis = batch_.size(); axis-- > 0; expected *= batch_[axis]) {
            if (batch_[axis] != 1 && matrix.batch_strides[axis] != expected) return false;
        }
        return true;
    };
    for (std::size_t axis = 0; axis < batch_.size(); ++axis) {
        if (batch_[axis] != 1 && b.batch_strides[axis] != 0) return;
    }
    if (shape.m == 1 || !one_after_the_other(a)) return;
    for (const auto* list : {&results, &operands}) {
        if (!std::all_of(list->begin(), list->end(), one_after_the_other)) return;
    }
    shape.m *= shape.batches;
    shape.batches = 1;
    batch_.clear();
}

std::uint64_t MatmulOperands::address(const Matrix& matrix, std::uint64_t batch, std::uint64_t row,
                                      std::uint64_t column) const {
    std::int64_t offset = static_cast<std::int64_t>(row) * matrix.row_stride +
                          static_cast<std::int64_t>(column) * matrix.column_stride;
    auto rest = static_cast<std::int64_t>(batch);
    for (std::size_t axis = batch_.size(); axis-- > 0; rest /= batch_[axis]) {
        offset += rest % batch_[axis] * matrix.batch_strides[axis];
    }
    return matrix.view.address + static_cast<std::uint64_t>(offset) * bytes_of(matrix.view.type);
}

}  // namespace heddle::lowering::on_tpu
