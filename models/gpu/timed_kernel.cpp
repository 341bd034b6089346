#include "models/gpu/timed_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "isa/common/error.h"

namespace heddle::models::gpu {
namespace {

/// Part of a type's rate that an instruction reaches. FP64 has no other form than mma.sync, on Hopper too.
double efficiency_of(const ptx::InstructionInfo& info, const GpuConfig& config) {
    return info.asynchronous_tensor || info.tensor_type == ptx::Type::f64 ? 1.0
                                                                          : config.tensor.mma_sync_efficiency;
}

double tensor_rate(const ptx::InstructionInfo& info, const GpuConfig& config, const LaunchSource& source) {
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
        case ptx::Type::e2m1:
            rate = config.tensor.f4;
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
            source.place_of(info),
            "choose another kernel, or set tensor.macs_per_cycle in the hardware file");
    }
    return rate * efficiency_of(info, config) / kSubCores;
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

// Work that goes on by itself takes no more of the sub-core than its issue.
void time_tensor_memory(TimedInstruction& row, const ptx::InstructionInfo& info) {
    switch (info.tensor_memory) {
        case ptx::TensorMemoryUse::none:
            return;
        case ptx::TensorMemoryUse::load:
            row.kind = TimingKind::tensor_memory_load;
            break;
        case ptx::TensorMemoryUse::store:
            row.kind = TimingKind::tensor_memory_store;
            break;
        case ptx::TensorMemoryUse::wait_load:
            row.kind = TimingKind::tensor_load_wait;
            break;
        case ptx::TensorMemoryUse::wait_store:
            row.kind = TimingKind::tensor_store_wait;
            break;
        case ptx::TensorMemoryUse::allocate:
        case ptx::TensorMemoryUse::issue:
            row.kind = TimingKind::arithmetic;
            break;
    }
    row.unit = Unit::control;
    row.interval = fine(1);
    row.latency = 1;
}

TimedInstruction time_instruction(const ptx::InstructionInfo& info, const GpuConfig& config,
                                  const LaunchSource& source) {
    TimedInstruction row;
    row.info = &info;
    row.stall = info.stall;
    row.pipeline = info.pipeline;
    row.tensor_macs = info.tensor_macs;
    row.groups_left = info.async_copy_groups_left;
    row.parameter_offset = info.parameter_offset;
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
            const double cycles = info.tensor_macs / tensor_rate(info, config, source);
            row.interval = fine(
                info.asynchronous_tensor ? cycles : std::max<double>(cycles, config.tensor.mma_sync_minimum));
            row.tensor_full_time = fine(cycles * efficiency_of(info, config));
            row.latency = config.tensor.latency +
                          static_cast<std::uint32_t>(
                              std::ceil(config.tensor.latency_growth * cycles * efficiency_of(info, config)));
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
    time_tensor_memory(row, info);
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
        case ptx::Synchronisation::launch_dependents:
            row.kind = TimingKind::launch_dependents;
            break;
        case ptx::Synchronisation::dependency_wait:
            row.kind = TimingKind::dependency_wait;
            break;
        case ptx::Synchronisation::wgmma_commit:
            if (info.asynchronous_tensor)
                row.commits = true;
            else
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

bool waits_for_registers_alone(TimingKind kind) {
    switch (kind) {
        case TimingKind::tensor_load_wait:
        case TimingKind::tensor_store_wait:
        case TimingKind::wait_group:
        case TimingKind::warpgroup_product:
        case TimingKind::tensor_wait:
        case TimingKind::bulk_wait:
        case TimingKind::bulk_wait_read:
        case TimingKind::fence:
        case TimingKind::more_registers:
        case TimingKind::dependency_wait:
            return false;
        default:
            return true;
    }
}

void add_registers(TimedKernel& kernel, TimedInstruction& row, const ptx::InstructionInfo& info) {
    std::vector<std::uint16_t>& registers = kernel.registers;
    row.first_register = static_cast<std::uint32_t>(registers.size());
    // Accumulators of asynchronous products are guarded by waits, not by the scoreboard.
    if (!info.asynchronous_tensor) {
        registers.insert(registers.end(), info.writes.begin(), info.writes.end());
        row.written = static_cast<std::uint16_t>(info.writes.size());
    }
    if (info.operands_read != ptx::kNoScoreboard) {
        registers.push_back(info.operands_read);
        row.tells_operands = true;
    }
    for (const std::uint16_t id : info.reads) {
        if (info.asynchronous_tensor &&
            std::find(info.writes.begin(), info.writes.end(), id) != info.writes.end())
            continue;
        if (std::find(registers.begin() + row.first_register, registers.end(), id) == registers.end())
            registers.push_back(id);
    }
    row.touched = static_cast<std::uint16_t>(registers.size() - row.first_register);
}

/// The places that registers share, in the order in which the code comes to them.
class ScoreboardPlaces {
  public:
    explicit ScoreboardPlaces(const TimedKernel& kernel) : writers_(kernel.scoreboard_size) {
        for (std::uint32_t i = 0; i < kernel.instructions.size(); ++i) {
            const TimedInstruction& row = kernel.instructions[i];
            for (unsigned r = 0; r < row.written; ++r)
                writers_[kernel.registers[row.first_register + r]].push_back(i);
        }
    }
    /// Adds the places of registers [first, end) to `places`, from its element `begin` on each once.
    void add(const std::uint16_t* first, const std::uint16_t* end, std::vector<std::uint16_t>& places,
             std::size_t begin) {
        for (; first != end; ++first) {
            if (writers_[*first].empty()) continue;
            const auto count = static_cast<std::uint16_t>(place_of_.size());
            const std::uint16_t place = place_of_.try_emplace(writers_[*first], count).first->second;
            const auto from = places.begin() + static_cast<std::ptrdiff_t>(begin);
            if (std::find(from, places.end(), place) == places.end()) places.push_back(place);
        }
    }
    std::size_t count() const { return place_of_.size(); }

  private:
    std::vector<std::vector<std::uint32_t>> writers_;               // by register: instructions
    std::map<std::vector<std::uint32_t>, std::uint16_t> place_of_;  // by writers
};

void share_places(TimedKernel& kernel) {
    ScoreboardPlaces places(kernel);
    std::vector<std::uint16_t> shared;
    for (TimedInstruction& row : kernel.instructions) {
        const std::uint16_t* const registers = kernel.registers.data() + row.first_register;
        const std::size_t begin = shared.size();
        places.add(registers, registers + row.written, shared, begin);
        const std::size_t written = shared.size() - begin;
        places.add(registers + row.written, registers + row.touched, shared, begin);
        row.first_register = static_cast<std::uint32_t>(begin);
        row.written = static_cast<std::uint16_t>(written);
        row.touched = static_cast<std::uint16_t>(shared.size() - begin);
    }
    kernel.registers = std::move(shared);
    kernel.scoreboard_size = places.count();
}

}  // namespace

TimedKernel time_kernel(const LaunchSource& source, const GpuConfig& config) {
    TimedKernel result;
    result.scoreboard_size = source.scoreboard_size();
    extend(result, source, config);
    if (source.is_complete() && !source.has_control_words()) share_places(result);
    return result;
}

void extend(TimedKernel& kernel, const LaunchSource& source, const GpuConfig& config) {
    const std::size_t first = kernel.instructions.size();
    if (first == source.instruction_count()) return;
    const std::vector<RegisterReads> reads = source.register_reads(config.register_banks, first);
    for (std::size_t i = first; i < source.instruction_count(); ++i) {
        const ptx::InstructionInfo& info = source.instruction(i);
        TimedInstruction row = time_instruction(info, config, source);
        row.line = static_cast<std::uint32_t>(source.code_position(i) / kLineInstructions);
        row.reads = reads[i - first];
        const std::uint64_t end = source.code_position(i) + info.machine_operations;
        kernel.lines = std::max(kernel.lines, static_cast<std::uint32_t>(end / kLineInstructions) + 1);
        add_registers(kernel, row, info);
        if (row.kind == TimingKind::warpgroup_product) {
            row.latency = static_cast<std::uint32_t>(kernel.products.size());
            kernel.products.push_back(product_of(info, row.tensor_full_time, config));
        }
        if (info.pipeline == ptx::Pipeline::load_store) row.pattern = kernel.patterns++;
        row.waits_for_registers = waits_for_registers_alone(row.kind);
        kernel.instructions.push_back(row);
    }
}

void append(TimedKernel& kernel, TimedKernel more, std::uint32_t first_constant) {
    const auto registers = static_cast<std::uint32_t>(kernel.registers.size()),
               products = static_cast<std::uint32_t>(kernel.products.size());
    for (TimedInstruction& row : more.instructions) {
        row.first_register += registers;
        row.line += kernel.lines;
        row.pattern += kernel.patterns;
        if (row.kind == TimingKind::warpgroup_product) row.latency += products;
        if (row.parameter_offset >= 0) row.parameter_offset += static_cast<std::int32_t>(first_constant);
    }
    const auto add = [](auto& all, const auto& some) { all.insert(all.end(), some.begin(), some.end()); };
    add(kernel.instructions, more.instructions);
    add(kernel.registers, more.registers);
    add(kernel.products, more.products);
    kernel.scoreboard_size = std::max(kernel.scoreboard_size, more.scoreboard_size);
    kernel.lines += more.lines;
    kernel.patterns += more.patterns;
}

}  // namespace heddle::models::gpu
