// Runs generated kernels without time, on buffers given as numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "isa/ptx/global_memory.h"
#include "workloads/kernels/kernel.h"

namespace heddle::kernels::test {

/// The bytes of `values` as elements of `type`, rounded to nearest even.
std::vector<std::byte> encode(ElementType type, const std::vector<double>& values);
std::vector<double> decode(ElementType type, const std::vector<std::byte>& bytes);
/// What `type` makes of a number.
double rounded(ElementType type, double value);
/// Half the distance between neighbours of `type` near 1: 2^-24 for f32, 2^-8 for bf16, ...
double unit_roundoff(ElementType type);

class Device {
  public:
    explicit Device(unsigned compute_capability = 80, ptx::Assembly assembly = ptx::Assembly::as_written)
        : compute_capability_(compute_capability), assembly_(assembly) {}

    /// A buffer with these numbers; returns its number.
    std::uint32_t add(ElementType type, const std::vector<double>& values);
    /// A buffer full of 0xff bytes (NaN in every float type), so that elements never written show.
    std::uint32_t add_untouched(ElementType type, std::size_t elements);
    std::uint32_t add_bytes(const std::vector<std::byte>& bytes);
    std::vector<double> read(std::uint32_t buffer) const;
    std::vector<std::byte> read_bytes(std::uint32_t buffer) const;

    /// A buffer without values behind it, for timing mode.
    std::uint32_t add_unbacked(std::uint64_t bytes);
    /// Evaluates only what steers the machine. Returns warp instructions run.
    std::uint64_t run_timing(const GeneratedKernel& kernel, Extent3 grid,
                             const std::vector<KernelArgument>& arguments);
    /// Runs CTA 0 alone and calls `visit` for every access to memory.
    void run_first_cta(
        const GeneratedKernel& kernel, Extent3 grid, const std::vector<KernelArgument>& arguments,
        const std::function<void(const ptx::InstructionInfo&, const ptx::MemoryAccess&)>& visit);

    /// Pointer arguments hold numbers of this device's buffers. Returns warp instructions run.
    std::uint64_t run(const GeneratedKernel& kernel, Extent3 grid,
                      const std::vector<KernelArgument>& arguments);

  private:
    /// `launch.kernel` points to `loaded`.
    ptx::LaunchContext prepare(const ptx::LoadedKernel& loaded, const GeneratedKernel& kernel, Extent3 grid,
                               const std::vector<KernelArgument>& arguments);

    unsigned compute_capability_;
    ptx::Assembly assembly_;
    ptx::GlobalMemory memory_;
    struct Buffer {
        std::uint64_t address, bytes;
        ElementType type;
    };
    std::vector<Buffer> buffers_;
};

/// Seeded numbers.
std::vector<double> random_integers(std::size_t count, int low, int high, unsigned seed);
/// Uniform in [low, high), rounded to `type`.
std::vector<double> random_reals(ElementType type, std::size_t count, double low, double high, unsigned seed);

/// CHECKs that every element is within `relative` of |reference| plus `absolute`; reports the worst.
void check_close(const std::vector<double>& values, const std::vector<double>& reference, double relative,
                 double absolute);
/// CHECKs |values - reference| <= relative * |reference| in the Euclidean norm.
void check_norm(const std::vector<double>& values, const std::vector<double>& reference, double relative);
void check_equal(const std::vector<double>& values, const std::vector<double>& reference);

}  // namespace heddle::kernels::test
