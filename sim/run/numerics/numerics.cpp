#include "sim/run/numerics/numerics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/run/numerics/checkpoint.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/numerics/training_data.h"
#include "workloads/reference/execute.h"
#include "workloads/trace/training.h"

namespace heddle::sim {
namespace {

double norm(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v * v;
    return std::sqrt(sum);
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
}

/// Terms of each sum of a matrix product or a convolution; 0 for other ops.
double terms(const trace::Trace& trace, const trace::Op& op) {
    const trace::Tensor& a = trace.tensor(op.inputs[0]);
    switch (op.kind) {
        case trace::OpKind::matmul:
            return static_cast<double>(
                a.shape[a.shape.size() - (op.get(keys::matmul.transpose_a) != 0 ? 2 : 1)]);
        case trace::OpKind::convolution:
        case trace::OpKind::convolution_data_grad:
        case trace::OpKind::convolution_weight_grad:
            // Two operations each.
            return trace::floating_point_operations(trace, op) /
                   (2 * static_cast<double>(trace.tensor(op.outputs[0]).elements()));
        default:
            return 0;
    }
}

/// Relative error that one pass through all matrix products and convolutions of the step may gather.
double product_error(const trace::Trace& trace, const TrainingDevice& device) {
    double error = 0;
    for (const trace::Op& op : trace.ops) {
        const double k = op.inputs.empty() ? 0 : terms(trace, op);
        if (k > 0) error += 3 * device.input_roundoff(trace.tensor(op.inputs[0]).type) + k * 0x1p-23;
    }
    return error;
}

/// What the model computes, as text for hashing.
std::string describe(const trace::Trace& trace) {
    struct AttributeText {
        std::string operator()(std::int64_t value) const { return std::to_string(value); }
        std::string operator()(double value) const { return fmt::format("{:.17g}", value); }
        std::string operator()(const std::string& value) const { return value; }
        std::string operator()(const std::vector<std::int64_t>& values) const {
            return fmt::format("{}", fmt::join(values, " "));
        }
        std::string operator()(const std::vector<double>& values) const {
            return fmt::format("{:.17g}", fmt::join(values, " "));
        }
    };
    std::string text;
    for (const trace::Tensor& tensor : trace.tensors)
        text += fmt::format("{} {} {} {}\n", tensor.name, trace::name_of(tensor.type),
                            fmt::join(tensor.shape, "x"), tensor.storage);
    for (const trace::Op& op : trace.ops) {
        text += fmt::format("{} {} -> {}\n", trace::name_of(op.kind), fmt::join(op.inputs, " "),
                            fmt::join(op.outputs, " "));
        for (const auto& [name, value] : op.attributes)
            text += name + " " + std::visit(AttributeText{}, value) + "\n";
    }
    return text;
}

/// Of numbers that are kept in a type.
double roundoff_of(trace::ElementType type) {
    return type == trace::ElementType::bf16 ? 0x1p-8 : type == trace::ElementType::f16 ? 0x1p-11 : 0x1p-24;
}

/// One training, step by step.
class Training {
  public:
    Training(const trace::Trace& trace, TrainingDevice& device, const TrainingPlan& plan)
        : trace_(trace),
          device_(device),
          plan_(plan),
          loss_(trace::loss_of(trace)),
          state_(reference::external_tensors(trace)),
          parameters_(trace::parameters_of(trace)),
          truth_(trace),
          alone_(trace),
          bound_(2 * product_error(trace, device)) {
        find_gradients();
        if (!plan.data.empty()) data_ = open_training_data(plan.data, trace);
        done_.identity =
            hash_text(describe(trace) + plan.device_identity) + (data_ ? " " + data_->identity() : "");
        if (plan.resume) {
            done_ = read_checkpoint(plan.checkpoint, done_.identity);
            std::map<trace::TensorId, std::size_t> elements;
            for (const trace::TensorId id : state_) elements[id] = truth_[id].size();
            check_values(done_, elements, plan.checkpoint);
        }
        for (const trace::TensorId id : state_) {
            if (plan.resume) {
                const std::vector<double>& kept = done_.reference.at(id);
                std::copy(kept.begin(), kept.end(), truth_[id].begin());
            }
            device_.write(id, plan.resume ? done_.device.at(id) : values_of(truth_, id));
        }
        resumed_at_ = done_.steps;
    }

    TrainingReport run() {
        TrainingReport report;
        const unsigned between = std::max(1u, plan_.steps / 10);
        while (done_.steps < plan_.steps) {
            read_batch();
            if (done_.steps == 0) report.cycles = device_.time_step();
            step();
            if (!plan_.checkpoint.empty() && (done_.steps % between == 0 || done_.steps == plan_.steps))
                save();
        }
        report.numerics = finish();
        return report;
    }

