// Ampere: A100 PCIe and SXM (GA100), RTX A6000 (GA102; the A40 and the RTX 3060 have the same SM).
#include "validation/published/microbenchmarks.h"

namespace heddle::validation {
namespace {

constexpr const char* kAmpereDissection = "public dissection log of an A100 PCIe at 1395 MHz";
constexpr const char* kAmpereRrze = "RRZE gpu-benches, A100 80 GB at 1410 MHz";
constexpr const char* kRrzeA40 = "RRZE gpu-benches, A40 (GA102, 84 SMs, GDDR6 of 696 GB/s) at 1740 MHz";
constexpr const char* kSun =
    "Sun et al., \"Dissecting Tensor Cores via Microbenchmarks\", arXiv 2206.02874 (2022)";
constexpr const char* kAbdelkhalik =
    "Abdelkhalik et al., \"Demystifying the Nvidia Ampere Architecture\", arXiv 2208.11174 (2022), A100";
constexpr const char* kAmpereMicro2025 =
    "\"Analyzing Modern NVIDIA GPU cores\" (MICRO 2025): fixed-latency instructions, Turing to Blackwell";
constexpr const char* kGa106 = "AmpereArchViaMicroBenchMark, public repository, RTX 3060 (the SM of GA10x)";

void add_a100_pcie(std::vector<PublishedMeasurement>& all) {
    const std::string a100 = "a100-pcie";
    all.push_back({a100, "latency/l1", 32.7, 33, "cycles",
                   std::string(kAmpereDissection) + ": 32.7; " + kAbdelkhalik + ": 33", true});
    all.push_back({a100, "latency/l2", 200, 202.8, "cycles",
                   std::string(kAmpereDissection) + ": 202.8; " + kAbdelkhalik + ": 200", true});
    all.push_back({a100, "latency/dram", 551, 566, "cycles", kAmpereDissection, true});
    all.push_back({a100, "latency/dram", 290, 290, "cycles", kAbdelkhalik, false,
                   "far from every other measurement of the board: L2 answers most of the chase's loads"});
    all.push_back({a100, "latency/shared", 23, 23, "cycles", kAbdelkhalik});
    all.push_back({a100, "latency/ring/cg/32768KiB", 407, 527, "cycles", kAmpereDissection});
    all.push_back({a100, "latency/ffma", 4, 4, "cycles", kAmpereMicro2025, true});
    all.push_back({a100, "latency/fadd", 4, 4, "cycles", kAbdelkhalik});
    all.push_back({a100, "latency/mma/m16n8k16_f16_f32", 24.7, 24.7, "cycles", kSun, true});
}

void add_a100_sxm(std::vector<PublishedMeasurement>& all) {
    const std::string a100 = "a100-sxm";
    all.push_back(
        {a100, "latency/l1", 32.7, 36.1, "cycles", std::string(kAmpereRrze) + ": 36.0; " + kAmpereDissection + ": 32.7"});
    all.push_back({a100, "latency/l2", 210.8, 211.1, "cycles", kAmpereRrze});
    all.push_back({a100, "latency/ring/cg/16384KiB", 211.0, 211.0, "cycles", kAmpereRrze});
    all.push_back({a100, "latency/ring/cg/4096KiB", 211.0, 211.1, "cycles", kAmpereRrze});
    all.push_back({a100, "latency/ring/cg/32768KiB", 424.4, 424.5, "cycles", kAmpereRrze});
    all.push_back({a100, "latency/ring/cg/131072KiB", 570.2, 570.2, "cycles", kAmpereRrze});
    all.push_back({a100, "latency/ring/cg/262144KiB", 571.5, 571.5, "cycles", kAmpereRrze});
    all.push_back({a100, "bandwidth/sm/l1_load", 124.0, 126.7, "bytes/cycle/SM",
                   std::string(kAmpereRrze) + ": 18.9 to 19.3 TB/s", true});
    all.push_back({a100, "bandwidth/gpu/read/8MiB", 5391, 5437, "GB/s", kAmpereRrze});
    all.push_back({a100, "bandwidth/gpu/read/16MiB", 5325, 5450, "GB/s", kAmpereRrze});
    all.push_back({a100, "bandwidth/gpu/read/1024MiB", 1730, 1880, "GB/s", kAmpereRrze});
    all.push_back({a100, "bandwidth/gpu/write/1024MiB", 1880, 1897, "GB/s", kAmpereRrze});
    all.push_back({a100, "bandwidth/gpu/copy/1024MiB", 1732, 1732, "GB/s", kAmpereRrze});
    all.push_back(
        {a100, "throughput/ffma/warps=16", 2, 2, "instructions/cycle/SM",
         "throughput micro-benchmarks extended from Accel-Sim's, public repository, A100: 64 FMA per cycle"});
    all.push_back(
        {a100, "throughput/dfma/warps=16", 1, 1, "instructions/cycle/SM",
         "throughput micro-benchmarks extended from Accel-Sim's, public repository, A100: 32 FMA per cycle"});
}

void add_a6000(std::vector<PublishedMeasurement>& all) {
    const std::string a6000 = "rtx-a6000";
    all.push_back({a6000, "latency/l1", 33, 33, "cycles", kGa106});
    all.push_back({a6000, "latency/shared", 23, 24, "cycles", kGa106});
    all.push_back({a6000, "latency/ffma", 4, 4, "cycles", kAmpereMicro2025, true});
    all.push_back({a6000, "bandwidth/sm/l1_load", 63.9, 64, "bytes/cycle/SM",
                   std::string(kRrzeA40) + ": 9352 GB/s", true});
    all.push_back(
        {a6000, "bandwidth/gpu/read/4MiB", 2500, 2530, "GB/s", std::string(kRrzeA40) + ": 1397 B per cycle"});
    all.push_back({a6000, "bandwidth/gpu/read/1024MiB", 711, 749, "GB/s",
                   std::string(kRrzeA40) + ": 97.5 % of its peak; 711 measured by a user of the board"});
    all.push_back({a6000, "bandwidth/gpu/write/1024MiB", 749, 749, "GB/s",
                   std::string(kRrzeA40) + ": 97.5 % of its peak"});
    all.push_back({a6000, "bandwidth/gpu/copy/1024MiB", 719, 726, "GB/s",
                   std::string(kRrzeA40) + ": 93.7 to 94.5 % of its peak"});
    all.push_back({a6000, "throughput/ffma/warps=16", 4, 4, "instructions/cycle/SM",
                   "throughput micro-benchmarks extended from Accel-Sim's, public repository, RTX 3090: 128 "
                   "FMA per cycle"});
    all.push_back(
        {a6000, "throughput/imad/warps=16", 2, 2, "instructions/cycle/SM",
         "throughput micro-benchmarks extended from Accel-Sim's, public repository, RTX 3090: 64 per cycle"});
}

}  // namespace

std::vector<PublishedMeasurement> published_ampere() {
    std::vector<PublishedMeasurement> all;
    add_a100_pcie(all);
    add_a100_sxm(all);
    add_a6000(all);
    return all;
}

}  // namespace heddle::validation
