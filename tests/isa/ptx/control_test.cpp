// Divergence, loops, exits, barriers and the instructions that couple lanes.
#include <bit>
#include <catch2/catch.hpp>
#include <functional>

#include "isa/common/error.h"
#include "launch.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

std::string error_of(const std::function<void()>& run) {
    try {
        run();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A kernel of one pointer: thread t of the CTA ends with %v, stored at y[t].
std::string kernel_text(const std::string& lines) {
    return module_text(".param .u64 y",
                       ".reg .b32 %t, %v, %w, %i, %n; .reg .b64 %y, %o; .reg .pred %p, %q, %r; .shared "
                       ".align 4 .b8 buffer[4096];\n"
                       ".reg .b32 %a, %s;\n"
                       "mov.u32 %t, %tid.x; mov.u32 %v, 0;\n" +
                           lines +
                           "\nstore: ld.param.u64 %y, [y]; mul.wide.u32 %o, %t, 4; add.u64 %y, %y, %o; "
                           "st.global.u32 [%y], %v; ret;");
}

std::vector<std::uint32_t> run_threads(const std::string& lines, unsigned threads) {
    const Program program(kernel_text(lines), "test");
    Device device;
    const auto y = device.upload("y", std::vector<std::uint32_t>(threads, 0xEEEEEEEE));
    program.run(device, {1}, {threads}, {argument(y)});
    return device.download<std::uint32_t>(y, threads);
}

void check_threads(const std::string& lines, unsigned threads,
                   const std::function<std::uint32_t(std::uint32_t)>& expected) {
    const std::vector<std::uint32_t> result = run_threads(lines, threads);
    INFO(lines);
    for (unsigned t = 0; t < threads; ++t) {
        INFO("thread " << t);
        REQUIRE(result[t] == expected(t));
    }
}

}  // namespace

TEST_CASE("Branches of one level and nested, reconverging", "[ptx][control]") {
    check_threads(
        "and.b32 %w, %t, 1; setp.eq.u32 %p, %w, 0; @%p bra even; mov.u32 %v, 11; bra join; even: mov.u32 %v, "
        "22;\n"
        "join: activemask.b32 %w; popc.b32 %w, %w; mad.lo.u32 %v, %w, 1000, %v;",
        64, [](std::uint32_t t) { return 32000 + (t % 2 == 0 ? 22 : 11); });
    // if inside if, with code after each: all lanes must be together again at the end.
    check_threads(
        "setp.lt.u32 %p, %t, 20; @!%p bra outer; add.u32 %v, %v, 1; and.b32 %w, %t, 3; setp.eq.u32 %q, %w, "
        "2; @%q bra inner;\n"
        "add.u32 %v, %v, 10; inner: add.u32 %v, %v, 100; activemask.b32 %w; popc.b32 %w, %w; mad.lo.u32 %v, "
        "%w, 100000, %v;\n"
        "outer: activemask.b32 %w; popc.b32 %w, %w; mad.lo.u32 %v, %w, 1000, %v;",
        32, [](std::uint32_t t) -> std::uint32_t {
            return (t < 20 ? 101 + (t % 4 == 2 ? 0 : 10) + 2000000 : 0) + 32000;
        });
}

TEST_CASE("Loops with trip counts and exits per lane", "[ptx][control]") {
    check_threads(
        "mov.u32 %i, 0; loop: setp.ge.u32 %p, %i, %t; @%p bra done; add.u32 %v, %v, %i; add.u32 %i, %i, 1; "
        "bra loop;\n"
        "done: activemask.b32 %w; popc.b32 %w, %w; mad.lo.u32 %v, %w, 100000, %v;",
        32, [](std::uint32_t t) { return 3200000 + t * (t - 1) / 2; });
    // A break in the middle and a continue; nested loops.
    check_threads(
        "mov.u32 %i, 0; outer: setp.ge.u32 %p, %i, 10; @%p bra end; add.u32 %i, %i, 1; add.u32 %w, %i, %t; "
        "and.b32 %w, %w, 3;\n"
        "setp.eq.u32 %q, %w, 0; @%q bra outer; mov.u32 %n, 0; inner: add.u32 %n, %n, 1; add.u32 %v, %v, 1; "
        "setp.gt.u32 %r, %n, %i;\n"
        "@%r bra outer; setp.lt.u32 %q, %n, %t; @%q bra inner; setp.gt.u32 %p, %v, 40; @%p bra end; bra "
        "outer; end:",
        64, [](std::uint32_t t) {
            std::uint32_t v = 0, i = 0;
            while (i < 10) {
                ++i;
                if ((i + t) % 4 == 0) continue;
                std::uint32_t n = 0;
                bool next = false;
                do {
                    ++n;
                    ++v;
                    if (n > i) {
                        next = true;
                        break;
                    }
                } while (n < t);
                if (!next && v > 40) break;
            }
            return v;
        });
}

TEST_CASE("Lanes that return early do not hold up the others", "[ptx][control]") {
    // A return inside an if inside an if: the lanes left must still meet right after the outer if.
    const auto result = run_threads(
        "setp.lt.u32 %p, %t, 16; @!%p bra after; and.b32 %w, %t, 1; setp.eq.u32 %q, %w, 1; @%q bra leave; "
        "add.u32 %v, %v, 5; bra after;\n"
        "leave: ret; after: activemask.b32 %w; popc.b32 %w, %w; mad.lo.u32 %v, %w, 100, %v;",
        32);
    for (std::uint32_t t = 0; t < 32; ++t) {
        CHECK(result[t] == (t < 16 ? (t % 2 == 1 ? 0xEEEEEEEE : 2405) : 2400));
    }
    // Predicated returns, and a loop that is the last thing in the kernel.
    const auto second = run_threads(
        "setp.gt.u32 %p, %t, 40; @%p ret; @!%p mov.u32 %v, 9; setp.eq.u32 %q, %t, 3; @%q exit;", 48);
    for (std::uint32_t t = 0; t < 48; ++t) CHECK(second[t] == (t > 40 || t == 3 ? 0xEEEEEEEE : 9));
}

TEST_CASE("An if inside a loop that only a return leaves reconverges", "[ptx][control]") {
    // The stores count, per iteration, how many lanes are together after the inner if.
    const Program program(
        module_text(".param .u64 y",
                    ".reg .b32 %t, %i, %w, %m; .reg .b64 %y, %o; .reg .pred %p;\n"
                    "ld.param.u64 %y, [y]; mov.u32 %t, %tid.x; mov.u32 %i, 0;\n"
                    "loop: and.b32 %w, %t, 1; setp.eq.u32 %p, %w, 0; @%p bra skip; add.u32 %m, %t, 1; skip: "
                    "activemask.b32 %m;\n"
                    "popc.b32 %m, %m; mad.lo.u32 %w, %i, 32, %t; mul.wide.u32 %o, %w, 4; add.u64 %o, %o, %y; "
                    "st.global.u32 [%o], %m;\n"
                    "add.u32 %i, %i, 1; shr.u32 %w, %t, 3; setp.le.u32 %p, %i, %w; @%p bra loop; ret;"),
        "test");
    Device device;
    const auto y = device.upload("y", std::vector<std::uint32_t>(32 * 4));
    program.run(device, {1}, {32}, {argument(y)});
    const auto counts = device.download<std::uint32_t>(y, 128);
    for (std::uint32_t i = 0; i < 4; ++i) {
        // In iteration i the lanes with t / 8 >= i are left.
        for (std::uint32_t t = 8 * i; t < 32; ++t) CHECK(counts[32 * i + t] == 32 - 8 * i);
    }
}

TEST_CASE("Indexed branches", "[ptx][control]") {
    // Lanes go five ways inside a loop and meet again after each round; some leave.
    const std::string lines =
        "mov.u32 %i, 0; again: add.u32 %w, %t, %i; rem.u32 %w, %w, 5; bra.uni here; here: list: "
        ".branchtargets a, b, c, join, gone;\n"
        "brx.idx %w, list; a: add.u32 %v, %v, 1; bra join; b: add.u32 %v, %v, 10; bra join; c: add.u32 %v, "
        "%v, 100;\n"
        "join: activemask.b32 %n; popc.b32 %n, %n; mad.lo.u32 %v, %n, 1000, %v; add.u32 %i, %i, 1; "
        "setp.lt.u32 %p, %i, 2; @%p bra again;\n"
        "bra store; gone: ret;";
    const auto way = [](std::uint32_t t, std::uint32_t i) { return (t + i) % 5; };
    std::uint32_t first = 0, second = 0;  // lanes together after each round
    for (std::uint32_t t = 0; t < 32; ++t) {
        first += way(t, 0) != 4 ? 1 : 0;
        second += way(t, 0) != 4 && way(t, 1) != 4 ? 1 : 0;
    }
    const std::uint32_t added[4] = {1, 10, 100, 0};
    check_threads(lines, 32, [&](std::uint32_t t) {
        if (way(t, 0) == 4 || way(t, 1) == 4) return 0xEEEEEEEEu;
        return added[way(t, 0)] + 1000 * first + added[way(t, 1)] + 1000 * second;
    });
    CHECK(contains(error_of([&] { run_threads("list: .branchtargets one, one; brx.idx %t, list; one:", 4); }),
                   "branch number 2 of 2"));
}

TEST_CASE("Random control flow equals a thread-by-thread interpreter", "[ptx][control]") {
    // Programs of basic blocks that mix a hash and branch on its bits, forwards and backwards with a budget.
    std::mt19937 generator(77);
    const auto pick = [&](unsigned n) {
        return std::uniform_int_distribution<unsigned>(0, n - 1)(generator);
    };
    for (int round = 0; round < 60; ++round) {
        const unsigned blocks = 3 + pick(8);
        struct Block {
            unsigned multiplier, bit, target;
            int kind;  // 0: branch on a bit, 1: jump, 2: return on a bit, 3: fall through
        };
        std::vector<Block> plan;
        for (unsigned b = 0; b < blocks; ++b)
            plan.push_back({2 * pick(1000) + 3, pick(12), pick(blocks + 1), static_cast<int>(pick(4))});
        std::string lines = "mov.u32 %v, %t; mov.u32 %n, 0;\n";
        for (unsigned b = 0; b < blocks; ++b) {
            lines += "b" + std::to_string(b) +
                     ": add.u32 %n, %n, 1; setp.gt.u32 %r, %n, 40; @%r bra store;\n mad.lo.u32 %v, %v, " +
                     std::to_string(plan[b].multiplier) + ", " + std::to_string(b + 1) +
                     "; shr.u32 %w, %v, " + std::to_string(plan[b].bit) +
                     "; and.b32 %w, %w, 1; setp.ne.u32 %p, %w, 0;\n";
            const std::string target =
                plan[b].target == blocks ? "store" : "b" + std::to_string(plan[b].target);
            if (plan[b].kind == 0) lines += "@%p bra " + target + ";\n";
            if (plan[b].kind == 1) lines += "bra " + target + ";\n";
            if (plan[b].kind == 2) lines += "@%p ret;\n";
        }
        const auto expected = [&](std::uint32_t t) {
            std::uint32_t v = t, n = 0;
            for (unsigned b = 0; b < blocks;) {
                if (++n > 40) return v;
                v = v * plan[b].multiplier + b + 1;
                const bool taken = (v >> plan[b].bit & 1u) != 0;
                if (plan[b].kind == 2 && taken) return 0xEEEEEEEEu;
                const bool jumps = plan[b].kind == 1 || (plan[b].kind == 0 && taken);
                b = jumps ? plan[b].target : b + 1;
            }
            return v;
        };
        INFO("round " << round);
        check_threads(lines, 80, expected);
    }
}

TEST_CASE("Barriers order shared memory", "[ptx][control]") {
    // Reverse through shared memory, then rotate: two barriers.
    check_threads(
        "mov.u32 %s, buffer; mad.lo.u32 %a, %t, 4, %s; mul.lo.u32 %v, %t, 3; st.shared.u32 [%a], %v; "
        "bar.sync 0;\n"
        "sub.u32 %w, 255, %t; mad.lo.u32 %w, %w, 4, %s; ld.shared.u32 %v, [%w]; bar.sync 1, 256; "
        "st.shared.u32 [%a], %v; barrier.sync 0;\n"
        "add.u32 %w, %t, 1; and.b32 %w, %w, 255; mad.lo.u32 %w, %w, 4, %s; ld.shared.u32 %v, [%w];",
        256, [](std::uint32_t t) { return 3 * (255 - (t + 1) % 256); });
}

TEST_CASE("Warps that have exited do not keep a barrier closed", "[ptx][control]") {
    const auto result = run_threads(
        "setp.ge.u32 %p, %t, 64; @%p bra stay; setp.lt.u32 %q, %t, 40; @%q ret; stay: bar.sync 0; mov.u32 "
        "%v, 7;",
        128);
    for (std::uint32_t t = 0; t < 128; ++t) CHECK(result[t] == (t < 40 ? 0xEEEEEEEE : 7));
}

TEST_CASE("Producers arrive, consumers wait", "[ptx][control]") {
    // Warps 0 and 1 write and arrive at barrier 1 without waiting; warps 2 and 3 wait for all four.
    check_threads(
        "mov.u32 %s, buffer; mad.lo.u32 %a, %t, 4, %s; setp.ge.u32 %p, %t, 64; @%p bra consume; "
        "st.shared.u32 [%a], %t; bar.arrive 1, 128;\n"
        "mov.u32 %v, 5; bra store; consume: bar.sync 1, 128; ld.shared.u32 %v, [%a+-256];",
        128, [](std::uint32_t t) { return t < 64 ? 5 : t - 64; });
}

TEST_CASE("Barriers with a reduction", "[ptx][control]") {
    // 100 threads: those with t % 3 == 0 are 34.
    check_threads("rem.u32 %w, %t, 3; setp.eq.u32 %p, %w, 0; bar.red.popc.u32 %v, 0, %p;", 100,
                  [](std::uint32_t) { return 34; });
    check_threads("setp.lt.u32 %p, %t, 99; bar.red.and.pred %q, 0, %p; selp.u32 %v, 1, 2, %q;", 100,
                  [](std::uint32_t) { return 2; });
    check_threads("setp.lt.u32 %p, %t, 100; bar.red.and.pred %q, 1, %p; selp.u32 %v, 1, 2, %q;", 100,
                  [](std::uint32_t) { return 1; });
    check_threads("setp.lt.u32 %p, %t, 99; bar.red.or.pred %q, 0, 128, !%p; selp.u32 %v, 1, 2, %q;", 128,
                  [](std::uint32_t) { return 1; });
}

TEST_CASE("A step says which warps a barrier has released", "[ptx][control]") {
    const Program program(kernel_text("bar.sync 0;"), "test");
    Device device;
    const auto y = device.upload("y", std::vector<std::uint32_t>(96));
    Cta cta(program.launch(device, {1}, {96}, {argument(y)}));
    cta.start(0);
    const auto run_to_barrier = [&](unsigned w) {
        StepResult step;
        do step = cta.warp(w).step(0);
        while (step.info->synchronisation != Synchronisation::cta_barrier);
        return step;
    };
    CHECK(run_to_barrier(2).released_warps == 0);
    CHECK(cta.warp(2).blocked());
    CHECK(run_to_barrier(0).released_warps == 0);
    CHECK(contains(cta.describe_waiting(), "warp 2 waits at barrier 0"));
    CHECK(contains(cta.describe_waiting(), "2 of 3 warps have arrived"));
    CHECK(run_to_barrier(1).released_warps == 0b111);
    for (unsigned w = 0; w < 3; ++w) CHECK(!cta.warp(w).blocked());
}

TEST_CASE("Deadlocks and wrong barriers are errors", "[ptx][control]") {
    const auto run = [](const std::string& lines, unsigned threads) {
        return error_of([&] { run_threads(lines, threads); });
    };
    const std::string deadlock =
        run("setp.lt.u32 %p, %t, 32; @%p bra one; bar.sync 1; bra store; one: bar.sync 2;", 64);
    CHECK(contains(deadlock, "deadlock in kernel test"));
    CHECK(contains(deadlock, "warp 0 waits at barrier 2"));
    CHECK(contains(deadlock, "warp 1 waits at barrier 1"));
    CHECK(contains(run("bar.sync 0, 128; ", 64), "more than the CTA has"));
    CHECK(contains(run("bar.sync 0, 48; ", 64), "multiple of 32"));
    CHECK(contains(run("bar.sync 16;", 64), "does not exist"));
    CHECK(contains(run("shfl.sync.idx.b32 %v, %t, 0, 31, 0xFF;", 32), "does not name it"));
}

TEST_CASE("Shuffles in every mode", "[ptx][control]") {
    // Segments of 8: mask 0x18, clamp 7 (up: 0).
    const auto check = [](const std::string& mode, unsigned b, unsigned c,
                          const std::function<std::int32_t(std::int32_t)>& source) {
        check_threads("mul.lo.u32 %w, %t, 5; shfl.sync." + mode + ".b32 %v|%p, %w, " + std::to_string(b) +
                          ", " + std::to_string(c) + ", -1; selp.u32 %w, 1000, 0, %p; add.u32 %v, %v, %w;",
                      32, [&](std::uint32_t t) {
                          const std::int32_t from = source(static_cast<std::int32_t>(t));
                          return from < 0 ? 5 * t : 5 * static_cast<std::uint32_t>(from) + 1000;
                      });
    };
    check("up", 3, 0x1800, [](std::int32_t t) { return t % 8 >= 3 ? t - 3 : -1; });
    check("down", 3, 0x1807, [](std::int32_t t) { return t % 8 + 3 < 8 ? t + 3 : -1; });
    check("bfly", 5, 0x1807, [](std::int32_t t) { return t ^ 5; });
    check("idx", 6, 0x1807, [](std::int32_t t) { return t / 8 * 8 + 6; });
    check("up", 1, 0, [](std::int32_t t) { return t >= 1 ? t - 1 : -1; });
    check("down", 16, 31, [](std::int32_t t) { return t < 16 ? t + 16 : -1; });
    check("bfly", 16, 31, [](std::int32_t t) { return t ^ 16; });
    check("idx", 9, 31, [](std::int32_t) { return 9; });
}

TEST_CASE("Votes, matches and reductions over groups of lanes", "[ptx][control]") {
    check_threads("and.b32 %w, %t, 4; setp.ne.u32 %p, %w, 0; vote.sync.ballot.b32 %v, %p, -1;", 32,
                  [](std::uint32_t) { return 0xF0F0F0F0u; });
    check_threads(
        "setp.lt.u32 %p, %t, 32; vote.sync.all.pred %q, %p, -1; vote.sync.any.pred %r, !%p, -1; selp.u32 %v, "
        "1, 0, %q; selp.u32 %w, 2, 0, %r; or.b32 %v, %v, %w;",
        64, [](std::uint32_t t) { return t < 32 ? 1 : 2; });
    check_threads("setp.eq.u32 %p, %t, 70; vote.sync.uni.pred %q, %p, -1; selp.u32 %v, 1, 0, %q;", 96,
                  [](std::uint32_t t) { return t / 32 == 2 ? 0 : 1; });
    // Groups that name themselves: lanes of equal t % 4 share a member mask.
    check_threads("and.b32 %w, %t, 3; shl.b32 %n, 0x11111111, %w; redux.sync.add.u32 %v, %t, %n;", 32,
                  [](std::uint32_t t) { return 8 * (t % 4) + 4 * (0 + 1 + 2 + 3 + 4 + 5 + 6 + 7); });
    check_threads("sub.s32 %w, %t, 20; redux.sync.min.s32 %v, %w, -1;", 32,
                  [](std::uint32_t) { return static_cast<std::uint32_t>(-20); });
    check_threads("redux.sync.xor.b32 %v, %t, -1;", 32, [](std::uint32_t) { return 0; });
    check_threads("shr.u32 %w, %t, 3; match.any.sync.b32 %v, %w, -1;", 32,
                  [](std::uint32_t t) { return 0xFFu << (t / 8 * 8); });
    check_threads("shr.u32 %w, %t, 5; match.all.sync.b32 %v|%p, %w, -1; @!%p mov.u32 %v, 1;", 64,
                  [](std::uint32_t) { return 0xFFFFFFFFu; });
}

TEST_CASE("Special registers", "[ptx][control]") {
    const Program program(
        module_text(
            ".param .u64 y",
            ".reg .b32 %v<12>, %i; .reg .b64 %y, %o;\n"
            "mov.u32 %v0, %tid.x; mov.u32 %v1, %tid.y; mov.u32 %v2, %tid.z; mov.u32 %v3, %ctaid.x; mov.u32 "
            "%v4, %ctaid.y;\n"
            "mov.u32 %v5, %ctaid.z; mov.u32 %v6, %laneid; mov.u32 %v7, %warpid; mov.u32 %v8, %lanemask_lt; "
            "mov.u32 %v9, %lanemask_ge;\n"
            "mad.lo.u32 %i, %v5, %nctaid.y, %v4; mad.lo.u32 %i, %i, %nctaid.x, %v3; mad.lo.u32 %i, %i, "
            "%ntid.z, %v2;\n"
            "mad.lo.u32 %i, %i, %ntid.y, %v1; mad.lo.u32 %i, %i, %ntid.x, %v0;\n"
            "ld.param.u64 %y, [y]; mul.wide.u32 %o, %i, 16; add.u64 %y, %y, %o;\n"
            "mad.lo.u32 %v0, %v1, 100, %v0; mad.lo.u32 %v0, %v2, 10000, %v0; mad.lo.u32 %v6, %v7, 100, %v6;\n"
            "st.global.v4.u32 [%y], {%v0, %v6, %v8, %v9}; ret;"),
        "test");
    Device device;
    const Dim3 grid{2, 3, 2}, block{5, 3, 4};
    const std::size_t threads = 12 * 60;
    const auto y = device.upload("y", std::vector<std::uint32_t>(threads * 4));
    program.run(device, grid, block, {argument(y)});
    const auto out = device.download<std::uint32_t>(y, threads * 4);
    for (std::uint32_t i = 0; i < threads; ++i) {
        const std::uint32_t t = i % 60, lane = t % 32;
        CHECK(out[4 * i] == t % 5 + 100 * (t / 5 % 3) + 10000 * (t / 15));
        CHECK(out[4 * i + 1] == lane + 100 * (t / 32));
        CHECK(out[4 * i + 2] == (1u << lane) - 1);
        CHECK(out[4 * i + 3] == ~((1u << lane) - 1));
    }
}