  private:
    static std::vector<double> values_of(reference::TensorValues& values, trace::TensorId id) {
        const auto elements = values[id];
        return {elements.begin(), elements.end()};
    }
    static void write_truth(reference::TensorValues& values, trace::TensorId id,
                            const std::vector<double>& elements) {
        std::copy(elements.begin(), elements.end(), values[id].begin());
    }

    /// What optimizers read of the rest of the step, and backward passes of the forward one.
    void find_gradients() {
        std::set<trace::TensorId> forward;
        std::set<std::uint64_t>
            made;  // memory: an op may write what another reads as a view of another shape
        const auto memory = [&](trace::TensorId id) {
            const std::uint64_t storage = trace_.tensor(id).storage;
            return storage != 0 ? storage : (std::uint64_t{1} << 63) + id;
        };
        for (const trace::Op& op : trace_.ops) {
            if (op.phase == trace::Phase::forward) forward.insert(op.outputs.begin(), op.outputs.end());
            if (op.phase != trace::Phase::backward) continue;
            for (const trace::TensorId id : op.inputs)
                if (forward.contains(id)) kept_.insert(id);
        }
        for (const trace::Op& op : trace_.ops) {
            if (op.phase != trace::Phase::optimizer) {
                for (const trace::TensorId id : op.outputs) made.insert(memory(id));
                continue;
            }
            for (const trace::TensorId id : op.inputs)
                if (made.contains(memory(id))) handed_over_.insert(id);
        }
        for (const trace::TensorId id : parameters_) {
            const std::optional<trace::TensorId> gradient = trace::gradient_of(trace_, id);
            if (gradient && handed_over_.contains(*gradient)) gradients_[id] = *gradient;
        }
    }

    void read_batch() {
        if (!data_) return;
        for (const auto& [id, values] : data_->batch(done_.steps)) {
            std::copy(values.begin(), values.end(), truth_[id].begin());
            device_.write(id, values);
        }
    }

    void step() {
        for (const trace::TensorId id : state_) write_truth(alone_, id, device_.read(id));
        std::map<trace::TensorId, std::vector<double>> before;
        for (const trace::TensorId id : parameters_) before[id] = values_of(alone_, id);
        // Device and references do not know of each other.
        auto reference = std::async(std::launch::async, [&] { reference::execute(trace_, truth_); });
        device_.run_step();
        execute_passes();
        reference.get();
        done_.reference_loss.push_back(truth_[loss_][0]);
        done_.device_loss.push_back(device_.read(loss_).at(0));
        ++done_.steps;
        compare_loss(done_.device_loss.back(), alone_[loss_][0]);
        compare_gradients();
        for (const trace::TensorId id : handed_over_) write_truth(alone_, id, device_.read(id));
        for (const trace::Op& op : trace_.ops)
            if (op.phase == trace::Phase::optimizer) reference::execute_op(trace_, op, alone_);
        for (const trace::TensorId id : parameters_) compare_update(id, before[id]);
    }

    /// Of the reference that does each step on its own. What the backward pass reads of the forward one it
    /// takes from the device, where that is within the bound: a unit of ReLU whose input lies nearer to zero
    /// than rounding is on or off for both, and no bound could tell how much of a gradient depends on it.
    void execute_passes() {
        for (const trace::Op& op : trace_.ops) {
            if (op.phase == trace::Phase::optimizer) continue;
            reference::execute_op(trace_, op, alone_);
            if (op.phase != trace::Phase::forward) continue;
            for (const trace::TensorId id : op.outputs) {
                if (!kept_.contains(id)) continue;
                const std::vector<double> expected = values_of(alone_, id), found = device_.read(id);
                if (distance(found, expected) <= bound_ * norm(expected)) write_truth(alone_, id, found);
            }
        }
    }

    /// What is no number is the worst.
    static bool is_worse(double error, double than) { return !std::isnan(than) && !(error <= than); }

    void compare_loss(double found, double expected) {
        const double error = std::abs(found - expected) / std::max(1.0, std::abs(expected));
        if (is_worse(error, result_.loss_error)) result_.loss_error = error;
    }

    void compare_gradients() {
        double whole = 0;
        for (const auto& [parameter, gradient] : gradients_)
            whole += std::pow(norm(values_of(alone_, gradient)), 2);
        whole = std::max(std::sqrt(whole), 1e-300);
        for (const auto& [parameter, gradient] : gradients_) {
            const double error = distance(device_.read(gradient), values_of(alone_, gradient)) / whole;
            if (!is_worse(error, result_.gradient_error)) continue;
            result_.gradient_error = error;
            result_.worst_gradient = trace_.tensor(parameter).name;
        }
    }

