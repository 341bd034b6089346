// Which machine instructions (SASS) there are, from Volta (sm_70) to Hopper (sm_90): the first word of an
// opcode.
//
// Source of the names: CUDA Binary Utilities, "Instruction Set Reference", for Volta, Turing, Ampere and Ada,
// Hopper; a few that it leaves out are those that nvdisasm prints for what ptxas makes. Texture and surface
// instructions are taken for accesses through L1: Heddle models no texture unit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "isa/ptx/execution.h"

namespace heddle::sass {

/// The effect of an instruction besides the time that it takes: how a warp and its thread block go on.
enum class Behaviour : std::uint8_t {
    compute,
    load,
    store,
    atomic,             ///< with a result
    reduction,          ///< without
    async_copy,         ///< LDGSTS
    shuffle,            ///< through the crossbar of shared memory, without an address
    constant_load,      ///< LDC: the trace holds no address
    texture,            ///< TEX, SULD and the like: the trace holds no address
    matrix,             ///< HMMA and the like
    warpgroup_matrix,   ///< HGMMA and the like
    block_barrier,      ///< BAR: SYNC, ARV, RED
    cluster_arrive,     ///< UCGABAR_ARV
    cluster_wait,       ///< UCGABAR_WAIT
    copy_commit,        ///< LDGDEPBAR
    dependence_wait,    ///< DEPBAR
    memory_fence,       ///< MEMBAR
    warpgroup,          ///< WARPGROUP: ARRIVE, DEPBAR
    memory_barrier,     ///< SYNCS: mbarriers
    arrive_on_copies,   ///< ARRIVES: an mbarrier, when earlier LDGSTS are done
    bulk_load,          ///< UTMALDG, UBLKCP to shared memory
    bulk_store,         ///< UTMASTG, UTMAREDG, UBLKCP and UBLKRED to global memory
    bulk_prefetch,      ///< UTMAPF, UBLKPF
    bulk_commit,        ///< UTMACMDFLUSH
    set_registers,      ///< USETMAXREG
    launch_dependents,  ///< PREEXIT
    dependency_wait,    ///< ACQBULK
    branch,
    exit,
    control,  ///< an issue slot and no more
};

/// A row of the table: an opcode without its modifiers.
struct Mnemonic {
    std::string_view name;                            ///< "HMMA"
    ptx::Operation operation = ptx::Operation::none;  ///< class of the pipelines' table
    Behaviour behaviour = Behaviour::compute;         ///< what the machine does besides timing
    ptx::StateSpace space = ptx::StateSpace::none;    ///< memory that it accesses; none for all others
};

/// nullptr: unknown.
const Mnemonic* find_mnemonic(std::string_view name);
std::span<const Mnemonic> all_mnemonics();

/// A class that a user names for opcodes that Heddle does not know: a name of ptx::Operation ("integer",
/// "fp32", "move", ...). Nothing for other words, for "none" and for "tensor", whose time depends on a shape.
std::optional<ptx::Operation> operation_named(std::string_view name);
/// Those names, separated by commas.
std::string operation_names();
/// The pipeline of an operation.
ptx::Pipeline pipeline_of(ptx::Operation operation);

}  // namespace heddle::sass
