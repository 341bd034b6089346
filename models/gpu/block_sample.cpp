#include "models/gpu/block_sample.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "models/common/cycle.h"
#include "models/memory/address_hash.h"

namespace heddle::models::gpu {
namespace {

/// Warp instructions of a launch from which a part of it is worth choosing.
constexpr std::uint64_t kBlockSampleWorthwhile = 200'000;
constexpr std::uint64_t kMostOfBlock = 10'000'000;  // warp instructions
constexpr std::uint64_t kOthers = 64;               // thread blocks beside the sample that are looked at
constexpr double kAlikeWork = 0.005;                // difference of their mean work that does not matter
/// Part of others' lines that the sample touches as well: what memory has to bring twice. Assumption.
constexpr double kShared = 0.04;
/// Lines that at least this part of the others touch are common to all; so much of a footprint may be such.
constexpr double kCommon = 0.25, kMostCommon = 0.02;

/// Of the sample every so many-th block is run first, then more: products are rejected after a few.
constexpr std::uint64_t kFewFirst = 64, kMoreThen = 8;

/// Stretches of a grid from each of which neighbours are drawn, at least, unless they become too short.
constexpr std::uint64_t kStretches = 24, kShortestStretch = 32;  // kShortestStretch: thread blocks

/// Warp instructions of thread blocks.
struct Work {
    double sum = 0, squares = 0, count = 0;
    void add(double steps) {
        sum += steps;
        squares += steps * steps;
        ++count;
    }
    double mean() const { return sum / count; }
    double error() const {  // of the mean, relative
        return std::sqrt(std::max(0.0, squares / count - mean() * mean()) / count) / mean();
    }
};

std::vector<std::uint64_t> draw(std::uint64_t blocks, std::uint64_t wave, double share) {
    std::vector<std::uint64_t> chosen;
    // Few waves are divided, so that neighbours come from many places.
    const std::uint64_t stretch = std::clamp(blocks / kStretches, std::min(wave, kShortestStretch), wave);
    double due = 0;
    for (std::uint64_t first = 0, size = 0; first < blocks; first += size) {
        size = std::min({stretch, blocks - first, wave - first % wave});
        due += share * static_cast<double>(size);
        const std::uint64_t count = std::min(size, static_cast<std::uint64_t>(std::lround(due)));
        due -= static_cast<double>(count);
        const std::uint64_t place = mix_bits(first + 1) % (size - count + 1);
        for (std::uint64_t i = 0; i < count; ++i) chosen.push_back(first + place + i);
    }
    return chosen;
}

/// Thread blocks beside the sample, from all parts of the grid.
struct Others {
    Work work;
    Footprint footprint;

    /// False: one of them waits for others.
    bool run(const ptx::LaunchContext& launch, const std::vector<std::uint64_t>& sample) {
        const std::uint64_t blocks = launch.grid.count();
        std::uint32_t number = 0;
        for (std::uint64_t i = 0; i < kOthers; ++i) {
            const std::uint64_t from = blocks * i / kOthers, to = blocks * (i + 1) / kOthers;
            if (from == to) continue;
            const std::uint64_t block = from + mix_bits(~i) % (to - from);
            if (std::binary_search(sample.begin(), sample.end(), block)) continue;
            footprint.begin_block(++number);
            const std::uint64_t steps = ptx::count_steps(launch, block, kMostOfBlock, {}, &footprint);
            if (steps == 0) return false;
            work.add(static_cast<double>(steps));
        }
        return true;
    }