    void compare_update(trace::TensorId id, const std::vector<double>& before) {
        const std::vector<double> expected = values_of(alone_, id);
        const double size = norm(expected) + distance(before, expected);
        const double error = distance(device_.read(id), expected) / std::max(size, 1e-300);
        const double bound = std::max(0x1p-19, roundoff_of(trace_.tensor(id).type));
        // The parameter that comes nearest to its bound, or passes it by most.
        if (!result_.worst_parameter.empty() &&
            !is_worse(error * result_.weight_error_bound, result_.weight_error * bound))
            return;
        result_.worst_parameter = trace_.tensor(id).name;
        result_.weight_error = error;
        result_.weight_error_bound = bound;
    }

    void save() {
        for (const trace::TensorId id : state_) {
            done_.device[id] = device_.read(id);
            done_.reference[id] = values_of(truth_, id);
        }
        write_checkpoint(done_, plan_.checkpoint);
    }

    NumericsResult finish() {
        result_.device_loss = done_.device_loss;
        result_.reference_loss = done_.reference_loss;
        result_.resumed_at = resumed_at_;
        if (data_) result_.data = data_->description();
        result_.loss_error_bound = result_.gradient_error_bound = bound_;
        std::string bits;
        double apart = 0, size = 0;
        for (const trace::TensorId id : parameters_) {
            const std::vector<double> expected = values_of(truth_, id), found = device_.read(id);
            bits.append(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(double));
            apart += std::pow(distance(found, expected), 2);
            size += std::pow(norm(expected), 2);
        }
        if (size > 0) result_.drift = std::sqrt(apart / size);
        result_.weights = hash_text(bits);
        return result_;
    }

    const trace::Trace& trace_;
    TrainingDevice& device_;
    const TrainingPlan& plan_;
    trace::TensorId loss_;
    std::vector<trace::TensorId> state_, parameters_;
    std::set<trace::TensorId> kept_;  // made by forward passes, read by backward ones
    std::set<trace::TensorId> handed_over_;
    std::map<trace::TensorId, trace::TensorId> gradients_;  ///< by parameter
    reference::TensorValues truth_;                         ///< trains on its own
    reference::TensorValues alone_;                         ///< begins each step with the device's numbers
    const double bound_;  ///< of losses, of gradients, and of what backward passes take from the device
    std::unique_ptr<TrainingData> data_;
    NumericsResult result_;
    Checkpoint done_;
    unsigned resumed_at_ = 0;
};

}  // namespace

TrainingReport train_beside_reference(const trace::Trace& trace, TrainingDevice& device,
                                      const TrainingPlan& plan) {
    return Training(trace, device, plan).run();
}

std::string to_text(const TrainingReport& report) {
    const NumericsResult& n = report.numerics;
    return nlohmann::json{{"device_loss", n.device_loss},
                          {"reference_loss", n.reference_loss},
                          {"weight_error", n.weight_error},
                          {"weight_error_bound", n.weight_error_bound},
                          {"worst_parameter", n.worst_parameter},
                          {"loss_error", n.loss_error},
                          {"loss_error_bound", n.loss_error_bound},
                          {"cycles", report.cycles},
                          {"gradient_error", n.gradient_error},
                          {"gradient_error_bound", n.gradient_error_bound},
                          {"worst_gradient", n.worst_gradient},
                          {"drift", n.drift},
                          {"resumed_at", n.resumed_at},
                          {"data", n.data},
                          {"weights", n.weights}}
        .dump();
}

TrainingReport training_report_from_text(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    TrainingReport report;
    NumericsResult& n = report.numerics;
    // A loss that is not a number is written as null.
    const auto losses = [](const nlohmann::json& list) {
        std::vector<double> values;
        for (const auto& value : list) values.push_back(value.is_null() ? std::nan("") : value.get<double>());
        return values;
    };
    n.device_loss = losses(json.at("device_loss"));
    n.reference_loss = losses(json.at("reference_loss"));
    const auto number = [&](const char* key) {
        return json.at(key).is_null() ? std::nan("") : json.at(key).get<double>();
    };
    n.weight_error = number("weight_error");
    n.weight_error_bound = number("weight_error_bound");
    n.worst_parameter = json.at("worst_parameter").get<std::string>();
    n.loss_error = number("loss_error");
    n.loss_error_bound = number("loss_error_bound");
    n.gradient_error = number("gradient_error");
    n.gradient_error_bound = number("gradient_error_bound");
    json.at("worst_gradient").get_to(n.worst_gradient);
    n.drift = number("drift");
    json.at("resumed_at").get_to(n.resumed_at);
    json.at("data").get_to(n.data);
    json.at("weights").get_to(n.weights);
    report.cycles = json.at("cycles").get<std::vector<std::uint64_t>>();
    return report;
}

}  // namespace heddle::sim
