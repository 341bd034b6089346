// A PTX module as parsed: data only. parse() in parser.h makes one, LoadedKernel (execution.h) runs its
// kernels. Source of the rules: "Parallel Thread Execution ISA", version 9.0.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/ptx/operation.h"

namespace heddle::ptx {

/// Where an address points, or what kind of storage a name is.
enum class StateSpace : std::uint8_t {
    none,
    generic,  ///< no space named: the address says which
    global,
    shared,     ///< addresses are offsets into the CTA's shared memory
    local,      ///< addresses are offsets into the thread's local memory
    parameter,  ///< kernel parameters
    constant,
    shared_cluster,  ///< shared memory of any CTA of the cluster; addresses of the own CTA are offsets too
};

/// Fundamental and instruction types. bN: untyped bits.
// clang-format off
enum class Type : std::uint8_t {
    none, pred, b8, b16, b32, b64, b128, u8, u16, u32, u64, s8, s16, s32, s64,
    u16x2, s16x2,
    f16, f16x2, bf16, bf16x2,
    tf32, f32, f32x2, f64, e4m3, e5m2, e4m3x2, e5m2x2,
    s4, u4, b1,  // elements of matrices only
    s2, u2,      // with s4 and u4: elements of cvt.pack
    // Narrow floating point of Blackwell: elements of matrices, and pairs and quadruples of cvt.
    e2m1, e2m3, e3m2, ue8m0, ue4m3, e2m1x2, e2m3x2, e3m2x2, ue8m0x2, e4m3x4, e5m2x4, e2m1x4, e2m3x4, e3m2x4,
    count_,
};
// clang-format on

inline constexpr std::size_t kTypeCount = static_cast<std::size_t>(Type::count_);

unsigned bits_of(Type type);                 ///< width in bits; 1 for pred, 0 for none
unsigned bytes_of(Type type);                ///< storage size; pred counts 1
bool is_float(Type type);                    ///< any floating-point type, packed ones too
bool is_signed(Type type);                   ///< s8 ... s64
bool is_untyped(Type type);                  ///< b8 ... b128
bool is_integer(Type type);                  ///< sN or uN
Type type_named(std::string_view name);      ///< without the dot; none when it is no type
std::string_view name_of(Type type);         ///< "f32", without the dot
std::string_view name_of(StateSpace space);  ///< "global", "" for none and generic

/// The part of an instruction before its first dot. What is supported of each: instruction_table.cpp.
// clang-format off
enum class Opcode : std::uint16_t {
    abs, activemask, add, addc, and_, atom, bar, barrier, bfe, bfi, bfind, bra, brev, brkpt, clz, cnot,
    copysign, cp, cvt, cvta, div, ex2, exit, fence, fma, fns, isspacep, ld, ldmatrix, ldu, lg2, lop3, mad,
    madc, mad24, max, membar, min, mma, mov, mul, mul24, nanosleep, neg, not_, or_, popc, prefetch,
    prefetchu, prmt, rcp, red, redux, rem, ret, rsqrt, sad, selp, set, setp, shf, shfl, shl, shr, sin, slct,
    sqrt, st, sub, subc, tanh, testp, trap, vote, match, cos, bmsk, szext, dp4a, dp2a, brx, call, xor_,
    // memory policy and address spaces
    alloca, applypriority, createpolicy, discard, getctarank, istypep, mapa, multimem, stackrestore, stacksave,
    // asynchronous copies and barriers
    elect, griddepcontrol, mbarrier, pmevent, setmaxnreg, tensormap,
    // matrices
    movmatrix, stmatrix, wgmma, wmma,
    // video
    vabsdiff, vabsdiff2, vabsdiff4, vadd, vadd2, vadd4, vavrg2, vavrg4, vmad, vmax, vmax2, vmax4, vmin, vmin2,
    vmin4, vset, vset2, vset4, vshl, vshr, vsub, vsub2, vsub4,
    // textures and surfaces
    suld, suq, sured, sust, tex, tld4, txq,
    // Blackwell
    clusterlaunchcontrol, tcgen05,
    // Machine forms: what machine instructions (SASS) mean where no instruction of PTX means it in one step. Their names begin
    // with '$', and only texts that isa/sass/translate has made may use them: see Dialect in parser.h.
    machine_nop, machine_iadd3, machine_iadd3_carry, machine_imad, machine_imad_wide, machine_lea, machine_shf, machine_isetp_extended,
    machine_plop3, machine_ffma, machine_fchk, machine_shfl, machine_double, machine_first_lane,
};
// clang-format on
inline constexpr std::size_t kOpcodeCount = static_cast<std::size_t>(Opcode::machine_first_lane) + 1;
std::string_view name_of(Opcode opcode);
/// Whether it is one of the machine forms, which users' PTX cannot name.
constexpr bool is_machine_form(Opcode opcode) {
    return opcode >= Opcode::machine_nop;
}

/// Every dotted suffix that is not a type or a state space.
// clang-format off
enum class Modifier : std::uint16_t {
    none,
    // rounding
    rn, rz, rm, rp, rna, rni, rzi, rmi, rpi,
    // arithmetic
    approx, full, ftz, sat, satfinite, relu, nan_propagating, xorsign, abs, noftz, cc, lo, hi, wide, clamp, wrap, l, r,
    oob, pack, po, shr7, shr15,
    // comparisons
    eq, ne, lt, le, gt, ge, ls, hs, equ, neu, ltu, leu, gtu, geu, num, nan,
    // boolean and atomic operations
    and_, or_, xor_, popc, add, inc, dec, min, max, exch, cas,
    // memory
    v2, v4, v8, ca, cg, cs, cv, lu, wb, wt, nc, volatile_, weak, relaxed, acquire, release, acq_rel, sc,
    cta, cluster, gpu, gl, sys, evict_normal, evict_unchanged, evict_first, evict_last, no_allocate, l2_64,
    l2_128, l2_256, to,
    mmio, unified, l2_evict_last, l2_evict_normal, l2_evict_first, l2_evict_unchanged, fractional, range, cvt,
    // control and synchronisation
    uni, sync, arrive, red, all, any, ballot, up, down, bfly, idx, aligned, async, bulk, commit_group,
    wait_group, wait_all, warp, proxy, l1, l2, read,
    wait,
    launch_dependents, mask,
    // mbarrier
    mbarrier, init, inval, arrive_drop, expect_tx, complete_tx, test_wait, try_wait, parity, pending_count,
    no_complete, noinc, mbarrier_init,
    // bulk copies and tensor maps
    complete_tx_bytes, bulk_group, multicast, cache_hint, prefetch, tensor, tile, im2col, dim1, dim2, dim3, dim4,
    dim5, alias, tensormap, proxy_tensormap, proxy_async, restrict_cta, restrict_cluster, replace,
    reduce, global_address, rank, global_dim, global_stride, box_dim, element_stride, elemtype, interleave_layout,
    swizzle_mode, fill_mode, cp_fenceproxy, b1024,
    // matrix
    m8n8, m8n8k4, m8n8k16, m16n8k4, m16n8k8, m16n8k16, m16n8k32, x1, x2, x4, trans, row, col,
    sp_ordered_metadata, load, store, mma, a, b, c, d,
    // warpgroup matrix
    mma_async, sp, fence,
    // testp, prmt
    finite, infinite, number, notanumber, normal, subnormal, f4e, b4e, rc8, ecl, ecr, rc16, shiftamt,
    // textures and surfaces
    array1, array2, cube, array_cube, level, grad, base, g, trap, zero, width, height, depth, channel_data_type, channel_order,
    normalized_coords, array_size, num_mipmap_levels, num_samples, filter_mode, addr_mode_0, addr_mode_1, addr_mode_2,
    force_unnormalized_coords, memory_layout,
    // tensor memory and the matrix instructions of Blackwell
    alloc, dealloc, relinquish_alloc_permit, ld, st, cp, shift, commit, wait_ld, wait_st, before_thread_sync,
    after_thread_sync, cta_group_1, cta_group_2, kind_f16, kind_tf32, kind_f8f6f4, kind_i8, kind_mxf8f6f4, kind_mxf4,
    kind_mxf4nvf4, block_scale, scale_vec_1, scale_vec_2, scale_vec_4, block16, block32, ashift, ws, pack_16b,
    unpack_16b, lanes_16x64b, lanes_16x128b, lanes_16x256b, lanes_32x32b, lanes_16x32bx2, x8, x16, x32, x64, x128,
    copy_128x256b, copy_4x256b, copy_128x128b, copy_64x128b, copy_32x128b, warpx2_02_13, warpx2_01_23, warpx4, b8x16,
    b6x16_p32, b4x16_p64, arrive_one,
    // other instructions of Blackwell
    try_cancel, query_cancel, is_canceled, first_ctaid, first_ctaid_x, first_ctaid_y, first_ctaid_z, multicast_all,
    gather4, scatter4, im2col_w, im2col_w_128, rs, m16n8k64, scaled_n2, swizzle_atomicity, m16n16, m16n8,
    count_,
};
// clang-format on
inline constexpr std::size_t kModifierCount = static_cast<std::size_t>(Modifier::count_);
std::string_view name_of(Modifier modifier);  ///< as written, without the dot: "volatile", "L2::128B"
using ModifierSet = std::bitset<kModifierCount>;

/// Registers that the machine supplies.
// clang-format off
enum class SpecialRegister : std::uint8_t {
    tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z,
    laneid, warpid, nwarpid, smid, nsmid, gridid, lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge,
    lanemask_gt, clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi, dynamic_smem_size,
    total_smem_size,
    clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z,
    cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z,
    cluster_ctarank, cluster_nctarank, is_explicit_cluster, aggr_smem_size,
    current_graph_exec, gridid_32, pm0, pm1, pm2, pm3, pm4, pm5, pm6, pm7, pm0_64, pm1_64, pm2_64, pm3_64, pm4_64,
    pm5_64, pm6_64, pm7_64, envreg0, envreg1, envreg2, envreg3, envreg4, envreg5, envreg6, envreg7, envreg8,
    envreg9, envreg10, envreg11, envreg12, envreg13, envreg14, envreg15, envreg16, envreg17, envreg18, envreg19,
    envreg20, envreg21, envreg22, envreg23, envreg24, envreg25, envreg26, envreg27, envreg28, envreg29, envreg30,
    envreg31, count_,
};
// clang-format on
inline constexpr std::size_t kSpecialRegisterCount = static_cast<std::size_t>(SpecialRegister::count_);
std::string_view name_of(SpecialRegister special);  ///< with the per cent sign
Type type_of(SpecialRegister special);
/// Whether its value changes with time alone: %clock and %globaltimer, whole or in halves.
bool is_clock(SpecialRegister special);

/// A kernel parameter. Offsets follow the C layout of the declared sizes and alignments.
struct Parameter {
    std::string name;             ///< as in the text
    Type type = Type::none;       ///< element type
    std::uint32_t bytes = 0;      ///< of the whole parameter (arrays: all elements)
    std::uint32_t alignment = 1;  ///< bytes, a power of two
    std::uint32_t offset = 0;     ///< in the parameter block
    bool pointer = false;         ///< declared .ptr
};

/// A declared register.
struct Register {
    std::string name;        ///< as in the text, with %
    Type type = Type::none;  ///< declared type
};

/// A part of an initial value that is the address of a variable, known when that variable has a place:
/// `ptr`, `ptr+8`, `generic(ptr)`, `0xFF00(ptr)`.
struct InitialAddress {
    std::uint64_t position = 0;  ///< of the first byte in Variable::initial
    std::uint8_t bytes = 8;      ///< bytes of the address that are stored
    std::uint8_t shift = 0;      ///< the bytes stored start at this bit of the address
    bool generic = false;        ///< a generic address instead of one in the variable's space
    std::string symbol;          ///< the variable or function
    std::uint64_t addend = 0;    ///< added to its address
    std::uint32_t line = 0;      ///< 1-based, for messages
};

/// A variable in shared, local, global or constant space; or a function, which lies in none and whose
/// address is `offset`.
struct Variable {
    std::string name;                     ///< as in the text
    StateSpace space = StateSpace::none;  ///< where it lies
    Type type = Type::none;               ///< of an element
    std::uint64_t bytes = 0;              ///< 0 for `.extern .shared` of open size
    std::uint32_t alignment = 1;          ///< bytes, a power of two
    std::uint64_t offset = 0;  ///< in the kernel's shared or local memory, or in the module's constant bank
    bool external = false;  ///< .extern: dynamic shared memory, or a variable that the module does not define
    std::vector<std::byte> initial;         ///< at most `bytes` long; what follows is zero
    std::vector<InitialAddress> addresses;  ///< parts of `initial` that are known later
    unsigned lanes = 1;                     ///< of an element: .v4 .f32

