#include "workloads/kernels/batch_norm.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "launcher.h"

using namespace heddle::kernels;
using namespace heddle::kernels::test;

namespace {

constexpr double kEpsilon = 1e-3, kMomentum = 0.3;
constexpr std::uint32_t kChannels = 3;

struct Truth {
    std::vector<double> y, mean, rstd, new_mean, new_variance;
};

struct Values {
    std::vector<double> x, weight, bias, old_mean, old_variance;
};

Truth batch_norm(const BatchNormShape& shape, const Values& v) {
    Truth truth;
    truth.y.resize(v.x.size());
    const double n = double{1} * shape.runs * shape.run_length;
    for (std::uint32_t c = 0; c < kChannels; ++c) {
        const auto each = [&](auto visit) {
            for (std::uint32_t r = 0; r < shape.runs; ++r)
                for (std::uint32_t i = 0; i < shape.run_length; ++i)
                    visit(std::size_t{r} * shape.run_stride + c * shape.run_length + i);
        };
        double sum = 0, squares = 0;
        each([&](std::size_t i) { sum += v.x[i]; });
        const double mean = sum / n;
        each([&](std::size_t i) { squares += (v.x[i] - mean) * (v.x[i] - mean); });
        const double rstd = 1 / std::sqrt(squares / n + kEpsilon);
        each([&](std::size_t i) { truth.y[i] = (v.x[i] - mean) * rstd * v.weight[c] + v.bias[c]; });
        truth.mean.push_back(mean);
        truth.rstd.push_back(rstd);
        truth.new_mean.push_back((1 - kMomentum) * v.old_mean[c] + kMomentum * mean);
        truth.new_variance.push_back((1 - kMomentum) * v.old_variance[c] +
                                     kMomentum * squares / std::max(1.0, n - 1));
    }
    return truth;
}

void check(BatchNormSpec spec, std::uint32_t runs, std::uint32_t run_length) {
    const BatchNormShape shape{runs, run_length, kChannels * run_length};
    const std::size_t elements = std::size_t{runs} * shape.run_stride;
    CAPTURE(runs, run_length, spec.run_threads, spec.vector_width, spec.staged_elements, spec.running,
            name_of(spec.x), name_of(spec.y), name_of(spec.weight), name_of(spec.bias));
    Values v;
    v.x = random_reals(spec.x, elements, 30, 34, 1);  // a mean far from 0 beside the deviation
    v.weight = random_reals(spec.weight, kChannels, 0.5, 1.5, 2);
    v.bias = random_reals(spec.bias, kChannels, -1, 1, 3);
    v.old_mean = random_reals(ElementType::f32, kChannels, 20, 40, 4);
    v.old_variance = random_reals(ElementType::f32, kChannels, 0.5, 2, 5);
    const Truth truth = batch_norm(shape, v);
    Device device(spec.compute_capability);
    const auto statistic = [&] { return device.add_untouched(ElementType::f32, kChannels); };
    const std::uint32_t y = device.add_untouched(spec.y, elements), mean = statistic(), rstd = statistic(),
                        new_mean = statistic(), new_variance = statistic();
    const double n = double{1} * runs * run_length;
    std::vector<KernelArgument> arguments{
        pointer_argument("y", y),
        pointer_argument("mean", mean),
        pointer_argument("rstd", rstd),
        pointer_argument("x", device.add(spec.x, v.x)),
        pointer_argument("weight", device.add(spec.weight, v.weight)),
        pointer_argument("bias", device.add(spec.bias, v.bias)),
        f32_argument("epsilon", kEpsilon),
        f32_argument("momentum", kMomentum),
        f32_argument("unbias", static_cast<float>(n / std::max(1.0, n - 1)))};
    if (spec.running) {
        arguments.push_back(pointer_argument("running_mean", device.add(ElementType::f32, v.old_mean)));
        arguments.push_back(
            pointer_argument("running_variance", device.add(ElementType::f32, v.old_variance)));
        arguments.push_back(pointer_argument("new_mean", new_mean));
        arguments.push_back(pointer_argument("new_variance", new_variance));
    }
    add_batch_norm_arguments(arguments, spec, shape);
    const GeneratedKernel kernel = generate_batch_norm(spec);
    device.run(kernel, {kChannels, 1, 1}, order_arguments(kernel, arguments));
    check_close(device.read(mean), truth.mean, 1e-6, 0);
    check_close(device.read(rstd), truth.rstd, 2e-5, 0);
    // Where the deviation is small beside the mean, what f32 loses of the mean counts rstd times.
    check_close(device.read(y), truth.y, unit_roundoff(spec.y), 1e-4);
    if (!spec.running) return;
    check_close(device.read(new_mean), truth.new_mean, 1e-6, 0);
    check_close(device.read(new_variance), truth.new_variance, 2e-5, 0);
}

}  // namespace

