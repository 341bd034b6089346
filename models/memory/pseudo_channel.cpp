#include "models/memory/pseudo_channel.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heddle::models {
namespace {

__extension__ using Bitmap = unsigned __int128;

unsigned lowest_bit(Bitmap bits) {
    const auto low = static_cast<std::uint64_t>(bits);
    return static_cast<unsigned>(low != 0 ? std::countr_zero(low)
                                          : 64 + std::countr_zero(static_cast<std::uint64_t>(bits >> 64)));
}

/// Bursts that are promised at once.
constexpr std::uint32_t kPiece = kLineBytes / kBurstBytes;

std::uint8_t piece_of(std::uint32_t bursts) {
    return static_cast<std::uint8_t>(std::min(bursts, kPiece));
}

}  // namespace

PseudoChannel::PseudoChannel(const MemoryConfig& config, const DramBursts& timing, double phase)
    : config_(config),
      t_(timing),
      lookahead_(std::max<std::uint32_t>(1, timing.rp + timing.rcd + timing.cl)),
      starvation_(static_cast<Slot>(config.starvation * config.bursts_per_second())),
      row_timeout_(static_cast<Slot>(config.row_timeout * config.bursts_per_second())),
      phase_(phase) {
    entries_.resize(std::size_t{config.read_queue} + config.write_queue);
    for (std::size_t i = entries_.size(); i-- > 0;) {
        entries_[i].next = free_;
        free_ = static_cast<Index>(i);
    }
    queues_[0].room = static_cast<std::int32_t>(config.read_queue);
    queues_[1].room = static_cast<std::int32_t>(config.write_queue);
    for (std::size_t i = 1; i < pieces_.size(); ++i)
        pieces_[i] = pieces_[i - 1] | 1ull << (i - 1) * timing.ccd_l;
    banks_.resize(config.banks_in_all());
    groups_.resize(config.bank_groups);
    for (std::uint32_t bank = 0; bank < config.banks_in_all(); ++bank)
        group_of_[bank] = static_cast<std::uint8_t>(bank / config.banks);
    if (config.refresh != RefreshPolicy::none) refresh_due_ = static_cast<Slot>(std::ceil(phase * t_.refi));
}

// ---- queues

void PseudoChannel::arrive(const Arrival& arrival, Slot now) {
    refresh_until(now);
    retry_ = 0;
    Queue& queue = queues_[arrival.write ? 1 : 0];
    if (queue.room > 0) {
        enter(queue, arrival, now);
        return;
    }
    wait(queue, arrival);
}

void PseudoChannel::wait(Queue& queue, const Arrival& arrival) {
    if (queue.waiting_count == queue.waiting.size()) {
        std::rotate(queue.waiting.begin(),
                    queue.waiting.begin() + static_cast<std::ptrdiff_t>(queue.waiting_first),
                    queue.waiting.end());
        queue.waiting_first = 0;
        queue.waiting.resize(std::max<std::size_t>(16, 2 * queue.waiting.size()));
    }
    queue.waiting[(queue.waiting_first + queue.waiting_count++) & (queue.waiting.size() - 1)] = arrival;
}

PseudoChannel::Arrival PseudoChannel::next_waiting(Queue& queue) {
    const Arrival next = queue.waiting[queue.waiting_first];
    queue.waiting_first = (queue.waiting_first + 1) & (queue.waiting.size() - 1);
    --queue.waiting_count;
    return next;
}

void PseudoChannel::enter(Queue& queue, const Arrival& arrival, Slot now) {
    settle(arrival.bank, now);
    const Index index = free_;
    Entry& entry = entries_[index];
    free_ = entry.next;
    entry = {arrival.request,
             now,
             order_++,
             arrival.row,
             kNone,
             kNone,
             queue.youngest,
             static_cast<std::uint8_t>(arrival.bank),
             static_cast<std::uint8_t>(arrival.bursts),
             static_cast<std::uint8_t>(arrival.lines)};
    (queue.youngest != kNone ? entries_[queue.youngest].younger : queue.oldest) = index;
    queue.youngest = index;
    BankQueue& bank = queue.banks[arrival.bank];
    if (bank.last != kNone) {
        entries_[bank.last].next = index;
    } else {
        bank.first = index;
        bank.first_order = entry.order;
        bank.first_bursts = piece_of(entry.bursts);
    }
    bank.last = index;
    const std::uint64_t bit = 1ull << arrival.bank;
    queue.pending |= bit;
    if (banks_[arrival.bank].row == arrival.row) {
        if (bank.hits++ == 0) {
            bank.hit = index;
            bank.hit_order = entry.order;
            bank.hit_bursts = piece_of(entry.bursts);
        }
        queue.hitting |= bit;
    }
    queue.count += arrival.lines;
    queue.room -= static_cast<std::int32_t>(arrival.lines);
}

