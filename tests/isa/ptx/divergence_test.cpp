// Lanes of a warp go their own ways: locks between lanes, barriers and exchanges in divergent code.
#include <catch2/catch.hpp>
#include <numeric>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "launch.h"

namespace heddle::ptx::test {
namespace {

const std::string kPrologue =
    ".reg .pred %p, %q, %r; .reg .u32 %t, %v, %w, %n, %m, %x; .reg .u64 %out, %lock, %a;\n"
    "ld.param.u64 %out, [out]; ld.param.u64 %lock, [lock]; mov.u32 %t, %tid.x;\n";

struct Outcome {
    std::vector<std::uint32_t> out, lock;
    std::string error;
};

// `out` and `lock` of 1024 words each.
struct Arena {
    Device device;
    std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(1024));
    std::uint64_t lock = device.upload("lock", std::vector<std::uint32_t>(1024));
    LaunchContext launch(const Program& program, unsigned threads, unsigned ctas, Dim3 cluster, Mode mode) {
        LaunchContext launch =
            program.launch(device, {ctas}, {threads}, {argument(out), argument(lock)}, mode);
        launch.cluster = cluster;
        return launch;
    }
};

Outcome run(const std::string& body, unsigned threads, unsigned ctas = 1, Dim3 cluster = {},
            const std::string& globals = "") {
    Outcome outcome;
    Arena arena;
    try {
        const Program program(
            module_text(".param .u64 out, .param .u64 lock", kPrologue + body + "\nret;", globals), "test");
        run_functionally(arena.launch(program, threads, ctas, cluster, Mode::functional));
        if (ctas == 1) {
            Arena a, b;
            CHECK(compare_modes(a.launch(program, threads, 1, {}, Mode::functional),
                                b.launch(program, threads, 1, {}, Mode::timing))
                      .differences == 0);
        }
    } catch (const Error& error) {
        outcome.error = error.what();
    }
    outcome.out = arena.device.download<std::uint32_t>(arena.out, 1024);
    outcome.lock = arena.device.download<std::uint32_t>(arena.lock, 1024);
    return outcome;
}

const std::string kStore = "mad.wide.u32 %a, %t, 4, %out; st.global.u32 [%a], %v;\n";

}  // namespace

TEST_CASE("A spin lock between lanes of one warp makes progress", "[ptx][divergence]") {
    // Every thread adds its number to a counter that only the lock protects.
    const Outcome outcome =
        run("spin: atom.global.cas.b32 %v, [%lock], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra spin;\n"
            "ld.volatile.global.u32 %w, [%out]; add.u32 %w, %w, %t; st.volatile.global.u32 [%out], %w;\n"
            "membar.gl; atom.global.exch.b32 %v, [%lock], 0;",
            96);
    CHECK(outcome.error == "");
    CHECK(outcome.out[0] == 95 * 96 / 2);
    CHECK(outcome.lock[0] == 0);
}

TEST_CASE("Lanes of a warp hand work to one another through memory", "[ptx][divergence]") {
    // Odd lanes wait until the even lane before them has stored; the even lanes come second in the text.
    const Outcome outcome =
        run("and.b32 %w, %t, 1; setp.eq.u32 %p, %w, 0; mad.wide.u32 %a, %t, 4, %lock; @%p bra even;\n"
            "wait: ld.volatile.global.u32 %v, [%a + -4]; setp.eq.u32 %q, %v, 0; @%q bra wait; bra join;\n"
            "even: add.u32 %v, %t, 100; st.volatile.global.u32 [%a], %v;\n"
            "join:" +
                kStore,
            32);
    CHECK(outcome.error == "");
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(outcome.out[t] == 100 + t / 2 * 2);
}

TEST_CASE("Lanes meet at the immediate post-dominator", "[ptx][divergence]") {
    // activemask behind an if, a loop with different trip counts, and an early exit.
    const Outcome outcome =
        run("setp.lt.u32 %p, %t, 5; @%p bra small; add.u32 %w, %t, 1; bra join; small: add.u32 %w, %t, 2;\n"
            "join: activemask.b32 %v; and.b32 %n, %t, 7;\n"
            "loop: setp.eq.u32 %q, %n, 0; @%q bra done; sub.u32 %n, %n, 1; bra loop;\n"
            "done: activemask.b32 %m; add.u32 %v, %v, %m; setp.gt.u32 %r, %t, 29; @%r exit;\n"
            "activemask.b32 %m; add.u32 %v, %v, %m;" +
                kStore,
            32);
    CHECK(outcome.error == "");
    for (std::uint32_t t = 0; t < 30; ++t) CHECK(outcome.out[t] == 0xFFFFFFFFu + 0xFFFFFFFFu + 0x3FFFFFFFu);
    CHECK(outcome.out[31] == 0);
}

