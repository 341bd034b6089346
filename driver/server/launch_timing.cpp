#include "driver/server/launch_timing.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/gpu/gpu_step.h"
#include "sim/gpu/time/launch_result.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::driver {
namespace {

std::string hexadecimal(std::span<const std::byte> bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

std::string text_of(const ptx::Dim3& size) {
    return fmt::format("{}x{}x{}", size.x, size.y, size.z);
}

/// All that the time of such a launch depends on, but for the device.
std::string key_of(const ptx::LaunchContext& launch, const models::gpu::RunOptions& options, const std::string& code) {
    std::string key = fmt::format("launch of a program\n{} {}\n{} {} {} {}\n{}\n", launch.kernel->name(), code, text_of(launch.grid),
                                  text_of(launch.block), text_of(launch.cluster), launch.dynamic_shared_bytes, hexadecimal(launch.parameters));
    if (!launch.constants.empty())
        key += identity_of({reinterpret_cast<const char*>(launch.constants.data()), launch.constants.size()}) + "\n";
    if (options.dependency_release != 0) key += fmt::format("released {}\n", options.dependency_release);
    if (const ptx::AccessPolicyWindow& window = launch.access_policy_window; window.bytes != 0)
        key += fmt::format("window {:x}+{} {} {} {}\n", window.base, window.bytes, window.hit_ratio, static_cast<int>(window.hit), static_cast<int>(window.miss));
    for (const models::gpu::L2Residency& resident : options.resident)
        key += fmt::format("{:x}+{} ", resident.base, resident.bytes);
    return key;
}

}  // namespace

std::string identity_of(std::string_view text) {
    std::uint64_t low = 0xcbf29ce484222325u, high = 0x9e3779b97f4a7c15u;
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, 8);
        low = (low ^ word) * 0xff51afd7ed558ccdu;
        low ^= low >> 33;
        high = (high + word) * 0xc4ceb9fe1a85ec53u;
        high ^= high >> 29;
    }
    for (; at < text.size(); ++at) {
        low = (low ^ static_cast<unsigned char>(text[at])) * 0x100000001b3u;
        high = (high + static_cast<unsigned char>(text[at])) * 0xff51afd7ed558ccdu;
    }
    return fmt::format("{}-{:016x}{:016x}", text.size(), low, high);
}

TimingModel::TimingModel(const models::gpu::GpuConfig& config, bool cache)
    : config_(config),
      cache_(sim::KernelCache::standard_if(cache)),
      device_(sim::executable_identity() + sim::device_key(config)) {}

models::gpu::SampledGpu& TimingModel::gpu() {
    if (!gpu_) gpu_.emplace("gpu", config_, false);
    return *gpu_;
}

TimingModel::Timed TimingModel::simulate(const ptx::LaunchContext& context, const models::gpu::RunOptions& options) {
    models::gpu::KernelResult result = gpu().run(context, options);
    Timed timed;
    timed.profile.instructions = std::move(result.profile);
    timed.profile.occupancy_limit = result.occupancy_limit;
    timed.profile.achieved_occupancy = result.achieved_occupancy;
    for (std::size_t i = 0; i < models::gpu::kCycleReasonCount; ++i)
        if (const auto reason = static_cast<models::gpu::CycleReason>(i); reason != models::gpu::CycleReason::no_warp && reason != models::gpu::CycleReason::not_launched)
            timed.profile.resident_cycles += result.sub_core_cycles[i];
    timed.outcome = sim::outcome_of(std::move(result), context.kernel->static_shared_bytes() + std::uint64_t{context.dynamic_shared_bytes});
    return timed;
}

std::string TimingModel::to_text(const Timed& timed) {
    if (timed.profile.instructions.empty()) return sim::to_text(timed.outcome);
    const LaunchProfile& profile = timed.profile;
    return nlohmann::json{{"outcome", sim::to_text(timed.outcome)},
                          {"instructions", profile.instructions},
                          {"resident_cycles", profile.resident_cycles},
                          {"occupancy_limit", profile.occupancy_limit},
                          {"achieved_occupancy", profile.achieved_occupancy}}
        .dump();
}

TimingModel::Timed TimingModel::from_text(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (!json.contains("outcome")) return {sim::outcome_from_text(text), {}};
    return {sim::outcome_from_text(json.at("outcome").get<std::string>()),
            {json.at("instructions").get<std::vector<models::gpu::InstructionCycles>>(), json.at("resident_cycles").get<std::uint64_t>(),
             json.at("occupancy_limit").get<std::string>(), json.at("achieved_occupancy").get<double>()}};
}

sim::LaunchOutcome TimingModel::run(ptx::LaunchContext context, const models::gpu::RunOptions& given, const std::string& code, const TimingWishes& wishes) {
    models::gpu::RunOptions options = given;
    options.profile = wishes.profile != nullptr;
    if (context.check != nullptr || !context.kernel->time_depends_on_launch_alone()) {
        Timed timed = simulate(context, options);
        if (wishes.profile != nullptr) *wishes.profile = std::move(timed.profile);
        return timed.outcome;
    }
    options.sample = wishes.sample && !wishes.values;
    const std::string key = device_ + key_of(context, given, code) + (options.profile ? "profiled\n" : "") + (options.sample ? "sampled\n" : "");
    auto known = known_.find(key);
    if (known == known_.end()) {
        std::optional<Timed> timed;
        if (const std::optional<std::string> stored = cache_.find(key)) timed = from_text(*stored);
        if (!timed) {
            options.threads = sim::available_cores();
            context.mode = ptx::Mode::timing;
            timed = simulate(context, options);
            context.mode = ptx::Mode::functional;
            cache_.store(key, to_text(*timed));
        }
        known = known_.emplace(key, std::move(*timed)).first;
    }
    if (wishes.values) ptx::run_functionally(context);
    if (wishes.profile != nullptr) *wishes.profile = known->second.profile;
    return known->second.outcome;
}

}  // namespace heddle::driver
