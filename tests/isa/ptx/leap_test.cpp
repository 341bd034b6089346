// Warps that leap over turns of their loop: afterwards they go on as if they had made them.
#include "isa/ptx/leap.h"

#include <catch2/catch.hpp>
#include <deque>
#include <utility>

#include "isa/ptx/inspection.h"
#include "launch.h"
#include "support/pipelined_copies.h"

namespace heddle::ptx::test {
namespace {

using tests::PipelinedCopies;
using Waits = PipelinedCopies::Waits;

constexpr unsigned kThreads = 64;

/// A thread block in timing mode, one instruction of each warp after the other. Copies end at once, or when
/// no warp can go on without.
class Block {
  public:
    Block(const LaunchContext& launch, bool copies_end_late)
        : program_(*launch.kernel), cta_(launch), late_(copies_end_late) {
        cta_.start(0);
        turns_.assign(cta_.warp_count(), 0);
        steps_.assign(cta_.warp_count(), 0);
        turn_steps_.assign(cta_.warp_count(), 0);
    }

    /// Every warp makes turns until it has made `turns` of them. Turn after turn, so that what is under way
    /// depends on the turn alone.
    void make_turns(std::uint64_t turns) {
        for (std::uint64_t t = 1; t <= turns; ++t) go_on([&](unsigned w) { return turns_[w] < t; });
    }
    /// Warp w performs up to `steps[w]` more instructions, as far as it does not wait.
    void make_steps(std::vector<unsigned> steps) {
        for (unsigned w = 0; w < cta_.warp_count(); ++w) {
            for (; steps[w] != 0 && can_go_on(w); --steps[w]) step(w);
        }
    }
    /// All warps leave out `turns` turns. Returns whether they could.
    bool leap(std::uint64_t turns) {
        bool could = true;
        for (unsigned w = 0; w < cta_.warp_count(); ++w) {
            WarpLeap leap(program_, cta_.warp(w));
            for (std::uint64_t t = 0; t < turns; ++t) could = could && leap.turn(turn_steps_[w]);
            leap.restore_states();
        }
        return could;
    }
    /// To the end of the kernel. Returns where each step was, and whether the warp waits afterwards.
    std::vector<std::pair<std::uint32_t, bool>> finish() {
        trace_.clear();
        go_on([&](unsigned) { return true; });
        CHECK(cta_.finished());
        return trace_;
    }

  private:
    bool can_go_on(unsigned w) { return !cta_.warp(w).finished() && !cta_.warp(w).blocked(); }

    template <class Wanted>
    void go_on(const Wanted& wanted) {
        for (;;) {
            bool moved = false, anybody = false;
            for (unsigned w = 0; w < cta_.warp_count(); ++w) {
                if (cta_.warp(w).finished() || !wanted(w)) continue;
                anybody = true;
                if (!can_go_on(w)) continue;
                step(w);
                moved = true;
            }
            if (!anybody) return;
            if (moved) continue;
            if (under_way_.empty()) return;
            cta_.complete(under_way_.front());
            under_way_.pop_front();
        }
    }

    void step(unsigned w) {
        Warp& warp = cta_.warp(w);
        const std::uint32_t at = warp.next();
        const StepResult result = warp.step(0);
        for (const AsyncOperation& operation : cta_.started().first(result.started_operations)) {
            if (late_)
                under_way_.push_back(operation);
            else
                now_.push_back(operation);
        }
        for (; !now_.empty(); now_.pop_front()) cta_.complete(now_.front());
        trace_.emplace_back(at, warp.blocked());
        // A wait that has to wait is performed again.
        if (result.info->memory_barrier == MemoryBarrierUse::none || !will_perform_again(warp, at))
            ++steps_[w];
        if (warp.finished() || warp.next() > at || warp.blocked()) return;
        ++turns_[w];
        turn_steps_[w] = std::exchange(steps_[w], 0);
    }

    const LeapProgram program_;
    Cta cta_;
    bool late_;
    std::deque<AsyncOperation> under_way_, now_;
    std::vector<std::uint64_t> turns_, steps_, turn_steps_;
    std::vector<std::pair<std::uint32_t, bool>> trace_;
};

}  // namespace

TEST_CASE("After a leap over whole rings warps wait for the same phases as without it", "[ptx][leap]") {
    for (const Waits waits :
         {Waits::parity, Waits::states, Waits::states_handed_on, Waits::states_selected}) {
        for (unsigned stages = 1; stages <= 8; ++stages) {
            PipelinedCopies kernel;
            kernel.waits = waits;
            kernel.stages = stages;
            kernel.turns = 16 * stages;
            Device device;
            const std::uint64_t in =
                device.memory.allocate("in", PipelinedCopies::kBytes * (kernel.turns + stages + 1), false);
            const Program program(kernel.text(kThreads), "kernel");
            const LaunchContext launch =
                program.launch(device, {1}, {kThreads}, {argument(in)}, Mode::timing);
            const LeapProgram leaps(program.kernel);
            REQUIRE(leaps.obstacle().empty());
            CHECK(leaps.waits_for_states() == (waits != Waits::parity));
            // After a ring all stages have been filled once, after two of them phases have their parity
            // again.
            const std::uint64_t ring = waits == Waits::states ? 2 : 2 * stages;
            for (const std::uint64_t rings : {1, 2, 3}) {
                for (const bool late : {false, true}) {
                    for (const std::vector<unsigned>& steps :
                         {std::vector<unsigned>{0, 0}, {7, 1}, {1, 9}, {1000, 1000}}) {
                        INFO("waits " << static_cast<int>(waits) << ", " << stages << " stages, " << rings
                                      << " rings, copies end " << (late ? "late" : "at once") << ", "
                                      << steps[0] << " and " << steps[1] << " steps");
                        Block leaping(launch, late), stepping(launch, late);
                        leaping.make_turns(3);
                        leaping.make_steps(steps);
                        REQUIRE(leaping.leap(rings * ring));
                        stepping.make_turns(3 + rings * ring);
                        stepping.make_steps(steps);
                        const auto trace = leaping.finish();
                        const bool same = trace == stepping.finish();
                        REQUIRE(same);
                        CHECK(trace.size() > 16);
                    }
                }
            }
        }
    }
}

}  // namespace heddle::ptx::test
