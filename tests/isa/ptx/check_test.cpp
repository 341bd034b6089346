// Checked runs: each defect is found, named, and gone when the program is mended.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "launch.h"

namespace heddle::ptx::test {
namespace {

std::vector<CheckFinding> findings(const std::string& body, unsigned threads,
                                   const std::string& globals = ".shared .align 8 .b32 tile[256];") {
    Device device;
    const std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(1024));
    const Program program(
        module_text(
            ".param .u64 out",
            ".reg .pred %p, %q; .reg .u32 %t, %v, %w, %s; .reg .u64 %out, %a, %m;\n"
            "ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;\n"
            "mad.wide.u32 %a, %t, 4, %out;\n" +
                body + "\nst.global.u32 [%a], %v; ret;",
            globals),
        "test");
    CheckLog log;
    LaunchContext launch = program.launch(device, {2}, {threads}, {argument(out)});
    launch.check = &log;
    run_functionally(launch);
    return log.findings();
}

bool contains(const std::vector<CheckFinding>& all, CheckFinding::Kind kind, const std::string& text) {
    for (const CheckFinding& finding : all) {
        if (finding.kind == kind && finding.text.find(text) != std::string::npos) return true;
    }
    UNSCOPED_INFO("findings: " << all.size() << (all.empty() ? "" : ", first: " + all[0].text));
    return false;
}

using Kind = CheckFinding::Kind;

}  // namespace

TEST_CASE("Reads of shared memory that nobody has written are found", "[ptx][check]") {
    const auto bad = findings(
        "setp.lt.u32 %p, %t, 40; @%p st.shared.u32 [%s], %t; bar.sync 0; ld.shared.u32 %v, [%s];", 64);
    REQUIRE(bad.size() == 1);
    CHECK(contains(bad, Kind::uninitialised, "kernel test, CTA (0, 0, 0), warp 1, lane 8, test.ptx:"));
    CHECK(contains(bad, Kind::uninitialised, "shared address 0xa0 (tile + 160) that no thread has written"));
    CHECK(bad[0].count == 2 * 24);
    CHECK(findings("st.shared.u32 [%s], %t; bar.sync 0; ld.shared.u32 %v, [%s];", 64).empty());
}

TEST_CASE("Reads of local memory that the thread has not written are found", "[ptx][check]") {
    const std::string frame = ".local .align 4 .b32 own[8];";
    const auto bad = findings(frame + "st.local.u32 [own], %t; ld.local.u32 %v, [own + 8];", 32);
    CHECK(contains(bad, Kind::uninitialised,
                   "reads local memory at address 0x8 that the thread has not written"));
    CHECK(findings(frame + "st.local.u32 [own + 8], %t; ld.local.u32 %v, [own + 8];", 32).empty());
}

TEST_CASE("Races on shared memory are found", "[ptx][check]") {
    const std::string neighbour = "xor.b32 %w, %t, 32; mov.u32 %v, tile; mad.lo.u32 %w, %w, 4, %v;";
    SECTION("read after write of another warp") {
        const auto bad = findings("st.shared.u32 [%s], %t; " + neighbour + "ld.shared.u32 %v, [%w];", 64);
        CHECK(contains(bad, Kind::race, "warp 0 lane 0 has written"));
        CHECK(findings("st.shared.u32 [%s], %t; " + neighbour + "bar.sync 0; ld.shared.u32 %v, [%w];", 64)
                  .empty());
    }
    SECTION("write after read: the second barrier is missing in a loop") {
        const std::string start =
            "st.shared.u32 [%s], %t; bar.sync 0; " + neighbour + "ld.shared.u32 %v, [%w]; ";
        CHECK(contains(findings(start + "st.shared.u32 [%s], %v;", 64), Kind::race, "has read"));
        CHECK(findings(start + "bar.sync 0; st.shared.u32 [%s], %v;", 64).empty());
    }
    SECTION("between lanes of a warp without bar.warp.sync") {
        const std::string other = "xor.b32 %w, %t, 1; mov.u32 %v, tile; mad.lo.u32 %w, %w, 4, %v;";
        CHECK(contains(findings("st.shared.u32 [%s], %t; " + other + "ld.shared.u32 %v, [%w];", 32),
                       Kind::race, "lane 1 has written"));
        CHECK(findings("st.shared.u32 [%s], %t; " + other + "bar.warp.sync -1; ld.shared.u32 %v, [%w];", 32)
                  .empty());
    }
    SECTION("a named barrier orders those that take part, and no others") {
        // Warps 0 and 1 exchange at barrier 1; warp 2 reads what warp 0 wrote without having been there.
        const std::string text =
            "setp.ge.u32 %p, %t, 64; @%p bra third; st.shared.u32 [%s], %t; bar.sync 1, 64; " + neighbour +
            "ld.shared.u32 %v, [%w]; bra join; third: mov.u32 %v, 0; ";
        CHECK(findings(text + "join:", 96).empty());
        CHECK(contains(findings(text + "nanosleep.u32 20; ld.shared.u32 %v, [tile]; join:", 96), Kind::race,
                       ""));
    }
    SECTION("atomics order, and do not race with one another") {
        CHECK(findings("setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [tile], 0; bar.sync 0; atom.shared.add.u32 "
                       "%v, [tile], 1;",
                       96)
                  .empty());
        // A lock: the last warp to come reads what those before it wrote.
        CHECK(findings("setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [tile], 0; @%p st.shared.u32 [tile + 4], 0; "
                       "bar.sync 0;\n"
                       "spin: atom.shared.cas.b32 %v, [tile], 0, 1; setp.ne.u32 %q, %v, 0; @%q bra spin;\n"
                       "ld.shared.u32 %w, [tile + 4]; add.u32 %w, %w, 1; st.shared.u32 [tile + 4], %w;\n"
                       "atom.shared.exch.b32 %v, [tile], 0;",
                       64)
                  .empty());
    }
}

