// mbarrier objects: phases, tokens, counts, waits. The numbers follow from the PTX manual, "mbarrier".
#include "async_launch.h"

namespace heddle::ptx::test {
namespace {

// One thread; `%n` collects a bit per question, the first one highest.
const std::string kAsk = "selp.b32 %w, 1, 0, %q; mad.lo.u32 %n, %n, 2, %w;\n";
const std::string kAskParity0 = "mbarrier.test_wait.parity.shared::cta.b64 %q, [bar], 0;\n" + kAsk;
const std::string kAskParity1 = "mbarrier.test_wait.parity.shared::cta.b64 %q, [bar], 1;\n" + kAsk;

std::uint32_t answers(const std::string& body) {
    AsyncRun run;
    run.threads = 1;
    const AsyncOutcome outcome = run.run("mov.b32 %n, 0;\n" + body + "st.global.b32 [%out], %n;");
    CHECK(outcome.error == "");
    return outcome.out.empty() ? ~0u : outcome.at<std::uint32_t>(0);
}

std::string problem(const std::string& body, unsigned threads = 1) {
    AsyncRun run;
    run.threads = threads;
    return run.run(body).error;
}

bool contains(const std::string& text, const std::string& part) {
    INFO(text);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

}  // namespace

TEST_CASE("A phase of an mbarrier ends with the last arrival", "[ptx][mbarrier]") {
    AsyncRun run;
    run.threads = 128;
    const std::string prologue =
        "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared::cta.b64 [bar], 128; bar.sync 0;\n"
        "setp.eq.u32 %p, %t, 77; @%p st.shared.b32 [box], 4711;\n";
    const std::string epilogue = "ld.shared.b32 %v, [box];" + kStoreV;
    // Thread 77 writes before it arrives, the others read after the phase.
    for (const std::string wait :
         {"mbarrier.arrive.shared::cta.b64 %s, [bar];\n"
          "wait: mbarrier.try_wait.shared::cta.b64 %q, [bar], %s; @!%q bra wait;\n",
          "mbarrier.arrive.release.cta.shared::cta.b64 %s, [bar], 1;\n"
          "wait: mbarrier.test_wait.acquire.cta.shared::cta.b64 %q, [bar], %s; @!%q bra wait;\n",
          "mbarrier.arrive.shared.b64 _, [bar];\n"
          "wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar], 0, 1000; @!%q bra "
          "wait;\n",
          "mov.b64 %a, bar; cvta.shared.u64 %a, %a; mbarrier.arrive.b64 %s, [%a];\n"
          "wait: mbarrier.try_wait.b64 %q, [%a], %s, %t; @!%q bra wait;\n",
          "mbarrier.arrive.b64 %s, [bar];\nwait: mbarrier.try_wait.b64 %q, [bar], %s; @!%q bra wait;\n"}) {
        const AsyncOutcome outcome = run.run(prologue + wait + epilogue);
        CHECK(outcome.error == "");
        for (unsigned t = 0; t < 128; ++t) REQUIRE(outcome.at<std::uint32_t>(t) == 4711);
    }
}

TEST_CASE("Phases follow one another", "[ptx][mbarrier]") {
    // Two arrivals per phase. parity(0) holds once phase 0 is complete, until phase 1 is.
    CHECK(answers("mbarrier.init.shared::cta.b64 [bar], 2;\n" + kAskParity0 + kAskParity1 +
                  "mbarrier.arrive.shared::cta.b64 %s, [bar];\n" + kAskParity0 +
                  "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + kAskParity0 + kAskParity1 +
                  "mbarrier.test_wait.shared::cta.b64 %q, [bar], %s;\n" + kAsk +
                  "mbarrier.arrive.shared::cta.b64 %s, [bar], 2;\n" + kAskParity0 + kAskParity1 +
                  "mbarrier.test_wait.shared::cta.b64 %q, [bar], %s;\n" + kAsk) == 0b01'0'101'011);
}

TEST_CASE("Dropped arrivals are not expected again", "[ptx][mbarrier]") {
    CHECK(answers("mbarrier.init.shared::cta.b64 [bar], 4; mbarrier.arrive_drop.shared::cta.b64 _, [bar];\n" +
                  kAskParity0 + "mbarrier.arrive.shared::cta.b64 _, [bar], 3;\n" + kAskParity0 +
                  "mbarrier.arrive.shared::cta.b64 _, [bar], 2;\n" + kAskParity1 +
                  "mbarrier.arrive_drop.shared::cta.b64 _, [bar], 1;\n" + kAskParity1 +
                  "mbarrier.arrive.shared::cta.b64 _, [bar], 2;\n" + kAskParity0) == 0b01'01'1);
}

TEST_CASE("A phase waits for the bytes that it expects", "[ptx][mbarrier]") {
    CHECK(answers("mbarrier.init.shared::cta.b64 [bar], 1;\n"
                  "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 48;\n"
                  "mbarrier.arrive.shared::cta.b64 _, [bar];\n" +
                  kAskParity0 + "mbarrier.complete_tx.shared::cta.b64 [bar], 16;\n" + kAskParity0 +
                  "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 32;\n" + kAskParity0) ==
          0b001);
    // Bytes may come before they are expected.
    CHECK(
        answers("mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.complete_tx.shared::cta.b64 [bar], 16;\n" +
                kAskParity0 + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n" + kAskParity0) ==
        0b01);
    CHECK(answers("mbarrier.init.shared::cta.b64 [bar], 2; mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, "
                  "[bar], 8;\n"
                  "mbarrier.arrive.shared::cta.b64 _, [bar];" +
                  kAskParity0 + "mbarrier.complete_tx.shared::cta.b64 [bar], 8;\n" + kAskParity0 +
                  "mbarrier.arrive.shared::cta.b64 _, [bar];" + kAskParity1) == 0b011);
}

TEST_CASE("The state of an arrival holds the pending count", "[ptx][mbarrier]") {
    // The state before the arrival: 9, then 7.
    CHECK(answers(
              "mbarrier.init.shared::cta.b64 [bar], 9;\n"
              "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %s, [bar], 2;\n"
              "mbarrier.pending_count.b64 %v, %s;\n"
              "mbarrier.arrive_drop.noComplete.shared::cta.b64 %s, [bar], 3; mbarrier.pending_count.b64 %w, "
              "%s;\nmad.lo.u32 %n, %v, 16, %w;") == 0x97);
}

TEST_CASE("Waiting warps are blocked and woken", "[ptx][mbarrier]") {
    AsyncRun run;
    run.threads = 128;
    // Warp 0 counts to 1000, then arrives. The others issue their wait twice.
    const AsyncOutcome outcome = run.run(
        kInitialize +
        "setp.ge.u32 %r, %t, 32; @%r bra wait;\n"
        "mov.b32 %v, 0; loop: add.u32 %v, %v, 1; setp.lt.u32 %q, %v, 1000; @%q bra loop;\n"
        "st.shared.b32 [box], %v; setp.eq.u32 %p, %t, 0; @%p mbarrier.arrive.shared::cta.b64 _, [bar];\n" +
        kWait + "ld.shared.b32 %v, [box];" + kStoreV);
    CHECK(outcome.error == "");
    for (unsigned t = 0; t < 128; ++t) CHECK(outcome.at<std::uint32_t>(t) == 1000);
    CHECK(outcome.steps < 3000 + 4 * 30);
}

TEST_CASE("Lanes of a warp wait for different mbarriers", "[ptx][mbarrier]") {
    AsyncRun run;
    run.threads = 64;
    const AsyncOutcome outcome = run.run(
        "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
        "@%p mbarrier.init.shared::cta.b64 [bar+8], 1; bar.sync 0; mov.b32 %v, 7;\n"
        "setp.ge.u32 %r, %t, 32; @%r bra arrive;\n"
        "and.b32 %w, %t, 1; mov.b32 %x, bar; mad.lo.u32 %x, %w, 8, %x;\n"
        "wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [%x], 0; @!%q bra wait;\n"
        "mad.lo.u32 %x, %w, 4, %b; ld.shared.b32 %v, [%x]; bra join;\n"
        "arrive: setp.ne.u32 %p, %t, 40; @%p bra join; st.shared.b32 [box+4], 11;\n"
        "mbarrier.arrive.shared::cta.b64 _, [bar+8]; st.shared.b32 [box], 10;\n"
        "mbarrier.arrive.shared::cta.b64 _, [bar]; join:\n" +
        kStoreV);
    CHECK(outcome.error == "");
    for (unsigned t = 0; t < 32; ++t) CHECK(outcome.at<std::uint32_t>(t) == 10 + t % 2);
}

TEST_CASE("CTAs of a cluster arrive at one another's mbarriers", "[ptx][mbarrier][cluster]") {
    AsyncRun run;
    run.threads = 64;
    run.ctas = 8;
    run.cluster = 4;
    run.out.resize(8 * 64 * 4);
    for (const std::string arrive :
         {"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%w];\n",
          "mbarrier.arrive.shared::cluster.b64 _, [%w], 1;\n",
          "cvt.u64.u32 %a, %w; cvta.shared.u64 %a, %a; mbarrier.arrive.release.cluster.b64 _, [%a];\n"}) {
        // Rank 0 has an arrival of every thread of the cluster, and waits for them.
        const AsyncOutcome outcome = run.run(
            ".reg .b32 %rank; mov.u32 %rank, %ctaid.x; and.b32 %rank, %rank, 3; setp.eq.u32 %p, %t, 0;\n"
            "@%p mbarrier.init.shared::cta.b64 [bar], 256; @%p fence.mbarrier_init.release.cluster;\n"
            "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
            "mov.b32 %w, box; mapa.shared::cluster.u32 %w, %w, 0;\n"
            "red.relaxed.cluster.shared::cluster.add.u32 [%w], %t;\n"
            "mov.b32 %w, bar; mapa.shared::cluster.u32 %w, %w, 0;\n" +
            arrive + "mov.b32 %v, 1; setp.ne.u32 %p, %rank, 0; @%p bra join;\n" + kWait +
            "ld.shared.b32 %v, [box]; join: barrier.cluster.arrive; barrier.cluster.wait;\n"
            "mov.u32 %n, %ctaid.x; mad.lo.u32 %t, %n, 64, %t;" +
            kStoreV);
        CHECK(outcome.error == "");
        for (unsigned cta = 0; cta < 8; ++cta)
            CHECK(outcome.at<std::uint32_t>(cta * 64 + 5) == (cta % 4 == 0 ? 4 * 63 * 64 / 2 : 1));
    }
}

TEST_CASE("Arrivals that wait for cp.async", "[ptx][mbarrier]") {
    AsyncRun run;
    std::vector<std::uint32_t> values(1024);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * i + 3);
    run.in = bytes_from(values);
    const std::string copy =
        "mad.lo.u32 %w, %t, 4, %b; mad.wide.u32 %a, %t, 4, %in; cp.async.ca.shared.global [%w], [%a], 4;\n";
    const std::string read =
        kWait + "xor.b32 %w, %t, 31; mad.lo.u32 %w, %w, 4, %b; ld.shared.b32 %v, [%w];" + kStoreV;
    const std::string initialize =
        "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [bar], 32; bar.sync 0;\n";
    for (const std::string arrive :
         {"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n",
          "cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];\n",
          "cp.async.mbarrier.arrive.b64 [bar]; mbarrier.arrive.b64 %s, [bar];\n"}) {
        const AsyncOutcome outcome = run.run(initialize + copy + arrive + read);
        CHECK(outcome.error == "");
        for (unsigned t = 0; t < 32; ++t) CHECK(outcome.at<std::uint32_t>(t) == values[t ^ 31]);
    }
}

TEST_CASE("Errors at mbarriers say what is wrong", "[ptx][mbarrier]") {
    const std::string init = "mbarrier.init.shared::cta.b64 [bar], 2;\n";
    contains(problem("mbarrier.arrive.shared::cta.b64 _, [bar];"),
             "there is no mbarrier at shared address 0x8000");
    contains(
        problem(init + "mbarrier.inval.shared::cta.b64 [bar]; mbarrier.arrive.shared::cta.b64 _, [bar];"),
        "there is no mbarrier");
    contains(problem("mbarrier.init.shared::cta.b64 [bar], 0;"), "mbarrier.init for 0 arrivals");
    contains(problem("mbarrier.init.shared::cta.b64 [bar], 1048576;"), "mbarrier.init for 1048576 arrivals");
    contains(problem(init + "mbarrier.arrive.shared::cta.b64 _, [bar], 3;"), "3 arrivals");
    contains(problem(init + "mbarrier.arrive.noComplete.shared::cta.b64 %s, [bar], 2;"),
             "completes the phase");
    contains(problem(init + "mbarrier.expect_tx.shared::cta.b64 [bar], 1048576;"), "1048576 more bytes");
    contains(problem("mbarrier.init.shared::cta.b64 [bar+4], 2;"), "misaligned");
    contains(problem("mbarrier.init.shared::cta.b64 [bar+64], 2;"), "out of bounds");
    contains(problem("mbarrier.init.b64 [%out], 2;"), "not in shared memory");
    contains(problem(init + "mov.b64 %s, 0; mbarrier.test_wait.shared::cta.b64 %q, [bar], %s;"),
             "not a state");
    contains(
        problem(init +
                "mov.b32 %w, bar; add.u32 %w, %w, 0x2000000; mbarrier.arrive.shared::cluster.b64 _, [%w];"),
        "no CTA of the cluster");
}

TEST_CASE("A deadlock at an mbarrier names what is missing", "[ptx][mbarrier]") {
    const std::string text = problem(
        "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared::cta.b64 [bar], 3;\n"
        "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64; bar.sync 0;\n" +
            kWait,
        32);
    contains(text, "deadlock");
    contains(text,
             "for the mbarrier at shared address 0x8000: phase 0, 2 of 3 arrivals and 64 bytes are missing");
}

}  // namespace heddle::ptx::test