TEST_CASE("Lanes exchange values although they have parted", "[ptx][divergence]") {
    SECTION("the same instruction, reached at different times") {
        // Lanes go round the loop until it is their turn; the shuffle in front of the exit names all lanes.
        const Outcome outcome =
            run("setp.ge.u32 %p, %t, 16; @%p bra late; mul.lo.u32 %w, %t, 3; bra.uni both;\n"
                "late: mul.lo.u32 %w, %t, 5; both: shfl.sync.bfly.b32 %v, %w, 31, 31, -1;" +
                    kStore,
                32);
        CHECK(outcome.error == "");
        for (std::uint32_t t = 0; t < 32; ++t) {
            const std::uint32_t other = t ^ 31;
            CHECK(outcome.out[t] == other * (other >= 16 ? 5 : 3));
        }
    }
    SECTION("half of the lanes have exited") {
        const Outcome outcome =
            run("setp.ge.u32 %p, %t, 16; @%p exit; vote.sync.ballot.b32 %v, 1, -1;" + kStore, 32);
        CHECK(outcome.error == "");
        CHECK(outcome.out[3] == 0xFFFF);
    }
    SECTION("bar.warp.sync at two places orders their memory accesses") {
        const Outcome outcome =
            run("mad.wide.u32 %a, %t, 4, %lock; setp.ge.u32 %p, %t, 16; @%p bra upper;\n"
                "add.u32 %w, %t, 7; st.global.u32 [%a], %w; bar.warp.sync -1; mov.u32 %v, 1; bra join;\n"
                "upper: bar.warp.sync -1; ld.global.u32 %v, [%a + -64];\n"
                "join:" +
                    kStore,
                32);
        CHECK(outcome.error == "");
        for (std::uint32_t t = 16; t < 32; ++t) CHECK(outcome.out[t] == t - 16 + 7);
    }
    SECTION("a named lane never comes: a deadlock that says who waits for what") {
        const Outcome outcome =
            run("setp.lt.u32 %p, %t, 7; @%p bra part; loop: ld.volatile.global.u32 %v, [%lock];"
                "setp.eq.u32 %q, %v, 0; @%q bra loop; ret; part: shfl.sync.idx.b32 %v, %t, 0, 31, -1;" +
                    kStore,
                32);
        CHECK(outcome.error.find("deadlock in kernel test") != std::string::npos);
        CHECK(outcome.error.find("lanes 0-6 waits for the other lanes of member mask 0xffffffff") !=
              std::string::npos);
    }
}

TEST_CASE("A barrier in divergent code counts threads that have not exited", "[ptx][divergence]") {
    SECTION("both sides reach it, at different places") {
        const Outcome outcome =
            run("mad.wide.u32 %a, %t, 4, %lock; setp.lt.u32 %p, %t, 40; @%p bra low;\n"
                "mov.u32 %w, 9; st.global.u32 [%a], %w; barrier.sync 0; mov.u32 %v, 2; bra join;\n"
                "low: barrier.sync 0; ld.global.u32 %v, [%a + 160]; join:" +
                    kStore,
                80);
        CHECK(outcome.error == "");
        for (std::uint32_t t = 0; t < 40; ++t) CHECK(outcome.out[t] == 9);
    }
    SECTION("the lanes that do not come have exited") {
        CHECK(run("setp.lt.u32 %p, %t, 7; @!%p exit; bar.sync 0; mov.u32 %v, 3;" + kStore, 64).out[6] == 3);
    }
}

TEST_CASE("A kernel that waits for ever is found out", "[ptx][divergence]") {
    const Outcome outcome =
        run("loop: ld.volatile.global.u32 %v, [%lock]; setp.eq.u32 %q, %v, 0; @%q bra loop;" + kStore, 32);
    CHECK(outcome.error.find("nothing changes any more") != std::string::npos);
    CHECK(outcome.error.find("CTA (0, 0, 0) warp 0 is at line") != std::string::npos);
}

