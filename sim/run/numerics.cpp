#include "sim/run/numerics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

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

}  // namespace

TrainingReport train_beside_reference(const trace::Trace& trace, TrainingDevice& device, unsigned steps) {
    const trace::TensorId loss = trace::loss_of(trace);
    reference::TensorValues truth(trace);
    for (const trace::TensorId id : reference::external_tensors(trace)) {
        const auto values = truth[id];
        device.write(id, std::vector<double>(values.begin(), values.end()));
    }
    const std::vector<trace::TensorId> parameters = trace::parameters_of(trace);
    const auto truth_of = [&](trace::TensorId id) {
        const auto values = truth[id];
        return std::vector<double>(values.begin(), values.end());
    };

    TrainingReport report;
    NumericsResult& result = report.numerics;
    std::map<trace::TensorId, double> path;
    for (unsigned step = 0; step < steps; ++step) {
        std::map<trace::TensorId, std::vector<double>> before;
        for (const trace::TensorId id : parameters) before[id] = truth_of(id);
        reference::execute(trace, truth);
        for (const trace::TensorId id : parameters) path[id] += distance(before[id], truth_of(id));

        const std::vector<std::uint64_t> cycles = device.run_step();
        if (step == 0) report.cycles = cycles;
        result.reference_loss.push_back(truth[loss][0]);
        result.device_loss.push_back(device.read(loss).at(0));
    }

    const double error = product_error(trace, device);
    for (std::size_t i = 0; i < result.device_loss.size(); ++i) {
        const double scale = std::max(1.0, std::abs(result.reference_loss[i]));
        result.loss_error =
            std::max(result.loss_error, std::abs(result.device_loss[i] - result.reference_loss[i]) / scale);
    }
    result.loss_error_bound = 2 * error;
    double longest = 0;
    for (const auto& [id, length] : path) longest = std::max(longest, length);
    for (const trace::TensorId id : parameters) {
        const std::vector<double> expected = truth_of(id);
        const double length = path[id] > 1e-9 * longest ? path[id] : longest;
        const double size = std::max({norm(expected), length, 1e-30});
        const double found = distance(device.read(id), expected) / size;
        const double bound = 2 * error * length / size + steps * 0x1p-23;
        // The parameter that comes nearest to its bound, or passes it by most.
        if (result.worst_parameter.empty() ||
            found * result.weight_error_bound > result.weight_error * bound) {
            result.worst_parameter = trace.tensor(id).name;
            result.weight_error = found;
            result.weight_error_bound = bound;
        }
    }
    return report;
}

std::string to_text(const TrainingReport& report) {
    const NumericsResult& n = report.numerics;
    return nlohmann::json{
        {"device_loss", n.device_loss},           {"reference_loss", n.reference_loss},
        {"weight_error", n.weight_error},         {"weight_error_bound", n.weight_error_bound},
        {"worst_parameter", n.worst_parameter},   {"loss_error", n.loss_error},
        {"loss_error_bound", n.loss_error_bound}, {"cycles", report.cycles}}
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
    report.cycles = json.at("cycles").get<std::vector<std::uint64_t>>();
    return report;
}

}  // namespace heddle::sim
