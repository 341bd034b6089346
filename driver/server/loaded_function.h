// A program's modules and kernels, as the virtual GPU keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "driver/server/virtual_gpu.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/module.h"
#include "isa/sass/cubin.h"

namespace heddle::driver {

struct VirtualGpu::Module {
    std::string name;  ///< tells variables of modules apart
    std::shared_ptr<const ptx::Module> module;   ///< of machine code: what sass::declarations_of() says
    std::shared_ptr<const sass::Cubin> cubin;    ///< machine code, of which kernels are translated when asked for; nullptr: PTX
    std::string code;  ///< identity_of() its text or bytes
    std::uint64_t constants = 0;  ///< where the .const variables lie; 0: there are none
    std::uint64_t constant_bytes = 0;
    std::map<std::string, std::uint32_t> functions;
};

struct VirtualGpu::Function {
    Module* module = nullptr;
    std::unique_ptr<ptx::LoadedKernel> kernel;
    const ptx::Kernel* declaration = nullptr;
};

}  // namespace heddle::driver
