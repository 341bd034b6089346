#include "sim/kernel/report.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "sim/report/numbers.h"
#include "sim/report/text_table.h"
#include "sim/report/timeline.h"

namespace heddle::kernel {
namespace {

using Json = nlohmann::ordered_json;
using models::gpu::CycleReason;
using models::gpu::kCycleReasonCount;
using sim::fit_columns;
using sim::format_count;
using sim::format_share;

constexpr std::size_t kShownLaunches = 50;
constexpr std::size_t kReportShownLines = 20;

std::string format_dim(const ptx::Dim3& dim) {
    if (dim.z > 1) return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z);
    if (dim.y > 1) return fmt::format("{}x{}", dim.x, dim.y);
    return std::to_string(dim.x);
}

/// Shares of sub-core cycles by reason.
std::array<double, kCycleReasonCount> shares(const LaunchReport& launch) {
    std::array<double, kCycleReasonCount> result{};
    double total = 0;
    for (const std::uint64_t cycles : launch.timing.sub_core_cycles) total += static_cast<double>(cycles);
    for (std::size_t i = 0; i < kCycleReasonCount && total > 0; ++i) {
        result[i] = static_cast<double>(launch.timing.sub_core_cycles[i]) / total;
    }
    return result;
}

/// The part of a launch's time in which no launch before it ran.
double share_beside_none(const LaunchReport& launch) {
    if (launch.timing.cycles == 0) return 1;
    return 1 - static_cast<double>(launch.overlap_cycles) / static_cast<double>(launch.timing.cycles);
}

std::string timing_table(const KernelRun& run, std::size_t width) {
    std::vector<std::vector<std::string>> rows{{"kernel", "grid", "block", "cycles", "time", "registers",
                                                "shared", "CTAs/SM", "limited by", "occupancy", "bound by"}};
    for (const LaunchReport& launch : run.launches) {
        if (rows.size() > kShownLaunches) break;
        rows.push_back({launch.kernel, format_dim(launch.grid), format_dim(launch.block),
                        format_count(launch.timing.cycles),
                        sim::format_microseconds(launch.timing.seconds * 1e6),
                        std::to_string(launch.registers_per_thread), format_count(launch.shared_bytes),
                        std::to_string(launch.timing.ctas_per_sm), launch.timing.occupancy_limit,
                        format_share(launch.timing.achieved_occupancy), launch.timing.bound_by});
    }
    std::string text = fit_columns(
        std::move(rows), {false, true, true, true, true, true, true, true, false, true, false}, width);
    if (run.launches.size() > kShownLaunches) {
        text += fmt::format("... and {} more in --json\n", run.launches.size() - kShownLaunches);
    }
    return text;
}

std::string functional_table(const KernelRun& run, std::size_t width) {
    std::vector<std::vector<std::string>> rows{
        {"kernel", "grid", "block", "registers", "shared", "warp instructions"}};
    for (const LaunchReport& launch : run.launches) {
        if (rows.size() > kShownLaunches) break;
        rows.push_back({launch.kernel, format_dim(launch.grid), format_dim(launch.block),
                        std::to_string(launch.registers_per_thread), format_count(launch.shared_bytes),
                        format_count(launch.warp_instructions)});
    }
    return fit_columns(std::move(rows), {false, true, true, true, true, true}, width);
}

std::string sampling_line(const models::gpu::Sampling& sampling) {
    if (sampling.simulated == 1) return "\n  sampling: " + sampling.note;
    return fmt::format("\n  sampling: {} of the cycles were simulated; the time may be {} more or less; {}",
                       format_share(sampling.simulated), format_share(sampling.error), sampling.note);
}

/// Where the sub-cores' cycles went and how busy each resource was, one line each per kernel.
std::string time_lines(const KernelRun& run, std::size_t width) {
    std::string text;
    std::string last;
    for (const LaunchReport& launch : run.launches) {
        std::string line = "\n" + launch.kernel + "\n  where the time went:";
        const auto share = shares(launch);
        const char* separator = " ";
        for (std::size_t i = 0; i < kCycleReasonCount; ++i) {
            if (share[i] < 0.0005) continue;
            line += separator + std::string(models::gpu::name_of(static_cast<CycleReason>(i))) + " " +
                    format_share(share[i]);
            separator = ", ";
        }
        line += "\n  utilisation:";
        separator = " ";
        for (const auto& [resource, fraction] : launch.timing.utilisation) {
            line += separator + resource + " " + format_share(fraction);
            separator = ", ";
        }
        line += "\n  rates";
        if (launch.power.clock > 0) line += fmt::format(" at {:.0f} MHz", launch.power.clock / 1e6);
        line += ":";
        separator = " ";
        for (const models::gpu::Throughput& one : launch.timing.throughputs) {
            const double rate = one.amount / launch.timing.seconds;
            line += separator + one.name + " " + sim::format_si(rate, one.unit + "/s") + " of " +
                    sim::format_si(one.ceiling, one.unit + "/s") + " (" + format_share(rate / one.ceiling) +
                    ")";
            separator = ", ";
        }
        if (const std::uint64_t loads = launch.timing.spill_load_sectors,
            stores = launch.timing.spill_store_sectors;
            loads + stores != 0)
            line += fmt::format("\n  registers spilled to local memory: {} read, {} written",
                                sim::format_si(32.0 * static_cast<double>(loads), "B"),
                                sim::format_si(32.0 * static_cast<double>(stores), "B"));
        if (launch.timing.code_lines + launch.timing.constant_lines != 0)
            line +=
                fmt::format("\n  fetched from L2 by the SMs beside data: {} of code, {} of constants",
                            sim::format_si(128.0 * static_cast<double>(launch.timing.code_lines), "B"),
                            sim::format_si(64.0 * static_cast<double>(launch.timing.constant_lines), "B"));
        if (launch.timing.sampling.asked) line += sampling_line(launch.timing.sampling);
        const double joules = launch.timing.energy.total();
        line += fmt::format("\n  energy: {}, mean power {}", sim::format_si(joules, "J"),
                            sim::format_si(launch.timing.mean_power(), "W"));
        separator = ": ";
        for (const auto& [part, amount] : launch.timing.energy.parts()) {
            if (amount < 0.0005 * joules) continue;
            line += fmt::format("{}{} {}", separator, part, format_share(amount / joules));
            separator = ", ";
        }
        if (const std::string excess = sim::describe_excess(launch.power); !excess.empty()) {
            line += "\n  note: " + excess;
            if (launch.power.settled_clock < launch.power.clock)
                line +=
                    fmt::format("; --set clock={:.0f}MHz simulates that", launch.power.settled_clock / 1e6);
        }
        line += '\n';
        line = sim::wrap_lines(line, width);
        if (!launch.lines.ptx.empty()) line += "\n" + format_profile(launch.lines, kReportShownLines, width);
        if (line != last) text += line;  // repetitions are alike
        last = line;
    }
    return text;
}

/// Launches that ran beside one another, and what that cost each.
std::string together_table(const KernelRun& run, std::size_t width) {
    double alone_us = 0;
    std::vector<std::vector<std::string>> rows{{"together", "stream", "starts", "queued", "ends", "time", "alone", "longer", "SMs"}};
    for (const TogetherReport& one : run.together) {
        const LaunchReport& launch = run.launches[one.launch];
        const double alone = launch.timing.seconds * 1e6, time = one.end_us - one.start_us;
        alone_us += alone * share_beside_none(launch);
        if (rows.size() > kShownLaunches) continue;
        rows.push_back({launch.kernel, std::to_string(one.stream), sim::format_microseconds(one.start_us), sim::format_microseconds(one.queued_us),
                        sim::format_microseconds(one.end_us), sim::format_microseconds(time), sim::format_microseconds(alone),
                        sim::format_share(time / alone - 1), fmt::format("{:.1f}", one.sms)});
    }
    std::string text = "\n" + fit_columns(std::move(rows), {false, true, true, true, true, true, true, true, true}, width);
    if (run.together.size() > kShownLaunches) text += fmt::format("... and {} more in --json\n", run.together.size() - kShownLaunches);
    return text + fmt::format("all together, on one clock: {}; one after the other: {}\n", sim::format_microseconds(run.together_us),
                              sim::format_microseconds(alone_us));
}

std::string comparison_lines(const KernelRun& run, std::size_t width) {
    std::string text;
    for (const CompareOutcome& outcome : run.comparisons) {
        text += fmt::format("{} against {}: ", outcome.buffer, outcome.reference);
        if (outcome.passed()) {
            text += fmt::format("{} elements agree", format_count(outcome.elements));
        } else {
            text += fmt::format("{} of {} elements differ", format_count(outcome.mismatches),
                                format_count(outcome.elements));
        }
        text +=
            fmt::format(" (largest error {:.3g}, {} ULP)\n", outcome.largest_absolute_error,
                        outcome.largest_ulp == ~std::uint64_t{0} ? "NaN" : format_count(outcome.largest_ulp));
        if (outcome.first.empty()) continue;
        std::vector<std::vector<std::string>> rows{{"  index", "got", "expected", "ULP"}};
        for (const Mismatch& mismatch : outcome.first) {
            rows.push_back({"  " + std::to_string(mismatch.index), mismatch.got, mismatch.expected,
                            mismatch.ulp == ~std::uint64_t{0} ? "NaN" : format_count(mismatch.ulp)});
        }
        text += fit_columns(std::move(rows), {true, true, true, true}, width);
    }
    return text;
}

std::string mode_name(RunMode mode) {
    return mode == RunMode::timing ? "timing" : mode == RunMode::numerics ? "numerics" : "functional";
}

/// Sub-core cycles by line and reason.
Json lines_json(const LineProfile& profile) {
    Json json{{"sub_core_cycles", profile.all_cycles}, {"ptx", Json::array()}, {"cuda", Json::array()}};
    for (const char* language : {"ptx", "cuda"}) {
        for (const LineCycles& line : language == std::string("ptx") ? profile.ptx : profile.cuda) {
            Json one{{"line", line.place}, {"text", line.text}, {"cycles", line.total()}};
            for (std::size_t i = 0; i < kCycleReasonCount; ++i)
                one["by_reason"][models::gpu::name_of(static_cast<CycleReason>(i))] = line.cycles[i];
            json[language].push_back(std::move(one));
        }
    }
    return json;
}

Json timing_json(const LaunchReport& launch) {
    const models::gpu::KernelResult& timing = launch.timing;
    Json json{{"cycles", timing.cycles},
              {"time_us", timing.seconds * 1e6},
              {"ctas_per_sm", timing.ctas_per_sm},
              {"occupancy_limit", timing.occupancy_limit},
              {"achieved_occupancy", timing.achieved_occupancy},
              {"bound_by", timing.bound_by},
              {"dram_bytes", timing.dram_read_bytes + timing.dram_write_bytes},
              {"l2_bytes", timing.l2.bytes}};
    json["time_by_reason"] = Json::object();
    const auto share = shares(launch);
    for (std::size_t i = 0; i < kCycleReasonCount; ++i) {
        json["time_by_reason"][models::gpu::name_of(static_cast<CycleReason>(i))] = share[i];
    }
    json["utilisation"] = Json::object();
    for (const auto& [resource, fraction] : timing.utilisation) json["utilisation"][resource] = fraction;
    if (!launch.lines.ptx.empty()) json["lines"] = lines_json(launch.lines);
    json["rates"] = Json::object();
    for (const models::gpu::Throughput& one : timing.throughputs) {
        json["rates"][one.name] = {
            {"unit", one.unit + "/s"}, {"achieved", one.amount / timing.seconds}, {"ceiling", one.ceiling}};
    }
    if (timing.sampling.asked) {
        json["sampled"] = {{"simulated", timing.sampling.simulated},
                           {"error", timing.sampling.error},
                           {"note", timing.sampling.note}};
    }
    json["energy_joules"] = Json::object();
    for (const auto& [part, joules] : timing.energy.parts()) json["energy_joules"][part] = joules;
    json["mean_power_watts"] = timing.mean_power();
    json["power_limit_watts"] = launch.power.limit;
    json["above_power_limit"] = launch.power.is_above();
    json["pipeline_instructions"] = Json::object();
    for (std::size_t i = 1; i < ptx::kPipelineCount; ++i) {
        json["pipeline_instructions"][name_of(static_cast<ptx::Pipeline>(i))] =
            timing.pipeline_instructions[i];
    }
    return json;
}

Json comparison_json(const CompareOutcome& outcome) {
    Json json{{"buffer", outcome.buffer},          {"reference", outcome.reference},
              {"passed", outcome.passed()},        {"elements", outcome.elements},
              {"mismatches", outcome.mismatches},  {"largest_absolute_error", outcome.largest_absolute_error},
              {"largest_ulp", outcome.largest_ulp}};
    json["first"] = Json::array();
    for (const Mismatch& mismatch : outcome.first) {
        json["first"].push_back({{"index", mismatch.index},
                                 {"got", mismatch.got},
                                 {"expected", mismatch.expected},
                                 {"ulp", mismatch.ulp}});
    }
    return json;
}

}  // namespace

