#include "driver/server/virtual_gpu.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "driver/server/fat_binary.h"
#include "driver/server/loaded_function.h"
#include "isa/common/error.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "models/gpu/occupancy.h"
#include "sim/gpu/time/launch_result.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::driver {
namespace {

/// What a kernel that failed leaves behind, by what went wrong.
Status status_of(const std::string& problem) {
    const auto has = [&](const char* word) { return problem.find(word) != std::string::npos; };
    if (has("assertion")) return Status::assert;
    if (has("executed trap")) return Status::launch_failed;
    if (has("isaligned") || has("multiple of")) return Status::misaligned_address;
    if (has("cooperative")) return Status::cooperative_launch_too_large;
    if (has("outside") || has("beyond") || has("no memory") || has("bounds")) return Status::illegal_address;
    if (has("shared memory") || has("registers") || has("threads")) return Status::launch_out_of_resources;
    return Status::launch_failed;
}

/// What CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT says: any allocation may be read through a texture.
constexpr std::uint64_t kAllocationAlignment = 512;

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

std::uint32_t device_of(std::uint32_t stream) {
    return stream >> kDeviceShift;
}

std::string shape_of(const LaunchRequest& request) {
    return fmt::format("{}x{}x{} {}x{}x{} {}", request.grid[0], request.grid[1], request.grid[2], request.block[0],
                       request.block[1], request.block[2], request.shared_bytes);
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

std::optional<Answer> VirtualGpu::handle(Call call, Reader content) {
    Answer answer;
    bool answers = true;
    try {
        if (sticky_ != Status::success && call != Call::hello) {
            answer.status = sticky_;
        } else {
            switch (call) {
                case Call::hello:
                    hello(content, answer);
                    break;
                case Call::allocate:
                    allocate(content, answer);
                    break;
                case Call::release:
                    release(content);
                    break;
                case Call::memory_info:
                    answer.content.put(machine_.step.memory_bytes - machine_.step.context_bytes - used_bytes_)
                        .put(machine_.step.memory_bytes);
                    break;
                case Call::load_module:
                    load_module(content, answer);
                    break;
                case Call::unload_module:
                    break;
                case Call::list_functions:
                    for (const ptx::Kernel& kernel : module_of(content.get<std::uint32_t>()).module->kernels)
                        answer.content.put_text(kernel.name);
                    break;
                case Call::function:
                    function(content, answer);
                    break;
                case Call::variable:
                    variable(content, answer);
                    break;
                case Call::launch:
                    launch(content);
                    break;
                case Call::copy:
                    copy(content);
                    break;
                case Call::fill:
                    fill(content);
                    break;
                case Call::record_event: {
                    const auto event = content.get<std::uint32_t>();
                    const auto stream = content.get<std::uint32_t>();
                    timeline(stream).record(event, stream);
                    event_devices_[event] = device_of(stream);
                    break;
                }
                case Call::wait_event: {
                    const auto stream = content.get<std::uint32_t>();
                    wait(stream, content.get<std::uint32_t>());
                    break;
                }
                case Call::synchronise: {
                    const auto all = content.get<std::uint32_t>();
                    const auto stream = content.get<std::uint32_t>();
                    if (all == 0)
                        timeline(stream).synchronise(stream);
                    else
                        timeline(stream).synchronise_all();
                    break;
                }
                case Call::wait_host:
                {
                    const auto event = content.get<std::uint32_t>();
                    timelines_[event_devices_[event]].synchronise_event(event);
                    break;
                }
                case Call::non_blocking: {
                    const auto stream = content.get<std::uint32_t>();
                    timeline(stream).set_non_blocking(stream);
                    break;
                }
                case Call::tensor_map:
                    tensor_map(content, answer);
                    break;
                case Call::create_texture:
                case Call::create_surface:
                    create_texture(content, call == Call::create_surface, answer);
                    break;
                case Call::destroy_texture:
                    textures_.remove(content.get<std::uint64_t>());
                    break;
                case Call::elapsed:
                    elapsed(content, answer);
                    break;
                case Call::occupancy:
                    occupancy(content, answer);
                    break;
                case Call::set_limit:
                    if (content.get<std::uint32_t>() == 2) heap_bytes_ = content.get<std::uint64_t>();
                    break;
                case Call::blas:
                    blas(content, answer);
                    break;
                case Call::range:
                    range(content);
                    break;
                case Call::profiler:
                    profiling_ = content.get<std::uint32_t>() != 0;
                    break;
                case Call::board:
                    board(content, answer);
                    break;
                case Call::reserve:
                    reserve(content, answer);
                    break;
                case Call::give_up:
                    give_up(content);
                    break;
                case Call::remap:
                    remap(content);
                    break;
                case Call::reachable:
                    reachable(content);
                    break;
                case Call::alias:
                    alias(content);
                    break;
                case Call::end_alias:
                    end_alias(content);
                    break;
                case Call::missing: {
                    const std::string name(content.get_text());
                    missing_.insert(name);
                    break;
                }
                default:
                    answer.status = Status::invalid_value;
            }
        }
    } catch (const Error& error) {
        answer.status = status_of(error.problem());
        answer.message = error.what();
    }
    switch (call) {
        case Call::launch:
        case Call::copy:
        case Call::fill:
        case Call::record_event:
        case Call::wait_event:
        case Call::non_blocking:
        case Call::set_limit:
        case Call::profiler:
        case Call::range:
        case Call::missing:
        case Call::destroy_texture:
            answers = false;
            break;
        default:
            break;
    }
    if (!answers) {
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

void VirtualGpu::allocate(Reader& content, Answer& answer) {
    const auto device = content.get<std::uint32_t>();
    const auto bytes = content.get<std::uint64_t>();
    const auto kind = content.get<MemoryKind>();
    const bool counts = kind == MemoryKind::device;
    const std::uint64_t room = (machine_.step.memory_bytes - machine_.step.context_bytes) * options_.devices;
    if (bytes == 0) {
        answer.status = Status::invalid_value;
        return;
    }
    if (bytes > kMemoryBytes / 2 || (counts && (used_bytes_ > room || bytes > room - used_bytes_))) {
        answer.status = Status::out_of_memory;
        return;
    }
    const std::uint64_t base =
        memory_.allocate(fmt::format("{} {} of device {}", counts ? "allocation" : "host allocation", next_++, device), bytes, true, kAllocationAlignment);
    if (counts) {
        used_bytes_ += bytes;
        allocated_[base] = bytes;
    } else {
        shared_with_host_.insert(base);
    }
    answer.content.put(base);
}

std::span<std::byte> VirtualGpu::bytes_at(std::uint64_t address, std::uint64_t count) {
    ptx::Allocation* const allocation = memory_.find(address, count);
    if (allocation == nullptr || !allocation->backed) return {};
    return {allocation->data.data() + (address - allocation->base), static_cast<std::size_t>(count)};
}

void VirtualGpu::for_each_shared_with_host(const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit) {
    for (const std::uint64_t base : shared_with_host_)
        if (const ptx::Allocation* const allocation = memory_.find(base, 1)) visit(base, {allocation->data.data(), allocation->data.size()});
}

void VirtualGpu::release(Reader& content) {
    const auto address = content.get<std::uint64_t>();
    if (!memory_.release(address)) throw Error("nothing was allocated at the address that is freed");
    shared_with_host_.erase(address);
    if (const auto found = allocated_.find(address); found != allocated_.end()) {
        used_bytes_ -= found->second;
        allocated_.erase(found);
    }
}

VirtualGpu::Module& VirtualGpu::module_of(std::uint32_t number) {
    const auto found = modules_.find(number);
    if (found == modules_.end()) throw Error("there is no module of this handle");
    return *found->second;
}

VirtualGpu::Function& VirtualGpu::function_of(std::uint32_t number) {
    const auto found = functions_.find(number);
    if (found == functions_.end()) throw Error("there is no function of this handle");
    return *found->second;
}

void VirtualGpu::load_module(Reader& content, Answer& answer) {
    content.get<std::uint32_t>();  // device: all have the same modules
    try {
        const std::vector<Image> images = read_images(content.rest());
        const Image& image = choose_image(images, machine_.config.compute_capability);
        const std::uint32_t number = next_++;
        auto module = std::make_unique<Module>();
        module->name = "module " + std::to_string(number);
        module->module = ptx::parse_shared(image.text, module->name);
        module->code = identity_of(image.text);
        memory_.set_module(module->name);
        ptx::allocate_module_variables(module->module->variables, memory_);
        for (const ptx::Variable& variable : module->module->variables)
            if (variable.space == ptx::StateSpace::constant)
                module->constant_bytes = std::max(module->constant_bytes, variable.offset + variable.bytes);
        answer.content.put(number);
        modules_[number] = std::move(module);
    } catch (const Error& error) {
        const std::string text = error.what();
        answer.status = text.find("-gencode") != std::string::npos ? Status::no_binary_for_gpu : Status::invalid_ptx;
        answer.message = text;
    }
}

void VirtualGpu::function(Reader& content, Answer& answer) {
    const auto number = content.get<std::uint32_t>();
    Module& module = module_of(number);
    const std::string name(content.get_text());
    std::uint32_t& handle = module.functions[name];
    if (handle == 0) {
        const auto found = std::find_if(module.module->kernels.begin(), module.module->kernels.end(),
                                        [&](const ptx::Kernel& kernel) { return kernel.name == name; });
        if (found == module.module->kernels.end()) {
            answer.status = Status::not_found;
            return;
        }
        auto function = std::make_unique<Function>();
        function->module = &module;
        function->declaration = &*found;
        try {
            function->kernel = std::make_unique<ptx::LoadedKernel>(
                module.module, name, machine_.config.compute_capability,
                options_.timing == Timing::none ? ptx::Assembly::as_written : ptx::Assembly::scheduled);
        } catch (const Error& error) {
            answer.status = Status::not_supported;
            answer.message = error.what();
            return;
        }
        const std::span<const std::byte> constants = function->kernel->constants();
        if (module.constants == 0 && !constants.empty()) {
            module.constant_bytes = constants.size();
            module.constants = memory_.allocate(module.name + " constants", constants.size(), true);
            memory_.write(module.constants, constants);
        }
        handle = next_++;
        functions_[handle] = std::move(function);
    }
    const Function& function = *functions_[handle];
    const ptx::LoadedKernel& kernel = *function.kernel;
    FunctionDescription description{};
    description.function = handle;
    description.registers = kernel.registers_per_thread();
    description.shared_bytes = kernel.static_shared_bytes();
    description.constant_bytes = static_cast<std::uint32_t>(kernel.constants().size());
    description.local_bytes = function.declaration->local_bytes;
    const std::uint32_t* limit = function.declaration->maximum_threads;
    description.maximum_threads = limit[0] != 0 ? limit[0] * limit[1] * limit[2] : 1024;
    const std::uint32_t by_registers = machine_.config.sm.registers / std::max(1u, models::gpu::allocated_registers(machine_.config.sm, description.registers)) / 32 * 32;
    description.maximum_threads = std::min(description.maximum_threads, std::max(32u, by_registers));
    description.parameter_bytes = kernel.parameter_bytes();
    description.parameters = static_cast<std::uint32_t>(kernel.parameters().size());
    description.ptx_version = function.module->module->version_major * 10 + function.module->module->version_minor;
    std::copy(std::begin(function.declaration->required_cluster), std::end(function.declaration->required_cluster),
              description.required_cluster);
    answer.content.put(description);
    for (const ptx::Parameter& parameter : kernel.parameters())
        answer.content.put(ParameterDescription{static_cast<std::uint32_t>(parameter.offset), static_cast<std::uint32_t>(parameter.bytes)});
}

void VirtualGpu::variable(Reader& content, Answer& answer) {
    Module& module = module_of(content.get<std::uint32_t>());
    const std::string name(content.get_text());
    for (const ptx::Variable& variable : module.module->variables) {
        if (variable.name != name) continue;
        memory_.set_module(module.name);
        std::uint64_t address = ptx::module_variable_address(memory_, name);
        if (variable.space == ptx::StateSpace::constant) {
            if (module.constants == 0) {
                // The bank is laid out when a kernel is decoded; before that any kernel will do.
                if (module.module->kernels.empty()) break;
                const ptx::LoadedKernel any(module.module, module.module->kernels.front().name, machine_.config.compute_capability);
                module.constant_bytes = any.constants().size();
                module.constants = memory_.allocate(module.name + " constants", module.constant_bytes, true);
                memory_.write(module.constants, any.constants());
            }
            address = module.constants + variable.offset;
        }
        if (address == 0) break;
        answer.content.put(address).put(variable.bytes);
        return;
    }
    answer.status = Status::not_found;
}

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
    return context;
}

void VirtualGpu::launch(Reader& content) {
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
    if (request.programmatic != 0) ++programmatic_;
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
    if (is_timed(function, shape)) {
        models::gpu::RunOptions options;
        add_residents(context, options);
        outcome = model_.run(context, options, function.module->code);
        if (options_.timing == Timing::distinct) known_[function.kernel->name() + " " + shape] = outcome;
    } else {
        const std::uint64_t instructions = ptx::run_functionally(context);
        const auto known = known_.find(function.kernel->name() + " " + shape);
        if (!timing() || known == known_.end()) {
            ++untimed_;
            return;
        }
        outcome = known->second;
        outcome.warp_instructions = instructions;
    }
    sim::KernelResult kernel = sim::kernel_result(function.kernel->name(), context.grid, context.block, outcome, machine_.config);
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
    timeline(request.stream).add_kernel(request.stream, std::move(kernel));
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

void VirtualGpu::copy(Reader& content) {
    const auto request = content.get<CopyRequest>();
    if (request.done == 0) {
        std::vector<std::byte> bytes(request.bytes);
        memory_.read(request.from, bytes);
        memory_.write(request.to, bytes);
    }
    if (!timing()) return;
    const models::gpu::GpuConfig& config = machine_.config;
    const auto bytes = static_cast<double>(request.bytes);
    const double link = config.host.latency + bytes / config.host.bandwidth;
    switch (request.kind) {
        case CopyKind::host_to_device:
            timeline(request.stream).add_copy(request.stream, "copy from host", bytes, link, true, request.waits != 0);
            break;
        case CopyKind::device_to_host:
            timeline(request.stream).add_copy(request.stream, "copy to host", bytes, link, true, request.waits != 0);
            break;
        case CopyKind::peer:
            timeline(request.stream).add_copy(request.stream, "copy to another device", bytes, link, true, request.waits != 0);
            break;
        case CopyKind::device_to_device:
            timeline(request.stream).add_copy(request.stream, "copy on the device", bytes,
                               config.launch.before + config.launch.after + 2 * bytes / config.hbm.bandwidth, false, request.waits != 0);
            break;
        case CopyKind::host_to_host:
            break;
    }
}

void VirtualGpu::fill(Reader& content) {
    const auto request = content.get<FillRequest>();
    const std::uint64_t row = request.width * request.element_bytes;
    std::vector<std::byte> bytes(row);
    for (std::uint64_t i = 0; i < row; ++i)
        bytes[i] = static_cast<std::byte>(request.value >> (8 * (i % request.element_bytes)));
    for (std::uint64_t y = 0; y < request.height; ++y) memory_.write(request.to + y * request.pitch, bytes);
    if (!timing()) return;
    const double all = static_cast<double>(row * request.height);
    timeline(request.stream).add_copy(request.stream, "fill", all,
                       machine_.config.launch.before + machine_.config.launch.after + all / machine_.config.hbm.bandwidth,
                       false, false);
}

void VirtualGpu::occupancy(Reader& content, Answer& answer) {
    const Function& function = function_of(content.get<std::uint32_t>());
    const auto threads = content.get<std::uint32_t>();
    const auto shared = content.get<std::uint64_t>();
    std::uint32_t blocks = 0;
    try {
        blocks = models::gpu::occupancy(machine_.config, threads, function.kernel->registers_per_thread(),
                                        function.kernel->static_shared_bytes() + shared)
                     .ctas_per_sm;
    } catch (const Error&) {  // not one fits
    }
    answer.content.put(blocks);
}

void VirtualGpu::tensor_map(Reader& content, Answer& answer) {
    ptx::TensorMap map;
    map.type = static_cast<ptx::TensorMapType>(content.get<std::uint32_t>());
    map.rank = static_cast<std::uint8_t>(content.get<std::uint32_t>());
    map.address = content.get<std::uint64_t>();
    map.interleave = static_cast<std::uint8_t>(content.get<std::uint32_t>());
    map.swizzle = static_cast<ptx::TensorMapSwizzle>(content.get<std::uint32_t>());
    map.promotion = static_cast<ptx::TensorMapPromotion>(content.get<std::uint32_t>());
    map.fill = static_cast<ptx::TensorMapFill>(content.get<std::uint32_t>());
    for (unsigned i = 0; i < map.rank && i < ptx::kMaximumTensorRank; ++i) {
        map.sizes[i] = content.get<std::uint64_t>();
        const auto stride = content.get<std::uint64_t>();
        if (i + 1 < map.rank) map.strides[i] = stride;
        map.box[i] = content.get<std::uint32_t>();
        map.element_strides[i] = content.get<std::uint32_t>();
    }
    try {
        answer.content.put(map.encode());
    } catch (const Error& error) {
        answer.status = Status::invalid_value;
        answer.message = error.what();
    }
}

void VirtualGpu::elapsed(Reader& content, Answer& answer) {
    const auto from = content.get<std::uint32_t>(), to = content.get<std::uint32_t>();
    const std::uint32_t device = event_devices_[from];
    if (device != event_devices_[to] || !timelines_[device].is_recorded(from) || !timelines_[device].is_recorded(to)) {
        answer.status = Status::invalid_handle;
        return;
    }
    answer.content.put(static_cast<float>(timelines_[device].elapsed(from, to)));
}

// A range ends what began last in its thread, as NVTX has it; one that was started ends by its id, in any thread.
void VirtualGpu::range(Reader& content) {
    const auto action = content.get<std::uint32_t>();
    const auto id = content.get<std::uint64_t>();
    const auto thread = content.get<std::uint32_t>();
    const bool begins = action == 0 || action == 2;
    if (begins) {
        ranges_.push_back({thread, id, std::string(content.get_text())});
        seen_ranges_.insert(ranges_.back().name);
        return;
    }
    const auto found = std::find_if(ranges_.rbegin(), ranges_.rend(), [&](const Range& range) {
        return action == 1 ? range.id == 0 && range.thread == thread : range.id == id;
    });
    if (found != ranges_.rend()) ranges_.erase(std::next(found).base());
}

bool VirtualGpu::in_range() const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) { return range.name == options_.range; });
}

std::string VirtualGpu::innermost_range() const {
    return ranges_.empty() ? "" : ranges_.back().name;
}

DeviceTimeline& VirtualGpu::timeline(std::uint32_t stream) {
    const std::uint32_t device = device_of(stream);
    if (device >= timelines_.size()) throw Error("there is no device " + std::to_string(device));
    return timelines_[device];
}

// Devices have clocks of their own: one that waits for another goes on when that has done all that it was given.
void VirtualGpu::wait(std::uint32_t stream, std::uint32_t event) {
    const auto from = event_devices_.find(event);
    if (from == event_devices_.end()) return;  // as CUDA has it: what was never recorded is waited for in no time
    DeviceTimeline& waiting = timeline(stream);
    if (from->second == device_of(stream)) {
        waiting.wait(stream, event);
    } else {
        timelines_[from->second].synchronise_all();
        waiting.begin_no_earlier(timelines_[from->second].now_us());
    }
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
        if (programmatic_ != 0)
            result.notes.push_back(fmt::format(
                "{} programmatic launches began when the one before had ended: their overlap is not simulated", programmatic_));
        for (const std::string& name : missing_)
            result.notes.push_back("the program called " + name + ", which is not there: it returned an error");
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace heddle::driver
