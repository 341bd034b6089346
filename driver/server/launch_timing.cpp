#include "driver/server/launch_timing.h"

#include <fmt/format.h>

#include <cstring>

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

sim::LaunchOutcome TimingModel::simulate(const ptx::LaunchContext& context, const models::gpu::RunOptions& options) {
    return sim::outcome_of(gpu().run(context, options),
                           context.kernel->static_shared_bytes() + std::uint64_t{context.dynamic_shared_bytes});
}

sim::LaunchOutcome TimingModel::run(ptx::LaunchContext context, const models::gpu::RunOptions& given, const std::string& code) {
    if (context.check != nullptr || !context.kernel->time_depends_on_launch_alone()) return simulate(context, given);
    const std::string key = device_ + key_of(context, given, code);
    auto known = known_.find(key);
    if (known == known_.end()) {
        std::optional<sim::LaunchOutcome> outcome;
        if (const std::optional<std::string> stored = cache_.find(key)) outcome = sim::outcome_from_text(*stored);
        if (!outcome) {
            models::gpu::RunOptions options = given;
            options.threads = sim::available_cores();
            context.mode = ptx::Mode::timing;
            outcome = simulate(context, options);
            context.mode = ptx::Mode::functional;
            cache_.store(key, sim::to_text(*outcome));
        }
        known = known_.emplace(key, std::move(*outcome)).first;
    }
    ptx::run_functionally(context);
    return known->second;
}

}  // namespace heddle::driver
