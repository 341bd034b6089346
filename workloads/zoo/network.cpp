#include "workloads/zoo/network.h"

#include <array>
#include <cmath>
#include <utility>

#include "isa/common/error.h"

namespace heddle::zoo {

Network::Network(const std::string& name, const StepOptions& options)
    : tape_(name),
      options_(options),
      type_(options.type == ElementType::tf32 ? ElementType::f32 : options.type) {
    if (options.parts) tape_.mark_parts();
}

TensorId Network::input(const std::string& name, ElementType type, Shape shape, TensorRole role) {
    const std::string own = micro_batch_ == 0 ? name : name + " of part " + std::to_string(micro_batch_);
    return tape_.external(own, type, std::move(shape), role);
}

TensorId Network::constant(const std::string& name, ElementType type, const Shape& shape) {
    const auto known = constants_.find(name);
    if (known != constants_.end()) return known->second;
    return constants_[name] = tape_.external(name, type, shape, TensorRole::other);
}

TensorId Network::parameter(const std::string& name, const Shape& shape) {
    const auto known = read_.find(name);
    if (known != read_.end()) {
        if (tape_.tensor(known->second).shape != shape)
            throw Error("is asked for with shape " + trace::to_text(shape) + " and with " +
                            trace::to_text(tape_.tensor(known->second).shape),
                        {.key = "parameter " + name});
        return known->second;
    }
    const TensorId master = tape_.external(name, ElementType::f32, shape, TensorRole::parameter);
    masters_.push_back(master);
    part_of_master_[master] = tape_.part();
    const TensorId read = type_ == ElementType::f32 ? master : tape_.outside_segments([&] {
        return tape_.cast(name + ".copy", master, type_);
    });
    return read_[name] = read;
}

TensorId Network::linear(const std::string& name, TensorId x, std::int64_t out, bool bias) {
    const TensorId weight = parameter(name + ".weight", {out, shape(x).back()});
    return linear_with(name, x, weight,
                       bias ? std::optional<TensorId>(parameter(name + ".bias", {out})) : std::nullopt);
}

TensorId Network::linear_with(const std::string& name, TensorId x, TensorId weight,
                              std::optional<TensorId> bias) {
    // As in Transformer Engine: every one of the three products reads whole groups of 16.
    const bool whole = shape(x)[0] % 16 == 0 && shape(weight)[0] % 16 == 0 && shape(weight)[1] % 16 == 0;
    if (options_.fp8 && whole) return linear_in_8_bits(name, x, weight, bias);
    MatmulOptions options;
    options.transpose_b = true;
    options.bias = bias;
    return tape_.matmul(name, x, weight, options);
}

TensorId Network::layer_norm(const std::string& name, TensorId x, double epsilon) {
    const Shape width{shape(x).back()};
    const TensorId gamma = parameter(name + ".gamma", width);
    return tape_.layer_norm(name, x, gamma, parameter(name + ".beta", width), epsilon);
}

TensorId Network::rms_norm(const std::string& name, TensorId x, double epsilon) {
    return tape_.rms_norm(name, x, parameter(name + ".gamma", {shape(x).back()}), epsilon);
}

TensorId Network::batch_norm(const std::string& name, TensorId x) {
    const Shape channels{shape(x).at(1)};
    const TensorId gamma = parameter(name + ".gamma", channels), beta = parameter(name + ".beta", channels);
    return tape_.batch_norm(name, x, gamma, beta,
                            {constant(name + ".running_mean", ElementType::f32, channels),
                             constant(name + ".running_variance", ElementType::f32, channels)});
}

TensorId Network::activation(const std::string& name, TensorId x, const std::string& function) {
    static constexpr std::array<std::pair<const char*, const char*>, 6> known{{
        {"relu", "y0 = max(x0, 0)"},
        {"gelu", "y0 = 0.5 * x0 * (1 + erf(0.7071067811865476 * x0))"},
        // The tanh form of GELU (Hendrycks and Gimpel, 2016), as GPT-2 has it.
        {"gelu_tanh",
         "t0 = tanh(0.7978845608028654 * (x0 + 0.044715 * (x0 * x0 * x0))); y0 = 0.5 * x0 * (1 + t0)"},
        {"silu", "y0 = x0 * sigmoid(x0)"},
        {"tanh", "y0 = tanh(x0)"},
        {"sigmoid", "y0 = sigmoid(x0)"},
    }};
    std::string names;
    for (const auto& [word, formula] : known) {
        if (function == word) return tape_.elementwise(name, formula, {x});
        names += std::string(names.empty() ? "" : ", ") + word;
    }
    throw Error("there is no activation '" + function + "'", {.key = name}, "known ones: " + names);
}

TensorId Network::add(const std::string& name, TensorId x, TensorId y) {
    return tape_.elementwise(name, "y0 = x0 + x1", {x, y});
}

TensorId Network::dropout(const std::string& name, TensorId x) {
    return dropout(name, x, options_.dropout);
}

TensorId Network::dropout(const std::string& name, TensorId x, double probability) {
    return probability == 0 ? x : tape_.dropout(name, x, probability, dropouts_++);
}

TensorId Network::embedding(const std::string& name, TensorId tokens, std::int64_t rows, std::int64_t width) {
    return tape_.embedding(name, parameter(name + ".weight", {rows, width}), tokens);
}

TensorId Network::every(const std::string& name, TensorId x, std::int64_t count, std::int64_t step) {
    const TensorId numbers =
        constant("first_" + std::to_string(count) + "_positions", ElementType::i32, {count});
    const TensorId rows = tape_.elementwise(name + ".rows", "y0 = s0 * x0", {numbers}, ElementType::i32,
                                            {static_cast<double>(step)});
    return tape_.gather(name, x, rows, true);
}

TensorId Network::loss_scale() {
    if (!loss_scale_) {
        loss_scale_ = tape_.external("loss_scale", ElementType::f32, {1}, TensorRole::optimizer_state);
    }
    return *loss_scale_;
}

TensorId Network::scaled(const std::string& name, TensorId x) {
    const ElementType from = tape_.tensor(x).type;
    if (!options_.optimizer.dynamic_loss_scale)
        return from == ElementType::f32 ? x : tape_.cast(name, x, ElementType::f32);
    const TensorId same = tape_.cast(name, x, ElementType::f32), scale = loss_scale();
    tape_.differentiate_as_one({{x}, same, [=](Tape& tape, TensorId dy, const std::vector<bool>&) {
                                    return std::vector<std::optional<Gradient>>{Gradient{
                                        tape.elementwise("d " + name, "y0 = x0 * x1", {dy, scale}, from), 0}};
                                }});
    return same;
}

TensorId Network::loss(TensorId logits, TensorId labels) {
    TensorId rows = tape_.softmax_cross_entropy("cross_entropy", scaled("logits", logits), labels).loss;
    if (options_.tensor > 1) {
        // Of a shared vocabulary: the largest logit, its sum of exponentials, and the logit of the label.
        for (const char* what : {"largest", "sum", "label"})
            rows = pair(std::string("cross_entropy.") + what, rows, shape(rows), "all_reduce", "none",
                        "tensor", options_.tensor);
    }
    const bool more = !more_losses_.empty(), parts = options_.micro_batches > 1;
    const std::string part = parts ? "loss of part " + std::to_string(micro_batch_) : "loss";
    TensorId loss = tape_.reduce(more ? "mean cross_entropy" : part, rows, "mean", {0}, {});
    for (std::size_t i = 0; i < more_losses_.size(); ++i) {
        const bool last = i + 1 == more_losses_.size();
        loss = add(last ? part : "loss and " + std::to_string(i + 1) + " more", loss, more_losses_[i]);
    }
    return loss;
}

}  // namespace heddle::zoo
