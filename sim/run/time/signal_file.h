// Files of signals (models/common/signals.h), and the choice of the kernels of a step for which they are
// written: docs/signals.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/common/signal_trace.h"

namespace heddle::sim {

/// Which signals of which kernel the user asks for.
struct SignalOptions {
    std::string file;                   ///< path of a .vcd file; empty: no signals
    std::vector<std::string> patterns;  ///< patterns of signal names; none: all signals
    std::string kernel;                 ///< pattern that a kernel's name or its op's name must match
    double most_bytes = 1 << 30;        ///< largest size of a file

    bool asked() const { return !file.empty(); }
};

/// One sentence that says what was written.
using SignalReport = std::string;

/// Calls run(trace) and writes the signals that it reports to the file `path`, completely or not at all.
/// Throws heddle::Error when the file cannot be written or becomes too large, and when no signal is chosen.
SignalReport write_signals(const SignalOptions& options, const std::string& path,
                           const std::function<void(models::SignalTrace& trace)>& run);

/// One kernel or program of a step.
struct TraceableKernel {
    std::string key;   ///< launches with equal keys are simulated once
    std::string name;  ///< name of the kernel
    std::string op;    ///< name of the op that it belongs to
};

/// Returns the indices of the kernels that options.kernel names: the first of each key, in the order of the
/// step. Throws heddle::Error when none matches, or when no name is given and the step has several kernels.
std::vector<std::size_t> kernels_to_trace(const SignalOptions& options, const std::vector<TraceableKernel>& kernels);

/// Simulates the kernel with this index and reports its signals to `trace`.
using RunTraced = std::function<void(std::size_t kernel, models::SignalTrace& trace)>;

/// Simulates each of `chosen` on worker processes without using the cache, and writes its signals: to
/// options.file when there is one kernel, else for each kernel to a file beside it with the kernel's number
/// in its name. `make_device` is called once in each process. Returns a sentence for each file.
std::vector<SignalReport> trace_kernels(const SignalOptions& options, const std::vector<TraceableKernel>& kernels,
                                        const std::vector<std::size_t>& chosen, unsigned workers,
                                        const std::function<RunTraced()>& make_device);

}  // namespace heddle::sim
