// What must be known about traces before their kernels are simulated in parallel.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/gpu/gpu.h"
#include "sim/sass/trace_table.h"
#include "workloads/sass_traces/trace_reader.h"

namespace heddle::sass {

/// The pages of global memory that were touched last, at most as many as L2 holds, the least recently used
/// first.
class RecentPages {
  public:
    static constexpr std::uint64_t kBytes = 16 << 10;
    explicit RecentPages(std::uint64_t capacity_bytes) : capacity_(capacity_bytes / kBytes) {}

    void touch(std::uint64_t page);
    /// Touches a range of bytes; its end counts as touched last.
    void touch_range(std::uint64_t address, std::uint64_t bytes);
    std::vector<std::uint64_t> pages() const { return {order_.begin(), order_.end()}; }
    /// Returns the pages as ranges of addresses for a run.
    std::vector<models::gpu::L2Residency> resident() const;

  private:
    std::uint64_t capacity_;
    std::list<std::uint64_t> order_;  // least recent first
    std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

/// The result of reading a whole trace.
struct TraceScan {
    std::uint64_t warp_instructions = 0, text_bytes = 0;
    UnknownOpcodes unknown;
    std::vector<std::uint64_t> pages;  ///< RecentPages::pages() after this kernel alone
};

/// Reads a whole trace. Throws heddle::Error for errors in it. `l2_bytes` is the capacity of L2.
TraceScan scan(TraceReader& reader, const std::optional<ptx::Operation>& unknown_as, std::uint64_t l2_bytes);

std::string to_text(const TraceScan& scan);
/// Throws std::exception when the text is not what to_text() wrote.
TraceScan scan_from_text(const std::string& text);

}  // namespace heddle::sass
