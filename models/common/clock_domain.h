// Time. A ClockDomain is one SystemC process with a timing wheel: it calls the blocks that are due in this
// cycle, in a fixed order, and asks the SystemC kernel for its next wake-up. Blocks sleep until something can
// happen to them.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <systemc>
#include <vector>

#include "models/common/cycle.h"
#include "models/common/host_threads.h"
#include "models/common/signals.h"

namespace heddle::models {

class ClockDomain;

/// A part of a machine, as coarse as an SM, an L2 slice, a memory channel or a matrix unit. Its ports show in
/// its header.
///
/// Rules that keep runs deterministic and let cycles be skipped:
///  - a message from one block to another arrives at least one cycle after it was sent (so the order in which
///  blocks are
///    called within a cycle cannot matter), and wakes the receiver for that cycle;
///  - tick() acts for cycle `now` and returns the next cycle in which the block may act without a new
///  message;
///  - can_act() recomputes from the block's state alone, never from a stored wake-up time, whether tick() in
///  this cycle
///    would change anything.
///
/// Several threads of the host may share the blocks of a cycle. What belongs together is a group: its blocks
/// may call one another and are performed by one thread, in their order. Whatever else they do to other
/// blocks goes through post(). What one block of the group tells it and what is posted to it come in either
/// order, so they may not share a queue in which that matters. The result is that of one thread, bit for bit.
class Block : public sc_core::sc_module {
  public:
    Block(const sc_core::sc_module_name& name, ClockDomain& clock);
    /// Acts for cycle `now` and returns the next cycle in which the block may act without a new message;
    /// kNever when only a message can wake it.
    virtual Cycle tick(Cycle now) = 0;
    /// Whether tick(now) would change anything, recomputed from the block's state alone. Only runs with
    /// ClockDomain::set_tick_every_cycle() ask.
    virtual bool can_act(Cycle now) const = 0;
    /// Called before tick(now), for many blocks one after the other: brings what that will need into the
    /// caches of the host. Changes nothing. Stage by stage, since each may look at what the one before has
    /// brought: what it points to comes while other blocks are looked at.
    virtual void prefetch(Cycle, unsigned /*stage*/) const {}
    static constexpr unsigned kPrefetchStages = 5;
    /// Returns the block to the state just after construction. Every block has a test that this is complete.
    virtual void reset() = 0;

    /// The signals of the block (signals.h), always the same list in the same order.
    virtual std::vector<SignalDeclaration> signals() const { return {}; }
    /// Sets the probe to which changes are reported, between runs. With nullptr nothing is reported, which
    /// costs nothing.
    virtual void set_probe(SignalProbe* probe) { probe_ = probe; }

    /// The domain that the block belongs to for its whole life; it is not owned.
    ClockDomain& clock() { return clock_; }
    const ClockDomain& clock() const { return clock_; }
    /// Makes sure that tick() is called in cycle `at` (at the latest). Must lie in the future while cycles
    /// are running.
    void wake(Cycle at) {
        if (at < due_) schedule(at);
    }

    /// Puts it into group `group` (0, 1, ...). In a cycle, blocks of a later `phase` come after all of an
    /// earlier one have been performed and what they posted has been delivered. Blocks without a group are
    /// performed while no other is. Before the first run.
    void join_group(std::uint32_t group, std::uint32_t phase);
    std::uint32_t group() const { return group_; }
    static constexpr std::uint32_t kAlone = ~std::uint32_t{0};

    /// A message that a block sends to another one by post(), as a function that delivers it:
    /// `deliver(receiver, what, at)`.
    using Delivery = void (*)(void* receiver, void* what, Cycle at);
    /// Has it delivered when all groups have performed the cycle's blocks, in the order of the groups and,
    /// from one group, in the order of posting; to blocks without a group in the order of the senders. So of
    /// the blocks that post, those of a later group must have been made later. Only while groups are apart,
    /// see ClockDomain. `to` may be nullptr: no block.
    void post(const Block* to, Delivery deliver, void* receiver, void* what, Cycle at);

  protected:
    /// The probe to which changes are reported; nullptr: none.
    SignalProbe* probe() const { return probe_; }

  private:
    void schedule(Cycle at);
    friend class ClockDomain;
    ClockDomain& clock_;
    std::uint32_t index_ = 0;
    std::uint32_t group_ = kAlone, phase_ = 0;
    Cycle due_ = kNever;
    SignalProbe* probe_ = nullptr;
};

/// The clock of a machine. It calls the blocks that are due in a cycle in the order of their construction (or
/// by groups, see Block::join_group()), and skips cycles in which none is due.
class ClockDomain : public sc_core::sc_module {
  public:
    SC_HAS_PROCESS(ClockDomain);
    ClockDomain(const sc_core::sc_module_name& name, double hertz);

