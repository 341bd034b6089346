#include "mutation.h"

#include <cstring>
#include <memory>
#include <vector>

#include "isa/common/error.h"
#include "sim/sass/trace_launch.h"

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

/// Begin and length of a word or a line at a random place.
std::pair<std::size_t, std::size_t> piece(const std::string& text, const char* ends, std::mt19937& random) {
    const std::size_t at = random() % text.size();
    const std::size_t before = text.find_last_of(ends, at), after = text.find_first_of(ends, at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return {begin, (after == std::string::npos ? text.size() : after) - std::min(begin, after)};
}

std::string new_word(const std::string& other, std::mt19937& random) {
    static const std::vector<std::string> kWords{"0",
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
    if (random() % 2 == 0 || other.empty()) return kWords[random() % kWords.size()];
    const auto [begin, length] = piece(other, " \n", random);
    return other.substr(begin, length);
}

}  // namespace

std::string mutate(const std::string& text, const std::string& other, std::mt19937& random) {
    std::string mutant = text;
    for (unsigned changes = 1 + random() % 4; changes != 0 && !mutant.empty(); --changes) {
        const bool line = random() % 4 == 0;
        const auto [begin, length] = piece(mutant, line ? "\n" : " \n", random);
        switch (random() % 5) {
            case 0:
                mutant[random() % mutant.size()] = static_cast<char>(random());
                break;
            case 1:
                mutant.erase(begin, length + (line ? 1 : 0));
                break;
            case 2:
                mutant.insert(begin, mutant.substr(begin, length) + (line ? "\n" : " "));
                break;
            case 3: {
                if (other.empty()) break;
                const auto [from, count] = piece(other, "\n", random);
                mutant.insert(begin, other.substr(from, count) + "\n");
                break;
            }
            default:
                mutant.replace(begin, length, new_word(other, random));
                break;
        }
    }
    return mutant;
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
