#include "models/common/clock_domain.h"

#include <bit>
#include <cmath>
#include <string>

#include "isa/common/error.h"

namespace heddle::models {

Block::Block(const sc_core::sc_module_name& name, ClockDomain& clock) : sc_module(name), clock_(clock) {
    clock_.enroll(*this);
}

void Block::schedule(Cycle at) {
    clock_.schedule(*this, at);
}

ClockDomain::ClockDomain(const sc_core::sc_module_name& name, double hertz) : sc_module(name), hertz_(hertz) {
    bucket_used_.assign(kWheelSize / 64, 0);
    SC_METHOD(process);
    sensitive << go_;
    dont_initialize();
}

void ClockDomain::set_hertz(double hertz) {
    hertz_ = hertz;
}

sc_core::sc_time ClockDomain::time_of(Cycle cycle) const {
    return sc_core::sc_time(std::round(static_cast<double>(cycle) * 1e12 / hertz_), sc_core::SC_PS);
}

void ClockDomain::enroll(Block& block) {
    block.index_ = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back(&block);
    words_ = (blocks_.size() + 63) / 64;
    wheel_.assign(kWheelSize * words_, 0);
}

void ClockDomain::schedule(Block& block, Cycle at) {
    if (at >= block.due_) return;
    if (running_cycle_ && at <= now_) {
        throw Error("internal: " + std::string(block.name()) + " was woken for cycle " + std::to_string(at) +
                    ", which is not after the present cycle " + std::to_string(now_));
    }
    block.due_ = at;
    if (at < now_ + kWheelSize) {
        const std::size_t bucket = at % kWheelSize;
        wheel_[bucket * words_ + block.index_ / 64] |= 1ull << (block.index_ % 64);
        bucket_used_[bucket / 64] |= 1ull << (bucket % 64);
    } else {
        later_.emplace(at, block.index_);
    }
}

void ClockDomain::restart() {
    now_ = 0;
    stopped_ = false;
    failure_ = nullptr;
    wheel_.assign(kWheelSize * words_, 0);
    bucket_used_.assign(kWheelSize / 64, 0);
    later_ = {};
    for (Block* block : blocks_) block->due_ = kNever;
}

Cycle ClockDomain::next_due() const {
    Cycle best = kNever;
    const std::size_t start = now_ % kWheelSize;
    for (std::size_t step = 0; step <= kWheelSize / 64; ++step) {
        const std::size_t word = (start / 64 + step) % (kWheelSize / 64);
        std::uint64_t bits = bucket_used_[word];
        if (step == 0) bits &= ~0ull << (start % 64);
        if (step == kWheelSize / 64) bits &= (1ull << (start % 64)) - 1;
        if (bits != 0) {
            const std::size_t bucket = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            best = now_ + (bucket + kWheelSize - start) % kWheelSize;
            break;
        }
    }
    if (!later_.empty() && later_.top().first < best) best = later_.top().first;
    return best;
}

Cycle ClockDomain::run(Cycle limit, Cycle pause) {
    limit_ = limit;
    pause_ = pause;
    paused_ = false;
    stopped_ = false;
    run_start_ = sc_core::sc_time_stamp() - time_of(now_);
    const Cycle first = next_due();
    if (first == kNever) return now_;
    now_ = first;
    const sc_core::sc_time start = run_start_ + time_of(now_);
    const sc_core::sc_time present = sc_core::sc_time_stamp();
    go_.notify(start > present ? start - present : sc_core::SC_ZERO_TIME);
    sc_core::sc_start();
    if (failure_) {
        std::exception_ptr failure = failure_;
        failure_ = nullptr;
        std::rethrow_exception(failure);
    }
    return now_;
}

void ClockDomain::process() {
    if (!run_and_plan() && shared_kernel_) sc_core::sc_pause();
}

bool ClockDomain::run_and_plan() {
    try {
        if (tick_every_cycle_) {
            run_cycle_looking_at_every_block();
        } else {
            run_cycle();
        }
        if (stopped_) return false;
        Cycle next = next_due();
        if (next == kNever) return false;
        if (tick_every_cycle_) next = now_ + 1;
        if (limit_ != 0 && next > limit_) {
            throw Error("the simulation passed its limit of " + std::to_string(limit_) + " cycles", {},
                        "raise the limit, or look for an endless loop");
        }
        if (next > pause_) {
            paused_ = true;
            return false;
        }
        // Buckets already behind us hold nothing: next_due() is never earlier than the cycle just run.
        now_ = next;
        const sc_core::sc_time at = run_start_ + time_of(now_);
        next_trigger(at - sc_core::sc_time_stamp());
        return true;
    } catch (...) {
        failure_ = std::current_exception();
        return false;
    }
}

void ClockDomain::run_cycle() {
    running_cycle_ = true;
    while (!later_.empty() && later_.top().first <= now_) {
        Block& block = *blocks_[later_.top().second];
        later_.pop();
        if (block.due_ == now_) {
            wheel_[(now_ % kWheelSize) * words_ + block.index_ / 64] |= 1ull << (block.index_ % 64);
        }
    }
    const std::size_t bucket = now_ % kWheelSize;
    bucket_used_[bucket / 64] &= ~(1ull << (bucket % 64));
    std::uint64_t* const words = &wheel_[bucket * words_];
    for (std::size_t word = 0; word < words_; ++word) {
        std::uint64_t bits = words[word];
        words[word] = 0;
        // The caches of the host fetch for many blocks at once what one after the other would wait for.
        for (unsigned stage = 0; stage < Block::kPrefetchStages; ++stage)
            for (std::uint64_t ahead = bits; ahead != 0; ahead &= ahead - 1)
                blocks_[word * 64 + static_cast<std::size_t>(std::countr_zero(ahead))]->prefetch(now_, stage);
        while (bits != 0) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
            bits &= bits - 1;
            Block& block = *blocks_[word * 64 + bit];
            if (block.due_ != now_) continue;  // it was woken earlier in the meantime, and has run
            block.due_ = kNever;
            ++activations_;
            const Cycle next = block.tick(now_);
            if (next != kNever) schedule(block, next);
        }
    }
    running_cycle_ = false;
}

void ClockDomain::run_cycle_looking_at_every_block() {
    running_cycle_ = true;
    const std::size_t bucket = now_ % kWheelSize;
    bucket_used_[bucket / 64] &= ~(1ull << (bucket % 64));
    for (std::size_t word = 0; word < words_; ++word) wheel_[bucket * words_ + word] = 0;
    while (!later_.empty() && later_.top().first <= now_) later_.pop();
    for (Block* block : blocks_) {
        const bool due = block->due_ <= now_;
        const bool able = block->can_act(now_);
        if (able && !due) {
            throw Error("internal: " + std::string(block->name()) + " could act in cycle " +
                        std::to_string(now_) + " but was due only in cycle " +
                        (block->due_ == kNever ? std::string("never") : std::to_string(block->due_)));
        }
        if (!due && !able) continue;
        block->due_ = kNever;
        ++activations_;
        const Cycle next = block->tick(now_);
        if (next != kNever) schedule(*block, next);
    }
    running_cycle_ = false;
}

}  // namespace heddle::models