TEST_CASE("Batch norm in one launch, by planes") {
    BatchNormSpec spec;
    for (const bool running : {false, true}) {
        spec.running = running;
        for (const unsigned threads : {1u, 16u, 32u, 128u, 512u}) {
            spec.run_threads = threads;
            for (const unsigned width : {1u, 4u}) {
                spec.vector_width = width;
                // More runs than are under way, runs of several turns; fewer elements than threads.
                check(spec, 35, width * 7);
                check(spec, 2, width * 611);
                check(spec, 1, width * 5);
            }
        }
    }
}

TEST_CASE("Batch norm in one launch, staged") {
    for (const bool running : {false, true}) {
        for (const auto& [runs, length] :
             {std::pair{3u, 35u}, {1u, 49u}, {32u, 49u}, {700u, 15u}, {1u, 11776u}}) {
            BatchNormSpec spec = choose_batch_norm(80, {runs, length, kChannels * length});
            REQUIRE(spec.staged_elements == runs * length);
            spec.running = running;
            check(spec, runs, length);
        }
    }
}

TEST_CASE("Batch norm in one launch with other types") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        for (const ElementType x : {ElementType::f16, ElementType::bf16}) {
            if (x == ElementType::bf16 && capability < 80) continue;
            for (const std::uint32_t length : {35u, 36u, 4 * 3001u, 12007u}) {
                BatchNormSpec spec = choose_batch_norm(capability, {3, length, kChannels * length});
                spec.x = spec.y = x;
                check(spec, 3, length);
                spec.weight = x;
                spec.y = ElementType::f32;
                check(spec, 3, length);
            }
        }
    }
}

// Kernels that cuDNN chose for a ResNet-50 of 32 images on an A100 and a smaller ResNet on RTX 2080 Ti (of
// 128 images, as its shared memory says), with their shared memory: PyTorch's test recordings
// a100_ddp2_nccl_kineto.json and resnet_kineto.json.
TEST_CASE("Batch norm takes the threads and the shared memory of recorded kernels") {
    const std::pair<std::uint32_t, unsigned> planes[] = {{112 * 112, 512}, {56 * 56, 128}, {28 * 28, 32}};
    for (const std::uint32_t images : {32u, 128u}) {
        for (const auto& [plane, threads] : planes) {
            const BatchNormSpec spec = choose_batch_norm(80, {images, plane, 64 * plane});
            CHECK(spec.staged_elements == 0);
            CHECK(spec.run_threads == threads);
            CHECK(spec.vector_width == 4);
        }
    }
    CHECK(choose_batch_norm(80, {32, 784, 64 * 784}, false).vector_width == 1);
    CHECK(choose_batch_norm(75, {128, 14 * 14, 256 * 14 * 14}).run_threads == 32);
    struct Staged {
        std::uint32_t images, plane, recorded_bytes;
    };
    // Beside the channel both recorded kernels, and those of planes, have 144 bytes.
    for (const auto& [images, plane, bytes] :
         {Staged{32, 14 * 14, 26768}, Staged{32, 7 * 7, 8336}, Staged{128, 7 * 7, 26768}}) {
        const GeneratedKernel kernel =
            generate_batch_norm(choose_batch_norm(80, {images, plane, 512 * plane}));
        CHECK(kernel.dynamic_shared_bytes + 144 == bytes);
        CHECK(kernel.block == Extent3{512, 1, 1});
    }
}
