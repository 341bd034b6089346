// Linear layers of a Network in 8-bit floats. Every tensor that is rounded has a scale: with delayed scaling it
// follows from the largest values of the last 16 steps, with current scaling from the tensor's own largest value
// (Micikevicius et al., FP8 Formats for Deep Learning, 2022; NVIDIA's Transformer Engine).
#include "isa/common/error.h"
#include "workloads/zoo/network.h"

namespace heddle::zoo {
namespace {

constexpr std::int64_t kHistory = 16;

}  // namespace

/// The numbers that the scales were multiplied into are taken out in the epilogue, as cublasLt does with the
/// scales of A and B.
TensorId Network::product(Tape& tape, const std::string& name, const Scaled& a, const Scaled& b, bool transpose_a,
                          bool transpose_b, std::optional<TensorId> bias, ElementType type) {
    const Shape &left = tape.tensor(a.values).shape, &right = tape.tensor(b.values).shape;
    const Shape shape{left[transpose_a ? 1 : 0], right[transpose_b ? 0 : 1]};
    Op op;
    op.name = name;
    op.kind = OpKind::matmul;
    op.inputs = {a.values, b.values, tape.part_of(name + ".a.unscale", a.inverse_scales, {1}),
                 tape.part_of(name + ".b.unscale", b.inverse_scales, {1})};
    if (bias) op.inputs.push_back(*bias);
    op.set_offset("input2", a.place);
    op.set_offset("input3", b.place);
    op.set(keys::matmul.transpose_a, transpose_a);
    op.set(keys::matmul.transpose_b, transpose_b);
    op.set(keys::matmul.epilogue, bias ? "y0 = x0 * (x1 * x2) + x3" : "y0 = x0 * (x1 * x2)");
    return tape.record(std::move(op), {Tensor{name, type, shape}})[0];
}

std::int64_t Network::place_in(Scales& scales) {
    if (scales.count == 0) {
        scales.state =
            tape_.external(scales.name + ".scale", ElementType::f32, {1}, TensorRole::optimizer_state);
        scales.scale = tape_.outside_segments(
            [&] { return tape_.cast(scales.name + ".scale.now", scales.state, ElementType::f32); });
        scales.inverse = tape_.outside_segments([&] {
            Op op;
            op.name = scales.name + ".unscale";
            op.kind = OpKind::elementwise;
            op.inputs = {scales.scale};
            op.set(keys::elementwise.expression, "y0 = 1 / x0");
            return tape_.record(std::move(op), {Tensor{scales.name + ".unscale", ElementType::f32, {1}}})[0];
        });
        scales.largest_now =
            tape_.external(scales.name + ".largest", ElementType::f32, {1}, TensorRole::other);
        scales.history = tape_.external(scales.name + ".history", ElementType::f32, {kHistory, 1},
                                        TensorRole::optimizer_state);
    }
    return scales.count++;
}

TensorId Network::in_8_bits(Tape& tape, const std::string& name, TensorId x, const Scales& scales,
                            std::int64_t place) {
    Op op;
    op.name = name;
    op.kind = OpKind::quantise;
    op.inputs = {x, tape.part_of(name + ".scale", scales.scale, {1})};
    op.set_offset("input1", place);
    op.set_offset("output1", place);
    const Tensor source = tape.tensor(x);
    return tape.record(std::move(op), {Tensor{name, scales.type, source.shape},
                                       Tensor{name + ".largest",
                                              ElementType::f32,
                                              {1},
                                              TensorRole::other,
                                              tape.storage_number(scales.largest_now)}})[0];
}

Network::Scaled Network::rounded(Tape& tape, const std::string& name, TensorId x, const Scales& scales,
                                 std::int64_t place, Fp8Recipe recipe) {
    if (recipe == Fp8Recipe::delayed)
        return {in_8_bits(tape, name, x, scales, place), scales.inverse, place};
    Op largest;
    largest.name = name + ".largest";
    largest.kind = OpKind::reduce;
    largest.inputs = {x};
    largest.set(keys::reduce.expression, "y0 = abs(x0)");
    largest.set(keys::reduce.reduction, "max");
    const TensorId most = tape.record(std::move(largest), {Tensor{name + ".largest", ElementType::f32, {1}}})[0];
    const TensorId scale = tape.elementwise(name + ".scale", "y0 = x0 > 0 ? (x0 < inf ? s0 / x0 : 1) : 1", {most},
                                            ElementType::f32, {scales.largest});
    const TensorId inverse = tape.elementwise(name + ".unscale", "y0 = 1 / x0", {scale}, ElementType::f32);
    return {tape.quantise(name, x, scales.type, scale), inverse, 0};
}

TensorId Network::linear_in_8_bits(const std::string& name, TensorId x, TensorId weight,
                                   std::optional<TensorId> bias) {
    const Fp8Recipe recipe = options_.fp8_recipe;
    const auto place_of = [&](Scales& scales) { return recipe == Fp8Recipe::delayed ? place_in(scales) : 0; };
    if (!weights_in_8_bits_.contains(weight)) {
        const std::int64_t place = place_of(forward_scales_);
        weights_in_8_bits_[weight] = tape_.outside_segments(
            [&] { return rounded(tape_, name + ".weight.fp8", weight, forward_scales_, place, recipe); });
    }
    const Scaled weights = weights_in_8_bits_.at(weight);
    const std::int64_t place_x = place_of(forward_scales_), place_d = place_of(gradient_scales_);
    const Scales gradient = gradient_scales_;
    const Scaled input = rounded(tape_, name + ".x.fp8", x, forward_scales_, place_x, recipe);
    const TensorId y = product(tape_, name, input, weights, false, true, bias, type_);
    std::vector<TensorId> inputs{x, weight};
    if (bias) inputs.push_back(*bias);
    tape_.differentiate_as_one(
        {inputs, y, [=, type = type_](Tape& tape, TensorId dy, const std::vector<bool>& needed) {
             const Scaled d = rounded(tape, "d " + name + ".fp8", dy, gradient, place_d, recipe);
             std::vector<std::optional<Gradient>> result(inputs.size());
             if (needed[0])
                 result[0] =
                     Gradient{product(tape, "d " + name + ".x", d, weights, false, false, {}, type), 0};
             if (needed[1])
                 result[1] =
                     Gradient{product(tape, "d " + name + ".weight", d, input, true, false, {}, type), 0};
             if (bias && needed[2])
                 result[2] = Gradient{
                     tape.reduce("d " + name + ".bias", dy, "sum", {0}, tape.tensor(*bias).shape), 0};
             return result;
         }});
    return y;
}

void Network::adapt_scales() {
    const TensorId steps = tape_.external("fp8.steps", ElementType::f32, {1}, TensorRole::optimizer_state);
    for (Scales* scales : {&forward_scales_, &gradient_scales_}) {
        if (scales->count == 0) continue;
        tape_.set_shape(scales->state, {scales->count});
        tape_.set_shape(scales->scale, {scales->count});
        tape_.set_shape(scales->inverse, {scales->count});
        tape_.set_shape(scales->largest_now, {scales->count});
        tape_.set_shape(scales->history, {kHistory, scales->count});
        const TensorId rows = constant("fp8_history_positions", ElementType::i32, {kHistory, 1});
        const TensorId history =
            tape_.update_in_place(scales->name + ".remember", "y0 = x1 == x2 - s0 * floor(x2 / s0) ? x3 : x0",
                                  {scales->history, rows, steps, scales->largest_now}, {scales->history},
                                  {static_cast<double>(kHistory)})[0];
        const TensorId largest = tape_.reduce(scales->name + ".most", history, "max", {0}, {scales->count});
        tape_.update_in_place(scales->name + ".adapt", "y0 = x1 > 0 ? (x1 < inf ? s0 / x1 : x0) : x0",
                              {scales->state, largest}, {scales->state}, {scales->largest});
    }
    tape_.update_in_place("fp8.count", "y0 = x0 + 1", {steps}, {steps}, {});
}

}  // namespace heddle::zoo
