// What does this machine take? Times of small experiments and of kernels' twins on the machine itself, and of libraries where there are some.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle::validation {

/// Repeated measurements of one thing. Other programs may run on the machine: they only make it slower, so the least is what the
/// machine takes, and the rest says how much it was disturbed.
struct HostTime {
    double least = 0, quartile = 0, median = 0;  ///< seconds
    std::size_t runs = 0;
    double spread() const { return least > 0 ? median / least - 1 : 0; }
};

/// Something that is timed: run() does it once and returns its seconds, or those of a part of it.
struct HostExperiment {
    std::string name;
    std::function<double()> run;
};

/// Runs all experiments in turns, so that a disturbance meets all of them alike: one round to warm up, then `rounds`.
std::vector<HostTime> measure_in_turns(const std::vector<HostExperiment>& experiments, unsigned rounds);

/// Seconds since some moment.
double host_now();

/// Keeps this thread on the processor on which it runs.
void pin_to_processor();

/// Cycles per second, from a chain of dependent multiplications of integers.
double host_clock();
/// Cycles per second at which two multiply-adds of 512 bits are done in each cycle; 0 where there are none.
double host_vector_clock();
/// Bytes per second of one thread that adds up `bytes` of memory.
double host_read_rate(std::uint64_t bytes);
/// Seconds of a load whose address the last one gave, in `bytes` of lines in random order within stretches of 256 KiB: the walk through
/// page tables, which is not modelled, comes once for many loads.
class HostChase {
  public:
    explicit HostChase(std::uint64_t bytes);
    ~HostChase();
    HostChase(const HostChase&) = delete;
    HostChase& operator=(const HostChase&) = delete;
    /// Follows the chain for some loads.
    double seconds_per_load();

  private:
    char* memory_ = nullptr;
    char* at_ = nullptr;
    std::uint64_t bytes_ = 0;
};

/// A library of BLAS, loaded by name or path.
class HostBlas {
  public:
    /// Looks for OpenBLAS: $HEDDLE_OPENBLAS, else libopenblas.so.0. found() says whether it is there.
    HostBlas();
    bool found() const { return sgemm_ != nullptr; }
    std::string name() const { return name_; }
    /// C = A B in f32, row-major, on one thread.
    void sgemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c) const;

  private:
    std::string name_;
    void* sgemm_ = nullptr;
};

}  // namespace heddle::validation
