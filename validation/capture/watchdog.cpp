#include "validation/capture/watchdog.h"

#include <algorithm>
#include <utility>

namespace heddle::capture {

Watchdog::Watchdog(std::chrono::milliseconds limit, std::function<void()> bite) {
    const auto tick = std::min<std::chrono::milliseconds>(limit / 4, std::chrono::milliseconds(200));
    watcher_ = std::jthread([this, limit, tick, bite = std::move(bite)](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (Clock::now() - last_.load() > limit) return bite();
            std::this_thread::sleep_for(tick);
        }
    });
}

}  // namespace heddle::capture
