// How long a GEMM with a given tile would take, in closed form: waves of tiles, each as long as the tensor
// cores, L2 and memory together need, the fixed costs around them, and the clock that the power limit leaves.
// It ranks candidates, and is what a cycle-level result is shown beside.
#pragma once

#include "isa/target/target.h"
#include "workloads/kernels/kernel.h"

namespace heddle::kernels {

/// The parameters of a machine that the estimate needs. Rates are those that large transfers reach, not those
/// of the data sheet.
struct GemmMachine {
    unsigned sm_count = 132;
    double clock = 1.98e9;          ///< hertz, at most
    double macs_per_cycle = 2048;   ///< of the operands' type, per SM
    bool warpgroups = true;         ///< wgmma reads A from shared memory; else mma.sync
    double step_bytes = 128;        ///< of k in one stage
    double shared_bytes = 232448;   ///< for the stages of all CTAs of an SM
    double l2_load_bytes = 9000;    ///< per cycle, whole device, as CTAs ask (many ask for the same lines)
    double l2_store_bytes = 2750;   ///< per cycle, whole device
    double sm_store_bytes = 24;     ///< per cycle and SM, from registers on
    double memory_read = 2.82e12;   ///< bytes per second
    double memory_write = 3.4e12;   ///< bytes per second
    double reuse_bytes = 39e6;      ///< what L2 keeps of data that is used again and again
    double weights_bytes = 25e6;    ///< what L2 keeps of data that come round again and again: about one partition's
    double result_bytes = 19e6;     ///< what L2 keeps of results that are written again and again
    double launch = 2.32e-6;        ///< seconds of an empty kernel, from end to end
    double ends = 0.375e-6;         ///< seconds of a wave's first and last latencies
    double ramp = 0.75e-6;          ///< seconds until memory runs at its rate
    double second_kernel = 2.7e-6;  ///< seconds that adding slices of K costs, beyond its traffic
    double slices_bytes = 6.3e12;   ///< bytes per second, slices of K written and read
    double step_overhead = 42;      ///< cycles of a lone CTA between two stages
    double drain_overhead = 90;     ///< the same of a consumer that finishes a stage before it begins the next one
    double stage_latency = 0;       ///< seconds until what a CTA asks for has come; 0: never waited for
    double shared_bytes_per_cycle = 128;  ///< of an SM, fragments for mma.sync
    double efficiency = 1;                ///< part of the rate that mma.sync reaches between waits
    double fetch_floor = 16;              ///< cycles of a wgmma with few columns: it reads 64 rows of A
    double wgmma_columns = 4;             ///< columns of wgmma whose operand takes a cycle to read
    double overlap = 3.4;                 ///< exponent with which what happens at the same time adds up
    // Power as parts of the limit, and how much more the board takes for a short time.
    double static_power = 0.54, memory_power = 0.095, tensor_power = 1.144;
    double power_clock = 1.98e9;
    double boost = 0.195, boost_seconds = 3.1e-3;
    double minimum_clock = 0.345e9;
};

/// Returns the parameters of a device of which only the generation is known.
GemmMachine gemm_machine(const target::GpuTarget& target, ElementType type);

/// The contents of L2 before the product begins.
struct GemmSurroundings {
    /// Weights (B) alternate among as many copies; 0: B is never in L2.
    double weight_copies = 1;
    /// Whether the same product was done before, so that A and D may be in L2.
    bool repeated = true;
    /// Bytes that kernels beside the product move each time, through L2 as well: A before it is quantised.
    double beside_bytes = 0;
};

/// The sizes of a product, and the bytes of its elements.
struct GemmWork {
    double m = 0, n = 0, k = 0, batch = 1;
    double element_bytes = 2, result_bytes = 2;
};

/// The tile as the tensor core sees it: rows in units of 64 (wgmma) that lie along n when `swap`; for
/// mma.sync the warps that share it.
struct GemmShapeOfTile {
    unsigned m = 128, n = 128;
    unsigned rows = 128, columns = 128;
    unsigned ctas_per_sm = 1, splits = 1;
    unsigned stages = 4;
    unsigned stage_k = 0;  ///< k of a stage; 0: as the machine's step_bytes say
    unsigned warps_m = 0, warps_n = 0;
    unsigned rows_by_elements = 0;  ///< of A and B that are copied by single elements, through L1
};

/// The estimated time and its parts.
struct GemmEstimate {
    double seconds = 0;
    // Parts, in seconds; what overlaps counts in each.
    double launch = 0, ends = 0, tensor = 0, l2 = 0, memory = 0, slices = 0;
    double waves = 0;
    double clock = 0;
    double tensor_use = 0, memory_use = 0;  ///< parts of the rates, over the whole time
};

/// Estimates a product with this tile.
GemmEstimate estimate_gemm(const GemmMachine& machine, const GemmSurroundings& surroundings,
                           const GemmWork& work, const GemmShapeOfTile& tile);

/// Estimates a product without tiles (gemv.h) with `warps` warps for each output.
GemmEstimate estimate_gemv(const GemmMachine& machine, const GemmSurroundings& surroundings,
                           const GemmWork& work, unsigned warps);

/// The parts of A, B and D that L2 holds when the product is repeated: data that is used again before
/// as many other bytes have passed as L2 holds.
struct GemmResidency {
    double a = 0, b = 0, d = 0;
};
GemmResidency gemm_residency(const GemmMachine& machine, const GemmSurroundings& surroundings,
                             const GemmWork& work);

}  // namespace heddle::kernels
