#include "isa/sass/machine_instruction.h"

#include <algorithm>
#include <vector>

#include "isa/sass/matrix_shape.h"

namespace heddle::sass {
namespace {

using ptx::Operation;
using ptx::StateSpace;
using ptx::Synchronisation;

/// An opcode in its words.
class Words {
  public:
    explicit Words(std::string_view opcode) {
        for (std::size_t begin = 0; begin <= opcode.size();) {
            const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
            words_.push_back(opcode.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    std::string_view name() const { return words_.front(); }
    std::span<const std::string_view> modifiers() const { return std::span(words_).subspan(1); }
    bool has(std::string_view modifier) const {
        return std::find(words_.begin() + 1, words_.end(), modifier) != words_.end();
    }
    template <typename... More>
    bool has(std::string_view first, More... more) const {
        return has(first) || (has(more) || ...);
    }

  private:
    std::vector<std::string_view> words_;
};

void add(std::vector<std::uint16_t>& to, std::uint8_t first, unsigned count) {
    if (first == kNoGeneralRegister) return;
    for (unsigned i = 0; i < count && first + i < kGeneralRegisters; ++i)
        to.push_back(static_cast<std::uint16_t>(first + i));
}

/// The operands of an instruction; where predicates come first, tracers list the destination among the
/// sources.
struct Operands {
    std::uint8_t destination = kNoGeneralRegister;
    std::vector<std::uint8_t> sources;
};

bool names_predicate_first(std::string_view name, const Words& words) {
    return name == "SHFL" || name == "ATOM" || name == "ATOMG" || (name == "MATCH" && words.has("ALL"));
}

Operands operands_of(const WrittenInstruction& written, const Words& words) {
    Operands result;
    result.sources.assign(written.sources.begin(), written.sources.end());
    if (written.writes) {
        result.destination = written.destination;
    } else if (names_predicate_first(words.name(), words) && result.sources.size() > 1) {
        result.destination = result.sources.front();
        result.sources.erase(result.sources.begin());
    }
    return result;
}

/// Bytes that a load or store moves for each lane, by its modifiers.
unsigned bytes_by_modifiers(const Words& words) {
    if (words.has("U8", "S8")) return 1;
    if (words.has("U16", "S16")) return 2;
    if (words.has("128")) return 16;
    if (words.has("64", "U64", "S64", "F64")) return 8;
    return 4;
}

unsigned registers_for(unsigned bytes) {
    return std::max(1u, (bytes + 3) / 4);
}

void set_cache_policy(const Words& words, ptx::InstructionInfo& info) {
    using enum ptx::CachePriority;
    const auto level = words.has("EF") ? first : words.has("EL") ? last : words.has("EU") ? unchanged : none;
    info.cache.l1 = info.cache.primary = level;
    if (words.has("NA")) info.cache.allocate_l1 = false;
    // What other SMs write is read from L2; .CTA and .SM order within the SM alone.
    info.bypass_l1 =
        words.has("BYPASS") || (words.has("STRONG") && words.has("GPU", "SYS")) || words.has("MMIO");
}

void describe_access(const WrittenInstruction& written, const Words& words, const Operands& operands,
                     MachineInstruction& result) {
    ptx::InstructionInfo& info = result.info;
    const std::string_view name = words.name();
    const bool load = result.behaviour == Behaviour::load;
    const bool atomic = result.behaviour == Behaviour::atomic || result.behaviour == Behaviour::reduction;
    info.reads_memory = load || atomic;
    info.writes_memory = !load;
    info.atomic = atomic;
    set_cache_policy(words, info);
    unsigned registers = registers_for(bytes_by_modifiers(words));
    result.bytes_per_lane = static_cast<std::uint8_t>(bytes_by_modifiers(words));
    if (written.bytes_per_lane != 0) result.bytes_per_lane = written.bytes_per_lane;
    if (name == "LDSM" || name == "STSM") {
        registers = result.matrices = words.has("4") ? 4 : words.has("2") ? 2 : 1;
        result.matrix_rows = true;
        result.bytes_per_lane = 16;
    }
    add(info.writes, operands.destination, load || result.behaviour == Behaviour::atomic ? registers : 0);
    const bool wide_address =
        words.has("E") && info.space != StateSpace::shared && info.space != StateSpace::local;
    for (std::size_t i = 0; i < operands.sources.size(); ++i)
        add(info.reads, operands.sources[i], i == 0 ? (wide_address ? 2 : 1) : load ? 1 : registers);
}

// Texels: four registers, as the mask of those that are wanted is not in a trace. Surfaces move what their
// modifiers say.
void describe_texture(const WrittenInstruction& written, const Words& words, const Operands& operands,
                      MachineInstruction& result) {
    ptx::InstructionInfo& info = result.info;
    const std::string_view name = words.name();
    const bool surface = name.substr(0, 2) == "SU";
    info.atomic = name == "SUATOM" || name == "SURED";
    info.writes_memory = info.atomic || name == "SUST";
    info.reads_memory = info.atomic || !info.writes_memory;
    const unsigned bytes = surface ? bytes_by_modifiers(words) : 4;
    result.bytes_per_lane =
        written.bytes_per_lane != 0 ? written.bytes_per_lane : static_cast<std::uint8_t>(bytes);
    if (info.reads_memory && name != "SURED")
        add(info.writes, operands.destination, surface ? registers_for(bytes) : 4);
    for (std::size_t i = 0; i < operands.sources.size(); ++i)
        add(info.reads, operands.sources[i], name == "SUST" && i != 0 ? registers_for(bytes) : 1);
}

void describe_async_copy(const WrittenInstruction& written, const Words& words, const Operands& operands,
                         MachineInstruction& result) {
    ptx::InstructionInfo& info = result.info;
    info.reads_memory = info.async_copy = true;
    set_cache_policy(words, info);
    result.bytes_per_lane = written.bytes_per_lane != 0
                                ? written.bytes_per_lane
                                : static_cast<std::uint8_t>(bytes_by_modifiers(words));
    // [shared memory], [global memory]
    for (std::size_t i = 0; i < operands.sources.size(); ++i)
        add(info.reads, operands.sources[i], i == 1 && words.has("E") ? 2 : 1);
}

bool describe_matrix(const Words& words, const Operands& operands, MachineInstruction& result) {
    const auto shape = matrix_shape(words.name(), words.modifiers());
    if (!shape) return false;
    ptx::InstructionInfo& info = result.info;
    info.tensor_type = shape->type;
    if (result.behaviour == Behaviour::warpgroup_matrix) {
        info.asynchronous_tensor = true;
        info.tensor_macs = shape->macs() / 4;
        add(info.writes, operands.destination, shape->accumulator_registers);
        for (const std::uint8_t source : operands.sources) {
            if (source == operands.destination || source == kNoGeneralRegister) continue;
            info.tensor_a_in_registers = true;
            add(info.reads, source, shape->a_registers);
            break;
        }
        add(info.reads, operands.destination, shape->accumulator_registers);
        info.tensor_operand_bytes = shape->n * shape->k * shape->bits / 8 / 4;
        if (!info.tensor_a_in_registers)
            info.tensor_operand_bytes += shape->m / 4 * shape->k * shape->bits / 8;
        return true;
    }
    info.tensor_macs = shape->macs();
    add(info.writes, operands.destination, shape->accumulator_registers);
    const std::array<unsigned, 3> registers{shape->a_registers, shape->b_registers,
                                            shape->accumulator_registers};
    for (std::size_t i = 0; i < operands.sources.size(); ++i)
        add(info.reads, operands.sources[i], i < registers.size() ? registers[i] : 1);
    return true;
}

void describe_block_barrier(const WrittenInstruction& written, const Words& words,
                            MachineInstruction& result) {
    result.info.synchronisation = Synchronisation::cta_barrier;
    result.barrier = words.has("ARV")   ? BarrierUse::arrive
                     : words.has("RED") ? BarrierUse::reduce
                                        : BarrierUse::sync;
    // 16 barriers; where the number stands in a register, the trace has none: all such are barrier 0.
    result.barrier_number = static_cast<std::uint8_t>(written.immediate & 15);
}

void describe_memory_barrier(const Words& words, const Operands& operands, MachineInstruction& result) {
    ptx::InstructionInfo& info = result.info;
    info.memory_barrier = words.has("TRYWAIT")        ? ptx::MemoryBarrierUse::try_wait
                          : words.has("PHASECHK")     ? ptx::MemoryBarrierUse::test_wait
                          : words.has("EXCH", "CCTL") ? ptx::MemoryBarrierUse::none
                                                      : ptx::MemoryBarrierUse::arrive;
    const bool arrives = info.memory_barrier == ptx::MemoryBarrierUse::arrive;
    info.writes_memory = arrives || info.memory_barrier == ptx::MemoryBarrierUse::none;
    info.atomic = arrives;
    info.reads_memory = !info.writes_memory || arrives;
    result.bytes_per_lane = 8;
    add(info.writes, operands.destination, 2);
    for (const std::uint8_t source : operands.sources) add(info.reads, source, 1);
}

/// What synchronises, apart from barriers of a block.
Synchronisation synchronisation_of(Behaviour behaviour, const Words& words) {
    switch (behaviour) {
        case Behaviour::cluster_arrive:
            return Synchronisation::cluster_arrive;
        case Behaviour::cluster_wait:
            return Synchronisation::cluster_barrier;
        case Behaviour::copy_commit:
            return Synchronisation::async_copy_commit;
        case Behaviour::dependence_wait:
            // Machine code says it with the scoreboard's number, a trace does not; .BULK is Heddle's own word
            // for copies of the copy engine.
            if (words.has("BULK"))
                return words.has("READ") ? Synchronisation::bulk_wait_read : Synchronisation::bulk_wait;
            return Synchronisation::async_copy_wait;
        case Behaviour::memory_fence:
            return Synchronisation::memory_fence;
        case Behaviour::warpgroup:
            return words.has("DEPBAR") ? Synchronisation::wgmma_wait : Synchronisation::wgmma_fence;
        case Behaviour::bulk_commit:
            return Synchronisation::bulk_commit;
        case Behaviour::launch_dependents:
            return Synchronisation::launch_dependents;
        case Behaviour::dependency_wait:
            return Synchronisation::dependency_wait;
        case Behaviour::set_registers:
            return words.has("ALLOC", "TRY_ALLOC") ? Synchronisation::more_registers
                                                   : Synchronisation::fewer_registers;
        case Behaviour::exit:
            return Synchronisation::exit;
        default:
            return Synchronisation::none;
    }
}

/// Two numbers of single precision side by side in 64 bits: PTX's .f32x2 (sm_100).
bool is_on_pairs(std::string_view name) {
    return name == "FADD2" || name == "FMUL2" || name == "FFMA2";
}

/// Registers of each operand of arithmetic on 64 bits.
struct Widths {
    unsigned destination = 1, sources = 1, last_source = 0;  ///< last_source: of three; 0: as the others
};

Widths widths_of(std::string_view name, const Words& words) {
    if (name == "DADD" || name == "DFMA" || name == "DMUL" || name == "DMNMX" || name == "DSETP")
        return {2, 2};
    if ((name == "IMAD" || name == "IMUL") && words.has("WIDE")) return {2, 1, 2};
    if (name == "CS2R") return {words.has("32") ? 1u : 2u, 1};
    if (name == "F2F")
        return {words.has("F64") && words.modifiers().front() == "F64" ? 2u : 1u,
                words.has("F64") && words.modifiers().front() != "F64" ? 2u : 1u};
    if (name == "FRND" && words.has("F64")) return {2, 2};
    if (name == "I2F") return {words.has("F64") ? 2u : 1u, words.has("U64", "S64") ? 2u : 1u};
    if (name == "F2I") return {words.has("U64", "S64") ? 2u : 1u, words.has("F64") ? 2u : 1u};
    if (is_on_pairs(name)) return {2, 2};
    return {};
}

/// The class within the mnemonic, where modifiers decide.
Operation refine(Operation operation, std::string_view name, const Words& words) {
    if (operation == Operation::multiply && words.has("WIDE", "HI")) return Operation::multiply_wide;
    if (operation == Operation::half && words.has("BF16_V2", "BF16", "BF16x2")) return Operation::bf16;
    if (name == "HADD2" && words.has("F32")) return Operation::half_conversion;
    if (operation == Operation::conversion && name != "S2R" && words.has("F64", "S64", "U64"))
        return Operation::wide_conversion;
    return operation;
}

void describe_arithmetic(std::string_view name, const Words& words, const Operands& operands,
                         MachineInstruction& result) {
    const Widths widths = widths_of(name, words);
    // As the form of .f32x2 has it (isa/ptx/forms/float.h): an operation for each of the two, an assumption.
    if (is_on_pairs(name)) result.info.machine_operations = 2;
    add(result.info.writes, operands.destination, widths.destination);
    for (std::size_t i = 0; i < operands.sources.size(); ++i) {
        const bool last = i == 2 && widths.last_source != 0;
        add(result.info.reads, operands.sources[i], last ? widths.last_source : widths.sources);
        if (i < result.operands.size() && widths.sources == 1) result.operands[i] = operands.sources[i];
    }
}

/// A move of register R to itself would wait for itself alone; doubles cost nothing but time to look at.
void remove_doubles(std::vector<std::uint16_t>& registers) {
    std::sort(registers.begin(), registers.end());
    registers.erase(std::unique(registers.begin(), registers.end()), registers.end());
}

MachineInstruction begin(Operation operation, Behaviour behaviour, StateSpace space) {
    MachineInstruction result;
    result.behaviour = behaviour;
    result.info.operation = operation;
    result.info.pipeline = pipeline_of(operation);
    result.info.space = space;
    if (operation ==
        Operation::uniform) {  // machines without that datapath do the work with ordinary integers
        result.info.operation = Operation::integer;
        result.info.uniform = true;
    }
    return result;
}

}  // namespace

std::optional<MachineInstruction> decode(const WrittenInstruction& written) {
    const Words words(written.opcode);
    const std::string_view name = words.name();
    const Mnemonic* const mnemonic = find_mnemonic(name);
    if (mnemonic == nullptr) return {};
    MachineInstruction result =
        begin(refine(mnemonic->operation, name, words), mnemonic->behaviour, mnemonic->space);
    const Operands operands = operands_of(written, words);
    switch (result.behaviour) {
        case Behaviour::load:
        case Behaviour::store:
        case Behaviour::atomic:
        case Behaviour::reduction:
            describe_access(written, words, operands, result);
            break;
        case Behaviour::async_copy:
            describe_async_copy(written, words, operands, result);
            break;
        case Behaviour::texture:
            describe_texture(written, words, operands, result);
            break;
        case Behaviour::constant_load:
            result.info.reads_memory = true;
            result.bytes_per_lane = static_cast<std::uint8_t>(bytes_by_modifiers(words));
            add(result.info.writes, operands.destination, registers_for(result.bytes_per_lane));
            for (const std::uint8_t source : operands.sources) add(result.info.reads, source, 1);
            break;
        case Behaviour::matrix:
        case Behaviour::warpgroup_matrix:
            if (!describe_matrix(words, operands, result)) return {};
            break;
        case Behaviour::block_barrier:
            describe_block_barrier(written, words, result);
            break;
        case Behaviour::memory_barrier:
            describe_memory_barrier(words, operands, result);
            break;
        case Behaviour::arrive_on_copies:
            result.info.memory_barrier = ptx::MemoryBarrierUse::arrive;
            result.bytes_per_lane = 8;
            for (const std::uint8_t source : operands.sources) add(result.info.reads, source, 1);
            break;
        case Behaviour::bulk_load:
        case Behaviour::bulk_store:
        case Behaviour::bulk_prefetch:
            if (name == "UBLKCP" && words.has("G")) {  // to.from: S.G is a load, G.S a store
                result.behaviour =
                    words.modifiers().front() == "G" ? Behaviour::bulk_store : Behaviour::bulk_load;
            }
            result.info.bulk_copy = true;
            break;
        default:
            describe_arithmetic(name, words, operands, result);
            break;
    }
    if (result.info.synchronisation == Synchronisation::none)
        result.info.synchronisation = synchronisation_of(result.behaviour, words);
    if (result.behaviour == Behaviour::dependence_wait ||
        result.info.synchronisation == Synchronisation::wgmma_wait)
        result.info.async_copy_groups_left =
            static_cast<std::uint16_t>(std::clamp<std::int64_t>(written.immediate, 0, 63));
    if (result.behaviour == Behaviour::set_registers) {
        result.info.register_count =
            static_cast<std::uint16_t>(std::clamp<std::int64_t>(written.immediate, 0, 256));
        if (written.immediate <= 0)
            result.info.synchronisation = Synchronisation::none;  // the trace has no count
    }
    remove_doubles(result.info.reads);
    remove_doubles(result.info.writes);
    return result;
}

MachineInstruction decode_as(const WrittenInstruction& written, Operation as) {
    const Words words(written.opcode);
    const Operands operands = operands_of(written, words);
    MachineInstruction result = begin(as, Behaviour::compute, StateSpace::none);
    if (as == Operation::load_store) {
        result.behaviour = written.bytes_per_lane != 0 ? Behaviour::load : Behaviour::shuffle;
        if (written.bytes_per_lane != 0) result.info.space = StateSpace::global;
    }
    if (result.behaviour == Behaviour::load) {
        describe_access(written, words, operands, result);
    } else {
        describe_arithmetic(words.name(), words, operands, result);
    }
    remove_doubles(result.info.reads);
    remove_doubles(result.info.writes);
    return result;
}

}  // namespace heddle::sass
