// Launches: what a kernel is given, how long it takes, and what the report calls it.
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "driver/server/loaded_function.h"
#include "driver/server/observed_launch.h"
#include "isa/target/generation.h"
#include "models/gpu/occupancy.h"
#include "sim/gpu/time/launch_result.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::driver {
namespace {

ptx::Dim3 dimensions(const std::uint32_t (&size)[3]) {
    return {size[0], size[1], size[2]};
}

/// "add(float*, int)" of "_Z3addPfi", without what it returns.
std::string readable_name(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0) return symbol;
    const std::string text = name.get();
    return text.rfind("void ", 0) == 0 ? text.substr(5) : text;
}

/// The function alone: without parameters, arguments of templates and namespaces.
std::string short_name(std::string name) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    for (std::size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous)) name.erase(at, kAnonymous.size());
    std::string text;
    unsigned depth = 0;
    for (const char c : name) {
        if (c == '<') ++depth;
        if (c == '(' && depth == 0) break;
        if (depth == 0) text += c;
        if (c == '>' && depth != 0) --depth;
    }
    const std::size_t scope = text.rfind("::");
    return scope == std::string::npos ? text : text.substr(scope + 2);
}

ptx::CachePriority priority_of(std::uint32_t property) {
    return property == 2 ? ptx::CachePriority::last : property == 1 ? ptx::CachePriority::first : ptx::CachePriority::normal;
}

std::string shape_of(const LaunchRequest& request) {
    return fmt::format("{}x{}x{} {}x{}x{} {}", request.grid[0], request.grid[1], request.grid[2], request.block[0],
                       request.block[1], request.block[2], request.shared_bytes);
}

}  // namespace

ptx::LaunchContext VirtualGpu::context_of(const LaunchRequest& request, Function& function,
                                          std::string_view parameters) {
    ptx::LaunchContext context;
    context.kernel = function.kernel.get();
    context.grid = dimensions(request.grid);
    context.block = dimensions(request.block);
    context.cluster = dimensions(request.cluster);
    const std::uint32_t* required = function.declaration->required_cluster;
    if (required[0] != 0 && context.cluster.count() == 1) context.cluster = {required[0], required[1], required[2]};
    context.dynamic_shared_bytes = request.shared_bytes;
    const auto* bytes = reinterpret_cast<const std::byte*>(parameters.data());
    context.parameters.assign(bytes, bytes + parameters.size());
    context.memory = &memory_;
    context.textures = &textures_;
    context.print = [this](std::string_view text) { printed_ += text; };
    context.compute_capability = machine_.config.compute_capability;
    context.nanoseconds_per_cycle = 1e9 / machine_.config.clock;
    context.heap_bytes = heap_bytes_;
    context.threads = sim::available_cores();
    if (function.module->constants != 0)
        context.constants = {arena_.at(function.module->constants), function.module->constant_bytes};
    if (options_.check) context.check = &log_;
    constexpr std::uint32_t kChecked = kObserveCheck | kObserveValuesAlone;
    if ((observation_ & kChecked) == kChecked) context.check = &observed_log_;
    if (request.window.bytes != 0)
        context.access_policy_window = {request.window.base, request.window.bytes, request.window.hit_ratio, priority_of(request.window.hit), priority_of(request.window.miss)};
    if (context.kernel->reads_clock()) context.start_nanoseconds = nanoseconds(request.stream);
    return context;
}

// Where nothing is timed, the clock goes on by what the kernels that read it do.
double VirtualGpu::nanoseconds(std::uint32_t stream) {
    const double simulated = timing() ? timeline(stream).next(stream).start_us * 1e3 : 0;
    return std::max(simulated, clock_nanoseconds_);
}

/// Cycles in which a programmatic launch lies beside the kernel before it in its stream: from where that one allows it, or where the host has handed
/// it out, to its end. The kernel before must be the last work of the stream.
std::uint64_t VirtualGpu::cycles_beside(const LaunchRequest& request) {
    const auto before = last_launches_.find(request.stream);
    if (request.programmatic == 0 || !timing() || before == last_launches_.end()) return 0;
    if (!target::nearest_generation(machine_.config.compute_capability).has_programmatic_launch) return 0;
    const DeviceTimeline::Place place = timeline(request.stream).next(request.stream);
    const double ahead_us = place.start_us - place.launched_us - machine_.config.host.latency * 1e6;
    const auto ahead = static_cast<std::uint64_t>(std::max(0.0, ahead_us * 1e-6 * machine_.config.clock));
    return std::min(before->second.cycles - before->second.dependents_start, ahead);
}

