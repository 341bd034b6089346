// Checkpoints of a training: the state after a step in one file, from which a later run continues.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::sim {

/// The state of a training after `steps` steps, on the device and in the reference.
struct Checkpoint {
    /// Names model, device and data; only a training with the same identity can continue.
    std::string identity;
    unsigned steps = 0;  ///< number of steps done
    std::vector<double> device_loss, reference_loss;
    /// By tensor, for parameters and optimizer state: what the device holds (every number format converts to
    /// double exactly), and what the reference holds after it has trained independently from the same initial
    /// values.
    std::map<trace::TensorId, std::vector<double>> device, reference;
};

/// Writes the checkpoint to a temporary file and renames it to `path`, so that an interrupted write leaves
/// the old file. Throws heddle::Error when that fails.
void write_checkpoint(const Checkpoint& checkpoint, const std::string& path);

/// Reads a checkpoint. Throws heddle::Error when the file does not exist, is damaged, or has another identity
/// than `identity`.
Checkpoint read_checkpoint(const std::string& path, const std::string& identity);

/// Checks that a training whose tensors have `elements` elements each can continue from the checkpoint: it
/// needs a loss for each step and every tensor in full, on the device and in the reference. Throws
/// heddle::Error that names the file `path` otherwise.
void check_values(const Checkpoint& checkpoint, const std::map<trace::TensorId, std::size_t>& elements,
                  const std::string& path);

}  // namespace heddle::sim
