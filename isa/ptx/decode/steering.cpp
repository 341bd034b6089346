#include "isa/ptx/decode/steering.h"

#include <algorithm>

#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx {
namespace {

/// Values of textures are not followed: a kernel that reads any may be steered by them.
bool reads_texture(Opcode opcode) {
    return opcode == Opcode::tex || opcode == Opcode::tld4 || opcode == Opcode::txq || opcode == Opcode::suld || opcode == Opcode::suq;
}

// What a pointer was made from: one bit per kernel parameter or variable, bit 0 for pointers read from memory
// and for everything beyond 61 roots.
using Roots = std::uint64_t;
constexpr Roots kUnknown = 1;
// The address of a parameter itself: nobody writes there.
constexpr Roots kParameterAddress = Roots{1} << 63;
// What %envreg1 and %envreg2 lead to: the barrier of a cooperative grid.
constexpr Roots kGridWorkspace = Roots{1} << 62;

bool calls_runtime(const Kernel& kernel, const Instruction& instruction, RuntimeFunction function) {
    const CallSite& site = kernel.calls[instruction.operands[0].bits];
    return site.kind == CallSite::Kind::runtime && site.runtime == function;
}

// What is performed in timing mode: allocation, which others wait for, and work that ends later.
bool begins_tensor_work(const Instruction& n) {
    return n.has(Modifier::alloc) || n.has(Modifier::dealloc) || n.has(Modifier::relinquish_alloc_permit) || n.has(Modifier::mma) ||
           n.has(Modifier::commit) || n.has(Modifier::cp) || n.has(Modifier::shift);
}

bool is_control(const Kernel& kernel, const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::bra:
        case Opcode::brx:
        case Opcode::ret:
        case Opcode::exit:
        case Opcode::trap:
        case Opcode::brkpt:
        case Opcode::barrier:
        case Opcode::alloca:  // all of them: where the next one lies depends on it
        case Opcode::stacksave:
        case Opcode::stackrestore:
            return true;
        case Opcode::call:
            return calls_runtime(kernel, instruction, RuntimeFunction::assertfail);
        case Opcode::bar:
            return !instruction.has(Modifier::warp);
        case Opcode::wgmma:
            return instruction.has(Modifier::wait_group);
        case Opcode::tcgen05:
            return begins_tensor_work(instruction);
        default:
            return false;
    }
}

bool is_async_copy(const Instruction& instruction) {
    return instruction.opcode == Opcode::cp && !is_asynchronous(instruction) &&
           !instruction.operands.empty() && instruction.operands[0].kind == Operand::Kind::address;
}

// A pointer does not survive these.
bool forgets_pointers(const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::mul:
        case Opcode::mul24:
        case Opcode::div:
        case Opcode::rem:
        case Opcode::shl:
        case Opcode::shr:
        case Opcode::bfe:
        case Opcode::popc:
        case Opcode::clz:
        case Opcode::setp:
        case Opcode::set:
        case Opcode::tex:
        case Opcode::tld4:
        case Opcode::txq:
        case Opcode::suq:
            return true;
        default:
            return is_float(instruction.type());
    }
}

