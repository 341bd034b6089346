#include "isa/ptx/module.h"

#include <algorithm>
#include <array>

#include "isa/ptx/names.h"

namespace heddle::ptx {
namespace {

// In the order of the enumerations; the array sizes make the compiler count them.
// clang-format off
constexpr std::array<std::string_view, kTypeCount> kTypeNames = {
    "", "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
    "u16x2", "s16x2",
    "f16", "f16x2", "bf16", "bf16x2", "tf32", "f32", "f32x2", "f64", "e4m3", "e5m2", "e4m3x2", "e5m2x2",
    "s4", "u4", "b1", "s2", "u2",
    "e2m1", "e2m3", "e3m2", "ue8m0", "ue4m3", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e4m3x4", "e5m2x4", "e2m1x4",
    "e2m3x4", "e3m2x4",
};

constexpr std::array<std::uint8_t, kTypeCount> kTypeBits = {
    0, 1,
    8, 16, 32, 64, 128,
    8, 16, 32, 64, 8, 16, 32, 64,
    32, 32,
    16, 32, 16, 32, 32, 32, 64, 64,
    8, 8, 16, 16,
    4, 4, 1, 2, 2,
    4, 6, 6, 8, 8, 8, 16, 16, 16, 32, 32, 16, 32, 32,
};

constexpr std::array<std::string_view, kOpcodeCount> kOpcodeNames = {
    "abs", "activemask", "add", "addc", "and", "atom", "bar", "barrier", "bfe", "bfi", "bfind", "bra",
    "brev", "brkpt", "clz", "cnot", "copysign", "cp", "cvt", "cvta", "div", "ex2", "exit", "fence", "fma",
    "fns", "isspacep", "ld", "ldmatrix", "ldu", "lg2", "lop3", "mad", "madc", "mad24", "max", "membar",
    "min", "mma", "mov", "mul", "mul24", "nanosleep", "neg", "not", "or", "popc", "prefetch", "prefetchu",
    "prmt", "rcp", "red", "redux", "rem", "ret", "rsqrt", "sad", "selp", "set", "setp", "shf", "shfl",
    "shl", "shr", "sin", "slct", "sqrt", "st", "sub", "subc", "tanh", "testp", "trap", "vote", "match",
    "cos", "bmsk", "szext", "dp4a", "dp2a", "brx", "call", "xor",
    "alloca", "applypriority", "createpolicy", "discard", "getctarank", "istypep", "mapa", "multimem",
    "stackrestore", "stacksave", "elect", "griddepcontrol", "mbarrier", "pmevent", "setmaxnreg",
    "tensormap", "movmatrix", "stmatrix", "wgmma", "wmma", "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd",
    "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2", "vmax4", "vmin", "vmin2", "vmin4",
    "vset", "vset2", "vset4", "vshl", "vshr", "vsub", "vsub2", "vsub4", "suld", "suq", "sured", "sust",
    "tex", "tld4", "txq", "clusterlaunchcontrol", "tcgen05",
    "$nop", "$iadd3", "$iadd3_carry", "$imad", "$imad_wide", "$lea", "$shf", "$isetp_extended", "$plop3", "$ffma", "$fchk", "$shfl",
    "$double", "$first_lane",
};

constexpr std::array<std::string_view, kModifierCount> kModifierNames = {
    "", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "approx", "full", "ftz", "sat",
    "satfinite", "relu", "NaN", "xorsign", "abs", "noftz", "cc", "lo", "hi", "wide", "clamp", "wrap", "l",
    "r",
    "oob", "pack", "po", "shr7", "shr15",
    "eq", "ne", "lt", "le", "gt", "ge", "ls", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
    "and", "or", "xor", "popc", "add", "inc", "dec", "min", "max", "exch", "cas", "v2", "v4", "v8", "ca",
    "cg", "cs", "cv", "lu", "wb", "wt", "nc", "volatile", "weak", "relaxed", "acquire", "release",
    "acq_rel", "sc", "cta", "cluster", "gpu", "gl", "sys", "L1::evict_normal", "L1::evict_unchanged",
    "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B", "to",
    "mmio", "unified", "L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged", "fractional",
    "range", "cvt",
    "uni",
    "sync", "arrive", "red", "all", "any", "ballot", "up", "down", "bfly", "idx", "aligned", "async",
    "bulk", "commit_group", "wait_group", "wait_all", "warp", "proxy", "L1", "L2", "read",
    "wait",
    "launch_dependents", "mask",
    "mbarrier", "init", "inval", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait", "parity",
    "pending_count", "noComplete", "noinc", "mbarrier_init",
    "mbarrier::complete_tx::bytes", "bulk_group", "multicast::cluster", "L2::cache_hint", "prefetch", "tensor",
    "tile", "im2col", "1d", "2d", "3d", "4d", "5d", "alias", "tensormap", "tensormap::generic",
    "async::generic", "sync_restrict::shared::cta", "sync_restrict::shared::cluster", "replace",
    "reduce", "global_address", "rank", "global_dim", "global_stride", "box_dim", "element_stride", "elemtype",
    "interleave_layout", "swizzle_mode", "fill_mode", "cp_fenceproxy", "b1024",
    "m8n8", "m8n8k4",
    "m8n8k16", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "x1", "x2", "x4", "trans", "row", "col",
    "sp::ordered_metadata", "load", "store", "mma", "a", "b", "c", "d",
    "mma_async", "sp", "fence",
    "finite", "infinite", "number", "notanumber", "normal", "subnormal", "f4e", "b4e", "rc8", "ecl", "ecr",
    "rc16", "shiftamt",
    "a1d", "a2d", "cube", "acube", "level", "grad", "base", "g", "trap", "zero", "width", "height", "depth", "channel_data_type",
    "channel_order", "normalized_coords", "array_size", "num_mipmap_levels", "num_samples", "filter_mode", "addr_mode_0", "addr_mode_1",
    "addr_mode_2", "force_unnormalized_coords", "memory_layout",
    "alloc", "dealloc", "relinquish_alloc_permit", "ld", "st", "cp", "shift", "commit", "wait::ld", "wait::st",
    "fence::before_thread_sync", "fence::after_thread_sync", "cta_group::1", "cta_group::2", "kind::f16", "kind::tf32",
    "kind::f8f6f4", "kind::i8", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", "block_scale", "scale_vec::1X",
    "scale_vec::2X", "scale_vec::4X", "block16", "block32", "ashift", "ws", "pack::16b", "unpack::16b", "16x64b",
    "16x128b", "16x256b", "32x32b", "16x32bx2", "x8", "x16", "x32", "x64", "x128", "128x256b", "4x256b", "128x128b",
    "64x128b", "32x128b", "warpx2::02_13", "warpx2::01_23", "warpx4", "b8x16", "b6x16_p32", "b4x16_p64",
    "mbarrier::arrive::one",
    "try_cancel", "query_cancel", "is_canceled", "get_first_ctaid", "get_first_ctaid::x", "get_first_ctaid::y",
    "get_first_ctaid::z", "multicast::cluster::all", "tile::gather4", "tile::scatter4", "im2col::w", "im2col::w::128",
    "rs", "m16n8k64", "scaled::n2::relu", "swizzle_atomicity", "m16n16", "m16n8",
};

constexpr std::array<std::string_view, kSpecialRegisterCount> kSpecialNames = {
    "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z",
    "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid",
    "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%clock", "%clock_hi",
    "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%dynamic_smem_size",
    "%total_smem_size",
    "%clusterid.x", "%clusterid.y", "%clusterid.z", "%nclusterid.x", "%nclusterid.y", "%nclusterid.z",
    "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
    "%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster", "%aggr_smem_size",
    "%current_graph_exec", "%gridid", "%pm0", "%pm1", "%pm2", "%pm3", "%pm4", "%pm5", "%pm6", "%pm7", "%pm0_64",
    "%pm1_64", "%pm2_64", "%pm3_64", "%pm4_64", "%pm5_64", "%pm6_64", "%pm7_64", "%envreg0", "%envreg1", "%envreg2",
    "%envreg3", "%envreg4", "%envreg5", "%envreg6", "%envreg7", "%envreg8", "%envreg9", "%envreg10", "%envreg11",
    "%envreg12", "%envreg13", "%envreg14", "%envreg15", "%envreg16", "%envreg17", "%envreg18", "%envreg19",
    "%envreg20", "%envreg21", "%envreg22", "%envreg23", "%envreg24", "%envreg25", "%envreg26", "%envreg27",
    "%envreg28", "%envreg29", "%envreg30", "%envreg31",
};
// clang-format on

template <std::size_t N>
constexpr bool all_named(const std::array<std::string_view, N>& names, std::size_t first = 0) {
    for (std::size_t i = first; i < N; ++i) {
        if (names[i].empty()) return false;
    }
    return true;
}
static_assert(all_named(kTypeNames, 1) && all_named(kOpcodeNames) && all_named(kModifierNames, 1) &&
              all_named(kSpecialNames));

}  // namespace

unsigned bits_of(Type type) {
    return kTypeBits[static_cast<std::size_t>(type)];
}

unsigned bytes_of(Type type) {
    return (bits_of(type) + 7) / 8;
}

bool is_float(Type type) {
    return (type >= Type::f16 && type <= Type::e5m2x2) || (type >= Type::e2m1 && type <= Type::e3m2x4);
}
bool is_signed(Type type) {
    return type >= Type::s8 && type <= Type::s64;
}
bool is_untyped(Type type) {
    return type >= Type::b8 && type <= Type::b128;
}
bool is_integer(Type type) {
    return type >= Type::u8 && type <= Type::s64;
}

Type type_named(std::string_view name) {
    for (std::size_t i = 1; i < kTypeNames.size(); ++i) {
        if (kTypeNames[i] == name) return static_cast<Type>(i);
    }
    return Type::none;
}

std::string_view name_of(Type type) {
    return kTypeNames[static_cast<std::size_t>(type)];
}
std::string_view name_of(Opcode opcode) {
    return kOpcodeNames[static_cast<std::size_t>(opcode)];
}
std::string_view name_of(Modifier modifier) {
    return kModifierNames[static_cast<std::size_t>(modifier)];
}
std::string_view name_of(SpecialRegister special) {
    return kSpecialNames[static_cast<std::size_t>(special)];
}

std::string_view name_of(StateSpace space) {
    switch (space) {
        case StateSpace::global:
            return "global";
        case StateSpace::shared:
            return "shared";
        case StateSpace::shared_cluster:
            return "shared::cluster";
        case StateSpace::local:
            return "local";
        case StateSpace::parameter:
            return "param";
        case StateSpace::constant:
            return "const";
        default:
            return "";
    }
}

Type type_of(SpecialRegister special) {
    switch (special) {
        case SpecialRegister::clock64:
        case SpecialRegister::globaltimer:
        case SpecialRegister::gridid:
        case SpecialRegister::current_graph_exec:
        case SpecialRegister::pm0_64:
        case SpecialRegister::pm1_64:
        case SpecialRegister::pm2_64:
        case SpecialRegister::pm3_64:
        case SpecialRegister::pm4_64:
        case SpecialRegister::pm5_64:
        case SpecialRegister::pm6_64:
        case SpecialRegister::pm7_64:
            return Type::u64;
        case SpecialRegister::is_explicit_cluster:
            return Type::pred;
        default:
            return Type::u32;
    }
}

bool is_clock(SpecialRegister special) {
    static_assert(
        static_cast<int>(SpecialRegister::globaltimer_hi) - static_cast<int>(SpecialRegister::clock) == 5,
        "the clocks stand side by side");
    return special >= SpecialRegister::clock && special <= SpecialRegister::globaltimer_hi;
}

const Kernel* Module::find(std::string_view kernel_name) const {
    std::vector<std::string> symbols;
    for (const Kernel& kernel : kernels) {
        if (kernel.name == kernel_name) return &kernel;
        symbols.push_back(kernel.name);
    }
    const std::ptrdiff_t found = find_name(kernel_name, symbols);
    return found < 0 ? nullptr : &kernels[static_cast<std::size_t>(found)];
}

std::string describe_place(const SourcePlace& place, std::span<const std::string> files,
                           std::span<const InlinedCall> calls) {
    if (place.line == 0 || place.file >= files.size()) return "";
    const auto describe_line = [&](const SourcePlace& p) {
        const std::string& path = files[p.file];
        return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(p.line);
    };
    std::string text = describe_line(place);
    std::string chain;
    // A call is listed behind the calls that it lies in, so the chain ends.
    for (std::uint32_t next = place.inlined; next != 0 && next <= calls.size();) {
        const InlinedCall& call = calls[next - 1];
        if (call.place.line == 0 || call.place.file >= files.size()) break;
        chain += (chain.empty() ? "" : ", ") + (call.function.empty() ? "" : call.function + " ") +
                 "inlined at " + describe_line(call.place);
        if (call.place.inlined >= next) break;
        next = call.place.inlined;
    }
    return chain.empty() ? text : text + " (" + chain + ")";
}

}  // namespace heddle::ptx