    /// Size of one element in bytes, all its lanes.
    std::uint64_t element_bytes() const { return std::uint64_t{bytes_of(type)} * lanes; }
};

/// An operand of an instruction, resolved to indices.
struct Operand {
    /// What an operand is; the comments say which members hold.
    enum class Kind : std::uint8_t {
        none,
        reg,        ///< `index`: Kernel::registers
        special,    ///< `index`: SpecialRegister
        immediate,  ///< `bits`: in the representation of the type that the instruction expects
        variable,   ///< the address of Kernel::variables[index], plus `bits`
        parameter,  ///< the address of Kernel::parameters[index], plus `bits`
        address,    ///< [base + offset]: `base` says what `index` is, `bits` is the offset; [base, {x, y}]:
                    ///< `elements` are the coordinates
        vector,     ///< {a, b, ...}: `elements`
        label,      ///< `index`: position of the next instruction after the label
        sink,       ///< _
    };
    Kind kind = Kind::none;         ///< says which of the other members hold
    Kind base = Kind::none;         ///< address: reg, variable, parameter, or immediate (absolute)
    Type type = Type::none;         ///< reg, special: declared type; immediate: type of `bits`
    bool negated = false;           ///< !p, -r
    std::uint16_t selector = 0;     ///< of video instructions: see PartSelector
    std::uint32_t index = 0;        ///< what `kind` says
    std::uint64_t bits = 0;         ///< value, or byte offset
    std::vector<Operand> elements;  ///< of vectors and coordinates

