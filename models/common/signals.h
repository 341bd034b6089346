// Signals: what can be watched about a block, and who watches. A block declares its signals and, when
// somebody watches, tells each change with the cycle in which it holds; a SignalTrace gathers the changes of
// all blocks and writes them in the order of time, and within a time in the order of the signals.
//
// A block tells a change with its own time because the time of the SystemC kernel is not it: blocks perform
// the cycles of a window one after the other within one cycle of the kernel, and decide some things ahead of
// their time (ARCHITECTURE.md, "Time"). This is why sc_trace() is not used: it looks at values when the
// kernel's time goes on, so it would see one value per window, and would look at every signal of every block
// each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/common/cycle.h"

namespace heddle::models {

/// What a value of a signal says about the time between two changes.
enum class SignalKind : std::uint8_t {
    level,   ///< holds from one change to the next
    amount,  ///< of what happens in a cycle; 0 in all cycles in which nothing is told
};

/// One thing about a block that can be watched.
struct SignalDeclaration {
    std::string name;     ///< below the block, with dots between levels: "sub_core1.state"
    unsigned bits = 32;   ///< 1 to 32
    std::string unit;     ///< unit of its values: "B", "lines"; empty when the value is no quantity
    std::string meaning;  ///< one sentence
    SignalKind kind = SignalKind::level;  ///< decides between SignalProbe::set() and add()
    std::uint32_t initial = 0;            ///< a level's value before the first change, kNoValue allowed
};

/// A level that has no value at present, such as the warp that issues when none does. Written as `z`.
inline constexpr std::uint32_t kNoValue = ~std::uint32_t{0};

/// A block reports its changes through its probe. Only the thread that performs the block uses it.
class SignalProbe {
  public:
    /// Whether anybody watches the block's signal number `signal`, in the order of its declarations.
    bool watches(std::size_t signal) const { return signal < places_.size() && places_[signal] != kNobody; }
    /// A level is `value` from cycle `at` on. What was told of later cycles, or of this one, no longer holds:
    /// a block may tell ahead what will be unless something happens. Cycles that have been written cannot be
    /// changed.
    void set(std::size_t signal, Cycle at, std::uint32_t value);
    /// `amount` more of it happens in cycle `at`; in any order of cycles.
    void add(std::size_t signal, Cycle at, std::uint64_t amount);
    /// Like add(), with the total since the beginning of the run.
    void add_to_total(std::size_t signal, Cycle at, std::uint64_t total);

  private:
    friend class SignalTrace;
    static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
    struct Change {
        std::uint32_t at, value;
    };
    struct Watched {
        std::uint32_t number = 0;  // in the trace
        SignalKind kind = SignalKind::level;
        std::uint32_t initial = 0;
        std::uint32_t written = 0;    // the value after what has been written
        std::uint64_t total = 0;      // add_to_total()
        std::vector<Change> changes;  // not yet written; levels: in order of time
    };
    void check(Cycle at) const;

    std::vector<std::uint32_t> places_;  // by declaration, in watched_
    std::vector<Watched> watched_;
    Cycle written_before_ = 0;
};

}  // namespace heddle::models
