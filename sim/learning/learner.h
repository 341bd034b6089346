// Training of several workers on one device, which takes the place of each worker in turn: only the weights,
// the optimizer's state and the part of the batch differ.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/network/schedule.h"
#include "sim/learning/learning.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/numerics/training_data.h"

namespace heddle::sim {

/// Gradients or weights of several parameters that are sent together.
struct Bucket {
    std::vector<std::size_t> parameters;  ///< indices of parameters, those of the last layers first
    std::string type;                     ///< "f32", "f16", "bf16"
    std::uint64_t bytes = 0;
};

/// The gradients, or the weights, that an all-reduce averages.
struct Averaged {
    std::vector<trace::TensorId> tensors;  ///< by index of the parameter
    std::vector<Bucket> buckets;
    std::vector<models::network::Schedule> schedules;  ///< one for each bucket
};

/// The tensors of which a step's state consists.
struct LearningTensors {
    Averaged gradients, weights;
    std::vector<trace::TensorId> state;  ///< tensors that are read before they are written, except the data
};

/// Finds these tensors. `data` lists the tensors that are new in every step. The result has no schedules yet.
/// Throws heddle::Error as learn() does.
LearningTensors learning_tensors(const trace::Trace& part, const std::vector<trace::TensorId>& data,
                                 double bucket_bytes);

/// Trains on a device by each way of sharing the work. The constructor's reference arguments must outlive it.
class Learner {
  public:
    /// `exact` averages in double precision, for the reference.
    Learner(const trace::Trace& part, TrainingDevice& device, const TrainingData& data,
            const LearningTensors& tensors, const RoundTimes& times, const LearningOptions& options,
            bool exact);

    /// Trains as one device would: the parts of each batch in sequence.
    LearningCurve one_device();
    /// Trains by one way of sharing.
    LearningCurve train(parallel::DataParallel way);

  private:
    using State = std::map<trace::TensorId, std::vector<double>>;
    using Vectors = std::vector<std::vector<double>>;  // by parameter's number
    /// The result of one worker's pass over its part of a batch.
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
