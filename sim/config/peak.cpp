#include "sim/config/peak.h"

#include <fmt/format.h>

namespace heddle::sim {

MatrixPeak matrix_peak(const Hardware& hardware) {
    if (hardware.is_gpu()) {
        const models::gpu::GpuConfig& gpu = hardware.gpu();
        const double flops = 2.0 * gpu.tensor.f16 * gpu.sm.count * gpu.clock;
        return {flops, gpu.clock, flops, gpu.clock};
    }
    const models::TpuConfig& tpu = hardware.tpu();
    const double per_cycle = 2.0 * tpu.cores * tpu.matrix.per_core * tpu.matrix.rows * tpu.matrix.columns;
    return {per_cycle * tpu.peak_clock(), tpu.peak_clock(), per_cycle * tpu.clock_hertz, tpu.clock_hertz};
}

std::string describe(const MatrixPeak& peak) {
    std::string text =
        fmt::format("{:.4g} TFLOP/s, dense bf16 at {:.0f} MHz", peak.flops / 1e12, peak.clock / 1e6);
    if (peak.sustained < peak.flops)
        text += fmt::format(", of which products sustain {:.4g} at {:.0f} MHz", peak.sustained / 1e12,
                            peak.sustained_clock / 1e6);
    return text;
}

}  // namespace heddle::sim
