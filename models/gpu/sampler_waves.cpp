// Sampler: waves of thread blocks.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/gpu/sampler.h"

namespace heddle::models::gpu {
namespace {

constexpr Cycle kWaveGroup = 8000;  // cycles of a group of waves that is compared, at least
constexpr double kFar =
    4;  // as many waves that wait for each that was seen: a trend would go far. Assumption
constexpr std::uint64_t kLeastWaves = 1;  // that are left out
// Thread blocks are counted before they are left out: some from each part of those that wait.
constexpr std::uint64_t kParts = 16, kProbesOfPart = 64;
constexpr std::uint64_t kProbedSteps = 4'000'000;  // of all of them together, about
constexpr double kBlocksAlike = 0.005;             // difference of their mean work that does not matter
constexpr double kMostScatter = 0.02;              // error of a mean, at most

// Streams. Waves of the last ones whose traffic is looked at; pairs of neighbours that are probed.
constexpr std::size_t kStreamWaves = 6;
constexpr std::uint64_t kStreamPairs = 8;
/// Part of a wave by which memory's traffic may be ahead of thread blocks that have ended, or behind them.
constexpr double kAhead = 0.2;
/// Difference of what memory writes for what it reads from what thread blocks do, and of the traffic that
/// lies in the time of a wave: assumptions.
constexpr double kSameMixture = 0.006, kErrorOfStream = 0.002;

}  // namespace

// The first wave is not like the others: it finds an empty machine. Of many waves, the later part counts;
// where memory is busy, what came after L2 was full.
std::size_t Sampler::first_wave() const {
    const std::size_t waves = wave_snapshots_.size();
    std::size_t first = waves < 4 * kFew ? 0 : waves / 3;
    if (memory_is_busy(wave_snapshots_[first], wave_snapshots_.back()))
        while (first + 1 < waves && !memory_is_full(wave_snapshots_[first])) ++first;
    return first;
}

// Whether the waves since number `first` take as long as one another, or scatter about a mean.
bool Sampler::waves_settle(std::size_t first) {
    const std::vector<Cycle>& ends = scheduler_.wave_ends();
    const std::size_t waves = ends.size() - 1 - first;
    const double mean = static_cast<double>(ends.back() - ends[first]) / static_cast<double>(waves);
    const std::size_t several = std::max<std::size_t>(1, waves / (2 * kFew));
    const auto shortest = static_cast<std::size_t>(std::ceil(kWaveGroup / mean));
    Settled time_of_wave;
    std::vector<Batch> groups;
    for (const std::size_t in_group : {shortest, std::max(shortest, several)}) {
        groups.clear();
        for (std::size_t end = ends.size() - 1; end >= first + in_group; end -= in_group)
            groups.insert(groups.begin(), {static_cast<double>(ends[end] - ends[end - in_group]),
                                           static_cast<double>(in_group)});
        time_of_wave = settled(groups);
        if (time_of_wave.used != 0) break;
    }
    if (time_of_wave.used == 0) return false;
    const std::uint64_t waves_to_come = scheduler_.waiting() / scheduler_.wave();
    if (static_cast<double>(waves_to_come) > kFar * static_cast<double>(ends.size()) &&
        !memory_is_busy(wave_snapshots_[first], wave_snapshots_.back()) && has_trend(groups))
        return false;
    period_ = time_of_wave.mean;
    error_ = time_of_wave.error;
    return true;
}

bool Sampler::look_at_waves() {
    const std::vector<Cycle>& ends = scheduler_.wave_ends();
    if (waves_done_ || ends.size() == waves_seen_) return false;
    const std::uint64_t wave = scheduler_.wave();
    const Snapshot now = snapshot();
    for (; waves_seen_ < ends.size(); ++waves_seen_) wave_snapshots_.push_back(now);
    if (scheduler_.waiting() < 2 * wave) return false;
    std::size_t first = first_wave();
    const std::size_t waves = ends.size() - 1 - first;
    if (waves < kFew) return false;
    const Stream stream = find_stream(first);
    by_stream_ = stream == Stream::even;
    if (stream == Stream::uneven) return false;
    const auto are_known = [&] {  // more waves tell it better
        const auto left = scheduler_.waiting() / wave - 1;
        return is_known_well(period_ * static_cast<double>(left), error_);
    };
    if (stream == Stream::even) {
        if (!are_known()) return false;
    } else if (!waves_settle(first) || !are_known()) {
        // Thread blocks that start together come out of step, and the first waves are unlike the others.
        first += (waves + 1) / 2;
        if (waves < 2 * kFew || !waves_settle(first) || !are_known()) return false;
    }
    waves_done_ = true;
    if (!find_alike_blocks(first * wave)) return false;
    wave_snapshots_.erase(wave_snapshots_.begin(),
                          wave_snapshots_.begin() + static_cast<std::ptrdiff_t>(first));
    decision_ = Decision::waves;
    return true;
}

// Where memory decides how fast a stream goes, thread blocks end in bursts and waves scatter, but memory's
// traffic goes on evenly: a wave takes as long as its lines take. Blocks that store may also go on ending
// faster than memory takes in what they leave, until queues are full: such waves, however alike, do not last.
Sampler::Stream Sampler::find_stream(std::size_t first) {
    const std::size_t last = wave_snapshots_.size() - 1;
    const std::size_t start = last < first + kStreamWaves ? first : last - kStreamWaves;
    if (last < start + kFew) return Stream::none;
    const Snapshot &from = wave_snapshots_[start], &to = wave_snapshots_[last];
    if (!memory_is_busy(from, to) || !memory_is_full(from)) return Stream::none;
    if (!stream_) {
        const std::uint64_t next = scheduler_.next_cta(), waiting = scheduler_.waiting();
        std::vector<std::uint64_t> blocks;
        for (std::uint64_t i = 0; i < kStreamPairs; ++i)
            for (const std::uint64_t neighbour : {0, 1})
                blocks.push_back(scheduler_.block(next + waiting * i / kStreamPairs + neighbour));
        stream_ = stream_traffic(*plan_->only().launch, blocks).value_or(StreamTraffic{});
    }
    if (stream_->lines() == 0) return Stream::none;
    std::vector<Batch> batches;  // time for a byte
    for (std::size_t i = start; i < last; ++i)
        if (wave_snapshots_[i + 1].at != wave_snapshots_[i].at)
            batches.push_back({static_cast<double>(wave_snapshots_[i + 1].at - wave_snapshots_[i].at),
                               static_cast<double>(wave_snapshots_[i + 1].counts.dram_bytes() -
                                                   wave_snapshots_[i].counts.dram_bytes())});
    const Settled byte = settled(batches);
    if (byte.used == 0) return Stream::uneven;
    const auto read = static_cast<double>(to.counts.dram_read() - from.counts.dram_read()),
               written = static_cast<double>(to.counts.dram_written() - from.counts.dram_written());
    const double waves = static_cast<double>(last - start), wave = static_cast<double>(scheduler_.wave());
    const double due = waves * wave * stream_->lines() * kLineBytes;
    const double mixture = stream_->written / stream_->lines();
    if (std::abs((read + written) / due - 1) > kAhead / waves) return Stream::uneven;
    if (std::abs(written / (read + written) - mixture) > kSameMixture) return Stream::uneven;
    period_ = byte.mean * wave * stream_->lines() * kLineBytes;
    error_ = std::hypot(byte.error, kErrorOfStream);
    return Stream::even;
}

// Counts `probes` thread blocks of [first, end), drawn evenly, and adds what they perform to probed_.
Sampler::Work Sampler::probe(std::uint64_t first, std::uint64_t end, std::uint64_t probes) {
    std::uint64_t most = 0;
    for (const Sm& sm : sms_) most = std::max(most, 2 * sm.most_steps());
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < probes; ++i) {
        const std::uint64_t from = first + (end - first) * i / probes,
                            to = first + (end - first) * (i + 1) / probes;
        // Not at even distances: what is special about some blocks often comes at such.
        const std::uint64_t block =
            from + (to > from ? (from * 0x9e3779b97f4a7c15ull >> 20) % (to - from) : 0);
        const auto steps =
            static_cast<double>(ptx::count_steps(*plan_->only().launch, scheduler_.block(block), most, probed_));
        if (steps == 0) return {};
        sum += steps;
        squares += steps * steps;
    }
    const auto count = static_cast<double>(probes);
    const double mean = sum / count;
    return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count) / mean};
}

