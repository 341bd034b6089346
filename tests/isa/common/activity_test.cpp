// What processes say that they are about: others see it, at any time, whole or not at all.
#include "isa/common/activity.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace heddle;

TEST_CASE("an activity is told with what is known of it") {
    ActivitySeen activity{"kernel saxpy"};
    CHECK(describe(activity) == "kernel saxpy");
    CHECK(activity.share() == 0);
    activity.cycle = 1234567;
    CHECK(describe(activity) == "kernel saxpy (cycle 1,234,567)");
    activity.unit = "thread blocks";
    activity.done = 1024;
    activity.count = 4096;
    CHECK(describe(activity) == "kernel saxpy (1,024 of 4,096 thread blocks, cycle 1,234,567)");
    CHECK(activity.share() == 0.25);
    activity.done = 5000;
    CHECK(activity.share() == 1);
    // A wave of thread blocks that all end at the end: what its cycles were expected to be says more.
    activity.done = 0;
    activity.expected = 2469134;
    CHECK(activity.share() == 0.5);
    double before = 0;
    for (activity.cycle = 100000; activity.cycle < 100000000; activity.cycle *= 2) {
        CHECK(activity.share() > before);
        before = activity.share();
        CHECK(before < 1);
    }
    activity.done = 4096;
    CHECK(activity.share() == 1);
}

TEST_CASE("what a process does within something else takes its place for a while") {
    CHECK_FALSE(this_activity().seen().has_value());
    const Doing outer("reading step.et", 100, "bytes");
    this_activity().set_done(40);
    {
        const Doing inner(std::string(500, 'k'), 7, "thread blocks");
        this_activity().set_cycle(12);
        const auto seen = this_activity().seen();
        REQUIRE(seen.has_value());
        CHECK(seen->what.size() > 100);  // cut to the place that there is
        CHECK(seen->what == std::string(seen->what.size(), 'k'));
        CHECK(seen->unit == "thread blocks");
        CHECK(seen->count == 7);
        CHECK(seen->cycle == 12);
    }
    const auto seen = this_activity().seen();
    REQUIRE(seen.has_value());
    CHECK(describe(*seen) == "reading step.et (40 of 100 bytes)");
    char text[8];
    this_activity().copy_what(text, sizeof text);
    CHECK(std::string(text) == "reading");
}

TEST_CASE("a reader never sees half of a text") {
    std::atomic<bool> ended{false};
    std::thread writer([&] {
        for (char letter = 'a'; !ended; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1))
            this_activity().begin({std::string(150, letter), std::string(20, letter)});
        this_activity().end();
    });
    unsigned seen = 0;
    for (unsigned i = 0; i < 200000; ++i) {
        const auto activity = this_activity().seen();
        if (!activity) continue;
        ++seen;
        const bool whole = activity->what == std::string(150, activity->what[0]) &&
                           activity->unit == std::string(20, activity->what[0]);
        if (!whole) FAIL(activity->what + " / " + activity->unit);
    }
    ended = true;
    writer.join();
    CHECK(seen > 0);
}

TEST_CASE("processes that were forked are seen while they live") {
    share_activities();
    const Doing own("waiting");
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        leave_activity_of_parent();
        this_activity().set_part(0.5);
        const Doing doing("kernel of the child", 10, "thread blocks");
        this_activity().set_done(3);
        (void)!::write(ready[1], "r", 1);
        ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    std::vector<ActivitySeen> seen = activities();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].what == "waiting");  // it began first
    CHECK(seen[1].what == "kernel of the child");
    CHECK(seen[1].done == 3);
    CHECK(seen[1].part == 0.5);
    CHECK(this_activity().seen()->what == "waiting");  // the child has a place of its own
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    seen = activities();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].what == "waiting");
    // More processes, one after another, than there are places.
    for (unsigned i = 0; i < 1100; ++i) {
        const pid_t one = ::fork();
        if (one == 0) {
            leave_activity_of_parent();
            const Doing doing("short");
            ::_exit(activities().size() == 2 ? 0 : 1);
        }
        int status = -1;
        ::waitpid(one, &status, 0);
        if (status != 0) FAIL("process " << i << " was not seen");
    }
    for (const int end : ready) ::close(end);
}
