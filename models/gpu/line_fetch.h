// What an SM asks of L2 beside data: lines of code and of constants.
#pragma once

#include <cstdint>

#include "models/gpu/crossbar_port.h"
#include "models/gpu/line_requests.h"

namespace heddle::models::gpu {

/// First lines (address / kLineBytes) of the areas in which code and constants lie, above all buffers and
/// local memory.
inline constexpr std::uint64_t kOtherLines =
    (384ull << 30) / kLineBytes;  // lines of work before the launch, which fill caches
inline constexpr std::uint64_t kCodeLines = (448ull << 30) / kLineBytes;
inline constexpr std::uint64_t kConstantLines = (480ull << 30) / kLineBytes;

/// Counts since reset().
struct LineFetchStatistics {
    std::uint64_t code_lines = 0, constant_lines = 0;           ///< asked for
    std::uint64_t requested_sectors = 0, received_sectors = 0;  ///< of 32 bytes; must be equal when the
                                                                ///< kernel has ended
};

/// They go the way of loads: the SM's port, that of its GPC, where what other SMs have under way is joined,
/// and L2. Volta has no cache of its own between ("Dissecting Volta", 2018: L0 and L1.5 of an SM, then L2);
/// of later generations nothing else is published.
class LineFetch : public LineRequests {
  public:
    /// Tags of its requests have this bit and not those of bulk copies and clusters.
    static constexpr std::uint32_t kTag = 1u << 28;
    static bool owns(const MemoryRequest& request) { return request.tag >> 28 == 1; }

    explicit LineFetch(CrossbarPort& port) : port_(port) {}
    /// Sets the counters to zero; there is no other state.
    void reset() { statistics_ = {}; }
    void ask(FetchKind kind, std::uint32_t line, SectorMask sectors, Cycle leave) override {
        const bool code = kind == FetchKind::code;
        ++(code ? statistics_.code_lines : statistics_.constant_lines);
        statistics_.requested_sectors += sector_count(sectors);
        MemoryRequest& request =
            port_.make(RequestKind::load, (code ? kCodeLines : kConstantLines) + line, sectors);
        request.wants_data = true;
        request.tag = kTag | (code ? 0 : kConstantTag) | line;
        port_.send(request, leave);
    }

    /// What a response brought: `line` is counted from the first line of its kind, as ask() was given it.
    struct Answer {
        FetchKind kind;      ///< which cache asked
        std::uint32_t line;  ///< counted from the first line of its kind
        SectorMask sectors;  ///< those that have come
        Cycle at;            ///< cycle in which it has passed the SM's port
    };
    /// Takes a response of L2 that it owns, in its cycle of arrival.
    Answer respond(MemoryRequest& response, Cycle now) {
        const unsigned count = sector_count(response.sectors);
        statistics_.received_sectors += count;
        const Answer answer{(response.tag & kConstantTag) != 0 ? FetchKind::constants : FetchKind::code,
                            response.tag & (kConstantTag - 1), sectors_of(response.sectors, 0),
                            port_.receive(count, now)};
        port_.give_back(response);
        return answer;
    }
    const LineFetchStatistics& statistics() const { return statistics_; }

  private:
    static constexpr std::uint32_t kConstantTag = 1u << 27;
    CrossbarPort& port_;
    LineFetchStatistics statistics_;
};

}  // namespace heddle::models::gpu
