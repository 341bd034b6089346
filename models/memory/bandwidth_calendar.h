// A resource of a given rate that is booked for cycles to come, by many, in any order of the cycles.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "models/common/cycle.h"

namespace heddle::models {

/// Counts the bytes booked in each window of a few cycles and puts a booking into the first windows with
/// room. A BandwidthServer serves in order of the calls; here a booking for a late cycle leaves the cycles
/// before it to others. Bookings lie at most kReach cycles behind the latest one; what would begin further
/// ahead than kReach begins there.
class BandwidthCalendar {
  public:
    /// Cycles that are booked together, and how far bookings may lie apart, in cycles.
    static constexpr Cycle kWindow = 8, kReach = 8 * 512;

    explicit BandwidthCalendar(double bytes_per_cycle)
        : capacity_(static_cast<std::uint32_t>(std::llround(bytes_per_cycle * kWindow))),
          reciprocal_(static_cast<std::uint32_t>((std::uint64_t{1} << 32) / capacity_ + 1)) {}

    /// Books `bytes` from cycle `at` on; returns the cycle in which the last of them passes.
    Cycle take(Cycle at, std::uint32_t bytes) {
        auto number = static_cast<std::uint32_t>(at / kWindow);
        booked_ += bytes;
        const std::uint32_t end = number + kWindows - 1;
        for (;;) {
            Window& window = find(number, end);
            const std::uint32_t room = capacity_ - window.used;
            if (bytes <= room || number >= end) {
                window.used += std::min(bytes, room);
                return std::max<Cycle>(at, number * kWindow + cycle_of(window.used - 1));
            }
            bytes -= room;
            window.used = capacity_;
        }
    }
    std::uint64_t booked_bytes() const { return booked_; }
    void reset() {
        if (booked_ == 0) return;
        windows_.fill(Window{});
        booked_ = 0;
    }

  private:
    static constexpr auto kWindows = static_cast<std::uint32_t>(kReach / kWindow);
    /// Of a window, in which its byte `byte` passes: byte * kWindow / capacity_, exact while a window has
    /// less than 16 KiB.
    std::uint32_t cycle_of(std::uint32_t byte) const {
        return static_cast<std::uint32_t>(byte * kWindow * reciprocal_ >> 32);
    }
    struct Window {
        std::uint32_t number = 0;
        std::uint32_t used = 0;
        std::uint32_t full = 0;  ///< so many windows from this one on are full; 0: not known
    };
    Window& at(std::uint32_t number) {
        Window& window = windows_[number % kWindows];
        if (window.number != number) window = Window{number, 0, 0};
        return window;
    }
    /// The first window from `number` on that has room; `number` becomes its number.
    Window& find(std::uint32_t& number, std::uint32_t end) {
        Window* window = &at(number);
        const std::uint32_t start = number;
        while (window->used == capacity_ && number < end) {
            number += std::max(1u, window->full);
            number = std::min(number, end);
            window = &at(number);
        }
        if (number != start) at(start).full = number - start;
        return *window;
    }

    std::uint32_t capacity_, reciprocal_;
    std::uint64_t booked_ = 0;
    std::array<Window, kWindows> windows_{};
};

}  // namespace heddle::models
