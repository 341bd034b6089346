// Steps of many devices on an ideal network against what the literature's formulas say.
#include <catch2/catch.hpp>

#include "equal_parts.h"
#include "ideal_network.h"
#include "isa/common/error.h"
#include "sim/distributed/cluster_network.h"
#include "sim/distributed/step_programs.h"
#include "workloads/parallel/pipeline.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::sim;
using parallel::ParallelPlan;
using parallel::PipelineSchedule;

namespace {

double seconds_of(const TimedStep& step, const ParallelPlan& plan, const DeviceNetwork& network) {
    return simulate_devices(machine_of(step, plan, {}), network).seconds;
}

double sent_by_first(const TimedStep& step, const ParallelPlan& plan, Purpose purpose) {
    const DeviceProgram program = program_of(step, plan, {}, 0);
    double bytes = 0;
    for (const Work& work : program.work)
        if (work.collective && work.purpose == purpose)
            bytes += bytes_sent(work.kind, work.bytes, static_cast<double>(plan.data)) * work.repeats;
    return bytes;
}

}  // namespace

TEST_CASE("Pipelines idle for (p - 1) / m of the ideal time, less when interleaved or without bubbles") {
    const IdealNetwork instant(0, 0);
    for (const std::int64_t p : {1, 2, 4, 8}) {
        for (const std::int64_t m : {8, 16, 32}) {
            for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_forward_one_back,
                                        PipelineSchedule::interleaved, PipelineSchedule::zero_bubble}) {
                ParallelPlan plan;
                plan.pipeline = p;
                plan.micro_batches = m;
                plan.schedule = schedule;
                if (schedule == PipelineSchedule::interleaved && p > 1) plan.chunks = 2;
                const TimedStep step = equal_parts(16, plan);
                const double ideal = static_cast<double>(m) * 3 * 16 / static_cast<double>(p);
                const double bubble = parallel::ideal_bubble(plan);
                INFO(parallel::describe(plan));
                CHECK(seconds_of(step, plan, instant) == Approx(ideal * (1 + bubble)).epsilon(1e-12));
            }
        }
    }
}

TEST_CASE("The pipeline's formulas are the published ones") {
    ParallelPlan plan;
    plan.pipeline = 8;
    plan.micro_batches = 32;
    CHECK(parallel::ideal_bubble(plan) == 7.0 / 32);
    CHECK(parallel::held_micro_batches(plan, 0) == 8);
    CHECK(parallel::held_micro_batches(plan, 7) == 1);
    plan.schedule = PipelineSchedule::gpipe;
    CHECK(parallel::held_micro_batches(plan, 0) == 32);
    plan.schedule = PipelineSchedule::interleaved;
    plan.chunks = 4;
    CHECK(parallel::ideal_bubble(plan) == 7.0 / 32 / 4);
    // Narayanan et al., 2021: 1 + (p - 1) / (p v) of 1F1B's memory.
    CHECK(parallel::held_micro_batches(plan, 0) <= 8 * (1 + 7.0 / (8 * 4)) + 1.0 / 4);
}

TEST_CASE("Collectives on an ideal network take the closed forms' time") {
    const double latency = 1e-6, bandwidth = 1e9, bytes = 64e6;
    const IdealNetwork network(latency, bandwidth);
    for (const std::uint32_t n : {2u, 4u, 8u, 1000u}) {
        DeviceGroup group{DeviceList(n), nullptr, 0};
        const double part = (n - 1.0) / n;
        CHECK(network.seconds(Exchange::all_reduce, bytes, group) ==
              Approx(2 * (n - 1.0) * latency + 2 * part * bytes / bandwidth).epsilon(1e-12));
        CHECK(network.seconds(Exchange::reduce_scatter, bytes, group) +
                  network.seconds(Exchange::all_gather, bytes, group) ==
              Approx(network.seconds(Exchange::all_reduce, bytes, group)).epsilon(1e-12));
    }
}

