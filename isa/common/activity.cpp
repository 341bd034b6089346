#include "isa/common/activity.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

namespace heddle {
namespace {

constexpr std::size_t kPlaces = 512;  // processes that are seen at once

struct ActivityPlace {
    std::atomic<pid_t> owner{0};  // 0: nobody's
    Activity activity;
};

ActivityPlace own_place;                 // of a process that shares with nobody
ActivityPlace* shared_places = nullptr;  // kPlaces of them
ActivityPlace* this_place = &own_place;

bool lives(pid_t process) {
    return process != 0 && (::kill(process, 0) == 0 || errno != ESRCH);
}

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// "1,234,567"
std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
    return text;
}

}  // namespace

double ActivitySeen::share() const {
    const auto part_of = [](std::uint64_t some, std::uint64_t all) {
        return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
    };
    // What takes longer than expected is told to be ever nearer to its end, and never there.
    constexpr double kTrusted = 0.8;
    const double by_cycles = part_of(cycle, expected);
    return std::max(std::min(1.0, part_of(done, count)),
                    by_cycles < kTrusted ? by_cycles : 1 - kTrusted * (1 - kTrusted) / by_cycles);
}

std::string describe(const ActivitySeen& activity) {
    std::string text;
    if (activity.count != 0 && !activity.unit.empty())
        text = grouped(activity.done) + " of " + grouped(activity.count) + " " + activity.unit;
    if (activity.cycle != 0) text += (text.empty() ? "cycle " : ", cycle ") + grouped(activity.cycle);
    return activity.what + (text.empty() ? "" : " (" + text + ")");
}

void Activity::begin(const ActivitySeen& activity) {
    constexpr std::size_t kBytes = kWords * sizeof(std::uint64_t), kLongestUnit = 30;
    std::array<char, kBytes> text{};
    const std::size_t of_unit = std::min(activity.unit.size(), kLongestUnit),
                      of_what = std::min(activity.what.size(), kBytes - of_unit - 2);
    std::memcpy(text.data(), activity.what.data(), of_what);
    std::memcpy(text.data() + of_what + 1, activity.unit.data(), of_unit);
    Words words;
    std::memcpy(words.data(), text.data(), kBytes);

    const std::uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < kWords; ++i) text_[i].store(words[i], std::memory_order_relaxed);
    done_.store(activity.done, std::memory_order_relaxed);
    count_.store(activity.count, std::memory_order_relaxed);
    cycle_.store(activity.cycle, std::memory_order_relaxed);
    begun_.store(activity.begun, std::memory_order_relaxed);
    version_.store(version + 2, std::memory_order_release);
}

void Activity::end() {
    begin({});
}

bool Activity::copy_text(Words& words) const {
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < kWords; ++i) words[i] = text_[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return version % 2 == 0 && version_.load(std::memory_order_relaxed) == version;
}

std::optional<ActivitySeen> Activity::seen() const {
    Words words;
    if (!copy_text(words)) return {};
    const char* const what = reinterpret_cast<const char*>(words.data());
    if (*what == 0) return {};
    ActivitySeen seen{what};
    seen.unit = what + seen.what.size() + 1;
    seen.done = done_.load(std::memory_order_relaxed);
    seen.count = count_.load(std::memory_order_relaxed);
    seen.cycle = cycle_.load(std::memory_order_relaxed);
    seen.expected = expected_.load(std::memory_order_relaxed);
    seen.part = part_.load(std::memory_order_relaxed);
    seen.begun = begun_.load(std::memory_order_relaxed);
    return seen;
}

void Activity::copy_what(char* to, std::size_t size) const {
    Words words;
    to[0] = 0;
    if (size == 0 || !copy_text(words)) return;
    const char* const what = reinterpret_cast<const char*>(words.data());
    std::size_t length = 0;
    for (; length + 1 < size && what[length] != 0; ++length) to[length] = what[length];
    to[length] = 0;
}

Activity& this_activity() {
    return this_place->activity;
}

void share_activities() {
    if (shared_places != nullptr) return;
    void* const memory =
        ::mmap(nullptr, kPlaces * sizeof(ActivityPlace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;  // then each is seen by itself alone
    shared_places = static_cast<ActivityPlace*>(memory);
    for (std::size_t i = 0; i < kPlaces; ++i) new (shared_places + i) ActivityPlace();
    leave_activity_of_parent();
}

void leave_activity_of_parent() {
    this_place = &own_place;
    own_place.activity.end();
    for (std::size_t i = 0; shared_places != nullptr && i < kPlaces; ++i) {
        ActivityPlace& place = shared_places[i];
        pid_t owner = place.owner.load();
        if (lives(owner) || !place.owner.compare_exchange_strong(owner, ::getpid())) continue;
        this_place = &place;
        place.activity.set_part(0);
        place.activity.set_expected(0);
        place.activity.end();
        return;
    }
}

std::vector<ActivitySeen> activities() {
    std::vector<ActivitySeen> all;
    const auto add = [&](const Activity& activity) {
        if (std::optional<ActivitySeen> seen = activity.seen()) all.push_back(*std::move(seen));
    };
    if (this_place == &own_place) add(own_place.activity);
    for (std::size_t i = 0; shared_places != nullptr && i < kPlaces; ++i)
        if (lives(shared_places[i].owner.load())) add(shared_places[i].activity);
    std::stable_sort(all.begin(), all.end(),
                     [](const ActivitySeen& a, const ActivitySeen& b) { return a.begun < b.begun; });
    return all;
}

Doing::Doing(const std::string& what, std::uint64_t count, const std::string& unit)
    : before_(this_activity().seen()) {
    ActivitySeen activity{what};
    activity.unit = unit;
    activity.count = count;
    activity.begun = now();
    this_activity().begin(activity);
}

Doing::~Doing() {
    this_activity().begin(before_.value_or(ActivitySeen{}));
}

}  // namespace heddle
