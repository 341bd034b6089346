// libFuzzer: any bytes as a cluster file.
#include "isa/common/error.h"
#include "memory_file.h"
#include "sim/cluster/cluster.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const heddle::test::MemoryFile file(data, size);
    try {
        heddle::sim::describe_parameters(heddle::sim::load_cluster(file.path()));
    } catch (const heddle::Error&) {
    }
    return 0;
}
