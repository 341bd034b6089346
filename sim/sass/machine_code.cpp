#include "sim/sass/machine_code.h"

#include <algorithm>
#include <array>

#include "isa/ptx/inspection.h"

namespace heddle::sass {
namespace {

using ptx::InstructionInfo;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operation;
using ptx::StateSpace;
using ptx::Synchronisation;
using ptx::Type;

bool is(const ptx::Instruction& n, std::initializer_list<Opcode> opcodes) {
    return std::find(opcodes.begin(), opcodes.end(), n.opcode) != opcodes.end();
}

bool has_double(const ptx::Instruction& n) {
    return std::find(n.types.begin(), n.types.end(), Type::f64) != n.types.end();
}

std::string conversion_name(const ptx::Instruction& n) {
    const auto is_float = [](Type type) {
        return type == Type::f16 || type == Type::f32 || type == Type::f64 || type == Type::bf16;
    };
    const bool to_float = is_float(n.type(0)), from_float = is_float(n.type(1));
    const auto wide = [&](Type type) { return type == Type::u64 || type == Type::s64; };
    if (to_float && from_float)
        return n.type(0) == Type::f64 ? "F2F.F64.F32" : has_double(n) ? "F2F.F32.F64" : "FRND";
    if (to_float) return std::string("I2F") + (has_double(n) ? ".F64" : "") + (wide(n.type(1)) ? ".U64" : "");
    return std::string("F2I") + (wide(n.type(0)) ? ".U64" : "") + (n.type(1) == Type::f64 ? ".F64" : "") +
           ".TRUNC";
}

std::string special_name(const ptx::Instruction& n) {
    switch (n.opcode) {
        case Opcode::ex2:
            return "MUFU.EX2";
        case Opcode::lg2:
            return "MUFU.LG2";
        case Opcode::sqrt:
            return "MUFU.SQRT";
        case Opcode::rsqrt:
            return "MUFU.RSQ";
        case Opcode::sin:
            return "MUFU.SIN";
        case Opcode::cos:
            return "MUFU.COS";
        case Opcode::tanh:
            return "MUFU.TANH";
        default:
            return "MUFU.RCP";
    }
}

std::string arithmetic_name(const ptx::Instruction& n, const InstructionInfo& info) {
    const bool add = is(n, {Opcode::add, Opcode::sub}), multiply = is(n, {Opcode::mul}),
               compare = is(n, {Opcode::setp, Opcode::set}), extreme = is(n, {Opcode::min, Opcode::max});
    if (info.uniform)
        return multiply || is(n, {Opcode::mad}) ? "UIMAD" : compare ? "UISETP.GE.AND" : "UIADD3";
    switch (info.operation) {
        case Operation::fp32:
            return std::string(add        ? "FADD"
                               : multiply ? "FMUL"
                                          : "FFMA") +
                   (n.type() == Type::f32x2 ? "2" : "");
        case Operation::fp32_compare:
            return extreme ? "FMNMX" : compare ? "FSETP.GEU.AND" : "FSEL";
        case Operation::integer_compare:
            return extreme ? "IMNMX" : compare ? "ISETP.GE.AND" : "PLOP3.LUT";
        case Operation::move:
            return is(n, {Opcode::selp}) ? "SEL" : "MOV";
        case Operation::multiply:
            return "IMAD";
        case Operation::multiply_wide:
            return "IMAD.WIDE.U32";
        case Operation::half:
            return add ? "HADD2" : multiply ? "HMUL2" : extreme ? "HMNMX2" : "HFMA2";
        case Operation::bf16:
            return "HFMA2.BF16_V2";
        case Operation::half_conversion:
            return "F2FP.PACK_AB";
        case Operation::fp64:
            return add ? "DADD" : multiply ? "DMUL" : compare || extreme ? "DSETP.GEU.AND" : "DFMA";
        case Operation::special:
            return special_name(n);
        case Operation::conversion:
        case Operation::wide_conversion:
            return conversion_name(n);
        case Operation::bit_count:
            return is(n, {Opcode::popc}) ? "POPC" : is(n, {Opcode::brev}) ? "BREV" : "FLO.U32";
        case Operation::vote:
            return is(n, {Opcode::elect}) ? "ELECT" : "VOTE.ANY";
        case Operation::warp_reduce:
            return is(n, {Opcode::redux}) ? "REDUX.SUM" : "MATCH.ANY";
        case Operation::uniform:
            return "UIADD3";
        default:
            if (is(n, {Opcode::and_, Opcode::or_, Opcode::xor_, Opcode::not_, Opcode::lop3}))
                return "LOP3.LUT";
            if (is(n, {Opcode::shl, Opcode::shf})) return "SHF.L.U32";
            if (is(n, {Opcode::shr})) return "SHF.R.U32.HI";
            if (is(n, {Opcode::prmt})) return "PRMT";
            return "IADD3";
    }
}

struct ShapeOfMacs {
    Type type;
    std::uint32_t macs;
    const char* opcode;
};
constexpr auto kShapes = std::to_array<ShapeOfMacs>({
    {Type::f16, 2048, "HMMA.16816.F32"},
    {Type::f16, 1024, "HMMA.1688.F32"},
    {Type::bf16, 2048, "HMMA.16816.F32.BF16"},
    {Type::bf16, 1024, "HMMA.1688.F32.BF16"},
    {Type::tf32, 1024, "HMMA.1688.F32.TF32"},
    {Type::tf32, 512, "HMMA.1684.F32.TF32"},
    {Type::s8, 4096, "IMMA.16832.S8.S8"},
    {Type::s8, 2048, "IMMA.16816.S8.S8"},
    {Type::s8, 1024, "IMMA.8816.S8.S8"},
    {Type::s4, 8192, "IMMA.16864.S4.S4"},
    {Type::s4, 4096, "IMMA.16832.S4.S4"},
    {Type::s4, 2048, "IMMA.8832.S4.S4"},
    {Type::b1, 32768, "BMMA.168256.AND.POPC"},
    {Type::b1, 16384, "BMMA.168128.AND.POPC"},
    {Type::b1, 8192, "BMMA.88128.AND.POPC"},
    {Type::f64, 256, "DMMA.884"},
    {Type::e4m3, 4096, "QMMA.16832.F32.E4M3.E4M3"},
    {Type::e5m2, 4096, "QMMA.16832.F32.E5M2.E5M2"},
});

Type plain_type(Type type) {
    switch (type) {
        case Type::f16x2:
            return Type::f16;
        case Type::bf16x2:
            return Type::bf16;
        case Type::f32:
            return Type::tf32;
        case Type::u8:
            return Type::s8;
        case Type::u4:
            return Type::s4;
        default:
            return type;
    }
}

/// The largest instruction of the type of which a whole number makes up the work, and that number.
std::pair<std::string, unsigned> matrix_name(const InstructionInfo& info) {
    for (const ShapeOfMacs& shape : kShapes)
        if (shape.type == plain_type(info.tensor_type) && info.tensor_macs % shape.macs == 0)
            return {shape.opcode, info.tensor_macs / shape.macs};
    return {"HMMA.16816.F32", std::max(1u, info.tensor_macs / 2048)};
}

std::string warpgroup_name(const InstructionInfo& info) {
    const Type type = plain_type(info.tensor_type);
    const bool eight = type == Type::s8 || type == Type::e4m3 || type == Type::e5m2;
    const unsigned depth = type == Type::b1 ? 256 : type == Type::tf32 ? 8 : eight ? 32 : 16;
    const std::string shape =
        ".64x" + std::to_string(info.tensor_macs / 16 / depth) + "x" + std::to_string(depth);
    if (type == Type::s8) return "IGMMA" + shape + ".S8.S8";
    if (type == Type::b1) return "BGMMA" + shape + ".AND.POPC";
    if (eight) return "QGMMA" + shape + (type == Type::e5m2 ? ".F32.E5M2.E5M2" : ".F32.E4M3.E4M3");
    return "HGMMA" + shape + ".F32" + (type == Type::bf16 ? ".BF16" : type == Type::tf32 ? ".TF32" : "");
}

std::string cache_suffix(const InstructionInfo& info) {
    using enum ptx::CachePriority;
    std::string text;
    if (info.cache.primary == first) text += ".EF";
    if (info.cache.primary == last) text += ".EL";
    if (info.cache.primary == unchanged) text += ".EU";
    if (!info.cache.allocate_l1) text += ".NA";
    if (info.bypass_l1) text += ".STRONG.GPU";
    return text;
}

std::string width_suffix(unsigned bytes) {
    return bytes == 1 ? ".U8" : bytes == 2 ? ".U16" : bytes == 8 ? ".64" : bytes >= 16 ? ".128" : "";
}

/// Bytes that a lane moves, by types and vectors.
unsigned bytes_of(const ptx::Instruction& n) {
    if (is(n, {Opcode::ldmatrix, Opcode::stmatrix})) return 16;
    if (n.opcode == Opcode::cp) {
        for (const ptx::Operand& operand : n.operands)
            if (operand.kind == ptx::Operand::Kind::immediate) return static_cast<unsigned>(operand.bits);
        return 16;
    }
    std::size_t elements = 1;
    for (const ptx::Operand& operand : n.operands)
        if (operand.kind == ptx::Operand::Kind::vector)
            elements = std::max(elements, operand.elements.size());
    return std::min(16u, std::max(1u, static_cast<unsigned>(elements) * ptx::bits_of(n.type()) / 8));
}

std::string memory_name(const ptx::Instruction& n, const InstructionInfo& info, unsigned bytes) {
    const char* const space = info.space == StateSpace::shared   ? "S"
                              : info.space == StateSpace::local  ? "L"
                              : info.space == StateSpace::global ? "G"
                                                                 : "";
    if (info.async_copy)
        return "LDGSTS.E" + std::string(info.bypass_l1 ? ".BYPASS" : "") + width_suffix(bytes);
    if (is(n, {Opcode::ldmatrix, Opcode::stmatrix})) {
        const std::size_t count = n.has(Modifier::x4) ? 4 : n.has(Modifier::x2) ? 2 : 1;
        return std::string(n.opcode == Opcode::ldmatrix ? "LDSM.16.M88" : "STSM.16.M88") +
               (count == 1 ? "" : "." + std::to_string(count));
    }
    if (info.space == StateSpace::constant || info.space == StateSpace::parameter)
        return "LDC" + width_suffix(bytes);
    const std::string extended =
        info.space == StateSpace::shared || info.space == StateSpace::local ? "" : ".E";
    if (info.atomic) {
        const std::string wide = bytes == 8 ? ".64" : "";
        if (info.writes.empty() && info.space != StateSpace::shared)
            return "RED.E.ADD" + wide + ".STRONG.GPU";
        return std::string("ATOM") + space + extended + ".ADD" + wide +
               (extended.empty() ? "" : ".STRONG.GPU");
    }
    return std::string(info.writes_memory ? "ST" : "LD") + space + extended + width_suffix(bytes) +
           (extended.empty() ? "" : cache_suffix(info));
}

std::string barrier_name(const ptx::Instruction& n, const InstructionInfo& info) {
    switch (info.synchronisation) {
        case Synchronisation::cta_barrier:
            return n.has(Modifier::arrive) ? "BAR.ARV" : n.has(Modifier::red) ? "BAR.RED.POPC" : "BAR.SYNC";
        case Synchronisation::cluster_arrive:
            return "UCGABAR_ARV";
        case Synchronisation::cluster_barrier:
            return "UCGABAR_WAIT";
        case Synchronisation::async_copy_commit:
            return "LDGDEPBAR";
        case Synchronisation::async_copy_wait:
            return "DEPBAR.LE";
        case Synchronisation::memory_fence:
            return "MEMBAR.SC.GPU";
        case Synchronisation::wgmma_fence:
            return "WARPGROUP.ARRIVE";
        case Synchronisation::wgmma_wait:
            return "WARPGROUP.DEPBAR.LE";
        case Synchronisation::bulk_commit:
            return "UTMACMDFLUSH";
        case Synchronisation::bulk_wait:
            return "DEPBAR.LE.BULK";
        case Synchronisation::bulk_wait_read:
            return "DEPBAR.LE.BULK.READ";
        case Synchronisation::fewer_registers:
            return "USETMAXREG.DEALLOC.CTAPOOL";
        case Synchronisation::more_registers:
            return "USETMAXREG.TRY_ALLOC.CTAPOOL";
        case Synchronisation::launch_dependents:
            return "PREEXIT";
        case Synchronisation::dependency_wait:
            return "ACQBULK";
        case Synchronisation::exit:
            return "EXIT";
        case Synchronisation::none:
        case Synchronisation::wgmma_commit:
            break;
    }
    return "NOP";
}

std::string memory_barrier_name(const ptx::Instruction& n, const InstructionInfo& info) {
    if (n.opcode == Opcode::cp) return "ARRIVES.LDGSTSBAR.64";
    switch (info.memory_barrier) {
        case ptx::MemoryBarrierUse::try_wait:
            return "SYNCS.PHASECHK.TRANS64.TRYWAIT";
        case ptx::MemoryBarrierUse::test_wait:
            return "SYNCS.PHASECHK.TRANS64";
        case ptx::MemoryBarrierUse::arrive:
            return "SYNCS.ARRIVE.TRANS64";
        case ptx::MemoryBarrierUse::none:
            break;
    }
    return n.has(Modifier::init) ? "SYNCS.EXCH.64" : "SYNCS.CCTL.IV";
}

std::string bulk_name(const ptx::Instruction& n) {
    const bool tensor = n.has(Modifier::tensor), prefetch = n.has(Modifier::prefetch);
    if (prefetch) return tensor ? "UTMAPF.L2" : "UBLKPF.L2";
    const bool to_global = n.space == StateSpace::global;
    if (tensor) return n.has(Modifier::reduce) ? "UTMAREDG" : to_global ? "UTMASTG" : "UTMALDG";
    return n.has(Modifier::reduce) ? "UBLKRED" : to_global ? "UBLKCP.G.S" : "UBLKCP.S.G";
}

std::int64_t barrier_immediate(const ptx::Instruction& n, const InstructionInfo& info) {
    switch (info.synchronisation) {
        case Synchronisation::cta_barrier:
            // bar.red writes a register first.
            for (const ptx::Operand& operand : n.operands) {
                if (operand.kind == ptx::Operand::Kind::immediate)
                    return static_cast<std::int64_t>(operand.bits & 15);
                if (!n.has(Modifier::red)) return kInRegister;
            }
            return 0;
        case Synchronisation::fewer_registers:
        case Synchronisation::more_registers:
            return info.register_count;
        default:
            return info.async_copy_groups_left;
    }
}

/// Numbers of the general registers behind scoreboard identifiers.
class Homes {
  public:
    explicit Homes(const ptx::LoadedKernel& kernel) : homes_(kernel.register_assignment()) {}
    std::vector<std::uint8_t> of(const std::vector<std::uint16_t>& identifiers) const {
        std::vector<std::uint8_t> result;
        for (const std::uint16_t id : identifiers)
            if (id < homes_.size() && homes_[id] < 255)
                result.push_back(static_cast<std::uint8_t>(homes_[id]));
        return result;
    }

