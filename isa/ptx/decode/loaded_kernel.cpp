// LoadedKernel: analysis, decoding for both modes, and what the timing model asks of a kernel.
#include <algorithm>
#include <cstring>

#include "isa/common/error.h"
#include "isa/ptx/decode/cache_policy.h"
#include "isa/ptx/decode/decoder.h"
#include "isa/ptx/decode/describe_instruction.h"
#include "isa/ptx/decode/uniformity.h"
#include "isa/ptx/instruction_table.h"
#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/machine/machine.h"
#include "isa/ptx/names.h"
#include "isa/ptx/register_operands.h"
#include "isa/ptx/schedule/assemble.h"
#include "isa/ptx/schedule/operand_meetings.h"
#include "isa/ptx/schedule/register_allocation.h"
#include "isa/ptx/schedule/register_changes.h"
#include "isa/ptx/schedule/spill.h"
#include "isa/target/generation.h"

namespace heddle::ptx {
namespace {

// Running off the end of a kernel is a return.
void append_exit(Kernel& kernel) {
    Instruction last;
    last.opcode = Opcode::ret;
    last.form = &forms_of(Opcode::ret).front();
    if (!kernel.instructions.empty()) last.source = kernel.instructions.back().source;
    last.line = kernel.instructions.empty() ? kernel.line : kernel.instructions.back().line;
    kernel.instructions.push_back(last);
}

bool may_run_off(const Kernel& kernel) {
    if (kernel.instructions.empty()) return true;
    for (const Instruction& n : kernel.instructions) {
        for (const Operand& operand : n.operands) {
            if (operand.kind == Operand::Kind::label && operand.index >= kernel.instructions.size())
                return true;
        }
    }
    const Instruction& last = kernel.instructions.back();
    const bool leaves = last.opcode == Opcode::ret || last.opcode == Opcode::exit ||
                        last.opcode == Opcode::bra || last.opcode == Opcode::brx;
    return !leaves || last.guard >= 0;
}

// Also the device runtime is called by its address. What ptxas 13.0 emits: the call, and moves of both halves
// of the return address and the pointer.
bool calls_through_pointer(const Kernel& kernel, const Instruction& n) {
    return n.opcode == Opcode::call && kernel.calls[n.operands[0].bits].kind != CallSite::Kind::function;
}

std::int32_t parameter_offset(const Kernel& kernel, const Instruction& n) {
    if (n.opcode != Opcode::ld || n.space != StateSpace::parameter) return -1;
    const Operand& address = n.operands.back();
    if (address.kind != Operand::Kind::address || address.base != Operand::Kind::parameter) return -1;
    return static_cast<std::int32_t>(kernel.parameters[address.index].offset + address.bits);
}

// ptxas takes these for this target only; later generations do not have them.
void require_target(const Module& module, const Kernel& kernel) {
    const std::string needed = target::specific_target(target::first_with(&target::Generation::has_wgmma));
    for (const Instruction& n : kernel.instructions) {
        if (n.opcode != Opcode::wgmma || module.target == needed) continue;
        throw Error("wgmma needs .target " + needed + ", this module is for " + module.target,
                    {module.file_name, n.line, kernel.name}, "compile with -arch=" + needed);
    }
}

// Products of pairs and of single CTAs do not mix (PTX manual, "tcgen05": .cta_group); targets without the letter a or f have no tcgen05.
void check_tensor_memory(const Module& module, const Kernel& kernel) {
    const Instruction* first = nullptr;
    for (const Instruction& n : kernel.instructions) {
        if (n.opcode != Opcode::tcgen05) continue;
        const char last = module.target.empty() ? ' ' : module.target.back();
        if ((last != 'a' && last != 'f') || module.compute_capability < 100 || module.compute_capability >= 120) {
            throw Error("tcgen05 needs .target sm_100a or another of its family, this module is for " + module.target,
                        {module.file_name, n.line, kernel.name}, "compile with -arch=sm_100a");
        }
        if (!n.has(Modifier::cta_group_1) && !n.has(Modifier::cta_group_2)) continue;
        if (first == nullptr) first = &n;
        if (first->has(Modifier::cta_group_1) == n.has(Modifier::cta_group_1)) continue;
        throw Error("tcgen05 of another .cta_group than in line " + std::to_string(first->line), {module.file_name, n.line, kernel.name},
                    "use one .cta_group in the whole kernel");
    }
}

std::vector<std::byte> build_constant_bank(const Kernel& kernel) {
    std::vector<std::byte> bank;
    for (const Variable& variable : kernel.variables) {
        if (variable.space != StateSpace::constant) continue;
        bank.resize(std::max<std::size_t>(bank.size(), variable.offset + variable.bytes));
        std::copy(variable.initial.begin(), variable.initial.end(),
                  bank.begin() + static_cast<std::ptrdiff_t>(variable.offset));
    }
    return bank;
}

RegisterAllocation allocate_for_banks(const Kernel& kernel, const Analysis& analysis,
                                      std::span<const InstructionInfo> instructions) {
    const std::vector<unsigned> weights = register_weights(kernel, analysis.uses);
    std::vector<std::uint16_t> itself(weights.size(), LoadedKernel::kNoRegister);
    for (std::size_t r = 0; r < weights.size(); ++r) {
        if (weights[r] != 0) itself[r] = static_cast<std::uint16_t>(r);
    }
    const OperandMeetings meetings(register_operands(instructions, itself), weights.size());
    return allocate_registers(kernel, analysis.uses, analysis.flow, analysis.liveness, &meetings);
}

// What the allocation needs, as far as the machine and .maxnreg allow. Numbers of a kernel and of functions
// that it calls when it runs do not add up in the allocation; the peaks of their live values do.
unsigned needed_registers(const Kernel& kernel, const Analysis& analysis,
                          const RegisterAllocation& allocation) {
    constexpr unsigned kFewest = 16, kFullOccupancy = 32, kMost = 255;
    // Where it costs no occupancy ptxas spreads out: fitted to the library's kernels of up to 32 registers.
    constexpr unsigned kSpread = 4;
    if (!kernel.functions.empty())
        return count_registers(kernel, analysis.uses, analysis.flow, analysis.liveness);
    unsigned needed = std::clamp(allocation.count, kFewest, kMost);
    if (needed < kFullOccupancy) needed = std::clamp(allocation.count + kSpread, kFewest, kFullOccupancy);
    return needed;
}

// Returns the registers per thread of the kernel, which would be `counted` without setmaxnreg.
unsigned settle_register_changes(const Kernel& kernel, unsigned counted, std::vector<InstructionInfo>& list) {
    const auto changes = [](const InstructionInfo& info) {
        return info.synchronisation == Synchronisation::more_registers ||
               info.synchronisation == Synchronisation::fewer_registers;
    };
    const unsigned registers = registers_at_entry(kernel);
    if (registers != 0) return registers;
    for (InstructionInfo& info : list)
        if (changes(info)) info.synchronisation = Synchronisation::none;
    return counted;
}

// Machine code says itself when its instructions issue; what helps one of them takes no time.
void take_times_of_machine_code(LoadedKernel::Implementation& loaded) {
    const MachineCode& code = *loaded.kernel.machine_code;
    for (std::size_t i = 0; i < loaded.information.size(); ++i) {
        InstructionInfo& info = loaded.information[i];
        info.reads.clear();
        info.writes.clear();
        const Instruction& n = loaded.kernel.instructions[i];
        info.line = n.machine;  // what users see is the machine code
        if (n.carries_time) {
            const MachineTiming& timing = code.instructions[n.machine - 1];
            const bool accesses = info.reads_memory || info.writes_memory || info.atomic || info.async_copy || info.texture;
            info.pipeline = accesses ? Pipeline::load_store : timing.pipeline;
            info.operation = accesses ? Operation::load_store : timing.operation;
            info.uniform = timing.uniform;
            info.machine_operations = 1;
            info.stall = timing.stall;
            info.operands_read = timing.operands_read;
            info.reads = timing.waits;
            info.writes = timing.results;
            info.source = {timing.file, timing.line, 0};
            continue;
        }
        info.pipeline = Pipeline::none;
        info.operation = Operation::none;
        info.machine_operations = 0;
        if (info.synchronisation == Synchronisation::wgmma_commit) {
            // The product itself ends the group.
            info.synchronisation = Synchronisation::none;
            for (std::size_t k = i; k-- > 0 && loaded.kernel.instructions[k].machine == n.machine;)
                if (loaded.kernel.instructions[k].carries_time) loaded.information[k].synchronisation = Synchronisation::wgmma_commit;
        }
        if (info.parameter_offset >= 0) info.writes = {static_cast<std::uint16_t>(code.first_parameter_place + info.parameter_offset / 4)};
    }
    loaded.scoreboard_size = code.places;
    loaded.registers_per_thread = code.registers;
}

std::string suggest_kernels(const Module& module, const std::string& entry) {
    constexpr std::size_t kListed = 20;
    std::vector<std::string> names;
    std::string list;
    for (const Kernel& kernel : module.kernels) {
        names.push_back(kernel.name);
        if (names.size() > kListed) continue;
        const std::string readable = demangle(kernel.name);
        list +=
            (list.empty() ? "" : ", ") + readable + (readable == kernel.name ? "" : " [" + kernel.name + "]");
    }
    if (names.size() > kListed) list += ", ...";
    const std::string near = nearest_word(entry, names.data(), names.size());
    if (!near.empty()) return "did you mean " + near + "?";
    return list.empty() ? "it has none" : "it has " + list;
}

void refuse_unsupported(const Kernel& kernel, const Module& module) {
    for (const Instruction& n : kernel.instructions) {
        if (n.unsupported == 0) continue;
        const UnsupportedInstruction& one = module.unsupported[n.unsupported - 1];
        const std::string place = describe_place(n.source, module.source_files, module.inlined_calls);
        throw Error(one.problem,
                    {module.file_name, one.line, place + (place.empty() ? "" : ", ") + one.token},
                    one.remedy);
    }
}

// The error again, with the line of the CUDA source that the line of the text was made from.
[[noreturn]] void name_source(const Error& error, const Kernel& kernel, const Module& module) {
    const SourceLocation& where = error.where();
    for (const Instruction& n : kernel.instructions) {
        if (n.line != where.line) continue;
        const std::string place = describe_place(n.source, module.source_files, module.inlined_calls);
        if (place.empty()) break;
        throw Error(error.problem(),
                    {where.file, where.line, place + (where.key.empty() ? "" : ", ") + where.key},
                    error.remedy());
    }
    throw error;
}

}  // namespace

LoadedKernel::LoadedKernel(const std::shared_ptr<const Module>& module, const std::string& entry,
                           unsigned compute_capability, Assembly assembly)
    : implementation_(std::make_unique<Implementation>()) {
    const Kernel* found = module->find(entry);
    if (found == nullptr) {
        throw Error("the module has no kernel " + entry, {module->file_name, 0, ""},
                    suggest_kernels(*module, entry));
    }
    Implementation& loaded = *implementation_;
    loaded.file_name = module->file_name;
    loaded.kernel = *found;
    refuse_unsupported(*found, *module);
    Kernel& kernel = loaded.kernel;
    if (may_run_off(kernel)) append_exit(kernel);
    require_target(*module, kernel);
    check_tensor_memory(*module, kernel);
    if (assembly == Assembly::scheduled && !kernel.machine_code) assemble(kernel);
    loaded.scoreboard_size = kernel.registers.size() + 1;
    if (loaded.scoreboard_size > 65535) {
        throw Error("more than 65534 registers are used", {loaded.file_name, kernel.line, kernel.name},
                    "split the kernel, or let the compiler allocate registers");
    }
    Analysis analysis;
    analysis.uses = register_uses(kernel);
    analysis.flow = analyze_control_flow(kernel);
    analysis.liveness = analyze_liveness(analysis.uses, kernel, analysis.flow);
    analysis.steering = find_steering(kernel, analysis.uses);
    loaded.source_files = module->source_files;
    loaded.inlined_calls = module->inlined_calls;
    try {
        for (const Mode mode : {Mode::functional, Mode::timing}) {
            loaded.programs[static_cast<std::size_t>(mode)] =
                decode(kernel, loaded.file_name, analysis, mode);
        }
    } catch (const Error& error) {
        name_source(error, kernel, *module);
    }
    const std::vector<bool> uniform = find_uniform(kernel, analysis.uses, analysis.flow);
    const std::vector<CachePolicy> policies = cache_policies(kernel, analysis.uses);
    const unsigned capability = compute_capability != 0 ? compute_capability : module->compute_capability;
    for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
        loaded.information.push_back(describe(kernel.instructions[i], analysis.uses[i], capability));
        loaded.information.back().uniform = uniform[i];
        loaded.information.back().parameter_offset = parameter_offset(kernel, kernel.instructions[i]);
        loaded.information.back().cache = policies[i];
        if (calls_through_pointer(kernel, kernel.instructions[i]))
            loaded.information.back().machine_operations = 4;
        if (is_asynchronous(kernel.instructions[i])) loaded.uses_memory_barriers = true;
        if (kernel.instructions[i].opcode == Opcode::tcgen05) loaded.uses_tensor_memory = loaded.uses_memory_barriers = true;
        loaded.uses_shared_memory = loaded.uses_shared_memory ||
                                    kernel.instructions[i].space == StateSpace::shared ||
                                    kernel.instructions[i].second_space == StateSpace::shared;
    }
    loaded.registers = allocate_for_banks(kernel, analysis, loaded.information);
    loaded.registers_per_thread = settle_register_changes(
        kernel, std::min(register_ceiling(kernel), needed_registers(kernel, analysis, loaded.registers)),
        loaded.information);
    if (kernel.machine_code) take_times_of_machine_code(loaded);
    loaded.steering_instructions = analysis.steering.count;
    loaded.steering_reads = analysis.steering.steering_reads;
    loaded.skipped_writes = analysis.steering.skipped_writes;
    loaded.steering_writes = analysis.steering.writes_global;
    loaded.steering_reads_global = analysis.steering.reads_global;
    loaded.shared_memory_steers = analysis.steering.shared_memory;
    loaded.steers = analysis.steering.evaluated;
    loaded.constant_bank = build_constant_bank(kernel);
    loaded.dynamic_shared_offset = (kernel.shared_bytes + 15) / 16 * 16;
    for (const Variable& variable : kernel.variables) {
        if (variable.space == StateSpace::shared && variable.bytes == 0) {
            loaded.dynamic_shared_offset = static_cast<std::uint32_t>(variable.offset);
        }
    }
}

