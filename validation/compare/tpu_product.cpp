#include "validation/compare/tpu_product.h"

#include <cmath>
#include <limits>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"
#include "isa/numerics/systolic.h"
#include "isa/tpu/execute.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::validation {
namespace {

using trace::ElementType;

trace::TensorId add_tensor(trace::Trace& trace, const char* name, ElementType type, std::uint64_t rows,
                           std::uint64_t columns) {
    trace::Tensor tensor;
    tensor.name = name;
    tensor.type = type;
    tensor.shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    return trace.add(std::move(tensor));
}

template <typename Output, typename Input>
std::vector<Output> product(const models::TpuConfig& device, std::uint64_t m, std::uint64_t n,
                            std::uint64_t k, std::span<const Input> a, std::span<const Input> b,
                            ElementType input, ElementType output) {
    trace::Trace trace;
    trace::Op op;
    op.name = "product";
    op.kind = trace::OpKind::matmul;
    op.inputs = {add_tensor(trace, "a", input, m, k), add_tensor(trace, "b", input, n, k)};
    op.outputs = {add_tensor(trace, "d", output, m, n)};
    op.set(keys::matmul.transpose_b, 1);
    const trace::TensorId result = op.outputs[0], first = op.inputs[0], second = op.inputs[1];
    trace.add(std::move(op));
    const target::TpuTarget target = models::target_of(device);
    const lowering::TensorPlacement placement(trace, target);
    const lowering::LoweredOp lowered = lowering::lower(trace, 0, target, placement);
    if (!lowered.supported)
        throw Error("the TPU has no program for this product: " + lowered.reason_if_not,
                    {device.name, 0, ""});
    tpu::Memory memory;
    placement.allocate(memory, true, lowered.workspace_bytes);
    memory.write(placement.address(first), std::as_bytes(a));
    memory.write(placement.address(second), std::as_bytes(b));
    tpu::execute(lowered.program, memory, models::limits_of(device));
    std::vector<Output> d(m * n);
    memory.read(placement.address(result), std::as_writable_bytes(std::span(d)));
    return d;
}

double gamma(std::uint64_t k, double unit) {
    const double ku = static_cast<double>(k) * unit;
    return ku < 1 ? ku / (1 - ku) : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<float> tpu_product(const models::TpuConfig& device, std::uint64_t m, std::uint64_t n,
                               std::uint64_t k, std::span<const std::uint16_t> a,
                               std::span<const std::uint16_t> b) {
    return product<float>(device, m, n, k, a, b, ElementType::bf16, ElementType::f32);
}

std::vector<std::int32_t> tpu_product(const models::TpuConfig& device, std::uint64_t m, std::uint64_t n,
                                      std::uint64_t k, std::span<const std::int8_t> a,
                                      std::span<const std::int8_t> b) {
    return product<std::int32_t>(device, m, n, k, a, b, ElementType::i8, ElementType::i32);
}

float tpu_element(const models::TpuConfig& device, std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b) {
    const numerics::SystolicOrder order{device.matrix.rows, true};
    return numerics::matrix_unit_column(order, a.size(), a.data(), 1, b.data(), 1, 0.0f);
}

std::int32_t tpu_element(std::span<const std::int8_t> a, std::span<const std::int8_t> b) {
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum = numerics::matrix_unit_accumulate(sum, a[k], b[k]);
    return sum;
}

double magnitude_of(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k)
        sum += std::abs(static_cast<double>(numerics::bf16_to_fp32(a[k])) * numerics::bf16_to_fp32(b[k]));
    return sum;
}

double unknown_order_bound(std::uint64_t k, double magnitude, double gpu_result, bool gpu_result_is_bf16) {
    const double order = (gamma(k, std::ldexp(1, -23)) + gamma(k, std::ldexp(1, -24))) * magnitude;
    const double flushed = static_cast<double>(k) * std::ldexp(1, -126);
    const double rounded = gpu_result_is_bf16 ? std::ldexp(std::abs(gpu_result), -8) : 0;
    return order + flushed + rounded;
}

}  // namespace heddle::validation
