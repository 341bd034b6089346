// Gathers what the blocks of a machine tell of their signals and writes it in the order of time, and within a time in
// the order of the signals, whatever the number of the host's threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/common/signals.h"

namespace heddle::models {

class SignalWriter;

/// The signals of a machine that are watched, from one run or several that follow one another.
class SignalTrace {
  public:
    /// `patterns`: shell patterns of names, `*` also over dots; a name of a block stands for all that it has.
    /// None: everything. The changes go to `writer`.
    SignalTrace(std::vector<std::string> patterns, SignalWriter& writer);
    ~SignalTrace();
    SignalTrace(const SignalTrace&) = delete;
    SignalTrace& operator=(const SignalTrace&) = delete;

    /// Before a run: offers a block's signals under `path`. Returns the probe, or nullptr when none is
    /// chosen. The second time that a path is offered the same probe comes back.
    SignalProbe* watch(const std::string& path, const std::vector<SignalDeclaration>& signals);
    /// After all watch() of the first run. Throws heddle::Error, with names that are near, when nothing is
    /// chosen. `lead`: cycles of the run before its cycle 0. Levels take their initial values.
    void begin(double hertz, Cycle lead, const std::string& what);
    /// A cycle after which flush() is to be called, before others are performed.
    Cycle next_flush() const { return next_flush_; }
    /// All blocks have performed the cycles up to and including `now`, which is next_flush() or later.
    void flush(Cycle now);
    /// The run has ended and took `cycles`, its lead included. Another one begins there.
    void end(Cycle cycles);

    /// Number of signals that the patterns have chosen.
    std::size_t chosen() const { return chosen_.size(); }

  private:
    struct Offered {
        std::string path;
        std::unique_ptr<SignalProbe> probe;
    };
    struct Chosen {
        std::string name;
        SignalDeclaration declaration;
    };
    bool is_wanted(const std::string& name) const;
    void write(Cycle before);
    [[noreturn]] void nothing_chosen() const;

    const std::vector<std::string> patterns_;
    SignalWriter& writer_;
    std::vector<Offered> offered_;
    std::vector<Chosen> chosen_;
    std::vector<std::string> names_;  // of all that were offered, until the first run begins
    bool declared_ = false;
    double hertz_ = 0;
    Cycle lead_ = 0, next_flush_ = kNever;
    std::uint64_t start_ps_ = 0, last_ps_ = 0;
};

/// Receives the changes of the chosen signals and writes them in a file format.
class SignalWriter {
  public:
    /// A chosen signal, as a file names it. `declaration` belongs to the SignalTrace and outlives the
    /// writer's use of it.
    struct Signal {
        std::string name;  ///< whole, "gpu.gpc0.sm3.sub_core1.state"
        const SignalDeclaration* declaration;  ///< kind, bits, unit and first value
    };
    virtual ~SignalWriter() = default;
    /// Once, before all else. Signals of one block follow one another.
    virtual void declare(const std::vector<Signal>& signals) = 0;
    /// `signal`: number in what was declared. Times never go back, and within a time numbers rise.
    virtual void change(std::uint64_t picoseconds, std::uint32_t signal, std::uint32_t value) = 0;
    /// A remark at the present place of the file, such as the name of the kernel whose run begins.
    virtual void comment(const std::string& text) = 0;
    /// Nothing more changes before this time.
    virtual void pass(std::uint64_t picoseconds) = 0;
};

}  // namespace heddle::models