    /// Cycles per second, from which time_of() makes time.
    double hertz() const { return hertz_; }
    /// Only between runs.
    void set_hertz(double hertz);
    /// The present cycle, counted from the last restart().
    Cycle now() const { return now_; }
    /// SystemC time at which cycle `cycle` of the present run begins, counted from the run's start. The one
    /// place where cycles become time.
    sc_core::sc_time time_of(Cycle cycle) const;

    /// Ignore stored wake-up times: look at every block in every cycle, and fail when one could have acted
    /// earlier than it was due. The cycle counts must be the same.
    void set_tick_every_cycle(bool enabled) { tick_every_cycle_ = enabled; }

    /// Threads of the host that perform the groups of blocks, the caller's among them; 1 at first.
    /// Only between runs. Changes no result.
    void set_threads(unsigned threads);
    /// Whether several threads are performing groups at present: blocks of different groups may not call one
    /// another then.
    bool apart() const { return apart_; }

    /// Starts counting at cycle 0 with no block due. Call reset() of the blocks yourself.
    void restart();
    /// Calls sc_start() until no block is due or `stop()` was called. Returns the cycle reached. Aborts the
    /// run with heddle::Error when `limit` is passed (0: none). Exceptions thrown by a block end the run and
    /// come out of here.
    /// After cycle `pause` it comes back with work left, see paused(); the next run() goes on.
    Cycle run(Cycle limit = 0, Cycle pause = kNever);
    /// Whether run() came back because of `pause`, with work left.
    bool paused() const { return paused_; }
    /// Ends run() after the present cycle.
    void stop() { stopped_ = true; }
    /// Other processes of the SystemC kernel may never come to rest: run() ends them with sc_pause().
    void share_kernel() { shared_kernel_ = true; }

    /// Calls of tick(), for benchmarks.
    std::uint64_t activations() const { return activations_; }

  private:
    friend class Block;
    static constexpr std::size_t kWheelSize =
        1024;  // cycles ahead that the wheel covers; later ones wait in a heap

    using Later = std::pair<Cycle, std::uint32_t>;
    struct Post {
        Block::Delivery deliver;
        void* receiver;
        void* what;
        Cycle at;
    };
    // What the thread that performs a group writes.
    struct alignas(64) Group {
        std::vector<Block*> due;               // in the present cycle
        std::vector<std::vector<Post>> posts;  // by receiving group
        std::vector<std::pair<std::uint32_t, Post>>
            posts_alone;           // with the sender, to blocks without a group
        std::vector<Later> wakes;  // of its blocks
        bool posted = false;       // something to another group
        std::exception_ptr failure;
        std::uint32_t failed = 0;  // the block that threw it
    };

    void enroll(Block& block);
    void schedule(Block& block, Cycle at);
    void plan(std::uint32_t index, Cycle at);
    void make_groups();
    void process();
    /// Runs the present cycle and plans the next; false: there is none.
    bool run_and_plan();
    void run_cycle();
    void take_later();
    void run_cycle_in_groups();
    void perform(Block& block);
    void perform_gathered();
    void perform_apart();
    void perform_group(Group& group);
    void rethrow_failure();
    void deliver_to(std::uint32_t group);
    void run_cycle_looking_at_every_block();
    Cycle next_due() const;

    double hertz_;
    Cycle now_ = 0;
    Cycle limit_ = 0, pause_ = kNever;
    bool paused_ = false;
    bool running_cycle_ = false;
    bool stopped_ = false;
    bool shared_kernel_ = false;
    bool tick_every_cycle_ = false;
    std::uint64_t activations_ = 0;
    std::vector<Block*> blocks_;
    std::size_t words_ = 0;                   // 64-block words per bucket
    std::vector<std::uint64_t> wheel_;        // [bucket][word]: blocks due in that cycle
    std::vector<std::uint64_t> bucket_used_;  // one bit per bucket
    std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
    sc_core::sc_event go_;
    sc_core::sc_time run_start_;
    std::exception_ptr failure_;

    std::uint32_t group_count_ = 0;
    std::vector<Group> groups_;
    std::unique_ptr<HostThreads> threads_;  // made when first needed
    std::vector<Block*> gathered_;          // of one phase of the present cycle
    std::vector<std::pair<std::uint32_t, Post>> posts_alone_;
    bool grouped_ = false;
    bool apart_ = false;
};

}  // namespace heddle::models
