// libFuzzer: any bytes as a cubin, its code as instructions, and its kernels as a launch would load them.
#include <cstdlib>

#include "folder.h"
#include "isa/sass/cubin.h"
#include "isa/sass/decode_table.h"
#include "isa/sass/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heddle::sass;
    ::setenv("HEDDLE_NVDISASM", "/nonexistent/nvdisasm", 1);  // what the table lacks refuses the kernel
    heddle::test::refuse_or_read([&] {
        const Cubin cubin = read_cubin({reinterpret_cast<const std::byte*>(data), size}, "damaged.cubin");
        for (const MachineFunction& function : cubin.functions) {
            for (std::size_t i = 0; i < function.code.size(); ++i) {
                Instruction one;
                if (decode_by_table(function.code[i], cubin.compute_capability, i * 16, one)) parse_instruction(text_of(one));
            }
        }
        declarations_of(cubin);
        for (const MachineFunction& function : cubin.functions) {
            if (!function.is_kernel) continue;
            heddle::test::refuse_or_read([&] { load_kernel(cubin, function.name); });
        }
    });
    return 0;
}
