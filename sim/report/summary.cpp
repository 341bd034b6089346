#include "sim/report/summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "sim/report/kind_summary.h"
#include "sim/report/module_summary.h"
#include "sim/report/not_understood.h"
#include "sim/report/result_names.h"
#include "sim/report/roofline.h"
#include "sim/report/step_section.h"
#include "sim/report/timeline.h"
#include "sim/gpu/settle/power_limit.h"

namespace heddle::sim {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<double>& number) {
    return number ? Json(*number) : Json(nullptr);
}

Json op_json(const OpSummary& op) {
    return Json{{"name", op.name},         {"kind", op.kind},
                {"phase", op.phase},       {"count", op.count},
                {"time_us", op.time_us},   {"measured_us", number_or_null(op.measured_us)},
                {"flops", op.flops},       {"bytes", op.bytes},
                {"bound_by", op.bound_by}, {"fidelity", name_of(op.fidelity)}};
}

Json numerics_json(const NumericsResult& numerics) {
    return Json{{"data", numerics.data},
                {"resumed_at", numerics.resumed_at},
                {"weights", numerics.weights},
                {"device_loss", numerics.device_loss},
                {"reference_loss", numerics.reference_loss},
                {"loss_error", numerics.loss_error},
                {"loss_error_bound", numerics.loss_error_bound},
                {"gradient_error", numerics.gradient_error},
                {"gradient_error_bound", numerics.gradient_error_bound},
                {"worst_gradient", numerics.worst_gradient},
                {"drift", numerics.drift},
                {"weight_error", numerics.weight_error},
                {"weight_error_bound", numerics.weight_error_bound},
                {"worst_parameter", numerics.worst_parameter}};
}

/// Achieved rates and ceilings per second, and which comes nearest.
Json throughputs_json(const std::map<std::string, Throughput>& throughputs, double microseconds) {
    Json json;
    for (const auto& [name, one] : throughputs) {
        const double rate = one.amount / (microseconds * 1e-6);
        json["rates"][name] = {{"unit", one.unit + "/s"}, {"achieved", rate}, {"ceiling", one.ceiling}};
    }
    if (const auto point = roofline_point("", throughputs, microseconds)) {
        json["flop_per_byte"] = point->intensity;
        json["flop_per_s"] = point->flops;
        json["roof_flop_per_s"] = point->ceiling;
    }
    json["nearest_ceiling"] = nearest_ceiling(throughputs, microseconds);
    return json;
}

/// Distinct simulated kernels: the first of each name and op.
Json kernels_json(const RunResult& result) {
    Json list = Json::array();
    std::set<std::pair<std::string, std::string>> seen;
    for (const KernelResult& kernel : result.kernels) {
        const bool tpu = !kernel.time_by_unit.empty();
        if ((kernel.throughputs.empty() && !tpu) || !seen.insert({kernel.name, kernel.op_name}).second)
            continue;
        Json one{{"name", kernel.name},
                 {"op", kernel.op_name},
                 {"time_us", kernel.time_us / kernel.turns},
                 {"time_by_reason", kernel.time_by_reason}};
        if (tpu) one["time_by_unit"] = kernel.time_by_unit;
        if (!tpu) one["roofline"] = throughputs_json(kernel.throughputs, kernel.time_us + kernel.gap_us);
        if (kernel.sampled) {
            one["sampled"] = {{"simulated", kernel.sampled->simulated},
                              {"error", kernel.sampled->error},
                              {"note", kernel.sampled->note}};
        }
        list.push_back(std::move(one));
    }
    return list;
}

Json kernel_arguments(const KernelResult& kernel) {
    Json arguments{{"op", kernel.op_name},
                   {"kind", kernel.kind},
                   {"phase", kernel.phase},
                   {"bound_by", kernel.bound_by},
                   {"fidelity", name_of(kernel.fidelity)},
                   {"flops", kernel.flops},
                   {"bytes", kernel.bytes}};
    if (kernel.turns != 1) arguments["turns of a loop"] = kernel.turns;
    if (kernel.cycles > 0) arguments["cycles"] = kernel.cycles;
    if (kernel.grid[0] > 0) {
        arguments["grid"] = kernel.grid;
        arguments["block"] = kernel.block;
        arguments["registers per thread"] = kernel.registers_per_thread;
        arguments["shared memory"] = kernel.shared_bytes;
        arguments["CTAs per SM"] = kernel.ctas_per_sm;
        arguments["warp instructions"] = kernel.warp_instructions;
    }
    if (kernel.measured_us) arguments["measured_us"] = *kernel.measured_us;
    if (kernel.alone_us) {
        arguments["alone_us"] = *kernel.alone_us;
        arguments["queued_us"] = kernel.queued_us;
    }
    if (!kernel.module.empty()) arguments["module"] = kernel.module;
    if (!kernel.recorded_kernel.empty()) arguments["recorded kernel"] = kernel.recorded_kernel;
    for (const auto& [reason, fraction] : kernel.time_by_reason) arguments["time: " + reason] = fraction;
    for (const auto& [resource, fraction] : kernel.utilisation)
        arguments["utilisation: " + resource] = fraction;
    return arguments;
}

