// The cell of an LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000), after the
// products with its weights, and its gradient.
#include <cmath>

#include "workloads/reference/kernels.h"

namespace heddle::reference {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

}  // namespace

void run_lstm_cell(const Context& c) {
    const std::vector<double> from_x = c.gathered_input(0), from_h = c.gathered_input(1),
                              old = c.gathered_input(2);
    const auto columns = static_cast<std::size_t>(c.in(2).shape.back());
    std::vector<double> bias(4 * columns, 0.0);
    for (std::size_t operand = 3; operand < c.op.inputs.size(); ++operand) {
        const std::vector<double> more = c.gathered_input(operand);
        for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += more[i];
    }
    std::vector<double> h(old.size()), cell(old.size()), gates(from_x.size());
    for (std::size_t i = 0; i < old.size(); ++i) {
        const std::size_t row = i / columns, column = i % columns;
        double gate[4];
        for (std::size_t g = 0; g < 4; ++g) {
            const std::size_t at = row * 4 * columns + g * columns + column;
            const double sum = from_x[at] + from_h[at] + bias[g * columns + column];
            gates[at] = gate[g] = g == 2 ? std::tanh(sum) : sigmoid(sum);
        }
        cell[i] = gate[1] * old[i] + gate[0] * gate[2];
        h[i] = gate[3] * std::tanh(cell[i]);
    }
    c.scatter_output(0, h);
    c.scatter_output(1, cell);
    if (c.op.outputs.size() > 2) c.scatter_output(2, gates);
}

void run_lstm_cell_grad(const Context& c) {
    const std::vector<double> dh = c.gathered_input(0), dc = c.gathered_input(1), old = c.gathered_input(2),
                              cell = c.gathered_input(3), gates = c.gathered_input(4);
    const auto columns = static_cast<std::size_t>(c.in(2).shape.back());
    std::vector<double> d_gates(gates.size()), d_old(old.size());
    for (std::size_t i = 0; i < old.size(); ++i) {
        const std::size_t at = i / columns * 4 * columns + i % columns;
        const double in = gates[at], forget = gates[at + columns], fresh = gates[at + 2 * columns],
                     out = gates[at + 3 * columns];
        const double shown = std::tanh(cell[i]);
        const double d_cell = dc[i] + dh[i] * out * (1 - shown * shown);
        d_gates[at] = d_cell * fresh * in * (1 - in);
        d_gates[at + columns] = d_cell * old[i] * forget * (1 - forget);
        d_gates[at + 2 * columns] = d_cell * in * (1 - fresh * fresh);
        d_gates[at + 3 * columns] = dh[i] * shown * out * (1 - out);
        d_old[i] = d_cell * forget;
    }
    c.scatter_output(0, d_gates);
    c.scatter_output(1, d_old);
}

}  // namespace heddle::reference
