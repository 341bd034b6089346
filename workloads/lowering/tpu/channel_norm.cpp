#include "workloads/lowering/tpu/channel_norm.h"

#include "workloads/lowering/tpu/parts.h"

namespace heddle::lowering::on_tpu {
namespace {

using Shape = Parts::Shape;

/// x [N, C, space] as [N, groups, C / groups, space]: elements of one set share mean and variance.
struct Sets {
    Shape x, of_set, of_channel;              ///< the last two broadcast to x
    std::vector<std::int64_t> axes, channel;  ///< over which a set and a channel are summed
    double size = 0;                          ///< elements of a set
    std::int64_t sets = 0, channels = 0;
    bool across_batch = false;  ///< batch norm: a set is a channel
};

Sets sets_of(const ProgramBuilder& program, const trace::Tensor& x) {
    Sets sets;
    const trace::OpKind kind = program.op().kind;
    sets.across_batch = kind == trace::OpKind::batch_norm || kind == trace::OpKind::batch_norm_grad;
    const std::int64_t batch = x.shape.at(0), channels = x.shape.at(1);
    const std::int64_t space = x.elements() / std::max<std::int64_t>(1, batch * channels);
    const std::int64_t groups = sets.across_batch ? 1 : program.op().get(keys::group_norm.groups);
    sets.channels = channels;
    sets.sets = sets.across_batch ? channels : batch * groups;
    sets.x = {batch, groups, channels / groups, space};
    sets.of_channel = {1, groups, channels / groups, 1};
    sets.of_set = sets.across_batch ? sets.of_channel : Shape{batch, groups, 1, 1};
    sets.channel = {0, 3};
    sets.axes = sets.across_batch ? sets.channel : std::vector<std::int64_t>{2, 3};
    sets.size = static_cast<double>(x.elements()) / static_cast<double>(std::max<std::int64_t>(1, sets.sets));
    return sets;
}

/// Shapes of reductions' results, in which reduced axes are gone.
Shape kept(const Sets& sets, const std::vector<std::int64_t>& axes) {
    Shape shape;
    for (std::int64_t axis = 0; axis < 4; ++axis) {
        if (axis != axes[0] && axis != axes[1]) shape.push_back(sets.x[static_cast<std::size_t>(axis)]);
    }
    return shape;
}

void lower_channel_norm(ProgramBuilder& program) {
    if (program.op().inputs.size() < 3) throw Unsupported{"no program for a norm without gamma and beta"};
    const Sets sets = sets_of(program, program.input(0));
    Parts parts(program);
    const Shape flat{sets.sets}, folded = kept(sets, sets.axes);
    const auto x = parts.input(0, sets.x), y = parts.output(0, sets.x);
    const auto mean = parts.temporary(sets.of_set), variance = parts.temporary(sets.of_set),
               rstd = parts.temporary(sets.of_set);
    // The mean first, then the variance about it: the sum of squares alone would cancel.
    parts.reduce("mean", sets.axes, "y0 = x0", {x}, {parts.reshaped(mean, folded)});
    parts.reduce("mean", sets.axes, "y0 = (x0 - x1) * (x0 - x1)", {x, mean},
                 {parts.reshaped(variance, folded)});
    std::string numbers = "y0 = rsqrt(x1 + s0)";
    std::vector<Parts::Tensor> inputs{parts.reshaped(mean, flat), parts.reshaped(variance, flat)},
        outputs{parts.reshaped(rstd, flat)};
    std::vector<double> scalars{program.op().get(keys::group_norm.epsilon)};
    if (parts.has_output(1)) {
        numbers += "; y1 = x0";
        outputs.push_back(parts.output(1, flat));
    }
    if (parts.has_output(2)) {
        numbers += "; y2 = y0";
        outputs.push_back(parts.output(2, flat));
    }
    if (program.op().inputs.size() >= 5 && parts.has_output(4)) {
        numbers += "; y3 = (1 - s1) * x2 + s1 * x0; y4 = (1 - s1) * x3 + s1 * s2 * x1";
        scalars.push_back(program.op().get(keys::batch_norm.momentum));
        scalars.push_back(sets.size / (sets.size - 1));  // the running variance is without bias
        for (const std::size_t i : {3, 4}) {
            inputs.push_back(parts.input(i, flat));
            outputs.push_back(parts.output(i, flat));
        }
    }
    parts.elementwise(numbers, scalars, inputs, outputs);
    parts.elementwise("y0 = (x0 - x1) * x2 * x3 + x4", {},
                      {x, mean, rstd, parts.input(1, sets.of_channel), parts.input(2, sets.of_channel)}, {y});
}

void lower_channel_norm_grad(ProgramBuilder& program) {
    const Sets sets = sets_of(program, program.input(1));
    Parts parts(program);
    const auto dy = parts.input(0, sets.x), x = parts.input(1, sets.x);
    const auto mean = parts.input(2, sets.of_set), rstd = parts.input(3, sets.of_set),
               gamma = parts.input(4, sets.of_channel);
    const auto sum = parts.temporary(sets.of_set), dot = parts.temporary(sets.of_set);
    const Shape folded = kept(sets, sets.axes), by_channel = kept(sets, sets.channel);
    parts.reduce("mean", sets.axes, "y0 = x0 * x4; y1 = x0 * x4 * (x1 - x2) * x3", {dy, x, mean, rstd, gamma},
                 {parts.reshaped(sum, folded), parts.reshaped(dot, folded)});
    if (parts.has_output(1)) {
        const auto d_gamma = parts.output(1, by_channel);
        if (parts.has_output(2)) {
            parts.reduce("sum", sets.channel, "y0 = x0 * (x1 - x2) * x3; y1 = x0", {dy, x, mean, rstd},
                         {d_gamma, parts.output(2, by_channel)});
        } else {
            parts.reduce("sum", sets.channel, "y0 = x0 * (x1 - x2) * x3", {dy, x, mean, rstd}, {d_gamma});
        }
    }
    parts.elementwise("y0 = x3 * (x0 * x4 - x5 - (x1 - x2) * x3 * x6)", {},
                      {dy, x, mean, rstd, gamma, sum, dot}, {parts.output(0, sets.x)});
}

}  // namespace

void lower_group_norm(ProgramBuilder& program) {
    lower_channel_norm(program);
}

void lower_batch_norm(ProgramBuilder& program) {
    lower_channel_norm(program);
}

void lower_group_norm_grad(ProgramBuilder& program) {
    lower_channel_norm_grad(program);
}

void lower_batch_norm_grad(ProgramBuilder& program) {
    lower_channel_norm_grad(program);
}

}  // namespace heddle::lowering::on_tpu
