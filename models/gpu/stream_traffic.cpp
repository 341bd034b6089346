#include "models/gpu/stream_traffic.h"

#include <cmath>
#include <string_view>
#include <unordered_map>

#include "isa/ptx/leap.h"
#include "models/gpu/coalescer.h"

namespace heddle::models::gpu {
namespace {

constexpr std::uint64_t kMostOfStream = 1'000'000;  // warp instructions
constexpr SectorMask kWholeLine = 0xf;
/// Lines that several touch, of all: scalars, tables.
constexpr double kMostCommonOfStream = 0.02;
/// Error of a thread block's mean traffic, at most.
constexpr double kKnownTraffic = 0.002;

struct Line {
    SectorMask read = 0, written = 0;
    std::uint64_t block = 0;
    bool common = false;
};

class StreamObserver : public ptx::LeapObserver {
  public:
    void begin_block(std::uint64_t number) { block_ = number; }
    void access(const ptx::MemoryAccess& access) override {
        other_ = other_ || access.atomic;
        coalesce(access, coalesced_);
        for (unsigned i = 0; i < coalesced_.count; ++i) {
            const LineAccess& one = coalesced_.lines[i];
            const auto [found, is_new] = lines_.try_emplace(one.line, Line{0, 0, block_});
            Line& line = found->second;
            line.common = line.common || line.block != block_;
            SectorMask& sectors = access.write ? line.written : line.read;
            sectors = static_cast<SectorMask>(sectors | one.sectors);
        }
    }
    void copy(const ptx::AsyncOperation&) override { other_ = true; }

    /// Lines of each thread block that are read and written; none: it is no stream.
    std::optional<std::unordered_map<std::uint64_t, StreamTraffic>> traffic() const {
        if (other_) return {};
        double common = 0;
        std::unordered_map<std::uint64_t, StreamTraffic> blocks;
        for (const auto& [number, line] : lines_) {
            if (line.common && line.written != 0) return {};
            if (line.common) {
                ++common;
                continue;
            }
            for (const SectorMask sectors : {line.read, line.written})
                if (sectors != 0 && sectors != kWholeLine) return {};
            StreamTraffic& block = blocks[line.block];
            block.read += line.read != 0;
            block.written += line.written != 0;
        }
        if (common > kMostCommonOfStream * static_cast<double>(lines_.size())) return {};
        return blocks;
    }

  private:
    std::uint64_t block_ = 0;
    bool other_ = false;  // something else than loads and stores
    std::unordered_map<std::uint64_t, Line> lines_;
    CoalescedAccess coalesced_;
};

}  // namespace

std::optional<StreamTraffic> stream_traffic(const ptx::LaunchContext& of_run,
                                            const std::vector<std::uint64_t>& blocks) {
    ptx::LaunchContext launch = of_run;
    launch.print = [](std::string_view) {};  // the run itself says it
    StreamObserver observer;
    for (const std::uint64_t block : blocks) {
        observer.begin_block(block);
        if (ptx::count_steps(launch, block, kMostOfStream, {}, &observer) == 0) return {};
    }
    const auto traffic = observer.traffic();
    if (!traffic || traffic->size() != blocks.size() || blocks.size() < 2) return {};
    StreamTraffic sum;
    double squares = 0;
    for (const auto& [block, one] : *traffic) {
        sum.read += one.read;
        sum.written += one.written;
        squares += one.lines() * one.lines();
    }
    const auto count = static_cast<double>(blocks.size());
    const StreamTraffic mean{sum.read / count, sum.written / count};
    const double variance = squares / count - mean.lines() * mean.lines();
    if (std::sqrt(std::max(0.0, variance) / count) > kKnownTraffic * mean.lines()) return {};
    return mean;
}

}  // namespace heddle::models::gpu
