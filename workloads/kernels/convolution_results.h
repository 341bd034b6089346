// The way of a convolution's sums from registers to memory: bias, conversion, the layout of the result.
#pragma once

#include <functional>
#include <utility>

#include "workloads/kernels/convolution.h"
#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {

/// Whether 16-bit results are stored in units of 16 bytes, which the lanes of a quad assemble.
bool wide_convolution_results(const ConvolutionSpec& spec);
/// Whether f32 results of tensor cores are stored two at a time.
bool paired_convolution_results(const ConvolutionSpec& spec);

/// Emits the code that stores a tile of results.
class ConvolutionResults {
  public:
    /// Elements (b64) from d to a row's first column, and a predicate.
    using LocateRow = std::function<std::pair<Reg, Reg>(const Reg& row)>;
    /// Registers of the kernel's parameters, and the tile's place.
    struct Place {
        Reg d, bias;                       ///< pointers
        Reg m, n, group;                   ///< b32
        Reg first_row, first_column;       ///< b32, of the tile
        PtxWriter::Divider plane;          ///< positions of an item
        Reg d_item, d_position, d_column;  ///< b32 strides in elements
        LocateRow locate_row;              ///< instead of `plane` and the strides of rows; may be empty
    };
    ConvolutionResults(PtxWriter& w, const ConvolutionSpec& spec, Place place)
        : w_(w), spec_(spec), p_(std::move(place)) {}

    /// Stores the sums of a warp, as mma.sync leaves them, with columns from warp_column on.
    void store_fragments(const AccumulatorTile& sums, const Reg& lane, const Reg& warp_row,
                         const Reg& warp_column);
    /// Stores the 8 x 8 sums of a thread: two groups of four rows and of four columns, half a tile apart.
    void store_squares(const std::vector<Reg>& sums, const Reg& row, const Reg& column);

  private:
    void set_columns(const Reg& local, const std::vector<unsigned>& steps);
    std::pair<Reg, Reg> row_start(const Reg& row);
    std::vector<Reg> permuted_by_lane(const std::vector<Reg>& words);
    void store_wide_row(const Reg& local, const std::vector<Reg>& values);
    void store_row(const Reg& local, const std::vector<Reg>& values);

    PtxWriter& w_;
    const ConvolutionSpec& spec_;
    Place p_;
    std::vector<Reg> wide_guards_;  // predicates: of each 32 columns, the 8 that this lane stores
    Reg wide_column_;
    std::vector<Reg> lane_bits_;  // predicates: bits of the lane within its quad
    std::vector<Reg> column_guards_, column_offsets_, biases_;
};

}  // namespace heddle::kernels
