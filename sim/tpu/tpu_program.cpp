#include "sim/tpu/tpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "isa/common/error.h"
#include "isa/common/text_file.h"
#include "isa/tpu/assembler.h"
#include "isa/tpu/footprint.h"
#include "isa/tpu/race_detector.h"
#include "models/tpu/tpu.h"
#include "sim/tpu/tpu_machine.h"

namespace heddle::sim {
namespace {

/// Beyond this the check would take longer than the run.
constexpr std::uint64_t kMostChecked = 1ull << 30;
/// Bytes of a file in which a program must have begun.
constexpr std::streamsize kBeginning = 1 << 16;

/// Errors of a program name its file.
template <class Run>
auto in_program(const std::string& path, Run run) {
    try {
        return run();
    } catch (const Error& error) {
        if (!error.where().file.empty()) throw;
        throw Error(error.problem(), {path, error.where().line, error.where().key}, error.remedy());
    }
}

}  // namespace

bool is_tpu_program(const std::string& path) {
    // Recorded steps come here too, gigabytes in one line.
    std::string beginning(kBeginning, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(beginning.data(), kBeginning);
    beginning.resize(static_cast<std::size_t>(file.gcount()));
    std::istringstream lines(beginning);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word[0] == '#') continue;
        return word == "program" || word == "kernel" || word == "core";
    }
    return false;
}

TpuProgramRun run_tpu_program(const std::string& path, const Hardware& hardware, bool tick_every_cycle,
                              models::SignalTrace* signals) {
    const models::TpuConfig& config = tpu_config(hardware, "TPU programs need a TPU");
    const tpu::Program program = tpu::assemble(read_text_file(path, kMostOfPrinted, "is the path right?"), path);
    const tpu::Limits limits = models::limits_of(config);
    tpu::validate(program, limits, path);
    const tpu::Footprint footprint = tpu::footprint(program);
    TpuProgramRun run;
    run.file = path;
    run.program = program.name;
    run.hardware = hardware.name;
    run.vmem_bytes = footprint.vmem_bytes;
    run.hbm_bytes = footprint.hbm_bytes;
    run.checked =
        footprint.accessed <= kMostChecked && footprint.hbm_bytes + footprint.common_bytes <= kMostChecked;
    return in_program(path, [&] {
        tpu::Memory timed, untimed;
        for (tpu::Memory* const memory : {&timed, &untimed}) {
            if (footprint.hbm_bytes > 0) memory->allocate_at("HBM", 0, footprint.hbm_bytes, run.checked);
            if (footprint.common_bytes > 0)
                memory->allocate_at("CMEM", tpu::kCommonMemoryBase, footprint.common_bytes, run.checked);
        }
        if (run.checked) {
            tpu::Limits small = limits;
            small.vmem_bytes = (footprint.vmem_bytes + 511) / 512 * 512;
            tpu::RaceDetector detector(program, small, true);
            tpu::execute(program, untimed, small, &detector);
        }
        models::Tpu device("tpu", config);
        models::TpuRunOptions options;
        options.mode = run.checked ? models::TpuMode::functional : models::TpuMode::timing;
        options.tick_every_cycle = tick_every_cycle;
        options.signals = signals;
        run.result = device.run(program, timed, options);
        const bool same =
            std::equal(timed.allocations().begin(), timed.allocations().end(), untimed.allocations().begin(),
                       [](const tpu::Allocation& a, const tpu::Allocation& b) { return a.data == b.data; });
        if (run.checked && !same)
            throw Error("the timed run left other values than the untimed one", {path, 0, ""});
        return run;
    });
}

std::string format_tpu_program(const TpuProgramRun& run) {
    const models::TpuResult& result = run.result;
    std::string text =
        fmt::format("{} ({}) on {}\n{} cycles, {:.4g} us, bound by {}\n", run.file, run.program, run.hardware,
                    result.cycles, result.seconds * 1e6, result.bound_by);
    text += fmt::format(
        "{} instructions, {} multiply-accumulates, {} bytes loaded, {} stored; {} of VMEM, {} of HBM\n",
        result.instructions, result.macs, result.bytes_loaded, result.bytes_stored, run.vmem_bytes,
        run.hbm_bytes);
    text += fmt::format("busy: matrix units {:.1f} %, vector unit {:.1f} %, HBM {:.1f} %\n",
                        100 * result.matrix_busy, 100 * result.vector_busy, 100 * result.hbm_busy);
    const auto line = [&](const std::string& unit, const auto& shares) {
        text += "time of the " + unit + ":";
        for (const auto& [name, share] : shares) text += fmt::format(" {} {:.1f} %,", name, 100 * share);
        text.back() = '\n';
    };
    line("matrix units", models::shares_of(result.where));
    for (const auto& [unit, shares] : models::time_by_unit(result))
        if (unit != "matrix units") line(unit, shares);
    text += run.checked ? "no race, no use before a load; the same values without time\n"
                        : "too large to look for races and uses before a load\n";
    return text;
}

std::string tpu_program_json(const TpuProgramRun& run) {
    nlohmann::ordered_json json{{"file", run.file},
                                {"program", run.program},
                                {"hardware", run.hardware},
                                {"cycles", run.result.cycles},
                                {"seconds", run.result.seconds},
                                {"bound_by", run.result.bound_by},
                                {"instructions", run.result.instructions},
                                {"macs", run.result.macs},
                                {"bytes_loaded", run.result.bytes_loaded},
                                {"bytes_stored", run.result.bytes_stored},
                                {"vmem_bytes", run.vmem_bytes},
                                {"hbm_bytes", run.hbm_bytes},
                                {"checked", run.checked}};
    for (const auto& [name, share] : models::shares_of(run.result.where))
        json["time_by_reason"][name] = share;
    json["time_by_unit"] = models::time_by_unit(run.result);
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::sim
