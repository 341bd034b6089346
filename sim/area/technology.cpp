#include "sim/area/technology.h"

#include <array>

namespace heddle::sim {
namespace {

constexpr const char* kFitted =
    "fitted, with the others that say so, to the die sizes of V100, TU102, GP100, A100, H100, GA102 and "
    "AD102; seven other dies "
    "of NVIDIA, which were kept aside, come out within 8 %";

}  // namespace

const ProcessNode& node_of(Process process) {
    static const std::array<ProcessNode, 7> nodes{{
        {"28nm", 4.39, 0.127,
         "91.2 / 11.5 million transistors per mm2 (published), times the 0.554 by which the fit of 16nm lies "
         "below such a ratio",
         "TSMC 28 nm: bit cell 0.127 um2"},
        {"16nm", 1.750, 0.074, kFitted, "TSMC 16 nm (IEDM 2013): bit cell 0.07 to 0.074 um2"},
        {"12nm", 1.750, 0.074, kFitted, "as 16nm, of which 12FFN is a variant"},
        {"8nm", 1.240, 0.040, kFitted, "Samsung 10LPP, of which 8LPP is a variant: bit cell 0.040 um2"},
        {"7nm", 1.000, 0.027, "the reference", "TSMC N7 (IEDM 2016): bit cell 0.027 um2"},
        {"5nm", 0.718, 0.021, kFitted, "TSMC N5 (IEDM 2019): bit cell 0.021 um2"},
        {"3nm", 0.449, 0.021, "5nm / 1.6, TSMC's statement for logic of N3E over N5",
         "TSMC N3E (IEDM 2022): bit cell 0.021 um2"},
    }};
    return nodes[static_cast<std::size_t>(process)];
}

const Silicon& silicon() {
    static const Silicon numbers;
    return numbers;
}

std::vector<Coefficient> coefficients() {
    const Silicon& s = silicon();
    const std::string horowitz = "Horowitz, \"Computing's Energy Problem\" (ISSCC 2014), areas in 45 nm";
    return {
        {"multiply and add, 8-bit integers", s.multiply_add_8, "um2 in 45nm", horowitz},
        {"multiply and add, fp16 into fp32", s.multiply_add_16, "um2 in 45nm", horowitz},
        {"multiply and add, bf16 into fp32", s.multiply_add_bf16, "um2 in 45nm",
         horowitz + ": the multiplier of 8 bits and the fp32 adder"},
        {"multiply and add, fp32", s.multiply_add_32, "um2 in 45nm", horowitz},
        {"multiply and add, fp64", s.multiply_add_64, "um2 in 45nm", "assumption: four times fp32"},
        {"multiply and add, 32-bit integers", s.integer_32, "um2 in 45nm", horowitz},
        {"45nm to 7nm", s.from_45nm, "", "3.33 and 91.2 million transistors per mm2 (published)"},
        {"datapath", s.datapath, "times its arithmetic", kFitted},
        {"rest of a sub-core", s.sub_core, "mm2 in 7nm", kFitted},
        {"SRAM of an SM", s.sm_sram, "times its bit cells", kFitted},
        {"SRAM of L2", s.l2_sram, "times its bit cells", kFitted},
        {"interface of an HBM stack", s.hbm_interface, "mm2", kFitted},
        {"interface of a GDDR chip, or of a DDR channel", s.gddr_interface, "mm2", kFitted},
        {"link", s.link, "mm2", kFitted},
        {"graphics, of an SM", s.graphics, "mm2 in 7nm", kFitted},
        {"uncore", s.uncore, "mm2 in 7nm", kFitted},
        {"uncore for graphics", s.graphics_uncore, "mm2 in 7nm", kFitted},
        {"cell of a systolic array beside its arithmetic", s.tpu_cell, "mm2 in 7nm",
         "fitted to the floorplan of TPU v1 (ISCA 2017): the array takes 24 % of at most 331 mm2"},
        {"SRAM of a TPU", s.tpu_sram, "times its bit cells",
         "fitted to the floorplan of TPU v1 (ISCA 2017): the unified buffer takes 29 %"},
        {"uncore of a TPU", s.tpu_uncore, "mm2 in 7nm",
         "fitted to the floorplan of TPU v1 (ISCA 2017): control, host interface and what is not labelled "
         "take 29 %"},
    };
}

}  // namespace heddle::sim
