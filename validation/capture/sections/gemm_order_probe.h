// The order in which one algorithm of a BLAS adds the products of an output element: a GEMM as what
// numerics::reveal_order() takes, a great many probes to a multiplication.
#pragma once

#include <optional>
#include <string>

#include "isa/numerics/order_probe.h"
#include "validation/capture/device.h"

namespace heddle::capture {

/// What the products of a problem are made of and summed in, as far as probes must know it. Nothing for
/// integers, whose sums are exact in every order.
std::optional<numerics::ProbedArithmetic> probed_arithmetic(const GemmProblem& problem);

/// Memory and operands for probes of one problem; any of its algorithms can be tried. D must have no row or
/// column between the rows (ldd = 0), alpha 1, beta 0, no epilogue, no batch.
class GemmOrderProbe {
  public:
    /// Throws DeviceError (no memory, no BLAS) and std::invalid_argument (no numbers for this problem).
    GemmOrderProbe(Device& device, const GemmProblem& problem);

    /// Which elements of D answer: all rows, columns in turn, or those of the upper left corner alone, for
    /// kernels that add the elements at their edges otherwise.
    enum class Places : std::uint8_t { all, corner };
    numerics::RevealedOrder reveal(const GemmAlgorithm& algorithm, Places places = Places::all);

    /// The sums themselves, for tests: results divided by the unit.
    std::vector<double> sums(const GemmAlgorithm& algorithm, std::span<const numerics::ProbeVector> probes,
                             Places places);
    /// Takes part in the next probes: throws std::runtime_error when it returns true.
    std::function<bool()> stop = [] { return false; };
    std::size_t multiplications() const { return multiplications_; }

  private:
    std::size_t probes_at_once(Places places) const;
    void fill(std::span<const numerics::ProbeVector> probes);

    Device* device_;
    GemmProblem problem_;
    numerics::ProbedArithmetic arithmetic_;
    numerics::ProbeValues values_;
    std::vector<std::byte> a_bytes_, b_bytes_, d_bytes_;
    std::optional<DeviceBuffer> a_, b_, d_;
    std::size_t multiplications_ = 0;
};

}  // namespace heddle::capture
