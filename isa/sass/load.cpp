#include "isa/sass/load.h"

#include <map>

#include "isa/common/error.h"
#include "isa/ptx/execution.h"
#include "isa/sass/timing.h"
#include "isa/sass/translate/translate.h"

namespace heddle::sass {
namespace {

/// The times of all functions whose code a translation has, one behind another.
class TimesOfFunctions {
  public:
    TimesOfFunctions(const Cubin& cubin, DecodeReport* report) : cubin_(cubin), report_(report) {}

    /// The kernel comes first: places of its parameters are those that count.
    void add(const MachineFunction& function, std::span<const Instruction> instructions) {
        ptx::MachineCode one = timing_of(cubin_, function, instructions);
        const auto shift = static_cast<std::uint16_t>(all_.places);
        if (all_.places + one.places >= ptx::kNoScoreboard)
            throw Error("the kernel and the functions that it calls set barriers at more than 65000 places", {cubin_.file_name, 0, function.name});
        for (ptx::MachineTiming& timing : one.instructions) {
            for (std::uint16_t& place : timing.waits) place = static_cast<std::uint16_t>(place + shift);
            for (std::uint16_t& place : timing.results) place = static_cast<std::uint16_t>(place + shift);
            if (timing.operands_read != ptx::kNoScoreboard) timing.operands_read = static_cast<std::uint16_t>(timing.operands_read + shift);
        }
        first_[&function] = static_cast<std::uint32_t>(all_.instructions.size());
        if (all_.instructions.empty()) all_.first_parameter_place = one.first_parameter_place;
        all_.places += one.places;
        all_.registers = std::max(all_.registers, one.registers);
        all_.instructions.insert(all_.instructions.end(), one.instructions.begin(), one.instructions.end());
    }
    std::uint32_t position(const MachineFunction& function, std::uint32_t instruction) {
        if (!first_.contains(&function)) add(function, decode(cubin_, function, report_));
        return first_[&function] + instruction;
    }
    ptx::MachineCode take() { return std::move(all_); }

  private:
    const Cubin& cubin_;
    DecodeReport* report_;
    ptx::MachineCode all_;
    std::map<const MachineFunction*, std::uint32_t> first_;
};

}  // namespace

std::shared_ptr<const ptx::Module> load_kernel(const Cubin& cubin, const std::string& kernel, DecodeReport* report) {
    const MachineFunction* const function = cubin.find(kernel);
    if (function == nullptr || !function->is_kernel) throw Error("the machine code has no kernel " + kernel, {cubin.file_name, 0, ""});
    const std::vector<Instruction> code = decode(cubin, *function, report);
    const Translation translation = translate(cubin, *function, code);
    auto module = std::make_shared<ptx::Module>(module_of(translation, cubin.file_name + ", machine code of " + kernel));
    module->file_name = cubin.file_name;
    module->source_files = cubin.source_files;
    module->kernels.front().shared_bytes = function->shared_bytes + translation.shared_base;
    module->kernels.front().reserved_shared_bytes = translation.reserved_shared_bytes;
    TimesOfFunctions times(cubin, report);
    times.add(*function, code);
    ptx::Kernel& translated = module->kernels.front();
    for (ptx::Instruction& n : translated.instructions) {
        if (n.line >= translation.lines.size()) continue;
        const LineOrigin& origin = translation.lines[n.line];
        if (origin.function == nullptr || origin.instruction == LineOrigin::kNone) continue;
        n.machine = times.position(*origin.function, origin.instruction) + 1;
        n.carries_time = origin.principal;
    }
    ptx::MachineCode machine_code = times.take();
    machine_code.parameters = parameters_of(*function);
    translated.machine_code = std::make_shared<const ptx::MachineCode>(std::move(machine_code));
    return module;
}

}  // namespace heddle::sass