LoadedKernel::~LoadedKernel() = default;
LoadedKernel::LoadedKernel(LoadedKernel&&) noexcept = default;

const std::string& LoadedKernel::name() const {
    return implementation_->kernel.name;
}
std::span<const InstructionInfo> LoadedKernel::instructions() const {
    return implementation_->information;
}
std::size_t LoadedKernel::scoreboard_size() const {
    return implementation_->scoreboard_size;
}
unsigned LoadedKernel::registers_per_thread() const {
    return implementation_->registers_per_thread;
}
void LoadedKernel::set_registers_per_thread(unsigned registers) {
    implementation_->registers_per_thread = registers;
}
unsigned LoadedKernel::register_count() const {
    return implementation_->registers.count;
}
const MachineCode* LoadedKernel::machine_code() const {
    return implementation_->kernel.machine_code.get();
}
LoadedKernel::Spills LoadedKernel::spills() const {
    Spills result;
    const Kernel& kernel = implementation_->kernel;
    std::vector<bool> counted(kernel.variables.size(), false);
    for (const Instruction& n : kernel.instructions) {
        if (n.spill_slot == 0) continue;
        const auto bytes = static_cast<std::uint32_t>(kernel.variables[n.spill_slot - 1u].bytes);
        (n.opcode == Opcode::ld ? result.load_bytes : result.store_bytes) += bytes;
        if (!counted[n.spill_slot - 1u]) result.stack_bytes += bytes;
        counted[n.spill_slot - 1u] = true;
    }
    return result;
}
std::span<const std::uint16_t> LoadedKernel::register_assignment() const {
    return implementation_->registers.physical;
}
std::span<const std::byte> LoadedKernel::constants() const {
    return implementation_->constant_bank;
}
std::uint32_t LoadedKernel::static_shared_bytes() const {
    return implementation_->kernel.shared_bytes - implementation_->kernel.reserved_shared_bytes;
}
std::uint32_t LoadedKernel::parameter_bytes() const {
    return implementation_->kernel.parameter_bytes;
}
std::span<const Parameter> LoadedKernel::parameters() const {
    const MachineCode* const code = machine_code();
    return code != nullptr ? code->parameters : implementation_->kernel.parameters;
}
std::string LoadedKernel::describe_source(std::size_t instruction) const {
    const Implementation& loaded = *implementation_;
    return describe_place(loaded.information[instruction].source, loaded.source_files, loaded.inlined_calls);
}
std::span<const std::string> LoadedKernel::source_files() const {
    return implementation_->source_files;
}
std::size_t LoadedKernel::steering_instructions() const {
    return implementation_->steering_instructions;
}

