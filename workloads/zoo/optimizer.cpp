#include "workloads/zoo/optimizer.h"

#include <cmath>
#include <map>

#include "isa/common/error.h"

namespace heddle::zoo {
namespace {

/// Numbers of lists, by what their ops do.
constexpr std::int64_t kNormList = 1, kClipList = 2, kUpdateList = 3;

}  // namespace

void check(const OptimizerOptions& options, const std::string& model) {
    const auto bad = [&](const std::string& key, const std::string& problem) {
        throw Error(problem, {.key = model + " option " + key});
    };
    const auto below_one = [](double value) { return value >= 0 && value < 1; };
    if (!(options.learning_rate > 0)) bad("learning_rate", "must be above 0");
    if (!below_one(options.momentum)) bad("momentum", "must be from 0 to below 1");
    if (!below_one(options.beta1)) bad("beta1", "must be from 0 to below 1");
    if (!below_one(options.beta2)) bad("beta2", "must be from 0 to below 1");
    if (!(options.epsilon > 0)) bad("epsilon", "must be above 0");
    if (!(options.weight_decay >= 0)) bad("weight_decay", "must not be negative");
    if (!(options.clip_norm >= 0) || !std::isfinite(options.clip_norm))
        bad("clip_norm", "must not be negative");
    if (!(options.growth_interval >= 1)) bad("growth_interval", "must be at least 1");
    if (!(options.loss_scale > 0) || !std::isfinite(options.loss_scale)) bad("loss_scale", "must be above 0");
}

void Optimizer::update(TensorId parameter, const Gradient& gradient) {
    const TensorId g = tape_.materialise(gradient, "d " + tape_.tensor(parameter).name, parameter);
    if (options_.kind == OptimizerOptions::Kind::sgd) {
        sgd(parameter, g);
    } else {
        adamw(parameter, g);
    }
}

void Optimizer::look_for_infinities(const std::vector<TensorId>& gradients, TensorId scale) {
    scale_ = scale;
    const auto count = static_cast<std::int64_t>(gradients.size());
    const TensorId parts = tape_.buffer("found_not_finite.parts", ElementType::f32, {count});
    for (std::int64_t i = 0; i < count; ++i) {
        const TensorId g = gradients[static_cast<std::size_t>(i)];
        Op op;
        const std::string name = "finite? " + tape_.tensor(g).name;
        op.name = name;
        op.kind = OpKind::reduce;
        op.inputs = {g};
        op.set(keys::reduce.reduction, "max");
        op.set(keys::reduce.expression, "y0 = x0 - x0 == 0 ? 0 : 1");
        op.set_offset("output0", i);
        tape_.record(std::move(op),
                     {Tensor{name, ElementType::f32, {1}, TensorRole::other, tape_.storage_number(parts)}});
    }
    found_ = tape_.reduce("found_not_finite", parts, "max", {0}, {1});
}

void Optimizer::adapt_scale() {
    const TensorId good = state("steps_since_not_finite", {1});
    tape_.update_in_place("adapt loss scale",
                          "t0 = x1 + 1; y0 = x2 > 0 ? s0 * x0 : (t0 >= s2 ? s1 * x0 : x0); "
                          "y1 = x2 > 0 ? 0 : (t0 >= s2 ? 0 : t0)",
                          {*scale_, good, *found_}, {*scale_, good}, {0.5, 2, options_.growth_interval});
}

std::vector<TensorId> Optimizer::clip(const std::vector<TensorId>& gradients) {
    const auto count = static_cast<std::int64_t>(gradients.size());
    const TensorId squares = tape_.buffer("gradient_norm.squares", ElementType::f32, {count});
    for (std::int64_t i = 0; i < count; ++i) {
        const TensorId g = gradients[static_cast<std::size_t>(i)];
        Op op;
        const std::string name = "square of " + tape_.tensor(g).name;
        op.name = name;
        op.kind = OpKind::reduce;
        op.inputs = {g};
        op.set(keys::reduce.reduction, "sum");
        op.set(keys::reduce.expression, "y0 = x0 * x0");
        op.set_offset("output0", i);
        tape_.record(std::move(op),
                     {Tensor{name, ElementType::f32, {1}, TensorRole::other, tape_.storage_number(squares)}});
        listed(kNormList);
    }
    const TensorId square = tape_.reduce("gradient_norm.square", squares, "sum", {0}, {1});
    // The gradients still carry the loss's factor.
    std::vector<TensorId> operands{square};
    std::vector<double> scalars{options_.clip_norm};
    std::string norm = "sqrt(x0)";
    if (scale_) {
        operands.push_back(*scale_);
        norm += " / x1";
    } else {
        norm += " * s1";
        scalars.push_back(1 / options_.loss_scale);
    }
    const TensorId factor =
        tape_.elementwise("clip_factor", "y0 = min(1, s0 / (" + norm + " + 1e-6))", operands, {}, scalars);
    std::vector<TensorId> clipped;
    std::map<std::uint64_t, TensorId> done;  // parameters may share a gradient
    for (const TensorId g : gradients) {
        const auto [place, fresh] = done.try_emplace(tape_.storage_number(g), g);
        if (fresh) {
            place->second = tape_.update_in_place("clip " + tape_.tensor(g).name, "y0 = x0 * x1", {g, factor},
                                                  {g}, {})[0];
            listed(kClipList);
        }
        clipped.push_back(place->second);
    }
    return clipped;
}

TensorId Optimizer::state(const std::string& name, Shape shape) {
    return tape_.external(name, ElementType::f32, std::move(shape), TensorRole::optimizer_state);
}

void Optimizer::change(const std::string& name, const std::vector<std::string>& formulas,
                       std::vector<TensorId> operands, std::size_t gradient,
                       const std::vector<TensorId>& targets, std::vector<double> scalars) {
    const auto x = [](std::size_t i) { return "x" + std::to_string(i); };
    std::string text;
    if (found_) {
        text = "t0 = " + x(gradient) + " / " + x(operands.size());
        operands.push_back(*scale_);
        operands.push_back(*found_);
    } else {
        text = "t0 = s" + std::to_string(scalars.size()) + " * " + x(gradient);
        scalars.push_back(1 / options_.loss_scale);
    }
    for (std::size_t i = 0; i < formulas.size(); ++i) {
        // What later formulas read is the changed value, so both have names.
        const std::string changed = "t" + std::to_string(i + 1);
        text += "; " + changed + " = " + formulas[i];
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const std::string changed = "t" + std::to_string(i + 1);
        std::size_t own = 0;
        while (operands[own] != targets[i]) ++own;
        text += "; y" + std::to_string(i) + " = " +
                (found_ ? x(operands.size() - 1) + " > 0 ? " + x(own) + " : " + changed : changed);
    }
    tape_.update_in_place(name, text, operands, targets, scalars);
    listed(kUpdateList);
}

void Optimizer::sgd(TensorId parameter, TensorId gradient) {
    const std::string name = "sgd " + tape_.tensor(parameter).name;
    const double rate = options_.learning_rate;
    if (options_.momentum == 0) {
        if (found_) return change(name, {"x0 - s0 * t0"}, {parameter, gradient}, 1, {parameter}, {rate});
        tape_.update_in_place(name, "y0 = x0 - s0 * x1", {parameter, gradient}, {parameter},
                              {rate / options_.loss_scale});
        listed(kUpdateList);
        return;
    }
    const TensorId velocity =
        state(tape_.tensor(parameter).name + ".velocity", tape_.tensor(parameter).shape);
    change(name, {"s1 * x0 + t0", "x2 - s0 * t1"}, {velocity, gradient, parameter}, 1, {velocity, parameter},
           {rate, options_.momentum});
}

void Optimizer::count_step() {
    if (correction1_) return;
    correction1_ = state("adamw.correction1", {1});
    correction2_ = state("adamw.correction2", {1});
    // c = 1 - beta^t from c = 1 - beta^(t-1): c' = beta c + (1 - beta); it starts at 0.
    const auto next = [&](const char* name, TensorId correction, double beta) {
        std::vector<TensorId> operands{correction};
        std::string text = "y0 = s0 * x0 + s1";
        if (found_) {
            operands.push_back(*found_);
            text = "y0 = x1 > 0 ? x0 : s0 * x0 + s1";
        }
        tape_.update_in_place(name, text, operands, {correction}, {beta, 1 - beta});
    };
    next("adamw step 1", *correction1_, options_.beta1);
    next("adamw step 2", *correction2_, options_.beta2);
}

void Optimizer::adamw(TensorId parameter, TensorId gradient) {
    count_step();
    const bool decoupled = options_.kind == OptimizerOptions::Kind::adamw;
    const std::string name = tape_.tensor(parameter).name;
    const Shape shape = tape_.tensor(parameter).shape;
    const TensorId mean = state(name + ".mean", shape), square = state(name + ".square", shape);
    const double decay = shape.size() >= 2 ? options_.weight_decay : 0;
    const std::string g = decoupled ? "t0" : "(t0 + s6 * x2)";
    const std::string step = "t1 / x4 / (sqrt(t2 / x5) + s5)";
    change((decoupled ? "adamw " : "adam ") + name,
           {"s0 * x0 + s1 * " + g, "s2 * x1 + s3 * (" + g + " * " + g + ")",
            "x2 - s4 * " + (decoupled ? "(" + step + " + s6 * x2)" : "(" + step + ")")},
           {mean, square, parameter, gradient, *correction1_, *correction2_}, 3, {mean, square, parameter},
           {options_.beta1, 1 - options_.beta1, options_.beta2, 1 - options_.beta2, options_.learning_rate,
            options_.epsilon, decay});
}

}  // namespace heddle::zoo
