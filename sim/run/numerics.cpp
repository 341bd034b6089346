#include "sim/run/numerics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/run/checkpoint.h"
#include "sim/run/kernel_cache.h"
#include "sim/run/training_data.h"
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
            return static_cast<double>(a.shape[a.shape.size() - (op.integer("transpose_a", 0) != 0 ? 2 : 1)]);
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
          truth_(trace) {
        if (!plan.data.empty()) data_ = open_training_data(plan.data, trace);
        done_.identity =
            hash_text(describe(trace) + plan.device_identity) + (data_ ? " " + data_->identity() : "");
        if (plan.resume) done_ = read_checkpoint(plan.checkpoint, done_.identity);
        for (const trace::TensorId id : state_) {
            if (plan.resume) {
                const std::vector<double>& kept = done_.reference.at(id);
                std::copy(kept.begin(), kept.end(), truth_[id].begin());
            }
            device_.write(id, plan.resume ? done_.device.at(id) : truth_of(id));
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
        compare(report.numerics);
        return report;
    }

  private:
    std::vector<double> truth_of(trace::TensorId id) {
        const auto values = truth_[id];
        return {values.begin(), values.end()};
    }

    void read_batch() {
        if (!data_) return;
        for (const auto& [id, values] : data_->batch(done_.steps)) {
            std::copy(values.begin(), values.end(), truth_[id].begin());
            device_.write(id, values);
        }
    }

    void step() {
        std::map<trace::TensorId, std::vector<double>> before;
        for (const trace::TensorId id : parameters_) before[id] = truth_of(id);
        // The two do not know of each other.
        auto reference = std::async(std::launch::async, [&] { reference::execute(trace_, truth_); });
        device_.run_step();
        reference.get();
        for (const trace::TensorId id : parameters_) done_.path[id] += distance(before[id], truth_of(id));
        done_.reference_loss.push_back(truth_[loss_][0]);
        done_.device_loss.push_back(device_.read(loss_).at(0));
        ++done_.steps;
    }

    void save() {
        for (const trace::TensorId id : state_) {
            done_.device[id] = device_.read(id);
            done_.reference[id] = truth_of(id);
        }
        write_checkpoint(done_, plan_.checkpoint);
    }

    void compare(NumericsResult& result) {
        result.device_loss = done_.device_loss;
        result.reference_loss = done_.reference_loss;
        result.resumed_at = resumed_at_;
        if (data_) result.data = data_->description();
        const double error = product_error(trace_, device_);
        for (std::size_t i = 0; i < result.device_loss.size(); ++i) {
            const double scale = std::max(1.0, std::abs(result.reference_loss[i]));
            const double found = std::abs(result.device_loss[i] - result.reference_loss[i]) / scale;
            // Written so that what is no number counts as the worst.
            if (!(found <= result.loss_error)) result.loss_error = found;
        }
        result.loss_error_bound = 2 * error;
        double longest = 0;
        for (const auto& [id, length] : done_.path) longest = std::max(longest, length);
        std::string bits;
        for (const trace::TensorId id : parameters_) {
            const std::vector<double> expected = truth_of(id), found_values = device_.read(id);
            bits.append(reinterpret_cast<const char*>(found_values.data()),
                        found_values.size() * sizeof(double));
            const double path = done_.path[id];
            const double length = path > 1e-9 * longest ? path : longest;
            const double size = std::max({norm(expected), length, 1e-30});
            const double found = distance(found_values, expected) / size;
            const double bound = 2 * error * length / size + done_.steps * 0x1p-23;
            // The parameter that comes nearest to its bound, or passes it by most.
            if (result.worst_parameter.empty() ||
                found * result.weight_error_bound > result.weight_error * bound) {
                result.worst_parameter = trace_.tensor(id).name;
                result.weight_error = found;
                result.weight_error_bound = bound;
            }
        }
        result.weights = hash_text(bits);
    }

    const trace::Trace& trace_;
    TrainingDevice& device_;
    const TrainingPlan& plan_;
    trace::TensorId loss_;
    std::vector<trace::TensorId> state_, parameters_;
    reference::TensorValues truth_;
    std::unique_ptr<TrainingData> data_;
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
    json.at("resumed_at").get_to(n.resumed_at);
    json.at("data").get_to(n.data);
    json.at("weights").get_to(n.weights);
    report.cycles = json.at("cycles").get<std::vector<std::uint64_t>>();
    return report;
}

}  // namespace heddle::sim
