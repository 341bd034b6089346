// libFuzzer: any text as a program of XLA, HLO or StableHLO.
#include "isa/common/error.h"
#include "workloads/hlo/module.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        const bool stable = heddle::hlo::is_stablehlo_text(text);
        heddle::hlo::to_trace(stable ? heddle::hlo::parse_stablehlo(text, "fuzz")
                                     : heddle::hlo::parse_hlo(text, "fuzz"))
            .check();
    } catch (const heddle::Error&) {
    }
    return 0;
}
