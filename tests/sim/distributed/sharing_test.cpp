// Sequences and experts that devices share: the work and the messages add up to what the whole model does.
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "sim/distributed/distributed_step.h"
#include "sim/hardware/load_hardware.h"
#include "workloads/parallel/parts.h"
#include "workloads/zoo/network.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

trace::Trace gpt(const std::string& context, const std::string& exchange) {
    return zoo::build("gpt2-small", {{"layers", "2"},
                                     {"batch", "2"},
                                     {"sequence", "1024"},
                                     {"parts", "1"},
                                     {"context", context},
                                     {"context_exchange", exchange}});
}

double attention_operations(const trace::Trace& trace) {
    double operations = 0;
    for (const trace::Op& op : trace.ops)
        if (op.kind == trace::OpKind::attention || op.kind == trace::OpKind::attention_grad)
            operations += trace::floating_point_operations(trace, op);
    return operations;
}

double sent(const trace::Trace& trace, const std::string& kind) {
    double bytes = 0;
    for (const trace::Op& op : trace.ops)
        if (op.kind == trace::OpKind::collective && op.get(keys::collective.collective) == kind)
            bytes += static_cast<double>(op.get(keys::collective.bytes));
    return bytes;
}

}  // namespace

TEST_CASE("Causal attention over shared sequences is the whole model's, divided evenly") {
    const double whole = attention_operations(gpt("1", "ring"));
    for (const char* context : {"2", "4", "8"}) {
        for (const char* exchange : {"ring", "all-gather"}) {
            INFO(context << " devices, " << exchange);
            const trace::Trace part = gpt(context, exchange);
            part.check();
            CHECK(attention_operations(part) * std::stod(context) == Approx(whole).epsilon(2e-3));
        }
    }
}

TEST_CASE(
    "Keys and values go round once in the forward pass, once more with their gradients in the backward "
    "pass") {
    // 2 layers, 2 sequences, 768 wide, 2 bytes, keys and values.
    const double all = 2.0 * 2 * 1024 * 768 * 2 * 2;
    for (const double c : {2.0, 4.0, 8.0}) {
        const trace::Trace ring = gpt(std::to_string(static_cast<int>(c)), "ring");
        // c - 1 steps forward, c - 1 again backward, and c of gradients: the last brings them home.
        CHECK(sent(ring, "shift") == (3 * c - 2) * all / c);
        const trace::Trace gather = gpt(std::to_string(static_cast<int>(c)), "all-gather");
        CHECK(sent(gather, "all_gather") == 2 * all);
        CHECK(sent(gather, "reduce_scatter") == all);
    }
    CHECK_THROWS_AS(gpt("3", "ring"), Error);
    CHECK_THROWS_AS(zoo::build("bert-base", {{"context", "2"}}), Error);
}

TEST_CASE("A ring of keys and values hides behind attention where the network is quick enough") {
    parallel::ParallelPlan plan;
    plan.context = 4;
    plan.micro_batch = 2;
    const Hardware hardware = load_hardware("a100-sxm");
    ClosedForm times(hardware);
    const auto step = [&](const std::string& rate, bool ring) {
        plan.context_ring = ring;
        ClusterQuestion question;
        question.name = "ideal";
        question.overrides = {"inside.bandwidth=" + rate};
        return simulate_distributed("gpt2-small",
                                    {{"layers", "2"}, {"sequence", "8192"}, {"positions", "8192"}}, plan,
                                    cluster_for(question), hardware, times, {});
    };
    const auto exposed = [](const DistributedResult& result) {
        const auto i = static_cast<std::size_t>(Purpose::context);
        return result.stages.front().account.exposed[i] + result.stages.front().account.busy[i];
    };
    const DistributedResult quick = step("10 TB/s", true), slow = step("50 MB/s", true);
    CHECK(exposed(quick) < 0.01 * quick.seconds);
    // The rest is gradients, and waiting for neighbours.
    const DeviceAccount& account = slow.stages.front().account;
    double waiting = account.bubble;
    for (std::size_t purpose = 0; purpose < kPurposes; ++purpose) waiting += account.exposed[purpose];
    CHECK(waiting > 0.9 * slow.seconds);
    CHECK(exposed(slow) > 0.4 * slow.seconds);
    CHECK(quick.seconds < step("100 GB/s", false).seconds);
    CHECK(quick.stages.size() == 1);
}

TEST_CASE("Experts by popularity: what finds no slot, and the fullest device") {
    const zoo::ExpertLoad even = zoo::expert_load(8, 4, 0, 1.25);
    CHECK(even.dropped == 0);
    CHECK(even.slots == 1.25);
    CHECK(zoo::expert_load(8, 4, 0, 0).slots == Approx(1));
    // Two experts, the second half as popular: 2/3 and 1/3 of the tokens.
    const zoo::ExpertLoad two = zoo::expert_load(2, 2, 1, 1);
    CHECK(two.dropped == Approx(2.0 / 3 - 0.5));
    CHECK(zoo::expert_load(2, 2, 1, 0).slots == Approx(4.0 / 3));
    // All experts on one device: nobody is fuller than anybody.
    CHECK(zoo::expert_load(2, 1, 1, 0).slots == Approx(1));
}