class RootAnalysis {
  public:
    RootAnalysis(const Kernel& kernel, std::span<const RegisterUse> uses) : kernel_(kernel), uses_(uses) {
        roots_.assign(kernel.registers.size() + 1, 0);
        for (const Instruction& n : kernel.instructions) {
            if (n.spill_slot >= slot_roots_.size()) slot_roots_.resize(n.spill_slot + std::size_t{1}, 0);
        }
        name_roots();
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t i = 0; i < uses.size(); ++i) changed = propagate(i) || changed;
        }
    }

    // Of an address operand.
    Roots of(const Operand& operand) const {
        if (operand.base == Operand::Kind::reg) return roots_[operand.index];
        if (operand.base == Operand::Kind::variable) return variable_root(operand.index);
        return 0;
    }

    Roots of_space(StateSpace space) const {
        Roots mask =
            space == StateSpace::global || space == StateSpace::generic ? kUnknown | kGridWorkspace : 0;
        for (std::size_t v = 0; v < kernel_.variables.size(); ++v) {
            if (space == StateSpace::generic || kernel_.variables[v].space == space) mask |= variable_root(v);
        }
        if (space == StateSpace::global || space == StateSpace::generic) {
            for (std::size_t p = 0; p < offsets_.size(); ++p) mask |= parameter_root(p);
        }
        return mask;
    }

    std::vector<std::uint32_t> parameter_offsets(Roots roots) const {
        std::vector<std::uint32_t> result;
        for (std::size_t p = 0; p < offsets_.size(); ++p) {
            const Roots root = parameter_root(p);
            if (root != kUnknown && (roots & root) != 0) result.push_back(offsets_[p]);
        }
        return result;
    }

  private:
    static Roots bit(std::size_t index) { return index + 1 < 62 ? Roots{1} << (index + 1) : kUnknown; }
    Roots parameter_root(std::size_t p) const { return bit(p); }
    Roots variable_root(std::size_t v) const {
        return kernel_.variables[v].space == StateSpace::none ? 0
                                                              : bit(offsets_.size() + variable_numbers_[v]);
    }

    static bool is_pointer_load(const Instruction& n) {
        return n.opcode == Opcode::ld && n.space == StateSpace::parameter && bits_of(n.type()) == 64 &&
               n.operands[1].base == Operand::Kind::parameter;
    }
    std::uint32_t parameter_offset(const Instruction& n) const {
        return kernel_.parameters[n.operands[1].index].offset +
               static_cast<std::uint32_t>(n.operands[1].bits);
    }

    void name_roots() {
        std::size_t number = 0;
        for (const Variable& variable : kernel_.variables) {  // functions are none
            variable_numbers_.push_back(number);
            number += variable.space != StateSpace::none ? 1 : 0;
        }
        for (const Instruction& n : kernel_.instructions) {
            if (!is_pointer_load(n)) continue;
            const std::uint32_t offset = parameter_offset(n);
            if (std::find(offsets_.begin(), offsets_.end(), offset) == offsets_.end())
                offsets_.push_back(offset);
        }
    }

    Roots result_of(std::size_t i) const {
        const Instruction& n = kernel_.instructions[i];
        if (is_pointer_load(n)) {
            const auto found = std::find(offsets_.begin(), offsets_.end(), parameter_offset(n));
            return parameter_root(static_cast<std::size_t>(found - offsets_.begin())) |
                   (n.operands[0].kind == Operand::Kind::vector ? kUnknown : 0);
        }
        if (n.opcode == Opcode::call) return kUnknown;
        if (n.spill_slot != 0) return slot_roots_[n.spill_slot];
        const bool loads = n.opcode == Opcode::ld || n.opcode == Opcode::ldu || n.opcode == Opcode::atom ||
                           n.opcode == Opcode::suld;
        if (loads) return bits_of(n.type()) >= 64 ? kUnknown : 0;
        if (forgets_pointers(n)) return 0;
        Roots result = 0;
        for (std::size_t o = 1; o < n.operands.size(); ++o) {
            // The factors of a multiply-add are no pointers.
            if ((n.opcode == Opcode::mad || n.opcode == Opcode::mad24 || n.opcode == Opcode::madc) && o < 3)
                continue;
            result |= of_operand(n.operands[o]);
        }
        return result;
    }

    Roots of_operand(const Operand& operand) const {
        if (operand.kind == Operand::Kind::reg) return roots_[operand.index];
        if (operand.kind == Operand::Kind::variable) return variable_root(operand.index);
        if (operand.kind == Operand::Kind::parameter) return kParameterAddress;
        if (operand.kind == Operand::Kind::special) {
            const auto special = static_cast<SpecialRegister>(operand.index);
            const bool workspace = special == SpecialRegister::envreg1 || special == SpecialRegister::envreg2;
            return workspace ? kGridWorkspace : 0;
        }
        Roots result = 0;
        for (const Operand& element : operand.elements) result |= of_operand(element);
        return result;
    }

    bool propagate(std::size_t i) {
        const Instruction& n = kernel_.instructions[i];
        if (n.spill_slot != 0 && n.opcode == Opcode::st) {
            Roots& slot = slot_roots_[n.spill_slot];
            const Roots before = slot;
            slot |= of_operand(n.operands[1]);
            return slot != before;
        }
        if (uses_[i].writes.empty()) return false;
        const Roots result = result_of(i);
        bool changed = false;
        for (const std::uint32_t r : uses_[i].writes) {
            changed = changed || (roots_[r] | result) != roots_[r];
            roots_[r] |= result;
        }
        return changed;
    }

    const Kernel& kernel_;
    std::span<const RegisterUse> uses_;
    std::vector<Roots> roots_;            // of registers
    std::vector<Roots> slot_roots_;       // of what is spilled
    std::vector<std::uint32_t> offsets_;  // of parameters used as pointers
    std::vector<std::size_t> variable_numbers_;
};

// One side of a memory access.
struct Region {
    bool exists = false;
    StateSpace space = StateSpace::none;
    Roots roots = 0;
    bool anywhere = false;         // in that space
    std::uint16_t spill_slot = 0;  // which nothing else touches
};

