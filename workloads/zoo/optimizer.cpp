#include "workloads/zoo/optimizer.h"

#include <cmath>

#include "isa/common/error.h"

namespace heddle::zoo {

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

TensorId Optimizer::state(const std::string& name, Shape shape) {
    return tape_.external(name, ElementType::f32, std::move(shape), TensorRole::optimizer_state);
}

void Optimizer::sgd(TensorId parameter, TensorId gradient) {
    const std::string name = tape_.tensor(parameter).name;
    const double rate = options_.learning_rate, unscale = 1 / options_.loss_scale;
    if (options_.momentum == 0) {
        tape_.update_in_place("sgd " + name, "y0 = x0 - s0 * x1", {parameter, gradient}, {parameter},
                              {rate * unscale});
        return;
    }
    const TensorId velocity = state(name + ".velocity", tape_.tensor(parameter).shape);
    tape_.update_in_place("sgd " + name, "y0 = s1 * x0 + s2 * x1; y1 = x2 - s0 * y0",
                          {velocity, gradient, parameter}, {velocity, parameter},
                          {rate, options_.momentum, unscale});
}

void Optimizer::count_step() {
    if (correction1_) return;
    correction1_ = state("adamw.correction1", {1});
    correction2_ = state("adamw.correction2", {1});
    // c = 1 - beta^t from c = 1 - beta^(t-1): c' = beta c + (1 - beta); it starts at 0.
    const std::string next = "y0 = s0 * x0 + s1";
    tape_.update_in_place("adamw step 1", next, {*correction1_}, {*correction1_},
                          {options_.beta1, 1 - options_.beta1});
    tape_.update_in_place("adamw step 2", next, {*correction2_}, {*correction2_},
                          {options_.beta2, 1 - options_.beta2});
}

void Optimizer::adamw(TensorId parameter, TensorId gradient) {
    count_step();
    const std::string name = tape_.tensor(parameter).name;
    const Shape shape = tape_.tensor(parameter).shape;
    const TensorId mean = state(name + ".mean", shape), square = state(name + ".square", shape);
    const double decay = shape.size() >= 2 ? options_.weight_decay : 0;
    tape_.update_in_place("adamw " + name,
                          "t0 = s0 * x3; y0 = s1 * x0 + s2 * t0; y1 = s3 * x1 + s4 * (t0 * t0); "
                          "y2 = x2 - s5 * (y0 / x4 / (sqrt(y1 / x5) + s6) + s7 * x2)",
                          {mean, square, parameter, gradient, *correction1_, *correction2_},
                          {mean, square, parameter},
                          {1 / options_.loss_scale, options_.beta1, 1 - options_.beta1, options_.beta2,
                           1 - options_.beta2, options_.learning_rate, options_.epsilon, decay});
}

}  // namespace heddle::zoo
