#include "validation/published/microbenchmarks.h"

#include <algorithm>
#include <cmath>

namespace heddle::validation {

double tolerance(const PublishedMeasurement& measurement) {
    constexpr double kPart = 0.05, kCycles = 3;
    return measurement.is_latency() ? std::max(kPart, kCycles / measurement.value()) : kPart;
}

double deviation(const PublishedMeasurement& measurement, double simulated) {
    if (simulated < measurement.low) return 1 - simulated / measurement.low;
    if (simulated > measurement.high) return simulated / measurement.high - 1;
    return std::isnan(simulated) ? simulated : 0;
}

const std::vector<PublishedMeasurement>& published_measurements() {
    static const std::vector<PublishedMeasurement> all = [] {
        std::vector<PublishedMeasurement> found = published_hopper();
        for (const auto& more : {published_ampere(), published_volta()})
            found.insert(found.end(), more.begin(), more.end());
        return found;
    }();
    return all;
}

std::string device_name_of(const std::string& hardware) {
    if (hardware == "h800-pcie") return "NVIDIA H800 PCIe";
    if (hardware == "h100-sxm") return "NVIDIA H100 SXM";
    if (hardware == "h200-sxm") return "NVIDIA H200 SXM";
    if (hardware == "a100-pcie") return "NVIDIA A100 PCIe";
    if (hardware == "a100-sxm") return "NVIDIA A100 SXM";
    if (hardware == "v100-sxm") return "NVIDIA V100 SXM2";
    if (hardware == "rtx-a6000") return "NVIDIA RTX A6000";
    return hardware;
}

std::string family_of(const std::string& hardware) {
    const auto has = [&](const std::vector<PublishedMeasurement>& all) {
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& each) { return each.hardware == hardware; });
    };
    if (has(published_hopper())) return "Hopper";
    if (has(published_ampere())) return "Ampere";
    return has(published_volta()) ? "Volta" : "";
}

}  // namespace heddle::validation
