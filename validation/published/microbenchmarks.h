// Latencies and bandwidths that others measured and published, by the micro-benchmark of ours that measures
// the same quantity.
#pragma once

#include <string>
#include <vector>

namespace heddle::validation {

struct PublishedMeasurement {
    std::string hardware;      ///< preset of the device: "h800-pcie"
    std::string benchmark;     ///< id of the micro-benchmark: "latency/l2"
    double low = 0, high = 0;  ///< as published: a range, or one figure
    std::string unit;          ///< as the benchmark has it
    std::string source;        ///< who measured it, and how
    /// The hardware file takes its value from the same publication: the row says that the model does what the
    /// file says, not that the file is right.
    bool used_by_preset = false;

    double value() const { return (low + high) / 2; }
};

/// All of them, those of one device together.
const std::vector<PublishedMeasurement>& published_measurements();

/// "NVIDIA H800 PCIe", for headings; the preset's name when it is not known.
std::string device_name_of(const std::string& hardware);

}  // namespace heddle::validation
