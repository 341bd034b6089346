// Trainings of several workers on one device that takes each worker's place in turn: only weights, the
// optimizer's state and the part of the batch differ.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/network/schedule.h"
#include "sim/learning/learning.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/numerics/training_data.h"

namespace heddle::sim {

/// Vectors that are sent together, one for each parameter.
struct Bucket {
    std::vector<std::size_t> parameters;  ///< numbers, the last layers' first
    std::string type;                     ///< "f32", "f16", "bf16"
    std::uint64_t bytes = 0;
};

/// Gradients, or weights, on their way through an all-reduce.
struct Averaged {
    std::vector<trace::TensorId> tensors;  ///< by parameter's number
    std::vector<Bucket> buckets;
    std::vector<models::network::Schedule> schedules;  ///< of each bucket
};

/// What a step's state is made of.
struct LearningTensors {
    Averaged gradients, weights;
    std::vector<trace::TensorId> state;  ///< read before it is written, without the data
};

/// Throws heddle::Error as learn() says. `data`: tensors that are given anew in every step. Without
/// schedules.
LearningTensors learning_tensors(const trace::Trace& part, const std::vector<trace::TensorId>& data,
                                 double bucket_bytes);

class Learner {
  public:
    /// `exact`: averages in double precision, for the reference.
    Learner(const trace::Trace& part, TrainingDevice& device, const TrainingData& data,
            const LearningTensors& tensors, const RoundTimes& times, const LearningOptions& options,
            bool exact);

    LearningCurve one_device();
    LearningCurve train(parallel::DataParallel way);

  private:
    using State = std::map<trace::TensorId, std::vector<double>>;
    using Vectors = std::vector<std::vector<double>>;  // by parameter's number
    /// Of one worker's part.
    struct Lesson {
        double loss = 0;
        Vectors gradients;
    };

    LearningCurve all_reduce();
    LearningCurve parameter_server();
    LearningCurve asynchronous();
    LearningCurve local_sgd();

    void take(const State& state);
    State state();
    Lesson pass(const State& weights, unsigned round, std::uint32_t worker);
    State update(const State& before, const Vectors& gradients);
    Vectors average_in_order(std::vector<Lesson> lessons) const;
    Vectors average_by_schedule(const Averaged& what, std::vector<Vectors> parts) const;
    void divide(const Averaged& what, Vectors& part) const;
    std::string type_of(const Averaged& what, std::size_t number) const;
    LearningCurve finish(LearningCurve curve, const State& last) const;
    double slowest_pass() const;

    const trace::Trace& part_;
    TrainingDevice& device_;
    const TrainingData& data_;
    const LearningTensors& tensors_;
    const RoundTimes& times_;
    const LearningOptions& options_;
    const bool exact_;
    State first_;
};

}  // namespace heddle::sim
