// Calls of the stand-ins for cuBLAS: kernels of our own on the program's memory.
#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/server/blas.h"
#include "driver/server/loaded_function.h"
#include "driver/server/virtual_gpu.h"
#include "isa/common/error.h"
#include "isa/numerics/formats.h"
#include "isa/ptx/parser.h"
#include "isa/ptx/tensor_map.h"
#include "isa/sass/load.h"
#include "sim/kernel/assemble.h"

namespace heddle::driver {
namespace {

/// Memory that is given back when the call ends.
class Workspaces {
  public:
    explicit Workspaces(ptx::GlobalMemory& memory) : memory_(memory) {}
    ~Workspaces() {
        for (const std::uint64_t base : bases_) memory_.release(base);
    }
    Workspaces(const Workspaces&) = delete;
    Workspaces& operator=(const Workspaces&) = delete;
    std::uint64_t allocate(const std::string& name, std::uint64_t bytes) {
        bases_.push_back(memory_.allocate(name, bytes, true));
        return bases_.back();
    }

  private:
    ptx::GlobalMemory& memory_;
    std::vector<std::uint64_t> bases_;
};

std::vector<std::byte> parameters_of(const program::KernelLaunch& launch, const ptx::LoadedKernel& kernel,
                                     const std::vector<std::uint64_t>& addresses) {
    std::vector<std::vector<std::byte>> arguments;
    for (const program::Argument& argument : launch.arguments) {
        const std::optional<program::BufferId> buffer = program::buffer_of(argument);
        const std::uint64_t address = buffer ? addresses.at(*buffer) : 0;
        if (const auto* tensor = std::get_if<program::TensorMapArgument>(&argument)) {
            const auto bytes = ptx::make_tensor_map(tensor->map, address + tensor->offset).encode();
            arguments.emplace_back(bytes.begin(), bytes.end());
        } else {
            arguments.push_back(program::argument_bytes(argument, address));
        }
    }
    return ptx::pack_parameters(kernel, arguments);
}

}  // namespace

double VirtualGpu::number_at(std::uint64_t address, Number type) {
    const auto read = [&](auto value) {
        std::byte bytes[sizeof value];
        memory_.read(address, bytes);
        std::memcpy(&value, bytes, sizeof value);
        return value;
    };
    const auto decoded = [&](numerics::Format format, auto bits) { return numerics::to_double(format, read(bits)); };
    switch (type) {
        case Number::f64:
            return read(double{});
        case Number::f32:
            return read(float{});
        case Number::f16:
            return decoded(numerics::Format::fp16, std::uint16_t{});
        case Number::bf16:
            return decoded(numerics::Format::bf16, std::uint16_t{});
        case Number::e4m3:
            return decoded(numerics::Format::e4m3, std::uint8_t{});
        case Number::e5m2:
            return decoded(numerics::Format::e5m2, std::uint8_t{});
        case Number::i64:
            return static_cast<double>(read(std::int64_t{}));
        case Number::i32:
            return read(std::int32_t{});
        case Number::i8:
            return read(std::int8_t{});
        case Number::u8:
            return read(std::uint8_t{});
    }
    throw Error("a scalar has a type of numbers that does not exist");
}

VirtualGpu::Function& VirtualGpu::library_function(const std::shared_ptr<const program::KernelText>& text) {
    std::unique_ptr<Function>& function = library_functions_[text->entry + "\n" + text->text];
    if (function) return *function;
    std::unique_ptr<Module>& module = library_modules_[text->text];
    if (!module) {
        module = std::make_unique<Module>();
        module->name = "library " + text->entry;
        module->module = ptx::parse_shared(text->text, text->entry + ".ptx");
        module->code = identity_of(options_.through_ptxas ? "through ptxas\n" + text->text : text->text);
        if (options_.through_ptxas) {
            module->cubin = kernel::assemble(text->text, machine_.config.compute_capability, module->name);
            module->module = sass::declarations_of(*module->cubin);
        }
    }
    function = std::make_unique<Function>();
    function->module = module.get();
    function->declaration = module->module->find(text->entry);
    function->kernel = std::make_unique<ptx::LoadedKernel>(
        module->cubin ? sass::load_kernel(*module->cubin, text->entry) : module->module, text->entry, machine_.config.compute_capability,
        options_.timing == Timing::none ? ptx::Assembly::as_written : ptx::Assembly::scheduled);
    return *function;
}

void VirtualGpu::carry_out(const BlasWork& work, std::uint32_t stream) {
    Workspaces workspaces(memory_);
    std::vector<std::uint64_t> addresses = work.addresses;
    for (std::size_t i = 0; i < addresses.size(); ++i)
        if (addresses[i] == 0) addresses[i] = workspaces.allocate(work.program.buffers[i].name, work.program.buffers[i].bytes);
    for (std::size_t i = 0; i < work.program.launches.size(); ++i) {
        const program::KernelLaunch& launch = work.program.launches[i];
        Function& function = library_function(launch.kernel);
        memory_.set_module(function.module->name);
        LaunchRequest request{};
        request.stream = stream;
        const auto take = [](std::uint32_t(&to)[3], const ptx::Dim3& from) {
            to[0] = from.x;
            to[1] = from.y;
            to[2] = from.z;
        };
        take(request.grid, launch.grid);
        take(request.block, launch.block);
        take(request.cluster, launch.cluster);
        request.shared_bytes = launch.dynamic_shared_bytes;
        const std::vector<std::byte> parameters = parameters_of(launch, *function.kernel, addresses);
        ptx::LaunchContext context =
            context_of(request, function, {reinterpret_cast<const char*>(parameters.data()), parameters.size()});
        const bool main = i == work.main_launch;
        const LibraryName name{work.label, main ? work.kind : "other", main ? work.flops : 0};
        run(request, function, context, &name);
    }
}

void VirtualGpu::blas(Reader& content, Answer& answer) {
    const auto header = content.get<BlasHeader>();
    std::vector<BlasWork> works;
    try {
        works = lower_blas(header, content, models::gpu::target_of(machine_.config),
                           [this](std::uint64_t address, Number type) { return number_at(address, type); });
    } catch (const Error& error) {
        answer.status = Status::not_supported;
        answer.message = header.only_check != 0 ? "" : error.what();
        return;
    }
    if (header.only_check != 0) return;
    for (const BlasWork& work : works) carry_out(work, header.stream);
}

}  // namespace heddle::driver
