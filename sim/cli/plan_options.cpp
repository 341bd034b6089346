#include "sim/cli/plan_options.h"

#include <CLI/CLI.hpp>

#include "sim/cli/bytes_option.h"

namespace heddle::cli {

void add_plan_options(CLI::App& command, PlanOptions& o) {
    const char* group = "Many devices";
    const auto number = [&](const char* name, std::int64_t& value, const char* meaning) {
        command.add_option(name, value, meaning)->type_name("N")->capture_default_str()->group(group);
    };
    command
        .add_option(
            "--cluster", o.cluster,
            "simulate a step on many devices of a cluster (`heddle cluster list`) or of a cluster file")
        ->type_name("NAME")
        ->group(group);
    command.add_option("--nodes", o.nodes, "of the cluster (default: as many as the plan needs)")
        ->type_name("N")
        ->group(group);
    command
        .add_option("--cluster-set", o.cluster_settings,
                    "change a key of the cluster file: nic.bandwidth='50 GB/s'")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->group(group);
    number("--tensor", o.plan.tensor, "devices that share every layer (Megatron-LM)");
    number("--pipeline", o.plan.pipeline, "stages of consecutive layers");
    number("--expert", o.plan.expert,
           "devices, of those with different data, that share the experts of mixtures");
    command
        .add_option("--expert-skew", o.plan.expert_skew,
                    "the r-th most popular expert is chosen in proportion to r^-SKEW (default 0: all alike)")
        ->type_name("SKEW")
        ->group(group);
    number("--context", o.plan.context, "devices that share every sequence");
    command
        .add_option("--context-exchange", o.context_exchange,
                    "keys and values: ring (default; beside attention) or all-gather (before it)")
        ->check(CLI::IsMember({"ring", "all-gather"}))
        ->group(group);
    number("--micro-batch", o.plan.micro_batch, "sequences of a micro-batch");
    number("--micro-batches", o.plan.micro_batches, "of one device in a step");
    number("--chunks", o.plan.chunks, "of layers for each stage, interleaved");
    command
        .add_option("--pipeline-schedule", o.schedule, "gpipe, 1f1b (default), interleaved or zero-bubble")
        ->type_name("NAME")
        ->group(group);
    command
        .add_option("--data-parallel", o.data_parallel,
                    "all-reduce (default), parameter-server, asynchronous or local-sgd")
        ->type_name("NAME")
        ->group(group);
    number("--local-steps", o.plan.local_steps, "local SGD: steps between two averages of weights");
    number("--servers", o.plan.servers, "parameter servers");
    command
        .add_option("--zero", o.plan.zero,
                    "1 shares the optimizer's state, 2 gradients too, 3 weights too (FSDP)")
        ->type_name("0-3")
        ->group(group);
    number("--prefetch", o.plan.prefetch, "ZeRO 3: blocks whose weights are gathered ahead");
    command
        .add_flag("--sequence-parallel", o.plan.sequence_parallel, "with --tensor: tokens are shared as well")
        ->group(group);
    command.add_flag("--offload-optimizer", o.plan.offload_optimizer, "state and update on the host")
        ->group(group);
    command.add_option("--recompute", o.recompute, "none (default), selective or full")
        ->type_name("WHAT")
        ->group(group);
    add_bytes_option(command, "--bucket", o.plan.bucket_bytes,
                     "gradients that are sent together (default: 25MiB, as PyTorch)")
        ->group(group);
    command.add_flag("--no-overlap", o.no_overlap, "gradients are sent after the backward pass")
        ->group(group);
    command.add_flag("--no-fold", o.no_fold, "simulate every device, also those that do the same")
        ->group(group);
    command
        .add_option("--kernels", o.kernels,
                    "closed-form (GPUs; default there), or simulated: cycle by cycle, kept on disk")
        ->check(CLI::IsMember({"closed-form", "simulated"}))
        ->group(group);
}

}  // namespace heddle::cli
