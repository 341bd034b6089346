// A device that exists only as a YAML file: its configuration, and where every value came from.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "models/tpu/tpu_config.h"
#include "sim/config/die_config.h"
#include "sim/config/hardware_file.h"
#include "sim/config/settings.h"
#include "sim/config/step_config.h"

namespace heddle::sim {

struct Hardware {
    std::string name;         ///< "h100-sxm", or the file's name without its ending
    std::string kind;         ///< "gpu" or "tpu"
    std::string description;  ///< one line for people, from the file
    std::variant<models::gpu::GpuConfig, models::TpuConfig> device;
    StepConfig step;                             ///< of a GPU
    DieConfig die;                               ///< area and price
    std::map<std::string, ValueOrigin> origins;  ///< by parameter path
    std::vector<std::string> files;              ///< the file, then what it extends

    bool is_gpu() const { return std::holds_alternative<models::gpu::GpuConfig>(device); }
    const models::gpu::GpuConfig& gpu() const { return std::get<models::gpu::GpuConfig>(device); }
    const models::TpuConfig& tpu() const { return std::get<models::TpuConfig>(device); }
};

/// Reads a device by name ("h100-sxm", looked for in hardware_directories()) or file. `overrides` are
/// "sm.count=144". Throws heddle::Error for everything that read_hardware_file() and apply_settings() find,
/// for an unknown `kind`, for a program that the file names unless `programs` allows it, and for an impossible
/// machine (the model's own check()).
Hardware load_hardware(const std::string& name_or_file, const std::vector<std::string>& overrides = {},
                       Programs programs = Programs::refused);

/// The same of a file that was read already, for whoever needs many devices of one file. Without `checked`
/// the machine may be impossible.
Hardware configure_hardware(const HardwareText& text, const std::vector<std::string>& overrides,
                            bool checked = true);

/// Every parameter of the device, ready to be read and set. `hardware` must outlive the list. Setting one
/// checks nothing.
models::ParameterList parameter_list(Hardware& hardware);

/// One parameter of a device, for people.
struct ParameterDescription {
    std::string path;   ///< "l2.size"
    std::string value;  ///< "50 MiB"
    std::string range;  ///< "1 MiB .. 1 GiB"
    std::string meaning;
    std::string source;  ///< the comment beside the value, or "command line"
    std::string where;   ///< "h100-sxm.yaml:31"
};

/// Every parameter, in the order in which the model describes them.
std::vector<ParameterDescription> describe_parameters(const Hardware& hardware);

}  // namespace heddle::sim
