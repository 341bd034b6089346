#include "isa/ptx/decode/describe_instruction.h"
#include "isa/ptx/decode/tensor_details.h"

#include "isa/ptx/decode/operation_class.h"
#include "isa/ptx/instruction_table.h"
#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/matrix_instruction.h"
#include "isa/target/generation.h"

namespace heddle::ptx {
namespace {

bool moves_register(const Instruction& n) {
    return n.opcode == Opcode::mov && n.type() != Type::pred && n.operands[0].kind == Operand::Kind::reg &&
           n.operands[1].kind == Operand::Kind::reg;
}

// bfe and bfi of a field whose place and length are constants.
bool has_constant_field(const Instruction& n) {
    if (n.opcode != Opcode::bfe && n.opcode != Opcode::bfi) return false;
    const std::size_t last = n.operands.size() - 1;
    return n.operands[last].kind == Operand::Kind::immediate &&
           n.operands[last - 1].kind == Operand::Kind::immediate;
}

bool adds_floats_in_shared_memory(const Instruction& n) {
    return (n.opcode == Opcode::atom || n.opcode == Opcode::red) && n.space == StateSpace::shared &&
           n.has(Modifier::add) && is_float(n.type());
}

// Objects of 8 bytes in shared memory: waits read them, the others change them.
void describe_asynchronous(const Instruction& n, InstructionInfo& info) {
    if (n.opcode == Opcode::clusterlaunchcontrol || (n.opcode == Opcode::st && n.has(Modifier::bulk))) return;
    if (n.opcode != Opcode::mbarrier && !n.has(Modifier::mbarrier)) {
        info.bulk_copy = n.opcode != Opcode::tensormap;
        return;
    }
    if (n.has(Modifier::pending_count)) return;
    const bool initial = n.has(Modifier::init) || n.has(Modifier::inval);
    const bool waits = n.has(Modifier::test_wait) || n.has(Modifier::try_wait);
    info.space = StateSpace::shared;
    info.reads_memory = !initial;
    info.writes_memory = !waits;
    info.atomic = !initial && !waits;
}

void describe_memory(const Instruction& n, InstructionInfo& info) {
    if (is_asynchronous(n)) return describe_asynchronous(n, info);
    if (n.opcode == Opcode::prefetch && n.has(Modifier::tensormap)) return;
    switch (n.opcode) {
        case Opcode::ld:
        case Opcode::ldu:
        case Opcode::ldmatrix:
        case Opcode::prefetch:
        case Opcode::prefetchu:
            info.space = n.space == StateSpace::none ? StateSpace::generic : n.space;
            // Parameters lie in the constant bank and are operands of other instructions.
            info.reads_memory = n.space != StateSpace::parameter;
            if (n.opcode == Opcode::ldmatrix) info.space = StateSpace::shared;
            if (n.opcode == Opcode::prefetch || n.opcode == Opcode::prefetchu)
                info.space = StateSpace::global;
            break;
        case Opcode::tex:
        case Opcode::tld4:
        case Opcode::suld:
            info.space = StateSpace::global;
            info.reads_memory = true;
            info.texture = n.opcode != Opcode::suld;
            break;
        case Opcode::sust:
            info.space = StateSpace::global;
            info.writes_memory = true;
            break;
        case Opcode::sured:
            info.space = StateSpace::global;
            info.reads_memory = info.writes_memory = info.atomic = true;
            break;
        case Opcode::txq:
        case Opcode::suq:
            info.texture = true;
            break;
        case Opcode::stmatrix:
            info.space = StateSpace::shared;
            info.writes_memory = true;
            break;
        case Opcode::wmma:
            info.reads_memory = is_fragment_load(n);
            info.writes_memory = is_fragment_store(n);
            if (!info.reads_memory && !info.writes_memory) break;
            info.space = n.space == StateSpace::none ? StateSpace::generic : n.space;
            break;
        case Opcode::st:
            info.space = n.space == StateSpace::none ? StateSpace::generic : n.space;
            info.writes_memory = true;
            break;
        case Opcode::atom:
        case Opcode::red:
            info.space = n.space == StateSpace::none ? StateSpace::generic : n.space;
            info.reads_memory = info.writes_memory = info.atomic = true;
            break;
        case Opcode::cp:
            if (n.operands.empty() || n.operands[0].kind != Operand::Kind::address) break;
            info.space = StateSpace::global;
            info.reads_memory = true;
            info.async_copy = true;
            break;
        default:
            return;
    }
    const bool device_order =
        n.has(Modifier::relaxed) || n.has(Modifier::acquire) || n.has(Modifier::release);
    info.bypass_l1 = n.has(Modifier::cg) || n.has(Modifier::cv) || n.has(Modifier::volatile_) ||
                     n.has(Modifier::wt) || (device_order && !n.has(Modifier::cta));
}

void describe_synchronisation(const Instruction& n, InstructionInfo& info) {
    switch (n.opcode) {
        case Opcode::bar:
        case Opcode::barrier:
            if (!n.has(Modifier::warp)) info.synchronisation = Synchronisation::cta_barrier;
            if (n.has(Modifier::cluster)) {
                info.synchronisation = n.has(Modifier::arrive) ? Synchronisation::cluster_arrive
                                                               : Synchronisation::cluster_barrier;
            }
            break;
        case Opcode::cp:
            if (n.has(Modifier::commit_group)) {
                info.synchronisation =
                    n.has(Modifier::bulk) ? Synchronisation::bulk_commit : Synchronisation::async_copy_commit;
            }
            if (n.has(Modifier::wait_group) || n.has(Modifier::wait_all)) {
                info.synchronisation =
                    n.has(Modifier::bulk) ? Synchronisation::bulk_wait : Synchronisation::async_copy_wait;
                if (n.has(Modifier::wait_group)) {
                    info.async_copy_groups_left = static_cast<std::uint16_t>(n.operands[0].bits);
                }
            }
            break;
        case Opcode::membar:
        case Opcode::fence:
            info.synchronisation = Synchronisation::memory_fence;
            break;
        case Opcode::ret:
            if (n.operands.empty()) info.synchronisation = Synchronisation::exit;
            break;
        case Opcode::exit:
            info.synchronisation = Synchronisation::exit;
            break;
        case Opcode::setmaxnreg:
            info.synchronisation =
                n.has(Modifier::inc) ? Synchronisation::more_registers : Synchronisation::fewer_registers;
            info.register_count = static_cast<std::uint16_t>(n.operands[0].bits);
            break;
        case Opcode::griddepcontrol:
            info.synchronisation =
                n.has(Modifier::wait) ? Synchronisation::dependency_wait : Synchronisation::launch_dependents;
            break;
        case Opcode::mbarrier:
            if (n.has(Modifier::try_wait)) info.memory_barrier = MemoryBarrierUse::try_wait;
            if (n.has(Modifier::test_wait)) info.memory_barrier = MemoryBarrierUse::test_wait;
            if (n.has(Modifier::arrive) || n.has(Modifier::arrive_drop) || n.has(Modifier::expect_tx) ||
                n.has(Modifier::complete_tx))
                info.memory_barrier = MemoryBarrierUse::arrive;
            break;
        default:
            break;
    }
}

// A warp computes 16 of 64 rows. Of a sparse A half of the products are done. The warps share the reads of B.
void describe_warpgroup(const Instruction& n, InstructionInfo& info) {
    if (n.has(Modifier::fence)) info.synchronisation = Synchronisation::wgmma_fence;
    if (n.has(Modifier::commit_group)) info.synchronisation = Synchronisation::wgmma_commit;
    if (n.has(Modifier::wait_group)) {
        info.synchronisation = Synchronisation::wgmma_wait;
        info.async_copy_groups_left = static_cast<std::uint16_t>(n.operands[0].bits);
    }
    if (!n.has(Modifier::mma_async)) return;
    const std::uint32_t rows = n.shape.rows / 4u, kept = n.shape.depth / (n.has(Modifier::sp) ? 2u : 1u);
    const std::uint32_t element_bits = bits_of(n.type(1));
    const bool a_in_registers = n.operands[1].kind == Operand::Kind::vector;
    info.tensor_macs = rows * n.shape.columns * kept;
    info.tensor_type = n.type(1);
    info.asynchronous_tensor = true;
    info.tensor_a_in_registers = a_in_registers;
    info.tensor_operand_bytes = (a_in_registers ? 0 : rows * kept * element_bits / 8) +
                                n.shape.columns * n.shape.depth * element_bits / 8 / 4;
}

void describe_tensor_memory(const Instruction& n, InstructionInfo& info) {
    if (n.has(Modifier::wait_ld) || n.has(Modifier::wait_st)) {
        info.tensor_memory = n.has(Modifier::wait_ld) ? TensorMemoryUse::wait_load : TensorMemoryUse::wait_store;
    } else if (n.has(Modifier::ld) || n.has(Modifier::st)) {
        info.tensor_memory = n.has(Modifier::ld) ? TensorMemoryUse::load : TensorMemoryUse::store;
        const TensorDetails details = tensor_details(n);
        info.tensor_memory_bytes = details.registers * kWarpSize * 4u * (details.packs ? 2u : 1u);
    } else if (n.has(Modifier::alloc) || n.has(Modifier::dealloc) || n.has(Modifier::relinquish_alloc_permit)) {
        info.tensor_memory = TensorMemoryUse::allocate;
    } else if (!n.has(Modifier::before_thread_sync) && !n.has(Modifier::after_thread_sync)) {
        info.tensor_memory = TensorMemoryUse::issue;
    }
}

}  // namespace

InstructionInfo describe(const Instruction& n, const RegisterUse& use, unsigned compute_capability) {
    InstructionInfo info;
    info.line = n.line;
    info.source = n.source;
    info.pipeline = n.form->pipeline;
    info.operation = operation_of(n);
    info.machine_operations = n.form->operations;
    if (n.form->native != nullptr && !(target::nearest_generation(compute_capability).*n.form->native))
        info.machine_operations = n.form->operations_without;
    if (moves_register(n)) {  // a renaming
        info.pipeline = Pipeline::none;
        info.operation = Operation::none;
        info.machine_operations = 0;
    }
    if (has_constant_field(n))
        info.machine_operations = bits_of(n.type()) == 64 ? 4 : 2;     // a shift and a mask
    if (adds_floats_in_shared_memory(n)) info.machine_operations = 5;  // a loop around compare-and-swap
    if (n.operations >= 0) {
        info.machine_operations = static_cast<std::uint8_t>(n.operations);
        if (n.operations == 0) info.pipeline = Pipeline::none;
    }
    describe_memory(n, info);
    info.spill = n.spill_slot != 0;
    describe_synchronisation(n, info);
    if (is_matrix_multiply(n)) {
        info.tensor_macs = multiply_accumulates(n);
        info.tensor_type = matrix_types(n).a;
        // Formats that have a byte for each element go at the rate of 8 bits.
        if (n.has(Modifier::kind_f8f6f4) || n.has(Modifier::kind_mxf8f6f4)) info.tensor_type = Type::e4m3;
    }
    if (n.opcode == Opcode::wgmma) describe_warpgroup(n, info);
    if (n.opcode == Opcode::tcgen05) describe_tensor_memory(n, info);
    for (const std::uint32_t r : use.reads) info.reads.push_back(static_cast<std::uint16_t>(r));
    for (const std::uint32_t r : use.writes) info.writes.push_back(static_cast<std::uint16_t>(r));
    return info;
}

}  // namespace heddle::ptx
