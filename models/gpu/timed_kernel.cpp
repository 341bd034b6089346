#include "models/gpu/timed_kernel.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "isa/common/error.h"

namespace heddle::models::gpu {
namespace {

double tensor_rate(const ptx::InstructionInfo& info, const GpuConfig& config, const std::string& kernel) {
    double rate = 0;
    switch (info.tensor_type) {
        case ptx::Type::f16:
        case ptx::Type::f16x2:
        case ptx::Type::bf16:
        case ptx::Type::bf16x2:
            rate = config.tensor.f16;
            break;
        case ptx::Type::tf32:
        case ptx::Type::f32:
            rate = config.tensor.tf32;
            break;
        case ptx::Type::e4m3:
        case ptx::Type::e5m2:
            rate = config.tensor.f8;
            break;
        case ptx::Type::s8:
        case ptx::Type::u8:
            rate = config.tensor.s8;
            break;
        case ptx::Type::s4:
        case ptx::Type::u4:
            rate = config.tensor.s4;
            break;
        case ptx::Type::b1:
            rate = config.tensor.b1;
            break;
        case ptx::Type::f64:
            rate = config.tensor.f64;
            break;
        default:
            break;
    }
    if (rate <= 0) {
        throw Error(
            "the tensor cores of this GPU do not take type " + std::string(ptx::name_of(info.tensor_type)),
            {"PTX of kernel " + kernel, info.line, ""},
            "choose another kernel, or set tensor.macs_per_cycle in the hardware file");
    }
    return rate * (info.asynchronous_tensor ? 1.0 : config.tensor.mma_sync_efficiency) / kSubCores;
}

bool reaches_beyond_the_sm(ptx::StateSpace space) {
    return space == ptx::StateSpace::global || space == ptx::StateSpace::generic ||
           space == ptx::StateSpace::local;
}

std::uint32_t memory_barrier_latency(ptx::MemoryBarrierUse use, const MemoryBarrierConfig& config) {
    switch (use) {
        case ptx::MemoryBarrierUse::try_wait:
            return config.try_wait_latency;
        case ptx::MemoryBarrierUse::test_wait:
            return config.test_wait_latency;
        default:
            return config.arrive_latency;
    }
}

// The four warps of a warpgroup fetch their operands at the same time, so that each waits for all of them.
WarpgroupProduct product_of(const ptx::InstructionInfo& info, FineCycles multiply, const GpuConfig& config) {
    const std::uint32_t bytes = info.tensor_operand_bytes * 4;
    return {multiply, fine(bytes / config.load_store.wavefront_bytes),
            info.tensor_a_in_registers ? config.wgmma.register_tail : config.wgmma.shared_tail};
}

/// The class whose ports and latency the instruction has.
ptx::Operation timed_operation(const ptx::InstructionInfo& info, const PipelinesConfig& pipelines) {
    return info.uniform && pipelines.uniform_datapath ? ptx::Operation::uniform : info.operation;
}

bool is_sequence_around_one(ptx::Operation operation) {
    return operation == ptx::Operation::special || operation == ptx::Operation::warp_reduce ||
           operation == ptx::Operation::bit_count || operation == ptx::Operation::conversion ||
           operation == ptx::Operation::wide_conversion;
}

void time_arithmetic(TimedInstruction& row, const ptx::InstructionInfo& info,
                     const PipelinesConfig& pipelines) {
    const ptx::Operation operation = timed_operation(info, pipelines);
    const OperationConfig& config = pipelines[operation];
    const unsigned operations = std::max<unsigned>(1, info.machine_operations);
    row.unit = config.port;
    if (is_sequence_around_one(operation)) {
        // One operation goes through the slow unit; those around it are ordinary arithmetic.
        row.interval = fine(config.interval);
        row.latency = config.latency + (operations - 1) * pipelines[ptx::Operation::fp32].latency;
    } else {
        row.interval = fine(config.interval * operations);
        row.latency = config.latency * operations;  // the operations of one instruction mostly form a chain
    }
}

TimedInstruction time_instruction(const ptx::InstructionInfo& info, const GpuConfig& config,
                                  const std::string& kernel) {
    TimedInstruction row;
    row.info = &info;
    row.slots = std::max<std::uint8_t>(1, info.machine_operations);
    row.interval = fine(1);
    row.latency = 1;
    switch (info.pipeline) {
        case ptx::Pipeline::none:
            row.kind = TimingKind::free;
            row.slots = 0;
            break;
        case ptx::Pipeline::fp32:
        case ptx::Pipeline::integer:
        case ptx::Pipeline::fp64:
        case ptx::Pipeline::half:
        case ptx::Pipeline::special:
            time_arithmetic(row, info, config.pipelines);
            break;
        case ptx::Pipeline::tensor: {
            const double cycles = info.tensor_macs / tensor_rate(info, config, kernel);
            row.interval = fine(
                info.asynchronous_tensor ? cycles : std::max<double>(cycles, config.tensor.mma_sync_minimum));
            row.tensor_full_time =
                fine(info.asynchronous_tensor ? cycles : cycles * config.tensor.mma_sync_efficiency);
            row.latency = config.tensor.latency +
                          static_cast<std::uint32_t>(std::ceil(
                              config.tensor.latency_growth * cycles *
                              (info.asynchronous_tensor ? 1.0 : config.tensor.mma_sync_efficiency)));
            row.unit = Unit::tensor;
            row.slots = 1;
            if (info.asynchronous_tensor) {  // WarpgroupUnit takes it from there
                row.kind = TimingKind::warpgroup_product;
                row.interval = 0;
            }
            break;
        }
        case ptx::Pipeline::load_store:
            row.kind = info.async_copy                                          ? TimingKind::async_copy
                       : info.reads_memory || info.writes_memory || info.atomic ? TimingKind::memory
                                                                                : TimingKind::shuffle;
            row.interval = fine(config.load_store.address_interval * row.slots);
            row.latency = config.shared.shuffle_latency;
            row.unit = Unit::load_store;
            if (info.async_copy ||
                (reaches_beyond_the_sm(info.space) && (info.reads_memory || info.atomic))) {
                row.unit = Unit::global_load;
            } else if (reaches_beyond_the_sm(info.space) && info.writes_memory) {
                row.unit = Unit::global_store;
            }
            if (info.memory_barrier != ptx::MemoryBarrierUse::none) {
                row.kind = TimingKind::memory_barrier;
                row.latency = memory_barrier_latency(info.memory_barrier, config.memory_barrier);
            }
            break;
        case ptx::Pipeline::branch:
            row.kind = TimingKind::branch;
            row.unit = Unit::control;
            break;
        case ptx::Pipeline::barrier:
            row.kind = TimingKind::arithmetic;
            row.unit = Unit::control;
            break;
    }
    switch (info.synchronisation) {
        case ptx::Synchronisation::none:
            break;
        case ptx::Synchronisation::cta_barrier:
            row.kind = TimingKind::barrier;
            break;
        case ptx::Synchronisation::cluster_arrive:
            row.kind = TimingKind::cluster_arrive;
            break;
        case ptx::Synchronisation::cluster_barrier:
            row.kind = TimingKind::cluster_wait;
            break;
        case ptx::Synchronisation::async_copy_commit:
            row.kind = TimingKind::commit_group;
            break;
        case ptx::Synchronisation::async_copy_wait:
            row.kind = TimingKind::wait_group;
            break;
        case ptx::Synchronisation::memory_fence:
            row.kind = TimingKind::fence;
            break;
        case ptx::Synchronisation::exit:
            row.kind = TimingKind::branch;
            break;
        case ptx::Synchronisation::wgmma_fence:
            break;
        case ptx::Synchronisation::fewer_registers:
            row.kind = TimingKind::fewer_registers;
            break;
        case ptx::Synchronisation::more_registers:
            row.kind = TimingKind::more_registers;
            break;
            break;
        case ptx::Synchronisation::launch_dependents:
            row.kind = TimingKind::launch_dependents;
            break;
        case ptx::Synchronisation::dependency_wait:
            row.kind = TimingKind::dependency_wait;
            break;
        case ptx::Synchronisation::wgmma_commit:
            row.kind = TimingKind::tensor_commit;
            break;
        case ptx::Synchronisation::wgmma_wait:
            row.kind = TimingKind::tensor_wait;
            break;
        case ptx::Synchronisation::bulk_commit:
            row.kind = TimingKind::bulk_commit;
            break;
        case ptx::Synchronisation::bulk_wait:
            row.kind = TimingKind::bulk_wait;
            break;
        case ptx::Synchronisation::bulk_wait_read:
            row.kind = TimingKind::bulk_wait_read;
            break;
    }
    return row;
}

}  // namespace

TimedKernel time_kernel(const ptx::LoadedKernel& kernel, const GpuConfig& config) {
    TimedKernel result;
    result.scoreboard_size = kernel.scoreboard_size();
    result.instructions.reserve(kernel.instructions().size());
    const std::vector<RegisterReads> reads = register_reads(kernel, config.register_banks);
    std::uint64_t position = 0;  // in machine instructions
    for (const ptx::InstructionInfo& info : kernel.instructions()) {
        TimedInstruction row = time_instruction(info, config, kernel.name());
        row.first_register = static_cast<std::uint32_t>(result.registers.size());
        row.line = static_cast<std::uint32_t>(position / kLineInstructions);
        row.reads = reads[result.instructions.size()];
        position += info.machine_operations;
        // Accumulators of asynchronous products are guarded by waits, not by the scoreboard.
        if (!info.asynchronous_tensor) {
            result.registers.insert(result.registers.end(), info.writes.begin(), info.writes.end());
            row.written = static_cast<std::uint16_t>(info.writes.size());
        }
        for (const std::uint16_t id : info.reads) {
            if (info.asynchronous_tensor &&
                std::find(info.writes.begin(), info.writes.end(), id) != info.writes.end())
                continue;
            const auto first = result.registers.begin() + row.first_register;
            if (std::find(first, result.registers.end(), id) == result.registers.end()) {
                result.registers.push_back(id);
            }
        }
        row.touched = static_cast<std::uint16_t>(result.registers.size() - row.first_register);
        if (row.kind == TimingKind::warpgroup_product) {
            row.latency = static_cast<std::uint32_t>(result.products.size());
            result.products.push_back(product_of(info, row.tensor_full_time, config));
        }
        result.instructions.push_back(row);
    }
    result.lines = static_cast<std::uint32_t>(position / kLineInstructions) + 1;
    return result;
}

}  // namespace heddle::models::gpu
