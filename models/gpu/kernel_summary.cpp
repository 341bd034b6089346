#include "models/gpu/kernel_summary.h"

#include <algorithm>
#include <cmath>

#include "models/gpu/unit_cycles.h"

namespace heddle::models::gpu {

namespace {

constexpr std::uint64_t KernelResult::*kCounters[] = {
    &KernelResult::l1_store_sectors,  &KernelResult::l2_store_sectors,   &KernelResult::atomic_sectors,
    &KernelResult::crossbar_sectors,  &KernelResult::spill_load_sectors, &KernelResult::spill_store_sectors,
    &KernelResult::code_lines,        &KernelResult::constant_lines,     &KernelResult::bulk_lines,
    &KernelResult::l2_copied_sectors,
};
constexpr std::uint64_t KernelResult::*kSharedCounters[] = {&KernelResult::shared_accesses,
                                                            &KernelResult::shared_wavefronts};
constexpr std::uint64_t KernelResult::*kMemoryCounters[] = {
    &KernelResult::dram_read_bytes, &KernelResult::dram_write_bytes, &KernelResult::dram_row_hits};
constexpr LevelStatistics KernelResult::*kLevels[] = {&KernelResult::l1, &KernelResult::l2};
constexpr std::uint64_t LevelStatistics::*kLevelCounters[] = {
    &LevelStatistics::requests, &LevelStatistics::sectors, &LevelStatistics::hit_sectors};

// Counts of what was left out may be negative for a while, where they had been guessed too large: differences
// have a sign.
void grow(std::uint64_t& count, std::uint64_t before, std::uint64_t after, double factor) {
    const auto growth = static_cast<double>(static_cast<std::int64_t>(after - before));
    count += static_cast<std::uint64_t>(static_cast<std::int64_t>(std::llround(factor * growth)));
}

}  // namespace

void KernelSummary::add_units(const KernelSummary& before, const KernelSummary& after, double factor) {
    const KernelResult &from = before.result_, &to = after.result_;
    for (const auto counter : kSharedCounters) grow(result_.*counter, from.*counter, to.*counter, factor);
    tensor_busy_ += factor * (after.tensor_busy_ - before.tensor_busy_);
    fp32_busy_ += factor * (after.fp32_busy_ - before.fp32_busy_);
    load_store_busy_ += factor * (after.load_store_busy_ - before.load_store_busy_);
    operand_fetch_ += factor * (after.operand_fetch_ - before.operand_fetch_);
}

// What is in proportion to the work: all but instructions and cycles.
void KernelSummary::add_growth(const KernelSummary& before, const KernelSummary& after, double factor,
                               Growth what) {
    add_units(before, after, factor);
    if (what == Growth::units) return;
    const KernelResult &from = before.result_, &to = after.result_;
    for (const auto counter : kCounters) grow(result_.*counter, from.*counter, to.*counter, factor);
    if (what == Growth::all) {
        for (const auto counter : kMemoryCounters) grow(result_.*counter, from.*counter, to.*counter, factor);
        grow(result_.dram.requests, from.dram.requests, to.dram.requests, factor);
    }
    for (const auto level : kLevels) {
        for (const auto counter : kLevelCounters)
            grow(result_.*level.*counter, from.*level.*counter, to.*level.*counter, factor);
    }
    l2_busy_ += factor * (after.l2_busy_ - before.l2_busy_);
    l2_dirtied_ += factor * (after.l2_dirtied_ - before.l2_dirtied_);
}

void KernelSummary::add(const KernelSummary& other) {
    add_growth(KernelSummary(*config_, *plan_), other, 1);
    const KernelResult& result = other.result_;
    result_.warp_instructions += result.warp_instructions;
    result_.machine_instructions += result.machine_instructions;
    result_.tensor_macs += result.tensor_macs;
    result_.tensor_full_cycles += result.tensor_full_cycles;
    result_.ctas += result.ctas;
    for (std::size_t i = 0; i < ptx::kPipelineCount; ++i)
        result_.pipeline_instructions[i] += result.pipeline_instructions[i];
    for (std::size_t r = 0; r < kCycleReasonCount; ++r)
        result_.sub_core_cycles[r] += result.sub_core_cycles[r];
    result_.profile.resize(std::max(result_.profile.size(), result.profile.size()));
    for (std::size_t i = 0; i < result.profile.size(); ++i) {
        for (std::size_t r = 0; r < kCycleReasonCount; ++r) result_.profile[i][r] += result.profile[i][r];
    }
}

void KernelSummary::add_left_out(const KernelSummary& before, const KernelSummary& after,
                                 const Extrapolation& left_out) {
    add_growth(before, after, left_out.work,
               !left_out.memory        ? Growth::all
               : left_out.memory->used ? Growth::all_but_memory
                                       : Growth::units);
    if (left_out.memory) add_memory(before, after, *left_out.memory);
    const std::uint64_t grown = after.result_.warp_instructions - before.result_.warp_instructions;
    const std::uint64_t repeated = grown - std::min(grown, left_out.stretch_steps);
    add_instructions(left_out,
                     static_cast<std::uint64_t>(std::llround(left_out.work * static_cast<double>(repeated))));
    add_sub_core_cycles(before, after, left_out);
    result_.ctas += left_out.ctas;
}

// Requests and open rows are in proportion to the bytes.
void KernelSummary::add_memory(const KernelSummary& before, const KernelSummary& after,
                               const LeftOutMemory& memory) {
    const KernelResult &from = before.result_, &to = after.result_;
    const std::uint64_t read = memory.read * kSectorBytes, written = memory.written * kSectorBytes;
    result_.dram_read_bytes += read;
    result_.dram_write_bytes += written;
    const auto part = [](std::uint64_t bytes, std::uint64_t of) {
        return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, of));
    };
    grow(result_.dram.requests, from.dram.requests, to.dram.requests,
         part(read, to.dram_read_bytes - from.dram_read_bytes));
    grow(result_.dram_row_hits, from.dram_row_hits, to.dram_row_hits,
         part(read + written, after.dram_bytes() - before.dram_bytes()));
}

