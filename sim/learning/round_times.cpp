#include "sim/learning/round_times.h"

#include <algorithm>
#include <numeric>

#include "sim/learning/learner.h"

namespace heddle::sim {

CollectiveRequest all_reduce_request(std::uint64_t bytes, const std::string& type, std::uint32_t workers,
                                     CollectiveAlgorithm algorithm) {
    CollectiveRequest request;
    request.bytes = bytes;
    request.type = type;
    request.ranks.resize(workers);
    std::iota(request.ranks.begin(), request.ranks.end(), 0u);
    request.algorithm = algorithm;
    return request;
}

RoundTimes round_times(const trace::Trace& step, const Hardware& hardware, const Cluster& cluster,
                       const LearningTensors& tensors, std::uint32_t workers, CollectiveAlgorithm algorithm,
                       const SimulateOptions& options) {
    RoundTimes times;
    const RunResult result = simulate(step, "a worker's part", hardware, options);
    const std::string optimizer = trace::name_of(trace::Phase::optimizer);
    double passes_us = 0;
    for (const KernelResult& kernel : result.kernels)
        if (kernel.phase != optimizer) passes_us = std::max(passes_us, kernel.end_us);
    times.passes = passes_us * 1e-6;
    times.update = std::max(0.0, result.step_time_us - passes_us) * 1e-6;
    if (workers < 2) return times;

    CollectiveTimer timer(cluster);
    const auto add = [&](const std::vector<Bucket>& buckets, double& together, double& message) {
        for (const Bucket& bucket : buckets) {
            together += timer.time(all_reduce_request(bucket.bytes, bucket.type, workers, algorithm)).seconds;
            CollectiveRequest one;
            one.kind = CollectiveKind::send_receive;
            one.type = bucket.type;
            one.bytes = bucket.bytes;
            one.ranks = {workers - 1, cluster.servers > 0 ? cluster.device_count() : 0};
            message += timer.time(one).seconds;
        }
    };
    add(tensors.gradients.buckets, times.all_reduce, times.gradient_message);
    add(tensors.weights.buckets, times.average, times.weight_message);
    return times;
}

}  // namespace heddle::sim