bool overlap(const Region& a, const Region& b) {
    if (!a.exists || !b.exists) return false;
    if (a.spill_slot != 0 || b.spill_slot != 0) return a.spill_slot == b.spill_slot;
    if (a.space != b.space && a.space != StateSpace::generic && b.space != StateSpace::generic) return false;
    return a.anywhere || b.anywhere || (a.roots & b.roots) != 0;
}

class Slicer {
  public:
    Slicer(const Kernel& kernel, std::span<const RegisterUse> uses)
        : kernel_(kernel), uses_(uses), roots_(kernel, uses), reads_(uses.size()), writes_(uses.size()) {
        slice_.evaluated.assign(uses.size(), false);
        done_.assign(uses.size(), false);
        slice_.registers.assign(kernel.registers.size() + 1, false);
        for (std::size_t i = 0; i < uses.size(); ++i) describe_access(i);
    }

    /// After run(): what is read from tensor memory steers.
    bool tensor_values_steer() const { return tensor_values_steer_; }

    SteeringSlice run() {
        for (std::size_t i = 0; i < uses_.size(); ++i) seed(i);
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t i = uses_.size(); i-- > 0;) changed = visit(i) || changed;
        }
        finish();
        return std::move(slice_);
    }

  private:
    Region region(const Operand& operand, StateSpace space) const {
        Region result;
        result.exists = true;
        result.space = space == StateSpace::none             ? StateSpace::generic
                       : space == StateSpace::shared_cluster ? StateSpace::shared
                                                             : space;
        result.roots = roots_.of(operand) & roots_.of_space(result.space);
        result.anywhere = result.roots == 0 || (result.roots & kUnknown) != 0;
        return result;
    }

    // Whatever a tensor map says.
    static Region somewhere_in_global_memory() { return {true, StateSpace::global, 0, true}; }

    void describe_bulk_copy(std::size_t i) {
        const Instruction& n = kernel_.instructions[i];
        if (n.has(Modifier::prefetch)) return;
        const bool tensor = is_tensor_copy(n);
        writes_[i] = tensor && n.space == StateSpace::global ? somewhere_in_global_memory()
                                                             : region(n.operands[0], n.space);
        reads_[i] = tensor && n.second_space == StateSpace::global ? somewhere_in_global_memory()
                                                                   : region(n.operands[1], n.second_space);
    }

    void describe_asynchronous(std::size_t i) {
        const Instruction& n = kernel_.instructions[i];
        if (n.opcode == Opcode::clusterlaunchcontrol) return;
        if (is_bulk_copy(n)) return describe_bulk_copy(i);
        const StateSpace shared = StateSpace::shared;
        if (n.opcode == Opcode::st) writes_[i] = region(n.operands[0], shared);
        if (n.opcode == Opcode::red) reads_[i] = writes_[i] = region(n.operands[0], shared);
        if (n.opcode != Opcode::tensormap) return;
        writes_[i] = region(n.operands[0], n.space);
        reads_[i] = n.has(Modifier::replace) ? writes_[i] : region(n.operands[1], shared);
    }

    void describe_access(std::size_t i) {
        const Instruction& n = kernel_.instructions[i];
        if (n.spill_slot != 0) {
            (n.opcode == Opcode::ld ? reads_ : writes_)[i] = {.exists = true,
                                                              .space = StateSpace::local,
                                                              .roots = 0,
                                                              .anywhere = false,
                                                              .spill_slot = n.spill_slot};
            return;
        }
        if (is_asynchronous(n)) return describe_asynchronous(i);
        switch (n.opcode) {
            case Opcode::ld:
            case Opcode::ldu:
            case Opcode::ldmatrix:
                if (n.space != StateSpace::parameter && n.space != StateSpace::constant) {
                    reads_[i] = region(n.operands[1], n.space);
                }
                break;
            case Opcode::wgmma:  // descriptors say where at run time only
                if (n.has(Modifier::mma_async)) {
                    reads_[i] = {.exists = true, .space = StateSpace::shared, .roots = 0, .anywhere = true};
                }
                break;
            case Opcode::tcgen05:
                if (n.has(Modifier::alloc)) writes_[i] = region(n.operands[0], StateSpace::shared);
                // Descriptors say where at run time only.
                if (n.has(Modifier::mma) || n.has(Modifier::cp)) reads_[i] = {.exists = true, .space = StateSpace::shared, .roots = 0, .anywhere = true};
                break;
            case Opcode::st:
                writes_[i] = region(n.operands[0], n.space);
                break;
            case Opcode::stmatrix:
                writes_[i] = region(n.operands[0], StateSpace::shared);
                break;
            case Opcode::wmma:
                if (is_fragment_load(n)) reads_[i] = region(n.operands[1], n.space);
                if (is_fragment_store(n)) writes_[i] = region(n.operands[0], n.space);
                break;
            case Opcode::atom:
                reads_[i] = writes_[i] = region(n.operands[1], n.space);
                break;
            case Opcode::red:
                reads_[i] = writes_[i] = region(n.operands[0], n.space);
                break;
            case Opcode::tex:  // wherever the object says
            case Opcode::tld4:
            case Opcode::suld:
                reads_[i] = somewhere_in_global_memory();
                break;
            case Opcode::sust:
                writes_[i] = somewhere_in_global_memory();
                break;
            case Opcode::sured:
                reads_[i] = writes_[i] = somewhere_in_global_memory();
                break;
            case Opcode::cp:
                if (is_async_copy(n)) {
                    writes_[i] = region(n.operands[0], StateSpace::shared);
                    reads_[i] = region(n.operands[1], StateSpace::global);
                }
                break;
            default:
                break;
        }
    }

    bool mark(std::uint32_t r) {
        if (slice_.registers[r]) return false;
        slice_.registers[r] = true;
        return true;
    }

    void mark_operand(const Operand& operand) {
        if (operand.kind == Operand::Kind::reg) mark(operand.index);
    }

    // mbarriers are a region of their own, which ordinary accesses leave alone: all that touch it are
    // performed. Bytes that copies move matter only where something that steers is read from.
    void seed_asynchronous(std::size_t i) {
        const Instruction& n = kernel_.instructions[i];
        if (n.opcode == Opcode::st || n.opcode == Opcode::red || n.opcode == Opcode::tensormap) {
            if (n.has(Modifier::bulk)) mark_operand(n.operands[1]);
            return;
        }
        const bool copies = is_bulk_copy(n);
        slice_.evaluated[i] = !copies;
        const std::size_t count = n.operands.size() - (n.has(Modifier::cache_hint) ? 1 : 0);
        for (std::size_t o = 0; o < count; ++o) mark_operand(n.operands[o]);
        if (!is_tensor_copy(n)) return;
        const Operand& map = n.operands[n.second_space == StateSpace::global ? 1 : 0];
        const Roots elsewhere = kParameterAddress | roots_.of_space(StateSpace::constant);
        if (roots_.of(map) != 0 && (roots_.of(map) & ~elsewhere) == 0) return;
        add_region(region(map, StateSpace::global));
    }

    // Which column an address names decides about no time. The size of an allocation does, and of a product the instruction descriptor, and
    // whom a commit tells.
    void seed_tensor_memory(std::size_t i) {
        const Instruction& n = kernel_.instructions[i];
        if (n.guard >= 0) mark(static_cast<std::uint32_t>(n.guard));
        if (!begins_tensor_work(n)) return;
        slice_.evaluated[i] = true;
        if (n.has(Modifier::alloc) || n.has(Modifier::dealloc)) mark_operand(n.operands[1]);
        if (n.has(Modifier::commit) && n.operands.size() > 1) mark_operand(n.operands[1]);
        if (n.has(Modifier::alloc) || n.has(Modifier::commit))
            for (const std::uint32_t r : uses_[i].address_reads) mark(r);
        if (n.has(Modifier::mma)) mark_operand(n.operands[n.has(Modifier::sp) ? 4 : 3]);
    }

    void seed(std::size_t i) {
        const Instruction& n = kernel_.instructions[i];
        if (n.opcode == Opcode::tcgen05) return seed_tensor_memory(i);
        for (const std::uint32_t r : uses_[i].address_reads) mark(r);
        if (n.guard >= 0) mark(static_cast<std::uint32_t>(n.guard));
        if (is_asynchronous(n)) return seed_asynchronous(i);
        if (is_async_copy(n) && n.operands.size() > 3) mark_operand(n.operands[3]);
        if (synchronizes_lanes(n)) mark_operand(n.operands.back());
        if (is_fragment_load(n) || is_fragment_store(n)) mark_operand(n.operands[2]);  // the stride
        if (!is_control(kernel_, n)) return;
        slice_.evaluated[i] = true;
        const bool stack = n.opcode == Opcode::alloca || n.opcode == Opcode::stackrestore;
        if (n.opcode == Opcode::call || stack) {  // a call: what a failed assertion says
            for (const std::uint32_t r : uses_[i].reads) mark(r);
        }
        if (n.opcode == Opcode::bar || n.opcode == Opcode::barrier || n.opcode == Opcode::brx) {
            for (const Operand& operand : n.operands) {
                if (operand.type != Type::pred) mark_operand(operand);
            }
        }
    }

    bool written_value_steers(std::size_t i) const {
        return std::any_of(uses_[i].writes.begin(), uses_[i].writes.end(),
                           [&](std::uint32_t r) { return slice_.registers[r]; });
    }

    bool visit(std::size_t i) {
        const bool steers =
            written_value_steers(i) || std::any_of(steering_.begin(), steering_.end(),
                                                   [&](const Region& r) { return overlap(r, writes_[i]); });
        if (!steers || done_[i]) return false;
        done_[i] = true;
        // Values of tensor memory are not followed: where they steer, all are computed.
        if (kernel_.instructions[i].opcode == Opcode::tcgen05 && kernel_.instructions[i].has(Modifier::ld)) tensor_values_steer_ = true;
        if (kernel_.instructions[i].opcode == Opcode::tcgen05 && kernel_.instructions[i].has(Modifier::alloc)) return true;
        // Queries of answers look at nothing: machine/launch_control.cpp.
        if (kernel_.instructions[i].opcode == Opcode::clusterlaunchcontrol) {
            slice_.evaluated[i] = true;
            return true;
        }
        slice_.evaluated[i] = true;
        for (const std::uint32_t r : uses_[i].reads) mark(r);
        if (reads_[i].exists) add_region(reads_[i]);
        return true;
    }

    void add_region(const Region& added) {
        for (Region& known : steering_) {
            if (known.space != added.space || known.spill_slot != added.spill_slot) continue;
            known.roots |= added.roots;
            known.anywhere = known.anywhere || added.anywhere;
            return;
        }
        steering_.push_back(added);
    }

    void finish() {
        Roots read = 0, skipped = 0;
        for (const Region& r : steering_) {
            const bool shared = r.space == StateSpace::shared || r.space == StateSpace::generic;
            slice_.shared_memory = slice_.shared_memory || shared;
            slice_.reads_global = slice_.reads_global || r.space == StateSpace::global || r.space == StateSpace::generic;
            read |= r.roots;
        }
        for (std::size_t i = 0; i < uses_.size(); ++i) {
            slice_.count += slice_.evaluated[i] ? 1 : 0;
            if (!slice_.evaluated[i]) skipped |= writes_[i].roots;
            const bool global =
                writes_[i].space == StateSpace::global || writes_[i].space == StateSpace::generic;
            if (slice_.evaluated[i] && writes_[i].exists && global) slice_.writes_global = true;
        }
        for (const Instruction& instruction : kernel_.instructions)
            slice_.reads_global = slice_.reads_global || reads_texture(instruction.opcode);
        slice_.steering_reads = roots_.parameter_offsets(read);
        slice_.skipped_writes = roots_.parameter_offsets(skipped);
    }

    const Kernel& kernel_;
    std::span<const RegisterUse> uses_;
    RootAnalysis roots_;
    std::vector<Region> reads_, writes_;
    std::vector<Region> steering_;  // one per space, and per spilled value
    std::vector<bool> done_;        // operands have been marked
    bool tensor_values_steer_ = false;
    SteeringSlice slice_;
};

}  // namespace

