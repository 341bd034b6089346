// What a generation of GPUs has: its instructions, how its tensor core adds, and its limits. There is one
// file for each generation in generations/. Whoever must tell generations apart asks here, by the name of the
// reason.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle::target {

/// How a tensor core adds, in blocks of L products (isa/numerics/dot_product_unit.h says what is done with
/// the numbers). A length of 0: the input is not taken.
struct TensorCoreArithmetic {
    unsigned length_16bit = 0;  ///< L of fp16; of bf16 too where bf16 exists
    /// L of tf32 and of fp8; 0 where the generation has no such type.
    unsigned length_tf32 = 0;
    unsigned length_fp8 = 0;
    int fraction_bits = 0;              ///< F
    int fraction_bits_fp8 = 0;          ///< F of the native fp8 path
    bool fp8_rounds_to_e8m13 = false;   ///< results of the native fp8 path in fp32 keep 13 bits
    bool mma_sync_unpacks_fp8 = false;  ///< mma.sync does not reach the native fp8 path
    /// Formats of 6 and 4 bits, by mma.sync; a generation that has tcgen05 multiplies them by that.
    bool mma_sync_multiplies_narrower = false;
    int minimum_exponent_fp32 = 0;  ///< e0
    int minimum_exponent_fp16 = 0;
    bool fp16_output_inferred = false;  ///< e0 of fp16 output is not published
};

/// Multiply-adds of one SM per cycle, dense.
struct Rates {
    unsigned fp32 = 64;           ///< CUDA cores
    unsigned fp64 = 2;            ///< CUDA cores, or half-rate and full-rate units
    unsigned tensor_16bit = 512;  ///< of fp16; half as many of tf32, twice as many of 8 bits
    unsigned tensor_fp64 = 64;    ///< what estimates of GEMMs take, asked where has_fast_fp64_mma
};

/// The GPU whose recorded times the estimates of GEMMs are fitted to, for devices without measurements of
/// their own.
enum class GemmFit : std::uint8_t { a100, h100 };

/// One compute capability: generations with several (8.0, 8.6) have a row for each, in one file.
struct Generation {
    const char* name;             ///< "Ampere"
    unsigned compute_capability;  ///< times ten

    // Instructions of PTX. Source: PTX ISA, "Target ISA Notes" of each.
    bool has_ldmatrix = false;
    bool has_packed_conversion = false;  ///< cvt of two f32 to f16x2 or bf16x2 as one machine instruction
    bool has_bf16 = false;               ///< conversion, arithmetic and mma.sync
    bool has_tf32 = false;               ///< mma.sync
    bool has_fp8 = false;                ///< conversion and mma.sync of e4m3 and e5m2
    bool has_cp_async = false;
    bool has_bf16_reduction = false;       ///< red.add and atom.add of bf16 in global memory
    bool has_tensor_maps = false;          ///< cp.async.bulk and its tensor forms (TMA)
    bool has_programmatic_launch = false;  ///< griddepcontrol
    bool has_wgmma = false;
    bool has_tcgen05 = false;
    bool has_specific_target = false;  ///< ptxas has a target "sm_90a" beside "sm_90"
    /// .version that PTX for the device takes instead of what its instructions ask for; null: that.
    const char* ptx_version = nullptr;

    // mma.sync.
    bool mma_by_quads = false;       ///< m8n8k4, four products by two quads each: no other shape exists
    bool has_fp16_mma = true;        ///< of some shape: what all known ones have
    bool has_mma_m16n8k16 = false;   ///< one machine instruction takes 32 bytes of k; else 16
    bool has_int8_mma_k32 = false;   ///< m16n8k32 of s8
    bool has_fp64_mma = false;       ///< m8n8k4
    bool has_fp64_mma_m16 = false;   ///< m16n8k4 to m16n8k16
    bool has_fast_fp64_mma = false;  ///< faster than the FMA units: GEMMs of f64 take it
    /// GEMMs of 8-bit floats take mma.sync: where it reaches the native path, and a GPU is modelled.
    bool gemm_takes_fp8_mma = false;
    TensorCoreArithmetic tensor_core;

    Rates rates;                       ///< of one SM
    GemmFit gemm_fit = GemmFit::a100;  ///< whose recorded times estimates are fitted to

    // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    unsigned max_warps_per_sm = 64;
    unsigned max_ctas_per_sm = 32;
    unsigned shared_kib_per_sm = 0;
    std::uint32_t reserved_shared_bytes_per_cta = 0;  ///< kept by the system
    /// Sizes of shared memory in KiB that the driver offers, ascending, up to what the SM has.
    std::span<const std::uint16_t> shared_kib_offered;
    /// Number of SMs of the largest product.
    unsigned largest_sm_count = 132;

    /// Elements along k of one machine instruction of mma.sync, for elements of up to 4 bytes.
    unsigned mma_k(unsigned element_bytes) const {
        return (mma_by_quads ? 8 : has_mma_m16n8k16 ? 32 : 16) / element_bytes;
    }
    /// Whether both are of one generation, whatever their compute capabilities.
    bool operator==(const Generation& other) const { return std::string_view(name) == other.name; }

    // The first of each generation: 7.0, 7.5, 8.0, 8.9, 9.0, 10.0 and 12.0.
    static const Generation &volta, &turing, &ampere, &ada, &hopper, &blackwell, &rtx_blackwell;
};

/// A feature that a generation has or lacks, such as &Generation::has_wgmma.
using Feature = bool Generation::*;

/// All known generations, in ascending order of compute capability.
std::span<const Generation* const> generations();

/// Finds a generation by compute capability times ten. Throws std::invalid_argument, which names the known
/// ones.
const Generation& generation_of(unsigned compute_capability);

/// Does the same, but returns null for an unknown compute capability.
const Generation* find_generation(unsigned compute_capability);

/// That of the closest known compute capability before it, whose PTX such a device runs; before all, the
/// oldest. For kernels on devices that are not known, or that nobody has named.
const Generation& nearest_generation(unsigned compute_capability);

/// The first compute capability with the feature, times ten; 0: none has it.
unsigned first_with(Feature feature);

/// Whether a device runs PTX of a `.target`: of its own compute capability and of earlier ones, but of an "a"
/// target its own alone. Source: PTX ISA, ".target". It does not look at the list of generations, so any
/// number is valid.
bool runs_ptx(unsigned compute_capability, unsigned ptx_target, bool architecture_specific = false);

/// "sm_90a": the target of PTX that uses what this compute capability alone has.
std::string specific_target(unsigned compute_capability);

/// The usual spelling, such as "8.6".
std::string capability_text(unsigned compute_capability);

/// "7.0, 7.2, ... and 12.1": what generation_of() takes.
std::string known_capabilities();

}  // namespace heddle::target
