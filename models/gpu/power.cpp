#include "models/gpu/power.h"

#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"

namespace heddle::models::gpu {

void describe(PowerConfig& c, ParameterList& list) {
    const Quantity power = Quantity::power, energy = Quantity::energy;
    list.add("power.governor", c.governor, Quantity::count, 0, 1,
             "Whether the clock is lowered until the step's mean power stays within power.limit.");
    list.add("power.minimum_clock", c.minimum_clock, Quantity::frequency, 1e6, 1e10,
             "The lowest clock that the governor sets.");
    list.add("power.limit", c.limit, power, 1, 1e5, "Board power that the clock is lowered for.");
    list.add("power.allowance", c.allowance, Quantity::count, 0, 1,
             "Part of the limit that work of a short time may take beyond it.");
    list.add("power.allowance_time", c.allowance_time, Quantity::time, 1e-6, 10,
             "Time in which that allowance decays.");
    list.add("power.idle", c.idle, power, 0, 1e5, "Of the board without work, but for what its SMs leak.");
    list.add("power.leakage", c.leakage, power, 0, 1e3,
             "Of each SM at nominal voltage, with work or without.");
    list.add("power.active", c.active, power, 0, 1e5, "Beyond idle while a kernel runs, whatever it does.");
    list.add("power.nominal_clock", c.nominal_clock, Quantity::frequency, 1e8, 1e10,
             "Clock for which the energies hold; they go with the square of the clock.");
    list.add("power.data_toggling", c.data_toggling, Quantity::count, 0, 2,
             "Switching of data relative to random numbers.");
    list.add("power.instruction", c.instruction, energy, 0, 1e-6,
             "Fetch, decode and registers of a warp's machine instruction.");
    list.add("power.fp32", c.fp32, energy, 0, 1e-6, "FP32 arithmetic of a warp instruction.");
    list.add("power.integer", c.integer, energy, 0, 1e-6, "Integer arithmetic of a warp instruction.");
    list.add("power.fp64", c.fp64, energy, 0, 1e-6, "FP64 arithmetic of a warp instruction.");
    list.add("power.half", c.half, energy, 0, 1e-6, "Packed FP16 or BF16 arithmetic of a warp instruction.");
    list.add("power.special", c.special, energy, 0, 1e-6, "A special function of a warp instruction.");
    list.add("power.tensor", c.tensor, energy, 0, 1e-6,
             "A cycle of one sub-core's tensor core at its full rate, operands included.");
    list.add("power.shared_wavefront", c.shared_wavefront, energy, 0, 1e-6,
             "128 bytes between shared memory or L1 and registers.");
    list.add("power.l2_sector", c.l2_sector, energy, 0, 1e-6, "32 bytes between L2 and an SM.");
    list.add("power.dram_byte", c.dram_byte, energy, 0, 1e-6, "A byte between L2 and memory.");
}

std::array<std::pair<const char*, double>, 8> KernelEnergy::parts() const {
    return {{{"idle", idle},
             {"leakage", leakage},
             {"active", active},
             {"instructions", instructions},
             {"tensor cores", tensor},
             {"shared memory and L1", shared_memory},
             {"L2 and crossbar", l2},
             {"DRAM", dram}}};
}

KernelEnergy energy_of(const KernelResult& result, const GpuConfig& config) {
    const PowerConfig& power = config.power;
    const double relative = config.clock / power.nominal_clock;
    const double dynamic = relative * relative;         // of what does not depend on data
    const double data = dynamic * power.data_toggling;  // of what moves or computes data
    const auto count = [&](ptx::Pipeline pipeline) {
        return static_cast<double>(result.pipeline_instructions[static_cast<std::size_t>(pipeline)]);
    };
    KernelEnergy energy;
    energy.idle = power.idle * result.seconds;
    energy.leakage = power.leakage * config.sm.count * result.seconds;
    energy.active = power.active * result.seconds;
    energy.instructions =
        dynamic * power.instruction * static_cast<double>(result.machine_instructions) +
        data * (power.fp32 * count(ptx::Pipeline::fp32) + power.integer * count(ptx::Pipeline::integer) +
                power.fp64 * count(ptx::Pipeline::fp64) + power.half * count(ptx::Pipeline::half) +
                power.special * count(ptx::Pipeline::special));
    energy.tensor = data * power.tensor * result.tensor_full_cycles;
    energy.shared_memory = data * power.shared_wavefront * result.wavefronts;
    const double l2_sectors = static_cast<double>(result.l2.sectors);
    energy.l2 = data * power.l2_sector * l2_sectors;
    // Memory has a clock and a voltage of its own.
    energy.dram = power.data_toggling * power.dram_byte * static_cast<double>(result.dram.bytes);
    return energy;
}

}  // namespace heddle::models::gpu
