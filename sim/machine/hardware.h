// A device that exists only as a YAML file: the machine that it describes, and where every value came from. sim/hardware/load_hardware.h
// reads one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/hardware_file.h"
#include "sim/config/settings.h"
#include "sim/machine/machine.h"

namespace heddle::sim {

/// A value: copies have machines of their own.
struct Hardware {
    std::string name;                            ///< "h100-sxm", or the file's name without its ending
    std::string kind;                            ///< "gpu", "tpu", ...: kinds.h
    std::string description;                     ///< one line for people, from the file
    std::map<std::string, ValueOrigin> origins;  ///< by parameter path
    std::vector<std::string> files;              ///< the file, then what it extends

    explicit Hardware(std::unique_ptr<Machine> machine) : machine_(std::move(machine)) {}
    Hardware(const Hardware& other)
        : name(other.name),
          kind(other.kind),
          description(other.description),
          origins(other.origins),
          files(other.files),
          machine_(other.machine_->clone()) {}
    Hardware(Hardware&&) = default;
    Hardware& operator=(Hardware other) {
        std::swap(name, other.name);
        std::swap(kind, other.kind);
        std::swap(description, other.description);
        std::swap(origins, other.origins);
        std::swap(files, other.files);
        std::swap(machine_, other.machine_);
        return *this;
    }
    ~Hardware() = default;

    const Machine& machine() const { return *machine_; }
    Machine& machine() { return *machine_; }

  private:
    std::unique_ptr<Machine> machine_;
};

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

/// "h100-sxm.yaml:31", or the file alone where the line is not known.
std::string file_and_line(const SourceLocation& where);

}  // namespace heddle::sim