TEST_CASE("ZeRO sends what its paper says: 2 of the weights at stages 1 and 2 as without, 3 at stage 3") {
    for (const std::int64_t n : {2, 8, 64}) {
        ParallelPlan plan;
        plan.data = n;
        const double weights = 1e9, part = (n - 1.0) / n;
        const TimedStep step = equal_parts(4, plan, weights / 4);
        const double one = 2 * weights * part;
        CHECK(sent_by_first(step, plan, Purpose::data) == Approx(2 * one));
        for (const int zero : {1, 2, 3}) {
            plan.zero = zero;
            CHECK(sent_by_first(step, plan, Purpose::data) == Approx(zero == 3 ? 3 * one : 2 * one));
        }
        // Rajbhandari et al., 2020: 16 bytes for a weight; 4 + 12/n, 2 + 14/n and 16/n with stages 1, 2, 3.
        const double expected[] = {16, 4 + 12.0 / n, 2 + 14.0 / n, 16.0 / n};
        for (const int zero : {0, 1, 2, 3}) {
            plan.zero = zero;
            const StageMemory memory = memory_of(step, plan, 0);
            CHECK(memory.total() - memory.workspace == Approx(expected[zero] * weights));
            // Beside its share a device holds what it has gathered: a part in use and one ahead, of four.
            CHECK(memory.workspace == Approx(zero == 3 ? 2 * weights * 2 / 4 : 0));
        }
    }
}

TEST_CASE("Gradients are sent beside the backward pass, what does not fit beside it is exposed") {
    ParallelPlan plan;
    plan.data = 2;
    const double weights = 1e8;
    plan.bucket_bytes = 2 * weights / 4;  // a part's
    const TimedStep step = equal_parts(4, plan, weights / 4);
    // A part's all-reduce of two devices: 0.5e8 bytes sent by each.
    for (const double rate : {1e8, 1e7}) {
        const double each = 2 * weights / 4 / rate;
        const double expected = each <= 2 ? 4 + 8 + each : 4 + 2 + 4 * each;
        CHECK(seconds_of(step, plan, IdealNetwork(0, rate)) == Approx(expected));
    }
    plan.overlap = false;
    CHECK(seconds_of(step, plan, IdealNetwork(0, 1e8)) == Approx(12 + 2 * weights / 1e8));
}

TEST_CASE("Folding finds the roles and changes nothing") {
    const Cluster cluster =
        load_cluster("dgx-a100", {"nodes=6", "devices_per_node=4", "nic.count=4", "fat_tree.leaf_nodes=2"});
    const ClusterNetwork network(cluster);
    for (const auto schedule : {PipelineSchedule::one_forward_one_back, PipelineSchedule::interleaved,
                                PipelineSchedule::zero_bubble}) {
        ParallelPlan plan;
        plan.data = 3;
        plan.tensor = 2;
        plan.pipeline = 4;
        plan.micro_batches = 8;
        plan.schedule = schedule;
        if (schedule == PipelineSchedule::interleaved) plan.chunks = 2;
        const TimedStep step = equal_parts(16, plan, 1000, 0.5);
        ManyDevices machine = machine_of(step, plan, {});
        find_neighbours(machine, network);
        const ManyDevices folded = fold(machine, network);
        // Every device, and every group's messages by themselves.
        const ManyDevicesResult whole = simulate_devices(machine, ClusterNetwork(cluster, false));
        const ManyDevicesResult once = simulate_devices(folded, network);
        CHECK(once.seconds == whole.seconds);
        CHECK(machine.devices.size() == 24);
        CHECK(folded.devices.size() < 24);
        CHECK(folded.devices.size() >= 4);
        double devices = 0;
        for (const double count : folded.stands_for) devices += count;
        CHECK(devices == 24);
        for (const DeviceAccount& account : whole.devices) {
            double sum = account.bubble;
            for (std::size_t i = 0; i < kPurposes; ++i) sum += account.busy[i] + account.exposed[i];
            CHECK(sum == Approx(whole.seconds));
        }
    }
}

