// libFuzzer: reads any bytes as a recording. The first byte chooses the reader: 0 Kineto, 1 an execution
// trace, 2 Chakra, 3 Heddle's own JSON, 4 Chakra as JSON, 5 an execution trace as the operands of a Kineto
// trace (after a line of `---`). Build with clang++ and -DHEDDLE_FUZZ=ON, then
//   fuzz_recordings -max_len=20000 -timeout=10 corpus
#include <cstdint>
#include <string>

#include "isa/common/error.h"
#include "workloads/importers/chakra_execution.h"
#include "workloads/importers/execution_trace.h"
#include "workloads/importers/import_recording.h"
#include "workloads/importers/kineto.h"
#include "workloads/trace_files/byte_stream.h"
#include "workloads/trace_files/json.h"

using namespace heddle;

namespace {

void read_graph(const trace::ChakraGraph& graph) {
    if (trace::holds_heddle_trace(graph)) {
        trace::from_chakra(graph, "fuzz").check();
    } else {
        importers::import_chakra_execution(graph, "fuzz");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        switch (data[0] % 6) {
            case 0:
                importers::import_recording(importers::read_kineto(*trace::memory_stream(bytes), "fuzz"),
                                            "fuzz");
                break;
            case 1:
                importers::import_recording(
                    importers::read_execution_trace(*trace::memory_stream(bytes), "fuzz"), "fuzz");
                break;
            case 2:
                read_graph(trace::parse_chakra(bytes, "fuzz"));
                break;
            case 4:
                read_graph(trace::parse_chakra_json(bytes, "fuzz"));
                break;
            case 5: {
                const std::size_t line = bytes.find("---\n");
                if (line == std::string::npos) break;
                importers::RecordedOperands operands =
                    importers::read_operands(*trace::memory_stream(bytes.substr(line + 4)), "fuzz");
                importers::import_recording(
                    importers::read_kineto(*trace::memory_stream(bytes.substr(0, line)), "fuzz", &operands),
                    "fuzz");
                break;
            }
            default:
                trace::from_json(bytes, "fuzz").check();
        }
    } catch (const Error&) {
    }
    return 0;
}
