#include "sim/config/gpu_names.h"

namespace heddle::sim {

std::string hardware_of_gpu(const std::string& device, std::uint64_t memory_bytes) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    const auto has_word = [&](const char* word) { return device.find(word) != std::string::npos; };
    if (has_word("H200")) return "h200-sxm";
    if (has_word("H100")) return has_word("PCIe") || has_word("NVL") ? "" : "h100-sxm";
    if (has_word("H800")) return has_word("PCIe") ? "h800-pcie" : "";
    if (has_word("A100")) {
        if (has_word("PCI")) return "a100-pcie";
        const bool small = has_word("40GB") || (memory_bytes != 0 && memory_bytes < 60 * kGiB);
        return small ? "a100-sxm-40gb" : "a100-sxm";
    }
    if (has_word("V100") && has_word("SXM")) return "v100-sxm";
    if (has_word("RTX A6000")) return "rtx-a6000";
    return {};
}

}  // namespace heddle::sim
