// What a user may name as a workload: a model of the zoo with options, a file with a model, or one with a
// training step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

struct Workload {
    std::string name;  ///< "mlp", or the file's name without its endings
    trace::Trace trace;
    trace::RecordedDevice device;  ///< on which the step was recorded, where the file says so
};

/// Whether the word is a path: a file that exists, or it has a `/` or a `.`.
bool names_a_file(const std::string& workload);

/// Builds a model, or reads a file when `workload` names one (it exists, or it has a `/` or a `.`): a model's
/// layers (.yaml, .yml) or a training step. Options belong to models: with a step they are a heddle::Error,
/// as are unknown ones.
Workload open_workload(const std::string& workload, const std::map<std::string, std::string>& options);

/// The name of the hardware file of the device on which `file` was recorded. Throws heddle::Error where the
/// file does not say, and where no hardware file describes that GPU: the nearest one is named.
std::string hardware_of_recording(const trace::RecordedDevice& device, const std::string& file);

/// Splits "key=value". Throws heddle::Error when there is no `=`, and for a key that was given already.
void add_model_option(std::map<std::string, std::string>& options, const std::string& assignment);

/// "gpt_step.tar.gz" of "data/gpt_step.tar.gz" without its endings: "gpt_step".
std::string workload_name_of_file(const std::string& path);

}  // namespace heddle::cli
