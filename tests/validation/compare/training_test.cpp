// Section `training` on the simulator, and its comparison. The same numbers come by three ways that share
// little: `heddle simulate --numerics` (the GPU model runs the lowered step), the double-precision reference
// (no kernels at all), and plans of matrix products evaluated without PTX.
#include "sim/hardware/load_hardware.h"
#include "validation/compare/training.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "../read/capture_folder.h"
#include "isa/common/error.h"
#include "sim/run/simulate.h"
#include "validation/capture/section.h"
#include "validation/capture/simulator/simulator_device.h"
#include "validation/capture/training/products.h"
#include "workloads/reference/execute.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::validation;
using capture::TrainingItem;
using capture::TrainingRun;
using capture::TrainingVariant;
using heddle::validation::test::CaptureFolder;

namespace {

constexpr const char* kManifest =
    R"({"schema": 1, "silicon": false, "date": "2026-11-21", "device": {"name": "model of an H100", )"
    R"("hardware": "h100-sxm", "compute_capability": 90}, "order": ["training"], )"
    R"("sections": {"training": {"complete": true}}})";

TrainingItem item_of(const std::string& id) {
    for (const TrainingItem& item : capture::training_items(capture::Extent::quick)) {
        if (item.id() == id) return item;
    }
    FAIL("no item " << id);
    return {};
}

TrainingRun run_on_simulator(const TrainingItem& item) {
    const auto device = capture::make_simulator_device("h100-sxm");
    const target::GpuTarget target =
        capture::training_target(device->compute_capability(), device->sm_count(), device->l2_bytes());
    return capture::TrainingMachine(*device, device->blas(), target).run(item);
}

std::vector<double> reference_losses(const trace::Trace& trace, unsigned steps) {
    reference::TensorValues values(trace);
    std::vector<double> losses;
    for (unsigned i = 0; i < steps; ++i) {
        reference::execute(trace, values);
        losses.push_back(values[trace::loss_of(trace)][0]);
    }
    return losses;
}

/// A capture of the section by the simulator.
void record(const CaptureFolder& folder) {
    folder.write("manifest.json", kManifest);
    const auto device = capture::make_simulator_device("h100-sxm");
    capture::Journal journal(folder.path(), "training");
    capture::SectionContext context{*device, journal, capture::Extent::quick};
    CHECK(capture::capture_training(context));
}

std::string contents(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

/// Replaces the first `from` after `after` in the records.
void edit(const CaptureFolder& folder, const std::string& after, const std::string& from,
          const std::string& to) {
    std::string text = contents(folder.path() / "training.jsonl");
    const std::size_t begin = text.find(after);
    REQUIRE(begin != std::string::npos);
    const std::size_t place = text.find(from, begin);
    REQUIRE(place != std::string::npos);
    text.replace(place, from.size(), to);
    folder.write("training.jsonl", text);
}

/// The first hexadecimal number of a list in the record `id`, with its last bit changed.
void flip_bit(const CaptureFolder& folder, const std::string& id, const std::string& list) {
    std::string text = contents(folder.path() / "training.jsonl");
    const std::size_t begin = text.find("\"id\":\"" + id + "\"") != std::string::npos
                                  ? text.find("\"id\":\"" + id + "\"")
                                  : text.find("\"id\": \"" + id + "\"");
    REQUIRE(begin != std::string::npos);
    const std::size_t open = text.find('[', text.find("\"" + list + "\"", begin));
    char& digit = text[text.find('"', text.find('"', open) + 1) - 1];
    digit = digit == '0' ? '1' : digit == '1' ? '0' : digit == 'f' ? 'e' : static_cast<char>(digit ^ 1);
    folder.write("training.jsonl", text);
}

Comparison compared(const CaptureFolder& folder, const std::string& filter = "") {
    CompareOptions options;
    options.filter = filter;
    options.workers = 2;
    const auto comparisons = compare_training(RecordedCapture(folder.path(), true), options);
    REQUIRE(comparisons.size() == 1);
    return comparisons[0];
}

}  // namespace

TEST_CASE("the device is described to the generators as by its hardware file") {
    const target::GpuTarget h100 = capture::training_target(90, 132, 50ull << 20);
    CHECK(h100.max_threads_per_sm == 2048);
    CHECK(h100.shared_bytes_per_sm == 233472);   // 228 KiB
    CHECK(h100.shared_bytes_per_cta == 232448);  // 227 KiB
    const target::GpuTarget ada = capture::training_target(89, 128, 72ull << 20);
    CHECK(ada.max_warps_per_sm == 48);
    CHECK(ada.max_ctas_per_sm == 24);
    CHECK(capture::training_target(100, 148, 126ull << 20).compute_capability == 90);
}

TEST_CASE("a recorded MLP trains as heddle simulate --numerics does, bit for bit") {
    const TrainingItem item = item_of("mlp f32 approximate");
    ::setenv("HEDDLE_CACHE", "off", 1);
    sim::SimulateOptions options;
    options.numerics = true;
    options.steps = item.steps;
    options.jobs = 2;
    const auto simulated =
        sim::simulate(zoo::build(item.model, item.options), "mlp", sim::load_hardware("h100-sxm"), options);
    const TrainingRun run = run_on_simulator(item);
    REQUIRE(run.steps.size() == simulated.numerics->device_loss.size());
    for (std::size_t i = 0; i < run.steps.size(); ++i)
        CHECK(double{run.steps[i].loss} == simulated.numerics->device_loss[i]);
}

TEST_CASE("every variant trains near the double-precision reference") {
    for (const TrainingItem& item : capture::training_items(capture::Extent::quick)) {
        const TrainingRun run = run_on_simulator(item);
        const std::vector<double> reference =
            reference_losses(zoo::build(item.model, item.options), item.steps);
        REQUIRE(run.steps.size() == 3);
        for (std::size_t i = 0; i < run.steps.size(); ++i) {
            CAPTURE(item.id(), i);
            const bool narrow = item.options.at("type") == "bf16";
            CHECK(run.steps[i].loss == Approx(reference[i]).epsilon(narrow ? 0.01 : 1e-5));
            CHECK(run.steps[i].gradients.size() == run.parameters.size());
            CHECK(run.steps[i].samples.size() == run.parameters.size() * capture::kGradientSample);
        }
        CHECK(run.steps[0].weights != run.steps[1].weights);
    }
}

TEST_CASE("a library that refuses what it offered is replaced, and the record says so") {
    struct Refusing : capture::Blas {
        std::vector<capture::GemmAlgorithm> algorithms(const capture::GemmProblem&, unsigned) override {
            return {capture::GemmAlgorithm{}};
        }
        void run(const capture::GemmProblem&, const capture::GemmAlgorithm&,
                 const capture::GemmOperands&) override {
            throw capture::DeviceError("CUBLAS_STATUS_NOT_SUPPORTED");
        }
        void observe(const capture::GemmProblem&, capture::GemmAlgorithm&,
                     const capture::GemmOperands&) override {
            throw capture::DeviceError("no graph");
        }
    } refusing;
    const auto device = capture::make_simulator_device("h100-sxm");
    const target::GpuTarget target = capture::training_target(90, device->sm_count(), device->l2_bytes());
    const TrainingRun run =
        capture::TrainingMachine(*device, &refusing, target).run(item_of("mlp f32 vendor"));
    REQUIRE(run.products.size() == 5);
    for (const capture::TrainingProduct& product : run.products) {
        CHECK_FALSE(product.algorithm.has_value());
        CHECK(product.why_not == "CUBLAS_STATUS_NOT_SUPPORTED");
    }
    // In f32 a bias added afterwards rounds as one added in the same kernel.
    const TrainingRun exact = run_on_simulator(item_of("mlp f32 exact"));
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        CHECK(run.steps[i].loss == exact.steps[i].loss);
        CHECK(run.steps[i].weights == exact.steps[i].weights);
    }
}

