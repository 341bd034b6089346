// libFuzzer: any bytes as a hardware file: the device, its parameters and its die.
#include "isa/common/error.h"
#include "memory_file.h"
#include "sim/area/die_area.h"
#include "sim/hardware/load_hardware.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const heddle::test::MemoryFile file(data, size);
    try {
        const heddle::sim::Hardware hardware = heddle::sim::load_hardware(file.path());
        heddle::sim::describe_parameters(hardware);
        hardware.machine().area();
    } catch (const heddle::Error&) {
    }
    return 0;
}
