// libFuzzer: any bytes as a cubin, and its code as instructions.
#include "folder.h"
#include "isa/sass/cubin.h"
#include "isa/sass/decode_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heddle::sass;
    heddle::test::refuse_or_read([&] {
        const Cubin cubin = read_cubin({reinterpret_cast<const std::byte*>(data), size}, "damaged.cubin");
        for (const MachineFunction& function : cubin.functions) {
            for (std::size_t i = 0; i < function.code.size(); ++i) {
                Instruction one;
                if (decode_by_table(function.code[i], cubin.compute_capability, i * 16, one)) parse_instruction(text_of(one));
            }
        }
    });
    return 0;
}
