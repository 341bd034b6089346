// An LSTM layer of a Network, and its gradient through time.
#include "isa/common/error.h"
#include "workloads/zoo/network.h"

namespace heddle::zoo {
namespace {

/// A layer's tensors. Rows of one moment lie side by side: moment t of [time * batch, width] begins at
/// t * batch * width.
struct Layer {
    std::string name;
    std::int64_t time = 0, batch = 0, width = 0;
    ElementType type = ElementType::f32;
    TensorId x = 0, input = 0, recurrent = 0, bias = 0, h = 0;
    std::vector<TensorId> c, gates;  ///< of each moment; c begins with zeros

    std::int64_t cells() const { return batch * width; }
};

/// Products of d gates at `moment` with the recurrent weights, and the gradient from above at the moment
/// before.
TensorId earlier_gradient(Tape& tape, const Layer& l, TensorId d_gates, TensorId dy, std::int64_t moment) {
    Op op;
    op.name = l.name + ".dh" + std::to_string(moment - 1);
    op.kind = OpKind::matmul;
    op.inputs = {tape.part_of(op.name + ".d_gates", d_gates, {l.batch, 4 * l.width}), l.recurrent,
                 tape.part_of(op.name + ".above", dy, {l.batch, l.width})};
    op.set_offset("input0", moment * 4 * l.cells());
    op.set_offset("input2", (moment - 1) * l.cells());
    const std::string name = op.name;
    return tape.record(std::move(op), {Tensor{name, l.type, {l.batch, l.width}}})[0];
}

/// d recurrent = sum over t of d gates[t]^T h[t - 1], one product.
std::optional<Gradient> recurrent_gradient(Tape& tape, const Layer& l, TensorId d_gates) {
    if (l.time == 1) return Gradient{{}, 0};
    const std::int64_t rows = (l.time - 1) * l.batch;
    Op op;
    op.name = "d " + l.name + ".recurrent";
    op.kind = OpKind::matmul;
    op.inputs = {tape.part_of(op.name + ".d_gates", d_gates, {rows, 4 * l.width}),
                 tape.part_of(op.name + ".h", l.h, {rows, l.width})};
    op.set(keys::matmul.transpose_a, 1);
    op.set_offset("input0", 4 * l.cells());
    const std::string name = op.name;
    return Gradient{tape.record(std::move(op), {Tensor{name, l.type, {4 * l.width, l.width}}})[0], 0};
}

std::vector<std::optional<Gradient>> backward(Tape& tape, const Layer& l, TensorId dy,
                                              const std::vector<bool>& needed) {
    const TensorId d_gates = tape.buffer("d " + l.name + ".gates", l.type, {l.time * l.batch, 4 * l.width});
    TensorId dc = tape.fill("d " + l.name + ".c", l.type, {l.batch, l.width}, 0);
    for (std::int64_t t = l.time; t-- > 0;) {
        Op op;
        op.name = l.name + ".cell" + std::to_string(t) + ".gradient";
        op.kind = OpKind::lstm_cell_grad;
        const bool last = t + 1 == l.time;
        const auto moment = static_cast<std::size_t>(t);
        op.inputs = {last ? tape.part_of(op.name + ".dh", dy, {l.batch, l.width})
                          : earlier_gradient(tape, l, d_gates, dy, t + 1),
                     dc, l.c[moment], l.c[moment + 1], l.gates[moment]};
        if (last) op.set_offset("input0", t * l.cells());
        op.set_offset("output0", t * 4 * l.cells());
        const std::string name = op.name;
        dc = tape.record(std::move(op), {Tensor{name + ".gates",
                                                l.type,
                                                {l.batch, 4 * l.width},
                                                TensorRole::gradient,
                                                tape.storage_number(d_gates)},
                                         Tensor{name + ".c", l.type, {l.batch, l.width}}})[1];
    }
    MatmulOptions weight;
    weight.transpose_a = true;
    std::optional<Gradient> dx;
    if (needed[0]) dx = Gradient{tape.matmul("d " + l.name + ".x", d_gates, l.input), 0};
    return {dx, Gradient{tape.matmul("d " + l.name + ".input", d_gates, l.x, weight), 0},
            recurrent_gradient(tape, l, d_gates),
            Gradient{tape.reduce("d " + l.name + ".bias", d_gates, "sum", {0}, {4 * l.width}), 0}};
}

}  // namespace

TensorId Network::lstm(const std::string& name, TensorId x, std::int64_t time, std::int64_t width) {
    if (time < 1 || shape(x).at(0) % time != 0)
        throw Error(std::to_string(shape(x).at(0)) + " rows are not " + std::to_string(time) + " moments",
                    {.key = name});
    Layer l;
    l.name = name;
    l.time = time;
    l.batch = shape(x)[0] / time;
    l.width = width;
    l.type = type_;
    l.x = x;
    l.input = parameter(name + ".input", {4 * width, shape(x)[1]});
    l.recurrent = parameter(name + ".recurrent", {4 * width, width});
    l.bias = parameter(name + ".bias", {4 * width});
    MatmulOptions transposed;
    transposed.transpose_b = true;
    const TensorId products = tape_.matmul(name + ".products", x, l.input, transposed);
    l.h = tape_.buffer(name + ".h", type_, {time * l.batch, width});
    l.c = {tape_.fill(name + ".c", type_, {l.batch, width}, 0)};
    TensorId from_h = tape_.fill(name + ".from_h", type_, {l.batch, 4 * width}, 0);
    tape_.expect(2 * time - 1);  // a product and a cell for every moment, but the first product
    for (std::int64_t t = 0; t < time; ++t) {
        if (t > 0) {
            Op op;
            op.name = name + ".from_h" + std::to_string(t);
            op.kind = OpKind::matmul;
            op.inputs = {tape_.part_of(op.name + ".h", l.h, {l.batch, width}), l.recurrent};
            op.set(keys::matmul.transpose_b, 1);
            op.set_offset("input0", (t - 1) * l.cells());
            const std::string own = op.name;
            from_h = tape_.record(std::move(op), {Tensor{own, type_, {l.batch, 4 * width}}})[0];
        }
        Op op;
        op.name = name + ".cell" + std::to_string(t);
        op.kind = OpKind::lstm_cell;
        op.inputs = {tape_.part_of(op.name + ".from_x", products, {l.batch, 4 * width}), from_h, l.c.back(),
                     l.bias};
        op.set_offset("input0", t * 4 * l.cells());
        op.set_offset("output0", t * l.cells());
        const std::string own = op.name;
        const auto results = tape_.record(
            std::move(op),
            {Tensor{own + ".h", type_, {l.batch, width}, TensorRole::activation, tape_.storage_number(l.h)},
             Tensor{own + ".c", type_, {l.batch, width}},
             Tensor{own + ".gates", type_, {l.batch, 4 * width}}});
        l.c.push_back(results[1]);
        l.gates.push_back(results[2]);
    }
    tape_.differentiate_as_one({{l.x, l.input, l.recurrent, l.bias},
                                l.h,
                                [l](Tape& tape, TensorId dy, const std::vector<bool>& needed) {
                                    return backward(tape, l, dy, needed);
                                }});
    return l.h;
}

}  // namespace heddle::zoo