    /// Whether they use lines of the sample, of which there are `lines` at most, beyond what is allowed.
    bool share_with(const Footprint& sample, double lines) const {
        double shared = 0, common = 0, all = 0;
        footprint.visit([&](std::uint64_t line, std::uint32_t count) {
            if (count > 1 && count >= kCommon * work.count) {
                ++common;
                return;
            }
            ++all;
            shared += sample.holds(line);
        });
        return common > kMostCommon * lines || shared > kShared * all;
    }
};

}  // namespace

void Footprint::add(std::uint64_t line) {
    const std::uint64_t number = line / kPage;
    if (number != present_number_) {
        std::unique_ptr<Page>& page = pages_[number];
        if (!page) page = std::make_unique<Page>();
        present_ = page.get();
        present_number_ = number;
    }
    std::uint32_t& last = present_->last[line % kPage];
    if (last == block_) return;
    lines_ += last == 0;
    ++touches_;
    last = block_;
    ++present_->count[line % kPage];
}

bool Footprint::holds(std::uint64_t line) const {
    const auto page = pages_.find(line / kPage);
    return page != pages_.end() && page->second->last[line % kPage] != 0;
}

void Footprint::access(const ptx::MemoryAccess& access) {
    atomics_ = atomics_ || access.atomic;
    coalesce(access, coalesced_);
    for (unsigned i = 0; i < coalesced_.count; ++i) add(coalesced_.lines[i].line);
}

void Footprint::copy(const ptx::AsyncOperation& operation) {
    BulkCopyEngine::split(operation, copied_);
    for (const BulkCopyEngine::Line& line : copied_) add(line.line);
}

BlockSample choose_blocks(const ptx::LaunchContext& of_run, std::uint64_t wave, double share) {
    ptx::LaunchContext launch = of_run;
    launch.print = [](std::string_view) {};  // the run itself says it
    BlockSample sample;
    const std::uint64_t blocks = launch.grid.count();
    const auto reject = [&sample](const char* why) {
        sample.obstacle = why;
        return std::move(sample);
    };
    if (ptx::cluster_size(launch) != 1) return reject("its thread blocks come in clusters");
    if (ptx::LeapProgram(*launch.kernel).blocks_depend())
        return reject("what its thread blocks do depends on values that others write");
    const std::uint64_t first = ptx::count_steps(launch, blocks / 2, kMostOfBlock);
    if (first == 0) return reject("its thread blocks wait for others");
    if (first * blocks < kBlockSampleWorthwhile) return reject("it is small");

    sample.blocks = draw(blocks, wave, share);
    Others others;
    if (!others.run(launch, sample.blocks)) return reject("its thread blocks wait for others");
    Work seen;
    // A few of the sample first, from all over it: what these share with others is shared in any case.
    std::uint64_t done = 0;
    for (const std::uint64_t stride : {kFewFirst, kMoreThen, std::uint64_t{1}}) {
        const std::uint64_t before = stride == kFewFirst ? 0 : stride == kMoreThen ? kFewFirst : kMoreThen;
        for (std::uint64_t i = 0; i < sample.blocks.size(); i += stride) {
            if (before != 0 && i % before == 0) continue;
            sample.footprint.begin_block(static_cast<std::uint32_t>(++done));
            const std::uint64_t steps =
                ptx::count_steps(launch, sample.blocks[i], kMostOfBlock, {}, &sample.footprint);
            if (steps == 0) return reject("its thread blocks wait for others");
            seen.add(static_cast<double>(steps));
        }
        const double all = static_cast<double>(sample.blocks.size()) / static_cast<double>(done);
        const double most_lines = all * static_cast<double>(sample.footprint.lines_of_blocks());
        if (others.share_with(sample.footprint,
                              stride == 1 ? static_cast<double>(sample.footprint.lines()) : most_lines))
            return reject("its thread blocks use the same memory");
    }
    if (seen.count < 2) return reject("it has few thread blocks");
    sample.blocks_per_line = sample.footprint.lines() == 0
                                 ? 1
                                 : static_cast<double>(sample.footprint.lines_of_blocks()) /
                                       static_cast<double>(sample.footprint.lines());

    sample.steps = static_cast<std::uint64_t>(seen.mean() * static_cast<double>(blocks));
    sample.atomics = sample.footprint.atomics();

    if (others.work.count < 2) return reject("it has few thread blocks");
    if (std::abs(others.work.mean() / seen.mean() - 1) >
        kAlikeWork + 2 * std::hypot(others.work.error(), seen.error()))
        return reject("its thread blocks differ");
    return sample;
}

}  // namespace heddle::models::gpu
