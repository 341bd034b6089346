#include "validation/capture/simulator/machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/common/error.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "isa/target/generation.h"
#include "validation/capture/simulator/timing_model.h"

namespace heddle::capture {
namespace {

/// Of the virtual device. Hardware files do not say how much memory a device has, since no time depends on
/// it; this much a machine that runs the simulator has too.
constexpr std::uint64_t kDeviceMemory = std::uint64_t{4} << 30;
/// Memory that nobody has written holds ones: NaN in every format, so that a kernel which relies on zeros is
/// found here and not on a GPU.
constexpr std::byte kUndefined{0xff};
constexpr std::uint32_t kStaticSharedLimit = 48 << 10;  // ptxas refuses more

std::uint32_t maximum_threads(const ptx::Kernel& kernel) {
    const auto product = [](const std::uint32_t(&sides)[3]) {
        return std::max(1u, sides[0]) * std::max(1u, sides[1]) * std::max(1u, sides[2]);
    };
    if (kernel.required_threads[0] != 0) return product(kernel.required_threads);
    if (kernel.maximum_threads[0] != 0) return product(kernel.maximum_threads);
    return 1024;
}

ptx::Dim3 dimensions(const Extent3& extent) {
    return {extent[0], extent[1], extent[2]};
}

}  // namespace

Machine::Machine(sim::Hardware hardware) : hardware_(std::move(hardware)), residency_(config().l2.bytes) {}

std::uint64_t Machine::allocate(const std::string& name, std::uint64_t bytes) {
    if (bytes > free_bytes())
        throw Error("out of device memory: " + std::to_string(bytes) + " bytes are asked for, " +
                    std::to_string(free_bytes()) + " of the virtual device are left");
    const std::uint64_t base = memory_.allocate(name, bytes, true);
    if (ptx::Allocation* allocation = memory_.find(base, bytes))
        std::fill(allocation->data.begin(), allocation->data.end(), kUndefined);
    allocated_ += bytes;
    return base;
}

void Machine::release(std::uint64_t base) {
    const ptx::Allocation* allocation = memory_.find(base, 0);
    const std::uint64_t bytes = allocation == nullptr ? 0 : allocation->bytes;
    if (!memory_.release(base)) throw Error("no buffer begins at the address that is to be released");
    allocated_ -= bytes;
}

std::uint64_t Machine::free_bytes() const {
    return kDeviceMemory - allocated_;
}

void Machine::touch(std::uint64_t base, std::uint64_t bytes) {
    residency_.touch(base, bytes);
}

KernelHandle Machine::load(const std::string& text, const std::string& entry) {
    const auto known = handles_.find(entry + "\n" + text);
    if (known != handles_.end()) return known->second;
    auto kernel = std::make_unique<MachineKernel>();
    kernel->text = text;
    kernel->module = ptx::parse_shared(text, entry + ".ptx");
    const unsigned capability = config().compute_capability;
    const unsigned target = kernel->module->compute_capability;
    const bool one_device = kernel->module->target.ends_with('a');
    if (!target::runs_ptx(capability, target, one_device))
        throw Error("the module is for " + kernel->module->target + ", the device is sm_" +
                    std::to_string(capability));
    const ptx::Kernel* found = kernel->module->find(entry);
    if (found == nullptr) throw Error("the module has no kernel " + entry);
    kernel->loaded = std::make_unique<ptx::LoadedKernel>(kernel->module, entry, capability);
    kernel->reads_clock = kernel->loaded->reads_clock();
    kernel->local_bytes = found->local_bytes;
    kernel->maximum_threads = maximum_threads(*found);
    if (kernel->loaded->static_shared_bytes() > kStaticSharedLimit)
        throw Error("kernel " + entry + " declares " + std::to_string(kernel->loaded->static_shared_bytes()) +
                    " bytes of shared memory, at most " + std::to_string(kStaticSharedLimit) +
                    " may be static");
    ptx::allocate_module_variables(*kernel->loaded, memory_);
    const auto handle = static_cast<KernelHandle>(kernels_.size());
    kernels_.push_back(std::move(kernel));
    handles_.emplace(entry + "\n" + text, handle);
    return handle;
}

const MachineKernel& Machine::kernel(KernelHandle handle) const {
    if (handle >= kernels_.size()) throw Error("there is no kernel with handle " + std::to_string(handle));
    return *kernels_[handle];
}

// What a driver refuses (CUDA C++ Programming Guide, technical specifications) and a functional run would not
// notice.
void Machine::check_shape(const MachineKernel& kernel, const Launch& launch) const {
    const auto fail = [&](const std::string& problem) {
        throw Error("launch of " + kernel.loaded->name() + ": " + problem);
    };
    const std::uint64_t threads = dimensions(launch.block).count();
    if (threads == 0 || threads > kernel.maximum_threads)
        fail(std::to_string(threads) + " threads in a block, 1 to " + std::to_string(kernel.maximum_threads) +
             " are possible");
    if (dimensions(launch.grid).count() == 0) fail("an empty grid");
    if (launch.grid[0] > 0x7fffffffu || launch.grid[1] > 65535 || launch.grid[2] > 65535)
        fail("a grid of more than 2^31 - 1, 65535, 65535 blocks");
    const std::uint64_t shared =
        std::uint64_t{kernel.loaded->static_shared_bytes()} + launch.dynamic_shared_bytes;
    if (shared > config().shared.bytes_per_cta)
        fail(std::to_string(shared) + " bytes of shared memory, the device has " +
             std::to_string(config().shared.bytes_per_cta) + " for a block");
    const std::uint64_t registers = threads * kernel.loaded->registers_per_thread();
    if (registers > config().sm.registers) fail(std::to_string(registers) + " registers in a block");
    if (dimensions(launch.cluster).count() > std::max(1u, config().cluster.size))
        fail("clusters of " + std::to_string(dimensions(launch.cluster).count()) + " blocks, at most " +
             std::to_string(config().cluster.size) + " are possible");
}

void Machine::launch(const Launch& launch, std::vector<OperandRange> operands) {
    Prepared prepared;
    prepared.kernel = &kernel(launch.kernel);
    check_shape(*prepared.kernel, launch);
    ptx::LaunchContext& context = prepared.context;
    context.kernel = prepared.kernel->loaded.get();
    context.grid = dimensions(launch.grid);
    context.block = dimensions(launch.block);
    context.cluster = dimensions(launch.cluster);
    context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    context.parameters = ptx::pack_parameters(*context.kernel, launch.parameters);
    context.memory = &memory_;
    context.compute_capability = config().compute_capability;
    context.nanoseconds_per_cycle = 1e9 / config().clock;
    prepared.operands = operands.empty() ? operands_of(context) : std::move(operands);
    if (listener_ != nullptr) {
        listener_->push_back(std::move(prepared));
    } else {
        run(prepared);
    }
}

std::vector<OperandRange> Machine::operands_of(const ptx::LaunchContext& context) const {
    std::vector<OperandRange> operands;
    const auto add = [&](std::uint64_t address) {
        const ptx::Allocation* allocation = memory_.find(address, 1);
        if (allocation == nullptr) return;
        const OperandRange range{address, allocation->base + allocation->bytes - address};
        const bool known = std::any_of(operands.begin(), operands.end(),
                                       [&](const OperandRange& other) { return other.base == range.base; });
        if (!known) operands.push_back(range);
    };
    for (const ptx::Parameter& parameter : context.kernel->parameters()) {
        const auto bytes = std::span(context.parameters).subspan(parameter.offset, parameter.bytes);
        if (parameter.bytes == 8) {
            std::uint64_t address = 0;
            std::memcpy(&address, bytes.data(), sizeof address);
            add(address);
        } else if (parameter.bytes == ptx::kTensorMapBytes) {
            try {
                add(ptx::TensorMap::decode(bytes.first<ptx::kTensorMapBytes>()).address);
            } catch (const Error&) {  // a parameter of this size that is no tensor map
            }
        }
    }
    return operands;
}

void Machine::run(const Prepared& prepared) {
    if (prepared.kernel->reads_clock) {
        simulate(prepared, residency_);
        return;
    }
    ptx::run_functionally(prepared.context);
    touch(residency_, prepared);
}

void Machine::touch(sim::L2Residency& residency, const Prepared& prepared) {
    for (const OperandRange& operand : prepared.operands) residency.touch(operand.base, operand.bytes);
}

models::gpu::KernelResult Machine::simulate(const Prepared& prepared, sim::L2Residency& residency) {
    models::gpu::RunOptions options;
    for (const OperandRange& operand : prepared.operands) {
        const std::uint64_t resident = residency.resident_bytes(operand.base, operand.bytes);
        if (resident > 0)
            options.resident.push_back({operand.base + operand.bytes - resident, resident, false});
    }
    touch(residency, prepared);
    if (checked_) check_cycles(prepared, options);
    return timing_model(config()).run(prepared.context, options);
}

void Machine::check_cycles(const Prepared& prepared, const models::gpu::RunOptions& options) {
    // What a launch may count in or take turns by is small; larger buffers hold what is the same afterwards.
    constexpr std::uint64_t kKept = 1 << 16;
    std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> before;
    for (const OperandRange& operand : prepared.operands) {
        if (operand.bytes > kKept) continue;
        before.emplace_back(operand.base, std::vector<std::byte>(operand.bytes));
        memory_.read(operand.base, before.back().second);
    }
    const auto cycles = [&](ptx::Mode mode, bool every_cycle) {
        ptx::LaunchContext context = prepared.context;
        context.mode = mode;
        models::gpu::RunOptions chosen = options;
        chosen.tick_every_cycle = every_cycle;
        const models::Cycle found = timing_model(config()).run(context, chosen).cycles;
        for (const auto& [address, bytes] : before) memory_.write(address, bytes);
        return found;
    };
    const models::Cycle timing = cycles(ptx::Mode::timing, false),
                        every = cycles(ptx::Mode::functional, true);
    if (timing != every)
        throw Error("internal: " + prepared.kernel->loaded->name() + " takes " + std::to_string(timing) +
                    " cycles without values, " + std::to_string(every) +
                    " with them, looking at every cycle");
}

std::string Machine::key_of(const Prepared& prepared, const sim::L2Residency& residency) {
    std::string key;
    const auto add = [&key](const auto& value) {
        key.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    add(reinterpret_cast<std::uintptr_t>(prepared.kernel));
    add(prepared.context.grid);
    add(prepared.context.block);
    add(prepared.context.cluster);
    add(prepared.context.dynamic_shared_bytes);
    key.append(reinterpret_cast<const char*>(prepared.context.parameters.data()),
               prepared.context.parameters.size());
    for (const OperandRange& operand : prepared.operands)
        add(residency.resident_bytes(operand.base, operand.bytes));
    return key;
}

double Machine::time(const std::function<void()>& enqueue, bool cold_l2) {
    std::vector<Prepared> launches;
    struct Listening {
        std::vector<Prepared>*& listener;
        ~Listening() { listener = nullptr; }
    };
    {
        const Listening listening{listener_};
        listener_ = &launches;
        enqueue();
    }
    sim::L2Residency residency(config().l2.bytes);
    if (!cold_l2) {
        for (const Prepared& launch : launches) touch(residency, launch);
    }
    std::map<std::string, double> known;
    // Launches are timed as a CUDA graph (device.h).
    const double saved = config().launch.before - config().launch.graph_before;
    double seconds = 0;
    for (const Prepared& launch : launches) {
        const std::string key = key_of(launch, residency);
        auto time = known.find(key);
        if (time == known.end()) {
            time = known.emplace(key, simulate(launch, residency).seconds - saved).first;
        } else {
            run(launch);
            touch(residency, launch);
        }
        seconds += time->second;
    }
    residency_ = residency;
    return seconds;
}

}  // namespace heddle::capture
