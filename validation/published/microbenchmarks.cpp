#include "validation/published/microbenchmarks.h"

namespace heddle::validation {
namespace {

constexpr const char* kH800Dissection = "public dissection log of an H800 PCIe at 1755 MHz";
constexpr const char* kA100Dissection = "public dissection log of an A100 PCIe at 1395 MHz";
constexpr const char* kH100Study =
    "\"CUDA Performance Study - NVIDIA H100 SXM5\", public repository, 1.98 GHz, CUDA 12.8";
constexpr const char* kLuo2024 =
    "Luo et al., \"Benchmarking and Dissecting the Nvidia Hopper GPU Architecture\", arXiv 2402.13499 (2024)";
constexpr const char* kSun2022 =
    "Sun et al., \"Dissecting Tensor Cores via Microbenchmarks\", arXiv 2206.02874 (2022)";
constexpr const char* kMicro2025 =
    "\"Analyzing Modern NVIDIA GPU cores\" (MICRO 2025): fixed-latency instructions, Turing to Blackwell";
constexpr const char* kFlashGpu = "probes of FlashGPU-Sim's authors, Hopper";
constexpr const char* kH200Streams =
    "FlashGPU-Sim's authors on an H200 at 1785 MHz: 2,235 B per cycle by LDG";

}  // namespace

const std::vector<PublishedMeasurement>& published_measurements() {
    static const std::vector<PublishedMeasurement> all{
        {"h800-pcie", "latency/l1", 32.0, 32.0, "cycles", kH800Dissection, true},
        {"h800-pcie", "latency/l2", 264.4, 264.4, "cycles", kH800Dissection, true},
        {"h800-pcie", "latency/dram", 638, 657, "cycles", kH800Dissection, true},
        {"h800-pcie", "latency/tma/bulk/128", 365, 369, "cycles", kH800Dissection, true},
        {"h800-pcie", "latency/distributed_shared/cluster=2", 181, 181, "cycles", kH800Dissection, true},
        {"h800-pcie", "latency/distributed_shared/cluster=16", 180, 213, "cycles", kH800Dissection, false},
        {"h800-pcie", "tma/bulk/dram/bytes=1024/stages=1/ctas=1", 223, 223, "GB/s", kH800Dissection, false},
        {"h800-pcie", "tma/bulk/dram/bytes=8192/stages=1/ctas=3", 1811, 1811, "GB/s", kH800Dissection, false},
        {"h800-pcie", "latency/ffma", 4, 4, "cycles", kMicro2025, true},
        {"h800-pcie", "latency/mma/m16n8k16_f16_f32", 33, 33, "cycles", kLuo2024, true},
        {"h800-pcie", "latency/ex2", 18.9, 18.9, "cycles", kFlashGpu, true},

        {"h100-sxm", "latency/shared", 28.6, 28.6, "cycles", kH100Study, false},
        {"h100-sxm", "latency/l1", 40.2, 40.2, "cycles", kH100Study, false},
        {"h100-sxm", "latency/l2", 259.9, 259.9, "cycles", kH100Study, false},
        {"h100-sxm", "latency/dram", 570.5, 570.5, "cycles", kH100Study, false},
        {"h100-sxm", "launch/back_to_back/ctas=1", 2.5, 2.5, "us",
         "shortest kernels of a CUDA graph, NVIDIA aiconfigurator's H100 SXM records", true},

        {"h200-sxm", "bandwidth/gpu/read/1024MiB", 3989, 3989, "GB/s", kH200Streams, true},

        {"a100-pcie", "latency/l1", 32.7, 32.7, "cycles", kA100Dissection, true},
        {"a100-pcie", "latency/l2", 202.8, 202.8, "cycles", kA100Dissection, true},
        {"a100-pcie", "latency/dram", 551, 566, "cycles", kA100Dissection, true},
        {"a100-pcie", "latency/ffma", 4, 4, "cycles", kMicro2025, true},
        {"a100-pcie", "latency/mma/m16n8k16_f16_f32", 24.7, 24.7, "cycles", kSun2022, true},
    };
    return all;
}

std::string device_name_of(const std::string& hardware) {
    if (hardware == "h800-pcie") return "NVIDIA H800 PCIe";
    if (hardware == "h100-sxm") return "NVIDIA H100 SXM";
    if (hardware == "h200-sxm") return "NVIDIA H200 SXM";
    if (hardware == "a100-pcie") return "NVIDIA A100 PCIe";
    return hardware;
}

}  // namespace heddle::validation
