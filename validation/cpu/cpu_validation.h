// Is the model of a CPU right about the machine on which it runs? Times and bits of the same programs on both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/cpu/cpu_config.h"
#include "validation/cpu/host.h"

namespace heddle::validation {

/// What is compared, and how carefully.
struct CpuValidationOptions {
    unsigned rounds = 15;          ///< repetitions of each measurement
    std::string filter;            ///< only rows whose group or name has this in it
    bool bits = true, times = true;
    std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// One quantity on both.
struct CpuTimeRow {
    std::string group;   ///< "memory", "chase", "sgemm", "kernels"
    std::string name;
    HostTime host;       ///< of one run
    double model = 0;    ///< seconds
    double amount = 0;   ///< bytes or operations of a run, for a rate; 0: none
    std::string unit;    ///< "B/s", "FLOP/s", "" (seconds)
    bool given = false;  ///< the model was given this very measurement by calibrate_cpu()
    std::string bound_by;
    double ratio() const { return host.least > 0 ? model / host.least : 0; }
};

/// The results of one program on both, number by number.
struct CpuBitsRow {
    std::string kind;
    std::size_t programs = 0, numbers = 0, equal = 0;
};

/// Everything that was found.
struct CpuValidation {
    std::vector<CpuTimeRow> times;
    std::vector<CpuBitsRow> bits;
    std::vector<std::string> notes;  ///< what is missing on this machine
};

/// Compares the model of `config`, which describes this machine, with the machine, on one thread.
CpuValidation validate_cpu(const models::CpuConfig& config, const CpuValidationOptions& options);

/// A value that was measured: key of a hardware file and text.
struct CpuMeasured {
    std::string key, value;
};

/// Measures what a machine does not say of itself: its clocks, the latencies of its L3 and memory, and the lines under way at once.
std::vector<CpuMeasured> calibrate_cpu(const models::CpuConfig& config);

std::string cpu_validation_table(const CpuValidation& validation);
std::string cpu_validation_json(const CpuValidation& validation);

}  // namespace heddle::validation
