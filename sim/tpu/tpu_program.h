// Somebody's own TPU program, as text, on a device: what `heddle simulate bundle.tpu` does.
#pragma once

#include <string>

#include "models/common/signal_trace.h"
#include "models/tpu/tpu_result.h"
#include "sim/machine/hardware.h"

namespace heddle::sim {

struct TpuProgramRun {
    std::string file, program, hardware;
    models::TpuResult result;
    std::uint64_t vmem_bytes = 0, hbm_bytes = 0;  ///< that it touches
    bool checked = false;  ///< races and uses before a load were looked for, and values compared
};

/// Whether a file holds a TPU program: its first word is `program`, `kernel` or `core`, and stands in its
/// first 64 KiB.
bool is_tpu_program(const std::string& path);

/// Reads, validates, runs. HBM is one allocation as large as the program needs, filled with zeros. Small
/// programs are first run without time, looking for accesses that no flag puts in order and for VMEM that is
/// read before anything has written it; then both runs must leave the same bits. Throws heddle::Error that
/// names file, line and instruction.
TpuProgramRun run_tpu_program(const std::string& path, const Hardware& hardware, bool tick_every_cycle,
                              models::SignalTrace* signals = nullptr);

std::string format_tpu_program(const TpuProgramRun& run);
std::string tpu_program_json(const TpuProgramRun& run);

}  // namespace heddle::sim
