// Real data sets that are made on the spot: what a training step reads as input and labels.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::sim {

class TrainingData {
  public:
    virtual ~TrainingData() = default;
    /// Values of the inputs and labels of step `step` (from 0). The same for the same step, always.
    virtual std::map<trace::TensorId, std::vector<double>> batch(unsigned step) const = 0;
    /// For people, one line.
    virtual std::string description() const = 0;
    /// Everything that batches depend on.
    virtual std::string identity() const = 0;
};

/// "spirals": as many interleaved spirals as there are classes, for a model that reads points [N, 2] and
/// labels [N]; fresh points in every step, on a grid of 2^-7 so that every number format holds them. Anything
/// else is a file: its bytes are the tokens of a model that reads tokens [N] and the token after each as
/// labels [N]; every step begins at another place. Throws heddle::Error when the model reads something else,
/// or the file is too short.
std::unique_ptr<TrainingData> open_training_data(const std::string& what, const trace::Trace& trace);

}  // namespace heddle::sim
