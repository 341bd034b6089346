// When does one core finish its part of a region? An out-of-order core that takes instructions in order into its window, and starts each
// when its operands, a port and its line are there. Loops whose iterations take the same time again and again are folded.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/cpu/program.h"
#include "models/cpu/core_memory.h"
#include "models/cpu/cpu_config.h"

namespace heddle::models {

/// What the core did, in cycles where nothing else is said.
struct CoreCounts {
    double cycles = 0;           ///< from the region's begin to its end
    double folded = 0;           ///< of them not simulated, but taken from iterations before
    double bar = 0;              ///< by how much the iterations before differed, summed over what was folded
    double arithmetic = 0, vector = 0, loads = 0, stores = 0, issue = 0, matrix = 0;  ///< slots of ports, folded ones included
    double memory_bytes = 0;     ///< that this core moved from and to memory, folded ones included
    double l1_misses = 0, l2_misses = 0, l3_misses = 0;
    double instructions = 0;     ///< folded ones included
    std::uint64_t simulated = 0; ///< instructions that were simulated one by one
};

/// One core and its caches; the time goes on from region to region.
class CoreModel {
  public:
    explicit CoreModel(const CpuConfig& config);

    /// Loads a program. `resident`: by buffer, the L3 holds it at the beginning. `threads`: of its widest region.
    void begin(const cpu::Program& program, const std::vector<bool>& resident, unsigned threads);
    /// Forgets everything: what comes next takes the time that it takes alone.
    void reset();
    /// Whether loops are folded.
    void set_folding(bool folding) { folding_ = folding; }
    /// Runs the iterations [first, last) of a region as one of `threads`, at `hertz`. `held`: by buffer, as `resident` of begin().
    CoreCounts run(const cpu::Region& region, std::int64_t first, std::int64_t last, unsigned threads, double hertz);
    void set_resident(const std::vector<bool>& resident) { resident_ = resident; }

  private:
    enum class Port : std::uint8_t { none, arithmetic, vector, load, divide, matrix };
    enum class Access : std::uint8_t { contiguous, lanes, indexed, rows };
    struct Step {
        const cpu::Instruction* instruction;
        Port port = Port::none;
        Access access = Access::contiguous;
        std::uint32_t issue = 1, slots = 1, latency = 1;
        std::int64_t base = 0;     ///< of the buffer, bytes
        std::int64_t element = 4;  ///< bytes
        std::uint64_t last_line = ~std::uint64_t{0};  ///< touched last
        bool load = false, store = false;
        double sharers = 1;  ///< threads that touch the same lines
        std::uint16_t buffer = 0;
        int a = -1, b = -1, c = -1, d = -1;  ///< registers, tiles behind vectors; -1: none
    };
    struct Nest;
    struct Node {
        int step = -1;  ///< index of a step, or
        int nest = -1;  ///< of a loop
    };
    struct Nest {
        const cpu::Loop* loop = nullptr;
        std::vector<Node> body;
        bool innermost = true;
        std::int64_t window = 16;  ///< iterations whose times are compared
    };
    /// How many things a cycle has taken of a port.
    class Calendar {
      public:
        void resize(unsigned per_cycle) { per_cycle_ = per_cycle; }
        void reset() { cells_.assign(kMask + 1, Cell{}); }
        bool is_free(std::int64_t cycle) const { return cells_[cycle & kMask].cycle != cycle || cells_[cycle & kMask].used < per_cycle_; }
        void take(std::int64_t cycle) {
            Cell& cell = cells_[cycle & kMask];
            if (cell.cycle != cycle) cell = {cycle, 0};
            ++cell.used;
        }

      private:
        static constexpr std::int64_t kMask = 8191;
        struct Cell {
            std::int64_t cycle = -1;
            std::uint32_t used = 0;
        };
        std::vector<Cell> cells_ = std::vector<Cell>(kMask + 1);
        unsigned per_cycle_ = 1;
    };
    struct Ring {
        std::vector<double> at;
        std::size_t next = 0;
        void resize(std::size_t count) { at.assign(count, 0), next = 0; }
        double oldest() const { return at[next]; }
        void push(double time) { at[next] = time, next = next + 1 == at.size() ? 0 : next + 1; }
    };

    int compile(const cpu::Body& body, const cpu::Loop* loop);
    Step step_of(const cpu::Instruction& instruction) const;
    double sharers_of(const cpu::Instruction& instruction) const;
    /// Where a window of iterations began.
    struct Mark {
        double time = 0;
        CoreCounts counts;
        CoreMemoryCounts memory;
    };
    /// Iterations of a loop, or of one of the loops that threads share: run(i) and touch(i) do one.
    struct Iterations {
        std::int64_t first = 0, last = 0, window = 2;
        bool outermost = false;  ///< nothing in the region comes after them
    };
    template <class Run, class Touch>
    void run_iterations(const Iterations& these, const Run& run, const Touch& touch);
    template <class Touch>
    void fold(const Iterations& these, std::int64_t next, double each, double spread, const Mark& mark, const Touch& touch);
    void run_shared(const Nest& root, std::size_t level, std::int64_t first, std::int64_t last, bool touches);
    void run_nest(const Nest& nest);
    void run_body(const Nest& nest);
    void touch_body(const Nest& nest);
    void touch(Step& step);
    void execute(Step& step);
    std::int64_t reserve(Port port, std::int64_t from, unsigned slots);
    double memory_access(Step& step, double now);
    template <class Function>
    void for_lines(Step& step, Function function);
    double clock() const { return (retired_ > committed_ ? retired_ : committed_) + folded_; }
    std::int64_t trips(const Nest& nest) const;

    const CpuConfig& config_;
    CoreMemory memory_;
    const cpu::Program* program_ = nullptr;
    std::vector<bool> resident_;
    std::vector<std::int64_t> bases_;
    const cpu::Region* region_ = nullptr;
    unsigned threads_ = 1;  ///< of the region
    std::vector<Step> steps_;
    std::vector<Nest> nests_;
    std::array<std::int64_t, cpu::kMostLoops> counters_{};
    bool folding_ = true;
    unsigned shared_core_ = 1;  ///< threads that share this core

    std::array<double, cpu::kVectorRegisters + cpu::kTileRegisters> ready_{};
    Ring window_, loads_, stores_;
    Calendar arithmetic_, vector_, load_, store_;
    std::int64_t alloc_ = 0;   ///< cycle in which the next operation is renamed
    unsigned alloc_used_ = 0;
    double retired_ = 0, committed_ = 0, divider_ = 0, matrix_ = 0;
    double folded_ = 0;
    std::uint64_t random_ = 0;
    CoreCounts counts_;
};

}  // namespace heddle::models