TEST_CASE("CTAs that wait for later ones run beside them", "[ptx][divergence]") {
    // A barrier across the grid: the last of 40 CTAs to arrive sets the flag.
    const Outcome outcome = run(
        "setp.ne.u32 %p, %t, 0; @%p bra wait; atom.global.add.u32 %v, [%lock], 1; setp.ne.u32 %q, %v, 39;\n"
        "@%q bra wait; st.volatile.global.u32 [%lock + 4], 1;\n"
        "wait: ld.volatile.global.u32 %w, [%lock + 4]; setp.eq.u32 %r, %w, 0; @%r bra wait;\n"
        "mov.u32 %n, %ctaid.x; mad.lo.u32 %t, %n, 16, %t; add.u32 %v, %t, 1;" +
            kStore,
        16, 40);
    CHECK(outcome.error == "");
    for (std::uint32_t t = 0; t < 640; ++t) CHECK(outcome.out[t] == t + 1);
}

TEST_CASE("CTAs of a cluster reach one another's shared memory", "[ptx][cluster]") {
    const std::string globals = ".shared .align 8 .b32 box[64];";
    const std::string epilogue =
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
        "mov.u32 %n, %ctaid.x; mad.lo.u32 %t, %n, 32, %t;" +
        kStore;
    SECTION("stores and loads through shared::cluster and generic addresses") {
        // Each CTA writes to the next one's box, then reads what the one before has written.
        const Outcome outcome =
            run(".reg .u32 %b; .reg .u64 %g; mov.u32 %n, %ctaid.x; add.u32 %m, %n, 1; and.b32 %m, %m, 3;\n"
                "mov.u32 %b, box; mapa.shared::cluster.u32 %b, %b, %m; mad.lo.u32 %b, %t, 4, %b;\n"
                "mad.lo.u32 %w, %n, 100, %t; barrier.cluster.arrive; barrier.cluster.wait;\n"
                "st.shared::cluster.u32 [%b], %w; barrier.cluster.arrive; barrier.cluster.wait;\n"
                "mov.u64 %g, box; cvta.shared.u64 %g, %g; mad.wide.u32 %g, %t, 4, %g; ld.u32 %v, [%g];" +
                    epilogue,
                32, 8, {4}, globals);
        CHECK(outcome.error == "");
        for (std::uint32_t cta = 0; cta < 8; ++cta) {
            const std::uint32_t before = cta / 4 * 4 + (cta + 3) % 4;
            for (std::uint32_t t = 0; t < 32; ++t) CHECK(outcome.out[cta * 32 + t] == before * 100 + t);
        }
    }
    SECTION("atomics from all CTAs, lanes reaching different CTAs at once") {
        const Outcome outcome =
            run(".reg .u32 %b; mov.u32 %b, box; and.b32 %m, %t, 3; mapa.shared::cluster.u32 %b, %b, %m;\n"
                "barrier.cluster.arrive; barrier.cluster.wait; red.shared::cluster.add.u32 [%b], %t;\n"
                "barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %v, [box];" +
                    epilogue,
                32, 4, {4}, globals);
        CHECK(outcome.error == "");
        for (std::uint32_t cta = 0; cta < 4; ++cta) {
            std::uint32_t sum = 0;
            for (std::uint32_t t = cta; t < 32; t += 4) sum += 4 * t;
            CHECK(outcome.out[cta * 32 + 9] == sum);
        }
    }
    SECTION("errors") {
        CHECK(run("mov.u32 %v, 1;" + epilogue, 32, 6, {4}).error.find("whole clusters") != std::string::npos);
        CHECK(run(".reg .u32 %b; mov.u32 %b, box; mapa.shared::cluster.u32 %b, %b, 4;" + epilogue, 32, 4, {4},
                  globals)
                  .error.find("CTA rank 4 of a cluster of 4") != std::string::npos);
    }
}

TEST_CASE("Lanes of one generic access lie in different state spaces", "[ptx][memory]") {
    const Outcome outcome =
        run(".reg .u64 %g, %l; .local .align 4 .b32 own[2];\n"
            "add.u32 %w, %t, 50; st.shared.u32 [box + 8], 77; st.local.u32 [own + 4], %w;\n"
            "mov.u64 %g, box; cvta.shared.u64 %g, %g; add.u64 %g, %g, 8; mov.u64 %l, own; cvta.local.u64 %l, "
            "%l;\n"
            "add.u64 %l, %l, 4; and.b32 %n, %t, 1; setp.eq.u32 %p, %n, 0; selp.b64 %g, %g, %l, %p; ld.u32 "
            "%v, [%g];" +
                kStore,
            32, 1, {}, ".shared .align 8 .b32 box[4];");
    CHECK(outcome.error == "");
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(outcome.out[t] == (t % 2 == 0 ? 77 : 50 + t));
}

}  // namespace heddle::ptx::test
