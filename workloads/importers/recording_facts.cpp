#include "workloads/importers/recording_facts.h"

#include <algorithm>

#include "workloads/importers/recording.h"

namespace heddle::importers {
namespace {

bool holds_tensors(const std::vector<Argument>& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) {
        return argument.tensor || !argument.tensors.empty();
    });
}

bool holds_numbers(const Call& call) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
        if (const Literal* literal = call.literal(i); literal != nullptr && literal->is_number()) return true;
    return false;
}

std::string count_of(const std::string& what, std::size_t lacking, std::size_t all, const std::string& things) {
    return what + " " + std::to_string(lacking) + " of " + std::to_string(all) + " " + things;
}

}  // namespace

RecordingFacts facts_of(const Recording& recording, const std::string& kind) {
    RecordingFacts facts;
    facts.kind = kind;
    facts.device = recording.device;
    facts.is_recording = true;
    for (const Call& call : recording.calls()) {
        if (!call.on_gpu) {
            ++facts.calls;
            facts.calls_with_shapes += holds_tensors(call.inputs) ? 1 : 0;
            facts.calls_with_numbers += holds_numbers(call) ? 1 : 0;
            facts.calls_with_results += call.has_results ? 1 : 0;
            continue;
        }
        ++facts.kernels;
        facts.kernel_us += call.duration_us;
        const std::string& name = call.full_name;
        if (!call.parent) {
            ++facts.kernels_without_call;
            facts.without_call_us += call.duration_us;
        }
        if (name.rfind("Memcpy", 0) == 0 || name.rfind("Memset", 0) == 0) {
            ++facts.copies;
            facts.copies_with_bytes += call.copied_bytes > 0 ? 1 : 0;
            continue;
        }
        facts.kernels_with_grid += call.grid.empty() ? 0 : 1;
        if (name.rfind("nccl", 0) == 0) {
            ++facts.collectives;
            facts.collectives_with_bytes += call.collective_bytes > 0 ? 1 : 0;
        }
    }
    return facts;
}

std::vector<MissingFact> missing_facts(const RecordingFacts& facts) {
    std::vector<MissingFact> missing;
    if (!facts.is_recording) return missing;
    if (facts.kernels == 0)
        missing.push_back({"times of kernels", "profile with activities=[ProfilerActivity.CPU, "
                                               "ProfilerActivity.CUDA]"});
    if (facts.calls == 0)
        missing.push_back({"calls of PyTorch", "profile with ProfilerActivity.CPU, too"});
    if (facts.calls > 0 && facts.calls_with_shapes == 0)
        missing.push_back({"shapes of operands", "profile with record_shapes=True"});
    if (facts.calls_with_shapes > 0 && facts.calls_with_numbers == 0)
        missing.push_back({"numbers among operands",
                           "PyTorch 2.1 or later records them with record_shapes=True; or add an execution "
                           "trace of the same run"});
    if (facts.calls > 0 && facts.calls_with_results == 0)
        missing.push_back({"results, strides and places in memory",
                           "record with an ExecutionTraceObserver beside the profiler and give both: "
                           "profile.json+execution.json"});
    const std::size_t launched = facts.kernels - facts.copies;
    if (launched > facts.kernels_with_grid)
        missing.push_back({count_of("grids of", launched - facts.kernels_with_grid, launched, "kernels"),
                           "give the profiler's own file (export_chrome_trace): converted ones have no grids"});
    if (facts.kernels_without_call > 0)
        missing.push_back({count_of("the calls that launched", facts.kernels_without_call, facts.kernels, "kernels"),
                           "start the profiler a step earlier (schedule with warmup=1)"});
    if (facts.copies > facts.copies_with_bytes)
        missing.push_back({count_of("bytes of", facts.copies - facts.copies_with_bytes, facts.copies, "copies and fills"),
                           "give the profiler's own file: it has `bytes` for each of them"});
    if (facts.collectives > facts.collectives_with_bytes)
        missing.push_back({count_of("bytes of", facts.collectives - facts.collectives_with_bytes, facts.collectives,
                                    "collectives"),
                           "PyTorch 2.3 or later records `In msg nelems`; or set record_shapes=True"});
    if (facts.device.name.empty())
        missing.push_back({"the device", "give --hardware; the profiler's own file has deviceProperties"});
    return missing;
}

}  // namespace heddle::importers
