#include "models/common/signal_trace.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "isa/common/error.h"

namespace heddle::models {
namespace {

/// Cycles between two writings, and how far behind the present one they stay: windows of blocks are shorter.
constexpr Cycle kBetweenFlushes = 4096, kBehind = 256;

/// Letters that must change so that `name` matches `pattern`.
std::size_t distance(const std::string& pattern, const std::string& name) {
    std::vector<std::size_t> row(name.size() + 1);
    for (std::size_t j = 0; j <= name.size(); ++j) row[j] = j;
    for (const char letter : pattern) {
        std::size_t diagonal = row[0];
        row[0] += letter == '*' ? 0 : 1;
        for (std::size_t j = 1; j <= name.size(); ++j) {
            const std::size_t above = row[j];
            if (letter == '*')
                row[j] = std::min(above, row[j - 1]);
            else
                row[j] = std::min(
                    {above + 1, row[j - 1] + 1, diagonal + (letter == '?' || letter == name[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row.back();
}

}  // namespace

void SignalProbe::check(Cycle at) const {
    if (at < written_before_)
        throw Error("internal: a signal changes in cycle " + std::to_string(at) + ", and cycles before " +
                    std::to_string(written_before_) + " have been written");
}

void SignalProbe::set(std::size_t signal, Cycle at, std::uint32_t value) {
    if (!watches(signal)) return;
    check(at);
    Watched& watched = watched_[places_[signal]];
    std::vector<Change>& changes = watched.changes;
    while (!changes.empty() && changes.back().at >= at) changes.pop_back();
    if (value != (changes.empty() ? watched.written : changes.back().value))
        changes.push_back({static_cast<std::uint32_t>(at), value});
}

void SignalProbe::add(std::size_t signal, Cycle at, std::uint64_t amount) {
    if (amount == 0 || !watches(signal)) return;
    check(at);
    std::vector<Change>& changes = watched_[places_[signal]].changes;
    if (!changes.empty() && changes.back().at == at)
        changes.back().value += static_cast<std::uint32_t>(amount);
    else
        changes.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(amount)});
}

void SignalProbe::add_to_total(std::size_t signal, Cycle at, std::uint64_t total) {
    if (!watches(signal)) return;
    std::uint64_t& before = watched_[places_[signal]].total;
    add(signal, at, total - before);
    before = total;
}

SignalTrace::SignalTrace(std::vector<std::string> patterns, SignalWriter& writer)
    : patterns_(std::move(patterns)), writer_(writer) {}

SignalTrace::~SignalTrace() = default;

bool SignalTrace::is_wanted(const std::string& name) const {
    if (patterns_.empty()) return true;
    return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
        return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
               ::fnmatch((pattern + ".*").c_str(), name.c_str(), 0) == 0;
    });
}

SignalProbe* SignalTrace::watch(const std::string& path, const std::vector<SignalDeclaration>& signals) {
    for (const Offered& offered : offered_)
        if (declared_ && offered.path == path) return offered.probe.get();
    if (declared_) return nullptr;
    auto probe = std::make_unique<SignalProbe>();
    for (const SignalDeclaration& signal : signals) {
        const std::string name = path + "." + signal.name;
        names_.push_back(name);
        if (!is_wanted(name)) {
            probe->places_.push_back(SignalProbe::kNobody);
            continue;
        }
        probe->places_.push_back(static_cast<std::uint32_t>(probe->watched_.size()));
        SignalProbe::Watched& watched = probe->watched_.emplace_back();
        watched.number = static_cast<std::uint32_t>(chosen_.size());
        watched.kind = signal.kind;
        watched.initial = watched.written = signal.kind == SignalKind::amount ? 0 : signal.initial;
        chosen_.push_back({name, signal});
    }
    if (probe->watched_.empty()) return nullptr;
    offered_.push_back({path, std::move(probe)});
    return offered_.back().probe.get();
}

void SignalTrace::nothing_chosen() const {
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const std::string& pattern : patterns_)
        for (const std::string& name : names_) near.emplace_back(distance(pattern, name), name);
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    constexpr std::size_t kFew = 4;
    std::string some;
    std::set<std::string> told;
    for (const auto& [far, name] : near) {
        if (told.size() == kFew) break;
        if (told.insert(name).second) some += (some.empty() ? "" : ", ") + name;
    }
    std::string patterns;
    for (const std::string& pattern : patterns_) patterns += (patterns.empty() ? "`" : ", `") + pattern + "`";
    throw Error("no signal matches " + patterns + "; of " + std::to_string(names_.size()) +
                    " the nearest are " + some,
                {"--signals", 0, ""},
                "`*` stands for any letters, dots among them; without --signals all are traced");
}

void SignalTrace::begin(double hertz, Cycle lead, const std::string& what) {
    if (chosen_.empty()) nothing_chosen();
    hertz_ = hertz;
    lead_ = lead;
    start_ps_ = last_ps_;
    next_flush_ = kBetweenFlushes - 1;
    if (!declared_) {
        std::vector<SignalWriter::Signal> signals;
        for (const Chosen& chosen : chosen_) signals.push_back({chosen.name, &chosen.declaration});
        writer_.declare(signals);
        names_ = {};
        declared_ = true;
    }
    writer_.comment(what + " begins at " + std::to_string(start_ps_) +
                    " ps, its first thread block or instruction " + std::to_string(lead) + " cycles later");
    std::vector<std::pair<std::uint32_t, std::uint32_t>> back;  // to initial values
    for (Offered& offered : offered_) {
        offered.probe->written_before_ = 0;
        for (SignalProbe::Watched& watched : offered.probe->watched_) {
            if (watched.written != watched.initial) back.emplace_back(watched.number, watched.initial);
            watched.written = watched.initial;
            watched.total = 0;
            watched.changes.clear();
        }
    }
    std::sort(back.begin(), back.end());
    for (const auto& [number, value] : back) writer_.change(start_ps_, number, value);
}

void SignalTrace::flush(Cycle now) {
    next_flush_ = (now / kBetweenFlushes + 1) * kBetweenFlushes + kBetweenFlushes - 1;
    if (now + 1 > kBehind) write(now + 1 - kBehind);
}

void SignalTrace::write(Cycle before) {
    struct Told {
        std::uint32_t at, number, value;
    };
    std::vector<Told> all;
    for (Offered& offered : offered_) {
        offered.probe->written_before_ = before == kNever ? 0 : before;
        for (SignalProbe::Watched& watched : offered.probe->watched_) {
            std::vector<SignalProbe::Change>& changes = watched.changes;
            if (watched.kind == SignalKind::amount)
                std::stable_sort(changes.begin(), changes.end(), [](auto a, auto b) { return a.at < b.at; });
            std::size_t taken = 0;
            const auto tell = [&](std::uint32_t at, std::uint32_t value) {
                if (value == watched.written) return;
                all.push_back({at, watched.number, value});
                watched.written = value;
            };
            for (; taken < changes.size() && changes[taken].at < before; ++taken) {
                SignalProbe::Change change = changes[taken];
                if (watched.kind == SignalKind::level) {
                    tell(change.at, change.value);
                    continue;
                }
                while (taken + 1 < changes.size() && changes[taken + 1].at == change.at)
                    change.value += changes[++taken].value;
                tell(change.at, change.value);
                // Back to 0, unless more happens in the next cycle.
                const bool more = taken + 1 < changes.size() && changes[taken + 1].at == change.at + 1;
                if (more) continue;
                if (change.at + 1 >= before) {  // in the next writing
                    changes[taken] = {change.at + 1, 0};
                    break;
                }
                tell(change.at + 1, 0);
            }
            changes.erase(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(taken));
        }
    }
    std::sort(all.begin(), all.end(),
              [](const Told& a, const Told& b) { return a.at != b.at ? a.at < b.at : a.number < b.number; });
    for (const Told& told : all) {
        const auto ps =
            static_cast<std::uint64_t>(std::llround(static_cast<double>(told.at + lead_) * 1e12 / hertz_));
        last_ps_ = std::max(last_ps_, start_ps_ + ps);
        writer_.change(start_ps_ + ps, told.number, told.value);
    }
}

void SignalTrace::end(Cycle cycles) {
    write(kNever);
    next_flush_ = kNever;
    const auto length = static_cast<std::uint64_t>(std::llround(static_cast<double>(cycles) * 1e12 / hertz_));
    last_ps_ = std::max(last_ps_, start_ps_ + length);
    writer_.pass(last_ps_);
}

}  // namespace heddle::models
