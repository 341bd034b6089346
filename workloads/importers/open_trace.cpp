#include "workloads/importers/open_trace.h"

#include "workloads/hlo/module.h"
#include "workloads/importers/chakra_execution.h"
#include "workloads/trace_files/file.h"
#include "workloads/trace_files/json.h"
#include "workloads/trace_files/read.h"

namespace heddle::importers {

trace::Trace open_trace(const std::string& path) {
    const trace::FileContent content = trace::read_file(path);
    if (hlo::is_hlo_text(content.bytes)) return hlo::to_trace(hlo::parse_hlo(content.bytes, content.name));
    if (hlo::is_stablehlo_text(content.bytes))
        return hlo::to_trace(hlo::parse_stablehlo(content.bytes, content.name));
    const trace::FileKind kind = trace::recognise(content.bytes, content.name);
    if (kind == trace::FileKind::heddle_json) return trace::from_json(content.bytes, content.name);
    const trace::ChakraGraph graph = kind == trace::FileKind::chakra
                                         ? trace::parse_chakra(content.bytes, content.name)
                                         : trace::parse_chakra_json(content.bytes, content.name);
    if (trace::holds_heddle_trace(graph)) return trace::from_chakra(graph, content.name);
    return trace::in_file(content.name, [&] {
        const std::size_t slash = content.name.find_last_of("/:");
        return import_chakra_execution(graph,
                                       content.name.substr(slash == std::string::npos ? 0 : slash + 1));
    });
}

}  // namespace heddle::importers
