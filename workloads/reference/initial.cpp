#include <cmath>
#include <cstdlib>

#include "workloads/expression/expression.h"
#include "workloads/reference/values.h"

namespace heddle::reference {
namespace {

using trace::Op;
using trace::OpKind;
using trace::Tensor;
using trace::TensorId;

bool is_integer(trace::ElementType type) {
    return type >= trace::ElementType::i64;
}

/// How many classes or rows an index tensor chooses from, by the first op that looks up with it; 1 when none
/// does.
std::int64_t choices(const trace::Trace& trace, TensorId id) {
    for (const Op& op : trace.ops) {
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            if (op.inputs[i] != id || i != 1) continue;
            const Tensor& first = trace.tensor(op.inputs[0]);
            switch (op.kind) {
                case OpKind::softmax_cross_entropy:
                case OpKind::softmax_cross_entropy_grad:
                    return first.shape.back();
                case OpKind::embedding:
                    return first.shape.front();
                case OpKind::embedding_grad:
                    return trace.tensor(op.outputs.at(0)).shape.front();
                case OpKind::gather:
                case OpKind::scatter:
                    return first.shape.at(static_cast<std::size_t>(op.get(keys::gather.axis)));
                default:
                    break;
            }
        }
    }
    return 1;
}

/// In [-1, 1), a multiple of 2^-7.
double coarse_uniform(std::uint64_t stream, std::uint64_t element) {
    return std::floor(expression::random_uniform(stream, element) * 256) / 128 - 1;
}

/// Rotary embedding (Su et al., RoFormer, 2021) of [sequence, 2, 2, half]: what element i of a head's half h
/// is multiplied by for half g of the result, at [position, h, g, i]; the angle is position * theta^(-i /
/// half).
std::vector<double> rotary_table(const Tensor& tensor, double theta) {
    const auto half = static_cast<std::size_t>(tensor.shape.back());
    std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
    for (std::size_t e = 0; e < values.size(); ++e) {
        const std::size_t position = e / (4 * half);
        const std::size_t to = e / half % 2, from = e / half / 2 % 2;
        const double angle = static_cast<double>(position) *
                             std::pow(theta, -static_cast<double>(e % half) / static_cast<double>(half));
        values[e] = from == to ? std::cos(angle) : from == 0 ? std::sin(angle) : -std::sin(angle);
    }
    return values;
}

}  // namespace

std::vector<double> initial_values(const trace::Trace& trace, TensorId id, std::uint64_t seed) {
    const Tensor& tensor = trace.tensor(id);
    const std::uint64_t stream = seed << 32 | id;
    std::vector<double> values(static_cast<std::size_t>(tensor.elements()), 0.0);
    const auto fill = [&](auto value) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(i);
    };
    if (is_integer(tensor.type) && tensor.name.ends_with("positions")) {
        fill([](std::size_t i) { return static_cast<double>(i); });
        return values;
    }
    if (const auto mark = tensor.name.find("theta");
        mark != std::string::npos && tensor.name.ends_with(".rotary")) {
        const double theta = std::strtod(tensor.name.c_str() + mark + 5, nullptr);
        return rotary_table(tensor, theta);
    }
    if (is_integer(tensor.type)) {
        const auto count = static_cast<double>(choices(trace, id));
        fill([&](std::size_t i) { return std::floor(expression::random_uniform(stream, i) * count); });
        return values;
    }
    switch (tensor.role) {
        case trace::TensorRole::parameter:
            if (tensor.shape.size() >= 2) {
                const auto columns = static_cast<double>(tensor.shape.back());
                const double rows = static_cast<double>(tensor.elements()) / columns;
                const double bound = std::exp2(std::floor(std::log2(std::sqrt(6 / (columns + rows)))));
                fill([&](std::size_t i) { return bound * coarse_uniform(stream, i); });
            } else if (tensor.name.ends_with("gamma")) {
                fill([](std::size_t) { return 1.0; });
            }
            break;
        case trace::TensorRole::input:
        case trace::TensorRole::label:
        case trace::TensorRole::activation:
            fill([&](std::size_t i) { return coarse_uniform(stream, i); });
            break;
        case trace::TensorRole::optimizer_state:
        case trace::TensorRole::other:
            if (tensor.name.ends_with("loss_scale")) {
                fill([](std::size_t) { return 65536.0; });
            } else if (tensor.name.ends_with("scale") || tensor.name.ends_with("running_variance")) {
                fill([](std::size_t) { return 1.0; });
            }
            break;
        case trace::TensorRole::gradient:
            break;
    }
    return values;
}

}  // namespace heddle::reference
