// What a compiler must know of a device: counts and limits, no timing, no SystemC.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::target {

/// A GPU as generators of kernels see it. Defaults are an H100 SXM.
struct GpuTarget {
    std::string name;                  ///< for messages
    unsigned compute_capability = 90;  ///< 70 Volta, 75 Turing, 80/86 Ampere, 89 Ada, 90 Hopper
    unsigned sm_count = 132;           ///< SMs
    /// Limits of one SM: resident threads, warps and thread blocks (CTAs), and registers of 32 bits.
    unsigned max_threads_per_sm = 2048;
    unsigned max_warps_per_sm = 64;
    unsigned max_ctas_per_sm = 32;
    unsigned registers_per_sm = 65536;
    std::uint64_t shared_bytes_per_sm = 233472;   ///< bytes
    std::uint64_t shared_bytes_per_cta = 232448;  ///< bytes, static and dynamic
    std::uint64_t l2_bytes = 50ull << 20;         ///< of the device
    /// ".target" of PTX written for this device, such as "sm_90".
    std::string ptx_target() const { return "sm_" + std::to_string(compute_capability); }
};

/// A TPU as lowering sees it. Defaults are a TPU v3.
struct TpuTarget {
    std::string name;                        ///< for messages
    unsigned cores = 2;                      ///< TensorCores of a chip
    unsigned matrix_units_per_core = 2;      ///< systolic arrays of a TensorCore
    unsigned array_rows = 128;               ///< contraction dimension of one weight block
    unsigned array_columns = 128;            ///< outputs of a weight block
    unsigned vector_sublanes = 8;            ///< rows of a vector register
    unsigned vector_lanes = 128;             ///< columns of a vector register
    std::uint64_t vmem_bytes = 16ull << 20;  ///< on-chip memory per core
    std::uint64_t hbm_bytes = 32ull << 30;   ///< bytes of the chip
    unsigned accumulator_rows = 2048;        ///< result rows of a matrix unit, each array_columns wide
    unsigned sync_flags = 256;               ///< per core
};

}  // namespace heddle::target