    bool operator==(const Operand&) const = default;
};

struct InstructionForm;  // instruction_table.h

/// Where in a CUDA source file an instruction was written (.loc).
struct SourcePlace {
    std::uint32_t file = 0;     ///< index in Module::source_files
    std::uint32_t line = 0;     ///< 1-based; 0: unknown
    std::uint32_t inlined = 0;  ///< index in Module::inlined_calls, plus 1; 0: not inlined
    bool operator==(const SourcePlace&) const = default;
};

/// A call that the CUDA compiler replaced by the function's body.
struct InlinedCall {
    std::string function;  ///< demangled name; empty when unknown
    SourcePlace place;     ///< of the call, which may lie in an inlined function itself
};

/// The sizes that a suffix .mXnYkZ names; zeros when there is none.
struct MatrixShape {
    std::uint16_t rows = 0, columns = 0, depth = 0;  ///< m, n, k
    bool operator==(const MatrixShape&) const = default;
};

/// What machine code says of the time of one of its instructions (isa/sass/timing.h).
struct MachineTiming {
    Pipeline pipeline = Pipeline::none;     ///< that it occupies
    Operation operation = Operation::none;  ///< row of the table of latencies and intervals
    bool uniform = false;                   ///< on the uniform datapath
    std::uint8_t stall = 1;                 ///< cycles after which the warp's next instruction may issue, at least 1
    /// Places of the scoreboard: those that it waits for, and those that are ready when its results are written or its operands
    /// read. There is a place for each barrier that an instruction sets, and one for each word of the parameters.
    std::vector<std::uint16_t> waits, results;
    std::uint16_t operands_read = 0xFFFF;  ///< 0xFFFF: none
    /// General registers read in one operation, in the order of the operands, and whether the reuse cache keeps each;
    /// 255: none. What register banks see.
    std::array<std::uint8_t, 3> operands{255, 255, 255};
    std::array<bool, 3> reuse{};
    std::uint32_t file = 0, line = 0;  ///< of the source, as in SourcePlace
    std::string text;                  ///< as nvdisasm prints it
};

/// The machine code that a kernel was translated from.
struct MachineCode {
    std::vector<MachineTiming> instructions;  ///< Instruction::machine refers to them
    std::uint16_t first_parameter_place = 0;  ///< scoreboard place of the first word of the parameters
    std::size_t places = 0;                   ///< of the scoreboard
    unsigned registers = 0;                   ///< 32-bit registers per thread
    std::vector<Parameter> parameters;        ///< as hosts lay them out; the translated kernel has them as one block
};

/// One instruction, with labels and names resolved.
struct Instruction {
    Opcode opcode = Opcode::ret;                 ///< first word of the text
    ModifierSet modifiers;                       ///< suffixes, without types and spaces
    std::vector<Type> types;                     ///< in the order written
    StateSpace space = StateSpace::none;         ///< of its address
    StateSpace second_space = StateSpace::none;  ///< cp.async.ca.shared.global
    MatrixShape shape;                           ///< of matrix instructions
    const InstructionForm* form = nullptr;       ///< the row of the instruction table that it matched
    std::int32_t guard = -1;                     ///< register of @p, or -1
    bool guard_negated = false;                  ///< @!p
    std::vector<Operand> operands;               ///< in the order written
    std::uint32_t line = 0;                      ///< 1-based
    SourcePlace source;                          ///< by .loc
    /// Machine operations where the assembler needs others than the form says (isa/ptx/schedule); 0: another
    /// instruction does this one's work. -1: as the form says.
    std::int16_t operations = -1;
    /// A load or store of a value that found no register (isa/ptx/schedule/spill.h): its slot, plus 1.
    std::uint16_t spill_slot = 0;
    std::uint32_t machine = 0;  ///< of translated kernels: index in MachineCode::instructions, plus 1, of what it was made from
    bool carries_time = false;  ///< ... and it takes that one's time; the others made from it take none
    std::uint32_t unsupported =
        0;  ///< index in Module::unsupported, plus 1: a kernel with it cannot be loaded

