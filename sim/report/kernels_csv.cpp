#include "sim/report/kernels_csv.h"

#include <fmt/format.h>

#include <set>

#include "isa/common/foreign_text.h"

namespace heddle::sim {
namespace {

std::string dimensions(const std::uint32_t (&size)[3]) {
    return size[0] == 0 ? "" : fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

std::string optional_number(const std::optional<double>& number) {
    return number ? fmt::format("{}", *number) : "";
}

std::string fraction_of(const std::map<std::string, double>& fractions, const std::string& name) {
    const auto found = fractions.find(name);
    return found == fractions.end() ? "" : fmt::format("{}", found->second);
}

}  // namespace

std::string kernels_csv(const RunResult& result) {
    std::set<std::string> reasons, resources;
    for (const KernelResult& kernel : result.kernels) {
        for (const auto& [reason, fraction] : kernel.time_by_reason) reasons.insert(reason);
        for (const auto& [resource, fraction] : kernel.utilisation) resources.insert(resource);
    }
    std::string text =
        "index,name,op,kind,phase,recorded_kernel,gap_us,start_us,time_us,measured_us,cycles,warp_"
        "instructions,grid,"
        "block,"
        "registers_per_thread,shared_bytes,ctas_per_sm,dram_bytes,l2_bytes,flops,bytes,bound_by,fidelity,"
        "stream,launched_us,end_us,turns,module,alone_us,queued_us";
    for (const std::string& reason : reasons) text += "," + csv_cell("time: " + reason);
    for (const std::string& resource : resources) text += "," + csv_cell("utilisation: " + resource);
    text += "\n";
    std::size_t index = 0;
    for (const KernelResult& kernel : result.kernels) {
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                            index++, csv_cell(kernel.name), csv_cell(kernel.op_name), csv_cell(kernel.kind),
                            csv_cell(kernel.phase), csv_cell(kernel.recorded_kernel), kernel.gap_us,
                            kernel.start_us, kernel.time_us, optional_number(kernel.measured_us),
                            kernel.cycles, kernel.warp_instructions, dimensions(kernel.grid),
                            dimensions(kernel.block), kernel.registers_per_thread, kernel.shared_bytes,
                            kernel.ctas_per_sm, kernel.dram_bytes, kernel.l2_bytes, kernel.flops,
                            kernel.bytes, csv_cell(kernel.bound_by), name_of(kernel.fidelity), kernel.stream,
                            kernel.launched_us, kernel.end_us, kernel.turns, csv_cell(kernel.module), optional_number(kernel.alone_us),
                            kernel.queued_us);
        for (const std::string& reason : reasons) text += "," + fraction_of(kernel.time_by_reason, reason);
        for (const std::string& resource : resources) text += "," + fraction_of(kernel.utilisation, resource);
        text += "\n";
    }
    return text;
}

}  // namespace heddle::sim