Json memory_json(const MemoryReport& memory) {
    Json json{{"capacity", memory.capacity},
              {"peak", memory.peak()},
              {"fits", memory.fits()},
              {"peak_op", memory.peak_op}};
    for (const MemoryPart& part : memory.at_peak) json["at_peak"][part.name] = part.bytes;
    Json& over_time = json["over_time"] = Json::array();
    for (const auto& [start, bytes] : memory_over_time(memory, 400)) {
        Json point{{"start_us", start}};
        for (std::size_t i = 0; i < bytes.size(); ++i)
            if (bytes[i] > 0) point[memory.parts[i]] = bytes[i];
        over_time.push_back(std::move(point));
    }
    return json;
}

Json division_json(const RunResult& result) {
    const StepDivision& parts = result.division;
    return Json{{"kernels_us", parts.kernels_us},
                {"communication_us", parts.communication_us},
                {"copies_us", parts.copies_us},
                {"gaps_us", parts.gaps_us},
                {"waiting_for_host_us", parts.host_us},
                {"overlapped_us", parts.overlapped_us},
                {"host", result.graph           ? "graph"
                         : result.recorded_host ? "recorded"
                                                : "eager"}};
}

/// Names in recordings may hold any bytes: replace what is not UTF-8 instead of failing.
std::string dump(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json energy_json(const RunResult& result) {
    Json json{
        {"joules", result.energy}, {"of_time_us", result.energy_time_us}, {"mean_watts", mean_power(result)}};
    if (result.power_limit > 0) {
        json["limit_watts"] = result.power_limit;
        json["above_limit"] = is_above_power_limit(result);
    }
    return json;
}

}  // namespace

std::string memory_json_text(const MemoryReport& memory) {
    return dump(memory_json(memory), 2);
}

std::string summary_json(const RunResult& result) {
    Json json;
    json["workload"] = result.workload;
    json["hardware"] = result.hardware;
    json["step_time_us"] = result.step_time_us;
    json["device_busy_us"] = result.device_busy_us;
    json["launch_gap_us"] = result.launch_gap_us;
    json["communication_us"] = result.communication_us;
    json["division"] = division_json(result);
    if (result.memory) json["memory"] = memory_json(*result.memory);
    if (!result.energy.empty())
        json["energy"] = energy_json(result);
    if (result.clock_hz > 0) json["clock_hz"] = result.clock_hz;
    if (!result.throughputs.empty())
        json["roofline"] = throughputs_json(result.throughputs, result.device_busy_us);
    if (result.sampling_error_us) {
        json["sampled"] = {{"error_us", *result.sampling_error_us}, {"simulated", result.simulated_fraction}};
    }
    if (Json kernels = kernels_json(result); !kernels.empty()) json["kernels"] = std::move(kernels);
    json["ops"] = Json::array();
    for (const OpSummary& op : result.ops) json["ops"].push_back(op_json(op));
    for (const ModuleSummary& module : summarise_by_module(result))
        json["modules"].push_back({{"name", module.name},
                                   {"kernels", module.kernels},
                                   {"time_us", module.time_us},
                                   {"forward_us", module.forward_us},
                                   {"backward_us", module.backward_us},
                                   {"optimizer_us", module.optimizer_us},
                                   {"other_us", module.other_us}});
    json["coverage"] = {{"cycle", result.coverage.cycle},
                        {"estimated", result.coverage.estimated},
                        {"unknown", result.coverage.unknown}};
    if (const std::string incomplete = not_understood_text(result); !incomplete.empty()) {
        Json ops = Json::array();
        for (const OpSummary* op : not_understood(result))
            ops.push_back({{"name", op->name}, {"count", op->count}});
        json["incomplete"] = {{"reason", incomplete}, {"ops", std::move(ops)}};
    }
    json["measured"] =
        result.measured_total_us ? Json{{"total_us", *result.measured_total_us}} : Json(nullptr);
    if (const std::optional<double> error = weighted_error(result); error && result.measured_total_us)
        json["measured"]["weighted_error"] = *error;
    if (const std::optional<SimulatedShare> share = simulated_share(result); share && result.measured_total_us) {
        json["measured"]["simulated_share"] = share->measured_us / share->all_us;
        json["measured"]["simulated_recorded_us"] = share->measured_us;
        json["measured"]["simulated_us"] = share->simulated_us;
    }
    if (result.numerics) json["numerics"] = numerics_json(*result.numerics);
    json["simulation"] = {{"wall_s", result.simulation.wall_s},
                          {"processor_s", result.simulation.processor_s},
                          {"kernels_simulated", result.simulation.kernels_simulated},
                          {"warp_instructions", result.simulation.warp_instructions},
                          {"tpu_cycles", result.simulation.tpu_cycles},
                          {"tilings_searched", result.simulation.tilings_searched},
                          {"workers", result.simulation.workers},
                          {"schedule", result.simulation.scheduled ? "on" : "off"}};
    json["cycles"] = std::accumulate(result.kernels.begin(), result.kernels.end(), std::uint64_t{0},
                                     [](std::uint64_t sum, const KernelResult& kernel) { return sum + kernel.cycles; });
    add_common_names(json, "simulate");
    return dump(json, 2);
}