bool synchronizes_lanes(const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::shfl:
        case Opcode::vote:
        case Opcode::match:
        case Opcode::redux:
        case Opcode::elect:
            return true;
        case Opcode::bar:
            return instruction.has(Modifier::warp);
        default:
            return false;
    }
}

namespace {

// Pointers to functions and the heap's addresses may lie anywhere in memory.
bool needs_everything(const Kernel& kernel) {
    return std::any_of(kernel.calls.begin(), kernel.calls.end(), [](const CallSite& site) {
        return site.kind != CallSite::Kind::runtime ||
               (site.runtime != RuntimeFunction::vprintf && site.runtime != RuntimeFunction::assertfail);
    });
}

}  // namespace

namespace {

SteeringSlice whole_kernel(const Kernel& kernel, std::size_t instructions) {
    SteeringSlice slice;
    slice.everything = slice.shared_memory = slice.writes_global = true;
    slice.evaluated.assign(instructions, true);
    slice.registers.assign(kernel.registers.size() + 1, true);
    slice.count = instructions;
    return slice;
}

}  // namespace

SteeringSlice find_steering(const Kernel& kernel, std::span<const RegisterUse> uses) {
    if (needs_everything(kernel)) return whole_kernel(kernel, uses.size());
    Slicer slicer(kernel, uses);
    SteeringSlice slice = slicer.run();
    return slicer.tensor_values_steer() ? whole_kernel(kernel, uses.size()) : slice;
}

}  // namespace heddle::ptx
