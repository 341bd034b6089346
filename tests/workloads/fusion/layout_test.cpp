// Steps whose images are laid out with channels last compute what they computed, in the double-precision
// reference.
#include "workloads/fusion/layout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <set>

#include "workloads/fusion/xla.h"
#include "workloads/reference/execute.h"
#include "workloads/zoo/registry.h"
#include "workloads/zoo/tape.h"

using namespace heddle;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::Shape;
using trace::TensorId;
using trace::TensorRole;
using trace::Trace;

namespace {

/// [N, space..., C] as [N, C, space...].
std::vector<double> channels_first(std::span<const double> values, const Shape& shape) {
    const auto batch = static_cast<std::size_t>(shape.front()),
               channels = static_cast<std::size_t>(shape.back());
    const std::size_t space = values.size() / (batch * channels);
    std::vector<double> result(values.size());
    for (std::size_t n = 0; n < batch; ++n)
        for (std::size_t p = 0; p < space; ++p)
            for (std::size_t c = 0; c < channels; ++c)
                result[(n * channels + c) * space + p] = values[(n * space + p) * channels + c];
    return result;
}

/// Every tensor of the plain step that the other one has, too. Returns how many lie in another order.
std::size_t check_same_values(const Trace& plain, const Trace& laid_out) {
    laid_out.check();
    reference::TensorValues expected(plain), found(laid_out);
    reference::execute(plain, expected);
    reference::execute(laid_out, found);
    std::set<TensorId> made;
    for (const Op& op : laid_out.ops) {
        made.insert(op.inputs.begin(), op.inputs.end());  // some are made as views of other numbers
        made.insert(op.outputs.begin(), op.outputs.end());
    }
    std::size_t moved = 0, compared = 0;
    for (const TensorId id : made) {
        if (id >= plain.tensors.size()) continue;
        const auto a = expected[id];
        std::vector<double> b(found[id].begin(), found[id].end());
        if (plain.tensor(id).shape != laid_out.tensor(id).shape) {
            b = channels_first(b, laid_out.tensor(id).shape);
            ++moved;
        }
        REQUIRE(a.size() == b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (b[i] != Approx(a[i]).epsilon(1e-9).margin(1e-11)) {
                CAPTURE(plain.tensor(id).name, i);
                REQUIRE(b[i] == Approx(a[i]).epsilon(1e-9).margin(1e-11));
            }
        }
        ++compared;
    }
    CHECK(compared > 0);
    return moved;
}

std::size_t count(const Trace& trace, const std::function<bool(const Op&)>& test) {
    return static_cast<std::size_t>(std::count_if(trace.ops.begin(), trace.ops.end(), test));
}
bool is_transpose(const Op& op) {
    return op.kind == OpKind::copy && op.has(keys::copy.permutation);
}
bool has_channels_first(const Op& op) {
    const bool slides = op.kind == OpKind::convolution || op.kind == OpKind::convolution_data_grad ||
                        op.kind == OpKind::convolution_weight_grad || op.kind == OpKind::pooling ||
                        op.kind == OpKind::pooling_grad;
    return slides && op.get(keys::pooling.layout) == "nchw";
}

}  // namespace

TEST_CASE(
    "a ResNet's step with channels first becomes one with channels last, but for its image and weights") {
    const std::map<std::string, std::string> options{
        {"batch", "2"}, {"image", "64"}, {"classes", "5"}, {"width", "5"}, {"optimizer", "sgd"}};
    for (const std::string type : {"f32", "bf16"}) {
        CAPTURE(type);
        auto given = options;
        given["type"] = type;
        const Trace plain = zoo::build("resnet18", given);
        fusion::LayoutCount counted;
        const Trace laid_out = fusion::lay_out_images(plain, &counted);
        CHECK(count(laid_out, has_channels_first) == 0);
        CHECK(counted.images == check_same_values(plain, laid_out));
        // No stage has as many channels as rows or a window has,
        // so shapes tell the orders apart.
        // Forward the image, and of the 17 convolutions whose window is wider than a pixel the weights (their
        // cast to bf16 is the transpose); backward the image again, the weights of f32 again where a gradient
        // of images asks for them (of all but the first), and the gradients of weights. The three convolutions
        // of one pixel lie both ways.
        const std::size_t again = type == "f32" ? 1 + 16 : 1;
        CHECK(count(laid_out, is_transpose) == 1 + 17 + again + 17);
        CHECK(counted.transposes == 1 + 17 + again + 17);
        // Fused with all else, too.
        check_same_values(plain, fusion::fuse_as_xla(plain, {{}, false}));
        // Channels last already: nothing to do.
        given["layout"] = "nhwc";
        const Trace last = zoo::build("resnet18", given);
        CHECK(fusion::lay_out_images(last, &counted).ops.size() == last.ops.size());
        CHECK(counted.images == 0);
    }
}

