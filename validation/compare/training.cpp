#include "validation/compare/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "isa/common/error.h"
#include "isa/numerics/compare.h"
#include "validation/capture/simulator/simulator_device.h"
#include "validation/compare/capture_reference.h"
#include "validation/compare/training_replay.h"
#include "validation/read/training_record.h"

namespace heddle::validation {
namespace {

using capture::TrainingItem;
using capture::TrainingRun;
using capture::TrainingVariant;

/// What became of one recorded run.
struct Replay {
    std::optional<TrainingRun> run;
    std::string failure;  ///< why there is none
    std::size_t products = 0, products_known = 0;
    std::set<std::string> unknown;
};

/// Runs the steps again. `hardware`: for the device's name; kernels are those of the record's target.
Replay replay(const CapturedTraining& training, const std::string& hardware, const GemmOrders& orders) {
    Replay result;
    try {
        const auto device = capture::make_simulator_device(hardware);
        RecordedBlas blas(*device, device->blas(), orders, training.run.products);
        result.products = blas.products();
        result.products_known = blas.products_known();
        result.unknown = blas.unknown();
        result.run = capture::TrainingMachine(*device, &blas, training.target).run(training.item);
    } catch (const capture::DeviceError& error) {
        result.failure = error.what();
    } catch (const Error& error) {
        result.failure = error.what();
    }
    return result;
}

/// All of them, on as many threads as are asked for: each has a device of its own.
std::vector<Replay> replay_all(const std::vector<CapturedTraining>& trainings, const std::string& hardware,
                               const GemmOrders& orders, const CompareOptions& options) {
    std::vector<Replay> results(trainings.size());
    std::atomic<std::size_t> next{0}, done{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        for (std::size_t i = next++; i < trainings.size(); i = next++) {
            try {
                results[i] = replay(trainings[i], hardware, orders);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            options.progress(static_cast<double>(++done) / static_cast<double>(trainings.size()),
                             "training " + trainings[i].id);
        }
    };
    const unsigned wanted =
        options.workers != 0 ? options.workers : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min<std::size_t>(wanted, trainings.size()); ++i)
        threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    return results;
}

double largest_loss_error(const std::vector<ComparisonRow>& rows) {
    double largest = 0;
    for (const ComparisonRow& row : rows) {
        const double error =
            std::abs(*row.simulated - *row.captured) / std::max(1.0, std::abs(*row.captured));
        if (!(error <= largest)) largest = error;  // a NaN stays
    }
    return largest;
}

double identical_per_cent(const std::vector<ComparisonRow>& rows) {
    BitCount all;
    for (const ComparisonRow& row : rows) {
        all.identical += row.bits->identical;
        all.total += row.bits->total;
    }
    return 100 * all.fraction();
}

void add_run(const CapturedTraining& training, const Replay& replay, Comparison& comparison) {
    if (!replay.run) {
        comparison.missing.push_back("left out: " + training.id + ": " + replay.failure);
        return;
    }
    const std::vector<ComparisonRow> rows = training_rows(training.id, training.run, *replay.run);
    const TrainingVariant variant = training.item.variant;
    const bool claimed = variant == TrainingVariant::exact ||
                         (variant == TrainingVariant::vendor && replay.products_known == replay.products);
    if (claimed) {
        comparison.bars.push_back(at_least("losses, gradients and weights identical, " + training.id,
                                           identical_per_cent(rows), 100));
    } else {
        comparison.bars.push_back(at_most("largest relative difference of a loss, " + training.id,
                                          100 * largest_loss_error(rows),
                                          100 * training_tolerance(training.item)));
    }
    if (variant == TrainingVariant::vendor) {
        comparison.notes.push_back(
            fmt::format("{}: the order of {} of {} products of the library is known; our own kernels did {}.",
                        training.id, replay.products_known, replay.products,
                        training.run.products.size() - replay.products));
        for (const std::string& product : replay.unknown)
            comparison.notes.push_back(training.id + ": order not known: " + product);
    }
    comparison.rows.insert(comparison.rows.end(), rows.begin(), rows.end());
}

}  // namespace

double training_tolerance(const TrainingItem& item) {
    const auto found = item.options.find("type");
    const std::string type = found == item.options.end() ? "f32" : found->second;
    double roundoff = 0x1p-24;
    if (type == "bf16") roundoff = 0x1p-8;
    if (type == "f16" || type == "tf32" || item.compute == capture::Compute::tf32) roundoff = 0x1p-11;
    return std::min(0.02, 1000 * roundoff);
}

std::vector<ComparisonRow> training_rows(const std::string& id, const TrainingRun& captured,
                                         const TrainingRun& simulated) {
    if (captured.parameters != simulated.parameters || captured.steps.size() != simulated.steps.size()) {
        throw Error("it has other parameters or steps than this program's model", {.key = "training " + id},
                    "the capture was made by a program with another model; capture again");
    }
    std::vector<ComparisonRow> rows;
    for (std::size_t i = 0; i < captured.steps.size(); ++i) {
        const capture::TrainingStep &before = captured.steps[i], &now = simulated.steps[i];
        ComparisonRow row;
        row.name = fmt::format("{} step {:02}", id, i + 1);
        row.category = id;
        row.captured = before.loss;
        row.simulated = now.loss;
        BitCount bits;
        std::vector<std::string> different;
        const auto count = [&](bool identical, const std::string& what) {
            ++bits.total;
            bits.identical += identical ? 1 : 0;
            if (!identical) different.push_back(what);
        };
        count(std::bit_cast<std::uint32_t>(before.loss) == std::bit_cast<std::uint32_t>(now.loss),
              "the loss");
        for (std::size_t p = 0; p < captured.parameters.size(); ++p) {
            count(before.gradients[p] == now.gradients[p], "the gradient of " + captured.parameters[p]);
            count(before.weights[p] == now.weights[p], captured.parameters[p]);
        }
        row.bits = bits;
        row.frobenius = numerics::relative_frobenius_error(
            std::vector<double>(now.samples.begin(), now.samples.end()),
            std::vector<double>(before.samples.begin(), before.samples.end()));
        if (!different.empty())
            row.note = fmt::format("{} of {} differ, first {}", different.size(), bits.total, different[0]);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<Comparison> compare_training(const RecordedCapture& capture, const CompareOptions& options) {
    Comparison comparison;
    comparison.title = "Training, step by step";
    comparison.reference =
        reference_of(capture, options.hardware.empty() ? capture.preset() : options.hardware);
    std::string& hardware = comparison.reference.hardware;
    if (hardware.empty()) hardware = "h100-sxm";
    const CapturedSection& section = capture.section("training");
    std::vector<CapturedTraining> trainings;
    for (const CapturedRecord& record : section.records) {
        if (!options.selects(record.id, record.id)) continue;
        if (record.values.contains("error")) {
            comparison.missing.push_back("not recorded: " + record.id + ": " +
                                         record.get<std::string>("error"));
            continue;
        }
        trainings.push_back(training_of(record));
    }
    const GemmOrders orders(capture);
    const std::vector<Replay> replays = replay_all(trainings, hardware, orders, options);
    for (std::size_t i = 0; i < trainings.size(); ++i) add_run(trainings[i], replays[i], comparison);
    return {comparison};
}

}  // namespace heddle::validation
