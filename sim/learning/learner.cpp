#include "sim/learning/learner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "isa/common/error.h"
#include "sim/collective/payload.h"
#include "sim/run/time/kernel_cache.h"
#include "workloads/reference/values.h"
#include "workloads/trace/training.h"

namespace heddle::sim {

using parallel::DataParallel;

namespace {

std::vector<Bucket> buckets_of(const trace::Trace& part, const std::vector<trace::TensorId>& tensors,
                               double bucket_bytes) {
    std::vector<Bucket> buckets;
    for (std::size_t number = tensors.size(); number-- > 0;) {
        const trace::Tensor& tensor = part.tensor(tensors[number]);
        const std::string type = trace::name_of(tensor.type);
        if (type != "f32" && type != "f16" && type != "bf16")
            throw Error("`" + tensor.name + "` is of type " + type + ", which no collective adds",
                        {"--option", 0, ""}, "use f32, f16 or bf16");
        const auto bytes = static_cast<std::uint64_t>(tensor.elements()) * trace::bytes_of(tensor.type);
        if (buckets.empty() || buckets.back().type != type ||
            static_cast<double>(buckets.back().bytes + bytes) > bucket_bytes)
            buckets.push_back({{}, type, 0});
        buckets.back().parameters.push_back(number);
        buckets.back().bytes += bytes;
    }
    return buckets;
}

}  // namespace

LearningTensors learning_tensors(const trace::Trace& part, const std::vector<trace::TensorId>& data,
                                 double bucket_bytes) {
    trace::loss_of(part);
    LearningTensors tensors;
    for (const trace::TensorId id : reference::external_tensors(part))
        if (std::find(data.begin(), data.end(), id) == data.end()) tensors.state.push_back(id);
    std::set<trace::TensorId> made, wanted;
    for (const trace::Op& op : part.ops) {
        const bool optimizer = op.phase == trace::Phase::optimizer;
        for (const trace::TensorId id : op.inputs)
            if (optimizer && made.contains(id)) wanted.insert(id);
        if (!optimizer) made.insert(op.outputs.begin(), op.outputs.end());
    }
    for (const trace::TensorId id : trace::parameters_of(part)) {
        const std::optional<trace::TensorId> gradient = trace::gradient_of(part, id);
        if (!gradient || !wanted.contains(*gradient)) continue;
        tensors.weights.tensors.push_back(id);
        tensors.gradients.tensors.push_back(*gradient);
    }
    for (const trace::TensorId id : tensors.gradients.tensors) wanted.erase(id);
    if (tensors.gradients.tensors.empty())
        throw Error("the step has no optimizer that reads gradients: nothing is learnt", {"--option", 0, ""},
                    "choose a model of the zoo with an optimizer");
    if (!wanted.empty())
        throw Error("the optimizer reads `" + part.tensor(*wanted.begin()).name +
                        "` of the passes beside gradients, which workers would have to agree on",
                    {"--option", 0, ""}, "leave out dynamic loss scales and fp8");
    for (Averaged* what : {&tensors.gradients, &tensors.weights})
        what->buckets = buckets_of(part, what->tensors, bucket_bytes);
    return tensors;
}

Learner::Learner(const trace::Trace& part, TrainingDevice& device, const TrainingData& data,
                 const LearningTensors& tensors, const RoundTimes& times, const LearningOptions& options,
                 bool exact)
    : part_(part),
      device_(device),
      data_(data),
      tensors_(tensors),
      times_(times),
      options_(options),
      exact_(exact) {
    for (const trace::TensorId id : tensors_.state) first_[id] = reference::initial_values(part_, id, 0);
}

void Learner::take(const State& state) {
    for (const auto& [id, values] : state) device_.write(id, values);
}

Learner::State Learner::state() {
    State state;
    for (const trace::TensorId id : tensors_.state) state[id] = device_.read(id);
    return state;
}

Learner::Lesson Learner::pass(const State& weights, unsigned round, std::uint32_t worker) {
    take(weights);
    for (const auto& [id, values] : data_.batch(round * options_.workers + worker)) device_.write(id, values);
    device_.run_passes();
    Lesson lesson{device_.read(trace::loss_of(part_)).at(0), {}};
    for (const trace::TensorId id : tensors_.gradients.tensors) lesson.gradients.push_back(device_.read(id));
    return lesson;
}

Learner::State Learner::update(const State& before, const Vectors& gradients) {
    take(before);
    for (std::size_t i = 0; i < gradients.size(); ++i)
        device_.write(tensors_.gradients.tensors[i], gradients[i]);
    device_.run_update();
    return state();
}

std::string Learner::type_of(const Averaged& what, std::size_t number) const {
    return trace::name_of(part_.tensor(what.tensors[number]).type);
}

/// By the number of workers, before they are added, as PyTorch's DistributedDataParallel does. By a power of
/// two that rounds nothing.
void Learner::divide(const Averaged& what, Vectors& part) const {
    for (std::size_t i = 0; i < part.size(); ++i) {
        const std::string type = type_of(what, i);
        for (double& value : part[i]) {
            value /= options_.workers;
            if (!exact_) value = add_rounded(type, static_cast<float>(value), 0.0f);
        }
    }
}

/// The first worker's, plus the second's, and so on: a server's order, and that of one device that adds up
/// the parts.
Learner::Vectors Learner::average_in_order(std::vector<Lesson> lessons) const {
    for (Lesson& lesson : lessons) divide(tensors_.gradients, lesson.gradients);
    Vectors sum = std::move(lessons.front().gradients);
    for (std::size_t w = 1; w < lessons.size(); ++w) {
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const std::string type = type_of(tensors_.gradients, i);
            for (std::size_t e = 0; e < sum[i].size(); ++e) {
                const double more = lessons[w].gradients[i][e];
                sum[i][e] = exact_
                                ? sum[i][e] + more
                                : add_rounded(type, static_cast<float>(sum[i][e]), static_cast<float>(more));
            }
        }
    }
    return sum;
}