/// A piece of it has been served: the row is open for the rest.
void PseudoChannel::shorten(Queue& queue, Entry& entry, std::uint32_t bursts) {
    entry.bursts = static_cast<std::uint8_t>(entry.bursts - bursts);
    if (entry.lines > 1) {
        --entry.lines;
        --queue.count;
        ++queue.room;
    }
    BankQueue& bank = queue.banks[entry.bank];
    if (bank.hit_order == entry.order) bank.hit_bursts = piece_of(entry.bursts);
    if (bank.first_order == entry.order) bank.first_bursts = piece_of(entry.bursts);
}

void PseudoChannel::remove(Queue& queue, Index index) {
    Entry& entry = entries_[index];
    BankQueue& bank = queue.banks[entry.bank];
    Index before = kNone;
    for (Index i = bank.first; i != index; i = entries_[i].next) before = i;
    (before != kNone ? entries_[before].next : bank.first) = entry.next;
    if (bank.last == index) bank.last = before;
    if (before == kNone && entry.next != kNone) {
        bank.first_order = entries_[entry.next].order;
        bank.first_bursts = piece_of(entries_[entry.next].bursts);
    }
    (entry.older != kNone ? entries_[entry.older].younger : queue.oldest) = entry.younger;
    (entry.younger != kNone ? entries_[entry.younger].older : queue.youngest) = entry.older;
    const std::uint64_t bit = 1ull << entry.bank;
    if (bank.first == kNone) queue.pending &= ~bit;
    // Whoever is served hits the row that was opened for it.
    if (--bank.hits == 0)
        queue.hitting &= ~bit;
    else if (bank.hit == index)
        find_hit(bank, entry.next, entry.row);
    entry.next = free_;
    free_ = index;
    queue.count -= entry.lines;
    queue.room += entry.lines;
}

/// Notes the first request for `row` from `from` on; there is one.
void PseudoChannel::find_hit(BankQueue& queue, Index from, std::uint32_t row) const {
    while (entries_[from].row != row) from = entries_[from].next;
    queue.hit = from;
    queue.hit_order = entries_[from].order;
    queue.hit_bursts = piece_of(entries_[from].bursts);
}

void PseudoChannel::count_hits(std::uint32_t bank) {
    const std::uint64_t bit = 1ull << bank;
    const std::uint32_t row = banks_[bank].row;
    for (Queue& queue : queues_) {
        BankQueue& requests = queue.banks[bank];
        Index hits = 0;
        for (Index i = requests.first; i != kNone; i = entries_[i].next) hits += entries_[i].row == row;
        requests.hits = hits;
        if (hits != 0) find_hit(requests, requests.first, row);
        queue.hitting = hits != 0 ? queue.hitting | bit : queue.hitting & ~bit;
    }
}

// ---- banks

void PseudoChannel::close(std::uint32_t bank, Slot at) {
    banks_[bank].activate_from = std::max(banks_[bank].activate_from, at + t_.rp);
    banks_[bank].row = kClosed;
}

/// When the adaptive policy closes the bank's open row, as things are.
Slot PseudoChannel::timeout_of(std::uint32_t index) const {
    if (config_.row_policy != RowPolicy::adaptive) return kNoSlot;
    if (queues_[0].banks[index].hits + queues_[1].banks[index].hits != 0) return kNoSlot;
    return std::max(banks_[index].precharge_from, banks_[index].last_use + row_timeout_);
}

/// Closes a row whose time was out before `now`.
void PseudoChannel::settle(std::uint32_t index, Slot now) {
    if (banks_[index].row == kClosed) return;
    const Slot at = timeout_of(index);
    if (at <= now) close(index, at);
}

