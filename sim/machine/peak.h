// Of what is a rate a share? What a device's matrix units could do with dense products, and at which clock
// that holds.
#pragma once

#include <string>

namespace heddle::sim {

/// Dense products in bf16, of one device. (GPUs without bf16 multiply f16 at this rate.)
struct MatrixPeak {
    double flops = 0;  ///< operations per second at `clock`
    double clock = 0;  ///< hertz: a GPU's highest, or that of a TPU's published peak
    /// Operations per second at the clock that is simulated: less where a TPU's products do not sustain the
    /// published peak (nominal_clock).
    double sustained = 0, sustained_clock = 0;
};

/// "1071 TFLOP/s, dense bf16 at 1980 MHz", "917.5 TFLOP/s, dense bf16 at 1750 MHz, of which products sustain
/// 786.4 at 1500 MHz".
std::string describe(const MatrixPeak& peak);

}  // namespace heddle::sim
