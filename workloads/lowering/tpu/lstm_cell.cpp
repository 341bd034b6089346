#include "workloads/lowering/tpu/lstm_cell.h"

#include "workloads/lowering/tpu/map.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::ElementType;
using tpu::VectorOp;
using Node = KernelBuilder::Node;

/// Gate `gate` of [N, 4H] as [N, H].
HbmView gate_of(HbmView all, std::int64_t rows, std::int64_t columns, std::int64_t gate) {
    all.shape = {rows, columns};
    all.strides = {4 * columns, 1};
    all.address += static_cast<std::uint64_t>(gate * columns) * bytes_of(all.type);
    return all;
}

HbmView matrix_of(HbmView all, std::int64_t rows, std::int64_t columns) {
    all.shape = {rows, columns};
    all.strides = {columns, 1};
    return all;
}

/// A kernel that grows operand by operand.
struct Cell {
    ProgramBuilder& program;
    std::int64_t rows, columns;
    KernelBuilder builder;
    std::vector<HbmView> inputs, outputs;
    std::vector<ElementType> types;

    Cell(ProgramBuilder& from, std::size_t state) : program(from) {
        const std::vector<std::int64_t>& shape = from.input(state).shape;
        columns = shape.back();
        rows = columns == 0 ? 0 : from.input(state).elements() / columns;
    }
    Node read(const HbmView& view) {
        inputs.push_back(view);
        types.push_back(view.type);
        return builder.input(view.type);
    }
    Node matrix(std::size_t i) { return read(matrix_of(program.dense_input(i), rows, columns)); }
    Node gate(std::size_t i, std::int64_t which) {
        return read(gate_of(program.dense_input(i), rows, columns, which));
    }
    /// A vector [4H], the same for every row.
    Node bias(std::size_t i, std::int64_t which) {
        HbmView view = gate_of(program.dense_input(i), rows, columns, which);
        view.strides[0] = 0;
        return read(view);
    }
    void write(Node node, const HbmView& view) {
        builder.output(node, view.type);
        outputs.push_back(view);
    }
    void write(Node node, std::size_t i) { write(node, matrix_of(program.dense_output(i), rows, columns)); }
    void write_gate(Node node, std::size_t i, std::int64_t which) {
        write(node, gate_of(program.dense_output(i), rows, columns, which));
    }
    Node add(Node a, Node b) { return builder.apply(VectorOp::add, a, b); }
    Node times(Node a, Node b) { return builder.apply(VectorOp::multiply, a, b); }
    /// 1 - a
    Node rest(Node a) { return builder.apply(VectorOp::subtract, builder.constant(1), a); }
    Node tanh(Node a) { return builder.apply(VectorOp::hyperbolic_tangent, a); }

    void run() {
        if (rows * columns == 0) return;
        map_elements(program, program.kernel(builder.finish(), types), inputs, outputs);
    }
};

}  // namespace

void lower_lstm_cell(ProgramBuilder& program) {
    Cell cell(program, 2);
    Node gates[4] = {};
    for (std::int64_t g = 0; g < 4; ++g) {
        Node sum = cell.add(cell.gate(0, g), cell.gate(1, g));
        for (std::size_t i = 3; i < program.op().inputs.size(); ++i) sum = cell.add(sum, cell.bias(i, g));
        gates[g] = g == 2 ? cell.tanh(sum) : cell.builder.apply(VectorOp::sigmoid, sum);
    }
    const Node state = cell.add(cell.times(gates[1], cell.matrix(2)), cell.times(gates[0], gates[2]));
    cell.write(cell.times(gates[3], cell.tanh(state)), 0);
    cell.write(state, 1);
    for (std::int64_t g = 0; g < 4 && program.op().outputs.size() > 2; ++g) cell.write_gate(gates[g], 2, g);
    cell.run();
}

void lower_lstm_cell_grad(ProgramBuilder& program) {
    Cell cell(program, 2);
    const Node dh = cell.matrix(0), dc = cell.matrix(1), old = cell.matrix(2),
               shown = cell.tanh(cell.matrix(3));
    const Node in = cell.gate(4, 0), forget = cell.gate(4, 1), fresh = cell.gate(4, 2), out = cell.gate(4, 3);
    const Node state = cell.add(dc, cell.times(cell.times(dh, out), cell.rest(cell.times(shown, shown))));
    const auto through_sigmoid = [&](Node gradient, Node gate) {
        return cell.times(cell.times(gradient, gate), cell.rest(gate));
    };
    cell.write_gate(through_sigmoid(cell.times(state, fresh), in), 0, 0);
    cell.write_gate(through_sigmoid(cell.times(state, old), forget), 0, 1);
    cell.write_gate(cell.times(cell.times(state, in), cell.rest(cell.times(fresh, fresh))), 0, 2);
    cell.write_gate(through_sigmoid(cell.times(dh, shown), out), 0, 3);
    cell.write(cell.times(state, forget), 1);
    cell.run();
}

}  // namespace heddle::lowering::on_tpu
