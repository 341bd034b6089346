// Several workers learn: what is the same as on one device, what differs, and when.
#include "sim/hardware/load_hardware.h"
#include "sim/learning/learning.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "isa/common/error.h"
#include "sim/learning/learning_report.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/numerics/training_data.h"
#include "support/folder.h"
#include "workloads/reference/values.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/mlp.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::sim;
using parallel::DataParallel;

namespace {

trace::Trace spiral_mlp() {
    zoo::MlpOptions options;
    options.batch = 16;
    options.widths = {2, 16, 16, 2};
    options.learning_rate = 0.5;
    options.momentum = 0;
    return zoo::mlp(options);
}

trace::Trace tiny_gpt(const std::string& batch, const std::string& micro_batches, const std::string& type) {
    return zoo::build("gpt2-small", {{"layers", "1"},
                                     {"hidden", "32"},
                                     {"heads", "2"},
                                     {"batch", batch},
                                     {"micro_batches", micro_batches},
                                     {"type", type},
                                     {"sequence", "16"},
                                     {"vocabulary", "128"}});
}

LearningOptions spirals(std::uint32_t workers, std::vector<DataParallel> ways) {
    ::setenv("HEDDLE_CACHE", "off", 1);
    LearningOptions options;
    options.ways = std::move(ways);
    options.workers = workers;
    options.rounds = 12;
    options.data = "spirals";
    options.jobs = 2;
    return options;
}

LearningResult learn_spirals(const LearningOptions& options, const std::string& hardware = "a100-sxm") {
    return learn(spiral_mlp(), "mlp", load_hardware(hardware), load_cluster("dgx-a100"), options);
}

}  // namespace

TEST_CASE(
    "synchronous workers learn what one device learns: the same bits where the order of sums is the same") {
    const std::uint32_t workers = GENERATE(2u, 4u);
    LearningOptions options = spirals(workers, {DataParallel::all_reduce, DataParallel::parameter_server});
    options.algorithm = CollectiveAlgorithm::ring;
    const LearningResult result = learn_spirals(options);
    REQUIRE(result.curves.size() == 4);
    const LearningCurve &reference = result.curves[0], &one = result.curves[1], &ring = result.curves[2],
                        &server = result.curves[3];
    CHECK(server.same_bits);
    CHECK(server.loss == one.loss);
    // Two numbers have one sum; four in a ring are added in another order for each part of the vector.
    CHECK(ring.same_bits == (workers == 2));
    CHECK(ring.distance < 1e-6);
    CHECK(reference.distance < 1e-5);
    CHECK(reference.distance > 0);
    for (unsigned round = 0; round < options.rounds; ++round)
        CHECK(one.loss[round] == Approx(reference.loss[round]).epsilon(1e-5));
    // It learns.
    CHECK(one.loss.back() < one.loss.front());

    const RoundTimes& t = result.times;
    CHECK(t.passes > 0);
    CHECK(t.update > 0);
    CHECK(t.all_reduce > 0);
    CHECK(one.seconds.back() == Approx(options.rounds * (workers * t.passes + t.update)));
    CHECK(ring.seconds.back() == Approx(options.rounds * (t.passes + t.all_reduce + t.update)));
    CHECK(server.seconds.back() ==
          Approx(options.rounds * (t.passes + workers * (t.gradient_message + t.weight_message) + t.update)));
}

TEST_CASE("one device that adds up parts is a device with micro-batches, bit by bit where both add in f32") {
    // Gradients of bf16 are added in bf16, as they are sent; those of micro-batches in f32.
    const std::string type = GENERATE("f32", "bf16");
    CAPTURE(type);
    const tests::Folder folder;
    std::string text;
    for (int i = 0; i < 400; ++i) text += "the heddle guides each warp thread. "[i % 36];
    folder.write("text", text);
    LearningOptions options = spirals(2, {});
    options.rounds = 1;
    options.data = (folder.path() / "text").string();
    const Hardware hardware = load_hardware("a100-sxm");
    const trace::Trace part = tiny_gpt("1", "1", type), whole = tiny_gpt("2", "2", type);
    const LearningResult result = learn(part, "gpt", hardware, load_cluster("dgx-a100"), options);

    const std::unique_ptr<TrainingDevice> device = training_device(whole, hardware);
    const std::vector<trace::TensorId> outside = reference::external_tensors(part);
    const auto of_name = [&](const std::string& name) {
        for (const trace::TensorId id : outside)
            if (part.tensor(id).name == name) return id;
        FAIL("the part has no " << name);
        return trace::TensorId{};
    };
    std::vector<trace::TensorId> inputs, labels;
    for (const trace::TensorId id : reference::external_tensors(whole)) {
        const trace::Tensor& tensor = whole.tensor(id);
        if (tensor.role == trace::TensorRole::label)
            labels.push_back(id);
        else if (tensor.role == trace::TensorRole::input && tensor.name.find("tokens") != std::string::npos)
            inputs.push_back(id);
        else
            device->write(id, reference::initial_values(
                                  part, of_name(tensor.name.substr(0, tensor.name.find(" of part"))), 0));
    }
    REQUIRE(inputs.size() == 2);
    REQUIRE(labels.size() == 2);
    const std::unique_ptr<TrainingData> data = open_training_data(options.data, part);
    for (unsigned round = 0; round < options.rounds; ++round) {
        for (unsigned w = 0; w < 2; ++w) {
            for (const auto& [id, values] : data->batch(round * 2 + w))
                device->write(part.tensor(id).role == trace::TensorRole::label ? labels[w] : inputs[w],
                              values);
        }
        device->run_step();
    }
    std::vector<double> found;
    for (const trace::TensorId id : trace::parameters_of(part)) {
        for (const trace::TensorId other : trace::parameters_of(whole)) {
            if (whole.tensor(other).name != part.tensor(id).name) continue;
            const std::vector<double> values = device->read(other);
            found.insert(found.end(), values.begin(), values.end());
        }
    }
    REQUIRE(found.size() == result.curves[1].parameters.size());
    std::size_t differ = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double expected = result.curves[1].parameters[i];
        if (found[i] != expected) ++differ;
        CHECK(std::abs(found[i] - expected) <= 1e-7);
    }
    if (type == "f32") {
        CHECK(differ == 0);
    } else {
        CHECK(differ > 0);
        CHECK(differ * 200 < found.size());
    }
}

