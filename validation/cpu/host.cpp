#include "validation/cpu/host.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>

#include "isa/common/error.h"

namespace heddle::validation {

double host_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<HostTime> measure_in_turns(const std::vector<HostExperiment>& experiments, unsigned rounds) {
    std::vector<std::vector<double>> times(experiments.size());
    for (unsigned round = 0; round <= rounds; ++round) {
        for (std::size_t i = 0; i < experiments.size(); ++i) {
            const double seconds = experiments[i].run();
            if (round != 0) times[i].push_back(seconds);
        }
    }
    std::vector<HostTime> found;
    for (std::vector<double>& list : times) {
        std::sort(list.begin(), list.end());
        found.push_back({list.front(), list[list.size() / 4], list[list.size() / 2], list.size()});
    }
    return found;
}

void pin_to_processor() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(std::max(0, sched_getcpu())), &set);
    sched_setaffinity(0, sizeof set, &set);
}

double host_clock() {
    double best = 1e9;
    for (int round = 0; round < 40; ++round) {
        constexpr int kTurns = 20000;
        const double begin = host_now();
#if defined(__x86_64__)
        long x = 1;
        for (int i = 0; i < kTurns; ++i)
            __asm__ volatile("add $1,%0\n add $3,%0\n xor $5,%0\n add $7,%0\n xor $1,%0\n add $9,%0\n xor $2,%0\n add $1,%0\n"
                             "imul $3,%0\n imul $5,%0\n imul $7,%0\n imul $9,%0\n" : "+r"(x));
        // Additions may be folded by the renamer; multiplications take three cycles each on every core with AVX-512, and on Zen.
        constexpr double kCycles = 8 + 12;
#else
        volatile double x = 1;
        for (int i = 0; i < kTurns; ++i) x = x + 1;
        constexpr double kCycles = 2;
#endif
        best = std::min(best, (host_now() - begin) / kTurns / kCycles);
    }
    return 1 / best;
}

HostChase::HostChase(std::uint64_t bytes) : bytes_(bytes) {
    void* const memory = mmap(nullptr, bytes + (std::uint64_t{2} << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("no memory for a chain of " + std::to_string(bytes >> 20) + " MiB");
    memory_ = static_cast<char*>(memory);
    madvise(memory_, bytes + (std::uint64_t{2} << 20), MADV_HUGEPAGE);
    const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(memory_) + (2u << 20) - 1) / (2u << 20) * (2u << 20);
    char* const begin = reinterpret_cast<char*>(from);
    // One cycle through all lines: Sattolo's shuffle.
    std::vector<std::uint32_t> next(bytes / 64);
    std::iota(next.begin(), next.end(), 0u);
    std::mt19937 random(1);
    for (std::size_t i = next.size() - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
    for (std::size_t i = 0; i < next.size(); ++i) *reinterpret_cast<char**>(begin + 64 * i) = begin + std::uint64_t{64} * next[i];
    at_ = begin;
}

HostChase::~HostChase() {
    munmap(memory_, bytes_ + (std::uint64_t{2} << 20));
}

double HostChase::seconds_per_load() {
    const auto loads = static_cast<int>(std::min<std::uint64_t>(200000, std::max<std::uint64_t>(20000, bytes_ / 64)));
    const double begin = host_now();
    char* at = at_;
    for (int i = 0; i < loads; ++i) at = *reinterpret_cast<char**>(at);
    at_ = at;
    __asm__ volatile("" : : "r"(at));
    return (host_now() - begin) / loads;
}

HostBlas::HostBlas() {
    const char* const given = std::getenv("HEDDLE_OPENBLAS");
    for (const std::string& name : {std::string(given != nullptr ? given : ""), std::string("libopenblas.so.0")}) {
        if (name.empty()) continue;
        void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) continue;
        sgemm_ = dlsym(library, "cblas_sgemm");
        if (auto* const threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))) threads(1);
        if (auto* const config = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_config"))) name_ = config();
        if (sgemm_ != nullptr) return;
    }
}

void HostBlas::sgemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) const {
    using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    constexpr int kRowMajor = 101, kPlain = 111;
    const auto whole = [](std::int64_t value) { return static_cast<int>(value); };
    reinterpret_cast<Sgemm>(sgemm_)(kRowMajor, kPlain, kPlain, whole(m), whole(n), whole(k), 1, a, whole(k), b, whole(n), 0, c, whole(n));
}

}  // namespace heddle::validation
