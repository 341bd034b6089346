// Instruction caches: what it costs a warp to go to code that its sub-core does not hold.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/common/cycle.h"
#include "models/common/parameter.h"
#include "models/gpu/line_requests.h"
#include "models/gpu/stamp.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

inline constexpr unsigned kInstructionBytes = 16;              ///< Volta and later
inline constexpr unsigned kInstructionLineBytes = kLineBytes;  ///< eight instructions
inline constexpr unsigned kLineInstructions = kInstructionLineBytes / kInstructionBytes;

/// The instruction caches of an SM, L0 in each sub-core and L1 behind them; the defaults describe an H100.
struct InstructionCacheConfig {
    bool enabled = true;                       ///< false: every instruction is at hand
    std::uint64_t l0_bytes = 32 << 10;         ///< of one sub-core
    std::uint64_t l1_bytes = 128 << 10;        ///< of one SM
    std::uint32_t latency = 79;                ///< cycles, a line from L1 to a sub-core
    std::uint32_t miss_latency = 24;           ///< cycles until a line that L1 lacks is asked of L2
    std::uint32_t return_latency = 10;         ///< cycles from its arrival at the SM to the sub-core
    double interval = 1;                       ///< cycles between two lines that L1 delivers
    std::uint32_t stream_buffer = 8;           ///< lines that a sub-core fetches ahead
    std::uint64_t launch_prefetch = 16 << 10;  ///< bytes of a kernel that are in L1 when it starts
};
/// Lists the fields for hardware files.
void describe(InstructionCacheConfig& config, ParameterList& list);

/// The instruction caches of an SM: one per sub-core with a stream buffer, and a common one behind them. A
/// sub-core whose warp goes to a line that neither its cache nor its buffer holds asks for that line and
/// those that follow it. Lines that the common one lacks are asked of L2. Lines are replaced in the order in
/// which they came.
class InstructionFetch {
  public:
    /// `l2` must outlive the run.
    void begin(const InstructionCacheConfig& config, std::uint32_t lines, unsigned sub_cores,
               LineRequests& l2);
    /// A launch whose code lies in lines [first, end) comes to the SM: the first of them come with it.
    void prefetch(std::uint32_t first, std::uint32_t end);
    /// More code has become known: the kernel has at least `lines`.
    void extend(std::uint32_t lines) {
        if (lines > line_count_) grow(lines);
    }
    /// A warp of `sub_core` goes to `line` in cycle `now`. Returns the cycle in which it is there;
    /// kPendingCycle: when L2 has answered.
    std::uint32_t fetch(unsigned sub_core, std::uint32_t line, std::uint32_t now) {
        if (l0_.empty()) return now;
        const std::uint32_t ready = l0_[sub_core].lines.ready[line];
        return ready != kAbsent ? ready : miss(l0_[sub_core], line, now);
    }
    /// L2's answer has come to the SM in cycle `at`. Returns the cycle in which all who wait for it have it.
    std::uint32_t arrive(std::uint32_t line, Cycle at);

  private:
    static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};
    static constexpr unsigned kLongestStream = 64;
    /// Lines of the kernel that a cache holds, with the cycle in which they came.
    struct Lines {
        std::vector<std::uint32_t> ready;  // by line
        std::vector<std::uint32_t> held;   // in the order in which they came: a ring when full
        std::uint32_t oldest = 0, capacity = 0;
        void clear(std::uint32_t lines, std::uint64_t bytes);
        void put(std::uint32_t line, std::uint32_t at);
    };
    struct L0 {
        Lines lines;
        std::uint32_t stream = 0, stream_end = 0;            // lines in the buffer: [stream, stream_end)
        std::array<std::uint32_t, kLongestStream> coming{};  // when, by line modulo its size
    };
    void grow(std::uint32_t lines);
    std::uint32_t prefetched() const;  ///< lines that are in L1 when the kernel starts
    std::uint32_t miss(L0& cache, std::uint32_t line, std::uint32_t now);
    std::uint32_t request(std::uint32_t line, std::uint32_t now);

    InstructionCacheConfig config_;
    LineRequests* l2_ = nullptr;
    std::uint32_t line_count_ = 0;
    std::vector<L0> l0_;  // empty: not modelled
    Lines l1_;
    BandwidthServer l1_port_;
    FineCycles interval_ = 0;
};

}  // namespace heddle::models::gpu