TEST_CASE("A device that differs is not folded with the others") {
    ParallelPlan plan;
    plan.data = 8;
    const TimedStep step = equal_parts(2, plan, 1000);
    ManyDevices machine = machine_of(step, plan, {});
    const IdealNetwork network(1e-3, 1e6);
    CHECK(fold(machine, network).devices.size() == 1);
    auto slow = std::make_shared<DeviceProgram>(*machine.programs[0]);
    slow->work[0].seconds *= 2;
    machine.programs.push_back(slow);
    machine.devices[5].program = 1;
    const ManyDevices folded = fold(machine, network);
    CHECK(folded.devices.size() == 2);
    CHECK(simulate_devices(folded, network).seconds == simulate_devices(machine, network).seconds);
}

TEST_CASE("Tensor parallelism: Megatron's collectives, and every device has its part") {
    const auto built = [](const std::string& tensor, const std::string& sequence,
                          const std::string& recompute) {
        return zoo::build("gpt2-small", {{"layers", "2"},
                                         {"batch", "1"},
                                         {"sequence", "128"},
                                         {"parts", "1"},
                                         {"tensor", tensor},
                                         {"sequence_parallel", sequence},
                                         {"recompute", recompute}});
    };
    const parallel::PartedStep whole = parallel::part_step(built("1", "0", "none"));
    const parallel::PartedStep part = parallel::part_step(built("4", "0", "none"));
    // Embedding, two blocks, head.
    REQUIRE(whole.parts.size() == 4);
    REQUIRE(part.parts.size() == 4);
    CHECK(whole.parts[1].key == whole.parts[2].key);
    CHECK(whole.parts[1].parameter_count == 12 * 768 * 768 + 13 * 768);
    // Norms and biases after the second product are everybody's: 6 d; 7 d are shared.
    CHECK(part.parts[1].parameter_count == 12 * 768 * 768 / 4 + 7 * 768 / 4 + 6 * 768);
    CHECK(whole.shared_parameters.at(3) == 50257 * 768);
    CHECK(whole.parts[1].result_bytes == 128 * 768 * 2);
    const auto collectives = [](const trace::Trace& trace, const std::vector<parallel::Segment>& segments,
                                const std::string& kind) {
        double bytes = 0;
        for (const parallel::Segment& segment : segments)
            if (segment.collective && trace.ops[segment.ops[0]].get(keys::collective.collective) == kind)
                bytes += static_cast<double>(trace.ops[segment.ops[0]].get(keys::collective.bytes));
        return bytes;
    };
    const double activation = 128 * 768 * 2;
    const trace::Trace plain = built("4", "0", "none");
    CHECK(collectives(plain, part.parts[1].forward, "all_reduce") == 2 * activation);
    CHECK(collectives(plain, part.parts[1].backward, "all_reduce") == 2 * activation);
    const trace::Trace again = built("4", "0", "full");
    CHECK(collectives(again, parallel::part_step(again).parts[1].backward, "all_reduce") == 4 * activation);
    const trace::Trace sequence = built("4", "1", "none");
    const parallel::PartedStep split = parallel::part_step(sequence);
    CHECK(collectives(sequence, split.parts[1].forward, "all_gather") == 2 * activation);
    CHECK(collectives(sequence, split.parts[1].forward, "reduce_scatter") == 2 * activation);
    CHECK(split.parts[1].result_bytes == activation / 4);
    CHECK_THROWS_AS(built("5", "0", "none"), Error);
}

TEST_CASE("Activations of a block: 34 bytes for each token and unit, and 5 heads' worth of scores") {
    // Korthikanti et al., 2022, equation 1, without the dropout of hidden states (2 masks of 1 byte and no
    // more): one device, 16 bits, composed attention.
    const auto kept = [](const std::string& sequence, const std::string& recompute) {
        const trace::Trace trace = zoo::build("gpt2-small", {{"layers", "3"},
                                                             {"batch", "1"},
                                                             {"sequence", sequence},
                                                             {"parts", "1"},
                                                             {"attention", "composed"},
                                                             {"dropout", "0.1"},
                                                             {"recompute", recompute}});
        return parallel::part_step(trace).parts[1].kept_bytes;
    };
    const double s = 512, h = 768, a = 12;
    const double expected = s * h * (34 + 5 * a * s / h);
    CHECK(kept("512", "none") == Approx(expected).epsilon(0.12));
    CHECK(kept("512", "full") == Approx(2 * s * h).epsilon(0.02));
}
