// What silicon takes: the densities from which areas follow, each with where it comes from. Few numbers, of
// processes and of kinds of circuit, none of a chip.
#pragma once

#include <string>
#include <vector>

#include "sim/config/die_config.h"

namespace heddle::sim {

/// Of a family of processes.
struct ProcessNode {
    std::string name;     ///< "5nm"
    double logic = 1;     ///< area of the same logic, relative to 7nm
    double sram_bit = 0;  ///< um2, high-density bit cell
    std::string logic_source, sram_source;
};
const ProcessNode& node_of(Process process);

/// One number, and where it comes from.
struct Coefficient {
    std::string name;
    double value = 0;
    std::string unit, source;
};

/// mm2 in 7nm for logic, which scales with ProcessNode::logic; analogue circuits (memory interfaces, links)
/// do not shrink and are mm2 in any process; SRAM is a factor on its bit cells.
struct Silicon {
    // Arithmetic, um2 in 45 nm: a multiplier and the adder behind it.
    double multiply_add_8 = 282 + 137, multiply_add_16 = 1640 + 4184, multiply_add_32 = 7700 + 4184;
    double multiply_add_64 = 4 * (7700 + 4184), integer_32 = 3495 + 137, multiply_add_bf16 = 282 + 4184;
    double from_45nm = 3.33 / 91.2;  ///< area in 7nm of what takes 1 in 45 nm
    double datapath = 2.041;         ///< area of a datapath over that of its multipliers and adders
    double sub_core = 0.794;         ///< of an SM's quarter: what is counted nowhere else
    double sm_sram = 2.501;          ///< registers, L1, shared memory, instructions: over their bit cells
    double l2_sram = 2.869;          ///< with tags, ECC and the slices' logic
    double hbm_interface = 17.68;    ///< of a stack: PHY and controller
    double gddr_interface = 5.76;    ///< of a chip of 32 bits
    double link = 4.40;
    double graphics = 0.271;        ///< of an SM: ray tracing, and its share of raster and texture
    double uncore = 64.3;           ///< front end, copy engines, PCIe, power management, rim
    double graphics_uncore = 11.9;  ///< display, video
    double tpu_cell = 245e-6;       ///< registers and wires of a cell of a systolic array
    double tpu_sram = 3.75;         ///< scratchpads, over their bit cells
    double tpu_uncore = 21.9;
};
const Silicon& silicon();

/// The numbers of silicon() with their sources, for people.
std::vector<Coefficient> coefficients();

}  // namespace heddle::sim
