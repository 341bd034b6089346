// One pseudo channel of device memory: its banks, its data bus, and the scheduler that chooses among the
// requests queued for it. No SystemC: time is counted in bursts, the time that 32 bytes take on the bus.
//
// The scheduler decides ahead of the bus: as long as less than tRP + tRCD + tCL of bus time is promised, it
// takes one more piece of a request, a line's or less, and fixes when the bank is precharged and activated
// and when its data moves, at the earliest that the timing rules allow. It takes (FR-FCFS)
//   a request that has waited for longer than the starvation bound; else
//   the oldest for an open row, of a bank group other than the one served last; else
//   the one whose data can move first, of those that the banks would serve next: for their open row, or the
//   oldest.
// Writes are collected, and served in batches when many are queued, or while no read is.
// A refresh that is due begins when what was promised is done; all its rows are closed then.
// Commands have no bus of their own here: HBM has one for rows and one for columns, and neither fills up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/memory/memory_config.h"
#include "models/memory/memory_request.h"

namespace heddle::models {

using Slot = std::uint64_t;  ///< bursts since the beginning of the run
inline constexpr Slot kNoSlot = ~Slot{0};
inline constexpr std::uint32_t kMaximumBanks = 64;  ///< of a pseudo channel
inline constexpr unsigned kBusWindow = 128;         ///< slots from now within which data may be promised

/// Counts since the channel's reset().
struct PseudoChannelStatistics {
    std::uint64_t bursts = 0, activations = 0, refreshes = 0,
                  turnarounds = 0;  ///< served; rows opened; refresh
                                    ///< commands; changes of the bus
                                    ///< between reads and writes
};

/// Time goes in slots, each as long as one burst on the data bus. The caller passes requests and asks when
/// there is something to decide; the class has no process of its own.
class PseudoChannel {
  public:
    /// `phase`: part of tREFI, 0..1, at which the first refresh is due.
    PseudoChannel(const MemoryConfig& config, const DramBursts& timing, double phase);

    /// A request, with the place of its data.
    struct Arrival {
        MemoryRequest* request;           ///< stays with the caller until it is served
        std::uint32_t row, bank, bursts;  ///< 1 to 16 bursts
        bool write;                       ///< stores and write-backs
        std::uint32_t lines = 1;          ///< of a request; the queues' sizes count lines
    };
    /// What serve() has taken.
    struct Served {
        MemoryRequest* request;  ///< nullptr: more pieces follow
        Slot end;                ///< the slot after its last data
        bool row_hit;            ///< no row was opened for it
        /// Of the piece that was taken: for those who watch. Its bursts are burst_distance() slots apart.
        std::uint32_t bank, row, bursts;
    };

    /// Times given to the two functions never go back.
    void arrive(const Arrival& arrival, Slot now);
    /// Takes one more request, or the next piece of one, if one is to be taken now. `served.request` is
    /// nullptr while there are more pieces of it.
    bool serve(Slot now, Served& served);
    /// The slot from which serve() may take another, if nothing arrives before; kNoSlot: none is queued.
    Slot next_decision() const;

    /// Slots between two bursts of one bank group (tCCD_L).
    std::uint32_t burst_distance() const { return t_.ccd_l; }
    /// Requests among which the scheduler chooses, in lines.
    std::uint32_t queued(bool write) const { return queues_[write ? 1 : 0].count; }
    bool empty() const { return queues_[0].count + queues_[1].count == 0; }
    const PseudoChannelStatistics& statistics() const { return statistics_; }

  private:
    using Index = std::uint16_t;
    static constexpr Index kNone = 0xffff;
    static constexpr std::uint32_t kClosed = ~std::uint32_t{0};
    __extension__ using Bitmap = unsigned __int128;

