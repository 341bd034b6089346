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
            __asm__ volatile("imul $3,%0,%0\n imul $5,%0,%0\n imul $7,%0,%0\n imul $9,%0,%0\n" : "+r"(x));
        // A multiplication takes three cycles on every core with AVX-512, and on Zen; additions of constants may take none.
        constexpr double kCycles = 12;
#else
        volatile double x = 1;
        for (int i = 0; i < kTurns; ++i) x = x + 1;
        constexpr double kCycles = 2;
#endif
        best = std::min(best, (host_now() - begin) / kTurns / kCycles);
    }
    return 1 / best;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double seconds_of_multiply_adds(int turns) {
    const double begin = host_now();
    __asm__ volatile(
        "1:\n vfmadd231ps %%zmm30,%%zmm31,%%zmm0\n vfmadd231ps %%zmm30,%%zmm31,%%zmm1\n vfmadd231ps %%zmm30,%%zmm31,%%zmm2\n"
        "vfmadd231ps %%zmm30,%%zmm31,%%zmm3\n vfmadd231ps %%zmm30,%%zmm31,%%zmm4\n vfmadd231ps %%zmm30,%%zmm31,%%zmm5\n"
        "vfmadd231ps %%zmm30,%%zmm31,%%zmm6\n vfmadd231ps %%zmm30,%%zmm31,%%zmm7\n vfmadd231ps %%zmm30,%%zmm31,%%zmm8\n"
        "vfmadd231ps %%zmm30,%%zmm31,%%zmm9\n vfmadd231ps %%zmm30,%%zmm31,%%zmm10\n vfmadd231ps %%zmm30,%%zmm31,%%zmm11\n dec %0\n jnz 1b\n"
        : "+r"(turns)
        :
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "cc");
    return host_now() - begin;
}
#endif

double host_vector_clock() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx512f")) return 0;
    // Processors lower their clock after some milliseconds of such work: the first ones do not count.
    double best = 1e9;
    constexpr int kTurns = 200000;
    const double begin = host_now();
    while (host_now() - begin < 0.05) seconds_of_multiply_adds(kTurns);
    for (int round = 0; round < 100; ++round) best = std::min(best, seconds_of_multiply_adds(kTurns) / kTurns / 6);
    return 1 / best;
#else
    return 0;
#endif
}

double host_read_rate(std::uint64_t bytes) {
    std::vector<std::uint64_t> memory(bytes / 8, 1);
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
        const double begin = host_now();
        std::uint64_t sum = 0;
        // One number of each line: the line is what takes time.
        for (std::size_t i = 0; i < memory.size(); i += 8) sum += memory[i];
        __asm__ volatile("" : : "r"(sum));
        best = std::min(best, host_now() - begin);
    }
    return static_cast<double>(bytes) / best;
}

HostChase::HostChase(std::uint64_t bytes) : bytes_(bytes) {
    void* const memory = mmap(nullptr, bytes + (std::uint64_t{2} << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("no memory for a chain of " + std::to_string(bytes >> 20) + " MiB");
    memory_ = static_cast<char*>(memory);
    madvise(memory_, bytes + (std::uint64_t{2} << 20), MADV_HUGEPAGE);
    const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(memory_) + (2u << 20) - 1) / (2u << 20) * (2u << 20);
    char* const begin = reinterpret_cast<char*>(from);
    std::vector<std::uint32_t> order(bytes / 64);
    std::iota(order.begin(), order.end(), 0u);
    std::mt19937 random(1);
    constexpr std::size_t kStretch = 4096;
    for (std::size_t first = 0; first < order.size(); first += kStretch)
        std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), first + kStretch)), random);
    for (std::size_t i = 0; i < order.size(); ++i)
        *reinterpret_cast<char**>(begin + std::uint64_t{64} * order[i]) = begin + std::uint64_t{64} * order[(i + 1) % order.size()];
    at_ = begin;
}

HostChase::~HostChase() {
    munmap(memory_, bytes_ + (std::uint64_t{2} << 20));
}

double HostChase::seconds_per_load() {
    const auto follow = [&](std::uint64_t loads) {
        char* at = at_;
        for (std::uint64_t i = 0; i < loads; ++i) at = *reinterpret_cast<char**>(at);
        at_ = at;
        __asm__ volatile("" : : "r"(at));
    };
    // Other experiments have used the caches since the last time.
    const std::uint64_t lines = bytes_ / 64;
    if (lines <= (std::uint64_t{1} << 20)) follow(lines);
    const std::uint64_t loads = std::min<std::uint64_t>(500000, std::max<std::uint64_t>(50000, lines));
    const double begin = host_now();
    follow(loads);
    return (host_now() - begin) / static_cast<double>(loads);
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
