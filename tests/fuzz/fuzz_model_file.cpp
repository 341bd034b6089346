// libFuzzer: any bytes as a model's layers.
#include "isa/common/error.h"
#include "memory_file.h"
#include "workloads/model_files/read_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const heddle::test::MemoryFile file(data, size);
    try {
        heddle::model_files::read_model(file.path());
    } catch (const heddle::Error&) {
    }
    return 0;
}