void PseudoChannel::refresh_until(Slot now) {
    while (refresh_due_ <= now) {
        const auto count = static_cast<std::uint32_t>(banks_.size());
        const bool all = config_.refresh == RefreshPolicy::all_bank;
        const auto bank = static_cast<std::uint32_t>(refreshes_ % count);
        if (all) {
            refresh(0, count, refresh_due_, t_.rfc);
        } else {
            refresh(bank, bank + 1, refresh_due_, t_.rfc_pb);
        }
        ++refreshes_;
        ++statistics_.refreshes;
        const double interval = all ? t_.refi : t_.refi / count;
        refresh_due_ =
            static_cast<Slot>(std::ceil(phase_ * t_.refi + static_cast<double>(refreshes_) * interval));
    }
}

/// Banks [first, last): closed when what was promised is done and they may be, then busy for `duration`.
void PseudoChannel::refresh(std::uint32_t first, std::uint32_t last, Slot due, std::uint32_t duration) {
    Slot begin = due;
    for (std::uint32_t i = first; i < last; ++i) {
        settle(i, due);
        if (banks_[i].row != kClosed) close(i, std::max(due, banks_[i].precharge_from));
        begin = std::max(begin, banks_[i].activate_from);
    }
    for (std::uint32_t i = first; i < last; ++i) {
        banks_[i].activate_from = begin + duration;
        for (Queue& queue : queues_) queue.banks[i].hits = 0;
    }
    const std::uint64_t others = ~((last - first == 64 ? ~0ull : (1ull << (last - first)) - 1) << first);
    for (Queue& queue : queues_) queue.hitting &= others;
}

// ---- the bus

void PseudoChannel::pass_time(Slot now) {
    if (now <= base_) return;
    if (now >= idle_from_) {
        bus_ = 0;
        promised_ = 0;
    } else {  // less than the window ahead of base_
        Bitmap passed = bus_ & ((Bitmap{1} << (now - base_)) - 1);
        for (; passed != 0; passed &= passed - 1) --promised_;
        bus_ >>= now - base_;
    }
    base_ = now;
}

/// Data move from slot `data` on, tCCD_L apart.
void PseudoChannel::promise(Slot data, std::uint32_t bursts) {
    bus_ |= Bitmap{pieces_[bursts]} << (data - base_);
    promised_ += bursts;
    idle_from_ = std::max<Slot>(idle_from_, data + std::uint64_t{bursts - 1u} * t_.ccd_l + 1);
    if (promised_ < lookahead_) return;
    // The slot of which the end leaves less than that: not many are promised beyond.
    Bitmap later = bus_;
    for (std::uint32_t count = promised_; count > lookahead_; --count) later &= later - 1;
    full_until_ = base_ + lowest_bit(later) + 1;
}

/// Where `bursts` bursts to one bank group fit, tCCD_L apart, at `from` at the earliest; far beyond the
/// window when nowhere in it.
Slot PseudoChannel::first_free(Slot from, std::uint32_t bursts) const {
    if (from < base_) from = base_;
    if (from >= idle_from_) return from;
    // Slots in which `bursts` of them cannot begin: twice as many with each step. Beyond the window all are
    // free.
    if (idle_from_ - from < 64) {  // the usual case
        auto taken = static_cast<std::uint64_t>(bus_ >> (from - base_));
        for (std::uint32_t done = 1; done < bursts;) {
            const std::uint32_t more = std::min(done, bursts - done);
            taken |= taken >> more * t_.ccd_l;
            done += more;
        }
        return from + static_cast<std::uint64_t>(std::countr_one(taken));
    }
    Bitmap taken = bus_ >> (from - base_);
    for (std::uint32_t done = 1; done < bursts;) {
        const std::uint32_t more = std::min(done, bursts - done);
        taken |= taken >> more * t_.ccd_l;
        done += more;
    }
    return from + lowest_bit(~taken);
}

// ---- the scheduler

/// Reads or writes next?
bool PseudoChannel::to_write() const {
    const std::uint32_t reads = queues_[0].count, writes = queues_[1].count;
    if (reads == 0 || writes == 0) return writes != 0;
    const bool enough = since_turn_ >= config_.batch;
    return writing_ ? !enough && pressed_ : enough && writes >= config_.write_high;
}

/// Less than so many slots must be promised before a request is taken. Writes that were not waited for do not
/// begin before the bus is idle: a read may come.
std::uint32_t PseudoChannel::promises_allowed() const {
    const bool no_hurry = queues_[0].count == 0 && !writing_ && queues_[1].count < config_.write_high;
    return no_hurry ? 1 : lookahead_;
}

Slot PseudoChannel::next_decision() const {
    if (empty()) return kNoSlot;
    const bool no_hurry = promises_allowed() < lookahead_;
    return std::max({retry_, base_, no_hurry ? idle_from_ : full_until_});
}

