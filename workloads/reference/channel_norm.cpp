// Norms of a row's squares and of channels: RMS norm; group norm and batch norm, forward and backward.
#include <cmath>

#include "workloads/reference/kernels.h"

namespace heddle::reference {
namespace {

/// x [N, C, space] seen as sets of elements that share mean and variance.
struct Channels {
    std::size_t batch = 1, channels = 1, space = 1, groups = 1;
    bool across_batch = false;  ///< batch norm: a set for each channel; else one for each sample and group

    std::size_t sets() const { return across_batch ? channels : batch * groups; }
    double size() const {
        const std::size_t of_a_set = batch * channels * space / sets();
        return static_cast<double>(of_a_set);
    }
    std::size_t channel(std::size_t element) const { return element / space % channels; }
    std::size_t set(std::size_t element) const {
        if (across_batch) return channel(element);
        return element / (space * channels) * groups + channel(element) / (channels / groups);
    }
};

Channels channels_of(const Context& c, const Tensor& x) {
    Channels result;
    result.batch = static_cast<std::size_t>(x.shape[0]);
    result.channels = static_cast<std::size_t>(x.shape[1]);
    for (std::size_t axis = 2; axis < x.shape.size(); ++axis)
        result.space *= static_cast<std::size_t>(x.shape[axis]);
    result.across_batch = c.op.kind == OpKind::batch_norm || c.op.kind == OpKind::batch_norm_grad;
    result.groups = static_cast<std::size_t>(c.op.get(keys::group_norm.groups));
    return result;
}

}  // namespace

void run_rms_norm(const Context& c) {
    const auto columns = static_cast<std::size_t>(c.in(0).shape.back());
    const std::vector<double> x = c.gathered_input(0), gamma = c.gathered_input(1);
    const double epsilon = c.op.get(keys::group_norm.epsilon);
    std::vector<double> y(x.size()), rstds;
    for (std::size_t first = 0; first < x.size(); first += columns) {
        double squares = 0;
        for (std::size_t j = 0; j < columns; ++j) squares += x[first + j] * x[first + j];
        rstds.push_back(1 / std::sqrt(squares / static_cast<double>(columns) + epsilon));
        for (std::size_t j = 0; j < columns; ++j) y[first + j] = x[first + j] * rstds.back() * gamma[j];
    }
    c.scatter_output(0, y);
    if (c.op.outputs.size() > 1) c.scatter_output(1, rstds);
}

void run_rms_norm_grad(const Context& c) {
    const auto columns = static_cast<std::size_t>(c.in(0).shape.back());
    const std::vector<double> dy = c.gathered_input(0), x = c.gathered_input(1), rstd = c.gathered_input(2),
                              gamma = c.gathered_input(3);
    std::vector<double> dx(x.size()), d_gamma(columns, 0.0);
    for (std::size_t first = 0; first < x.size(); first += columns) {
        const double r = rstd[first / columns];
        double dot = 0;
        for (std::size_t j = 0; j < columns; ++j) {
            dot += dy[first + j] * gamma[j] * x[first + j] * r;
            d_gamma[j] += dy[first + j] * x[first + j] * r;
        }
        dot /= static_cast<double>(columns);
        for (std::size_t j = 0; j < columns; ++j)
            dx[first + j] = r * (dy[first + j] * gamma[j] - x[first + j] * r * dot);
    }
    c.scatter_output(0, dx);
    if (c.op.outputs.size() > 1) c.scatter_output(1, d_gamma);
}

namespace {

void run_channel_norm(const Context& c) {
    const Channels shape = channels_of(c, c.in(0));
    const std::vector<double> x = c.gathered_input(0), gamma = c.gathered_input(1),
                              beta = c.gathered_input(2);
    const double epsilon = c.op.get(keys::batch_norm.epsilon), size = shape.size();
    std::vector<double> means(shape.sets(), 0.0), variances(shape.sets(), 0.0), rstds(shape.sets()),
        y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) means[shape.set(i)] += x[i] / size;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double difference = x[i] - means[shape.set(i)];
        variances[shape.set(i)] += difference * difference / size;
    }
    for (std::size_t set = 0; set < shape.sets(); ++set) rstds[set] = 1 / std::sqrt(variances[set] + epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t set = shape.set(i), channel = shape.channel(i);
        y[i] = (x[i] - means[set]) * rstds[set] * gamma[channel] + beta[channel];
    }
    c.scatter_output(0, y);
    if (c.op.outputs.size() > 1) c.scatter_output(1, means);
    if (c.op.outputs.size() > 2) c.scatter_output(2, rstds);
    if (c.op.inputs.size() < 5 || c.op.outputs.size() < 5) return;
    const double momentum = c.op.get(keys::batch_norm.momentum);
    std::vector<double> running_mean = c.gathered_input(3), running_variance = c.gathered_input(4);
    for (std::size_t set = 0; set < shape.sets(); ++set) {
        const double unbiased = variances[set] * size / (size - 1);
        running_mean[set] = (1 - momentum) * running_mean[set] + momentum * means[set];
        running_variance[set] = (1 - momentum) * running_variance[set] + momentum * unbiased;
    }
    c.scatter_output(3, running_mean);
    c.scatter_output(4, running_variance);
}

void run_channel_norm_grad(const Context& c) {
    const Channels shape = channels_of(c, c.in(1));
    const std::vector<double> dy = c.gathered_input(0), x = c.gathered_input(1), mean = c.gathered_input(2),
                              rstd = c.gathered_input(3), gamma = c.gathered_input(4);
    std::vector<double> sums(shape.sets(), 0.0), dots(shape.sets(), 0.0), dx(x.size());
    std::vector<double> d_gamma(shape.channels, 0.0), d_beta(shape.channels, 0.0);
    const auto hat = [&](std::size_t i) { return (x[i] - mean[shape.set(i)]) * rstd[shape.set(i)]; };
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t set = shape.set(i), channel = shape.channel(i);
        sums[set] += dy[i] * gamma[channel] / shape.size();
        dots[set] += dy[i] * gamma[channel] * hat(i) / shape.size();
        d_gamma[channel] += dy[i] * hat(i);
        d_beta[channel] += dy[i];
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t set = shape.set(i);
        dx[i] = rstd[set] * (dy[i] * gamma[shape.channel(i)] - sums[set] - hat(i) * dots[set]);
    }
    c.scatter_output(0, dx);
    if (c.op.outputs.size() > 1) c.scatter_output(1, d_gamma);
    if (c.op.outputs.size() > 2) c.scatter_output(2, d_beta);
}

}  // namespace

void run_group_norm(const Context& c) {
    run_channel_norm(c);
}

void run_batch_norm(const Context& c) {
    run_channel_norm(c);
}

void run_group_norm_grad(const Context& c) {
    run_channel_norm_grad(c);
}

void run_batch_norm_grad(const Context& c) {
    run_channel_norm_grad(c);
}

}  // namespace heddle::reference