    /// Whether the suffix was written.
    bool has(Modifier modifier) const { return modifiers.test(static_cast<std::size_t>(modifier)); }
    /// The type suffix number `i`; Type::none when there are fewer.
    Type type(std::size_t i = 0) const { return i < types.size() ? types[i] : Type::none; }
};

/// A function of the CUDA device runtime, which PTX modules declare and never define.
enum class RuntimeFunction : std::uint8_t { vprintf, assertfail, allocate, allocate_aligned, release };

/// A call that is carried out when the kernel runs; the others are replaced by the function's body when the
/// module is parsed. The only operand of the call instruction is an index in Kernel::calls.
struct CallSite {
    /// How the target of the call is known.
    enum class Kind : std::uint8_t { function, pointer, runtime };
    Kind kind = Kind::function;  ///< says which member names the target
    std::uint32_t function = 0;  ///< function: index in Kernel::functions
    std::uint32_t pointer = 0;   ///< pointer: the register that holds the function's address
    RuntimeFunction runtime{};   ///< for Kind::runtime
    /// Registers, or variables in the local memory of the caller.
    std::vector<Operand> results, arguments;
    std::vector<std::uint32_t> result_bytes, argument_bytes;
    std::int32_t caller = -1;  ///< index in Kernel::functions; -1: the kernel itself
};

/// A function that is called when the kernel runs. Its body lies behind the kernel's own instructions; a
/// `ret` in it has the index of the function as operand.
struct CalledFunction {
    std::string name;                                           ///< symbol
    std::uint64_t address = 0;                                  ///< what a pointer to it holds
    std::uint32_t first_instruction = 0, last_instruction = 0;  ///< indices in Kernel::instructions, both
                                                                ///< included
    std::uint32_t first_register = 0, end_register = 0;         ///< of its own in Kernel::registers
    std::uint32_t frame_register = 0;         ///< where its local variables start in local memory
    std::uint32_t frame_bytes = 0;            ///< of local memory
    bool recursive = false;                   ///< may be called while it runs already
    std::vector<Operand> results, arguments;  ///< as in CallSite
    std::vector<std::uint32_t> result_bytes, argument_bytes;  ///< by position in `results` and `arguments`
    std::uint32_t line = 0;                                   ///< 1-based, of the declaration
};

/// Pointers to functions: the first function of a module has this address.
inline constexpr std::uint64_t kFunctionWindow = 0x7a0000000000u;
inline constexpr std::uint64_t kFunctionSpacing = 16;

/// A kernel, complete: bodies of the functions that it calls lie in it.
struct Kernel {
    std::string name;                   ///< symbol
    std::vector<Parameter> parameters;  ///< in order of declaration
    std::uint32_t parameter_bytes = 0;  ///< size of the parameter block
    std::vector<Register> registers;    ///< unique: a register of an inner scope has its own entry
    std::vector<Variable>
        variables;  ///< the kernel's own, and those of the module, shared and local ones laid out
    std::vector<Instruction> instructions;          ///< in order; labels are indices
    std::vector<std::string> callees;               ///< while parsing: names that call instructions refer to
    std::vector<CallSite> calls;                    ///< calls that are carried out at run time
    std::vector<CalledFunction> functions;          ///< whose bodies lie behind the kernel's
    std::uint32_t shared_bytes = 0;                 ///< static
    std::uint32_t reserved_shared_bytes = 0;        ///< of these, what the system takes of each thread block's
    std::uint32_t local_bytes = 0;                  ///< per thread
    std::uint32_t required_threads[3] = {0, 0, 0};  ///< .reqntid, 0 when absent
    std::uint32_t maximum_threads[3] = {0, 0, 0};   ///< .maxntid
    std::uint32_t minimum_ctas = 0;                 ///< .minnctapersm
    std::uint32_t maximum_registers = 0;            ///< .maxnreg
    std::uint32_t required_cluster[3] = {0, 0, 0};  ///< .reqnctapercluster, 0 when absent
    bool explicit_cluster = false;                  ///< .explicitcluster
    std::uint32_t maximum_cluster_ctas = 0;         ///< .maxclusterrank
    std::uint32_t module_variables = 0;             ///< the first so many of `variables` are the module's
    std::vector<std::string> pragmas;               ///< texts of .pragma, without quotes
    std::shared_ptr<const MachineCode> machine_code;  ///< that it was translated from; nullptr: none. See
                                                      ///< Instruction::carries_time
    std::uint32_t line = 0;                         ///< 1-based, of the .entry
};

/// An instruction that the instruction table does not have. A `trap` stands for it, so that other kernels of
/// the module can be loaded.
struct UnsupportedInstruction {
    /// What is wrong, the text that was not understood, and how to avoid it; shown when a kernel with it is
    /// loaded.
    std::string problem, token, remedy;
    std::uint32_t line = 0;
};

/// All that parse() has found in one PTX text.
struct Module {
    std::string file_name;                            ///< as the user named it; for messages
    unsigned version_major = 0, version_minor = 0;    ///< of .version
    std::string target;                               ///< "sm_90"
    unsigned compute_capability = 0;                  ///< 90
    unsigned address_size = 64;                       ///< bits
    std::vector<Variable> variables;                  ///< .global, .const and module-level .shared
    std::vector<Kernel> kernels;                      ///< all .entry functions that have a body
    std::vector<std::string> source_files;            ///< of .file
    std::vector<InlinedCall> inlined_calls;           ///< that .loc refers to
    std::vector<UnsupportedInstruction> unsupported;  ///< that Instruction::unsupported refers to

    /// The kernel of this name: the symbol, or its C++ name, whole as in `saxpy<float>(int, float*)` or as
    /// short as is unique (`saxpy`). Throws heddle::Error that lists the candidates when there are several,
    /// and returns nullptr when there is none.
    const Kernel* find(std::string_view kernel_name) const;
};

/// "blas.cu:12 (dot(float*) inlined at blas.cu:30)", or "" when the place is unknown. `files` and `calls` are
/// those of the module.
std::string describe_place(const SourcePlace& place, std::span<const std::string> files,
                           std::span<const InlinedCall> calls);

}  // namespace heddle::ptx
