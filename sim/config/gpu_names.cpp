#include "sim/config/gpu_names.h"

namespace heddle::sim {

std::string hardware_of_gpu(const std::string& device, std::uint64_t memory_bytes) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    const auto has_word = [&](const char* word) { return device.find(word) != std::string::npos; };
    if (has_word("GB200")) return "gb200";
    if (has_word("B200")) return "b200-sxm";
    if (has_word("B300") && !has_word("GB300")) return "b300-sxm";
    if (has_word("H200")) return "h200-sxm";
    if (has_word("H100")) return has_word("PCIe") || has_word("NVL") ? "" : "h100-sxm";
    if (has_word("H800")) return has_word("PCIe") ? "h800-pcie" : "h800-sxm";
    if (has_word("H20")) return "h20";
    if (has_word("A100")) {
        if (has_word("PCI")) return "a100-pcie";
        const bool small = has_word("40GB") || (memory_bytes != 0 && memory_bytes < 60 * kGiB);
        return small ? "a100-sxm-40gb" : "a100-sxm";
    }
    if (has_word("V100")) {
        if (has_word("PCI")) return "v100-pcie";
        const bool small = has_word("16GB") || (memory_bytes != 0 && memory_bytes < 24 * kGiB);
        return has_word("SXM") || memory_bytes != 0 ? (small ? "v100-sxm-16gb" : "v100-sxm") : "";
    }
    if (has_word("RTX 5090") && !has_word("Laptop") && !has_word("5090 D")) return "rtx-5090";
    if (has_word("RTX PRO 6000") && !has_word("Max-Q")) return "rtx-pro-6000";
    if (has_word("RTX A6000")) return "rtx-a6000";
    if (has_word("A10G")) return "a10g";
    if (has_word("L40S")) return "l40s";
    if (device == "L4" || device == "NVIDIA L4") return "l4";
    if (device == "T4" || device == "Tesla T4" || device == "NVIDIA T4") return "t4";
    return {};
}

}  // namespace heddle::sim