bool PseudoChannel::serve(Slot now, Served& served) {
    refresh_until(now);
    pass_time(now);
    if (empty() || promised_ >= promises_allowed()) return false;
    const bool write = to_write();
    Queue& queue = queues_[write ? 1 : 0];
    const Pick pick = choose(queue, write, now);
    Entry& entry = entries_[pick.entry];
    const std::uint32_t bursts = piece_of(entry.bursts);
    const Slot end = pick.plan.data + std::uint64_t{bursts - 1u} * t_.ccd_l + 1;
    if (end > base_ + kBusWindow) {
        // Too far ahead; or, when nothing is promised, the bus will be idle until then.
        if (bus_ != 0 || pick.plan.data - now > t_.rp + t_.rcd + std::max(t_.cl, t_.cwl)) {
            retry_ = end - kBusWindow;
            const Slot starving = entries_[queue.oldest].arrived + starvation_;
            if (starving > now) retry_ = std::min(retry_, starving);
            return false;
        }
        base_ = pick.plan.data;
    }
    retry_ = 0;
    commit(write, pick, bursts);
    entry.row_hit &= pick.plan.activate == kNoSlot;
    const std::uint32_t index = entry.bank;
    served = {nullptr, end, entry.row_hit, index, entry.row, bursts};
    if (bursts < entry.bursts) {
        shorten(queue, entry, bursts);
    } else {
        served.request = entry.request;
        remove(queue, pick.entry);
    }
    while (queue.waiting_count != 0 && queue.room > 0) enter(queue, next_waiting(queue), now);
    Bank& bank = banks_[index];
    if (config_.row_policy == RowPolicy::closed && bank.row != kClosed &&
        queues_[0].banks[index].hits + queues_[1].banks[index].hits == 0)
        close(index, bank.precharge_from);
    return true;
}

PseudoChannel::Pick PseudoChannel::choose(const Queue& queue, bool write, Slot now) const {
    Pick pick;
    if (now >= entries_[queue.oldest].arrived + starvation_) {
        pick.entry = queue.oldest;
    } else {
        const std::uint64_t group = ((1ull << config_.banks) - 1) << (last_group_ * config_.banks);
        const std::uint64_t hitting = queue.hitting & ~group;
        if (hitting == 0) return first_ready(queue, write, now);
        pick.entry = oldest_hit(queue, hitting);
    }
    __builtin_prefetch(entries_[pick.entry].request);  // its answer comes next
    pick.plan = plan(entries_[pick.entry], write, now);
    return pick;
}

PseudoChannel::Index PseudoChannel::oldest_hit(const Queue& queue, std::uint64_t banks) {
    const BankQueue* best = &queue.banks[static_cast<std::size_t>(std::countr_zero(banks))];
    for (banks &= banks - 1; banks != 0; banks &= banks - 1) {
        const BankQueue& bank = queue.banks[static_cast<std::size_t>(std::countr_zero(banks))];
        if (bank.hit_order < best->hit_order) best = &bank;
    }
    return best->hit;
}

/// A bank would serve the oldest for its open row next, else the oldest. A younger request that could not
/// begin before the best so far, and is not shorter, cannot be better: the oldest's bank comes first, since
/// no other row can be opened before a slot that all banks share.
PseudoChannel::Pick PseudoChannel::first_ready(const Queue& queue, bool write, Slot now) const {
    Pick best;
    Slot best_from = 0;
    std::uint32_t best_order = 0, best_bursts = 0;
    // Data of another row move here at the earliest, whatever the bank.
    const Slot opened =
        std::max(std::max({now, activate_from_, windows_[next_window_]}) + t_.rcd + (write ? t_.cwl : t_.cl),
                 write ? write_from_ : read_from_);
    std::uint64_t banks = queue.pending;
    for (std::uint32_t index = entries_[queue.oldest].bank;;
         index = static_cast<std::uint32_t>(std::countr_zero(banks))) {
        banks &= ~(1ull << index);
        const BankQueue& bank = queue.banks[index];
        const bool hit = bank.hits != 0;
        const std::uint32_t order = hit ? bank.hit_order : bank.first_order;
        const std::uint32_t bursts = hit ? bank.hit_bursts : bank.first_bursts;
        const bool younger = best.entry != kNone && order > best_order && bursts >= best_bursts;
        if (hit || !younger || opened < best_from) {
            Plan plan;
            const Slot from = earliest(index, hit, write, now, plan);
            const bool worse =
                best.entry != kNone && (from > best.plan.data || (younger && from >= best_from));
            const Slot data = worse ? kNoSlot : first_free(from, bursts);
            if (best.entry == kNone || data < best.plan.data ||
                (data == best.plan.data && order < best_order)) {
                best.entry = hit ? bank.hit : bank.first;
                best.plan = plan;
                best.plan.data = data;
                best_from = from;
                best_order = order;
                best_bursts = bursts;
            }
        }
        if (banks == 0) break;
    }
    return best;
}

