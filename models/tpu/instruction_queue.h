// The queue of issued instructions in front of a unit.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "isa/tpu/instruction.h"
#include "models/common/clock_domain.h"

namespace heddle::models {

/// An instruction on its way through a core.
struct IssuedInstruction {
    const tpu::Instruction* instruction = nullptr;  ///< belongs to the program, which outlives the run
    tpu::LoopCounters counters{};                   ///< of the loops around it when it was issued
    std::uint64_t sequence = 0;                     ///< position in the core's program order

    /// The operation as its type; throws std::bad_variant_access when it is another one.
    template <class Operation>
    const Operation& as() const {
        return std::get<Operation>(instruction->operation);
    }
};

/// Is told of every instruction that a unit has finished; timelines and tests implement it.
class UnitObserver {
  public:
    virtual ~UnitObserver() = default;
    /// The unit worked on the instruction in cycles begin to end, both included.
    virtual void finished(const Block& unit, const IssuedInstruction& issued, Cycle begin, Cycle end) = 0;
};

/// A first-in, first-out queue of bounded depth. New entries and freed room become visible in the next cycle,
/// so that the order in which two blocks are called within a cycle does not matter.
class InstructionQueue {
  public:
    explicit InstructionQueue(std::size_t depth) : depth_(depth) {}

    /// Whether push() may be called in cycle `now`. Room that was made in this cycle does not count.
    bool has_room(Cycle now) const { return entries_.size() + (freed_in_ == now ? freed_ : 0) < depth_; }
    /// Wakes `block` when room has been made.
    void tell_of_room(Block& block, Cycle now) {
        if (freed_in_ == now) return block.wake(now + 1);
        waiting_ = &block;
    }
    void push(Cycle now, const IssuedInstruction& issued) {
        entries_.push_back({issued, now + 1});
        tell_depth(now);
    }
    /// From now on reports the queue's depth to `probe` as signal number `signal`; nullptr stops that.
    void watch(SignalProbe* probe, std::size_t signal) {
        probe_ = probe;
        signal_ = signal;
    }

    /// Whether nothing is queued, what was pushed in this cycle included.
    bool empty() const { return entries_.empty(); }
    /// The oldest instruction, even if it was pushed in this cycle and front() does not show it yet; nullptr
    /// when empty.
    const tpu::Instruction* first() const {
        return entries_.empty() ? nullptr : entries_.front().issued.instruction;
    }
    /// The first cycle in which front() shows something; kNever when empty.
    Cycle visible_from() const { return entries_.empty() ? kNever : entries_.front().visible; }
    /// The oldest entry that is visible in cycle `now`; nullptr when there is none.
    const IssuedInstruction* front(Cycle now) const {
        return entries_.empty() || entries_.front().visible > now ? nullptr : &entries_.front().issued;
    }
    void pop(Cycle now) {
        entries_.pop_front();
        tell_depth(now);
        freed_ = freed_in_ == now ? freed_ + 1 : 1;
        freed_in_ = now;
        if (waiting_ != nullptr) {
            waiting_->wake(now + 1);
            waiting_ = nullptr;
        }
    }
    /// Whether the queue still holds an instruction before `sequence` for which `predicate` holds.
    template <class Predicate>
    bool has_earlier(std::uint64_t sequence, Predicate predicate) const {
        for (const Entry& entry : entries_) {
            if (entry.issued.sequence >= sequence) return false;
            if (predicate(entry.issued)) return true;
        }
        return false;
    }
    void reset() {
        entries_.clear();
        freed_ = 0;
        freed_in_ = kNever;
        waiting_ = nullptr;
    }

  private:
    struct Entry {
        IssuedInstruction issued;
        Cycle visible = 0;
    };
    void tell_depth(Cycle now) {
        if (probe_ != nullptr) probe_->set(signal_, now, static_cast<std::uint32_t>(entries_.size()));
    }
    std::size_t depth_;
    std::deque<Entry> entries_;
    SignalProbe* probe_ = nullptr;
    std::size_t signal_ = 0;
    std::size_t freed_ = 0;
    Cycle freed_in_ = kNever;
    Block* waiting_ = nullptr;
};

/// A unit as the sequencer sees it.
class InstructionSink : public virtual sc_core::sc_interface {
  public:
    /// The queue that takes such an instruction.
    virtual InstructionQueue& queue_for(const tpu::Operation& operation) = 0;
    /// Puts the instruction into its queue and wakes the unit.
    virtual void issue(Cycle now, const IssuedInstruction& issued) = 0;
    virtual bool is_idle() const = 0;
    /// The instructions at the head of its queues, for a deadlock report.
    virtual std::vector<const tpu::Instruction*> waiting() const = 0;
};

}  // namespace heddle::models
