#include "isa/sass/opcode_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace heddle::sass {
namespace {

using enum ptx::Operation;
using ptx::StateSpace;
using B = Behaviour;

constexpr auto kMnemonics = std::to_array<Mnemonic>({
    // Floating point, 32 bits.
    {"FADD", fp32},
    {"FADD32I", fp32},
    {"FFMA", fp32},
    {"FFMA32I", fp32},
    {"FMUL", fp32},
    {"FMUL32I", fp32},
    {"FSWZADD", fp32},
    {"FADD2", fp32},
    {"FMUL2", fp32},
    {"FFMA2", fp32},
    {"FMNMX", fp32_compare},
    {"FMNMX3", fp32_compare},
    {"FSEL", fp32_compare},
    {"FSET", fp32_compare},
    {"FSETP", fp32_compare},
    {"FCHK", special},
    {"MUFU", special},
    // 16 bits, and 64.
    {"HADD2", half},
    {"HADD2_32I", half},
    {"HFMA2", half},
    {"HFMA2_32I", half},
    {"HMUL2", half},
    {"HMUL2_32I", half},
    {"HMNMX2", half},
    {"HSET2", half},
    {"HSETP2", half},
    {"VHMNMX", half},
    {"DADD", fp64},
    {"DFMA", fp64},
    {"DMUL", fp64},
    {"DMNMX", fp64},
    {"DSET", fp64},
    {"DSETP", fp64},
    // Integers.
    {"BMSK", integer},
    {"IABS", integer},
    {"IADD", integer},
    {"IADD3", integer},
    {"IADD32I", integer},
    {"ISCADD", integer},
    {"ISCADD32I", integer},
    {"LEA", integer},
    {"LOP", integer},
    {"LOP3", integer},
    {"LOP32I", integer},
    {"SHF", integer},
    {"SHL", integer},
    {"SHR", integer},
    {"PRMT", integer},
    {"SGXT", integer},
    {"VABSDIFF", integer},
    {"VABSDIFF4", integer},
    {"VIADD", integer},
    {"P2R", integer},
    {"R2P", integer},
    {"I2I", integer},
    {"I2IP", integer},
    {"F2IP", integer},
    {"I2FP", integer},
    {"LEPC", integer},
    {"QSPC", integer},
    {"IMNMX", integer_compare},
    {"ISETP", integer_compare},
    {"ISET", integer_compare},
    {"PLOP3", integer_compare},
    {"PSETP", integer_compare},
    {"VIMNMX", integer_compare},
    {"VIMNMX3", integer_compare},
    {"VIADDMNMX", integer_compare},
    {"IMAD", multiply},
    {"IMAD32I", multiply},
    {"IMUL", multiply},
    {"IMUL32I", multiply},
    {"IDP", multiply},
    {"IDP4A", multiply},
    {"BREV", bit_count},
    {"FLO", bit_count},
    {"POPC", bit_count},
    {"MOV", move},
    {"MOV32I", move},
    {"SEL", move},
    {"CS2R", move},
    {"R2UR", move},
    {"UR2UP", uniform},
    // Special registers and predicates of all threads come over a slow path: its latency here is that of a
    // conversion, an assumption.
    {"S2R", conversion},
    {"B2R", conversion},
    {"R2B", conversion},
    // Conversions.
    {"F2FP", half_conversion},
    {"F2F", conversion},
    {"F2I", conversion},
    {"I2F", conversion},
    {"FRND", conversion},
    // Between the threads of a warp.
    {"VOTE", vote},
    {"ELECT", vote},
    {"MATCH", warp_reduce},
    {"REDUX", warp_reduce},
    {"SHFL", load_store, B::shuffle},
    {"MOVM", load_store, B::shuffle},
    // The uniform datapath.
    {"UBMSK", uniform},
    {"UBREV", uniform},
    {"UCLEA", uniform},
    {"UFLO", uniform},
    {"UIABS", uniform},
    {"UIADD3", uniform},
    {"UIMAD", uniform},
    {"UIMNMX", uniform},
    {"UISETP", uniform},
    {"ULDC", uniform},
    {"LDCU", uniform},
    {"ULEA", uniform},
    {"ULEPC", uniform},
    {"ULOP", uniform},
    {"ULOP3", uniform},
    {"ULOP32I", uniform},
    {"UMOV", uniform},
    {"UP2UR", uniform},
    {"UPLOP3", uniform},
    {"UPOPC", uniform},
    {"UPRMT", uniform},
    {"UPSETP", uniform},
    {"USEL", uniform},
    {"USGXT", uniform},
    {"USHF", uniform},
    {"USHL", uniform},
    {"USHR", uniform},
    {"UVIADD", uniform},
    {"UVIMNMX", uniform},
    {"UF2FP", uniform},
    {"UFADD", uniform},
    {"UFFMA", uniform},
    {"UFMUL", uniform},
    {"UFSETP", uniform},
    {"UFSEL", uniform},
    {"UFMNMX", uniform},
    {"UI2F", uniform},
    {"UI2FP", uniform},
    {"UF2F", uniform},
    {"UF2I", uniform},
    {"UREDUX", uniform},
    {"UVOTE", uniform},
    {"VOTEU", uniform},
    {"S2UR", uniform},
    {"CS2UR", uniform},
    {"UMEMSETS", uniform},
    // Tensor cores.
    {"HMMA", tensor, B::matrix},
    {"IMMA", tensor, B::matrix},
    {"BMMA", tensor, B::matrix},
    {"DMMA", tensor, B::matrix},
    {"QMMA", tensor, B::matrix},
    {"HGMMA", tensor, B::warpgroup_matrix},
    {"IGMMA", tensor, B::warpgroup_matrix},
    {"BGMMA", tensor, B::warpgroup_matrix},
    {"QGMMA", tensor, B::warpgroup_matrix},
    // Memory.
    {"LD", load_store, B::load, StateSpace::generic},
    {"LDG", load_store, B::load, StateSpace::global},
    {"LDGMC", load_store, B::load, StateSpace::global},
    {"LDL", load_store, B::load, StateSpace::local},
    {"LDS", load_store, B::load, StateSpace::shared},
    {"LDSM", load_store, B::load, StateSpace::shared},
    {"LDC", load_store, B::constant_load, StateSpace::constant},
    {"TEX", load_store, B::texture, StateSpace::global},
    {"TLD", load_store, B::texture, StateSpace::global},
    {"TLD4", load_store, B::texture, StateSpace::global},
    {"TMML", load_store, B::texture, StateSpace::global},
    {"TXD", load_store, B::texture, StateSpace::global},
    {"TXQ", load_store, B::texture, StateSpace::global},
    {"SULD", load_store, B::texture, StateSpace::global},
    {"SUST", load_store, B::texture, StateSpace::global},
    {"SUATOM", load_store, B::texture, StateSpace::global},
    {"SURED", load_store, B::texture, StateSpace::global},
    {"ST", load_store, B::store, StateSpace::generic},
    {"STG", load_store, B::store, StateSpace::global},
    {"STL", load_store, B::store, StateSpace::local},
    {"STS", load_store, B::store, StateSpace::shared},
    {"STSM", load_store, B::store, StateSpace::shared},
    {"STAS", load_store, B::store, StateSpace::shared},
    {"ATOM", load_store, B::atomic, StateSpace::generic},
    {"ATOMG", load_store, B::atomic, StateSpace::global},
    {"ATOMS", load_store, B::atomic, StateSpace::shared},
    {"RED", load_store, B::reduction, StateSpace::global},
    {"REDG", load_store, B::reduction, StateSpace::global},
    {"REDS", load_store, B::reduction, StateSpace::shared},
    {"REDAS", load_store, B::reduction, StateSpace::shared},
    {"LDGSTS", load_store, B::async_copy, StateSpace::global},
    {"LDGDEPBAR", barrier, B::copy_commit},
    {"DEPBAR", barrier, B::dependence_wait},
    {"MEMBAR", barrier, B::memory_fence},
    {"FENCE", barrier, B::control},
    {"ERRBAR", barrier, B::control},
    {"CGAERRBAR", barrier, B::control},
    {"CCTL", load_store, B::shuffle},
    {"CCTLL", load_store, B::shuffle},
    {"CCTLT", load_store, B::shuffle},
    {"SYNCS", load_store, B::memory_barrier, StateSpace::shared},
    {"ARRIVES", load_store, B::arrive_on_copies, StateSpace::shared},
    // The copy engine.
    {"UTMALDG", load_store, B::bulk_load},
    {"UTMASTG", load_store, B::bulk_store},
    {"UTMAREDG", load_store, B::bulk_store},
    {"UTMAPF", load_store, B::bulk_prefetch},
    {"UTMACCTL", barrier, B::control},
    {"UTMACMDFLUSH", barrier, B::bulk_commit},
    {"UBLKCP", load_store, B::bulk_load},
    {"UBLKRED", load_store, B::bulk_store},
    {"UBLKPF", load_store, B::bulk_prefetch},
    // Thread blocks, warpgroups, clusters, grids.
    {"BAR", barrier, B::block_barrier},
    {"WARPGROUP", barrier, B::warpgroup},
    {"WARPGROUPSET", barrier, B::control},
    {"WARPSYNC", branch, B::control},
    {"UCGABAR_ARV", barrier, B::cluster_arrive},
    {"UCGABAR_WAIT", barrier, B::cluster_wait},
    {"UCGABAR_GET", barrier, B::control},
    {"UCGABAR_SET", barrier, B::control},
    {"USETMAXREG", barrier, B::set_registers},
    {"UREGPRERELEASE", barrier, B::control},
    {"PREEXIT", barrier, B::launch_dependents},
    {"ACQBULK", barrier, B::dependency_wait},
    {"ACQSHMINIT", barrier, B::control},
    {"ENDCOLLECTIVE", branch, B::control},
    {"COLLECTIVE", branch, B::control},
    {"UWARPSYNC", branch, B::control},
    // Control.
    {"BRA", branch, B::branch},
    {"BRX", branch, B::branch},
    {"BRXU", branch, B::branch},
    {"JMP", branch, B::branch},
    {"JMX", branch, B::branch},
    {"JMXU", branch, B::branch},
    {"CALL", branch, B::branch},
    {"RET", branch, B::branch},
    {"EXIT", branch, B::exit},
    {"KILL", branch, B::exit},
    {"BREAK", branch, B::control},
    {"BSSY", branch, B::control},
    {"BSYNC", branch, B::branch},
    {"BMOV", branch, B::control},
    {"RPCMOV", branch, B::control},
    {"RTT", branch, B::control},
    {"BPT", branch, B::control},
    {"YIELD", branch, B::control},
    {"NANOSLEEP", branch, B::control},
    {"NOP", branch, B::control},
    {"PMTRIG", branch, B::control},
    {"CSMTEST", branch, B::control},
    {"SETCTAID", branch, B::control},
    {"SETLMEMBASE", branch, B::control},
    {"GETLMEMBASE", branch, B::control},
    {"SETSMEMSIZE", branch, B::control},
    {"USETSHMSZ", branch, B::control},
});

}  // namespace

