// libFuzzer: any text as a launch file of `heddle kernel`.
#include "isa/common/error.h"
#include "sim/kernel/launch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        heddle::kernel::parse_launch_file({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
    } catch (const heddle::Error&) {
    }
    return 0;
}
