// Modules and what is in them: kernels, variables, and what a kernel needs of the device.
#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "driver/server/fat_binary.h"
#include "driver/server/loaded_function.h"
#include "isa/common/error.h"
#include "isa/ptx/parser.h"
#include "isa/sass/load.h"
#include "models/gpu/occupancy.h"
#include "sim/kernel/assemble.h"

namespace heddle::driver {
namespace {

/// Major versions of PTX that are known: 9 came with CUDA 13.
constexpr unsigned kNewestPtx = 9;

/// 90 of "sm_90a": the virtual architecture that PTX was compiled for. Libraries of templates choose among their kernels by it.
std::uint32_t architecture_of(const std::string& target) {
    const std::size_t digits = target.find_first_of("0123456789");
    return digits == std::string::npos ? 0 : static_cast<std::uint32_t>(std::strtoul(target.c_str() + digits, nullptr, 10));
}

/// Machine code runs on devices of its own generation that are not older.
void require_generation(const sass::Cubin& cubin, unsigned capability) {
    if (cubin.compute_capability / 10 == capability / 10 && cubin.compute_capability <= capability) return;
    throw Error("the machine code is for sm_" + std::to_string(cubin.compute_capability) + ", which a device of sm_" + std::to_string(capability) + " does not run",
                {cubin.file_name, 0, ""}, "compile with -gencode arch=compute_" + std::to_string(capability) + ",code=compute_" + std::to_string(capability),
                Error::Kind::no_image);
}

/// The initial values of a module's .const variables, in the order of the bank.
std::vector<std::byte> initial_constants(const sass::Cubin* cubin, const std::shared_ptr<const ptx::Module>& module, unsigned capability) {
    if (cubin != nullptr) return cubin->constant3;
    // The bank is laid out when a kernel is decoded: any will do.
    if (module->kernels.empty()) return {};
    const ptx::LoadedKernel any(module, module->kernels.front().name, capability);
    return {any.constants().begin(), any.constants().end()};
}

/// PTX that was given as such says itself what it is for.
void check_target(const ptx::Module& module, unsigned compute_capability) {
    if (architecture_of(module.target) > compute_capability)
        throw Error("the PTX is for " + module.target + ", and the device's compute capability is " + std::to_string(compute_capability / 10) + "." + std::to_string(compute_capability % 10),
                    {}, "compile with -gencode arch=compute_" + std::to_string(compute_capability) + ",code=compute_" + std::to_string(compute_capability), Error::Kind::no_image);
}

}  // namespace

Code code_named(const std::string& name) {
    if (name == "auto") return Code::automatic;
    if (name == "ptx") return Code::ptx;
    if (name == "machine") return Code::machine;
    throw Error("there is no kind of code `" + name + "`", {"code", 0, ""}, "known: auto, ptx, machine");
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
    std::vector<Image> images;
    try {
        images = read_images(content.rest());
    } catch (const Error& error) {
        answer.status = Status::invalid_image;
        answer.message = error.what();
        return;
    }
    try {
        const std::uint32_t number = next_++;
        auto module = std::make_unique<Module>();
        module->name = "module " + std::to_string(number);
        const unsigned capability = machine_.config.compute_capability;
        const Image* const text = choose_ptx(images, capability);
        const Image* const machine_code = choose_machine_code(images, capability);
        const bool as_machine_code = machine_code != nullptr && (options_.code == Code::machine || (options_.code == Code::automatic && text == nullptr));
        if (!as_machine_code && (text == nullptr || options_.code == Code::machine)) report_no_image(images, capability);
        const std::string code = as_machine_code ? machine_code->content() : text->content();
        if (as_machine_code) {
            module->cubin = std::make_shared<const sass::Cubin>(sass::read_cubin(std::as_bytes(std::span(code)), module->name));
            require_generation(*module->cubin, capability);
            module->module = sass::declarations_of(*module->cubin);
        } else {
            module->module = ptx::parse_shared(code, module->name);
            if (module->module->version_major > kNewestPtx) {
                answer.status = Status::unsupported_ptx_version;
                answer.message = "PTX of version " + std::to_string(module->module->version_major) + "." + std::to_string(module->module->version_minor) +
                                 " is newer than this driver; compile with a CUDA toolkit of version 13 or older";
                return;
            }
            check_target(*module->module, capability);
            if (options_.through_ptxas) {
                module->cubin = kernel::assemble(code, capability, module->name);
                module->module = sass::declarations_of(*module->cubin);
            }
        }
        module->code = identity_of(options_.through_ptxas && !as_machine_code ? "through ptxas\n" + code : code);
        memory_.set_module(module->name);
        ptx::allocate_module_variables(module->module->variables, memory_);
        for (const ptx::Variable& variable : module->module->variables)
            if (variable.space == ptx::StateSpace::constant)
                module->constant_bytes = std::max(module->constant_bytes, variable.offset + variable.bytes);
        answer.content.put(number);
        modules_[number] = std::move(module);
    } catch (const Error& error) {
        answer.status = error.kind() == Error::Kind::no_image ? Status::no_binary_for_gpu : Status::invalid_ptx;
        answer.message = error.what();
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
                module.cubin ? sass::load_kernel(*module.cubin, name) : module.module, name, machine_.config.compute_capability,
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
    description.ptx_architecture = architecture_of(function.module->module->target);
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
                const std::vector<std::byte> initial = initial_constants(module.cubin.get(), module.module, machine_.config.compute_capability);
                if (initial.empty()) break;
                module.constant_bytes = initial.size();
                module.constants = memory_.allocate(module.name + " constants", module.constant_bytes, true);
                memory_.write(module.constants, initial);
            }
            address = module.constants + variable.offset;
        }
        if (address == 0) break;
        answer.content.put(address).put(variable.bytes);
        return;
    }
    answer.status = Status::not_found;
}

void VirtualGpu::unload_module(Reader&, Answer&) {}  // kernels may still run

void VirtualGpu::list_functions(Reader& content, Answer& answer) {
    for (const ptx::Kernel& kernel : module_of(content.get<std::uint32_t>()).module->kernels) answer.content.put_text(kernel.name);
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

}  // namespace heddle::driver
