// A controller of one pseudo channel as one would write it to be read: it looks at everything in every cycle,
// keeps every command ever given, and finds out when the next may be given by trying one slot after another.
#pragma once

#include <deque>
#include <vector>

#include "models/memory/pseudo_channel.h"

namespace heddle::models {

class ReferenceDram {
  public:
    struct Job {
        std::uint32_t id, row, bank, bursts;
        bool write;
        std::uint32_t lines = 1;
        Slot since = 0;
    };
    struct Answer {
        std::uint32_t id;
        Slot end;
    };
    ReferenceDram(const MemoryConfig& config, const DramBursts& timing, double phase)
        : c_(config), t_(timing), phase_(phase), rows_(config.banks_in_all()) {}

    void arrive(Job job, Slot now) {
        begin_cycle(now);
        outside_[job.write].push_back(job);
        admit(job.write, now);
    }
    void cycle(Slot now) {
        begin_cycle(now);
        while (decide(now)) {
        }
    }
    std::vector<Answer> answers;

  private:
    enum class Kind { precharge, activate, read, write };
    struct Command {
        Kind kind;
        std::uint32_t bank;
        Slot at;  // of a column command: of its first burst
        Slot last;
    };
    struct Row {
        bool open = false;
        std::uint32_t number = 0;
        Slot last_use = 0;
        Slot blocked_until = 0;  // by refresh
    };
    std::uint32_t group(std::uint32_t bank) const { return bank / c_.banks; }

    void admit(bool write, Slot now) {
        const std::size_t room = write ? c_.write_queue : c_.read_queue;
        while (!outside_[write].empty() && lines(write) < room) {
            outside_[write].front().since = now;
            inside_[write].push_back(outside_[write].front());
            outside_[write].pop_front();
        }
    }

    std::size_t lines(bool write) const {
        std::size_t sum = 0;
        for (const Job& job : inside_[write]) sum += job.lines;
        return sum;
    }
    /// Bursts that are served next: a line's at most.
    static std::uint32_t piece(const Job& job) { return std::min(job.bursts, 4u); }

    bool wanted(std::uint32_t bank) const {
        for (const auto& queue : inside_)
            for (const Job& job : queue)
                if (job.bank == bank && rows_[bank].open && job.row == rows_[bank].number) return true;
        return false;
    }
    Slot may_precharge(std::uint32_t bank) const {
        Slot from = 0;
        for (const Command& command : commands_) {
            if (command.bank != bank) continue;
            if (command.kind == Kind::activate) from = std::max(from, command.at + t_.ras);
            if (command.kind == Kind::read) from = std::max(from, command.last + t_.rtp);
            if (command.kind == Kind::write) from = std::max(from, command.last + t_.cwl + 1 + t_.wr);
        }
        return from;
    }
    void precharge(std::uint32_t bank, Slot at) {
        commands_.push_back({Kind::precharge, bank, at, at});
        rows_[bank].open = false;
    }
    /// Refreshes that are due, and rows whose time is out, in the order of their times.
    void begin_cycle(Slot now) {
        if (c_.refresh != RefreshPolicy::none) {
            for (;;) {
                const bool all = c_.refresh == RefreshPolicy::all_bank;
                const double interval = all ? t_.refi : t_.refi / rows_.size();
                const auto due = static_cast<Slot>(std::ceil(phase_ * t_.refi + refreshes_ * interval));
                if (due > now) break;
                time_out(due);
                const std::size_t first = all ? 0 : refreshes_ % rows_.size();
                const std::size_t end = all ? rows_.size() : first + 1;
                Slot begin = due;
                for (std::size_t b = first; b < end; ++b) {
                    const auto bank = static_cast<std::uint32_t>(b);
                    if (rows_[b].open) precharge(bank, std::max(due, may_precharge(bank)));
                    begin = std::max(begin, may_activate_bank(bank));
                }
                for (std::size_t b = first; b < end; ++b)
                    rows_[b].blocked_until = begin + (all ? t_.rfc : t_.rfc_pb);
                ++refreshes_;
            }
        }
        time_out(now);
    }
    void time_out(Slot now) {
        if (c_.row_policy != RowPolicy::adaptive) return;
        const auto timeout = static_cast<Slot>(c_.row_timeout * c_.bursts_per_second());
        for (std::uint32_t bank = 0; bank < rows_.size(); ++bank) {
            if (!rows_[bank].open || wanted(bank)) continue;
            const Slot at = std::max(may_precharge(bank), rows_[bank].last_use + timeout);
            if (at <= now) precharge(bank, at);
        }
    }
    Slot may_activate_bank(std::uint32_t bank) const {
        Slot from = rows_[bank].blocked_until;
        for (const Command& command : commands_) {
            if (command.bank != bank) continue;
            if (command.kind == Kind::activate) from = std::max(from, command.at + t_.rc);
            if (command.kind == Kind::precharge) from = std::max(from, command.at + t_.rp);
        }
        return from;
    }
    bool activate_allowed(std::uint32_t bank, Slot at) const {
        if (at < may_activate_bank(bank)) return false;
        unsigned recent = 0;
        for (const Command& command : commands_) {
            if (command.kind != Kind::activate) continue;
            if (at < command.at + (group(command.bank) == group(bank) ? t_.rrd_l : t_.rrd_s)) return false;
            if (at < command.at + t_.rrd_s) return false;
            if (at < command.at + t_.faw) ++recent;
        }
        return recent < 4;
    }
    bool bus_free(Slot at) const {
        for (const Slot slot : bus_)
            if (slot == at) return false;
        return true;
    }
    /// May the data of a column access begin in `at`?
    bool data_allowed(const Job& job, Slot at) const {
        for (const Command& command : commands_) {
            const bool same = group(command.bank) == group(job.bank);
            if (command.kind == Kind::read) {
                if (same && at < command.last + t_.cl + t_.ccd_l) return false;
                if (job.write && at < command.last + t_.rtw + t_.cwl) return false;
            } else if (command.kind == Kind::write) {
                const Slot end = command.last + t_.cwl + 1;
                if (same && at < command.last + t_.cwl + t_.ccd_l) return false;
                if (!job.write && at < end + (same ? t_.wtr_l : t_.wtr_s) + t_.cl) return false;
                if (!job.write && at < end + t_.wtr_s + t_.cl) return false;
            }
        }
        for (std::uint32_t i = 0; i < piece(job); ++i)
            if (!bus_free(at + i * t_.ccd_l)) return false;
        return true;
    }
    struct Plan {
        bool activates = false, precharges = false;
        Slot precharge = 0, activate = 0, data = 0;
    };
    Plan plan(const Job& job, Slot now) const {
        const Row& row = rows_[job.bank];
        Plan plan;
        Slot column = now;
        if (!row.open || row.number != job.row) {
            plan.activates = true;
            plan.activate = now;
            if (row.open) {
                plan.precharges = true;
                plan.precharge = std::max(now, may_precharge(job.bank));
                plan.activate = plan.precharge + t_.rp;
            }
            while (!activate_allowed(job.bank, plan.activate)) ++plan.activate;
            column = plan.activate + t_.rcd;
        } else {
            for (const Command& command : commands_)
                if (command.kind == Kind::activate && command.bank == job.bank)
                    column = std::max(column, command.at + t_.rcd);
        }
        plan.data = column + (job.write ? t_.cwl : t_.cl);
        while (!data_allowed(job, plan.data)) ++plan.data;
        return plan;
    }

