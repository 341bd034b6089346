#include "workloads/lowering/tpu/parts.h"

#include <utility>

#include "workloads/lowering/tpu/map.h"
#include "workloads/lowering/tpu/matmul.h"
#include "workloads/lowering/tpu/reduce.h"

namespace heddle::lowering::on_tpu {

Parts::Tensor Parts::add(trace::ElementType type, const Shape& shape, std::uint64_t address) {
    trace::Tensor tensor;
    tensor.type = type;
    tensor.shape = shape;
    addresses_.push_back(address);
    return parts_.add(std::move(tensor));
}

Parts::Tensor Parts::input(std::size_t i, const Shape& shape) {
    return add(program_.input(i).type, shape, program_.dense_input(i).address);
}

Parts::Tensor Parts::output(std::size_t i, const Shape& shape) {
    return add(program_.output(i).type, shape, program_.dense_output(i).address);
}

Parts::Tensor Parts::temporary(const Shape& shape, trace::ElementType type) {
    return add(type, shape, program_.workspace(shape, *tpu_type(type)).address);
}

Parts::Tensor Parts::reshaped(Tensor tensor, const Shape& shape) {
    const trace::ElementType type = parts_.tensor(tensor).type;
    const std::uint64_t address = addresses_.at(tensor);
    return add(type, shape, address);
}

Parts::Tensor Parts::rows(Tensor tensor, std::int64_t first, std::int64_t count) {
    const trace::ElementType type = parts_.tensor(tensor).type;
    const std::int64_t columns = parts_.tensor(tensor).shape.at(1);
    const auto offset = static_cast<std::uint64_t>(first * columns) * bytes_of(*tpu_type(type));
    const std::uint64_t address = addresses_.at(tensor) + offset;
    return add(type, {count, columns}, address);
}

void Parts::run(trace::Op op, const std::function<void(ProgramBuilder&)>& lower) {
    if (!parts_.ops.empty()) program_.meet();
    const trace::OpId id = parts_.add(std::move(op));
    parts_.check_op(id);
    program_.part(parts_, id, addresses_, lower);
}

void Parts::reduce(const std::string& reduction, const std::vector<std::int64_t>& axes,
                   const std::string& expression, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& outputs) {
    trace::Op op;
    op.kind = trace::OpKind::reduce;
    op.inputs = inputs;
    op.outputs = outputs;
    op.set(keys::reduce.reduction, reduction);
    op.set(keys::reduce.axes, axes);
    op.set(keys::reduce.expression, expression);
    run(std::move(op), lower_reduce);
}

void Parts::matmul(Tensor a, Tensor b, Tensor y) {
    trace::Op op;
    op.kind = trace::OpKind::matmul;
    op.inputs = {a, b};
    op.outputs = {y};
    run(std::move(op), [](ProgramBuilder& program) {
        for (unsigned core = 0; core < program.cores(); ++core) program.core(core).start_over();
        lower_matmul(program, {});
    });
}

void Parts::elementwise(const std::string& expression, const std::vector<double>& scalars,
                        const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    trace::Op op;
    op.kind = trace::OpKind::elementwise;
    op.inputs = inputs;
    op.outputs = outputs;
    op.set(keys::elementwise.expression, expression);
    op.set(keys::elementwise.scalars, scalars);
    run(std::move(op), lower_elementwise);
}

}  // namespace heddle::lowering::on_tpu
