// Everything that makes one GPU different from another, as numbers. The defaults describe an H100 SXM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "isa/target/target.h"
#include "models/common/parameter.h"
#include "models/gpu/constant_cache.h"
#include "models/gpu/instruction_fetch.h"
#include "models/gpu/issue_ports.h"
#include "models/gpu/power.h"
#include "models/gpu/register_banks.h"
#include "models/gpu/translation.h"
#include "models/gpu/tensor_unit.h"
#include "models/gpu/warpgroup_unit.h"
#include "models/memory/l2_config.h"
#include "models/memory/memory_channel.h"

namespace heddle::models::gpu {

inline constexpr unsigned kSubCores = 4;  ///< of an SM, Volta onward

/// Which of the warps that can issue does so; the one that issued last goes first in the greedy policies.
enum class SchedulerPolicy : std::uint8_t { greedy_then_oldest, greedy_then_youngest, round_robin };

/// An SM and how many there are.
struct SmConfig {
    std::uint32_t count = 132;                     ///< SMs of the device
    std::uint32_t gpcs = 8;                        ///< graphics processing clusters that the SMs are dealt to
    std::vector<std::uint32_t> gpc_sizes;          ///< SMs of each GPC; empty: dealt evenly
    std::uint32_t warps = 64;                      ///< resident at most
    std::uint32_t ctas = 32;                       ///< resident at most
    std::uint32_t threads = 2048;                  ///< resident threads of an SM, at most
    std::uint32_t registers = 65536;               ///< of 32 bits, per SM
    std::uint32_t register_unit = 256;             ///< registers are given to a warp in multiples of this
    std::uint32_t max_registers_per_thread = 255;  ///< that a kernel may use
    SchedulerPolicy scheduler = SchedulerPolicy::greedy_then_oldest;  ///< which of several ready warps issues
    std::uint32_t branch_latency = 10;   ///< from a branch to the warp's next instruction
    std::uint32_t barrier_latency = 15;  ///< from the last arrival to the released warps' next instruction
};

/// Multiply-accumulates per cycle and SM, dense, all sub-cores together.
struct TensorConfig {
    double f16 = 2048;   ///< fp16 and bf16
    double tf32 = 1024;  ///< 19-bit floating point in 32-bit registers
    double f8 = 4096;    ///< 8-bit floating point, e4m3 and e5m2
    double s8 = 4096;    ///< 8-bit integers
    double s4 = 2048;    ///< 4-bit integers
    double b1 = 32768;   ///< single bits
    double f4 = 0;       ///< 4-bit floating point with block scales, two to a byte (mxf4, mxf4nvf4)
    double f64 = 128;    ///< fp64
    /// Part of the rates above that mma.sync reaches. Hopper keeps the peak for wgmma; mma.sync saturates
    /// near 66 %.
    double mma_sync_efficiency = 0.66;
    std::uint32_t mma_sync_minimum = 4;  ///< cycles of a sub-core's tensor core, however small the product
    /// Of a dependent mma.sync: latency + latency_growth x the cycles that it takes at the full rate of its
    /// type. On an H100 m16n8k8 in f16 (2 cycles) takes 16 and m16n8k16 (4 cycles) takes 24.
    std::uint32_t latency = 8;
    double latency_growth = 4;
};

/// Shared memory. Sizes are bytes, latencies are cycles.
struct SharedConfig {
    std::uint64_t bytes = 233472;           ///< per SM at most
    std::uint64_t bytes_per_cta = 232448;   ///< dynamic and static, at most
    std::uint64_t reserved_per_cta = 1024;  ///< bytes that the system takes of each thread block's
    std::uint64_t unit = 128;               ///< shared memory is given to a CTA in multiples of this
    std::uint32_t latency = 29;             ///< load to use
    std::uint32_t atomic_latency = 60;      ///< of a shared atomic that returns the old value
    std::uint32_t shuffle_latency = 24;     ///< cycles from shfl to the use of its result
};

/// The L1 cache of an SM. Latencies are cycles.
struct L1Config {
    std::uint64_t unified_bytes = 256 << 10;  ///< L1 and shared memory together
    std::uint32_t ways = 8;                   ///< lines in a set
    std::uint32_t latency = 32;               ///< load to use, hit
    std::uint32_t miss_latency = 24;          ///< from issue to the request leaving the SM
    std::uint32_t return_latency = 10;        ///< from the last sector's arrival at the SM to its use
    double bytes_per_cycle = 128;             ///< of loads, to the registers: a word for each lane
    std::uint32_t mshrs = 512;                ///< lines that may wait for L2
    std::uint32_t stores = 512;               ///< store requests that may wait for L2's acknowledgement
};

/// The load-store unit of an SM.
struct LoadStoreConfig {
    double address_interval = 4;      ///< cycles per warp instruction and sub-core: 8 lanes
    std::uint32_t queue = 4;          ///< instructions of a sub-core that wait for the SM's unit
    double instruction_interval = 1;  ///< cycles per warp instruction, all sub-cores together
    double wavefront_bytes = 128;     ///< moved per cycle between L1 or shared memory and registers
};

/// The texture units of an SM, which read through L1.
struct TextureConfig {
    double quads_per_cycle = 4;  ///< of up to four texels of a lane, filtered: one for each unit
};

/// Operations on an mbarrier, to the use of their result.
struct MemoryBarrierConfig {
    std::uint32_t arrive_latency = 29;     ///< of an arrive that returns the state
    std::uint32_t try_wait_latency = 32;   ///< of a phase that is complete
    std::uint32_t test_wait_latency = 42;  ///< of test_wait
};

/// Thread block clusters and the network between the SMs that runs under them.
struct ClusterConfig {
    std::uint32_t size = 16;      ///< thread blocks of a cluster at most; 0: no clusters
    std::uint32_t latency = 180;  ///< load to use, between the two SMs nearest to the middle of the GPC
    std::uint32_t spread = 33;    ///< more between the two that are furthest from it
    std::uint32_t barrier_latency = 197;  ///< from the last arrival at barrier.cluster to its end
    double bytes_per_cycle = 32;          ///< through the port of an SM, in and out together
};

/// The engine that carries out bulk and tensor copies (TMA).
struct BulkCopyConfig {
    std::uint32_t interval = 32;   ///< cycles between the starts of two copies
    std::uint32_t latency = 50;    ///< from issue to the first request, beyond that of a load
    std::uint32_t requests = 384;  ///< lines under way at most
    double write_conflict = 0;     ///< part of the lines written whose cycle products' operands lose
};

/// What the start of a kernel costs. Times are seconds.
struct LaunchConfig {
    double gap = 1.0e-6;     ///< seconds of `before` that a profiler does not count as the kernel's
    double before = 1.2e-6;  ///< seconds from the end of the previous work to the first CTA, in a stream
    double graph_before = 0.83e-6;    ///< the same between two kernels of one CUDA graph
    double after = 0.6e-6;            ///< seconds from the last CTA's end to the end of the kernel
    double cta_interval = 1.19;       ///< cycles between two CTAs that the scheduler hands out
    std::uint32_t cta_latency = 370;  ///< cycles from handing out a CTA to its first instruction
    std::uint32_t warp_interval = 8;  ///< cycles between the starts of two warps of an SM
};

/// The link to the host, for copies between host and device. They are not simulated but estimated.
struct HostConfig {
    double bandwidth = 55e9;  ///< bytes per second that large copies from pinned memory reach (PCIe 5.0 x16)
    double latency = 1.5e-6;  ///< seconds of a copy of a few bytes
};

/// A device's links to others, all together; the defaults describe an H100.
struct PeerConfig {
    double bandwidth = 450e9;  ///< bytes per second in each direction, headers included; 0: the device has no peers
    double latency = 400e-9;   ///< seconds from a GPC's port to the L2 of the other device, beyond the way to its own L2
    double header = 32;        ///< bytes of a packet beside its data; a packet has a line, or the sectors of one, at most
};

/// A whole GPU. Every configuration below has a describe() that lists its fields for hardware files.
struct GpuConfig {
    unsigned compute_capability = 90;  ///< 90 for sm_90: selects what isa/target knows of the generation
    double clock = 1.98e9;             ///< SM clock, hertz: cycles everywhere are of this clock
    /// The parts of the device. Cycles are those of `clock`; rates are per SM or per device as the part's
    /// header says.
    SmConfig sm;
    PipelinesConfig pipelines;
    RegisterBanksConfig register_banks;
    InstructionCacheConfig instruction_cache;
    ConstantCacheConfig constant_cache;
    TensorConfig tensor;
    WarpgroupConfig wgmma;
    TensorUnitConfig tcgen05;
    MemoryBarrierConfig memory_barrier;
    SharedConfig shared;
    L1Config l1;
    LoadStoreConfig load_store;
    TextureConfig texture;
    ClusterConfig cluster;
    BulkCopyConfig bulk_copy;
    L2Config l2;
    CrossbarConfig crossbar;
    TranslationConfig translation;
    MemoryConfig hbm;
    LaunchConfig launch;
    HostConfig host;
    PeerConfig peer;
    PowerConfig power;
};

/// Lists every field with its path, unit, range and meaning.
void describe(GpuConfig& config, ParameterList& list);
/// What kernel generators must know of the machine.
target::GpuTarget target_of(const GpuConfig& config);
/// What is impossible about the machine, one sentence each; empty when nothing is.
std::vector<std::string> check(const GpuConfig& config);

/// The same device, its kernels launched as nodes of a CUDA graph: less time between one and the next.
GpuConfig in_graph(GpuConfig config);
/// The same device after working hard for long: its memory is hot and refreshed more often.
GpuConfig hot(GpuConfig config);

}  // namespace heddle::models::gpu