/// In the order of the all-reduce's algorithm, bucket by bucket.
Learner::Vectors Learner::average_by_schedule(const Averaged& what, std::vector<Vectors> parts) const {
    for (Vectors& part : parts) divide(what, part);
    Vectors sum = parts.front();
    if (parts.size() < 2) return sum;
    for (std::size_t b = 0; b < what.buckets.size(); ++b) {
        const Bucket& bucket = what.buckets[b];
        std::vector<Payload> inputs(parts.size());
        for (std::size_t w = 0; w < parts.size(); ++w)
            for (const std::size_t number : bucket.parameters)
                inputs[w].insert(inputs[w].end(), parts[w][number].begin(), parts[w][number].end());
        const std::vector<Payload> outputs =
            run_payload(what.schedules[b], bucket.type, inputs, inputs.front().size());
        // All ranks have the same bits: the tests of sim/collective hold every algorithm to it.
        auto from = outputs.front().begin();
        for (const std::size_t number : bucket.parameters)
            for (double& value : sum[number]) value = *from++;
    }
    return sum;
}

LearningCurve Learner::finish(LearningCurve curve, const State& last) const {
    std::string bits;
    for (const trace::TensorId id : tensors_.weights.tensors) {
        const std::vector<double>& values = last.at(id);
        bits.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
        curve.parameters.insert(curve.parameters.end(), values.begin(), values.end());
    }
    curve.weights = hash_text(bits);
    return curve;
}

double Learner::slowest_pass() const {
    return times_.passes * (options_.workers > 1 ? std::max(1.0, options_.straggler) : 1.0);
}

LearningCurve Learner::one_device() {
    LearningCurve curve;
    curve.name = exact_ ? "double precision" : "one device";
    State weights = first_;
    const double round_seconds = options_.workers * times_.passes + times_.update;
    for (unsigned round = 0; round < options_.rounds; ++round) {
        std::vector<Lesson> lessons;
        double loss = 0;
        for (std::uint32_t w = 0; w < options_.workers; ++w)
            loss += lessons.emplace_back(pass(weights, round, w)).loss / options_.workers;
        weights = update(weights, average_in_order(std::move(lessons)));
        curve.loss.push_back(loss);
        curve.seconds.push_back((round + 1) * round_seconds);
    }
    return finish(std::move(curve), weights);
}

LearningCurve Learner::all_reduce() {
    LearningCurve curve;
    curve.name = parallel::name_of(DataParallel::all_reduce);
    State weights = first_;
    const double round_seconds = slowest_pass() + times_.all_reduce + times_.update;
    for (unsigned round = 0; round < options_.rounds; ++round) {
        std::vector<Vectors> parts;
        double loss = 0;
        for (std::uint32_t w = 0; w < options_.workers; ++w) {
            Lesson lesson = pass(weights, round, w);
            loss += lesson.loss / options_.workers;
            parts.push_back(std::move(lesson.gradients));
        }
        weights = update(weights, average_by_schedule(tensors_.gradients, std::move(parts)));
        curve.loss.push_back(loss);
        curve.seconds.push_back((round + 1) * round_seconds);
    }
    return finish(std::move(curve), weights);
}

