// What a warp's loops do, for sampling: turns, instructions and cycles per turn.
#pragma once

#include <array>
#include <cstdint>

#include "models/common/cycle.h"

namespace heddle::models::gpu {

/// Loops are told apart by the instruction that their backward branches lead to. Times count what sampling
/// has left out.
class WarpWatch {
  public:
    /// What is known of one loop. Times are cycles, instructions are those of the warp.
    struct Loop {
        std::uint32_t head = 0;        ///< index of the instruction that the backward branches lead to
        std::uint64_t turns = 0;       ///< backward branches taken; 0: not in use
        std::uint64_t steps = 0;       ///< instructions of the last turn, of inner loops too
        std::uint64_t alike = 0;       ///< turns up to now that took as many instructions as the last
        Cycle last = 0;                ///< time of the last backward branch
        Cycle period = 0, before = 0;  ///< duration of the last turn, of the one before
        Cycle first = 0;  ///< from the warp's start to the first backward branch: the first turn, and more
        std::uint64_t last_step = 0;  ///< WarpWatch::steps() at the last backward branch
    };
    static constexpr std::size_t kLoops = 4;  ///< loops that are remembered; the one whose last turn is
                                              ///< oldest gives way

    /// A warp starts in cycle `now`: forgets everything.
    void start(Cycle now) {
        *this = WarpWatch();
        started_ = now;
    }
    /// The warp performs an instruction.
    void step() { ++steps_; }
    /// The warp takes a backward branch to instruction `head` in cycle `now`.
    void turn(std::uint32_t head, Cycle now) {
        Loop& loop = find(head);
        const std::uint64_t steps = steps_ - loop.last_step;
        if (loop.turns != 0) {
            // After a turn that something else took part in comes a shorter one, alone so far.
            loop.alike = steps == loop.steps ? loop.alike + 1 : steps < loop.steps || loop.steps == 0 ? 1 : 0;
            loop.steps = steps;
            loop.before = loop.period;
            loop.period = now - loop.last;
        } else {
            loop.first = now - started_;
        }
        ++loop.turns;
        loop.last = now;
        loop.last_step = steps_;
        latest_ = static_cast<std::uint8_t>(&loop - loops_.data());
    }
    /// `turns` turns of a loop, of `turn_steps` instructions each, have been left out, and `cycles` with
    /// them.
    void leap(std::size_t index, std::uint64_t turn_steps, std::uint64_t turns, Cycle cycles) {
        const std::uint64_t steps = turns * turn_steps;
        for (Loop& loop : loops_) {
            if (loop.turns == 0 || loop.last_step + turn_steps <= steps_)
                continue;  // around that which leaps
            loop.last += cycles;
            loop.last_step += steps;
        }
        loops_[index].turns += turns;
        loops_[index].alike += turns;
        loops_[index].steps = turn_steps;
        steps_ += steps;
    }
    /// The loop around the innermost, as far as it has turned; nullptr: none has.
    const Loop* around() const {
        const Loop& inner = loops_[latest_];
        const std::uint64_t entry = inner.last_step - inner.alike * inner.steps;
        const Loop* best = nullptr;
        for (const Loop& loop : loops_) {
            if (loop.turns == 0 || &loop == &inner || loop.last_step > entry) continue;
            if (best == nullptr || loop.last_step > best->last_step) best = &loop;
        }
        return best;
    }

    /// Instructions that the warp has performed since its start, those left out included.
    std::uint64_t steps() const { return steps_; }
    /// The cycle in which the warp started.
    Cycle started() const { return started_; }
    const std::array<Loop, kLoops>& loops() const { return loops_; }
    /// The loop with the last backward branch: the innermost.
    std::size_t latest() const { return latest_; }

  private:
    Loop& find(std::uint32_t head) {
        Loop* oldest = &loops_[0];
        for (Loop& loop : loops_) {
            if (loop.turns != 0 && loop.head == head) return loop;
            if (loop.turns == 0 || (oldest->turns != 0 && loop.last < oldest->last)) oldest = &loop;
        }
        *oldest = Loop{};
        oldest->head = head;
        return *oldest;
    }
    std::array<Loop, kLoops> loops_{};
    std::uint64_t steps_ = 0;
    Cycle started_ = 0;
    std::uint8_t latest_ = 0;
};

}  // namespace heddle::models::gpu