TEST_CASE("a program's own transposes beside channels-last convolutions become views") {
    zoo::Tape tape("jax");
    const TensorId x = tape.external("x", ElementType::f32, {2, 3, 6, 5}, TensorRole::input);
    const TensorId w = tape.external("w", ElementType::f32, {4, 3, 3, 3}, TensorRole::parameter);
    zoo::ConvolutionOptions options;
    options.channels_last = true;
    options.padding = {1, 1};
    // relu(x) [N, C, H, W] -> [N, H, W, C] -> convolution -> [N, C, H, W] -> doubled, summed over space
    const TensorId a = tape.elementwise("relu", "y0 = max(x0, 0)", {x});
    const TensorId last = tape.transpose("to_last", a, {0, 2, 3, 1});
    const TensorId v = tape.transpose("weights", w, {0, 2, 3, 1});
    const TensorId y = tape.convolution("conv", last, v, options);
    const TensorId first = tape.transpose("to_first", y, {0, 3, 1, 2});
    const TensorId twice = tape.elementwise("double", "y0 = 2 * x0", {first});
    tape.reduce("sum", twice, "sum", {0, 2, 3}, {4});
    const Trace plain = tape.finish();
    REQUIRE(count(plain, is_transpose) == 3);
    const Trace laid_out = fusion::lay_out_images(plain);
    // The image and the weights, which come from outside.
    CHECK(count(laid_out, is_transpose) == 2);
    CHECK(laid_out.ops.size() == plain.ops.size() - 1);
    check_same_values(plain, laid_out);
}

TEST_CASE("random channels-first networks keep their values, whatever stands beside the convolutions") {
    std::mt19937 random(29);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::size_t moved = 0;
    for (int trial = 0; trial < 60; ++trial) {
        CAPTURE(trial);
        zoo::Tape tape("network");
        const std::int64_t batch = 1 + pick(2), channels = 2 * (1 + pick(2));
        std::vector<TensorId> images{
            tape.external("x", ElementType::f32, {batch, channels, 4, 3}, TensorRole::input)};
        for (int op = 0; op < 8; ++op) {
            const std::string name = "op" + std::to_string(op);
            const TensorId from = images[static_cast<std::size_t>(pick(static_cast<int>(images.size())))];
            const TensorId other = images[static_cast<std::size_t>(pick(static_cast<int>(images.size())))];
            const Shape shape = tape.tensor(from).shape;
            switch (pick(9)) {
                case 0:
                case 1: {
                    const TensorId w = tape.external(name + ".w", ElementType::f32,
                                                     {channels, shape[1], 3, 1}, TensorRole::parameter);
                    zoo::ConvolutionOptions options;
                    options.padding = {1, 0};
                    images.push_back(tape.convolution(name, from, w, options));
                    break;
                }
                case 2: {
                    zoo::PoolingOptions options;
                    options.window = {3, 3};
                    options.strides = {1, 1};
                    options.padding = {1, 1};
                    options.maximum = pick(2) == 0;
                    images.push_back(tape.pooling(name, from, options));
                    break;
                }
                case 3:
                    images.push_back(tape.elementwise(name, "y0 = x0 * 0.5 + x1", {from, other}));
                    break;
                case 4: {
                    const TensorId bias =
                        tape.external(name + ".bias", ElementType::f32,
                                      pick(2) == 0 ? Shape{channels, 1, 1} : Shape{3}, TensorRole::parameter);
                    images.push_back(tape.elementwise(name, "y0 = x0 + x1", {from, bias}));
                    break;
                }
                case 5:
                    // Follows no layout: over the last axis.
                    images.push_back(tape.softmax(name, from));
                    break;
                case 6: {
                    const TensorId gamma =
                        tape.external(name + ".gamma", ElementType::f32, {channels}, TensorRole::parameter);
                    const TensorId beta =
                        tape.external(name + ".beta", ElementType::f32, {channels}, TensorRole::parameter);
                    images.push_back(tape.batch_norm(name, from, gamma, beta));
                    break;
                }
                case 7: {
                    const std::vector<std::vector<std::int64_t>> choices{{0, 2, 3}, {1}, {0}, {2}, {1, 2, 3}};
                    const auto& axes = choices[static_cast<std::size_t>(pick(5))];
                    Shape left;
                    for (std::int64_t axis = 0; axis < 4; ++axis)
                        if (std::find(axes.begin(), axes.end(), axis) == axes.end())
                            left.push_back(shape[static_cast<std::size_t>(axis)]);
                    tape.reduce(name, from, "sum", axes, left);
                    break;
                }
                default:
                    tape.view(name, from, {batch, channels * 12});
                    tape.elementwise(name + ".use", "y0 = 3 * x0", {from});
                    break;
            }
        }
        const Trace plain = tape.finish();
        moved += check_same_values(plain, fusion::lay_out_images(plain));
        check_same_values(plain, fusion::fuse_as_xla(plain));
    }
    CHECK(moved > 50);
}