/// When the commands for a request can be given and its data move, at the earliest.
PseudoChannel::Plan PseudoChannel::plan(const Entry& entry, bool write, Slot now) const {
    const Bank& bank = banks_[entry.bank];
    Plan plan;
    Slot column = std::max(now, bank.column_from);
    if (bank.row != entry.row) {
        find_activation(entry.bank, now, plan);
        column = plan.activate + t_.rcd;
    }
    plan.data = first_free(data_from(entry.bank, column, write), piece_of(entry.bursts));
    return plan;
}

/// For a bank whose open row is not the one wanted.
void PseudoChannel::find_activation(std::uint32_t index, Slot now, Plan& plan) const {
    const Bank& bank = banks_[index];
    plan.activate = std::max({now, bank.activate_from, groups_[group_of_[index]].activate_from,
                              activate_from_, windows_[next_window_]});
    if (bank.row == kClosed) return;
    const Slot timeout = timeout_of(index);
    plan.precharge = timeout <= now ? timeout : std::max(now, bank.precharge_from);
    plan.activate = std::max(plan.activate, plan.precharge + t_.rp);
}

/// The first slot in which data may move, of a column command in slot `column`, as far as the bus is free.
Slot PseudoChannel::data_from(std::uint32_t bank, Slot column, bool write) const {
    const Group& group = groups_[group_of_[bank]];
    const Slot data = std::max(column + (write ? t_.cwl : t_.cl), group.data_from);
    return write ? std::max(data, write_from_) : std::max({data, read_from_, group.read_from});
}

/// The same of the request that the bank would serve next, with its other commands; `hit`: it is for the open
/// row.
Slot PseudoChannel::earliest(std::uint32_t bank, bool hit, bool write, Slot now, Plan& plan) const {
    if (hit) return data_from(bank, std::max(now, banks_[bank].column_from), write);
    find_activation(bank, now, plan);
    return data_from(bank, plan.activate + t_.rcd, write);
}

void PseudoChannel::commit(bool write, const Pick& pick, std::uint32_t bursts) {
    const Entry& entry = entries_[pick.entry];
    Bank& bank = banks_[entry.bank];
    last_group_ = group_of_[entry.bank];
    Group& group = groups_[last_group_];
    if (pick.plan.activate != kNoSlot) {
        const Slot at = pick.plan.activate;
        bank.row = entry.row;
        bank.column_from = at + t_.rcd;
        bank.precharge_from = at + t_.ras;
        bank.activate_from = at + t_.rc;
        group.activate_from = at + t_.rrd_l;
        activate_from_ = at + t_.rrd_s;
        windows_[next_window_] = at + t_.faw;
        next_window_ = (next_window_ + 1) % windows_.size();
        ++statistics_.activations;
        count_hits(entry.bank);
    }
    const Slot data = pick.plan.data;
    promise(data, bursts);
    const Slot last = data + std::uint64_t{bursts - 1u} * t_.ccd_l;
    group.data_from = last + t_.ccd_l;
    bank.last_use = std::max(bank.last_use, last + 1);
    if (write) {
        read_from_ = std::max(read_from_, last + 1 + t_.wtr_s + t_.cl);
        group.read_from = std::max(group.read_from, last + 1 + t_.wtr_l + t_.cl);
        bank.precharge_from = std::max(bank.precharge_from, last + 1 + t_.wr);
    } else {
        write_from_ = std::max(write_from_, last - t_.cl + t_.rtw + t_.cwl);
        bank.precharge_from = std::max(bank.precharge_from, last - t_.cl + t_.rtp);
    }
    if (write != writing_) {
        ++statistics_.turnarounds;
        since_turn_ = 0;
        writing_ = write;
        pressed_ = queues_[1].count >= config_.write_high;
    }
    ++since_turn_;
    statistics_.bursts += bursts;
}

}  // namespace heddle::models
