// Which order does a sum of products have? FPRev: reveals the tree of any GEMM-like function from its
// results.
//
// All summands are units but two: +M at i and -M at j. M is so large that every unit which meets it before it
// cancels is lost. What survives counts the summands outside of the smallest subtree that holds i and j; from
// these counts the whole tree follows. A node with more than two children is a fused operation (a block of
// products in a tensor core). Idea: arXiv 2411.00442.
//
// Only where roundings happen shows, not how: a compensated sum (Kahan) looks like the plain one of its
// order. Sums whose order depends on the values, or on the run, contradict themselves and are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa/numerics/formats.h"
#include "isa/numerics/summation_tree.h"

namespace heddle::numerics {

/// One sum to compute: +M at `plus`, -M at `minus` (kNone: nowhere), units at [units_begin, units_end) other
/// than these two, zero elsewhere.
struct ProbeVector {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;  ///< no position
    std::uint32_t plus = kNone, minus = kNone;           ///< k of +M and of -M
    std::uint32_t units_begin = 0, units_end = 0;        ///< first k of the units, and one past the last
};

/// Computes the sums; returns for each the result divided by the unit: a whole number when all is well. The
/// callee cuts long lists into as many GEMMs as it needs: row r of A is one vector.
using ProbedSum = std::function<std::vector<double>(std::span<const ProbeVector>)>;

/// The numbers to write into A and B: product of plus = +a_large * b_large, of minus = -a_large * b_large, of
/// a unit a_unit * b_unit. When b_large == b_unit, all of B is that number and every row of A is a probe of
/// its own; otherwise the probe p needs row p of A and column p of B.
struct ProbeValues {
    double a_large = 0, b_large = 0, a_unit = 0, b_unit = 0;  ///< numbers to be written, powers of two
    /// More units than these at once would not be lost beside M, or not be counted exactly.
    std::uint32_t maximum_units = 0;
    std::string problem;  ///< why there are none; then the rest is zero

    /// The value of one unit's product, by which sums are divided.
    double unit() const { return a_unit * b_unit; }
    /// Whether B holds the same number everywhere.
    bool constant_b() const { return b_large == b_unit; }
};

/// The formats and the arithmetic of the sum.
struct ProbedArithmetic {
    Format a = Format::fp16, b = Format::fp16;  ///< of the operands
    Format output = Format::fp32;               ///< of D; split-K may round partial sums to it too
    Format accumulator = Format::fp32;          ///< fp32, fp16 or fp64
    /// Bits below the largest summand that a fused node keeps: F of the tensor core, at most 25 up to Hopper;
    /// 0 for plain additions.
    int alignment_fraction_bits = 25;
    /// Fraction bits of partial sums where fewer than the accumulator's: 13 for fp8 on wgmma.
    int result_fraction_bits = 0;
};

/// Powers of two that the formats hold. The constant B is preferred. (Sums of integers are exact in every
/// order: there is nothing to reveal.)
ProbeValues probe_values(const ProbedArithmetic& arithmetic);

/// Raw bits of one operand for a probe: `large` and `unit` are the operand's numbers of ProbeValues;
/// `signed_large` is true for A, which carries the sign. Element k is written at to[k * stride_elements], in
/// the storage of `format`.
void write_probe(const ProbeVector& probe, std::size_t k, Format format, double large, double unit,
                 bool signed_large, std::byte* to, std::size_t stride_elements = 1);

/// How much a search may cost, and how carefully it checks itself.
struct ProbeOptions {
    std::uint32_t maximum_units = 0xFFFFFFFFu;  ///< ProbeValues::maximum_units
    /// Up to this K every pair of a fused node is probed; above, two rows of pairs and some at random, as
    /// many as the node has children.
    std::size_t complete_up_to = 2048;
    /// Probes of random pairs that are run again at the end and must agree with the tree.
    std::size_t repeated_probes = 64;
    std::uint64_t seed = 1;
    std::size_t maximum_probes = std::size_t{1} << 24;  ///< then the search gives up
};

/// The result of reveal_order().
struct RevealedOrder {
    std::optional<SummationTree> tree;  ///< nothing when the answers contradict every tree
    std::string problem;                ///< when there is no tree: what contradicts one
    std::size_t probes = 0;             ///< sums that were computed
    bool complete = true;               ///< false when fused nodes were sampled
};

/// The tree of `sum` over k summands. Needs k - 1 probes for a chain of additions, about k L / 2 for a chain
/// of fused nodes of L (2 k when sampled), k^2 / 2 at worst. Exceptions of `sum` pass through.
RevealedOrder reveal_order(std::size_t k, const ProbedSum& sum, const ProbeOptions& options = {});

/// Whether `sum` adds as `tree` says, tried with random pairs and with neighbours: for a K too long to
/// reveal. Empty when all agree, else the first contradiction.
std::string contradiction(const SummationTree& tree, const ProbedSum& sum, std::size_t probes,
                          const ProbeOptions& options = {});

}  // namespace heddle::numerics
