// Hopper: H800 PCIe and H100 PCIe (the same chip at the same clock, 114 SMs and HBM2e), H100 SXM, H200 SXM.
#include "validation/published/microbenchmarks.h"

namespace heddle::validation {
namespace {

constexpr const char* kHopperDissection =
    "public dissection log of an H800 PCIe at 1755 MHz (arXiv 2501.12084's suite)";
constexpr const char* kLuo = "Luo et al., arXiv 2501.12084 (2025), H800 PCIe";
constexpr const char* kRerun =
    "suite of arXiv 2501.12084 on an H100 SXM5 at 1980 MHz, CUDA 12.9 (public fork with raw logs)";
constexpr const char* kRrzePcie = "RRZE gpu-benches, H100 PCIe at 1755 MHz";
constexpr const char* kRrzeH200 = "RRZE gpu-benches, H200";
constexpr const char* kStudy =
    "\"CUDA Performance Study - NVIDIA H100 SXM5\", public repository, 1.98 GHz, CUDA 12.8";
constexpr const char* kHopperMt4g = "MT4G sample results, H100 80GB HBM3 (caps-tum/mt4g)";
constexpr const char* kHopperMicro2025 =
    "\"Analyzing Modern NVIDIA GPU cores\" (MICRO 2025): fixed-latency instructions, Turing to Blackwell";
constexpr const char* kFlashGpu = "probes of FlashGPU-Sim's authors, Hopper";

constexpr const char* kIndexChase =
    "the chase follows indices: an address calculation of some cycles is in every link";
/// The suite's program for TMA divides by 1024 three times and prints "GB/s".
constexpr const char* kGibibytes = ", which counts in GiB: ";
constexpr const char* kPartInL2 = "L2 answers a part of the chase's loads";

void add_h800(std::vector<PublishedMeasurement>& all) {
    const std::string h800 = "h800-pcie";
    // Memory.
    all.push_back({h800, "latency/shared", 29.0, 29.0, "cycles", kLuo, true});
    all.push_back({h800, "latency/l1", 32.0, 34.2, "cycles",
                   std::string(kHopperDissection) + ": 32.0; " + kRrzePcie + ": 34.2", true});
    all.push_back({h800, "latency/l2", 264.4, 265.5, "cycles",
                   std::string(kHopperDissection) + ": 264.4; " + kRrzePcie + ": 265.5", true});
    all.push_back({h800, "latency/dram", 638, 657, "cycles", kHopperDissection, true});
    all.push_back({h800, "latency/ring/cg/16384KiB", 265.5, 265.5, "cycles", kRrzePcie});
    all.push_back({h800, "latency/ring/cg/40960KiB", 475.0, 613, "cycles",
                   std::string(kRrzePcie) + ": 475 to 478; " + kHopperDissection + ", 30-47 MB: 486 to 613"});
    all.push_back({h800, "latency/ring/cg/4096KiB", 265.5, 265.7, "cycles", kRrzePcie});
    all.push_back({h800, "latency/ring/cg/131072KiB", 649.9, 649.9, "cycles", kRrzePcie});
    all.push_back({h800, "latency/ring/cg/262144KiB", 650.0, 652.4, "cycles", kRrzePcie});
    // Bulk copies.
    all.push_back({h800, "latency/tma/bulk/128", 365, 369, "cycles", kHopperDissection, true});
    all.push_back({h800, "latency/tma/far/128", 591, 718, "cycles", kHopperDissection});
    all.push_back({h800, "latency/tma/dram/128", 742, 762, "cycles", kHopperDissection});
    all.push_back({h800, "tma/bulk/dram/bytes=1024/stages=1/ctas=1", 239.4, 239.4, "GB/s",
                   std::string(kHopperDissection) + kGibibytes + "223"});
    all.push_back({h800, "tma/bulk/dram/bytes=8192/stages=1/ctas=3", 1944.6, 1944.6, "GB/s",
                   std::string(kHopperDissection) + kGibibytes + "1811"});
    // Clusters.
    all.push_back({h800, "latency/distributed_shared/cluster=2", 181, 207, "cycles",
                   std::string(kHopperDissection) + ": by pair of SMs", true});
    all.push_back({h800, "latency/distributed_shared/cluster=4", 201, 207, "cycles", kHopperDissection});
    all.push_back({h800, "latency/distributed_shared/cluster=16", 180, 213, "cycles", kHopperDissection});
    // Bandwidths.
    all.push_back({h800, "bandwidth/sm/shared_load", 127.4, 127.4, "bytes/cycle/SM", kLuo});
    all.push_back({h800, "bandwidth/sm/l1_load", 125.8, 125.8, "bytes/cycle/SM", kLuo});
    all.push_back({h800, "bandwidth/gpu/read/16MiB", 6870, 7849, "GB/s",
                   std::string(kRrzePcie) + ": 6870; " + kLuo + ": 4472.3 B per cycle"});
    const std::string both = std::string(kRrzePcie) + ", by size; " + kLuo + ": 4472.3 B per cycle, any size";
    all.push_back({h800, "bandwidth/gpu/read/8MiB", 6979, 7849, "GB/s", both});
    all.push_back({h800, "bandwidth/gpu/read/24MiB", 6841, 7849, "GB/s", both});
    all.push_back({h800, "bandwidth/gpu/read/1024MiB", 1942, 1973, "GB/s", kRrzePcie});
    all.push_back({h800, "bandwidth/gpu/write/1024MiB", 2015, 2018, "GB/s", kRrzePcie});
    all.push_back({h800, "bandwidth/gpu/copy/1024MiB", 1704, 1704, "GB/s", kRrzePcie});
    // Instructions.
    all.push_back({h800, "latency/ffma", 4, 4, "cycles", kHopperMicro2025, true});
    all.push_back({h800, "latency/ex2", 18.9, 18.9, "cycles", kFlashGpu, true});
}

void add_h100(std::vector<PublishedMeasurement>& all) {
    const std::string h100 = "h100-sxm";
    // Memory.
    all.push_back({h100, "latency/shared", 28.6, 29.0, "cycles",
                   std::string(kRerun) + ": 29.0; " + kStudy + ": 28.6", true});
    all.push_back({h100, "latency/l1", 41.1, 41.1, "cycles", kRerun, false, kIndexChase});
    all.push_back({h100, "latency/l1", 40.2, 40.2, "cycles", kStudy, false, kIndexChase});
    all.push_back({h100, "latency/l1", 38.0, 38.0, "cycles", kHopperMt4g, false,
                   "single loads, each with the reading of the clock"});
    all.push_back(
        {h100, "latency/l2", 259.9, 272.3, "cycles", std::string(kStudy) + ": 259.9; " + kRerun + ": 272.3"});
    all.push_back(
        {h100, "latency/dram", 682, 690, "cycles",
         "markdewing/AI_kernels, GH200 (the same chip, HBM3, 1980 MHz): 690 with an index, whose link "
         "costs 8"});
    all.push_back({h100, "latency/dram", 570.5, 570.5, "cycles", kStudy, false,
                   std::string(kPartInL2) + " (256 MB, a fifth of which it holds)"});
    all.push_back(
        {h100, "latency/dram", 481.7, 484.4, "cycles", kRerun, false,
         std::string(kPartInL2) + " (links of 64 bytes in order: every other one is in the line's sectors)"});
    // Bandwidths.
    all.push_back({h100, "bandwidth/sm/shared_load", 127.5, 127.5, "bytes/cycle/SM", kRerun});
    all.push_back({h100, "bandwidth/sm/l1_load", 125.4, 126.2, "bytes/cycle/SM", kRerun});
    all.push_back({h100, "bandwidth/gpu/read/16MiB", 8330, 9520, "GB/s",
                   std::string(kRerun) + ": 4207 to 4808 B per cycle"});
    all.push_back({h100, "bandwidth/gpu/sum_of_five/1024MiB", 3008, 3013, "GB/s",
                   std::string(kRerun) + ": a sum of five vectors, 1519 B per cycle"});
    // Instructions.
    all.push_back({h100, "latency/ffma", 4.07, 4.07, "cycles", kRerun});
    all.push_back({h100, "latency/imad", 4.12, 4.12, "cycles", kRerun});
    all.push_back({h100, "latency/dfma", 8.04, 8.04, "cycles", kRerun});
    all.push_back({h100, "throughput/ffma/warps=16", 3.88, 4, "instructions/cycle/SM",
                   std::string(kRerun) + ": 248.3 FLOP per cycle"});
    all.push_back({h100, "throughput/dfma/warps=16", 1.97, 2, "instructions/cycle/SM",
                   std::string(kRerun) + ": 126.2 FLOP per cycle"});
    all.push_back({h100, "throughput/imad/warps=16", 1.98, 2, "instructions/cycle/SM",
                   std::string(kRerun) + ": 126.9 operations per cycle"});
    // Tensor cores: mma.sync, dense; a chain with one warp, then four chains with eight.
    all.push_back({h100, "latency/mma/m16n8k16_f16_f32", 24.1, 24.1, "cycles", kRerun, true});
    all.push_back({h100, "latency/mma/m16n8k16_f16_f16", 24.1, 24.1, "cycles", kRerun});
    all.push_back({h100, "latency/mma/m16n8k8_f16_f32", 16.0, 16.0, "cycles", kRerun, true});
    all.push_back({h100, "latency/mma/m16n8k8_tf32_f32", 24.1, 24.1, "cycles", kRerun});
    all.push_back({h100, "latency/mma/m16n8k16_s8_s32", 16.0, 16.0, "cycles", kRerun});
    all.push_back({h100, "latency/mma/m16n8k32_s8_s32", 24.1, 24.1, "cycles", kRerun});
    all.push_back(
        {h100, "throughput/mma/m16n8k16_f16_f32/warps=8/chains=4", 1365, 1365, "MAC/cycle/SM", kRerun});
    all.push_back(
        {h100, "throughput/mma/m16n8k8_f16_f32/warps=8/chains=4", 1012, 1024, "MAC/cycle/SM", kRerun});
    all.push_back(
        {h100, "throughput/mma/m16n8k8_tf32_f32/warps=8/chains=4", 683, 683, "MAC/cycle/SM", kRerun});
    all.push_back(
        {h100, "throughput/mma/m16n8k32_s8_s32/warps=8/chains=4", 2723, 2723, "MAC/cycle/SM", kRerun});
    all.push_back(
        {h100, "throughput/mma/m16n8k16_s8_s32/warps=8/chains=4", 2032, 2032, "MAC/cycle/SM", kRerun});
    all.push_back(
        {h100, "launch/back_to_back/ctas=1", 2.5, 2.5, "us",
         "shortest kernels of a CUDA graph, NVIDIA aiconfigurator's H100 SXM records", false,
         "the shortest recorded kernel is a GEMM of one row, which waits for DRAM; the benchmark's kernel "
         "is empty"});
}

void add_h200(std::vector<PublishedMeasurement>& all) {
    const std::string h200 = "h200-sxm";
    all.push_back({h200, "bandwidth/gpu/read/1024MiB", 3888, 4103, "GB/s",
                   std::string(kRrzeH200) +
                       ": 3888; FlashGPU-Sim's authors: 2,235 B per cycle of 1785 MHz by loads, "
                       "2,299 by TMA",
                   true});
    all.push_back({h200, "bandwidth/gpu/write/1024MiB", 3876, 3898, "GB/s", kRrzeH200});
    all.push_back({h200, "bandwidth/gpu/read/8MiB", 10075, 10252, "GB/s", kRrzeH200});
    all.push_back({h200, "bandwidth/gpu/read/24MiB", 9675, 9767, "GB/s", kRrzeH200});
    all.push_back({h200, "bandwidth/gpu/read/16MiB", 9765, 9920, "GB/s", kRrzeH200});
    all.push_back({h200, "bandwidth/gpu/read/32MiB", 9629, 9769, "GB/s", kRrzeH200});
    all.push_back({h200, "bandwidth/sm/l1_load", 126, 128, "bytes/cycle/SM", kRrzeH200});
}

}  // namespace

std::vector<PublishedMeasurement> published_hopper() {
    std::vector<PublishedMeasurement> all;
    add_h800(all);
    add_h100(all);
    add_h200(all);
    return all;
}

}  // namespace heddle::validation