TEST_CASE("Wrong use of barriers is found", "[ptx][check]") {
    CHECK(contains(
        findings(
            "mov.u32 %v, 0; setp.lt.u32 %p, %t, 7; @%p bra low; bar.sync 0; bra join; low: bar.sync 0; join:",
            32),
        Kind::barrier, "are not at a barrier that the warp must reach together"));
    CHECK(contains(findings("mov.u32 %v, 0; setp.lt.u32 %p, %t, 7; @%p exit; bar.sync 0;", 64), Kind::barrier,
                   "7 threads of the CTA have exited before a barrier of the whole CTA"));
    CHECK(findings("mov.u32 %v, 0; setp.lt.u32 %p, %t, 7; @%p bra low; barrier.sync 0; bra join; low: "
                   "barrier.sync 0; join:",
                   32)
              .empty());
}

TEST_CASE("An arrival at an mbarrier of a CTA that has exited is found, and the kernel goes on",
          "[ptx][check]") {
    // CTA 1 of the cluster leaves at once, which lets CTA 0 pass the cluster's barrier; it then arrives
    // there.
    const Program program(
        module_text(
            ".param .u64 out",
            ".reg .pred %p; .reg .u32 %r, %t, %b; .reg .u64 %out, %g;\n"
            "ld.param.u64 %out, [out]; mov.u32 %r, %cluster_ctarank; setp.ne.u32 %p, %r, 0; @%p exit;\n"
            "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %b, bar;\n"
            "mapa.shared::cluster.u32 %b, %b, 1; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 3;\n"
            "@%p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%b];\n"
            "@%p mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%b], 16;\n"
            "@%p mbarrier.complete_tx.shared::cluster.b64 [%b], 16;\n"
            "cvt.u64.u32 %g, %b; cvta.shared.u64 %g, %g; @%p mbarrier.arrive.release.cluster.b64 _, [%g];\n"
            "mad.wide.u32 %out, %t, 4, %out; add.u32 %t, %t, 1; st.global.u32 [%out], %t; ret;",
            ".shared .align 8 .b64 bar;"),
        "test");
    const auto run = [&](CheckLog* log) {
        Device device;
        const std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(32));
        LaunchContext launch = program.launch(device, {2}, {32}, {argument(out)});
        launch.cluster = {2};
        launch.check = log;
        run_functionally(launch);
        return device.download<std::uint32_t>(out, 32);
    };
    const std::vector<std::uint32_t> unchecked = run(nullptr);
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(unchecked[t] == t + 1);
    CheckLog log;
    CHECK(run(&log) == unchecked);
    REQUIRE(log.findings().size() == 4);
    for (const CheckFinding& finding : log.findings()) CHECK(finding.count == 3);
    CHECK(contains(
        log.findings(), Kind::barrier,
        "kernel test, CTA (0, 0, 0), warp 0, lane 0, test.ptx:11: arrives at an mbarrier at shared address "
        "0x0 (bar + 0) of CTA rank 1 of the cluster, which has exited"));
    CheckLog silent(CheckOptions{.initialisation = true, .races = true, .barriers = false});
    CHECK(run(&silent) == unchecked);
    CHECK(silent.findings().empty());
}

TEST_CASE("Copies and other accesses to a CTA that has exited end the run", "[ptx][check]") {
    const auto problem = [](const std::string& access) -> std::string {
        const Program program(
            module_text(
                "",
                ".reg .pred %p; .reg .u32 %r, %b; mov.u32 %r, %cluster_ctarank; setp.ne.u32 %p, %r, 0;\n"
                "@%p exit; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %b, bar;\n"
                "mapa.shared::cluster.u32 %b, %b, 1; " +
                    access + " ret;",
                ".shared .align 8 .b64 bar;"),
            "test");
        Device device;
        LaunchContext launch = program.launch(device, {2}, {32}, {});
        launch.cluster = {2};
        try {
            run_functionally(launch);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    CHECK_THAT(problem("st.shared::cluster.u32 [%b], %r;"), Catch::Contains("shared"));
    CHECK_THAT(problem("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%b], %r, [%b];"),
               Catch::Contains("no CTA of the cluster that runs has shared address"));
}

}  // namespace heddle::ptx::test
