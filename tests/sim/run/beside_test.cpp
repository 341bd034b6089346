// Kernels beside collectives: by hand, and as others recorded them.
#include "sim/run/beside.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/config/hardware.h"
#include "sim/run/simulate.h"
#include "sim/run/step.h"
#include "workloads/importers/open_trace.h"
#include "workloads/trace_files/data.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

trace::Op collective(const char* kind, std::int64_t bytes, std::optional<double> measured) {
    trace::Op op;
    op.kind = trace::OpKind::collective;
    op.attributes["collective"] = std::string(kind);
    op.attributes["bytes"] = bytes;
    op.attributes["thread_blocks"] = std::int64_t{27};
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
    CHECK(writing_parts(trace) == std::vector<double>{1, 0.25, 1, 1, 0});
}

TEST_CASE("recorded kernels are taken to what they are beside the collectives of the recording") {
    trace::Trace trace;
    trace.add(collective("all_reduce", 1000, 10));
    trace.add(collective("all_reduce", 1000, 20));
    trace::Op op;
    op.attributes["beside"] = std::vector<std::int64_t>{1};
    trace.ops.push_back(op);
    trace.ops.emplace_back();
    const KernelResult first = kernel(30), second = kernel(6);
    // 27 of 108 SMs are held, and each end waits for half of the flush.
    const RecordedNeighbours neighbours(trace, {.peer_flush_us = 8, .sms = 108});
    CHECK(neighbours.time_beside(2, {&first, &second}) == Approx(40 + 4 + 8 + 4));
    CHECK(neighbours.time_beside(3, {&first, &second}) == 36);
}

TEST_CASE("recorded kernels end as much later beside collectives as the model says") {
    const auto path = heddle::test::recording("traces/pytorch/a100_world8_kineto.json.gz");
    if (!path) return;
    const trace::Trace trace = importers::open_trace(*path);
    const Hardware hardware = load_hardware("a100-sxm-40gb", {});
    const RecordedNeighbours neighbours(trace, shared_device(hardware));
    // Of kernels that are the same: the recorded times alone, and beside collectives.
    std::map<std::tuple<std::string, std::string>, std::vector<trace::OpId>> alike;
    for (trace::OpId id = 0; id < trace.ops.size(); ++id) {
        const trace::Op& op = trace.ops[id];
        if (op.kind != trace::OpKind::collective && op.kind != trace::OpKind::unknown && op.measured_us &&
            op.integer("kernels", 1) == 1)
            alike[{describe_op(trace, op), op.kernel_name}].push_back(id);
    }
    std::size_t count = 0;
    double alone = 0, recorded = 0, model = 0;
    for (const auto& [key, ops] : alike) {
        std::vector<double> times;
        for (const trace::OpId id : ops)
            if (trace.ops[id].integers("beside").empty()) times.push_back(*trace.ops[id].measured_us);
        if (times.size() < 3) continue;
        std::sort(times.begin(), times.end());
        const double median = times[times.size() / 2];
        if (median > 15) continue;  // short ones: what they wait for at their end is what differs
        KernelResult one;
        one.time_us = median;
        one.waves = 0;
        for (const trace::OpId id : ops) {
            if (trace.ops[id].integers("beside").empty()) continue;
            ++count;
            alone += median;
            recorded += *trace.ops[id].measured_us;
            model += neighbours.time_beside(id, {&one});
        }
    }
    INFO(count << " ops: alone " << alone << " us, recorded beside " << recorded << " us, model " << model);
    CHECK(count > 1000);
    CHECK(recorded > 1.5 * alone);
    // Without what runs beside them the model would be that far off; with it most of that is explained.
    CHECK(std::abs(model - recorded) < 0.35 * (recorded - alone));
}
