// A user's own TPU program, as text, on a device: what `heddle simulate bundle.tpu` does.
#pragma once

#include <string>

#include "models/common/signal_trace.h"
#include "models/tpu/tpu_result.h"
#include "sim/machine/hardware.h"

namespace heddle::sim {

/// What running such a program found.
struct TpuProgramRun {
    std::string file, program, hardware;
    models::TpuResult result;
    std::uint64_t vmem_bytes = 0, hbm_bytes = 0;  ///< bytes of each memory that the program touches
    bool checked = false;  ///< whether races and uses before a load were looked for, and values compared
};

/// Whether a file contains a TPU program: its first word, within its first 64 KiB, is `program`, `kernel` or
/// `core`.
bool is_tpu_program(const std::string& path);

/// Reads, validates and runs a program. HBM is one allocation of the size that the program needs, filled with
/// zeros. Small programs are first run without timing, to find accesses that no flag orders and reads of VMEM
/// that nothing has written; both runs must then produce the same bits. Throws heddle::Error that names file,
/// line and instruction.
TpuProgramRun run_tpu_program(const std::string& path, const Hardware& hardware, bool tick_every_cycle,
                              models::SignalTrace* signals = nullptr);

/// Format the result for people, and as JSON for scripts.
std::string format_tpu_program(const TpuProgramRun& run);
std::string tpu_program_json(const TpuProgramRun& run);

}  // namespace heddle::sim