    bool decide(Slot now) {
        const std::size_t reads = lines(false), writes = lines(true);
        if (reads + writes == 0) return false;
        std::size_t promised = 0;
        for (const Slot slot : bus_) promised += slot >= now;
        const bool no_hurry = reads == 0 && !writing_ && writes < c_.write_high;
        if (promised >= (no_hurry ? 1 : t_.rp + t_.rcd + t_.cl)) return false;

        bool write = writes != 0;
        if (reads != 0 && writes != 0) {
            if (writing_)
                write = served_ < c_.batch && pressed_;
            else
                write = served_ >= c_.batch && writes >= c_.write_high;
        }
        const std::size_t chosen = choose(inside_[write], now);
        const Job job = inside_[write][chosen];
        const Plan p = plan(job, now);
        const Slot end = p.data + (piece(job) - 1) * t_.ccd_l + 1;
        if (end > now + kBusWindow) return false;
        commit(job, p);
        if (write != writing_) {
            served_ = 0;
            pressed_ = writes >= c_.write_high;
        }
        writing_ = write;
        ++served_;
        if (piece(job) < job.bursts) {
            Job& rest = inside_[write][chosen];
            rest.bursts -= piece(job);
            if (rest.lines > 1) --rest.lines;
        } else {
            answers.push_back({job.id, end});
            inside_[write].erase(inside_[write].begin() + static_cast<std::ptrdiff_t>(chosen));
        }
        admit(write, now);
        if (c_.row_policy == RowPolicy::closed && !wanted(job.bank))
            precharge(job.bank, may_precharge(job.bank));
        return true;
    }
    void commit(const Job& job, const Plan& p) {
        if (p.precharges) precharge(job.bank, p.precharge);
        if (p.activates) {
            commands_.push_back({Kind::activate, job.bank, p.activate, p.activate});
            rows_[job.bank].open = true;
            rows_[job.bank].number = job.row;
            rows_[job.bank].last_use = 0;
        }
        const Slot latency = job.write ? t_.cwl : t_.cl;
        const Slot last = p.data + (piece(job) - 1) * t_.ccd_l;
        commands_.push_back(
            {job.write ? Kind::write : Kind::read, job.bank, p.data - latency, last - latency});
        for (std::uint32_t i = 0; i < piece(job); ++i) bus_.push_back(p.data + i * t_.ccd_l);
        rows_[job.bank].last_use = std::max(rows_[job.bank].last_use, last + 1);
        last_group_ = group(job.bank);
    }
    bool hits(const Job& job) const { return rows_[job.bank].open && rows_[job.bank].number == job.row; }

    std::size_t choose(const std::vector<Job>& queue, Slot now) const {
        const auto bound = static_cast<Slot>(c_.starvation * c_.bursts_per_second());
        if (now >= queue.front().since + bound) return 0;
        for (std::size_t i = 0; i < queue.size(); ++i)
            if (hits(queue[i]) && group(queue[i].bank) != last_group_) return i;
        std::size_t best = queue.size();
        Slot best_data = 0;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            bool next_of_bank = true;  // no earlier one of the bank is better
            for (std::size_t j = 0; j < queue.size(); ++j) {
                if (j == i || queue[j].bank != queue[i].bank) continue;
                if (hits(queue[i]) ? hits(queue[j]) && j < i : hits(queue[j]) || j < i) next_of_bank = false;
            }
            if (!next_of_bank) continue;
            const Slot data = plan(queue[i], now).data;
            if (best == queue.size() || data < best_data) {
                best = i;
                best_data = data;
            }
        }
        return best;
    }

    const MemoryConfig& c_;
    const DramBursts t_;
    const double phase_;
    std::vector<Row> rows_;
    std::vector<Job> inside_[2];
    std::deque<Job> outside_[2];
    std::vector<Command> commands_;
    std::vector<Slot> bus_;
    std::uint64_t refreshes_ = 0;
    std::uint32_t last_group_ = 0, served_ = 0;
    bool writing_ = false, pressed_ = false;
};

}  // namespace heddle::models