TEST_CASE("A skew costs tokens where experts are limited, and time where they are not") {
    parallel::ParallelPlan plan;
    plan.data = plan.expert = 4;
    const Hardware hardware = load_hardware("a100-sxm");
    ClosedForm times(hardware);
    const auto step = [&](double skew, const std::string& capacity) {
        plan.expert_skew = skew;
        return simulate_distributed("switch-base-8", {{"layers", "2"}, {"capacity", capacity}}, plan,
                                    cluster_for("dgx-a100", 1), hardware, times, {});
    };
    const DistributedResult limited = step(0, "1.25"), skewed = step(1, "1.25");
    CHECK(limited.dropped == 0);
    CHECK(skewed.dropped == Approx(zoo::expert_load(8, 4, 1, 1.25).dropped));
    CHECK(skewed.seconds == limited.seconds);
    CHECK(step(1, "0").seconds > step(0, "0").seconds);
}

TEST_CASE("Gradients of experts are summed among those who hold the same experts") {
    parallel::ParallelPlan plan;
    plan.data = 8;
    plan.expert = 4;
    TimedStep step;
    TimedPart part;
    part.parameters = 1e6;
    part.expert_parameters = 9e5;
    step.parts = {part};
    step.chunks = {{0, 1}};
    for (const int zero : {0, 1, 2, 3}) {
        plan.zero = zero;
        const double n = plan.micro_batches > 1 ? 4 : 2;
        const auto of = [&](double bytes, int from) {
            return zero < from ? bytes * 1e6 : bytes * (1e5 / 8 + 9e5 / 2);
        };
        const StageMemory memory = memory_of(step, plan, 0);
        CHECK(memory.total() - memory.workspace == Approx(of(2, 3) + of(n, 2) + of(12, 1)));
        CHECK(memory.workspace == (zero == 3 ? 2e6 : 0));
        double sent = 0;
        for (const Work& work : program_of(step, plan, {}, 0).work)
            if (work.collective)
                sent += bytes_sent(work.kind, work.bytes, work.slot == Slot::expert_data ? 2 : 8);
        CHECK(sent == Approx((zero == 3 ? 3 : 2) * 2 * (1e5 * 7 / 8 + 9e5 / 2)));
    }
    const ManyDevices machine = machine_of(step, plan, {});
    for (const ManyDevices::Group& group : machine.groups)
        if (group.members.front().slot == Slot::expert_data) CHECK(group.members.size() == 2);
}

TEST_CASE("What a model does not share is refused, and a padded vocabulary is told") {
    const Hardware hardware = load_hardware("a100-sxm");
    ClosedForm times(hardware);
    parallel::ParallelPlan tensor, expert, context;
    tensor.tensor = 2;
    expert.data = expert.expert = 2;
    context.context = 2;
    const auto run = [&](const std::string& model, const parallel::ParallelPlan& plan) {
        return simulate_distributed(model, {}, plan, cluster_for("dgx-a100", 1), hardware, times, {});
    };
    CHECK_THROWS_WITH(run("resnet50", tensor), Catch::Contains("share"));
    CHECK_THROWS_WITH(run("gpt2-small", expert), Catch::Contains("share"));
    CHECK_THROWS_WITH(run("switch-base-8", context), Catch::Contains("share"));
    tensor.tensor = 3;
    const DistributedResult result = run("gpt2-small", tensor);
    REQUIRE(!result.notes.empty());
    // 50257 rows in 3 parts, each a multiple of 128: 131 tiles of 128.
    CHECK_THAT(result.notes.front(), Catch::Contains("50257 padded to 50304"));
}

TEST_CASE("A step without folding takes the same time, to the last bit") {
    const Hardware hardware = load_hardware("a100-sxm");
    ClosedForm times(hardware);
    struct Case {
        const char* model;
        void (*change)(parallel::ParallelPlan&);
    };
    const Case cases[] = {
        {"gpt2-small",
         [](parallel::ParallelPlan& p) { p.data = 4, p.tensor = 2, p.pipeline = 2, p.zero = 3; }},
        {"gpt2-small",
         [](parallel::ParallelPlan& p) {
             p.data = 2, p.pipeline = 8, p.schedule = parallel::PipelineSchedule::zero_bubble;
         }},
        {"gpt2-small", [](parallel::ParallelPlan& p) { p.data = 4, p.context = 4, p.zero = 1; }},
        {"switch-base-8", [](parallel::ParallelPlan& p) { p.data = 16, p.expert = 4; }},
    };
    for (const Case& each : cases) {
        parallel::ParallelPlan plan;
        plan.micro_batches = 4;
        each.change(plan);
        // Two of three nodes below one leaf switch: ways differ in length.
        ClusterQuestion question;
        question.name = "dgx-a100";
        question.overrides = {"nodes=3", "fat_tree.leaf_nodes=2"};
        const ClusterModel cluster = cluster_for(question);
        ModelOptions options;
        if (std::string(each.model) == "gpt2-small") options = {{"sequence", "256"}, {"layers", "8"}};
        DistributedOptions how;
        const DistributedResult folded =
            simulate_distributed(each.model, options, plan, cluster, hardware, times, how);
        how.fold = false;
        const DistributedResult whole =
            simulate_distributed(each.model, options, plan, cluster, hardware, times, how);
        INFO(parallel::describe(plan));
        CHECK(folded.seconds == whole.seconds);
        CHECK(folded.bubble == Approx(whole.bubble).epsilon(1e-12));
        CHECK(whole.stages.size() == static_cast<std::size_t>(plan.devices()));
        CHECK(folded.stages.size() < whole.stages.size());
        CHECK(folded.work_simulated < whole.work_simulated);
    }
}
