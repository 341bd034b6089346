// libFuzzer: any bytes as the checkpoint of a training. After an `s` they are sealed with their right hash,
// as somebody who means harm would; after another letter the file is these bytes.
#include "folder.h"
#include "memory_file.h"
#include "sim/run/numerics/checkpoint.h"
#include "sim/run/time/kernel_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] == 's') bytes = "heddle checkpoint 1\n" + heddle::sim::hash_text(bytes) + bytes;
    const heddle::test::MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    heddle::test::refuse_or_read([&] {
        const auto checkpoint = heddle::sim::read_checkpoint(file.path(), "one");
        heddle::sim::check_values(checkpoint, {{3, 2}, {4, 1}}, file.path());
    });
    return 0;
}
