#include "models/gpu/sampled_gpu.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace heddle::models::gpu {
namespace {

/// Thread blocks that touch a line, in the mean, from which what SMs of a GPC share matters; and the busiest
/// that L2 may then be: neighbours that share lie in fewer GPCs of the part, and ask L2 less often.
constexpr double kSharing = 1.1, kBusyL2 = 0.5;

double used(const KernelResult& result, const std::string& resource) {
    for (const auto& [name, part] : result.utilisation)
        if (name == resource) return part;
    return 0;
}

/// By how much the time on a part of the device may differ from that on all of it: twice the deviation of 24
/// streams of four to six waves drawn at random. Of few waves single thread blocks decide (a
/// product in eight slices of K was 4.5 % off), and of the last, which is not full; they are not worth it.
constexpr double kError = 0.014;
constexpr std::uint64_t kManyWaves = 4;
/// Thread blocks that share next to nothing: single ones decide less, and fewer waves will do. Twice the
/// deviation of 14 streams of three to four waves drawn at random was 1.9 %; of two to three waves, 4.6 %.
constexpr double kErrorOfFewWaves = 0.02, kSharingOfFewWaves = 1.02;
constexpr std::uint64_t kFewWaves = 3, kPartWorthwhile = 3'000'000;  // kPartWorthwhile: warp instructions
/// Of the footprint: so much more, or less, of it may L2 hold at the start than is the part's share.
constexpr double kResidents = 0.015;

/// Of what L2 holds, as much as the part's share: lines that its thread blocks touch, and of the others so
/// many as are left.
struct Residents {
    std::vector<L2Residency> ranges;
    double surplus = 0;  ///< lines that are touched, above the share
};
Residents residents_of_part(const std::vector<L2Residency>& resident, const Footprint& footprint,
                            double share) {
    Residents result;
    std::vector<L2Residency>& chosen = result.ranges;
    for (const L2Residency& range : resident) {
        if (range.bytes == 0) continue;
        const std::uint64_t first = range.base / kLineBytes,
                            end = (range.base + range.bytes - 1) / kLineBytes + 1;
        std::uint64_t touched = 0;
        for (std::uint64_t line = first; line < end; ++line) touched += footprint.holds(line);
        const auto due = share * static_cast<double>(end - first);
        const double rest = static_cast<double>(end - first - touched);
        result.surplus += std::abs(static_cast<double>(touched) - due);
        const double of_rest =
            rest > 0 ? std::max(0.0, due - static_cast<double>(touched)) / rest : 0;  // at even distances
        double owed = 0;
        for (std::uint64_t line = first; line < end; ++line) {
            if (!footprint.holds(line)) {
                owed += of_rest;
                if (owed < 1) continue;
                owed -= 1;
            }
            const std::uint64_t base = line * kLineBytes;
            if (!chosen.empty() && chosen.back().dirty == range.dirty &&
                chosen.back().base + chosen.back().bytes == base) {
                chosen.back().bytes += kLineBytes;
            } else {
                chosen.push_back({base, kLineBytes, range.dirty});
            }
        }
    }
    return result;
}

}  // namespace

SampledGpu::SampledGpu(const char* name, const GpuConfig& config, bool sampling) : whole_(name, config) {
    if (sampling) part_config_ = part_of(config);
    if (part_config_)
        part_ = std::make_unique<Gpu>((std::string(name) + "_part").c_str(), part_config_->config);
}

void SampledGpu::set_clock(double hertz) {
    whole_.set_clock(hertz);
    if (part_ != nullptr) part_->set_clock(hertz);
}

void SampledGpu::set_l2_size(std::uint64_t bytes) {
    if (bytes == config().l2.bytes) return;
    whole_.set_l2_size(bytes);
    if (part_ == nullptr) return;
    part_config_ = part_of(config());
    if (part_config_) part_->set_l2_size(part_config_->config.l2.bytes);
}

KernelResult SampledGpu::run(const ptx::LaunchContext& launch, const RunOptions& options) {
    const bool possible = options.sample && part_ != nullptr && part_config_ && launch.kernel != nullptr &&
                          launch.mode == ptx::Mode::timing && options.series.interval == 0 &&
                          options.dependency_release == 0;
    if (possible)
        if (std::optional<KernelResult> result = run_part(launch, options)) return *std::move(result);
    return whole_.run(launch, options);
}

std::optional<KernelResult> SampledGpu::run_part(const ptx::LaunchContext& launch,
                                                 const RunOptions& options) {
    const GpuConfig& config = whole_.config();
    const Occupancy places =
        occupancy(config, static_cast<unsigned>(launch.block.count()), launch.kernel->registers_per_thread(),
                  launch.kernel->static_shared_bytes() + std::uint64_t{launch.dynamic_shared_bytes});
    const std::uint64_t wave = std::uint64_t{places.ctas_per_sm} * config.sm.count,
                        blocks = launch.grid.count();
    if (wave == 0 || blocks == 0) return {};  // the whole device says what is wrong
    if (blocks < kFewWaves * wave) return {};
    const bool few = blocks < kManyWaves * wave;
    const BlockSample sample = choose_blocks(launch, wave, part_config_->share);
    if (!sample.obstacle.empty()) return {};
    if (few && (sample.steps < kPartWorthwhile || sample.blocks_per_line > kSharingOfFewWaves || sample.atomics))
        return {};
    RunOptions of_part = options;
    const Residents residents = residents_of_part(options.resident, sample.footprint, part_config_->share);
    if (residents.surplus > kResidents * static_cast<double>(sample.footprint.lines())) return {};
    of_part.resident = residents.ranges;
    of_part.stands_for = {&config, &sample.blocks, few ? kErrorOfFewWaves : kError};
    KernelResult result = part_->run(launch, of_part);
    if (sample.blocks_per_line > kSharing && (sample.atomics || used(result, "l2 bandwidth") > kBusyL2))
        return {};
    return result;
}

}  // namespace heddle::models::gpu
