#include "models/gpu/series.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "models/memory/arrival_windows.h"

namespace heddle::models::gpu {
namespace {

/// Cycles without an instruction after which a kernel is left alone, so that it can be found to hang.
constexpr Cycle kQuietCycles = 2'000'000;

std::uint64_t loads(const KernelResult& result) {
    return result.l2.sectors - result.l2_store_sectors - std::min(result.l2.sectors, result.atomic_sectors);
}

}  // namespace

SeriesRecorder::SeriesRecorder(const sc_core::sc_module_name& name, ClockDomain& clock,
                               const sc_core::sc_vector<Sm>& sms, const CtaScheduler& scheduler,
                               std::vector<std::uint32_t> gpc_of_sm)
    : Block(name, clock), sms_(sms), scheduler_(scheduler), gpc_of_sm_(std::move(gpc_of_sm)) {}

void SeriesRecorder::reset() {
    group_of_sm_.clear();
    tally_ = nullptr;
    left_out_ = nullptr;
    skipped_ = closed_ = 0;
    next_ = kNever;
    quiet_ = 0;
    before_ = {};
    groups_before_.clear();
    series_ = {};
}

void SeriesRecorder::begin(const SeriesSettings& settings, const GpuConfig& config,
                           std::function<KernelSummary(Cycle)> tally, KernelResult before,
                           const Cycle* left_out) {
    // At the ends of intervals all blocks have come equally far.
    constexpr Cycle kWindow = ArrivalWindows::kLongest;
    series_.interval = (settings.interval + kWindow - 1) / kWindow * kWindow;
    series_.by_sm = settings.by_sm;
    series_.clock = config.clock;
    series_.start = static_cast<Cycle>(std::round(config.launch.before * config.clock));
    group_of_sm_ = gpc_of_sm_;
    if (settings.by_sm) std::iota(group_of_sm_.begin(), group_of_sm_.end(), 0u);
    series_.group_sms.assign(*std::max_element(group_of_sm_.begin(), group_of_sm_.end()) + 1, 0);
    for (const std::uint32_t group : group_of_sm_) ++series_.group_sms[group];
    tally_ = std::move(tally);
    before_ = std::move(before);
    left_out_ = left_out;
    groups_before_.assign(series_.group_sms.size(), {});
    wake(next_ = series_.interval - 1);
}

void SeriesRecorder::read_groups(std::vector<SeriesGroup>& groups) const {
    groups.assign(series_.group_sms.size(), {});
    for (std::size_t i = 0; i < sms_.size(); ++i) {
        const Sm& sm = sms_[i];
        SeriesGroup& group = groups[group_of_sm_[i]];
        group.instructions += sm.statistics().machine_instructions;
        group.tensor_cycles += sm.warpgroup_unit().busy_cycles() + sm.tensor_unit().busy_cycles();
        for (unsigned s = 0; s < kSubCores; ++s) {
            const SubCore& sub_core = sm.sub_core(s);
            group.tensor_cycles += sub_core.busy_cycles(Port::tensor);
            for (std::size_t r = 0; r < kCycleReasonCount; ++r)
                group.cycles[r] += sub_core.cycles_by_reason()[r];
        }
    }
}

void SeriesRecorder::close(Cycle until) {
    if (!tally_ || until <= closed_) return;
    KernelResult now = tally_(until).result(until, 0);
    std::vector<SeriesGroup> groups;
    read_groups(groups);
    SeriesPoint point;
    point.begin = closed_ + skipped_;
    point.end = until + skipped_;
    point.l2_sectors = now.l2.sectors - before_.l2.sectors;
    point.l2_load_sectors = loads(now) - loads(before_);
    point.l2_hit_sectors = now.l2.hit_sectors - before_.l2.hit_sectors;
    point.dram_bytes = now.dram.bytes - before_.dram.bytes;
    point.energy = now.energy.total() - before_.energy.total();
    point.groups = groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        SeriesGroup& group = point.groups[g];
        const SeriesGroup& earlier = groups_before_[g];
        group.instructions -= earlier.instructions;
        group.tensor_cycles -= earlier.tensor_cycles;
        for (std::size_t r = 0; r < kCycleReasonCount; ++r) group.cycles[r] -= earlier.cycles[r];
    }
    quiet_ = now.machine_instructions == before_.machine_instructions ? quiet_ + 1 : 0;
    series_.points.push_back(std::move(point));
    groups_before_ = std::move(groups);
    before_ = std::move(now);
    closed_ = until;
}

void SeriesRecorder::cut() {
    if (tally_ && left_out_ != nullptr) skipped_ = *left_out_;
}

Cycle SeriesRecorder::tick(Cycle now) {
    if (scheduler_.waiting() == 0 && scheduler_.running() == 0) return next_ = kNever;
    close(now + 1);
    if (quiet_ * series_.interval > kQuietCycles) return next_ = kNever;
    return next_ = now + series_.interval;
}

}  // namespace heddle::models::gpu