namespace {

/// Averages of a kernel as counters; kernels beside others take longer with as much to do.
KernelRates rates_of(const KernelResult& kernel) {
    KernelRates rates{kernel.start_us, kernel.end_us, {}, {}};
    const double length = kernel.end_us - kernel.start_us;
    if (!(length > 0)) return rates;
    const auto giga_per_second = [&](double amount) { return amount / (length * 1e-6) / 1e9; };
    double joules = 0;
    for (const auto& [part, amount] : kernel.energy) joules += amount;
    // A series has finer tracks of the same names.
    if (!kernel.series) {
        if (kernel.dram_bytes > 0) rates.sums["DRAM traffic"]["GB/s"] = giga_per_second(kernel.dram_bytes);
        if (kernel.l2_bytes > 0) rates.sums["L2 traffic"]["GB/s"] = giga_per_second(kernel.l2_bytes);
        if (kernel.l2_hit_rate) rates.shares["L2 hit rate"]["%"] = 100 * *kernel.l2_hit_rate;
        if (joules > 0) rates.sums["power"]["W"] = joules / (length * 1e-6);
    }
    if (kernel.l2_bytes > 0)
        rates.shares["L2 traffic that memory did not see"]["%"] =
            100 * std::max(0.0, 1 - kernel.dram_bytes / kernel.l2_bytes);
    for (const auto& [resource, fraction] : kernel.utilisation)
        if (resource != "launch") rates.shares["at work: " + resource]["%"] = 100 * fraction;
    const auto add_reasons = [&](const std::string& unit, const std::map<std::string, double>& reasons) {
        for (const auto& [reason, fraction] : reasons) rates.shares[unit][reason] = 100 * fraction;
    };
    for (const auto& [unit, reasons] : kernel.time_by_unit)
        add_reasons("cycles of the " + unit + ", %", reasons);
    if (kernel.time_by_unit.empty() && !kernel.time_by_reason.empty())
        add_reasons("cycles of the issue slots, %", kernel.time_by_reason);
    return rates;
}

}  // namespace

std::string timeline_json(const RunResult& result) {
    Timeline timeline(result.hardware);
    double handed_out = 0;
    for (const KernelResult& kernel : result.kernels) {
        timeline.add_kernel(kernel.name, kernel.kind, kernel.start_us, kernel.end_us - kernel.start_us,
                            kernel_arguments(kernel), kernel.stream);
        if (kernel.launched_us > handed_out)
            timeline.add_launch("launch " + kernel.op_name, handed_out, kernel.launched_us - handed_out);
        handed_out = std::max(handed_out, kernel.launched_us);
        timeline.add_rates(rates_of(kernel));
        if (kernel.series) timeline.add_series(*kernel.series, kernel.start_us - kernel.gap_us);
    }
    if (result.clock_hz > 0) {
        timeline.add_counter("clock", 0, "GHz", result.clock_hz / 1e9);
        timeline.add_counter("clock", result.step_time_us, "GHz", result.clock_hz / 1e9);
    }
    return timeline.text({{"workload", result.workload}, {"hardware", result.hardware}});
}

}  // namespace heddle::sim
