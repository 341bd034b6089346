// A training that goes on later: the state after a step, in one file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::sim {

struct Checkpoint {
    std::string identity;  ///< of model, device and data: another training cannot go on from here
    unsigned steps = 0;    ///< done
    std::vector<double> device_loss, reference_loss;
    /// By tensor: what the device holds (every number format fits a double exactly), what the reference
    /// holds, and how far the reference's parameters have travelled.
    std::map<trace::TensorId, std::vector<double>> device, reference;
};

/// Written aside and renamed. Throws heddle::Error when that cannot be done.
void write_checkpoint(const Checkpoint& checkpoint, const std::string& path);

/// Throws heddle::Error when there is no such file, when it is damaged, or when its identity is another.
Checkpoint read_checkpoint(const std::string& path, const std::string& identity);

/// Whether a training whose tensors have so many `elements` can go on from it: a loss for each step, and
/// every tensor whole on the device and in the reference. Throws heddle::Error that names the file.
void check_values(const Checkpoint& checkpoint, const std::map<trace::TensorId, std::size_t>& elements,
                  const std::string& path);

}  // namespace heddle::sim
