#include "driver/server/virtual_gpu.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "driver/server/loaded_function.h"
#include "isa/common/error.h"

namespace heddle::driver {
namespace {

/// The number of CUDA for what went wrong.
Status status_of(Error::Kind kind) {
    switch (kind) {
        case Error::Kind::assertion:
            return Status::assert;
        case Error::Kind::misaligned:
            return Status::misaligned_address;
        case Error::Kind::out_of_bounds:
            return Status::illegal_address;
        case Error::Kind::resources:
            return Status::launch_out_of_resources;
        case Error::Kind::cooperative_too_large:
            return Status::cooperative_launch_too_large;
        case Error::Kind::no_image:
            return Status::no_binary_for_gpu;
        case Error::Kind::trap:
        case Error::Kind::other:
            break;
    }
    return Status::launch_failed;
}

}  // namespace

VirtualGpu::VirtualGpu(const sim::Hardware& hardware, const GpuOptions& options, TimingModel& model)
    : hardware_(hardware),
      machine_(*sim::gpu_machine(hardware)),
      options_(options),
      model_(model),
      memory_(&arena_),
      timelines_(options.devices, DeviceTimeline(machine_)),
      residency_(machine_.config.l2.bytes_per_partition()) {}

VirtualGpu::~VirtualGpu() = default;

/// What a call does, and whether the program waits for an answer.
struct VirtualGpu::Handler {
    void (VirtualGpu::*run)(Reader& content, Answer& answer) = nullptr;
    bool answers = true;
};

const VirtualGpu::Handler* VirtualGpu::handler_of(Call call) {
    using Gpu = VirtualGpu;
    constexpr bool kSends = false;
    static const std::map<Call, Handler> handlers{
        {Call::hello, {&Gpu::hello}},
        {Call::allocate, {&Gpu::allocate}},
        {Call::release, {&Gpu::release}},
        {Call::memory_info, {&Gpu::memory_info}},
        {Call::load_module, {&Gpu::load_module}},
        {Call::unload_module, {&Gpu::unload_module}},
        {Call::list_functions, {&Gpu::list_functions}},
        {Call::function, {&Gpu::function}},
        {Call::variable, {&Gpu::variable}},
        {Call::launch, {&Gpu::launch, kSends}},
        {Call::copy, {&Gpu::copy, kSends}},
        {Call::fill, {&Gpu::fill, kSends}},
        {Call::record_event, {&Gpu::record_event, kSends}},
        {Call::wait_event, {&Gpu::wait_event, kSends}},
        {Call::synchronise, {&Gpu::synchronise}},
        {Call::wait_host, {&Gpu::wait_host}},
        {Call::non_blocking, {&Gpu::non_blocking, kSends}},
        {Call::tensor_map, {&Gpu::tensor_map}},
        {Call::elapsed, {&Gpu::elapsed}},
        {Call::occupancy, {&Gpu::occupancy}},
        {Call::set_limit, {&Gpu::set_limit, kSends}},
        {Call::blas, {&Gpu::blas}},
        {Call::range, {&Gpu::range, kSends}},
        {Call::profiler, {&Gpu::profiler, kSends}},
        {Call::missing, {&Gpu::missing, kSends}},
        {Call::create_texture, {&Gpu::create_texture}},
        {Call::create_surface, {&Gpu::create_surface}},
        {Call::destroy_texture, {&Gpu::destroy_texture, kSends}},
        {Call::board, {&Gpu::board}},
        {Call::reserve, {&Gpu::reserve}},
        {Call::give_up, {&Gpu::give_up}},
        {Call::remap, {&Gpu::remap}},
        {Call::reachable, {&Gpu::reachable}},
        {Call::alias, {&Gpu::alias}},
        {Call::end_alias, {&Gpu::end_alias}},
        {Call::import_memory, {&Gpu::import_memory}},
        {Call::end_import, {&Gpu::end_import}},
        {Call::write_value, {&Gpu::write_value, kSends}},
        {Call::wait_value, {&Gpu::wait_value, kSends}},
        {Call::without_effect, {&Gpu::without_effect, kSends}},
        {Call::observe, {&Gpu::observe, kSends}},
        {Call::last_launch, {&Gpu::last_launch}},
        {Call::forget_caches, {&Gpu::forget_caches, kSends}},
    };
    const auto found = handlers.find(call);
    return found == handlers.end() ? nullptr : &found->second;
}

std::optional<Answer> VirtualGpu::handle(Call call, Reader content, double host_us) {
    Answer answer;
    if (host_us > 0 && timing())
        for (DeviceTimeline& timeline : timelines_) timeline.host_works(host_us);
    const Handler* const handler = handler_of(call);
    try {
        if (sticky_ != Status::success && call != Call::hello)
            answer.status = sticky_;
        else if (handler == nullptr)
            answer.status = Status::invalid_value;
        else
            (this->*handler->run)(content, answer);
    } catch (const Error& error) {
        answer.status = status_of(error.kind());
        answer.message = error.what();
    }
    if (handler != nullptr && !handler->answers) {
        // What nobody waits for is told by the next call that is waited for, and stays.
        if (answer.status != Status::success && sticky_ == Status::success) {
            sticky_ = answer.status;
            sticky_message_ = answer.message;
        }
        return std::nullopt;
    }
    // A kernel of a library that failed has spoilt the device as any other does.
    if (call == Call::blas && answer.status != Status::success && answer.status != Status::not_supported) sticky_ = answer.status;
    if (!sticky_message_.empty()) answer.message = std::exchange(sticky_message_, "");
    answer.printed = std::exchange(printed_, "");
    return answer;
}

void VirtualGpu::hello(Reader& content, Answer& answer) {
    if (content.get<std::uint32_t>() != kVersion) {
        answer.status = Status::not_supported;
        answer.message = "the program's libcuda.so.1 is of another version of heddle";
        return;
    }
    const models::gpu::GpuConfig& gpu = machine_.config;
    DeviceDescription device{};
    const std::string name = "Heddle " + hardware_.name;
    std::strncpy(device.name, name.c_str(), sizeof device.name - 1);
    device.compute_capability = gpu.compute_capability;
    device.sms = gpu.sm.count;
    device.threads_per_sm = gpu.sm.threads;
    device.blocks_per_sm = gpu.sm.ctas;
    device.registers_per_sm = gpu.sm.registers;
    device.clock_khz = static_cast<std::uint32_t>(gpu.clock / 1e3);
    device.memory_bytes = machine_.step.memory_bytes;
    device.l2_bytes = gpu.l2.bytes;
    // 1,024 wires of a stack of HBM, 32 of a chip of GDDR; data moves at both edges.
    device.memory_bus_bits = machine_.die.stacks * (machine_.die.memory == sim::MemoryInterface::hbm ? 1024 : 32);
    device.memory_clock_khz =
        static_cast<std::uint32_t>(gpu.hbm.bandwidth * 8 / (2.0 * device.memory_bus_bits) / 1e3);
    device.shared_per_sm = static_cast<std::uint32_t>(gpu.shared.bytes);
    device.shared_per_block = 48 << 10;
    device.shared_per_block_opt_in = static_cast<std::uint32_t>(gpu.shared.bytes_per_cta);
    device.shared_reserved = static_cast<std::uint32_t>(gpu.shared.reserved_per_cta);
    answer.content.put(options_.devices);
    for (unsigned i = 0; i < options_.devices; ++i) answer.content.put(device);
}

void VirtualGpu::set_limit(Reader& content, Answer&) {
    if (content.get<std::uint32_t>() == 2) heap_bytes_ = content.get<std::uint64_t>();
}

void VirtualGpu::without_effect(Reader& content, Answer&) {
    without_effect_.insert(std::string(content.get_text()));
}

void VirtualGpu::observe(Reader& content, Answer&) {
    observation_ = content.get<std::uint32_t>();
}

void VirtualGpu::last_launch(Reader&, Answer& answer) {
    std::string text = "{\"launches\":[";
    for (std::size_t i = 0; i < observed_.size(); ++i) text += (i == 0 ? "" : ",") + observed_[i];
    nlohmann::json findings = nlohmann::json::array();
    for (const ptx::CheckFinding& finding : observed_log_.findings())
        findings.push_back({{"kind", std::string(ptx::name_of(finding.kind))}, {"text", finding.text}, {"ptx_line", finding.line}, {"count", finding.count}});
    text += "],\"findings\":" + findings.dump() + "}";
    observed_.clear();
    observed_log_ = ptx::CheckLog();
    answer.content.put_bytes(text.data(), text.size());
}

void VirtualGpu::forget_caches(Reader&, Answer&) {
    residency_ = sim::L2Residency(machine_.config.l2.bytes_per_partition());
}

void VirtualGpu::missing(Reader& content, Answer&) {
    missing_.insert(std::string(content.get_text()));
}

std::vector<sim::RunResult> VirtualGpu::results(const std::string& workload) {
    std::vector<sim::RunResult> results;
    for (std::size_t device = 0; device < timelines_.size(); ++device) {
        sim::RunResult result = timelines_[device].result(
            device == 0 ? workload : fmt::format("{} device {}", workload, device), hardware_);
        if (result.kernels.empty() && (device != 0 || launches_ == 0)) continue;
        if (device == 0 && untimed_ != 0)
            result.notes.push_back(
                fmt::format("{} of {} launches were computed and not timed: their time is in none of these figures", untimed_, launches_));
        if (device == 0 && !options_.range.empty() && !seen_ranges_.contains(options_.range)) {
            std::string names;
            for (const std::string& name : seen_ranges_) names += (names.empty() ? "" : ", ") + name;
            result.notes.push_back(fmt::format("the program marked no range `{}` by NVTX, so nothing was timed; it marked {}", options_.range,
                                               names.empty() ? "none" : names));
        }
        for (const ptx::CheckFinding& finding : log_.findings()) result.notes.push_back(finding.text);
        for (const std::string& name : without_effect_) result.notes.push_back("the program asked for " + name + ", which changes no time here");
        for (const std::string& name : missing_)
            result.notes.push_back("the program called " + name + ", which is not there: it returned an error");
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace heddle::driver