/// Gradients reach the server through its one port, one worker's after another's; so do weights on their way
/// back.
LearningCurve Learner::parameter_server() {
    LearningCurve curve = one_device();  // the same sums in the same order
    curve.name = parallel::name_of(DataParallel::parameter_server);
    const double messages = options_.workers * (times_.gradient_message + times_.weight_message);
    for (unsigned round = 0; round < options_.rounds; ++round)
        curve.seconds[round] = (round + 1) * (slowest_pass() + messages + times_.update);
    return curve;
}

/// Every worker for itself: it reads the weights, learns, and sends its gradients, with which the server
/// updates the weights at once. The server serves in the order of arrival; its port carries one message at a
/// time.
LearningCurve Learner::asynchronous() {
    LearningCurve curve;
    curve.name = parallel::name_of(DataParallel::asynchronous);
    struct Worker {
        State read;  // weights as it knows them
        std::uint64_t version = 0;
        double arrives = 0;  // its gradients, at the server
        unsigned round = 0;
    };
    const std::uint32_t n = options_.workers;
    const auto seconds_of = [&](std::uint32_t w) {
        return times_.passes * (n > 1 && w + 1 == n ? std::max(1.0, options_.straggler) : 1.0);
    };
    std::vector<Worker> workers(n);
    for (std::uint32_t w = 0; w < n; ++w) workers[w] = {first_, 0, seconds_of(w), 0};
    State weights = first_;
    std::uint64_t version = 0;
    double port = 0, loss = 0, staleness = 0;
    const std::uint64_t lessons = std::uint64_t{options_.rounds} * n;
    while (version < lessons) {
        const auto next =
            std::min_element(workers.begin(), workers.end(),
                             [](const Worker& a, const Worker& b) { return a.arrives < b.arrives; });
        const auto w = static_cast<std::uint32_t>(next - workers.begin());
        Worker& worker = *next;
        const Lesson lesson = pass(worker.read, worker.round, w);
        const std::uint64_t stale = version - worker.version;
        staleness += static_cast<double>(stale);
        curve.largest_staleness = std::max(curve.largest_staleness, stale);
        // A worker's gradient counts as its share of a batch, so that a round goes as far as the others'.
        Vectors gradients = lesson.gradients;
        divide(tensors_.gradients, gradients);
        weights = update(weights, gradients);
        ++version;
        const double updated = std::max(port, worker.arrives) + times_.gradient_message + times_.update;
        port = updated + times_.weight_message;
        loss += lesson.loss / n;
        if (version % n == 0) {
            curve.loss.push_back(loss);
            curve.seconds.push_back(updated);
            loss = 0;
        }
        worker = {weights, version, port + seconds_of(w), worker.round + 1};
    }
    curve.mean_staleness = staleness / static_cast<double>(lessons);
    return finish(std::move(curve), weights);
}

/// Weights alone are averaged; every worker keeps its own optimizer's state.
LearningCurve Learner::local_sgd() {
    LearningCurve curve;
    curve.name = parallel::name_of(DataParallel::local_sgd);
    std::vector<State> workers(options_.workers, first_);
    double now = 0;
    for (unsigned round = 0; round < options_.rounds; ++round) {
        double loss = 0;
        for (std::uint32_t w = 0; w < options_.workers; ++w) {
            Lesson lesson = pass(workers[w], round, w);
            loss += lesson.loss / options_.workers;
            workers[w] = update(workers[w], lesson.gradients);
        }
        now += slowest_pass() + times_.update;
        if ((round + 1) % options_.local_rounds == 0 || round + 1 == options_.rounds) {
            std::vector<Vectors> weights;
            for (const State& worker : workers) {
                auto& own = weights.emplace_back();
                for (const trace::TensorId id : tensors_.weights.tensors) own.push_back(worker.at(id));
            }
            const auto average = average_by_schedule(tensors_.weights, std::move(weights));
            for (State& worker : workers)
                for (std::size_t i = 0; i < average.size(); ++i)
                    worker[tensors_.weights.tensors[i]] = average[i];
            now += times_.average;
        }
        curve.loss.push_back(loss);
        curve.seconds.push_back(now);
    }
    return finish(std::move(curve), workers.front());
}

LearningCurve Learner::train(DataParallel way) {
    switch (way) {
        case DataParallel::all_reduce:
            return all_reduce();
        case DataParallel::parameter_server:
            return parameter_server();
        case DataParallel::asynchronous:
            return asynchronous();
        case DataParallel::local_sgd:
            return local_sgd();
    }
    throw std::logic_error("no such way to learn");
}

}  // namespace heddle::sim
