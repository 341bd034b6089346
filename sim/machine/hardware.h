// A device that exists only as a YAML file: the machine that the file describes, and where each of its values
// came from. load_hardware() in sim/hardware/load_hardware.h reads one.
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

/// One device with its machine and the origin of its parameters. It has value semantics: a copy owns a clone
/// of the machine, so setting a parameter of the copy leaves the original unchanged.
struct Hardware {
    std::string name;         ///< "h100-sxm", or the file's name without its ending
    std::string kind;         ///< "gpu", "tpu", ...: kinds.h
    std::string description;  ///< one line for people, from the file
    /// File, line and source comment of each value that was set, by parameter path.
    std::map<std::string, ValueOrigin> origins;
    std::vector<std::string> files;  ///< the file, then what it extends

    /// Takes ownership of `machine`, which must not be null.
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

    /// The machine lives as long as this object; assignment replaces it.
    const Machine& machine() const { return *machine_; }
    Machine& machine() { return *machine_; }

  private:
    std::unique_ptr<Machine> machine_;
};

/// Returns every parameter of the device by reference, ready to be read and set. `hardware` must outlive the
/// list. Setting a parameter does not check its range or whether the machine is still possible:
/// Machine::problem() does.
models::ParameterList parameter_list(Hardware& hardware);

/// One parameter of a device as text for people.
struct ParameterDescription {
    std::string path;   ///< "l2.size"
    std::string value;  ///< "50 MiB"
    std::string range;  ///< "1 MiB .. 1 GiB"
    std::string meaning;
    std::string source;  ///< the comment beside the value, or "command line"; empty where no file sets it
    std::string where;   ///< "h100-sxm.yaml:31"; empty where no file sets it
};

/// Describes every parameter, in the order in which Machine::describe() lists them. The device is not
/// changed.
std::vector<ParameterDescription> describe_parameters(const Hardware& hardware);

/// Formats a place in a file as "h100-sxm.yaml:31", or as the file's name alone where the line is not known.
std::string file_and_line(const SourceLocation& where);

}  // namespace heddle::sim