TEST_CASE("asynchronous workers are as stale as there are others, a slow one more") {
    LearningOptions options = spirals(4, {DataParallel::asynchronous});
    const LearningResult even = learn_spirals(options);
    const LearningCurve& curve = even.curves[2];
    // In turn: three others update between a worker's reading and its own update, but for the first three.
    CHECK(curve.largest_staleness == 3);
    CHECK(curve.mean_staleness == Approx((0 + 1 + 2 + 3.0 * (12 * 4 - 3)) / (12 * 4)));
    CHECK_FALSE(curve.same_bits);
    CHECK(curve.distance > 1e-4);
    CHECK(curve.loss.back() < curve.loss.front());
    CHECK(learn_spirals(options).curves[2].weights == curve.weights);

    options.straggler = 6;
    options.ways = {DataParallel::asynchronous, DataParallel::all_reduce};
    const LearningResult uneven = learn_spirals(options);
    CHECK(uneven.curves[2].largest_staleness > 6);
    // Nobody waits for the slow one, where an all-reduce always does.
    CHECK(uneven.curves[2].seconds.back() < 1.6 * curve.seconds.back());
    CHECK(uneven.curves[3].seconds.back() > options.rounds * 6 * uneven.times.passes);
    CHECK(uneven.curves[3].loss == learn_spirals(spirals(4, {DataParallel::all_reduce})).curves[2].loss);
}

TEST_CASE("local SGD that averages in every round is synchronous, and the further the rarer") {
    const auto distance = [](unsigned local_rounds) {
        LearningOptions options = spirals(4, {DataParallel::local_sgd});
        options.local_rounds = local_rounds;
        const LearningResult result = learn_spirals(options);
        const RoundTimes& t = result.times;
        CHECK(result.curves[2].seconds.back() ==
              Approx(12 * (t.passes + t.update) + 12 / local_rounds * t.average));
        return result.curves[2].distance;
    };
    // The mean of weights after one step of plain SGD is a step with the mean gradient.
    const double always = distance(1), sometimes = distance(4), once = distance(12);
    CHECK(always < 1e-6);
    CHECK(sometimes > 1e-4);
    CHECK(once > sometimes);
}

TEST_CASE("a TPU's workers learn as well") {
    LearningOptions options = spirals(2, {DataParallel::parameter_server});
    options.rounds = 1;
    const LearningResult result =
        learn(spiral_mlp(), "mlp", load_hardware("tpu-v4"), load_cluster("tpu-v4-slice"), options);
    CHECK(result.curves[2].same_bits);
    CHECK(result.curves[1].distance == 0);
    CHECK(result.curves[0].distance < 0.02);  // products of bf16
}

TEST_CASE("what cannot be learnt together is told") {
    const auto error = [](const LearningOptions& options) {
        try {
            learn_spirals(options);
        } catch (const Error& problem) {
            return std::string(problem.what());
        }
        return std::string("none");
    };
    LearningOptions options = spirals(99, {});
    CHECK_THAT(error(options), Catch::Contains("--workers") && Catch::Contains("8 devices"));
    options = spirals(2, {});
    options.data.clear();
    CHECK_THAT(error(options), Catch::Contains("--data"));
    options = spirals(2, {});
    options.straggler = 0.5;
    CHECK_THAT(error(options), Catch::Contains("--straggler"));
    options = spirals(2, {});
    options.local_rounds = 0;
    CHECK_THAT(error(options), Catch::Contains("--local-rounds"));
}

TEST_CASE("the table, the CSV file and the page tell the same") {
    const LearningResult result =
        learn_spirals(spirals(2, {DataParallel::all_reduce, DataParallel::local_sgd}));
    const std::string table = format_learning(result, 200), csv = learning_csv(result),
                      page = learning_page(result);
    CHECK_THAT(table, Catch::Contains("those of one device") && Catch::Contains("local-sgd"));
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 13);
    CHECK_THAT(page, Catch::Contains("loss-over-time") && Catch::Contains("local-sgd"));
    CHECK(seconds_to(result.curves[2], 0) < 0);
    CHECK(seconds_to(result.curves[2], 1e9) > 0);
}