std::string name_of(ptx::Pipeline pipeline) {
    switch (pipeline) {
        case ptx::Pipeline::none:
            return "none";
        case ptx::Pipeline::fp32:
            return "fp32";
        case ptx::Pipeline::integer:
            return "integer";
        case ptx::Pipeline::fp64:
            return "fp64";
        case ptx::Pipeline::half:
            return "half";
        case ptx::Pipeline::special:
            return "special";
        case ptx::Pipeline::tensor:
            return "tensor";
        case ptx::Pipeline::load_store:
            return "load/store";
        case ptx::Pipeline::branch:
            return "branch";
        case ptx::Pipeline::barrier:
            return "barrier";
    }
    return "";
}

std::string format_kernel_run(const KernelRun& run, const std::string& heading, std::size_t width) {
    std::string text = heading + "\n\n";
    if (run.mode == RunMode::functional) {
        text += functional_table(run, width);
    } else {
        text += timing_table(run, width) + time_lines(run, width);
        std::uint64_t cycles = 0;
        double seconds = 0;
        for (const LaunchReport& launch : run.launches) {
            cycles += launch.timing.cycles - launch.overlap_cycles;
            seconds += launch.timing.seconds * share_beside_none(launch);
        }
        text += fmt::format("\n{} launch{}: {} cycles, {}\n", run.launches.size(),
                            run.launches.size() == 1 ? "" : "es", format_count(cycles),
                            sim::format_microseconds(seconds * 1e6));
        if (!run.together.empty()) text += together_table(run, width);
        if (run.assembly == ptx::Assembly::as_written) text += "kernels as written (--schedule off)\n";
        if (run.registers_of_ptxas) text += "registers per thread as ptxas counts them\n";
        if (run.mode == RunMode::numerics) text += "the runs with and without values took the same cycles\n";
    }
    if (!run.comparisons.empty()) text += "\n" + comparison_lines(run, width);
    for (const ptx::CheckFinding& finding : run.findings) {
        text += sim::wrap_lines(
            fmt::format("check: {} ({} times)\n", finding.text, format_count(finding.count)), width);
    }
    for (const std::string& note : run.notes) text += sim::wrap_lines("note: " + note + "\n", width);
    return text;
}