std::span<const std::uint32_t> LoadedKernel::steering_reads() const {
    return implementation_->steering_reads;
}

std::span<const std::uint32_t> LoadedKernel::skipped_writes() const {
    return implementation_->skipped_writes;
}

bool LoadedKernel::time_depends_on_launch_alone() const {
    return !implementation_->steering_reads_global && !implementation_->steering_writes && !reads_clock() && !reads_its_place();
}

bool LoadedKernel::steering_writes() const {
    return implementation_->steering_writes;
}

std::vector<std::byte> pack_parameters(const LoadedKernel& kernel,
                                       std::span<const std::vector<std::byte>> values) {
    const std::span<const Parameter> parameters = kernel.parameters();
    if (values.size() != parameters.size()) {
        throw Error("kernel " + kernel.name() + " takes " + std::to_string(parameters.size()) +
                    " parameters, " + std::to_string(values.size()) + " are given");
    }
    std::vector<std::byte> block(kernel.parameter_bytes());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].size() != parameters[i].bytes) {
            throw Error("parameter " + parameters[i].name + " of kernel " + kernel.name() + " has " +
                        std::to_string(parameters[i].bytes) + " bytes, " + std::to_string(values[i].size()) +
                        " are given");
        }
        std::copy(values[i].begin(), values[i].end(), block.begin() + parameters[i].offset);
    }
    return block;
}

