// A step of many devices for people and for scripts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/distributed/distributed_step.h"

namespace heddle::sim {
namespace {

constexpr double kGiB = 1 << 30;

std::string time_text(double seconds) {
    if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
    if (seconds >= 1e-3) return fmt::format("{:.3f} ms", 1e3 * seconds);
    return fmt::format("{:.2f} us", 1e6 * seconds);
}

std::string parts_of(const std::array<double, kPurposes>& parts, double total) {
    std::string text;
    for (std::size_t i = 0; i < kPurposes; ++i) {
        if (parts[i] < 5e-4 * total) continue;
        text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", name_of(static_cast<Purpose>(i)),
                            100 * parts[i] / total);
    }
    return text.empty() ? "nothing" : text;
}

nlohmann::ordered_json json_of(const std::array<double, kPurposes>& parts) {
    nlohmann::ordered_json json;
    for (std::size_t i = 0; i < kPurposes; ++i) json[name_of(static_cast<Purpose>(i))] = parts[i];
    return json;
}

}  // namespace

std::string format_distributed(const DistributedResult& r) {
    std::string text = fmt::format("{} on {:.0f} devices of {} ({})\n{}\n\n", r.model, r.devices, r.cluster,
                                   r.hardware, r.plan);
    text += fmt::format("step            {}\n", time_text(r.seconds));
    text += fmt::format("batch           {:.0f}, {:.2f} a second\n", r.batch, r.batch / r.seconds);
    text += fmt::format("model FLOP/s    {:.1f} T per device", r.flops_per_device() * 1e-12);
    if (r.peak_flops > 0)
        text += fmt::format(", {:.1f} % of {}", 100 * r.model_flops / r.seconds / r.peak_flops, r.peak);
    text += fmt::format("\nbubble          {:.1f} % of the devices' time\n", 100 * r.bubble);
    text += fmt::format("kernels         {}\n", r.kernels);
    if (r.dropped > 0) text += fmt::format("tokens dropped  {:.1f} % at their experts\n", 100 * r.dropped);
    if (r.price_per_hour > 0)
        text += fmt::format("price           {:.4f} USD a step\n", r.price_per_hour * r.seconds / 3600);
    for (const StageResult& s : r.stages) {
        text += fmt::format("\n{} ({:.0f} devices)\n", s.name, s.devices);
        text += "  works         " + parts_of(s.account.busy, r.seconds) + "\n";
        text += "  waits for     " + parts_of(s.account.exposed, r.seconds) +
                fmt::format(", others {:.1f} %\n", 100 * s.account.bubble / r.seconds);
        text += "  beside it     " + parts_of(s.account.hidden, r.seconds) + "\n";
        const StageMemory& m = s.memory;
        text += fmt::format(
            "  memory        {:.1f} GiB: weights {:.1f}, gradients {:.1f}, optimizer {:.1f}, activations "
            "{:.1f}, "
            "workspace {:.1f}\n",
            (m.total() + r.reserved) / kGiB, m.weights / kGiB, m.gradients / kGiB, m.optimizer / kGiB,
            m.activations / kGiB, m.workspace / kGiB);
    }
    for (const std::string& note : r.notes) text += "note: " + note + "\n";
    return text;
}

std::string distributed_json(const DistributedResult& r) {
    nlohmann::ordered_json json{{"model", r.model},
                                {"cluster", r.cluster},
                                {"hardware", r.hardware},
                                {"plan", r.plan},
                                {"kernels", r.kernels},
                                {"devices", r.devices},
                                {"batch", r.batch},
                                {"parameters", r.parameters},
                                {"step_s", r.seconds},
                                {"model_flops", r.model_flops},
                                {"flops_per_device", r.flops_per_device()},
                                {"peak_flops", r.peak_flops},
                                {"peak", r.peak},
                                {"bubble", r.bubble},
                                {"fits", r.fits()},
                                {"coverage", {{"cycle", r.simulated}, {"estimated", 1 - r.simulated}}},
                                {"work_simulated", r.work_simulated}};
    if (r.dropped > 0) json["tokens_dropped"] = r.dropped;
    if (r.price_per_hour > 0) json["price_per_step_usd"] = r.price_per_hour * r.seconds / 3600;
    for (const StageResult& s : r.stages) {
        const StageMemory& m = s.memory;
        json["stages"].push_back({{"name", s.name},
                                  {"devices", s.devices},
                                  {"busy_s", json_of(s.account.busy)},
                                  {"exposed_s", json_of(s.account.exposed)},
                                  {"hidden_s", json_of(s.account.hidden)},
                                  {"bubble_s", s.account.bubble},
                                  {"memory_bytes",
                                   {{"weights", m.weights},
                                    {"gradients", m.gradients},
                                    {"optimizer", m.optimizer},
                                    {"activations", m.activations},
                                    {"workspace", m.workspace}}}});
    }
    json["notes"] = r.notes;
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::sim
