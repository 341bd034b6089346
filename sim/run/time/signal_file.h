// A file of signals (models/common/signals.h), and of which kernels of a step one is written: docs/signals.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/common/signal_trace.h"

namespace heddle::sim {

/// What is asked for.
struct SignalOptions {
    std::string file;                   ///< a .vcd; empty: no signals
    std::vector<std::string> patterns;  ///< of names; none: all signals
    std::string kernel;                 ///< of a step: pattern of a kernel's name or of an op's
    double most_bytes = 1 << 30;        ///< of a file

    bool asked() const { return !file.empty(); }
};

/// What was written, in a sentence.
using SignalReport = std::string;

/// Calls run(trace) and leaves what it tells in the file `path`, whole or not at all. Throws heddle::Error when the
/// file cannot be written, or becomes too large, and when no signal is chosen.
SignalReport write_signals(const SignalOptions& options, const std::string& path,
                           const std::function<void(models::SignalTrace& trace)>& run);

/// One kernel or program of a step.
struct TraceableKernel {
    std::string key;   ///< equal ones are simulated once
    std::string name;  ///< of the kernel
    std::string op;    ///< of the op that it belongs to
};

/// The numbers of those that options.kernel names: the first of each key, in the order of the step. Throws heddle::Error
/// when none is, or when nothing is named and there are several.
std::vector<std::size_t> kernels_to_trace(const SignalOptions& options, const std::vector<TraceableKernel>& kernels);

/// Simulates a kernel, by its number, and tells the trace its signals.
using RunTraced = std::function<void(std::size_t kernel, models::SignalTrace& trace)>;

/// Simulates each of `chosen` on worker processes, whatever the cache knows of it, and writes its signals: into
/// options.file when it is one, else into a file beside it for each, with its number. `make_device` is called once in
/// each process. Returns a sentence for each file.
std::vector<SignalReport> trace_kernels(const SignalOptions& options, const std::vector<TraceableKernel>& kernels,
                                        const std::vector<std::size_t>& chosen, unsigned workers,
                                        const std::function<RunTraced()>& make_device);

}  // namespace heddle::sim