void VirtualGpu::launch(Reader& content, Answer&) {
    const auto request = content.get<LaunchRequest>();
    Function& function = function_of(request.function);
    memory_.set_module(function.module->name);
    ptx::LaunchContext context = context_of(request, function, content.rest());
    // Also where nothing is timed, a launch that the device has no room for fails.
    models::gpu::occupancy(machine_.config, static_cast<unsigned>(context.block.count()),
                           function.kernel->registers_per_thread(),
                           function.kernel->static_shared_bytes() + std::uint64_t{context.dynamic_shared_bytes});
    std::uint64_t workspace = 0;
    if (request.cooperative != 0) {
        models::gpu::check_cooperative(
            machine_.config, context, function.kernel->registers_per_thread(),
            function.kernel->static_shared_bytes() + std::uint64_t{context.dynamic_shared_bytes});
        ptx::make_cooperative(context);
        workspace = context.grid_workspace;
    }
    run(request, function, context);
    if (workspace != 0) memory_.release(workspace);
}

bool VirtualGpu::is_timed(const Function& function, const std::string& shape) const {
    if (!timing()) return false;
    if (options_.timing == Timing::named) return function.kernel->name().find(options_.kernel) != std::string::npos;
    return options_.timing == Timing::all || !known_.contains(function.kernel->name() + " " + shape);
}

void VirtualGpu::run(const LaunchRequest& request, Function& function, ptx::LaunchContext& context, const LibraryName* library) {
    ++launches_;
    const std::string shape = shape_of(request);
    sim::LaunchOutcome outcome;
    const std::uint64_t beside = cycles_beside(request);
    last_launches_.erase(request.stream);
    if (is_timed(function, shape)) {
        models::gpu::RunOptions options;
        add_residents(context, options);
        // Its thread blocks start launch.before after it, and wait in griddepcontrol.wait for the end of the one before.
        const auto start = static_cast<std::uint64_t>(std::llround(machine_.config.launch.before * machine_.config.clock));
        options.dependency_release = beside > start ? beside - start : 0;
        const bool observed = (observation_ & kObserveLaunches) != 0;
        LaunchProfile profile;
        TimingWishes wishes;
        wishes.values = (observation_ & kObserveTimeAlone) == 0;
        wishes.sample = (observation_ & kObserveSample) != 0;
        if (observed) wishes.profile = &profile;
        outcome = model_.run(context, options, function.module->code, wishes);
        if (observed) observed_.push_back(observed_launch(*function.kernel, *function.module->module, context, outcome, &profile));
        if (options_.timing == Timing::distinct) known_[function.kernel->name() + " " + shape] = outcome;
    } else {
        const std::uint64_t instructions = ptx::run_functionally(context);
        if ((observation_ & kObserveLaunches) != 0) {
            sim::LaunchOutcome computed;
            computed.warp_instructions = instructions;
            observed_.push_back(observed_launch(*function.kernel, *function.module->module, context, computed, nullptr));
        }
        if (context.kernel->reads_clock()) clock_nanoseconds_ = context.start_nanoseconds + static_cast<double>(instructions) * context.nanoseconds_per_cycle;
        const auto known = known_.find(function.kernel->name() + " " + shape);
        if (!timing() || known == known_.end()) {
            ++untimed_;
            return;
        }
        outcome = known->second;
        outcome.warp_instructions = instructions;
    }
    last_launches_[request.stream] = {outcome.cycles, outcome.dependents_start};
    sim::KernelResult kernel = sim::kernel_result(function.kernel->name(), context.grid, context.block, outcome, machine_.config, std::min(beside, outcome.cycles));
    kernel.kind = "kernel";
    kernel.recorded_kernel = kernel.name;
    kernel.name = readable_name(kernel.name);
    kernel.op_name = fmt::format("{} {}x{}", short_name(kernel.name), context.grid.count(), context.block.count());
    kernel.phase = innermost_range();
    if (library != nullptr) {
        kernel.op_name = library->label;
        kernel.kind = library->kind;
        kernel.flops = library->flops;
    }
    timeline(request.stream).add_kernel(request.stream, std::move(kernel), request.priority);
}

/// What earlier launches left in L2 of the buffers that pointers among the parameters lead to.
void VirtualGpu::add_residents(const ptx::LaunchContext& context, models::gpu::RunOptions& options) {
    std::vector<const ptx::Allocation*> used;
    for (std::size_t at = 0; at + 8 <= context.parameters.size(); at += 8) {
        std::uint64_t address = 0;
        std::memcpy(&address, context.parameters.data() + at, sizeof address);
        if (const ptx::TexelImage* const image = textures_.image(address)) address = image->address;
        if (address < kMemoryBase || address >= kMemoryBase + kMemoryBytes) continue;
        const ptx::Allocation* allocation = memory_.find(address, 1);
        if (allocation != nullptr && std::find(used.begin(), used.end(), allocation) == used.end())
            used.push_back(allocation);
    }
    for (const ptx::Allocation* allocation : used) {
        const std::uint64_t resident = residency_.resident_bytes(allocation->base, allocation->bytes);
        if (resident > 0)
            options.resident.push_back({allocation->base + allocation->bytes - resident, resident, false});
    }
    for (const ptx::Allocation* allocation : used) residency_.touch(allocation->base, allocation->bytes);
}

}  // namespace heddle::driver
