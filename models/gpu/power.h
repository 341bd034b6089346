// Energy: what a kernel's events cost, and the board's power beside them.
//
// Every counted event has an energy at the nominal clock; at another clock f the voltage follows, and dynamic
// energy goes with (f / nominal)^2. Static power (leakage, clock tree, fans, the memory's standby) flows as
// long as the kernel runs. Which bits toggle is a declared parameter of the data and is never computed from
// values.
#pragma once

#include <array>
#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::models::gpu {

struct GpuConfig;
struct KernelResult;

/// Energy of events and power of the board; the defaults describe an H100 SXM.
struct PowerConfig {
    std::uint32_t governor = 1;      ///< 1: the clock is lowered until a step stays within the limit
    double limit = 700;              ///< W, board
    double minimum_clock = 345e6;    ///< Hz, the lowest that the governor sets
    double idle = 37;                ///< W, board without work, but for what the SMs leak
    double leakage = 0.25;           ///< W, of each SM, whatever it does
    double active = 18;              ///< W beyond idle while a kernel runs, whatever it does
    double nominal_clock = 1.98e9;   ///< Hz, for which the energies hold
    double allowance = 0.38;         ///< part of the limit that a short time may take beyond it
    double allowance_time = 3.1e-3;  ///< s, in which that decays
    double data_toggling = 1;        ///< switching of data relative to random numbers; zeros about 0.5
    // Joules.
    double instruction = 250e-12;  ///< per machine instruction of a warp: fetch, decode, registers
    double fp32 = 130e-12;         ///< beyond that, per machine instruction of a warp and pipeline
    double integer = 45e-12;
    double fp64 = 300e-12;
    double half = 90e-12;
    double special = 150e-12;
    double tensor = 1370e-12;  ///< per cycle in which a sub-core's tensor core works at its full rate
    double shared_wavefront = 120e-12;  ///< 128 bytes between shared memory or L1 and registers
    double l2_sector = 64e-12;          ///< 32 bytes between L2 and an SM, the crossbar included
    double dram_byte = 112e-12;

    /// W that a board with so many SMs draws while a kernel runs, whatever that does.
    double constant(std::uint32_t sms) const { return idle + active + leakage * sms; }
};
/// Lists the fields for hardware files, below `power`.
void describe(PowerConfig& config, ParameterList& list);

/// The energy of a kernel in joules, by where it was spent.
struct KernelEnergy {
    double idle = 0;           ///< idle power over the kernel's time
    double leakage = 0;        ///< of the SMs, over the kernel's time
    double active = 0;         ///< active power over the kernel's time
    double instructions = 0;   ///< of every pipeline but tensor
    double tensor = 0;         ///< of the tensor cores
    double shared_memory = 0;  ///< and L1
    double l2 = 0;             ///< and crossbar
    double dram = 0;           ///< reads and writes of memory

    /// The sum of all parts, in joules.
    double total() const {
        return idle + leakage + active + instructions + tensor + shared_memory + l2 + dram;
    }
    /// Name and joules of each part, in the order above.
    std::array<std::pair<const char*, double>, 8> parts() const;
};

/// Computes the energy from the counters of a kernel that ran at `config.clock`.
KernelEnergy energy_of(const KernelResult& result, const GpuConfig& config);

}  // namespace heddle::models::gpu
