// Classes of machine operations: what a table of issue ports and latencies tells apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::ptx {

/// The execution unit that a machine operation occupies.
enum class Pipeline : std::uint8_t {
    none,     ///< costs no issue slot: removed by the assembler (cvta of one space, register renaming)
    fp32,     ///< FADD, FMUL, FFMA, FSETP, ...
    integer,  ///< IADD3, LOP3, SHF, IMAD (32 bit), ISETP, moves, selects
    fp64,
    half,        ///< HADD2, HFMA2 (fp16 and bf16)
    special,     ///< MUFU: ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh; conversions
    tensor,      ///< HMMA, IMMA, DMMA
    load_store,  ///< LSU: global, shared, local, constant through LSU, ldmatrix, shuffles
    branch,      ///< branches, exit, warp-level synchronisation
    barrier,     ///< bar.sync, bar.arrive, membar, cp.async.wait
};
inline constexpr std::size_t kPipelineCount = 10;

/// Finer than Pipeline: operations of one class have the same issue port, rate and latency on a machine.
/// Comments name the machine instructions of Volta and later.
enum class Operation : std::uint8_t {
    none,             ///< no machine instruction
    fp32,             ///< FADD, FMUL, FFMA
    fp32_compare,     ///< FSETP, FSET, FMNMX
    integer,          ///< IADD3, LOP3, SHF, LEA, PRMT, conversions between integers
    integer_compare,  ///< ISETP, IMNMX, PLOP3
    move,             ///< MOV, SEL: the compiler balances these over two ports where a machine has them
    multiply,         ///< IMAD, IDP: results of 32 bits
    multiply_wide,    ///< IMAD.WIDE, IMAD.HI: products of 64 bits
    half,             ///< HADD2, HMUL2, HFMA2, HMNMX2, HSETP2
    bf16,             ///< the same in bfloat16
    half_conversion,  ///< F2FP and HADD2.F32: fp32 from and to 16-bit floats
    fp64,             ///< DADD, DMUL, DFMA, DSETP
    special,          ///< MUFU: ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh
    conversion,       ///< I2F, F2I, FRND of at most 32 bits
    wide_conversion,  ///< conversions from and to 64-bit types
    bit_count,        ///< POPC, FLO, BREV
    vote,             ///< VOTE, ELECT
    warp_reduce,      ///< REDUX, MATCH
    uniform,          ///< UIADD3, ULOP3, UIMAD, ...: once for the whole warp, on its own datapath
    tensor,
    load_store,
    branch,
    barrier,
};
inline constexpr std::size_t kOperationCount = static_cast<std::size_t>(Operation::barrier) + 1;

/// The name that hardware files use.
std::string_view name_of(Operation operation);

}  // namespace heddle::ptx