const Mnemonic* find_mnemonic(std::string_view name) {
    static const auto kByName = [] {
        std::unordered_map<std::string_view, const Mnemonic*> map;
        for (const Mnemonic& mnemonic : kMnemonics) map.emplace(mnemonic.name, &mnemonic);
        return map;
    }();
    const auto found = kByName.find(name);
    return found == kByName.end() ? nullptr : found->second;
}

std::span<const Mnemonic> all_mnemonics() {
    return kMnemonics;
}

std::optional<ptx::Operation> operation_named(std::string_view name) {
    for (std::size_t i = 0; i < ptx::kOperationCount; ++i) {
        const auto operation = static_cast<ptx::Operation>(i);
        if (operation != none && operation != tensor && ptx::name_of(operation) == name) return operation;
    }
    return {};
}

std::string operation_names() {
    std::string all;
    for (std::size_t i = 0; i < ptx::kOperationCount; ++i) {
        const auto operation = static_cast<ptx::Operation>(i);
        if (operation == none || operation == tensor) continue;
        all += (all.empty() ? "" : ", ") + std::string(ptx::name_of(operation));
    }
    return all;
}

ptx::Pipeline pipeline_of(ptx::Operation operation) {
    switch (operation) {
        case none:
            return ptx::Pipeline::none;
        case fp32:
        case fp32_compare:
            return ptx::Pipeline::fp32;
        case integer:
        case integer_compare:
        case move:
        case multiply:
        case multiply_wide:
        case vote:
        case uniform:
            return ptx::Pipeline::integer;
        case half:
        case bf16:
        case half_conversion:
            return ptx::Pipeline::half;
        case fp64:
            return ptx::Pipeline::fp64;
        case special:
        case conversion:
        case wide_conversion:
        case bit_count:
        case warp_reduce:
            return ptx::Pipeline::special;
        case tensor:
            return ptx::Pipeline::tensor;
        case load_store:
            return ptx::Pipeline::load_store;
        case branch:
            return ptx::Pipeline::branch;
        case barrier:
            return ptx::Pipeline::barrier;
    }
    return ptx::Pipeline::none;
}

}  // namespace heddle::sass