// `repeated`: waits for mbarriers that came again.
void KernelSummary::add_instructions(const Extrapolation& left_out, std::uint64_t repeated) {
    for (std::size_t i = 0; i < left_out.performed.size(); ++i) {
        const TimedInstruction& row = plan_->kernel.instructions[i];
        std::uint64_t times = left_out.performed[i];
        if (row.kind == TimingKind::memory_barrier && times != 0) {
            times += repeated;  // all of its kind are alike
            repeated = 0;
        }
        result_.warp_instructions += times;
        result_.tensor_macs += times * row.info->tensor_macs;
        result_.tensor_full_cycles +=
            static_cast<double>(times) * static_cast<double>(row.tensor_full_time) / fine(1);
        if (row.kind == TimingKind::free) continue;
        result_.machine_instructions += times * row.slots;
        result_.pipeline_instructions[static_cast<std::size_t>(row.info->pipeline)] += times * row.slots;
    }
}

// Those that issued are in proportion to the work; the others fill the time.
void KernelSummary::add_sub_core_cycles(const KernelSummary& before, const KernelSummary& after,
                                        const Extrapolation& left_out) {
    const auto issued = static_cast<std::size_t>(CycleReason::issued);
    double total = 0;
    for (std::size_t r = 0; r < kCycleReasonCount; ++r)
        total += static_cast<double>(after.result_.sub_core_cycles[r] - before.result_.sub_core_cycles[r]);
    const auto busy =
        static_cast<double>(after.result_.sub_core_cycles[issued] - before.result_.sub_core_cycles[issued]);
    const double work = std::min(left_out.work, left_out.cycles * total / std::max(1.0, busy));
    const double rest = (left_out.cycles * total - work * busy) / std::max(1.0, total - busy);
    const auto add = [&](InstructionCycles& cycles, const InstructionCycles& from,
                         const InstructionCycles& to) {
        for (std::size_t r = 0; r < kCycleReasonCount; ++r)
            grow(cycles[r], from[r], to[r], r == issued ? work : rest);
    };
    add(result_.sub_core_cycles, before.result_.sub_core_cycles, after.result_.sub_core_cycles);
    const std::vector<InstructionCycles>& rows = after.result_.profile;
    result_.profile.resize(std::max(result_.profile.size(), rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i)
        add(result_.profile[i],
            i < before.result_.profile.size() ? before.result_.profile[i] : InstructionCycles{}, rows[i]);
}

void KernelSummary::add(const Sm& sm) {
    const SmStatistics& s = sm.statistics();
    result_.warp_instructions += s.warp_instructions;
    result_.machine_instructions += s.machine_instructions;
    result_.tensor_macs += s.tensor_macs;
    result_.tensor_full_cycles += static_cast<double>(s.tensor_full_time) / fine(1);
    result_.ctas += s.ctas;
    result_.dependents_start = std::max(result_.dependents_start, s.last_trigger);
    warp_cycles_ += s.warp_cycles;
    cta_cycles_ += s.cta_cycles;
    for (std::size_t i = 0; i < ptx::kPipelineCount; ++i)
        result_.pipeline_instructions[i] += s.pipeline_instructions[i];
    for (unsigned i = 0; i < kSubCores; ++i) {
        const SubCore& sub_core = sm.sub_core(i);
        for (std::size_t r = 0; r < kCycleReasonCount; ++r)
            result_.sub_core_cycles[r] += sub_core.cycles_by_reason()[r];
    }
    const UnitCycles units(sm, *config_);
    tensor_busy_ += units.tensor;
    fp32_busy_ += units.fp32;
    result_.profile.resize(sm.profile().size());
    for (std::size_t i = 0; i < sm.profile().size(); ++i)
        for (std::size_t r = 0; r < kCycleReasonCount; ++r) result_.profile[i][r] += sm.profile()[i][r];
    const LoadStoreStatistics& l = sm.load_store().statistics();
    result_.l1.requests += l.l1_requests;
    result_.l1.sectors += l.l1_load_sectors + l.l1_store_sectors + l.local_store_sectors;
    result_.l1.hit_sectors += l.l1_hit_sectors;
    result_.l1_store_sectors += l.l1_store_sectors;
    result_.atomic_sectors += l.atomic_sectors;
    result_.spill_load_sectors += l.spill_load_sectors;
    result_.spill_store_sectors += l.spill_store_sectors;
    const LineFetchStatistics& lines = sm.line_fetch().statistics();
    result_.crossbar_sectors += l.received_sectors + lines.received_sectors;
    result_.code_lines += lines.code_lines;
    result_.constant_lines += lines.constant_lines;
    result_.bulk_lines += sm.bulk_copies().statistics().lines;
    result_.shared_accesses += l.shared_accesses;
    result_.shared_wavefronts += l.shared_wavefronts;
    load_store_busy_ += sm.load_store().busy_cycles();
    operand_fetch_ += sm.warpgroup_unit().fetch_cycles() + sm.tensor_unit().fetch_cycles();
}

void KernelSummary::add(const L2SliceStatistics& s) {
    result_.l2.requests += s.requests;
    result_.l2.sectors += s.load_sectors + s.store_sectors + s.atomic_sectors;
    result_.l2.hit_sectors += s.hit_sectors;
    result_.l2_store_sectors += s.store_sectors;
    l2_busy_ += s.busy_cycles;
    result_.l2_copied_sectors += s.copy_sectors;
    l2_dirtied_ += static_cast<double>(s.dirtied_sectors * kSectorBytes);
}

void KernelSummary::add(const MemoryChannelStatistics& s) {
    result_.dram.requests += s.reads;
    result_.dram_read_bytes += s.read_bytes;
    result_.dram_write_bytes += s.write_bytes;
    result_.dram_row_hits += s.row_hits;
}

void KernelSummary::stand_for(const GpuConfig& whole, std::uint64_t ctas) {
    const std::uint64_t all = plan_->only().launch->grid.count();
    const double work = static_cast<double>(all) / static_cast<double>(ctas);
    const double device = static_cast<double>(whole.sm.count) / config_->sm.count;
    KernelSummary part = *this;
    const std::uint64_t dependents_start = result_.dependents_start;
    *this = KernelSummary(whole, *plan_);
    add_growth(KernelSummary(whole, *plan_), part, work);
    const KernelResult& from = part.result_;
    grow(result_.warp_instructions, 0, from.warp_instructions, work);
    grow(result_.machine_instructions, 0, from.machine_instructions, work);
    grow(result_.tensor_macs, 0, from.tensor_macs, work);
    result_.tensor_full_cycles = work * from.tensor_full_cycles;
    result_.ctas = all;
    result_.dependents_start = dependents_start;
    for (std::size_t i = 0; i < ptx::kPipelineCount; ++i)
        grow(result_.pipeline_instructions[i], 0, from.pipeline_instructions[i], work);
    for (std::size_t r = 0; r < kCycleReasonCount; ++r)
        grow(result_.sub_core_cycles[r], 0, from.sub_core_cycles[r], device);
    result_.profile.resize(from.profile.size());
    for (std::size_t i = 0; i < from.profile.size(); ++i)
        for (std::size_t r = 0; r < kCycleReasonCount; ++r)
            grow(result_.profile[i][r], 0, from.profile[i][r], device);
    warp_cycles_ = part.warp_cycles_;
    cta_cycles_ = part.cta_cycles_;
}

KernelResult KernelSummary::result(Cycle end, unsigned registers_per_thread) {
    const auto launch_cycles =
        static_cast<Cycle>(std::llround((config_->launch.before + config_->launch.after) * config_->clock));
    result_.launch_cycles = launch_cycles;
    result_.dependents_start += static_cast<Cycle>(std::llround(config_->launch.before * config_->clock));
    result_.cycles = end + launch_cycles;
    result_.sub_core_cycles[static_cast<std::size_t>(CycleReason::not_launched)] +=
        launch_cycles * config_->sm.count * kSubCores;
    result_.seconds = static_cast<double>(result_.cycles) / config_->clock;
    result_.l1.bytes = result_.l1.sectors * kSectorBytes;
    result_.l2.bytes = result_.l2.sectors * kSectorBytes;
    result_.dram.bytes = result_.dram_read_bytes + result_.dram_write_bytes;
    result_.dram.sectors = result_.dram.bytes / kSectorBytes;
    result_.registers_per_thread = registers_per_thread;
    result_.ctas_per_sm = plan_->only().occupancy.ctas_per_sm;
    result_.occupancy_limit = plan_->only().occupancy.limited_by;
    result_.achieved_occupancy = cta_cycles_ == 0 ? 0
                                                  : static_cast<double>(warp_cycles_) /
                                                        static_cast<double>(cta_cycles_) / config_->sm.warps;
    result_.wavefronts = load_store_busy_;
    result_.energy = energy_of(result_, *config_);
    find_bound(end);
    find_throughputs();
    return result_;
}

void KernelSummary::find_throughputs() {
    const auto add = [&](const char* name, const char* unit, double amount, double ceiling) {
        if (amount > 0) result_.throughputs.push_back({name, unit, amount, ceiling});
    };
    const double sub_cores = static_cast<double>(config_->sm.count) * kSubCores;
    const double lanes = ptx::kWarpSize;
    const double tensor = 2 * static_cast<double>(result_.tensor_macs);
    const auto fp32 =
        static_cast<double>(result_.pipeline_instructions[static_cast<std::size_t>(ptx::Pipeline::fp32)]);
    if (result_.tensor_full_cycles > 0)
        add("tensor", "FLOP", tensor, tensor / result_.tensor_full_cycles * sub_cores * config_->clock);
    add("fp32", "FLOP", 2 * lanes * fp32,
        2 * lanes / config_->pipelines[ptx::Operation::fp32].issue_interval() * sub_cores * config_->clock);
    add("dram", "B", static_cast<double>(result_.dram.bytes), config_->hbm.bandwidth);
    add("l2", "B", static_cast<double>(result_.l2.bytes),
        config_->l2.slices * config_->l2.bytes_per_cycle * config_->clock);
    const double bytes_per_cycle = config_->load_store.wavefront_bytes;
    add("l1 and shared", "B", result_.wavefronts * bytes_per_cycle,
        config_->sm.count * bytes_per_cycle * config_->clock);
}

void KernelSummary::find_bound(Cycle end) {
    const double cycles = static_cast<double>(result_.cycles);
    const double sub_core_cycles = cycles * config_->sm.count * kSubCores;
    const double dram_bytes_per_cycle = config_->hbm.bandwidth / config_->clock;
    const double fp32_ports = has_two_ports(config_->pipelines[ptx::Operation::fp32].port) ? 2 : 1;
    auto& list = result_.utilisation;
    list = {
        {"tensor", tensor_busy_ / sub_core_cycles},
        {"fp32", fp32_busy_ / (sub_core_cycles * fp32_ports)},
        {"issue", static_cast<double>(result_.machine_instructions) / sub_core_cycles},
        {"shared memory", (load_store_busy_ + operand_fetch_) / (cycles * config_->sm.count)},
        {"l2 bandwidth", l2_busy_ / (cycles * config_->l2.slices)},
        {"dram bandwidth", static_cast<double>(result_.dram.bytes) / (dram_bytes_per_cycle * cycles)},
        {"launch", static_cast<double>(result_.launch_cycles) / cycles},
    };
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    // A resource that is idle more than half of the CTAs' time does not bound the kernel: waiting does.
    const double body = static_cast<double>(end) / cycles;
    const bool saturated =
        list.front().first == "launch" ? list.front().second > 0.5 : list.front().second > 0.5 * body;
    result_.bound_by = saturated ? list.front().first : "latency";
}

}  // namespace heddle::models::gpu