std::string kernel_run_json(const KernelRun& run, const std::vector<std::string>& outputs) {
    Json json{{"mode", mode_name(run.mode)},
              {"schedule", run.assembly == ptx::Assembly::scheduled ? "on" : "off"},
              {"registers", run.registers_of_ptxas ? "ptxas" : "allocation"},
              {"launches", Json::array()}};
    std::uint64_t cycles = 0;
    double seconds = 0;
    for (const LaunchReport& launch : run.launches) {
        Json one{{"kernel", launch.kernel},
                 {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
                 {"block", {launch.block.x, launch.block.y, launch.block.z}},
                 {"warp_instructions", launch.warp_instructions},
                 {"registers_per_thread", launch.registers_per_thread},
                 {"shared_bytes", launch.shared_bytes}};
        if (run.mode != RunMode::functional) one.update(timing_json(launch));
        if (launch.overlap_cycles != 0) one["overlap_cycles"] = launch.overlap_cycles;
        if (run.mode == RunMode::numerics) one["functional_cycles"] = launch.functional_cycles;
        json["launches"].push_back(std::move(one));
        cycles += launch.timing.cycles - launch.overlap_cycles;
        seconds += launch.timing.seconds * share_beside_none(launch);
    }
    if (run.mode != RunMode::functional) {
        json["total_cycles"] = cycles;
        json["total_time_us"] = seconds * 1e6;
    }
    if (!run.together.empty()) {
        json["together_us"] = run.together_us;
        for (const TogetherReport& one : run.together)
            json["together"].push_back({{"launch", one.launch},
                                        {"stream", one.stream},
                                        {"queued_us", one.queued_us},
                                        {"start_us", one.start_us},
                                        {"end_us", one.end_us},
                                        {"sms", one.sms}});
    }
    json["comparisons"] = Json::array();
    for (const CompareOutcome& outcome : run.comparisons)
        json["comparisons"].push_back(comparison_json(outcome));
    json["findings"] = Json::array();
    for (const ptx::CheckFinding& finding : run.findings) {
        json["findings"].push_back({{"kind", std::string(ptx::name_of(finding.kind))},
                                    {"text", finding.text},
                                    {"line", finding.line},
                                    {"count", finding.count}});
    }
    json["outputs"] = outputs;
    json["notes"] = run.notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string kernel_timeline(const KernelRun& run, const std::string& device) {
    sim::Timeline timeline(device);
    double start_us = 0;
    for (const LaunchReport& launch : run.launches) {
        const double time_us = launch.timing.seconds * 1e6;
        start_us -= time_us * (1 - share_beside_none(launch));
        timeline.add_kernel(launch.kernel, "launch", start_us, time_us,
                            {{"cycles", launch.timing.cycles},
                             {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
                             {"block", {launch.block.x, launch.block.y, launch.block.z}},
                             {"bound_by", launch.timing.bound_by}});
        timeline.add_series(launch.timing.series, start_us);
        start_us += time_us;
    }
    return timeline.text({{"hardware", device}});
}

std::string describe_failure(const KernelRun& run) {
    for (const CompareOutcome& outcome : run.comparisons) {
        if (outcome.passed()) continue;
        const Mismatch& first = outcome.first.front();
        return fmt::format("{} differs from {} in {} of {} elements: element {} is {}, expected {}",
                           outcome.buffer, outcome.reference, outcome.mismatches, outcome.elements,
                           first.index, first.got, first.expected);
    }
    return {};
}

}  // namespace heddle::kernel