    struct Entry {
        MemoryRequest* request;
        Slot arrived;
        std::uint32_t order, row;
        Index next;                        // of its bank
        Index younger, older;              // of its queue
        std::uint8_t bank, bursts, lines;  // still to be served
        bool row_hit = true;               // no row had to be opened for it so far
    };
    struct BankQueue {  // of one bank, in order of arrival
        Index first = kNone, last = kNone;
        Index hits = 0;     // requests for the open row
        Index hit = kNone;  // the oldest of them, when there is one
        std::uint32_t hit_order = 0, first_order = 0;
        std::uint8_t hit_bursts = 0, first_bursts = 0;  // that they would be served next
    };
    struct Queue {  // of reads, of writes
        std::array<BankQueue, kMaximumBanks> banks{};
        std::uint64_t pending = 0, hitting = 0;  // one bit per bank
        Index oldest = kNone, youngest = kNone;
        std::uint32_t count = 0;       // lines
        std::int32_t room = 0;         // for lines; a request that finds any enters whole
        std::vector<Arrival> waiting;  // found the queue full: a ring
        std::size_t waiting_first = 0, waiting_count = 0;
    };
    struct Bank {
        std::uint32_t row = kClosed;
        Slot activate_from = 0, precharge_from = 0, column_from = 0, last_use = 0;
    };
    struct Group {
        Slot data_from = 0, read_from = 0;
        Slot activate_from = 0;
    };
    struct Plan {
        Slot precharge = kNoSlot, activate = kNoSlot;
        Slot data = 0;
    };
    struct Pick {
        Index entry = kNone;
        Plan plan;
    };

    void enter(Queue& queue, const Arrival& arrival, Slot now);
    void refresh_until(Slot now);
    void refresh(std::uint32_t first, std::uint32_t last, Slot due, std::uint32_t duration);
    Slot timeout_of(std::uint32_t bank) const;
    void settle(std::uint32_t bank, Slot now);
    void close(std::uint32_t bank, Slot at);
    void count_hits(std::uint32_t bank);
    void find_hit(BankQueue& queue, Index from, std::uint32_t row) const;
    static void wait(Queue& queue, const Arrival& arrival);
    static Arrival next_waiting(Queue& queue);
    void pass_time(Slot now);
    void promise(Slot data, std::uint32_t bursts);
    bool to_write() const;
    std::uint32_t promises_allowed() const;
    Pick choose(const Queue& queue, bool write, Slot now) const;
    static Index oldest_hit(const Queue& queue, std::uint64_t banks);
    Pick first_ready(const Queue& queue, bool write, Slot now) const;
    Plan plan(const Entry& entry, bool write, Slot now) const;
    void find_activation(std::uint32_t bank, Slot now, Plan& plan) const;
    Slot data_from(std::uint32_t bank, Slot column, bool write) const;
    Slot earliest(std::uint32_t bank, bool hit, bool write, Slot now, Plan& plan) const;
    Slot first_free(Slot from, std::uint32_t bursts) const;
    void commit(bool write, const Pick& pick, std::uint32_t bursts);
    void shorten(Queue& queue, Entry& entry, std::uint32_t bursts);
    void remove(Queue& queue, Index index);

    const MemoryConfig& config_;
    const DramBursts t_;
    const std::uint32_t lookahead_;
    const Slot starvation_, row_timeout_;
    const double phase_;

    std::vector<Entry> entries_;
    Index free_ = kNone;
    std::array<Queue, 2> queues_;
    std::vector<Bank> banks_;
    std::vector<Group> groups_;
    std::array<std::uint8_t, kMaximumBanks> group_of_{};
    std::array<std::uint64_t, kLineBytes / kBurstBytes + 1> pieces_{};  // slots of so many bursts
    Bitmap bus_ = 0;                                                    // promised slots, from base_
    std::uint32_t promised_ = 0;                                        // so many
    Slot base_ = 0;
    Slot full_until_ = 0;  // until then `lookahead_` slots or more are promised
    Slot idle_from_ = 0;   // from there on none is
    Slot retry_ = 0;
    Slot read_from_ = 0, write_from_ = 0;  // least slots for data, because of turnarounds
    Slot activate_from_ = 0;
    std::array<Slot, 4> windows_{};  // ends of the tFAW of the last four activations
    std::uint32_t next_window_ = 0;
    std::uint32_t order_ = 0;
    std::uint32_t last_group_ = 0;
    std::uint64_t refreshes_ = 0;  // begun or skipped
    Slot refresh_due_ = kNoSlot;
    bool writing_ = false;
    bool pressed_ = false;  // it turned to writing because writes were many
    std::uint32_t since_turn_ = 0;
    PseudoChannelStatistics statistics_;
};

}  // namespace heddle::models
