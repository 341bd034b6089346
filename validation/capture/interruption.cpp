#include "validation/capture/interruption.h"

#include <signal.h>
#include <unistd.h>

namespace heddle::capture {
namespace {

constexpr int kExitOfInterrupted = 130;

sigset_t both_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

Interruption::Interruption() {
    const sigset_t set = both_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    waiter_ = std::jthread([this](const std::stop_token& stop) { wait(stop); });
}

void Interruption::wait(const std::stop_token& stop) {
    const sigset_t set = both_signals();
    const timespec tick{0, 200'000'000};
    while (!stop.stop_requested()) {
        if (sigtimedwait(&set, nullptr, &tick) < 0) continue;
        if (requested_.exchange(true)) ::_exit(kExitOfInterrupted);
    }
}

}  // namespace heddle::capture