// Finds out how many of the thread blocks that wait do the same, in the mean, as those that were seen, which
// begin with number `first`: at the end there are often others.
bool Sampler::find_alike_blocks(std::uint64_t first) {
    if (program_->blocks_depend()) {
        obstacle_ = "what its thread blocks do depends on values that others write";
        return false;
    }
    if (ptx::cluster_size(*plan_->only().launch) != 1) {
        obstacle_ = "its thread blocks come in clusters";
        return false;
    }
    const std::uint64_t next = scheduler_.next_cta(), waiting = scheduler_.waiting();
    probed_.assign(plan_->kernel.instructions.size(), 0);
    const Work one = probe(next, next + 1, 1);
    const std::uint64_t probes = std::clamp<std::uint64_t>(
        one.mean == 0 ? 0 : kProbedSteps / kParts / static_cast<std::uint64_t>(one.mean), 1, kProbesOfPart);
    const Work seen = one.mean == 0 ? one : probe(first, next, kParts * probes);
    probed_.assign(probed_.size(), 0);
    alike_ = probes_ = 0;
    const std::uint64_t wave = scheduler_.wave();
    double furthest = 0;
    // In the first part in which there are others, what comes before them.
    Part part{0, waiting};
    while (seen.mean != 0 && part.end - part.begin > wave) {
        const std::optional<Part> other = find_other_blocks(part, seen, probes, furthest);
        if (!other) break;
        part = *other;
    }
    alike_ = std::min(alike_, waiting - wave) / wave * wave;
    if (alike_ < kLeastWaves * wave) return false;
    error_ = std::hypot(error_, furthest / 2);
    return true;
}

