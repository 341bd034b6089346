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
    std::string source;        ///< who measured it, on which board, and how
    /// The hardware file takes its value from the same publication: the row says that the model does what the
    /// file says, not that the file is right.
    bool used_by_preset = false;
    /// Why the figure cannot be held against the benchmark as it is: it is shown, and no bar judges it.
    /// Empty: a bar does.
    std::string caveat = {};

    double value() const { return (low + high) / 2; }
    bool is_latency() const { return unit == "cycles"; }
};

/// How far a simulated value may be from a published one: 5 %, for latencies also 3 cycles (the larger).
/// As a fraction of the published figure.
double tolerance(const PublishedMeasurement& measurement);
/// Distance of `simulated` from the published figure, as a fraction of it; 0 within a published range.
double deviation(const PublishedMeasurement& measurement, double simulated);

/// All of them, those of one device together.
const std::vector<PublishedMeasurement>& published_measurements();

/// "NVIDIA H800 PCIe", for headings; the preset's name when it is not known.
std::string device_name_of(const std::string& hardware);
/// "Hopper"; empty when it is not known.
std::string family_of(const std::string& hardware);

// By generation.
std::vector<PublishedMeasurement> published_hopper();
std::vector<PublishedMeasurement> published_ampere();
std::vector<PublishedMeasurement> published_volta();

}  // namespace heddle::validation
