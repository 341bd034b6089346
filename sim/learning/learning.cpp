#include "sim/learning/learning.h"

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/collective/payload.h"
#include "sim/learning/learner.h"
#include "sim/learning/reference_device.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::sim {
namespace {


// What is no number is written as null.
std::vector<double> numbers(const nlohmann::json& list) {
    std::vector<double> values;
    for (const nlohmann::json& value : list) values.push_back(value.is_null() ? std::nan("") : value.get<double>());
    return values;
}

std::string to_text(const LearningCurve& curve) {
    return nlohmann::json{{"name", curve.name},
                {"loss", curve.loss},
                {"seconds", curve.seconds},
                {"mean_staleness", curve.mean_staleness},
                {"largest_staleness", curve.largest_staleness},
                {"weights", curve.weights},
                {"parameters", curve.parameters}}
        .dump();
}

LearningCurve curve_from_text(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    LearningCurve curve;
    json.at("name").get_to(curve.name);
    curve.loss = numbers(json.at("loss"));
    json.at("seconds").get_to(curve.seconds);
    json.at("mean_staleness").get_to(curve.mean_staleness);
    json.at("largest_staleness").get_to(curve.largest_staleness);
    json.at("weights").get_to(curve.weights);
    curve.parameters = numbers(json.at("parameters"));
    return curve;
}

/// Job 0 is the reference, job 1 one device, the others are the ways.
class LearningJob : public JobRunner {
  public:
    LearningJob(const trace::Trace& part, const Hardware& hardware, const TrainingData& data,
                const LearningTensors& tensors, const RoundTimes& times, const LearningOptions& options)
        : part_(part),
          hardware_(hardware),
          data_(data),
          tensors_(tensors),
          times_(times),
          options_(options) {}

    std::string run(std::size_t job) override {
        if (job == 0) {
            const std::unique_ptr<TrainingDevice> reference = reference_device(part_);
            return to_text(Learner(part_, *reference, data_, tensors_, times_, options_, true).one_device());
        }
        if (!device_) device_ = training_device(part_, hardware_);
        Learner learner(part_, *device_, data_, tensors_, times_, options_, false);
        return to_text(job == 1 ? learner.one_device() : learner.train(options_.ways.at(job - 2)));
    }

  private:
    const trace::Trace& part_;
    const Hardware& hardware_;
    const TrainingData& data_;
    const LearningTensors& tensors_;
    const RoundTimes& times_;
    const LearningOptions& options_;
    std::unique_ptr<TrainingDevice> device_;  // SystemC elaborates once in a process
};

void check(const LearningOptions& options, const Cluster& cluster) {
    if (options.workers < 1 || options.workers > cluster.device_count())
        throw Error("the cluster has " + std::to_string(cluster.device_count()) + " devices",
                    {"--workers", 0, ""}, "ask for 1 to so many");
    if (options.rounds < 1) throw Error("at least one", {"--rounds", 0, ""});
    if (options.local_rounds < 1) throw Error("at least one", {"--local-rounds", 0, ""});
    if (!(options.straggler >= 1)) throw Error("must be 1 or more", {"--straggler", 0, ""});
    if (options.data.empty())
        throw Error("without data there is nothing to learn", {"--data", 0, ""},
                    "--data spirals, or a text file");
}

}  // namespace

LearningResult learn(const trace::Trace& part, const std::string& model, const Hardware& hardware,
                     const Cluster& cluster, const LearningOptions& options) {
    check(options, cluster);
    const std::unique_ptr<TrainingData> data = open_training_data(options.data, part);
    std::vector<trace::TensorId> given;
    for (const auto& [id, values] : data->batch(0)) given.push_back(id);
    LearningTensors tensors = learning_tensors(part, given, options.bucket_bytes);

    LearningResult result;
    result.model = model;
    result.hardware = hardware.name;
    result.cluster = cluster.name;
    result.data = data->description();
    result.workers = options.workers;
    SimulateOptions timing;
    timing.cache = options.cache;
    timing.jobs = options.jobs;
    if (options.progress)
        timing.progress = [&](double fraction, const std::string& what) {
            options.progress(0.5 * fraction, what);
        };
    result.times = round_times(part, hardware, cluster, tensors, options.workers, options.algorithm, timing);
    if (options.workers > 1) {
        const Bucket& first = tensors.gradients.buckets.front();
        CollectiveTimer timer(cluster);
        result.algorithm = name_of(
            timer.time(all_reduce_request(first.bytes, first.type, options.workers, options.algorithm))
                .algorithm);
        for (Averaged* what : {&tensors.gradients, &tensors.weights})
            for (const Bucket& bucket : what->buckets)
                what->schedules.push_back(payload_schedule(
                    cluster,
                    all_reduce_request(bucket.bytes, bucket.type, options.workers, options.algorithm)));
    }

    const std::size_t jobs = 2 + options.ways.size();
    result.curves.resize(jobs);
    std::size_t done = 0;
    run_jobs(
        jobs, options.jobs == 0 ? available_cores() : options.jobs,
        [&]() -> std::unique_ptr<JobRunner> {
            return std::make_unique<LearningJob>(part, hardware, *data, tensors, result.times, options);
        },
        [&](std::size_t job, const std::string& text) {
            result.curves[job] = curve_from_text(text);
            if (options.progress)
                options.progress(0.5 + 0.5 * static_cast<double>(++done) / static_cast<double>(jobs),
                                 result.curves[job].name);
        });
    const LearningCurve& one = result.curves[1];
    for (LearningCurve& curve : result.curves) {
        double apart = 0, size = 0;
        for (std::size_t i = 0; i < one.parameters.size(); ++i) {
            apart += std::pow(curve.parameters[i] - one.parameters[i], 2);
            size += std::pow(one.parameters[i], 2);
        }
        curve.distance = size > 0 ? std::sqrt(apart / size) : 0;
        curve.same_bits = curve.weights == one.weights;
    }
    return result;
}

}  // namespace heddle::sim
