// What a user can name as a workload: a model of the zoo with options, a file with a model, or a file with a
// training step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

/// A workload that has been opened.
struct Workload {
    std::string name;  ///< "mlp", or the file's name without its endings
    trace::Trace trace;
    trace::RecordedDevice device;  ///< the device on which the step was recorded, where the file says so
};

/// Whether the word is a path: it names an existing file, or contains a `/` or a `.`.
bool names_a_file(const std::string& workload);

/// Builds a model, or reads a file when `workload` is a path (names_a_file()): the layers of a model (.yaml,
/// .yml) or a training step. Options belong to models; with a step they are a heddle::Error, as unknown
/// options are.
Workload open_workload(const std::string& workload, const std::map<std::string, std::string>& options);

/// Returns the name of the hardware file of the device on which `file` was recorded. Throws heddle::Error
/// where the file does not say it, and where no hardware file describes that GPU; the error names the nearest
/// one.
std::string hardware_of_recording(const trace::RecordedDevice& device, const std::string& file);

/// Splits "key=value" and adds it to `options`. Throws heddle::Error when there is no `=`, and for a repeated
/// key.
void add_model_option(std::map<std::string, std::string>& options, const std::string& assignment);

/// Returns the file's name without folders and endings: "gpt_step" for "data/gpt_step.tar.gz".
std::string workload_name_of_file(const std::string& path);

}  // namespace heddle::cli
