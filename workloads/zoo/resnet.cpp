#include "workloads/zoo/resnet.h"

#include <array>

#include "isa/common/error.h"
#include "workloads/zoo/transformer.h"

namespace heddle::zoo {
namespace {

struct Plan {
    std::array<std::int64_t, 4> blocks;
    bool bottleneck;
};

Plan plan_of(const std::string& model, std::int64_t depth) {
    switch (depth) {
        case 18:
            return {{2, 2, 2, 2}, false};
        case 34:
            return {{3, 4, 6, 3}, false};
        case 50:
            return {{3, 4, 6, 3}, true};
        case 101:
            return {{3, 4, 23, 3}, true};
        case 152:
            return {{3, 8, 36, 3}, true};
        default:
            throw Error("must be 18, 34, 50, 101 or 152", {.key = model + " option depth"});
    }
}

class ResnetRecorder {
  public:
    ResnetRecorder(Network& network, const ResNetOptions& options, const Plan& plan)
        : n_(network), o_(options), plan_(plan) {}

    TensorId run(TensorId image, TensorId labels) {
        TensorId x = relu("stem", convolve("stem", image, o_.width, 7, 2));
        PoolingOptions pool;
        pool.window = {3, 3};
        pool.strides = {2, 2};
        pool.padding = {1, 1};
        pool.channels_last = o_.channels_last;
        x = n_.tape().pooling("stem.pool", x, pool);
        for (std::size_t stage = 0; stage < 4; ++stage) {
            for (std::int64_t i = 0; i < plan_.blocks[stage]; ++i) {
                const std::string name = "stage" + std::to_string(stage) + ".block" + std::to_string(i);
                n_.begin_block();
                x = block(name, x, o_.width << stage, i == 0 && stage > 0 ? 2 : 1);
                n_.end_block();
            }
        }
        const Shape shape = n_.shape(x);
        PoolingOptions mean;
        mean.maximum = false;
        mean.window = o_.channels_last ? Shape{shape[1], shape[2]} : Shape{shape[2], shape[3]};
        mean.channels_last = o_.channels_last;
        x = n_.tape().view("mean.rows", n_.tape().pooling("mean", x, mean),
                           {shape[0], o_.channels_last ? shape[3] : shape[1]});
        return n_.loss(n_.linear("head", x, o_.classes), labels);
    }

  private:
    TensorId relu(const std::string& name, TensorId x) { return n_.activation(name + ".relu", x, "relu"); }
    TensorId convolve(const std::string& name, TensorId x, std::int64_t filters, std::int64_t window,
                      std::int64_t stride) {
        return convolution_and_norm(n_, name, x, filters, window, stride, o_.channels_last);
    }
    TensorId block(const std::string& name, TensorId x, std::int64_t width, std::int64_t stride) {
        const std::int64_t out = plan_.bottleneck ? 4 * width : width;
        TensorId y = x;
        if (plan_.bottleneck) {
            y = relu(name + ".1", convolve(name + ".1", y, width, 1, 1));
            y = relu(name + ".2", convolve(name + ".2", y, width, 3, stride));
            y = convolve(name + ".3", y, out, 1, 1);
        } else {
            y = relu(name + ".1", convolve(name + ".1", y, width, 3, stride));
            y = convolve(name + ".2", y, out, 3, 1);
        }
        const std::int64_t channels = n_.shape(x)[o_.channels_last ? 3 : 1];
        if (stride != 1 || channels != out) x = convolve(name + ".shortcut", x, out, 1, stride);
        return n_.tape().elementwise(name, "y0 = max(x0 + x1, 0)", {y, x});
    }

    Network& n_;
    const ResNetOptions& o_;
    const Plan& plan_;
};

}  // namespace

TensorId convolution_and_norm(Network& network, const std::string& name, TensorId x, std::int64_t filters,
                              std::int64_t window, std::int64_t stride, bool channels_last) {
    Tape& tape = network.tape();
    ConvolutionOptions options;
    options.strides = {stride, stride};
    options.padding = {(window - 1) / 2, (window - 1) / 2};
    options.channels_last = channels_last;
    const std::int64_t channels = network.shape(x).at(channels_last ? 3 : 1);
    const Shape weight =
        channels_last ? Shape{filters, window, window, channels} : Shape{filters, channels, window, window};
    const TensorId y = tape.convolution(name, x, network.parameter(name + ".weight", weight), options);
    if (!channels_last) return network.batch_norm(name + ".norm", y);
    const Shape shape = network.shape(y);
    const TensorId rows = tape.view(name + ".rows", y, {shape[0] * shape[1] * shape[2], filters});
    return tape.view(name + ".image", network.batch_norm(name + ".norm", rows), shape);
}

trace::Trace resnet(const std::string& name, const ResNetOptions& o) {
    const Plan plan = plan_of(name, o.depth);
    require_positive(name, "image", o.image);
    require_positive(name, "classes", o.classes);
    require_positive(name, "width", o.width);
    const std::int64_t batch = part_of_batch(name, o.batch, o.step);
    return record_step(name, o.step, [&](Network& network) {
        const Shape shape =
            o.channels_last ? Shape{batch, o.image, o.image, 3} : Shape{batch, 3, o.image, o.image};
        const TensorId image = network.input("image", network.type(), shape, TensorRole::input);
        const TensorId labels = network.input("labels", ElementType::i32, {batch}, TensorRole::label);
        return ResnetRecorder(network, o, plan).run(image, labels);
    });
}

trace::Trace lstm(const std::string& name, const LstmOptions& o) {
    for (const auto& [key, value] : {std::pair<const char*, std::int64_t>{"layers", o.layers},
                                     {"hidden", o.hidden},
                                     {"vocabulary", o.vocabulary},
                                     {"sequence", o.sequence}}) {
        require_positive(name, key, value);
    }
    const std::int64_t rows = part_of_batch(name, o.batch, o.step) * o.sequence;
    return record_step(name, o.step, [&](Network& network) {
        // Rows of one moment lie side by side.
        const TensorId tokens = network.input("tokens", ElementType::i32, {rows}, TensorRole::input);
        const TensorId labels = network.input("labels", ElementType::i32, {rows}, TensorRole::label);
        TensorId x =
            network.dropout("embedded", network.embedding("embedding", tokens, o.vocabulary, o.hidden));
        for (std::int64_t i = 0; i < o.layers; ++i) {
            const std::size_t first = network.tape().ops();
            const std::string layer = "layer" + std::to_string(i);
            network.begin_block();
            x = network.dropout(layer + ".dropped", network.lstm(layer, x, o.sequence, o.hidden));
            network.end_block();
            if (i == 1) network.tape().expect_again(first, o.layers - 2);
        }
        return network.loss(network.linear("head", x, o.vocabulary), labels);
    });
}

}  // namespace heddle::zoo
