// The reference for matrix utilisation: the rate at which a device's matrix units can compute dense products,
// and the clock at which that rate holds.
#pragma once

#include <string>

namespace heddle::sim {

/// The peak rate of one device for dense bf16 products. For GPUs without bf16 the rate is that of f16.
struct MatrixPeak {
    double flops = 0;  ///< operations per second at `clock`
    double clock = 0;  ///< hertz: a GPU's highest clock, or the clock of a TPU's published peak
    /// Operations per second, and the clock in hertz, that are simulated. They are lower than the peak where
    /// a TPU's products do not sustain the published clock (nominal_clock).
    double sustained = 0, sustained_clock = 0;
};

/// Describes the peak in one phrase: "1071 TFLOP/s, dense bf16 at 1980 MHz", or "917.5 TFLOP/s, dense bf16 at
/// 1750 MHz, of which products sustain 786.4 at 1500 MHz".
std::string describe(const MatrixPeak& peak);

}  // namespace heddle::sim