namespace {
std::string allocation_name(const GlobalMemory& memory, const std::string& variable) {
    return memory.module() + ".global " + variable;
}
}  // namespace

void allocate_module_variables(const LoadedKernel& kernel, GlobalMemory& memory) {
    allocate_module_variables(kernel.implementation().kernel.variables, memory);
}

void allocate_module_variables(std::span<const Variable> variables, GlobalMemory& memory) {
    std::vector<std::pair<const Variable*, std::uint64_t>> placed;
    for (const Variable& variable : variables) {
        if (variable.space != StateSpace::global) continue;
        if (module_variable_address(memory, variable.name) != 0) continue;
        const std::uint64_t base =
            memory.allocate(allocation_name(memory, variable.name), variable.bytes, true, variable.alignment);
        placed.emplace_back(&variable, base);
    }
    for (const auto& [variable, base] : placed) {  // they may hold each other's addresses
        std::vector<std::byte> initial = variable->initial;
        fill_in_addresses(*variable, memory, variables, initial);
        memory.write(base, initial);
    }
}

void fill_in_addresses(const Variable& variable, const GlobalMemory& memory,
                       std::span<const Variable> variables, std::span<std::byte> bytes) {
    for (const InitialAddress& initial : variable.addresses) {
        const auto target = std::find_if(variables.begin(), variables.end(),
                                         [&](const Variable& v) { return v.name == initial.symbol; });
        if (target == variables.end())
            throw Error("the initial value of " + variable.name + " is the address of " + initial.symbol +
                        ", which has no address");
        std::uint64_t address = target->offset;
        if (target->space == StateSpace::global) address = module_variable_address(memory, target->name);
        if (target->space == StateSpace::constant && initial.generic) address += kConstantWindow;
        address = (address + initial.addend) >> initial.shift;
        for (unsigned i = 0; i < initial.bytes; ++i)
            bytes[initial.position + i] = i < 8 ? static_cast<std::byte>(address >> (8 * i)) : std::byte{0};
    }
}

std::uint64_t module_variable_address(const GlobalMemory& memory, const std::string& variable) {
    const std::string name = allocation_name(memory, variable);
    for (const Allocation& allocation : memory.allocations()) {
        if (allocation.name == name) return allocation.base;
    }
    return 0;
}

}  // namespace heddle::ptx
