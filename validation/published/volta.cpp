// Volta: the V100. Cycles carry over from the PCIe board (1380 MHz) to the SXM2 board (1530 MHz) within the
// chip; bandwidths of L2 are scaled by the clock, and times of DRAM are the same in nanoseconds.
#include "validation/published/microbenchmarks.h"

namespace heddle::validation {
namespace {

constexpr const char* kJia =
    "Jia et al., \"Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking\", arXiv 1804.06826 "
    "(2018)";
constexpr const char* kVoltaRrze = "RRZE gpu-benches, V100 PCIe at 1380 MHz";
constexpr const char* kVoltaMt4g = "MT4G sample results, V100 PCIe (caps-tum/mt4g)";

}  // namespace

std::vector<PublishedMeasurement> published_volta() {
    const std::string v100 = "v100-sxm";
    return {
        {v100, "latency/shared", 19, 23.5, "cycles", std::string(kJia) + ": 19; " + kVoltaMt4g + ": 23.5", true},
        {v100, "latency/l1", 28, 30.0, "cycles", std::string(kJia) + ": 28; " + kVoltaRrze + ": 30.0", true},
        {v100, "latency/l2", 193, 215.1, "cycles",
         std::string(kJia) + ": 193; " + kVoltaRrze + ": 215.1; " + kVoltaMt4g + ": 214.5", true},
        {v100, "latency/dram", 454, 460, "cycles",
         "markdewing/AI_kernels, V100 32 GB: 460 with an index, whose link costs 6; RRZE gpu-benches: 161 ns "
         "above L2"},
        {v100, "latency/ring/cg/4096KiB", 193, 215.1, "cycles", std::string(kJia) + "; " + kVoltaRrze},
        {v100, "bandwidth/sm/l1_load", 124.7, 126.2, "bytes/cycle/SM",
         std::string(kVoltaRrze) + ": 13.8 to 13.9 TB/s"},
        {v100, "bandwidth/gpu/read/4MiB", 2390, 2705, "GB/s",
         std::string(kJia) + ": 1562 B per cycle; " + kVoltaRrze + ": 1768 B per cycle"},
        {v100, "bandwidth/gpu/read/1024MiB", 866, 891, "GB/s", kVoltaRrze},
        {v100, "bandwidth/gpu/write/1024MiB", 895, 895, "GB/s", kVoltaRrze},
        {v100, "bandwidth/gpu/copy/1024MiB", 802, 804, "GB/s", kVoltaRrze},
        {v100, "latency/ffma", 4, 4, "cycles", "NVIDIA Volta tuning guide: dependent FMA in four cycles",
         true},
        {v100, "latency/dfma", 8, 8.67, "cycles", kVoltaRrze},
        {v100, "throughput/dfma/warps=16", 0.96, 1, "instructions/cycle/SM",
         std::string(kVoltaRrze) + ": one in 1.04 cycles"},
    };
}

}  // namespace heddle::validation
