#include "driver/server/observed_launch.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace heddle::driver {
namespace {

using models::gpu::CycleReason;
using models::gpu::kCycleReasonCount;
using Json = nlohmann::ordered_json;

/// Where the outermost of the functions stands that were inlined around a place.
ptx::SourcePlace outermost(ptx::SourcePlace place, const ptx::Module& module) {
    for (std::size_t depth = 0; place.inlined != 0 && depth <= module.inlined_calls.size(); ++depth) place = module.inlined_calls[place.inlined - 1].place;
    return place;
}

Json lines_of(const ptx::LoadedKernel& kernel, const ptx::Module& module, const LaunchProfile& profile) {
    std::map<std::pair<std::string, std::uint32_t>, models::gpu::InstructionCycles> by_line;
    for (std::size_t i = 0; i < profile.instructions.size(); ++i) {
        const ptx::InstructionInfo& information = kernel.instructions()[i];
        const ptx::SourcePlace place = outermost(information.source, module);
        const bool known = place.line != 0 && place.file < module.source_files.size();
        auto& cycles = by_line[known ? std::pair(module.source_files[place.file], place.line) : std::pair(std::string(), information.line)];
        for (std::size_t reason = 0; reason < kCycleReasonCount; ++reason) cycles[reason] += profile.instructions[i][reason];
    }
    std::vector<std::pair<std::uint64_t, Json>> lines;
    for (const auto& [place, cycles] : by_line) {
        std::uint64_t total = 0;
        Json reasons = Json::object();
        for (std::size_t reason = 0; reason < kCycleReasonCount; ++reason) {
            if (cycles[reason] != 0) reasons[models::gpu::name_of(static_cast<CycleReason>(reason))] = cycles[reason];
            total += cycles[reason];
        }
        if (total != 0) lines.emplace_back(total, Json{{"file", place.first}, {"line", place.second}, {"cycles", total}, {"by_reason", std::move(reasons)}});
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    Json sorted = Json::array();
    for (auto& line : lines) sorted.push_back(std::move(line.second));
    return sorted;
}

}  // namespace

std::string observed_launch(const ptx::LoadedKernel& kernel, const ptx::Module& module, const ptx::LaunchContext& context, const sim::LaunchOutcome& outcome,
                            const LaunchProfile* profile) {
    Json json{{"kernel", kernel.name()},
              {"grid", {context.grid.x, context.grid.y, context.grid.z}},
              {"block", {context.block.x, context.block.y, context.block.z}},
              {"warp_instructions", outcome.warp_instructions},
              {"registers_per_thread", kernel.registers_per_thread()},
              {"shared_bytes", kernel.static_shared_bytes() + std::uint64_t{context.dynamic_shared_bytes}}};
    if (profile == nullptr) return json.dump();
    json["cycles"] = outcome.cycles;
    json["time_us"] = outcome.seconds * 1e6;
    json["bound_by"] = outcome.bound_by;
    json["ctas_per_sm"] = outcome.ctas_per_sm;
    json["occupancy_limit"] = profile->occupancy_limit;
    json["achieved_occupancy"] = profile->achieved_occupancy;
    json["dram_bytes"] = outcome.dram_bytes;
    json["l2_bytes"] = outcome.l2_bytes;
    json["l2_hit_rate"] = outcome.l2_hit_rate ? Json(*outcome.l2_hit_rate) : Json();
    json["time_by_reason"] = outcome.time_by_reason;
    json["utilisation"] = outcome.utilisation;
    double joules = 0;
    for (const auto& [part, amount] : outcome.energy) joules += amount;
    json["energy_joules"] = joules;
    if (outcome.sampled) json["sampled"] = {{"simulated", outcome.sampled->simulated}, {"error", outcome.sampled->error}, {"note", outcome.sampled->note}};
    json["resident_cycles"] = profile->resident_cycles;
    json["lines"] = lines_of(kernel, module, *profile);
    return json.dump();
}

}  // namespace heddle::driver
