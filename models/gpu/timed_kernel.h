// A kernel as the SM's timing sees it: one compact row per instruction, made once per launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/instruction_source.h"
#include "models/gpu/register_banks.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

/// How an instruction takes its time.
enum class TimingKind : std::uint8_t {
    free,        ///< no issue slot
    arithmetic,  ///< fixed latency
    branch,
    shuffle,  ///< through the shared-memory crossbar, no address
    memory,   ///< load, store or atomic
    async_copy,
    commit_group,
    wait_group,
    warpgroup_product,  ///< wgmma.mma_async
    tensor_commit,      ///< wgmma.commit_group
    tensor_wait,
    bulk_commit,  ///< cp.async.bulk.commit_group
    bulk_wait,
    bulk_wait_read,
    memory_barrier,  ///< arrivals at and tests of mbarriers
    barrier,
    cluster_arrive,  ///< barrier.cluster.arrive
    cluster_wait,
    fence,
    fewer_registers,  ///< setmaxnreg.dec
    more_registers,   ///< setmaxnreg.inc
    launch_dependents,
    dependency_wait,
    tensor_memory_load,  ///< tcgen05.ld
    tensor_memory_store,
    tensor_load_wait,  ///< tcgen05.wait::ld
    tensor_store_wait,
};

/// One cache line of the host.
struct alignas(64) TimedInstruction {
    const ptx::InstructionInfo* info = nullptr;  ///< the instruction as isa/ptx describes it; belongs to the
                                                 ///< LaunchSource
    FineCycles interval = 0;                     ///< for which the pipeline is occupied
    FineCycles tensor_full_time = 0;             ///< of a tensor instruction at the full rate of its type
    std::uint32_t tensor_macs = 0;               ///< multiply-accumulate operations of one warp
    /// Index in TimedKernel::registers of this instruction's registers: first the written ones, then those
    /// that are only read.
    std::uint32_t first_register = 0;
    std::uint16_t written = 0;
    std::uint16_t touched = 0;           ///< written and read
    std::uint32_t latency = 0;           ///< cycles, fixed-latency results; warpgroup_product: its number
    std::uint32_t line = 0;              ///< of 128 bytes of machine code, where it begins
    std::int32_t parameter_offset = -1;  ///< of a load of a kernel parameter: its byte there
    RegisterReads reads;  ///< of instructions with a fixed latency; zeros when the banks are not modelled
    std::uint16_t groups_left = 0;  ///< waits for groups: that may stay unfinished
    Unit unit = Unit::alu;
    std::uint8_t slots = 1;  ///< issue slots
    TimingKind kind = TimingKind::arithmetic;
    ptx::Pipeline pipeline = ptx::Pipeline::none;
    bool waits_for_registers : 1 = true;  ///< and for nothing else
    bool commits : 1 = false;             ///< warpgroup_product: ends its group, as machine code says it
    bool tells_operands : 1 = false;      ///< the first of its registers behind the written ones is ready when operands are read
    std::uint8_t stall = 0;               ///< cycles until the warp's next instruction, as machine code says it
    std::uint32_t pattern = 0;        ///< of accesses to memory: its number in AccessPatterns
};
static_assert(sizeof(TimedInstruction) == 64);

/// All instructions of a launch with the times of one configuration.
struct TimedKernel {
    std::vector<TimedInstruction> instructions;  ///< as in LaunchSource::instruction()
    /// Places in a warp's scoreboard. Where the whole table is known from the start, registers that the same
    /// instructions write share one, since they are always ready together, and those that nothing writes have
    /// none; else a place is the register's identifier.
    std::vector<std::uint16_t> registers;
    std::vector<WarpgroupProduct> products;
    std::size_t scoreboard_size = 0;
    std::uint32_t lines = 0;     ///< of machine code
    std::uint32_t patterns = 0;  ///< instructions that access memory
};

/// Throws heddle::Error, with the user's line, for tensor instructions of a type that the machine's tensor
/// cores lack.
TimedKernel time_kernel(const LaunchSource& source, const GpuConfig& config);
/// Puts the rows of another launch behind those of `kernel`. `first_constant`: byte at which the parameters of that launch begin, of
/// those of all.
void append(TimedKernel& kernel, TimedKernel more, std::uint32_t first_constant);
/// Rows for the instructions that have come to the source's table since.
void extend(TimedKernel& kernel, const LaunchSource& source, const GpuConfig& config);

}  // namespace heddle::models::gpu
