#include "mutation.h"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "isa/common/error.h"
#include "sim/sass/trace_launch.h"
#include "support/text_mutation.h"

namespace heddle::sass::test {
namespace {

class TextBytes : public ByteSource {
  public:
    explicit TextBytes(std::string_view text) : text_(text) {}
    std::size_t read(char* to, std::size_t capacity) override {
        const std::size_t count = std::min(capacity, text_.size());
        std::memcpy(to, text_.data(), count);
        text_.remove_prefix(count);
        return count;
    }

  private:
    std::string_view text_;
};

constexpr std::array<const char*, 21> kWords{"0",
                                             "1",
                                             "2",
                                             "4294967295",
                                             "-1",
                                             "ffffffff",
                                             "R255",
                                             "R4",
                                             "BAR.SYNC",
                                             "EXIT",
                                             "LDG.E.128",
                                             "HMMA.16816.F32",
                                             "SYNCS.PHASECHK.TRANS64.TRYWAIT",
                                             "UTMALDG.2D",
                                             "UCGABAR_WAIT",
                                             "USETMAXREG.TRY_ALLOC.CTAPOOL",
                                             "DEPBAR.LE",
                                             "0xffffffffffffffff",
                                             "(4,1,1)",
                                             "=",
                                             ""};

}  // namespace

std::string mutate(const std::string& text, const std::string& other, std::mt19937& random) {
    return heddle::test::damaged(text, other, random, {" \n", kWords});
}

bool read_all(std::string_view text) {
    try {
        TraceReader reader(std::make_unique<TextBytes>(text), "mutant.traceg");
        while (reader.next()) {
        }
        return true;
    } catch (const Error&) {
        return false;
    }
}

namespace {

class NoObserver : public ptx::CtaObserver {
  public:
    void warps_released(std::uint32_t, std::uint32_t) override {}
};

void replay(models::gpu::BlockSource& block, std::uint64_t index) {
    constexpr unsigned kMostTurns = 4000;
    block.start(index, 0, nullptr);
    for (unsigned turn = 0; turn < kMostTurns; ++turn) {
        bool any = false, left = false;
        for (unsigned i = 0; i < block.warp_count(); ++i) {
            models::gpu::WarpSource& warp = block.warp(i);
            left = left || !warp.finished();
            if (warp.finished() || warp.blocked()) continue;
            const ptx::StepResult result = warp.step(turn);
            const auto started = block.started().first(result.started_operations);
            const std::vector<ptx::AsyncOperation> operations(started.begin(), started.end());
            for (const ptx::AsyncOperation& operation : operations) block.complete(operation);
            any = true;
        }
        if (!left || (!any && block.resume_stalled() == 0)) return;
    }
}

}  // namespace

bool replay_all(std::string_view text) {
    constexpr std::uint64_t kMostBlocks = 64;
    try {
        TraceLaunch launch(TraceReader(std::make_unique<TextBytes>(text), "mutant.traceg"), "mutant.traceg");
        if (launch.header().grid.count() > kMostBlocks) return read_all(text);
        launch.register_reads({}, 0);
        NoObserver observer;
        for (std::uint64_t index = 0; index < launch.header().grid.count(); ++index)
            replay(*launch.make_block(observer, 0, 0), index);
        launch.finish();
        return true;
    } catch (const Error&) {
        return false;
    }
}

Outcome run_all(models::gpu::Gpu& gpu, const std::string& text, std::uint64_t cycles) {
    try {
        TraceLaunch launch(TraceReader(std::make_unique<TextBytes>(text), "mutant.traceg"), "mutant.traceg");
        models::gpu::RunOptions options;
        options.limit = cycles;
        gpu.run(launch, options);
        launch.finish();
        return Outcome::ran;
    } catch (const Error&) {
        return Outcome::refused;
    }
}

}  // namespace heddle::sass::test
