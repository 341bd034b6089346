#include "workloads/kernels/gemm_estimate.h"

#include <algorithm>
#include <cmath>

#include "isa/target/generation.h"

namespace heddle::kernels {
namespace {

double together(double overlap, double a, double b, double c) {
    const double most = std::max({a, b, c});
    if (most <= 0) return 0;
    return most *
           std::pow(std::pow(a / most, overlap) + std::pow(b / most, overlap) + std::pow(c / most, overlap),
                    1 / overlap);
}

/// Falls from one to zero where `bytes` passes `capacity`.
double kept(double bytes, double capacity, double steepness) {
    if (bytes <= 0) return 1;
    return 1 / (1 + std::pow(bytes / capacity, steepness));
}

/// The part of data that come round in the same order again and again that is still there when it is their turn, where each line that
/// is missed takes the place of any other one: what `bytes` (1 - h) lines that are missed leave, h = exp(-bytes (1 - h) / capacity). With
/// the least recently used line going first there would be all or nothing; recorded kernels of few rows slow down little by little
/// between 22 and 90 MB of weights (an H100).
double kept_of_cycle(double bytes, double capacity) {
    if (bytes <= capacity) return 1;
    const double load = bytes / capacity;
    double hits = 0;
    for (unsigned round = 0; round < 100; ++round) hits = std::exp(-load * (1 - hits));
    return hits;
}

/// k of one stage.
double step_k(const GemmMachine& machine, const GemmShapeOfTile& tile, double element_bytes) {
    return tile.stage_k != 0 ? tile.stage_k : machine.step_bytes / element_bytes;
}

/// Cycles in which shared memory gives the warps of a CTA their fragments of one stage and takes the next.
double shared_cycles(const GemmMachine& machine, const GemmShapeOfTile& tile, double k_bytes) {
    const double rows = static_cast<double>(tile.m) * (tile.warps_n + 1);
    const double columns = static_cast<double>(tile.n) * (tile.warps_m + 1);
    return (rows + columns) * k_bytes / machine.shared_bytes_per_cycle;
}

/// Cycles in which L1, with the banks of shared memory, gives single elements of 16 bits. A warp asks for one
/// of each of 32 pieces of 16 bytes, which lie in 512 bytes; rows of less than 128 bytes lie in the same
/// banks.
double element_cycles(const GemmMachine& machine, const GemmShapeOfTile& tile, double k) {
    const double share = std::min(1.0, 2 * k / 128);
    return tile.rows_by_elements * k / 32 * 512 / share / machine.shared_bytes_per_cycle;
}

/// Tensor core cycles of one stage of a CTA that has the SM to itself.
double step_cycles(const GemmMachine& machine, const GemmShapeOfTile& tile, double element_bytes) {
    const double k = step_k(machine, tile, element_bytes);
    const double products = static_cast<double>(tile.m) * tile.n * k / machine.macs_per_cycle;
    if (tile.warps_m != 0)
        return std::max(products / machine.efficiency,
                        shared_cycles(machine, tile, k * element_bytes) + element_cycles(machine, tile, k));
    const double instructions = machine.step_bytes / 32 * std::ceil(tile.rows / 64.0);
    return std::max(products, instructions * (machine.fetch_floor + tile.columns / machine.wgmma_columns));
}

/// What nothing hides of a further wave's first and last latencies, and of its store. A persistent CTA copies
/// ahead while it stores; one of mma.sync does one tile, and only others on the same SM work meanwhile.
double exposed_ends(const GemmMachine& machine, const GemmShapeOfTile& tile, double store) {
    constexpr double kOfPersistent = 0.35;
    const double ends = machine.ends + store;
    return tile.warps_m == 0 ? kOfPersistent * ends : ends / tile.ctas_per_sm;
}

/// Everything at one clock.
GemmEstimate at_clock(const GemmMachine& machine, const GemmSurroundings& surroundings, const GemmWork& work,
                      const GemmShapeOfTile& tile, double clock) {
    const double tiles = std::ceil(work.m / tile.m) * std::ceil(work.n / tile.n) * work.batch;
    const double k_per_step = step_k(machine, tile, work.element_bytes);
    const double steps = std::ceil(std::ceil(work.k / k_per_step) / tile.splits);
    const double ctas = tiles * tile.splits;
    const double slots = static_cast<double>(machine.sm_count) * tile.ctas_per_sm;
    const double cycles = step_cycles(machine, tile, work.element_bytes);
    const double loaded = (static_cast<double>(tile.m) + tile.n) * k_per_step * work.element_bytes;
    const double result = static_cast<double>(tile.m) * tile.n * (tile.splits > 1 ? 4 : work.result_bytes);

    const GemmResidency resident = gemm_residency(machine, surroundings, work);
    const double bytes_a = work.m * work.k * work.element_bytes * work.batch;
    const double bytes_b = work.n * work.k * work.element_bytes * work.batch;
    const double bytes_d = work.m * work.n * work.result_bytes * work.batch;
    const double read = bytes_a * (1 - resident.a) + bytes_b * (1 - resident.b);
    const double written = tile.splits > 1 ? 0 : bytes_d * (1 - resident.d);
    const double memory = read / machine.memory_read + written / machine.memory_write;

    GemmEstimate estimate;
    estimate.clock = clock;
    estimate.waves = ctas / slots;
    const double whole = std::floor(ctas / slots), rest = ctas - whole * slots;
    const double store = tile.ctas_per_sm * result / machine.sm_store_bytes / clock;
    const auto wave = [&](double count, double share) {
        const double per_sm = std::ceil(count / machine.sm_count);
        // A stage cannot come sooner than all others have been asked for and have come.
        const double waiting = machine.stage_latency * clock / std::max(1u, tile.stages - 1);
        const bool drains = tile.warps_m == 0 && tile.rows == 64;  // a lone consumer finishes a stage before the next one
        const double overhead = drains ? machine.drain_overhead : machine.step_overhead;
        const double step = std::max({per_sm * cycles, cycles + overhead, waiting});
        const double tensor = steps * step / clock;
        const double l2 =
            (count * steps * loaded / machine.l2_load_bytes + count * result / machine.l2_store_bytes) /
            clock;
        estimate.tensor += share * tensor;
        estimate.l2 += share * l2;
        return share * together(machine.overlap, tensor, l2, memory * count / ctas);
    };
    double busy = whole > 0 ? wave(slots, whole) : 0;
    if (rest > 0) busy += wave(rest, 1);
    const double waves = whole + (rest > 0 ? 1 : 0);
    estimate.ends = machine.ends + store + (waves - 1) * exposed_ends(machine, tile, store);
    estimate.memory = memory;
    estimate.launch = machine.launch;
    estimate.seconds = machine.launch + estimate.ends + busy + machine.ramp * std::min(1.0, memory / busy);
    if (tile.splits > 1) {
        const double traffic = 8 * work.m * work.n * work.batch * tile.splits / machine.slices_bytes;
        const double hidden = 0.3 * std::min(memory, machine.second_kernel);
        estimate.slices = machine.second_kernel - hidden + traffic;
        estimate.seconds += estimate.slices;
    }
    const double macs = work.m * work.n * work.k * work.batch;
    estimate.tensor_use =
        macs / (machine.macs_per_cycle * machine.sm_count * clock) / std::max(1e-12, estimate.seconds);
    estimate.memory_use = memory / std::max(1e-12, estimate.seconds);
    return estimate;
}

/// Fitted to half of the (n, k) of A100 SXM times in bf16 (NVIDIA aiconfigurator, sglang's column), the same
/// for every shape. What L2 keeps is less than one of its two
/// partitions.
void use_mma_sync(GemmMachine& machine) {
    machine.warpgroups = false;
    machine.clock = machine.power_clock = 1.41e9;
    machine.step_bytes = 64;
    machine.l2_load_bytes = 3550;
    machine.l2_store_bytes = 2170;
    machine.sm_store_bytes = 20;
    machine.memory_read = 1.63e12;
    machine.memory_write = 2.04e12;
    machine.launch = 2.16e-6;
    machine.ends = 1.13e-6;
    machine.ramp = 1.15e-6;
    machine.second_kernel = 2.25e-6;
    machine.slices_bytes = 4.9e12;
    machine.step_overhead = 21;
    machine.stage_latency = 1.26e-6;
    machine.efficiency = 1;
    machine.overlap = 3.2;
    machine.static_power = 0.158;
    machine.memory_power = 0.55;
    machine.tensor_power = 1.233;
    machine.boost = 0.49;
    machine.boost_seconds = 0.9e-3;
}

/// Fitted to half of the (n, k) of B200 SXM times in bf16 (NVIDIA aiconfigurator, trtllm's column), the same for every
/// shape: 7.4 % mean error on the other half. Products of 128 rows, or of 256 on a pair of SMs, read A and B from
/// shared memory at 128 bytes a cycle: a unit of 64 rows takes 16 cycles for its part of A (12 by the fit), and B's
/// columns / 8. What CTAs ask L2 for, pairs ask for once.
void use_tensor_memory(GemmMachine& machine, const target::GpuTarget& target) {
    const double sms = target.sm_count / 148.0, l2 = static_cast<double>(target.l2_bytes) / (253 << 19);
    machine.fetch_floor = 12.2;
    machine.wgmma_columns = 8;
    machine.l2_load_bytes = 16200 * sms;
    machine.l2_store_bytes = 5680 * sms;
    machine.sm_store_bytes = 43;
    machine.step_overhead = 7.6;
    machine.ends = 0.384e-6;
    machine.ramp = 1.72e-6;
    machine.overlap = 2.8;
    machine.second_kernel = 2.48e-6;
    machine.slices_bytes = 2.81e12;
    machine.reuse_bytes = 95.3e6 * l2;
    machine.result_bytes = 76.9e6 * l2;
}

}  // namespace

GemmMachine gemm_machine(const target::GpuTarget& target, ElementType type) {
    GemmMachine machine;
    machine.sm_count = target.sm_count;
    machine.shared_bytes = static_cast<double>(target.shared_bytes_per_cta);
    const double relative = 2.0 / bytes_of(type);
    const target::Generation& generation = target::nearest_generation(target.compute_capability);
    machine.macs_per_cycle = generation.rates.tensor_16bit * relative;
    const double l2 = static_cast<double>(target.l2_bytes) / (50 << 20);
    machine.reuse_bytes *= l2;
    machine.result_bytes *= l2;
    machine.weights_bytes *= l2;
    if (generation.gemm_fit == target::GemmFit::a100) {
        use_mma_sync(machine);
        const double sms = target.sm_count / 108.0;
        machine.l2_load_bytes *= sms;
        machine.l2_store_bytes *= sms;
        machine.slices_bytes *= sms;
        machine.reuse_bytes = 0.37 * static_cast<double>(target.l2_bytes);
        machine.result_bytes = 0.146 * static_cast<double>(target.l2_bytes);
        machine.weights_bytes = 0.3 * static_cast<double>(target.l2_bytes);
    } else if (generation.has_wgmma) {
        // Operands without tensor maps.
        machine.efficiency = type == ElementType::f64 ? 1 : 0.66;
    }
    if (generation.has_tcgen05) use_tensor_memory(machine, target);
    if (type == ElementType::f64) machine.macs_per_cycle = generation.rates.tensor_fp64;
    return machine;
}

GemmResidency gemm_residency(const GemmMachine& machine, const GemmSurroundings& surroundings,
                             const GemmWork& work) {
    const double a = work.m * work.k * work.element_bytes * work.batch;
    const double b = work.n * work.k * work.element_bytes * work.batch;
    const double d = work.m * work.n * work.result_bytes * work.batch;
    const double beside = surroundings.beside_bytes;
    constexpr double kKnee = 11.5;
    GemmResidency resident;
    if (!surroundings.repeated) return resident;
    resident.a = kept(a + b + d + beside, machine.reuse_bytes, kKnee);
    if (surroundings.weight_copies > 0)
        resident.b = kept_of_cycle(surroundings.weight_copies * b + a + d / 2 + beside, machine.weights_bytes);
    resident.d = kept(d + (a + b + beside) / 3, machine.result_bytes, kKnee);
    return resident;
}

GemmEstimate estimate_gemm(const GemmMachine& machine, const GemmSurroundings& surroundings,
                           const GemmWork& work, const GemmShapeOfTile& tile) {
    GemmEstimate estimate = at_clock(machine, surroundings, work, tile, machine.clock);
    // The clock at which power is within what is allowed for as long as this takes: a few rounds settle it.
    for (unsigned round = 0; round < 4; ++round) {
        const double allowed = 1 + machine.boost * std::exp(-estimate.seconds / machine.boost_seconds);
        const double left = allowed - machine.static_power - machine.memory_power * estimate.memory_use;
        // tensor_use is of the rate at the present clock; power goes with use and the clock's third power.
        const double at_full = machine.tensor_power * estimate.tensor_use;
        if (at_full <= 0) break;
        const double relative = std::cbrt(std::max(1e-3, left) / at_full);
        const double clock = std::clamp(machine.power_clock * relative, machine.minimum_clock, machine.clock);
        if (std::abs(clock / estimate.clock - 1) < 1e-3) break;
        estimate = at_clock(machine, surroundings, work, tile, clock);
    }
    return estimate;
}

GemmEstimate estimate_gemv(const GemmMachine& machine, const GemmSurroundings& surroundings,
                           const GemmWork& work, unsigned warps) {
    constexpr double kWarps = 48;        // of an SM, as registers allow
    constexpr double kLatency = 0.4e-6;  // of loads under way together
    constexpr double kEnds = 0.4e-6;     // first and last latencies
    const GemmResidency resident = gemm_residency(machine, surroundings, work);
    const double bytes_b = work.n * work.k * work.element_bytes * work.batch;
    const double read =
        bytes_b * (1 - resident.b) + work.m * work.k * work.element_bytes * work.batch * (1 - resident.a);
    // Each lane has four loads of 16 bytes under way.
    const double rounds = std::ceil(work.k * work.element_bytes / (4.0 * 512 * warps));
    const double waves = std::max(1.0, work.m * work.n * work.batch * warps / (kWarps * machine.sm_count));
    GemmEstimate estimate;
    estimate.clock = machine.clock;
    estimate.waves = waves;
    estimate.launch = machine.launch;
    estimate.ends = kEnds;
    estimate.memory = read / machine.memory_read;
    estimate.l2 = bytes_b * work.m / machine.l2_load_bytes / machine.clock;
    const double busy = together(machine.overlap, rounds * waves * kLatency, estimate.l2, estimate.memory);
    estimate.seconds = machine.launch + kEnds + busy + machine.ramp * std::min(1.0, estimate.memory / busy);
    estimate.memory_use = estimate.memory / estimate.seconds;
    return estimate;
}

}  // namespace heddle::kernels
