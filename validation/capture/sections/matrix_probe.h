// One matrix instruction on a device, as a function from operands to results: raw bits in, raw bits out.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "validation/capture/device.h"
#include "validation/capture/sections/matrix_fragments.h"
#include "validation/capture/sections/matrix_instruction.h"

namespace heddle::capture {

/// The kernel: every CTA (a warp, or a warpgroup) loads its fragments as the memory has them, executes the
/// instruction `steps` times, each with an A and a B of its own and D as the next C, and stores D. The entry
/// is "probe"; its parameters are the addresses of A, B, C, D and, of sparse forms, the metadata.
std::string matrix_probe_ptx(const MatrixInstruction& instruction, unsigned steps = 1);

/// Dot products that have nothing to do with each other: raw bits.
struct DotProducts {
    unsigned k = 0;                   ///< products of each: a multiple of the instruction's (stored) k
    std::vector<std::uint64_t> a, b;  ///< [count][k]
    std::vector<std::uint64_t> c;     ///< [count]
    std::size_t count() const { return c.size(); }
    std::span<const std::uint64_t> a_row(std::size_t i) const { return {a.data() + i * k, k}; }
    std::span<const std::uint64_t> b_row(std::size_t i) const { return {b.data() + i * k, k}; }
    void add(std::span<const std::uint64_t> a_elements, std::span<const std::uint64_t> b_elements,
             std::uint64_t c_element);
};

/// Kernels that were loaded before, by their text: a device compiles each once.
class LoadedProbes {
  public:
    /// Of entry "probe". Throws DeviceError.
    KernelHandle load(Device& device, const std::string& ptx);

  private:
    std::map<std::string, KernelHandle> kernels_;
};

/// Throws DeviceError: the device refuses the PTX or fails.
class MatrixProbe {
  public:
    explicit MatrixProbe(Device& device, const MatrixInstruction& instruction, unsigned steps = 1,
                         LoadedProbes* loaded = nullptr);

    const MatrixInstruction& instruction() const { return instruction_; }
    /// A is [tile][step][m][stored k], B [tile][step][n][k], C and the result [tile][m][n]. Of sparse forms
    /// `rows` says for [tile][step][m] which k the stored elements have.
    std::vector<std::uint64_t> tiles(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                                     std::span<const std::uint64_t> c,
                                     std::span<const SparseRow> rows = {}) const;
    /// Eight dot products to a tile: product i uses a row of A and a column of B of its own, all places of
    /// the tile in turn; the rest of A and B is zero. Not for sparse forms. Results are [count].
    std::vector<std::uint64_t> run(const DotProducts& products) const;

  private:
    Device* device_;
    MatrixInstruction instruction_;
    unsigned steps_;
    KernelHandle kernel_;
};

}  // namespace heddle::capture
