// Planted faults are caught; sound kernels are not accused.
#include "models/gpu/conservation.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "gpu_test_bench.h"
#include "isa/common/error.h"
#include "models/gpu/ptx_source.h"
#include "models/gpu/sm_audit.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

TEST_CASE("each account that does not balance is named") {
    CHECK(imbalance({}).empty());
    const auto found = [](auto change) {
        Ledger ledger;
        ledger.sm_requested_sectors = ledger.sm_received_sectors = 100;
        ledger.l2_fill_sectors = ledger.dram_read_sectors = 60;
        ledger.gpc_requests = ledger.l2_requests = ledger.l2_answers = 40;
        ledger.sm_loaded_sectors = ledger.l2_loaded_sectors = 90;
        ledger.sm_stored_sectors = ledger.l2_stored_sectors = 30;
        change(ledger);
        return imbalance(ledger);
    };
    using Catch::Contains;
    CHECK_THAT(found([](Ledger& l) { l.requests_under_way = 1; }), Contains("requests were not answered"));
    CHECK_THAT(found([](Ledger& l) { --l.sm_received_sectors; }), Contains("asked of L2"));
    CHECK_THAT(found([](Ledger& l) { ++l.gpc_requests; }), Contains("41 requests passed the GPCs' ports"));
    CHECK_THAT(found([](Ledger& l) { --l.l2_answers; }),
               Contains("40 requests were taken by L2, 39 answered"));
    CHECK_THAT(found([](Ledger& l) { --l.l2_loaded_sectors; }), Contains("90 sectors were loaded by SMs"));
    CHECK_THAT(found([](Ledger& l) { ++l.sm_stored_sectors; }), Contains("31 sectors were stored by SMs"));
    CHECK_THAT(found([](Ledger& l) { ++l.dram_read_sectors; }), Contains("asked of memory"));
    CHECK_THAT(found([](Ledger& l) { l.l2_write_back_sectors = 4; }), Contains("written back"));
    CHECK_THAT(found([](Ledger& l) { l.pipeline_instructions = 1; }), Contains("instructions"));
    CHECK_THAT(found([](Ledger& l) { l.ctas_launched = 1; }), Contains("thread blocks"));
}

TEST_CASE("a request that is answered twice is caught, one that is lost is counted") {
    MemoryRequestPool pool;
    MemoryRequest& request = pool.take();
    MemoryRequest& lost = pool.take();
    (void)lost;
    pool.give_back(request);
    CHECK_THROWS_WITH(pool.give_back(request), Catch::Contains("answered twice"));
    CHECK(pool.in_use() == 1);
}

namespace {

/// 128 threads, 16 KiB of shared memory.
TestLaunch some_launch(GpuTestBench& bench, unsigned grid = 1) {
    const std::string text = kernel_text(
        "mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, 4; mov.u32 %r2, smem; add.u32 %r2, %r2, %r1;\n"
        "st.shared.u32 [%r2], %r0; bar.sync 0; ld.shared.u32 %r3, [%r2]; mov.u32 %r4, 0;\n"
        "loop: add.u32 %r4, %r4, 1; setp.lt.u32 %p0, %r4, %r3; @%p0 bra loop;\nret;",
        0, 16384);
    return bench.launch(text, grid, 128, {});
}

const std::vector<std::uint8_t> kSlots{0, 1, 2, 3};

}  // namespace