TEST_CASE("biases as ops of their own change nothing") {
    for (const char* id : {"mlp f32 vendor", "gpt f32 vendor"}) {
        const TrainingItem item = item_of(id);
        const trace::Trace trace = zoo::build(item.model, item.options);
        const trace::Trace separate = capture::with_separate_biases(trace);
        CHECK(separate.ops.size() > trace.ops.size());
        std::size_t products = 0;
        for (const trace::Op& op : separate.ops) {
            if (op.kind != trace::OpKind::matmul) continue;
            ++products;
            std::string why_not;
            const auto problem = capture::problem_of(separate, op, capture::Compute::tf32, why_not);
            REQUIRE(problem.has_value());
            CHECK(2.0 * problem->m * problem->n * problem->k * problem->batch ==
                  floating_point_operations(separate, op));
            CHECK(problem->compute == capture::Compute::tf32);
        }
        CHECK(products > 4);
        const auto a = reference_losses(trace, 2), b = reference_losses(separate, 2);
        for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-13));
    }
}

TEST_CASE("a capture by the simulator is found again in every bit, and a changed bit is found") {
    const CaptureFolder folder("training");
    record(folder);
    const std::string kept = contents(folder.path() / "training.jsonl");

    SECTION("as it is") {
        const Comparison comparison = compared(folder);
        CHECK(comparison.holds());
        CHECK(comparison.missing.empty());
        CHECK(comparison.rows.size() == 27);  // nine runs of three steps
        for (const ComparisonRow& row : comparison.rows) {
            CAPTURE(row.name, row.note);
            CHECK(row.bits->all());
            CHECK(*row.frobenius == 0);
        }
        // Vendor runs: products were PTX when they were recorded, and are plans now.
        bool all_known = false;
        for (const std::string& note : comparison.notes)
            all_known = all_known || note.find("gpt bf16 vendor: the order of 52 of 52") == 0;
        CHECK(all_known);
    }
    SECTION("a loss") {
        flip_bit(folder, "mlp f32 exact", "loss_bits");
        const Comparison comparison = compared(folder, "mlp f32 exact");
        CHECK_FALSE(comparison.holds());
        CHECK(comparison.rows.at(0).bits->identical + 1 == comparison.rows[0].bits->total);
        CHECK(comparison.rows[0].note.find("the loss") != std::string::npos);
        CHECK(comparison.rows.at(1).bits->all());
    }
    SECTION("a gradient") {
        flip_bit(folder, "gpt bf16 vendor", "gradients");
        const Comparison comparison = compared(folder, "gpt bf16 vendor");
        CHECK_FALSE(comparison.holds());
        CHECK(comparison.rows.at(0).note.find("gradient of token_embedding") != std::string::npos);
    }
    SECTION("a weight") {
        flip_bit(folder, "gpt f32 exact", "weights");
        const Comparison comparison = compared(folder, "gpt f32 exact");
        CHECK_FALSE(comparison.holds());
        CHECK(comparison.rows.at(0).note.find("first token_embedding") != std::string::npos);
    }
    SECTION("another algorithm, whose order nobody knows, is no claim of bits") {
        edit(folder, "gpt f32 vendor", "\"algorithm\":{\"id\":1001", "\"algorithm\":{\"id\":4711");
        const Comparison comparison = compared(folder, "gpt f32 vendor");
        REQUIRE(comparison.bars.size() == 1);
        CHECK_FALSE(comparison.bars[0].at_least);
        CHECK(comparison.holds());
        bool named = false;
        for (const std::string& note : comparison.notes)
            named = named || note.find("order not known") != std::string::npos;
        CHECK(named);
    }
    SECTION("damage is told with file, line and key") {
        using Catch::Matchers::Contains;
        edit(folder, "gpt f32 exact", "\"loss_bits\":[\"", "\"loss_bits\":[\"x");
        CHECK_THROWS_WITH(compared(folder, "gpt f32 exact"),
                          Contains("training.jsonl") && Contains("loss_bits") && Contains("5"));
    }
}
