// Data sets for training with real values: what each step reads as inputs and labels.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::sim {

/// A source of batches. Batches depend on the step's number alone, so that a resumed training sees the same
/// ones.
class TrainingData {
  public:
    virtual ~TrainingData() = default;
    /// Returns the values of the inputs and labels of step `step`, counted from 0, by tensor.
    virtual std::map<trace::TensorId, std::vector<double>> batch(unsigned step) const = 0;
    /// One line that describes the data for people.
    virtual std::string description() const = 0;
    /// Text that differs whenever the batches differ; a checkpoint's identity contains it.
    virtual std::string identity() const = 0;
};

/// Opens a data set. "spirals" makes as many interleaved spirals as there are classes, for a model that reads
/// points [N, 2] and labels [N]; every step has fresh points on a grid of 2^-7, which every number format
/// represents exactly. Anything else names a file whose bytes are the tokens of a model that reads tokens [N]
/// and takes the token after each one as labels [N]; every step begins at another place of the file. Throws
/// heddle::Error when the model reads something else or the file is too short.
std::unique_ptr<TrainingData> open_training_data(const std::string& what, const trace::Trace& trace);

}  // namespace heddle::sim
