// Kernels beside collectives: by hand, and as others recorded them.
#include "sim/run/schedule/beside.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"
#include "sim/run/assemble/assemble.h"
#include "workloads/importers/open_trace.h"
#include "workloads/trace_files/data.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

trace::Op collective(const char* kind, std::int64_t bytes, std::optional<double> measured) {
    trace::Op op;
    op.kind = trace::OpKind::collective;
    op.set(keys::collective.collective, std::string(kind));
    op.set(keys::collective.bytes, bytes);
    op.set(keys::collective.thread_blocks, 27);
    op.measured_us = measured;
    return op;
}

KernelResult kernel(double time_us) {
    KernelResult result;
    result.time_us = time_us;
    result.waves = 9;
    result.utilisation["tensor"] = 1;
    return result;
}

}  // namespace

TEST_CASE("a collective moves its bytes at the rate of the quickest of its kind, and waits for the rest") {
    trace::Trace trace;
    trace.add(collective("all_reduce", 1000, 10));
    trace.add(collective("all_reduce", 1000, 40));
    trace.add(collective("send_receive", 1000, 40));
    trace.add(collective("send_receive", 1000, std::nullopt));
    trace.ops.emplace_back();
    // Of unknown many ranks: all of an all-reduce twice.
    const std::vector<PeerWrites> writes = peer_writes(trace);
    REQUIRE(writes.size() == 5);
    CHECK(writes[0].bytes_per_us == 200);
    CHECK(writes[0].from == 0);
    CHECK(writes[0].until == 1);
    // A ring stands still until the last device has come.
    CHECK(writes[1].bytes_per_us == 200);
    CHECK(writes[1].from == 0.75);
    CHECK(writes[1].until == 1);
    CHECK(writes[2].bytes_per_us == 25);
    CHECK(writes[3].bytes_per_us == 0);
    CHECK(writes[4].bytes_per_us == 0);
}

TEST_CASE("what a device writes in a collective follows from how many take part") {
    trace::Trace trace;
    trace.add(collective("all_reduce", 1000, 10));
    trace.add(collective("send_receive", 1000, 10));
    trace.add(collective("send_receive", 1000, 40));
    for (trace::Op& op : trace.ops) op.set(keys::collective.ranks, 4);
    const std::vector<PeerWrites> writes = peer_writes(trace);
    CHECK(writes[0].bytes_per_us == 150);
    CHECK(writes[1].bytes_per_us == 75);
    // Messages go to those that are there.
    CHECK(writes[2].from == 0);
    CHECK(writes[2].until == 0.25);
}

TEST_CASE("recorded kernels are taken to what they are beside the collectives of the recording") {
    trace::Trace trace;
    // 100 GB/s, for the last half of the second.
    trace.add(collective("all_reduce", 5'000'000, 100));
    trace.add(collective("all_reduce", 5'000'000, 200));
    trace::Op copy;
    copy.kind = trace::OpKind::host_copy;
    copy.measured_us = 1000;
    trace.ops.push_back(copy);
    const auto beside = [&](std::vector<std::int64_t> ops, std::vector<std::int64_t> since) {
        trace::Op op;
        op.set(keys::any.beside, std::move(ops));
        op.set(keys::any.beside_start_ns, std::move(since));
        trace.ops.push_back(op);
    };
    beside({1}, {20'000});
    beside({1}, {120'000});
    beside({1}, {190'000});
    beside({1, 2}, {120'000, -20'000});
    trace.ops.emplace_back();
    const KernelResult first = kernel(30), second = kernel(6);
    // 27 of 108 SMs are held: 40 and 8 us.
    const RecordedNeighbours neighbours(trace, {.peer_flush_us = 8, .host_flush_us = 3, .sms = 108});
    CHECK(neighbours.time_beside(3, {&first, &second}) == Approx(40 + 8));          // it does not write yet
    CHECK(neighbours.time_beside(4, {&first, &second}) == Approx(40 + 8 + 8 + 8));  // both ends wait
    CHECK(neighbours.time_beside(5, {&first}) == Approx(10 + 22.5));                // alone after 10 us
    CHECK(neighbours.time_beside(6, {&first}) == Approx(40 + 8 + 2 * 3));
    CHECK(neighbours.time_beside(7, {&first, &second}) == 36);
}

TEST_CASE("recorded kernels end as much later beside collectives as the model says") {
    const auto path = heddle::test::recording("traces/pytorch/a100_world8_kineto.json.gz");
    if (!path) return;
    const trace::Trace trace = importers::open_trace(*path);
    const Hardware hardware = load_hardware("a100-sxm-40gb", {});
    const RecordedNeighbours neighbours(trace, hardware.machine().shared_device());
    // Of kernels that are the same: the recorded times alone, and beside collectives.
    std::map<std::tuple<std::string, std::string>, std::vector<trace::OpId>> alike;
    for (trace::OpId id = 0; id < trace.ops.size(); ++id) {
        const trace::Op& op = trace.ops[id];
        if (op.kind != trace::OpKind::collective && op.kind != trace::OpKind::unknown && op.measured_us &&
            op.get(keys::any.kernels) == 1)
            alike[{describe_op(trace, op), op.kernel_name}].push_back(id);
    }
    std::size_t count = 0;
    double alone = 0, recorded = 0, model = 0, deviation = 0;
    for (const auto& [key, ops] : alike) {
        std::vector<double> times;
        for (const trace::OpId id : ops)
            if (trace.ops[id].get(keys::any.beside).empty()) times.push_back(*trace.ops[id].measured_us);
        if (times.size() < 3) continue;
        std::sort(times.begin(), times.end());
        const double median = times[times.size() / 2];
        if (median > 15) continue;  // short ones: what they wait for at their end is what differs
        KernelResult one;
        one.time_us = median;
        one.waves = 0;
        for (const trace::OpId id : ops) {
            if (trace.ops[id].get(keys::any.beside).empty()) continue;
            ++count;
            alone += median;
            recorded += *trace.ops[id].measured_us;
            const double time = neighbours.time_beside(id, {&one});
            model += time;
            deviation += std::abs(time - *trace.ops[id].measured_us);
        }
    }
    INFO(count << " ops: alone " << alone << " us, recorded beside " << recorded << " us, model " << model);
    CHECK(count > 1000);
    CHECK(recorded > 1.5 * alone);
    // Without what runs beside them the model would be that far off; with it most of that is explained.
    CHECK(std::abs(model - recorded) < 0.35 * (recorded - alone));
    // Each for itself: 0.40 of the recorded time where every kernel beside a collective waits for the mean.
    CHECK(deviation < 0.34 * recorded);
}
