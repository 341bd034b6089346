#include "workloads/importers/chakra_execution.h"

#include "workloads/importers/import_recording.h"

namespace heddle::importers {

trace::Trace import_chakra_execution(const trace::ChakraGraph& graph, const std::string& name) {
    return import_recording(Recording(graph), name);
}

}  // namespace heddle::importers
