// The choices that a compiler for a TPU can make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::lowering {

/// The order of the loops over blocks of a matrix product.
enum class LoopOrder : std::uint8_t {
    searched,
    rows_outer,     ///< blocks along n innermost; a's panel may stay in VMEM
    columns_outer,  ///< blocks along m innermost; b's panel stays in VMEM
};

/// Stores the results of searches for tilings. A tiling is a pure function of its key.
class TilingStore {
  public:
    virtual ~TilingStore() = default;
    virtual std::optional<std::string> find(const std::string& key) = 0;
    virtual void store(const std::string& key, const std::string& tiling) = 0;
};

/// Options of the lowering to TPU programs.
struct TpuLoweringOptions {
    /// The number of bf16 passes per product of fp32 matrices: 1 (what a TPU does by default), 3 or 6.
    unsigned matmul_passes = 1;
    /// When both operands of a product and its result fit VMEM, the second operand is loaded before the first
    /// multiplication, as XLA's memory space assignment does; when the product runs alone, nothing hides that
    /// load. The first operand is then loaded in panels of rows of up to `operand_window` bytes, two at a
    /// time, and the results are stored in transfers of up to `result_window` bytes.
    bool whole_operands = false;
    /// In a step, XLA loads that operand while the previous op runs. This is modelled as if it were loaded,
    /// one block of columns after another, while the product itself begins.
    bool operands_overlap = false;
    std::uint64_t operand_window = 4ull << 20, result_window = 2ull << 20;
    /// The block of a product that a core computes, and the depth of contraction that is loaded at a time; 0:
    /// searched.
    std::uint64_t tile_rows = 0, tile_columns = 0, tile_depth = 0;
    LoopOrder loop_order = LoopOrder::searched;
    TilingStore* tilings = nullptr;  ///< not owned; nullptr: every tiling is searched anew

    // What the search expects of the device; nothing is timed with it.
    double hbm_bytes_per_cycle = 430;  ///< of one core: a TPU v3's 900 GB/s as far as streaming reaches it
    double hbm_latency_cycles = 600;   ///< from a transfer's issue to its data
    unsigned int8_rows_per_cycle = 1;
    unsigned weight_rows_per_cycle = 1;
};

}  // namespace heddle::lowering