  private:
    std::span<const std::uint16_t> homes_;
};

/// The register of the address first.
std::vector<std::uint16_t> reads_in_order(const ptx::Instruction& n, const InstructionInfo& info) {
    std::vector<std::uint16_t> reads = info.reads;
    for (const ptx::Operand& operand : n.operands) {
        if (operand.kind != ptx::Operand::Kind::address || operand.base != ptx::Operand::Kind::reg) continue;
        const auto found = std::find(reads.begin(), reads.end(), static_cast<std::uint16_t>(operand.index));
        if (found != reads.end()) std::rotate(reads.begin(), found, found + 1);
        break;
    }
    return reads;
}

void fill_operands(const Homes& homes, const std::vector<std::uint16_t>& reads, const InstructionInfo& info,
                   MachineLine& line) {
    constexpr std::size_t kMostSources = 4;
    line.sources = homes.of(reads);
    const std::vector<std::uint8_t> written = homes.of(info.writes);
    if (line.sources.size() > kMostSources) line.sources.resize(kMostSources);
    if (written.empty()) return;
    const std::uint8_t first = *std::min_element(written.begin(), written.end());
    if (line.opcode == "SHFL.IDX" || line.opcode.rfind("ATOMG", 0) == 0 ||
        line.opcode.rfind("ATOM.", 0) == 0) {
        // They write a predicate first, and tracers list the other destination among the sources.
        if (line.sources.size() == kMostSources) line.sources.pop_back();
        line.sources.insert(line.sources.begin(), first);
        return;
    }
    line.writes = true;
    line.destination = first;
}

}  // namespace

std::vector<MachineLine> machine_code(const ptx::LoadedKernel& kernel, std::size_t index) {
    const ptx::Instruction& n = ptx::instruction_of(kernel, index);
    const InstructionInfo& info = kernel.instructions()[index];
    // Machine code says with the last product that its group ends.
    if (info.pipeline == ptx::Pipeline::none || info.synchronisation == Synchronisation::wgmma_commit)
        return {};
    MachineLine line;
    unsigned count = std::max<unsigned>(1, info.machine_operations);
    std::string following = "IADD3";
    if (info.asynchronous_tensor) {
        line.opcode = warpgroup_name(info);
        count = 1;
    } else if (info.tensor_macs != 0) {
        std::tie(line.opcode, count) = matrix_name(info);
        following = line.opcode;
    } else if (info.synchronisation != Synchronisation::none) {
        line.opcode = barrier_name(n, info);
        line.immediate = barrier_immediate(n, info);
    } else if (n.opcode == Opcode::mbarrier || (n.opcode == Opcode::cp && n.has(Modifier::mbarrier))) {
        line.opcode = memory_barrier_name(n, info);
        line.bytes_per_lane = 8;
    } else if (info.bulk_copy) {
        line.opcode = bulk_name(n);
        line.bytes_per_lane = 16;
    } else if (info.reads_memory || info.writes_memory) {
        const unsigned bytes = bytes_of(n);
        line.opcode = memory_name(n, info, bytes);
        line.bytes_per_lane = static_cast<std::uint8_t>(bytes);
    } else if (info.pipeline == ptx::Pipeline::load_store) {
        line.opcode = n.opcode == Opcode::shfl        ? "SHFL.IDX"
                      : n.opcode == Opcode::movmatrix ? "MOVM.16.MT88"
                                                      : "CCTL.PF2";
    } else if (info.pipeline == ptx::Pipeline::branch) {
        line.opcode = n.opcode == Opcode::bar || n.opcode == Opcode::barrier ? "WARPSYNC" : "BRA";
    } else if (info.pipeline == ptx::Pipeline::barrier) {
        line.opcode = "NOP";
    } else {
        line.opcode = arithmetic_name(n, info);
        if (n.type() == Type::f32x2) count = 1;  // whoever reads FADD2 knows that it is two operations
        following = info.operation == Operation::special || info.operation == Operation::conversion
                        ? "FFMA"
                        : line.opcode;
    }
    const Homes homes(kernel);
    fill_operands(homes, reads_in_order(n, info), info, line);
    std::vector<MachineLine> lines{line};
    while (lines.size() < count) {  // the others go on from its result
        MachineLine next{following, line.writes, line.destination, {}, 0, 0};
        if (line.writes) next.sources = {line.destination};
        lines.push_back(std::move(next));
    }
    return lines;
}

}  // namespace heddle::sass
