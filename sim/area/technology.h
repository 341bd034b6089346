// The densities from which areas follow, each with its source. There are few numbers: for processes and for
// kinds of circuits, none for a single chip.
#pragma once

#include <string>
#include <vector>

#include "sim/config/die_config.h"

namespace heddle::sim {

/// The densities of a family of manufacturing processes.
struct ProcessNode {
    std::string name;     ///< "5nm"
    double logic = 1;     ///< area of the same logic, relative to 7nm
    double sram_bit = 0;  ///< um2, high-density bit cell
    std::string logic_source, sram_source;
};

/// Returns the densities of a process.
const ProcessNode& node_of(Process process);

/// One number and its source.
struct Coefficient {
    std::string name;
    double value = 0;
    std::string unit, source;
};

/// Areas of circuits. Logic is in mm2 in 7nm and scales with ProcessNode::logic. Analogue circuits (memory
/// interfaces, links) do not shrink and have the same area in mm2 in every process. SRAM is a factor on the
/// area of its bit cells.
struct Silicon {
    // Arithmetic, um2 in 45 nm: a multiplier and the adder behind it.
    double multiply_add_8 = 282 + 137, multiply_add_16 = 1640 + 4184, multiply_add_32 = 7700 + 4184;
    double multiply_add_64 = 4 * (7700 + 4184), integer_32 = 3495 + 137, multiply_add_bf16 = 282 + 4184;
    double from_45nm = 3.33 / 91.2;  ///< area in 7nm of a circuit that takes 1 in 45 nm
    double datapath = 2.041;         ///< area of a datapath divided by that of its multipliers and adders
    double sub_core = 0.794;         ///< the part of a quarter of an SM that is not counted elsewhere
    double sm_sram = 2.501;  ///< registers, L1, shared memory and instructions, divided by their bit cells
    double l2_sram = 2.869;  ///< L2 with tags, ECC and the logic of its slices, divided by its bit cells
    double hbm_interface = 17.68;    ///< PHY and controller of one stack
    double gddr_interface = 5.76;    ///< interface of one 32-bit chip
    double link = 4.40;
    double graphics = 0.271;        ///< for one SM: ray tracing, and its share of raster and texture
    double uncore = 64.3;           ///< front end, copy engines, PCIe, power management, rim
    double graphics_uncore = 11.9;  ///< display, video
    double tpu_cell = 245e-6;       ///< registers and wires of a cell of a systolic array
    double tpu_sram = 3.75;         ///< scratchpads, divided by their bit cells
    double tpu_uncore = 21.9;
};

/// Returns the areas that the model uses.
const Silicon& silicon();

/// Lists the numbers of silicon() with their sources.
std::vector<Coefficient> coefficients();

}  // namespace heddle::sim
