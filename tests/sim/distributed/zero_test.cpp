// ZeRO, FSDP's prefetch and the optimizer on the host: volumes, memory and times against closed forms, alone
// and in pipelines, and what is refused.
#include <catch2/catch.hpp>

#include "equal_parts.h"
#include "ideal_network.h"
#include "isa/common/error.h"
#include "workloads/parallel/pipeline.h"

using namespace heddle;
using namespace heddle::sim;
using parallel::DataParallel;
using parallel::ParallelPlan;
using parallel::PipelineSchedule;

namespace {

double seconds_of(const TimedStep& step, const ParallelPlan& plan, const DeviceNetwork& network,
                  const HostConfig& host = {}) {
    return simulate_devices(machine_of(step, plan, host), network).seconds;
}

double sent(const DeviceProgram& program, Exchange kind, double devices) {
    double bytes = 0;
    for (const Work& work : program.work)
        if (work.collective && work.purpose == Purpose::data && work.kind == kind)
            bytes += bytes_sent(work.kind, work.bytes, devices) * work.repeats;
    return bytes;
}

std::string refusal(const ParallelPlan& plan) {
    try {
        parallel::check(plan);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE(
    "ZeRO 3 in a pipeline gathers a stage's weights twice and sends its gradients once for a micro-batch") {
    const double weights = 1.6e9, n = 4, part = (n - 1) / n;
    for (const std::int64_t p : {1, 2, 4}) {
        for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_forward_one_back,
                                    PipelineSchedule::interleaved, PipelineSchedule::zero_bubble}) {
            ParallelPlan plan;
            plan.data = static_cast<std::int64_t>(n);
            plan.pipeline = p;
            plan.micro_batches = 8;
            plan.schedule = schedule;
            plan.zero = 3;
            if (schedule == PipelineSchedule::interleaved && p > 1) plan.chunks = 2;
            parallel::check(plan);
            INFO(parallel::describe(plan));
            const TimedStep step = equal_parts(16, plan, weights / 16);
            const double stage = weights / static_cast<double>(p);
            for (std::int64_t s = 0; s < p; ++s) {
                const DeviceProgram program = program_of(step, plan, {}, s);
                CHECK(sent(program, Exchange::all_gather, n) == Approx(8 * 2 * 2 * stage * part));
                CHECK(sent(program, Exchange::reduce_scatter, n) == Approx(8 * 2 * stage * part));
                CHECK(sent(program, Exchange::all_reduce, n) == 0);
                // Shares of weights, of gradients in 32 bits and of the optimizer's state; two parts
                // gathered.
                const StageMemory memory = memory_of(step, plan, s);
                CHECK(memory.weights + memory.gradients + memory.optimizer ==
                      Approx((2 + 4 + 12) * stage / n));
                CHECK(memory.workspace == Approx(2 * 2 * weights / 16));
            }
            // Where messages take no time the pipeline's bubble is left.
            const double ideal = 8.0 * 3 * 16 / static_cast<double>(p);
            CHECK(seconds_of(step, plan, IdealNetwork(0, 0)) ==
                  Approx(ideal * (1 + parallel::ideal_bubble(plan))).epsilon(1e-12));
        }
    }
}

TEST_CASE("FSDP: without prefetch every gather is waited for, with it the first alone") {
    ParallelPlan plan;
    plan.data = 2;
    plan.zero = 3;
    const std::size_t parts = 6;
    const double weights = 6e8, count = static_cast<double>(parts);
    const TimedStep step = equal_parts(parts, plan, weights / count);
    for (const double each : {0.25, 1.0}) {
        // A gather of one part sends half of its 16-bit weights, as a reduce-scatter does of its gradients.
        const IdealNetwork network(0, weights / count / each);
        INFO(each << " s for a gather");
        plan.prefetch = 0;
        CHECK(seconds_of(step, plan, network) == Approx(count * (3 + 3 * each)));
        for (const std::int64_t prefetch : {1, 2, 5}) {
            plan.prefetch = prefetch;
            // The first gather, all passes, the last gradients.
            if (prefetch == 1 || each < 1)
                CHECK(seconds_of(step, plan, network) == Approx(3 * count + 2 * each));
            CHECK(memory_of(step, plan, 0).workspace ==
                  Approx(2 * weights / count * static_cast<double>(prefetch + 1)));
        }
    }
    // The limit: never more parts than prefetch + 1, though the network were quick.
    plan.prefetch = 1;
    const ManyDevices machine = machine_of(step, plan, {});
    const ManyDevicesResult run = simulate_devices(machine, IdealNetwork(0, 1e12));
    const std::vector<Work>& work = machine.programs[0]->work;
    std::vector<double> gathers, passes;
    for (std::size_t i = 0; i < work.size(); ++i) {
        if (work[i].collective && work[i].kind == Exchange::all_gather)
            gathers.push_back(run.spans[0][i].start);
        if (work[i].lane == Lane::compute && work[i].purpose == Purpose::compute && work[i].seconds > 0)
            passes.push_back(run.spans[0][i].end);
    }
    REQUIRE(gathers.size() == 2 * parts);
    for (std::size_t i = 2; i < parts; ++i) CHECK(gathers[i] >= passes[i - 2]);
}

TEST_CASE("An optimizer on the host: gradients down, the update at the host's rate, weights up") {
    HostConfig host;
    host.link = 10e9;
    host.memory_bandwidth = 100e9;
    const double weights = 2e9;
    for (const std::int64_t n : {1, 2, 8}) {
        for (const int zero : {0, 1, 2}) {
            ParallelPlan plan;
            plan.data = n;
            plan.zero = zero;
            plan.offload_optimizer = true;
            // On the device the update takes 7 s for each part, which nobody does now.
            const TimedStep step = equal_parts(4, plan, weights / 4, 7);
            const double own = weights / (zero > 0 ? static_cast<double>(n) : 1);
            INFO(n << " devices, ZeRO " << zero);
            CHECK(seconds_of(step, plan, IdealNetwork(0, 0), host) ==
                  Approx(4 * 3 + 2 * own / 10e9 + 28 * own / 100e9 + 2 * own / 10e9));
            // Ren et al., 2021: 16-bit weights and gradients stay on the device.
            const double gradients = zero == 2 ? own : weights;
            CHECK(memory_of(step, plan, 0).total() == Approx(2 * weights + 2 * gradients));
        }
    }
}

TEST_CASE("Plans that do not fit together are refused in one line that says why") {
    struct Case {
        const char* what;
        void (*change)(ParallelPlan&);
        const char* why;
    };
    const Case cases[] = {
        {"ZeRO with a parameter server",
         [](ParallelPlan& p) { p.zero = 2, p.data_parallel = DataParallel::parameter_server; },
         "the servers hold it already"},
        {"ZeRO with local SGD",
         [](ParallelPlan& p) { p.zero = 1, p.data_parallel = DataParallel::local_sgd; },
         "every device has a state of its own"},
        {"a parameter server with a pipeline",
         [](ParallelPlan& p) { p.pipeline = 2, p.data_parallel = DataParallel::asynchronous; },
         "a stage of a pipeline holds a part"},
        {"an optimizer on the host with a parameter server",
         [](ParallelPlan& p) {
             p.offload_optimizer = true, p.data_parallel = DataParallel::parameter_server;
         },
         "updates the weights already"},
        {"interleaved stages",
         [](ParallelPlan& p) {
             p.pipeline = 4, p.micro_batches = 6, p.schedule = PipelineSchedule::interleaved;
         },
         "6 is no multiple of the 4 stages"},
        {"experts", [](ParallelPlan& p) { p.data = 6, p.expert = 4; }, "4 does not divide --data 6"},
        {"sequence parallelism alone", [](ParallelPlan& p) { p.sequence_parallel = true; }, "tensor group"},
        {"ZeRO 4", [](ParallelPlan& p) { p.zero = 4; }, "is 0, 1, 2 or 3"},
        {"a negative prefetch", [](ParallelPlan& p) { p.zero = 3, p.prefetch = -1; }, "must not be negative"},
        {"no stage", [](ParallelPlan& p) { p.pipeline = 0; }, "at least 1"},
    };
    for (const Case& each : cases) {
        ParallelPlan plan;
        each.change(plan);
        const std::string text = refusal(plan);
        INFO(each.what << ": " << text);
        CHECK_THAT(text, Catch::Contains(each.why) && Catch::StartsWith("--"));
        CHECK(text.find('\n') == std::string::npos);
    }
    ParallelPlan all;
    all.data = all.tensor = all.pipeline = all.context = 2;
    all.micro_batches = 4;
    all.zero = 3;
    all.offload_optimizer = true;
    CHECK(refusal(all).empty());
}
