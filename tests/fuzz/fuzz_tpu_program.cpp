// libFuzzer: any text as a TPU program; what is one is written and read again.
#include <cstdlib>
#include <string>

#include "isa/common/error.h"
#include "isa/tpu/assembler.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::string written;
    try {
        written = heddle::tpu::disassemble(heddle::tpu::assemble(text, "fuzz.tpu"));
    } catch (const heddle::Error&) {
        return 0;
    }
    // What was understood must be understood again, and mean the same.
    if (heddle::tpu::disassemble(heddle::tpu::assemble(written, "written.tpu")) != written) std::abort();
    return 0;
}
