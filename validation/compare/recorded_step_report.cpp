// A recorded step beside the model, for people and for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "validation/compare/recorded_step.h"

namespace heddle::validation {
namespace {

nlohmann::ordered_json json_of(const StepTimes& times) {
    return {{"count", times.count},
            {"recorded_us", times.recorded_us},
            {"simulated_us", times.simulated_us},
            {"bias", times.bias()},
            {"error", times.error()}};
}

std::string times_cells(const StepTimes& times) {
    return fmt::format("{:>6} {:>9.1f} us {:>9.1f} us {:>+7.1f} % {:>6.1f} %", times.count, times.recorded_us,
                       times.simulated_us, 100 * times.bias(), 100 * times.error());
}

/// The beginning of a long name.
std::string shortened(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string format_rest(const RecordedStep& step) {
    std::string text =
        fmt::format("coverage of the recorded kernel time: {:.1f} % cycle by cycle", 100 * step.coverage());
    const double all = step.cycle.recorded_us + step.estimated_us + step.unknown_us;
    if (all > 0)
        text += fmt::format(", {:.1f} % estimated, {:.1f} % unknown", 100 * step.estimated_us / all,
                            100 * step.unknown_us / all);
    return text + fmt::format("; apart: communication {:.1f} us, copies of the host {:.1f} us\n",
                              step.communication_us, step.copies_us);
}

}  // namespace

std::string format_recorded_step(const RecordedStep& step, std::size_t worst) {
    std::string text =
        fmt::format("{} on {} at {:.0f} MHz\n", step.trace, step.hardware, step.clock_hz / 1e6);
    text += fmt::format(
        "recorded kernels {:.1f} us, simulated {:.1f} us: {:+.1f} %; mean error of a kernel, weighted with "
        "its "
        "time, {:.1f} %\n",
        step.cycle.recorded_us, step.cycle.simulated_us, 100 * step.cycle.bias(), 100 * step.cycle.error());
    if (step.beside.count > 0)
        text += fmt::format(
            "of these {} ran beside collectives or copies of the host: recorded {:.1f} us, simulated alone "
            "{:.1f} us, beside them "
            "{:.1f} us\n",
            step.beside.count, step.beside.recorded_us, step.beside_alone_us, step.beside.simulated_us);
    text += format_rest(step);
    text += fmt::format("\n{:<24} {:>6} {:>12} {:>12} {:>9} {:>8}\n", "op kind", "count", "recorded",
                        "simulated", "sum", "error");
    for (const auto& [kind, times] : times_by_kind(step))
        text += fmt::format("{:<24} {}\n", kind, times_cells(times));
    text += fmt::format("\n{:<44} {:>6} {:>12} {:>12} {:>9} {:>8}  {:<16} {}\n", "furthest off", "count",
                        "recorded", "simulated", "sum", "error", "bound by", "recorded kernel");
    for (const StepKernel& kernel : step.kernels) {
        if (worst == 0) break;
        if (kernel.fidelity != sim::Fidelity::cycle) continue;
        --worst;
        text += fmt::format("{:<44} {}  {:<16} {}\n", shortened(kernel.op, 44), times_cells(kernel.times),
                            shortened(kernel.bound_by, 16), shortened(kernel.kernel, 100));
    }
    for (const std::string& note : step.notes) text += "note: " + note + "\n";
    return text;
}

std::string recorded_step_json(const RecordedStep& step) {
    nlohmann::ordered_json json = {
        {"trace", step.trace}, {"hardware", step.hardware}, {"clock_hz", step.clock_hz}};
    json.update(json_of(step.cycle));
    json["beside_collectives"] = json_of(step.beside);
    json["beside_collectives"]["alone_us"] = step.beside_alone_us;
    json["coverage"] = step.coverage();
    json["estimated_us"] = step.estimated_us;
    json["unknown_us"] = step.unknown_us;
    json["communication_us"] = step.communication_us;
    json["copies_us"] = step.copies_us;
    json["kinds"] = nlohmann::ordered_json::array();
    for (const auto& [kind, times] : times_by_kind(step)) {
        nlohmann::ordered_json one = {{"kind", kind}};
        one.update(json_of(times));
        json["kinds"].push_back(std::move(one));
    }
    json["kernels"] = nlohmann::ordered_json::array();
    for (const StepKernel& kernel : step.kernels) {
        nlohmann::ordered_json one = {{"op", kernel.op},
                                      {"kernel", kernel.kernel},
                                      {"kind", kernel.kind},
                                      {"phase", kernel.phase},
                                      {"fidelity", sim::name_of(kernel.fidelity)},
                                      {"bound_by", kernel.bound_by}};
        one.update(json_of(kernel.times));
        json["kernels"].push_back(std::move(one));
    }
    json["notes"] = step.notes;
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::validation
