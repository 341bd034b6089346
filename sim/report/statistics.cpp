#include "sim/report/statistics.h"

#include <fmt/format.h>

namespace heddle::sim {
namespace {

StatisticGroup run_group() {
    return {
        "run",
        "The step",
        "`summary.json`; the first ones also in table `run` of `stats.sqlite`",
        {
            {"workload", "", "What was simulated."},
            {"hardware", "", "The device's name."},
            {"schema", "", "The version of the names that all results have: docs/results.schema.json."},
            {"command", "", "What gave the result."},
            {"time_us", "us", "The answer, as in every result: here the step."},
            {"cycles", "", "Of all kernels that were simulated."},
            {"energy_j", "J", "Of the simulated kernels together."},
            {"modules[].name", "", "A module of the model, where kernels have one."},
            {"modules[].kernels", "", "How many."},
            {"modules[].time_us", "us", "Of its kernels, each alone on the device."},
            {"modules[].forward_us", "us", "Of that, forward."},
            {"modules[].backward_us", "us", "Of that, backward."},
            {"modules[].optimizer_us", "us", "Of that, the update."},
            {"modules[].other_us", "us", "Of that, communication and what has no phase."},
            {"step_time_us", "us", "From the host's first work to the end of the last: the answer."},
            {"device_busy_us", "us",
             "Kernels and copies without communication, added up as a profiler counts them."},
            {"launch_gap_us", "us", "Nothing runs, and a kernel is being started."},
            {"communication_us", "us", "Collectives: their recorded time, or nothing on one device."},
            {"division.kernels_us", "us", "Part of the step time: kernels run, and nothing else counts."},
            {"division.communication_us", "us", "Part of the step time: only communication goes on."},
            {"division.copies_us", "us", "Part of the step time: only copies to or from the host go on."},
            {"division.gaps_us", "us", "Part of the step time: a kernel is being started."},
            {"division.waiting_for_host_us", "us",
             "Part of the step time: the device has nothing to do, since the host has not handed out the "
             "next "
             "kernel."},
            {"division.overlapped_us", "us",
             "Work that ran beside other work: no part of the step time, which it would have prolonged."},
            {"division.host", "",
             "How the host hands out kernels: `eager`, one after the other; `graph`, all at once; "
             "`recorded`."},
            {"clock_hz", "Hz", "GPU: clock of the SMs, settled by the governor for this step."},
            {"energy.joules.<energy>", "J", "Energy of the simulated kernels, by where it went."},
            {"energy.of_time_us", "us",
             "Time of the kernels that the energy counts; mean power is their quotient."},
            {"energy.mean_watts", "W", "Mean power while these kernels run."},
            {"energy.limit_watts", "W", "What the board may draw: `power.limit`."},
            {"energy.above_limit", "",
             "Whether the mean is above it, so that a board would lower its clock."},
            {"coverage.cycle", "share",
             "Of the time of all ops: executed by the device model, cycle by cycle."},
            {"coverage.estimated", "share", "Of that time: from a declared formula."},
            {"coverage.unknown", "share", "Of that time: not understood; the recorded time stands in."},
            {"incomplete.reason", "",
             "Only where ops are not understood and have no recorded time: the step takes longer than this."},
            {"incomplete.ops[].name", "", "Such an op; of a loop it says which turns are missing."},
            {"incomplete.ops[].count", "", "How often."},
            {"measured", "", "Null, or, of a recorded step, what follows."},
            {"measured.total_us", "us", "Kernels as recorded, without communication."},
            {"measured.weighted_error", "share",
             "Differences between simulated and recorded kernels without their signs, over the recorded "
             "time."},
            {"measured.simulated_share", "share",
             "Part of that time whose kernels were simulated cycle by cycle: what the comparison rests on."},
            {"measured.simulated_recorded_us", "us", "Those kernels as recorded."},
            {"measured.simulated_us", "us", "Those kernels as simulated."},
            {"sampled.error_us", "us", "With `--sample`: device_busy_us may be wrong by this much."},
            {"sampled.simulated", "share",
             "With `--sample`: part of the kernels' cycles that was simulated."},
            {"roofline.rates.<axis>.achieved", "unit/s", "Of the whole step, over the device's busy time."},
            {"roofline.rates.<axis>.ceiling", "unit/s",
             "What the device could do, for the mix that was done."},
            {"roofline.rates.<axis>.unit", "", "`FLOP/s` or `B/s`."},
            {"roofline.flop_per_byte", "FLOP/B", "Intensity: operations for each byte of memory traffic."},
            {"roofline.flop_per_s", "FLOP/s", "Achieved."},
            {"roofline.roof_flop_per_s", "FLOP/s", "The roof over that intensity."},
            {"roofline.nearest_ceiling", "", "The axis that comes nearest to its ceiling."},
            {"memory.capacity", "bytes", "Device memory."},
            {"memory.peak", "bytes", "Held at the worst moment, everything included."},
            {"memory.fits", "", "Whether the peak is within the capacity; exit code 4 where it is not."},
            {"memory.peak_op", "", "The op at the peak."},
            {"memory.at_peak.<memory>", "bytes", "What holds memory at the peak."},
            {"memory.over_time[].start_us", "us", "A point of the curve."},
            {"memory.over_time[].<memory>", "bytes", "Held from then on."},
            {"numerics.data", "", "With `--numerics`: the data set, or empty for one batch in every step."},
            {"numerics.resumed_at", "", "Steps that an earlier run had done."},
            {"numerics.weights", "", "Hash of all parameters' bits at the end."},
            {"numerics.device_loss[]", "", "Loss of each step on the device."},
            {"numerics.reference_loss[]", "", "Of the reference in double precision."},
            {"numerics.loss_error", "", "Worst relative difference of a loss within a step."},
            {"numerics.loss_error_bound", "", "What the number formats allow."},
            {"numerics.gradient_error", "", "Worst |g - g_reference| of a parameter over |whole g|."},
            {"numerics.gradient_error_bound", "", "What the number formats allow."},
            {"numerics.worst_gradient", "", "The parameter with it."},
            {"numerics.weight_error", "", "Worst difference of an update with the device's own gradients."},
            {"numerics.weight_error_bound", "", "What the number formats allow."},
            {"numerics.worst_parameter", "", "The parameter with it."},
            {"numerics.drift", "",
             "|w - w_reference| / |w_reference| after all steps: two trainings that round differently drift "
             "apart."},
            {"simulation.wall_s", "s", "What the simulation itself took."},
            {"simulation.processor_s", "s", "Of the workers together."},
            {"simulation.workers", "", "Processes, or threads of one, that simulated."},
            {"simulation.kernels_simulated", "", "Distinct programs; the others were known."},
            {"simulation.warp_instructions", "", "Simulated, GPU."},
            {"simulation.tpu_cycles", "", "Simulated, TPU."},
            {"simulation.tilings_searched", "", "TPU: tilings that were not known from earlier runs."},
            {"simulation.schedule", "", "Whether PTX went through the pass that stands in for ptxas."},
        }};
}

StatisticGroup op_group() {
    return {
        "op",
        "Ops",
        "`summary.json`, in `ops`; table `ops` of `stats.sqlite`: ops of one name, kind and phase, added up",
        {
            {"name", "", "What it computes, with its shapes."},
            {"kind", "", "Kind of op: matmul, elementwise, ..."},
            {"phase", "", "forward, backward or update."},
            {"count", "", "How often."},
            {"time_us", "us", "Simulated, all together."},
            {"measured_us", "us", "Recorded, all together; only where each one was recorded."},
            {"flops", "FLOP", "Useful floating-point operations, all together."},
            {"bytes", "bytes", "Of the distinct operands, all together."},
            {"bound_by", "", "The resource that limits it, or latency or launch."},
            {"fidelity", "", "`cycle`, `estimated` or `unknown`."},
        }};
}

StatisticGroup kernel_group() {
    return {"kernel",
            "Kernels",
            "`kernels.csv`, table `kernels` of `stats.sqlite`: every launch in the order of the step",
            {
                {"index", "", "Position in the step; `id` in the database."},
                {"name", "", "Entry of the program."},
                {"op", "", "The op that it carries out, or a part of it."},
                {"kind", "", "Kind of that op."},
                {"phase", "", "forward, backward or update."},
                {"recorded_kernel", "", "Name in the recording."},
                {"gap_us", "us", "Launch overhead before it that a profiler does not count."},
                {"start_us", "us", "In the step."},
                {"time_us", "us", "Alone on the device, but where `alone_us` says otherwise."},
                {"measured_us", "us", "Recorded; on an op's first kernel only where it became several."},
                {"cycles", "", "Of the SM's clock, or the TPU's; 0 where estimated."},
                {"warp_instructions", "", "GPU: PTX instructions of warps."},
                {"grid", "", "GPU: thread blocks, x by y by z; grid_x, grid_y, grid_z in the database."},
                {"block", "", "GPU: threads of a block; block_x, block_y, block_z in the database."},
                {"registers_per_thread", "", "GPU."},
                {"shared_bytes", "bytes", "GPU: shared memory of a thread block."},
                {"ctas_per_sm", "", "GPU: thread blocks that fit an SM."},
                {"dram_bytes", "bytes", "To and from device memory."},
                {"l2_bytes", "bytes", "GPU: asked of L2."},
                {"flops", "FLOP", "Useful floating-point operations."},
                {"bytes", "bytes", "Of the distinct operands."},
                {"bound_by", "", "The resource that limits it, or latency or launch."},
                {"fidelity", "", "`cycle`, `estimated` or `unknown`."},
                {"stream", "", "On which it runs."},
                {"launched_us", "us", "When the host had handed it out."},
                {"end_us", "us", "In the step; later than start and time where other work ran beside it."},
                {"turns", "", "Turns of a loop for which it stands: times and amounts are of all of them."},
                {"module", "", "The part of the model that it belongs to, where known: transformer.h.0.attn."},
                {"alone_us", "us", "Where kernels were simulated together: the time alone; `time_us` is that beside the others."},
                {"queued_us", "us", "There, before its start: it waited for places that thread blocks of others had."},
                {"time: <reason>", "share", "GPU: of the issue slots' cycles. They add up to 1."},
                {"time: <matrix>", "share", "TPU: of the matrix units' cycles. They add up to 1."},
                {"utilisation: <resource>", "share", "Of a resource, over the kernel's time."},
            }};
}

StatisticGroup distinct_kernel_group() {
    return {"distinct",
            "Distinct kernels",
            "`summary.json`, in `kernels`: each simulated program once",
            {
                {"name", "", "Entry of the program."},
                {"op", "", "The first op that it carries out."},
                {"time_us", "us", "Alone on the device."},
                {"time_by_reason.<reason>", "share", "GPU: of the issue slots' cycles. They add up to 1."},
                {"time_by_reason.<matrix>", "share", "TPU: of the matrix units' cycles. They add up to 1."},
                {"time_by_unit.matrix units.<matrix>", "share", "TPU: the same."},
                {"time_by_unit.<unit>.<state>", "share", "TPU: of that unit's cycles. They add up to 1."},
                {"roofline.rates.<axis>.achieved", "unit/s", "Of the kernel with its launch."},
                {"roofline.rates.<axis>.ceiling", "unit/s", "What the device could do at the clock that was simulated."},
                {"roofline.rates.<axis>.unit", "", "`FLOP/s` or `B/s`."},
                {"roofline.flop_per_byte", "FLOP/B", "Operations for each byte of memory traffic."},
                {"roofline.flop_per_s", "FLOP/s", "Achieved."},
                {"roofline.roof_flop_per_s", "FLOP/s", "The roof over that intensity."},
                {"roofline.nearest_ceiling", "", "The axis that comes nearest to its ceiling."},
                {"sampled.simulated", "share", "With `--sample`: part of its cycles that was simulated."},
                {"sampled.error", "share", "With `--sample`: its time may be wrong by this part."},
                {"sampled.note", "", "With `--sample`: what was left out, or why nothing was."},
            }};
}

StatisticGroup reason_group() {
    return {
        "reason",
        "Where the time of a GPU's issue slots goes",
        "`time_by_reason` of `summary.json`, `time:` columns of `kernels.csv`, table `kernel_time`: shares "
        "of all "
        "sub-cores' cycles, launch overhead included. Every cycle has exactly one reason, so they add up to "
        "1",
        {
            {"issued", "share", "An instruction issued."},
            {"memory", "share", "The warp that issues next waits for a result of memory."},
            {"fixed latency", "share",
             "It waits for a result of fixed latency, for a branch, or for the release of a barrier."},
            {"pipeline busy", "share", "Its operands are there, its pipeline is not."},
            {"load-store queue full", "share", "Its operands are there, the load-store unit has no room."},
            {"barrier", "share", "All warps wait at a barrier."},
            {"no warp", "share", "No warp is resident, and some were before: the SM has run out of work."},
            {"not launched", "share",
             "Nothing has been launched here: before the first warp, and around the thread blocks' run."},
            {"instruction fetch", "share", "The warp that issues next waits for an instruction cache."},
            {"constant cache", "share", "It waits for a constant that the cache of constants did not have."},
            {"register banks", "share", "Operands in one register bank hold the sub-core up."},
        }};
}

StatisticGroup matrix_group() {
    return {"matrix",
            "Where the time of a TPU's matrix units goes",
            "the same places of a TPU's run, in the terms of the TPU v1 paper (ISCA 2017, table 3)",
            {
                {"useful", "share", "Cells of the array with work: active, and used."},
                {"unused", "share", "Cells without work while the array is active."},
                {"weight stall", "share", "The next weights are not there."},
                {"weight shift", "share", "They are being shifted in."},
                {"RAW stall", "share", "Waits for results of the vector unit or of another matrix unit."},
                {"input stall", "share", "Waits for the host."},
                {"DMA wait", "share", "Waits for a transfer from or to device memory."},
                {"results", "share", "Waits for room in the accumulators, or for ports of on-chip memory."},
                {"no instruction", "share", "None is there for the array."},
            }};
}

StatisticGroup unit_group() {
    return {"unit",
            "Units of a TPU",
            "`time_by_unit` of `summary.json`; tracks of the timeline",
            {
                {"sequencer", "share", "Issues the program's instructions to the others."},
                {"vector unit", "share", "Elementwise work and reductions over sublanes and lanes."},
                {"transpose unit", "share", "Exchanges rows and columns of tiles."},
                {"DMA loads", "share", "Transfers to on-chip memory."},
                {"DMA stores", "share", "Transfers from it."},
                {"SparseCore loads", "share", "Rows by index, to on-chip memory."},
                {"SparseCore stores", "share", "Rows by index, from it."},
            }};
}

StatisticGroup state_group() {
    return {"state",
            "What a unit of a TPU does with a cycle",
            "`time_by_unit` of `summary.json`: what its next instruction waits for, or that it works",
            {
                {"working", "share", "It works."},
                {"no instruction", "share", "None is there."},
                {"RAW", "share", "A matrix unit or the vector unit has not written its operand yet."},
                {"DMA", "share", "A transfer has not brought or taken it yet."},
                {"input", "share", "The host has not delivered it yet."},
                {"sync flag", "share", "Another core has not signalled yet."},
                {"weights", "share", "The weight tile is not there yet."},
                {"weight shift", "share", "The weight tile is being shifted in."},
                {"accumulator", "share", "Results must be computed, or taken out, first."},
                {"on-chip memory", "share", "Other units use its ports."},
                {"outstanding transfers", "share", "As many transfers as possible are under way."},
                {"queue full", "share", "Sequencer: the queue of the unit that is to work is full."},
            }};
}

StatisticGroup resource_group() {
    return {"resource",
            "Resources",
            "`utilisation:` columns of `kernels.csv`, tables `kernel_utilisation` and `utilisation`, and "
            "`bound_by`, which "
            "may also be latency: none of them is busy for half the time",
            {
                {"tensor", "share", "GPU: tensor cores given work, of all sub-cores' cycles."},
                {"fp32", "share", "GPU: ports of the pipelines for f32."},
                {"issue", "share", "GPU: issue slots used."},
                {"shared memory", "share",
                 "GPU: data paths of L1 and shared memory, operand fetch of wgmma included."},
                {"l2 bandwidth", "share", "GPU: slices of L2 that serve."},
                {"dram bandwidth", "share", "GPU: bytes moved, of the memory's peak."},
                {"launch", "share", "GPU: launch overhead, of the kernel's time."},
                {"matrix unit", "share", "TPU: rows enter the arrays."},
                {"multiply-accumulates", "share", "TPU: useful ones, of all cells' cycles."},
                {"vector unit", "share", "TPU: the vector unit works."},
                {"hbm", "share", "TPU: the memory's bus moves bytes."},
            }};
}

StatisticGroup axis_group() {
    return {
        "axis",
        "Axes of the roofline",
        "`roofline.rates` of `summary.json`, `rates` of `heddle kernel --json`",
        {
            {"tensor", "FLOP", "Tensor cores; the ceiling is that of the types that were multiplied."},
            {"fp32", "FLOP",
             "CUDA cores: two operations a lane and instruction, as if each were a fused multiply-add."},
            {"l1 and shared", "B", "Data paths between registers and L1 or shared memory, by their cycles."},
            {"l2", "B", "Asked of L2."},
            {"dram", "B", "To and from device memory."},
        }};
}

StatisticGroup energy_group() {
    return {"energy",
            "Energy",
            "`energy` of `summary.json`, `energy_joules` of `heddle kernel --json`: see `power.*` in "
            "hardware files",
            {
                {"idle", "J", "Power of a board that does nothing, over the time."},
                {"leakage", "J", "Of the SMs, over the time."},
                {"active", "J", "What any running kernel draws more, over its time."},
                {"instructions", "J", "For each instruction, by its class."},
                {"tensor cores", "J", "For each multiply-accumulate, by its type."},
                {"shared memory and L1", "J", "For each byte."},
                {"L2 and crossbar", "J", "For each byte."},
                {"DRAM", "J", "For each byte."},
            }};
}

StatisticGroup memory_group() {
    return {"memory",
            "What holds device memory",
            "`memory` of `summary.json`, table `memory` of `stats.sqlite`",
            {
                {"weights", "bytes", "Parameters, and copies of them in other types."},
                {"gradients", "bytes", "Of parameters, as the optimizer reads them."},
                {"optimizer state", "bytes", "Moments and the like."},
                {"inputs", "bytes", "Inputs and labels."},
                {"activations", "bytes", "Results of ops, gradients of such results included."},
                {"other", "bytes", "From outside of the step, without a role."},
                {"workspace", "bytes", "Of kernels."},
                {"context", "bytes", "Of the driver: `host.context` of the hardware file."},
                {"fragmentation", "bytes", "An allowance for what the allocator cannot use."},
            }};
}

StatisticGroup launch_group() {
    return {"launch",
            "A kernel of one's own",
            "`heddle kernel --json`, in `launches`",
            {
                {"kernel", "", "Its entry."},
                {"grid[]", "", "Thread blocks, x, y, z."},
                {"block[]", "", "Threads of a block, x, y, z."},
                {"warp_instructions", "", "PTX instructions of warps."},
                {"registers_per_thread", "", "Allocated."},
                {"shared_bytes", "bytes", "Shared memory of a thread block."},
                {"cycles", "", "End to end, launch overhead included."},
                {"time_us", "us", "The same at the hardware file's clock."},
                {"ctas_per_sm", "", "Thread blocks that fit an SM."},
                {"occupancy_limit", "", "What limits them."},
                {"achieved_occupancy", "share",
                 "Resident warps, mean over SMs with work, of the SM's warp slots."},
                {"bound_by", "", "The resource that limits it, or latency or launch."},
                {"dram_bytes", "bytes", "To and from device memory."},
                {"l2_bytes", "bytes", "Asked of L2."},
                {"time_by_reason.<reason>", "share", "Of the issue slots' cycles."},
                {"utilisation.<resource>", "share", "Of a resource, over the kernel's time."},
                {"rates.<axis>.achieved", "unit/s", "Over the kernel's time."},
                {"rates.<axis>.ceiling", "unit/s", "What the device could do at the clock that was simulated."},
                {"rates.<axis>.unit", "", "`FLOP/s` or `B/s`."},
                {"energy_joules.<energy>", "J", "By where it went."},
                {"mean_power_watts", "W", "Of the board."},
                {"power_limit_watts", "W", "What the board may draw: `power.limit`."},
                {"above_power_limit", "", "Whether the mean is above it, so that a board would lower its clock."},
                {"pipeline_instructions.<pipeline>", "", "Issue slots, by the pipeline that they feed."},
            }};
}

StatisticGroup pipeline_group() {
    return {"pipeline",
            "Pipelines",
            "`pipeline_instructions` of `heddle kernel --json`",
            {
                {"fp32", "", "Additions, multiplications, comparisons of f32."},
                {"integer", "", "Integers, logic, moves, addresses."},
                {"fp64", "", "f64."},
                {"half", "", "Pairs of f16 and bf16."},
                {"special", "", "Reciprocals, roots, exponentials, conversions."},
                {"tensor", "", "Matrix instructions."},
                {"load/store", "", "Loads, stores, atomics, copies, in every state space."},
                {"branch", "", "Branches, calls, exits."},
                {"barrier", "", "Barriers."},
            }};
}

}  // namespace

const std::vector<StatisticGroup>& statistic_groups() {
    static const std::vector<StatisticGroup> groups = {
        run_group(),    op_group(),     kernel_group(), distinct_kernel_group(), reason_group(),
        matrix_group(), unit_group(),   state_group(),  resource_group(),        axis_group(),
        energy_group(), memory_group(), launch_group(), pipeline_group()};
    return groups;
}

std::string statistics_page() {
    std::string page =
        "# Statistics\n\nWhat every number of a result means. This page is what `heddle reference "
        "statistics` prints; a "
        "test holds it, and the files of a run, to the code. A word in `<angles>` stands for each name of a "
        "table below: "
        "`<reason>` for those of \"Where the time of a GPU's issue slots goes\". A share lies between 0 and "
        "1.\n";
    for (const StatisticGroup& group : statistic_groups()) {
        page += fmt::format("\n## {}\n\nIn {}.", group.title, group.where);
        bool named = false;
        for (const StatisticGroup& other : statistic_groups())
            for (const Statistic& statistic : other.statistics)
                named = named || statistic.name.find("<" + group.word + ">") != std::string::npos;
        if (named) page += fmt::format(" Elsewhere: `<{}>`.", group.word);
        page += "\n\n| name | unit | meaning |\n|---|---|---|\n";
        for (const Statistic& statistic : group.statistics)
            page += fmt::format("| `{}` | {} | {} |\n", statistic.name, statistic.unit, statistic.meaning);
    }
    return page;
}

}  // namespace heddle::sim
