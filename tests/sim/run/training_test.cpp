// Training for real: data made on the spot, losses beside the double-precision reference, resuming.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/numerics/checkpoint.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/simulate.h"
#include "sim/run/numerics/training_data.h"
#include "support/folder.h"
#include "workloads/zoo/gpt.h"
#include "workloads/zoo/mlp.h"

using namespace heddle;
using namespace heddle::sim;

using heddle::tests::Folder;

namespace {

trace::Trace spiral_mlp(std::int64_t batch) {
    zoo::MlpOptions options;
    options.batch = batch;
    options.widths = {2, 32, 32, 2};
    options.learning_rate = 0.5;
    options.momentum = 0.9;
    return zoo::mlp(options);
}

trace::Trace tiny_gpt() {
    zoo::GptOptions options;
    options.layers = 1;
    options.hidden = 32;
    options.heads = 2;
    options.batch = 2;
    options.sequence = 16;
    options.vocabulary = 128;
    options.deterministic = true;
    options.optimizer.kind = zoo::OptimizerOptions::Kind::adamw;
    options.optimizer.learning_rate = 0.01;
    return zoo::gpt(options);
}

NumericsResult train(const trace::Trace& trace, const std::string& hardware, SimulateOptions options) {
    ::setenv("HEDDLE_CACHE", "off", 1);
    options.numerics = true;
    options.jobs = 2;
    const RunResult result = simulate(trace, "test", load_hardware(hardware), options);
    REQUIRE(result.numerics.has_value());
    CHECK(result.numerics->loss_error <= result.numerics->loss_error_bound);
    CHECK(result.numerics->weight_error <= result.numerics->weight_error_bound);
    CHECK(result.numerics->gradient_error <= result.numerics->gradient_error_bound);
    CHECK(result.numerics->gradient_error > 0);  // the device rounds
    return *result.numerics;
}

std::string write_text(const Folder& folder, std::size_t bytes) {
    // English has a structure that a model of single bytes finds: what follows what.
    const std::string sentence = "the loom is warped and the heddle lifts every second thread of the warp. ";
    std::string text;
    while (text.size() < bytes) text += sentence;
    const std::string path = (folder / "text.txt").string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

/// Stopped after `stop` of 8 steps and resumed: every loss and every weight bit by bit.
void check_resumed(const trace::Trace& trace, const std::string& hardware, const std::string& data,
                   unsigned stop) {
    const Folder folder;
    SimulateOptions options;
    options.data = data.empty() ? write_text(folder, 4000) : data;
    options.steps = 8;
    options.checkpoint = (folder / "whole").string();
    const NumericsResult whole = train(trace, hardware, options);
    options.checkpoint = (folder / "parts").string();
    options.steps = stop;
    const NumericsResult first = train(trace, hardware, options);
    options.steps = 8;
    options.resume = true;
    const NumericsResult resumed = train(trace, hardware, options);
    CHECK(resumed.resumed_at == stop);
    CHECK(resumed.device_loss == whole.device_loss);
    CHECK(resumed.reference_loss == whole.reference_loss);
    CHECK(resumed.weights == whole.weights);
    CHECK(resumed.weights != first.weights);
    CHECK(resumed.drift == whole.drift);
}

}  // namespace

TEST_CASE("an MLP learns to tell two spirals apart, with the reference's losses") {
    SimulateOptions options;
    options.data = "spirals";
    options.steps = 200;
    const NumericsResult n = train(spiral_mlp(128), "h100-sxm", options);
    REQUIRE(n.device_loss.size() == 200);
    const auto mean = [&](std::size_t begin, std::size_t end) {
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += n.device_loss[i];
        return sum / static_cast<double>(end - begin);
    };
    CHECK(mean(0, 3) > 0.6);  // ln 2 = 0.69 for who knows nothing
    CHECK(mean(180, 200) < 0.35);
}

TEST_CASE("a GPT learns the bytes of a text") {
    const Folder folder;
    SimulateOptions options;
    options.data = write_text(folder, 4000);
    options.steps = 40;
    const NumericsResult n = train(tiny_gpt(), "h100-sxm", options);
    CHECK(n.device_loss.front() > 4.5);  // ln 128 = 4.85 for who knows nothing
    CHECK(n.device_loss.back() < 3.2);   // the text has 20 different bytes: ln 20 = 3.0
}

TEST_CASE("a resumed training is bit by bit the one that was never interrupted: MLP, H100") {
    check_resumed(spiral_mlp(128), "h100-sxm", "spirals", 3);
}
TEST_CASE("a resumed training is bit by bit the one that was never interrupted: GPT, A100") {
    check_resumed(tiny_gpt(), "a100-sxm", "", 5);
}
TEST_CASE("a resumed training is bit by bit the one that was never interrupted: MLP, TPU v3") {
    check_resumed(spiral_mlp(64), "tpu-v3", "spirals", 1);
}

TEST_CASE("a checkpoint of another training, or a damaged one, is refused with one clear line") {
    const Folder folder;
    const std::string path = (folder / "checkpoint").string();
    Checkpoint checkpoint;
    checkpoint.identity = "one";
    checkpoint.steps = 7;
    checkpoint.device[3] = {1.5, -0.0, 1e-310};
    write_checkpoint(checkpoint, path);
    const Checkpoint read = read_checkpoint(path, "one");
    CHECK(read.steps == 7);
    CHECK(read.device == checkpoint.device);
    CHECK(std::signbit(read.device.at(3)[1]));
    CHECK_THROWS_WITH(read_checkpoint(path, "two"), Catch::Contains("another training"));
    const auto size = std::filesystem::file_size(path);
    for (std::uint64_t left = 0; left < size; ++left) {
        std::filesystem::resize_file(path, left);
        CHECK_THROWS_AS(read_checkpoint(path, "one"), Error);
        write_checkpoint(checkpoint, path);
    }
    CHECK_THROWS_WITH(read_checkpoint((folder / "none").string(), "one"), Catch::Contains("cannot open"));
}

TEST_CASE("a checkpoint whose hash is right and whose tensors are not those of the training is refused") {
    const Folder folder;
    const std::string path = (folder / "checkpoint").string();
    Checkpoint good;
    good.steps = 1;
    good.device_loss = good.reference_loss = {0.5};
    good.device[3] = good.reference[3] = {1, 2};
    CHECK_NOTHROW(check_values(good, {{3, 2}}, path));
    for (const auto& elements : {std::map<trace::TensorId, std::size_t>{{3, 3}}, {{3, 1}}, {{3, 2}, {4, 0}}})
        CHECK_THROWS_WITH(check_values(good, elements, path),
                          Catch::Contains(path) && Catch::Contains("damaged"));
    good.steps = 2;
    CHECK_THROWS_WITH(check_values(good, {{3, 2}}, path), Catch::Contains("damaged"));
    // A list longer than the file.
    const std::string body =
        std::string("\x03\0\0\0\0\0\0\0one", 11) + std::string(8, '\1') + std::string(8, '\x7f');
    std::ofstream(path, std::ios::binary) << "heddle checkpoint 1\n" << hash_text(body) << body;
    CHECK_THROWS_WITH(read_checkpoint(path, "one"), Catch::Contains("damaged"));
}

TEST_CASE("data that does not fit the model is refused") {
    const Folder folder;
    const std::string text = write_text(folder, 20);
    CHECK_THROWS_WITH(open_training_data("spirals", tiny_gpt()), Catch::Contains("two numbers"));
    CHECK_THROWS_WITH(open_training_data(text, spiral_mlp(8)), Catch::Contains("tokens"));
    zoo::GptOptions options;
    options.batch = 4;
    options.sequence = 64;
    CHECK_THROWS_WITH(open_training_data(text, zoo::gpt(options)), Catch::Contains("a step reads 257"));
    CHECK_THROWS_WITH(open_training_data("no/such/file", zoo::gpt(options)), Catch::Contains("cannot read the file"));
}