TEST_CASE("the audit of an SM catches what is given out twice or beyond what there is") {
    GpuTestBench bench;
    const TestLaunch launch = some_launch(bench);
    const std::span<const ptx::InstructionInfo> instructions = launch.kernel->instructions();
    PtxSource source(launch.context);
    const auto audit_of = [&](auto change) {
        GpuConfig config;
        change(config);
        LaunchPlan plan;
        plan.launches.emplace_back();
        plan.launches.back().source = &source;
        return SmAudit("sm_7", config, plan);
    };
    const auto start = [](SmAudit& audit, unsigned first) {
        audit.cta_started(0);
        for (unsigned i = 0; i < 4; ++i) audit.warp_started(first + i);
    };
    const auto found = [&](auto change, unsigned allowed) {
        SmAudit audit = audit_of(change);
        for (unsigned i = 0; i < allowed; ++i) start(audit, 4 * i);
        try {
            start(audit, 4 * allowed);
        } catch (const Error& error) {
            return error.problem();
        }
        return std::string("nothing");
    };
    using Catch::Contains;
    CHECK_THAT(found([](GpuConfig& c) { c.sm.ctas = 3; }, 3), Contains("sm_7: 4 thread blocks, it has 3"));
    // 16384 bytes and the system's 1024 for each.
    CHECK_THAT(found([](GpuConfig& c) { c.shared.bytes = 5 * 17408 - 1; }, 4), Contains("shared memory"));
    CHECK_THAT(found([](GpuConfig& c) { c.sm.warps = 8; }, 2), Contains("3 warps on a sub-core, it has 2"));
    const unsigned registers = launch.kernel->registers_per_thread() * 32;
    CHECK_THAT(found([&](GpuConfig& c) { c.sm.registers = 4 * 3 * ((registers + 255) / 256 * 256); }, 3),
               Contains("registers on a sub-core"));
    CHECK(found([](GpuConfig&) {}, 10) == "nothing");

    SmAudit audit = audit_of([](GpuConfig&) {});
    start(audit, 0);
    CHECK_THROWS_WITH(start(audit, 3), Contains("slot 3 was given out twice"));
    SmAudit twice = audit_of([](GpuConfig&) {});
    start(twice, 0);
    start(twice, 4);
    twice.cta_ended(kSlots, 0);
    CHECK_THROWS_WITH(twice.cta_ended(kSlots, 0), Contains("slot 0 was given back twice"));

    SmAudit issues = audit_of([](GpuConfig&) {});
    start(issues, 0);
    const ptx::InstructionInfo *one = &instructions[0], *other = &instructions[1];
    issues.issued(0, one, one, 10);
    issues.issued(1, one, one, 10);
    issues.issued(0, other, other, 11);
    CHECK_THROWS_WITH(issues.issued(0, other, other, 11), Contains("had issued already"));
    CHECK_THROWS_WITH(issues.issued(1, one, other, 12), Contains("performed line"));
    CHECK_THROWS_WITH(issues.issued(4, one, one, 12), Contains("without being there"));
    CHECK_NOTHROW(issues.registers_moved(4 * launch.kernel->registers_per_thread(), 0));
    CHECK_THROWS_WITH(issues.registers_moved(4 * launch.kernel->registers_per_thread() + 8, 0),
                      Contains("setmaxnreg"));
}

TEST_CASE("an SM that is handed one thread block too many is caught when it starts") {
    GpuTestBench bench;
    const TestLaunch launch = some_launch(bench);
    RunOptions options;
    options.audit = true;
    bench.gpu.run(launch.context, options);
    LaunchPlan plan;
    PtxSource source(launch.context);
    plan.launches.emplace_back();
    RunLaunch& only = plan.launches.back();
    only.source = &source;
    only.launch = &launch.context;
    only.occupancy = occupancy(bench.gpu.config(), 128, launch.kernel->registers_per_thread(), 16384);
    plan.kernel = time_kernel(source, bench.gpu.config());
    plan.audit = true;
    const unsigned fit = plan.only().occupancy.ctas_per_sm;
    CHECK(fit == 233472 / 17408);
    ++plan.launches.front().occupancy.ctas_per_sm;  // the fault
    Sm& sm = bench.gpu.sms[0];
    sm.reset();
    sm.begin(plan);
    for (unsigned i = 0; i <= fit; ++i) sm.start_cta({0, i}, 1, {});
    CHECK_THROWS_WITH(sm.tick(1), Catch::Contains("bytes of shared memory, it has 233472"));
}

TEST_CASE("every instruction is performed once, and the audit changes nothing") {
    GpuTestBench bench;
    const TestLaunch launch = some_launch(bench, 3000);
    RunOptions audited, plain;
    audited.audit = true;
    plain.audit = false;
    const KernelResult with = bench.gpu.run(launch.context, audited);
    CHECK(with.cycles == bench.gpu.run(launch.context, plain).cycles);
    // The plain interpreter, which knows of no SMs.
    CHECK(with.warp_instructions == ptx::run_functionally(launch.context));
}
