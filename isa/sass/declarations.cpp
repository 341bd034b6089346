// What is known of a cubin's kernels and variables without their code.
#include "isa/common/error.h"
#include "isa/sass/load.h"

namespace heddle::sass {
namespace {

// Types of relocations in data (R_CUDA_...), as toolkits number them: the whole address, or one half of it.
// Source: experiments with ptxas and the names that readelf of binutils prints for CUDA files.
constexpr std::uint32_t kAbsolute32 = 1, kAbsolute64 = 2, kGlobal32 = 3, kGlobal64 = 4, kAbsolute32Low = 0x38, kAbsolute32High = 0x39,
                        kFunctionDescriptor32 = 0x1e, kFunctionDescriptor64 = 0x1f;

ptx::InitialAddress address_of(const Cubin& cubin, const MachineVariable& variable, const Relocation& relocation) {
    ptx::InitialAddress result;
    result.position = relocation.offset;
    result.symbol = relocation.symbol;
    result.addend = static_cast<std::uint64_t>(relocation.addend);
    result.generic = true;
    switch (relocation.type) {
        case kAbsolute64:
        case kGlobal64:
        case kFunctionDescriptor64:
            return result;
        case kAbsolute32High:
            result.shift = 32;
            [[fallthrough]];
        case kAbsolute32:
        case kGlobal32:
        case kAbsolute32Low:
        case kFunctionDescriptor32:
            result.bytes = 4;
            return result;
        default:
            throw Error("the initial value of a variable has a relocation of unknown type " + std::to_string(relocation.type),
                        {cubin.file_name, 0, variable.name});
    }
}

ptx::Variable declared(const Cubin& cubin, const MachineVariable& variable) {
    ptx::Variable result;
    result.name = variable.name;
    result.space = variable.constant ? ptx::StateSpace::constant : ptx::StateSpace::global;
    result.type = ptx::Type::b8;
    result.bytes = variable.bytes;
    result.alignment = static_cast<std::uint32_t>(variable.alignment);
    result.offset = variable.offset;
    result.initial = variable.initial;
    for (const Relocation& one : variable.relocations) result.addresses.push_back(address_of(cubin, variable, one));
    return result;
}

ptx::Kernel declared(const MachineFunction& function) {
    ptx::Kernel result;
    result.name = function.name;
    result.parameter_bytes = function.parameter_bytes;
    result.parameters = parameters_of(function);
    result.shared_bytes = function.shared_bytes;
    result.local_bytes = function.frame_bytes;
    result.maximum_threads[0] = function.maximum_threads;
    if (function.maximum_threads != 0) result.maximum_threads[1] = result.maximum_threads[2] = 1;
    for (unsigned i = 0; i < 3; ++i) {
        result.required_threads[i] = function.required_threads[i];
        result.required_cluster[i] = function.cluster[i];
    }
    return result;
}

}  // namespace

std::vector<ptx::Parameter> parameters_of(const MachineFunction& kernel) {
    std::vector<ptx::Parameter> result;
    for (const KernelParameter& one : kernel.parameters) {
        ptx::Parameter parameter;
        parameter.name = "parameter_" + std::to_string(one.ordinal);
        parameter.type = one.bytes == 8 ? ptx::Type::b64 : one.bytes == 4 ? ptx::Type::b32 : one.bytes == 2 ? ptx::Type::b16 : ptx::Type::b8;
        parameter.bytes = one.bytes;
        parameter.offset = one.offset;
        result.push_back(std::move(parameter));
    }
    return result;
}

std::shared_ptr<const ptx::Module> declarations_of(const Cubin& cubin) {
    auto module = std::make_shared<ptx::Module>();
    module->file_name = cubin.file_name;
    module->compute_capability = cubin.compute_capability;
    module->target = "sm_" + std::to_string(cubin.compute_capability);
    for (const MachineVariable& one : cubin.variables) module->variables.push_back(declared(cubin, one));
    for (const MachineFunction& one : cubin.functions)
        if (one.is_kernel) module->kernels.push_back(declared(one));
    return module;
}

}  // namespace heddle::sass
