#include "isa/ptx/machine/memory_barrier.h"

#include <cstring>

#include "isa/common/error.h"
#include "isa/ptx/machine/paths.h"

namespace heddle::ptx {
namespace {

// Bits: phase 0, pending 1-20, expected 21-40, transactions 41-62 (two's complement), 63 set.
constexpr std::uint64_t kMark = std::uint64_t{1} << 63;
constexpr std::uint64_t kCountMask = (1u << 20) - 1, kTransactionMask = (1u << 22) - 1;
constexpr std::int64_t kMaximumTransactions = (1 << 20) - 1;

}  // namespace

std::uint64_t MemoryBarrier::encode(const MemoryBarrier& b) {
    return kMark | static_cast<std::uint64_t>(b.phase) | (b.pending & kCountMask) << 1 |
           (b.expected & kCountMask) << 21 |
           (static_cast<std::uint64_t>(static_cast<std::int64_t>(b.transactions)) & kTransactionMask) << 41;
}

std::optional<MemoryBarrier> MemoryBarrier::decode(std::uint64_t bits) {
    if ((bits & kMark) == 0) return std::nullopt;
    MemoryBarrier b;
    b.phase = (bits & 1u) != 0;
    b.pending = static_cast<std::uint32_t>(bits >> 1 & kCountMask);
    b.expected = static_cast<std::uint32_t>(bits >> 21 & kCountMask);
    const auto raw = static_cast<std::int32_t>(bits >> 41 & kTransactionMask);
    b.transactions = raw >= (1 << 21) ? raw - (1 << 22) : raw;
    return b;
}

std::optional<MemoryBarrier> find_memory_barrier(const Cta::Implementation& cta, std::uint64_t address) {
    if (address % 8 != 0 || cta.shared.size() < 8 || address > cta.shared.size() - 8) return std::nullopt;
    std::uint64_t bits = 0;
    std::memcpy(&bits, cta.shared.data() + address, sizeof(bits));
    return MemoryBarrier::decode(bits);
}

void store_memory_barrier(Cta::Implementation& cta, std::uint64_t address, const MemoryBarrier& barrier) {
    const std::uint64_t bits = MemoryBarrier::encode(barrier);
    std::memcpy(cta.shared.data() + address, &bits, sizeof(bits));
}

std::optional<MemoryBarrier> arrive_at_memory_barrier(Cta::Implementation& cta, std::uint64_t address,
                                                      std::uint32_t arrivals, std::int64_t expected_bytes,
                                                      std::int64_t arrived_bytes, bool drop) {
    const std::optional<MemoryBarrier> before = find_memory_barrier(cta, address);
    if (!before) return std::nullopt;
    MemoryBarrier barrier = *before;
    const std::int64_t transactions = barrier.transactions + expected_bytes - arrived_bytes;
    if (transactions > kMaximumTransactions || transactions < -kMaximumTransactions) return std::nullopt;
    if (arrivals > barrier.pending || (drop && arrivals > barrier.expected)) return std::nullopt;
    barrier.transactions = static_cast<std::int32_t>(transactions);
    barrier.pending -= arrivals;
    if (drop) barrier.expected -= arrivals;
    const bool complete = barrier.pending == 0 && barrier.transactions == 0;
    if (complete) {
        barrier.phase = !barrier.phase;
        barrier.pending = barrier.expected;
    }
    store_memory_barrier(cta, address, barrier);
    ++cta.changes;
    if (complete) {
        for (Warp::State& warp : cta.states) wake(warp, PathWait::memory_barrier, address);
    }
    return before;
}

std::string describe_memory_barrier(const Cta::Implementation& cta, std::uint64_t address) {
    const std::optional<MemoryBarrier> barrier = find_memory_barrier(cta, address);
    if (!barrier) return "it is not initialised";
    return "phase " + std::to_string(static_cast<int>(barrier->phase)) + ", " +
           std::to_string(barrier->pending) + " of " + std::to_string(barrier->expected) + " arrivals and " +
           std::to_string(barrier->transactions) + " bytes are missing";
}

void signal_completion(Cta::Implementation& cta, const AsyncOperation& operation) {
    for (const AsyncOperation::Signal& signal : operation.signals) {
        Cta::Implementation* const target =
            signal.rank == cta.cluster_rank ? &cta : cta.cluster->ctas[signal.rank];
        if (target == nullptr) continue;  // it has exited since the copy began, and nobody waits there
        if (!arrive_at_memory_barrier(*target, signal.address, signal.arrivals, 0,
                                      signal.transaction_bytes)) {
            throw Error("kernel " + cta.kernel->kernel.name +
                        ": the end of a copy cannot be signalled to the mbarrier at shared address " +
                        std::to_string(signal.address) + " of CTA rank " + std::to_string(signal.rank) +
                        ": " + describe_memory_barrier(*target, signal.address));
        }
        if (target != &cta) target->notify();
    }
    cta.notify();
}

void Cta::complete(const AsyncOperation& operation) {
    signal_completion(*implementation_, operation);
}

}  // namespace heddle::ptx