// The first of kParts of those that wait, from `whole`, in which thread blocks do not do what those seen did:
// none. `furthest`: the largest difference of the others.
std::optional<Sampler::Part> Sampler::find_other_blocks(const Part& whole, const Work& seen,
                                                        std::uint64_t most_probes, double& furthest) {
    const std::uint64_t next = scheduler_.next_cta(), length = whole.end - whole.begin;
    for (std::uint64_t i = 0; i < kParts; ++i) {
        const Part part{whole.begin + length * i / kParts, whole.begin + length * (i + 1) / kParts};
        if (part.begin == part.end) continue;
        const std::uint64_t probes = std::min(most_probes, part.end - part.begin);
        std::vector<std::uint64_t> before = probed_;
        const Work work = probe(next + part.begin, next + part.end, probes);
        const double difference = std::abs(work.mean / seen.mean - 1);
        const double chance = 2 * std::hypot(work.error, seen.error);
        if (work.mean == 0 || difference > kBlocksAlike + chance || chance > kMostScatter) {
            probed_ = std::move(before);
            obstacle_ = "its thread blocks differ: " + std::to_string(std::llround(seen.mean)) + " and " +
                        std::to_string(std::llround(work.mean)) + " warp instructions";
            return part;
        }
        alike_ = part.end;
        probes_ += probes;
        furthest = std::max(furthest, difference);
    }
    return std::nullopt;
}

void Sampler::leave_out_waves() {
    const std::uint64_t waves = alike_ / scheduler_.wave();
    scheduler_.skip(alike_);
    waves_left_out_ += waves;
    std::vector<std::uint64_t> performed = probed_;
    const double blocks = static_cast<double>(alike_) / static_cast<double>(probes_);
    for (std::uint64_t& times : performed)
        times = static_cast<std::uint64_t>(std::llround(blocks * static_cast<double>(times)));
    std::optional<LeftOutMemory> memory;
    if (by_stream_) {
        const double sectors = static_cast<double>(alike_) * kLineBytes / kSectorBytes;
        memory = {static_cast<std::uint64_t>(std::llround(sectors * stream_->read)),
                  static_cast<std::uint64_t>(std::llround(sectors * stream_->written))};
    }
    add(period_ * static_cast<double>(waves), error_, wave_snapshots_.front(), wave_snapshots_.back(),
        std::move(performed), alike_, memory);
}

}  // namespace heddle::models::gpu
