// The writer of a convolution (convolution.h). convolution.cpp has parameters and what leaves,
// convolution_picture.cpp and convolution_phases.cpp where elements lie, convolution_ring.cpp how tiles
// follow one another, convolution_products.cpp and convolution_wgmma.cpp what is done with them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/kernels/convolution.h"
#include "workloads/kernels/convolution_loader.h"
#include "workloads/kernels/gemm_mma_operand.h"
#include "workloads/kernels/swizzled_tile.h"

namespace heddle::kernels {

/// Whether the kernel multiplies on the tensor cores.
inline bool on_tensor_cores(const ConvolutionSpec& spec) {
    return spec.type != ElementType::f32 || spec.tf32;
}
/// Whether operands pass through cp.async and ldmatrix instead of registers.
inline bool tf32_ring(const ConvolutionSpec& spec) {
    return spec.tf32 && spec.stages > 2;
}

/// Writes one convolution kernel.
class ConvolutionWriter {
  public:
    explicit ConvolutionWriter(const ConvolutionSpec& spec);

    GeneratedKernel write();

  private:
    void parameters();
    void positions();
    bool data_grad() const { return spec_.pass == ConvolutionPass::data_grad; }
    void store();

    // Phases.
    void set_up_phase(Reg phase);
    /// A position among a phase's parts of the window, as it counts in the whole.
    Reg whole_window(const Reg& position);
    /// Elements from d to a row's first column, and whether its positions lie within the tensor.
    std::pair<Reg, Reg> phased_row(const Reg& row);

    // The picture.
    Reg multiply_add(const Reg& x, const Reg& y, const Reg& sum);
    /// Index of (item, position): item and the coordinates of the position.
    std::pair<Reg, std::vector<Reg>> split_position(const Reg& index);
    /// A position, as it counts in the picture.
    ConvolutionPart picture_position(const Reg& index);
    /// (channel or filter, position in the window) of an index.
    std::pair<Reg, Reg> split_window(const Reg& index);
    /// A position in the window and a channel, as they count in the picture.
    ConvolutionPart picture_window(const Reg& index);
    std::pair<Reg, Reg> locate_in_picture(const Reg& base, const ConvolutionPart& row,
                                          const ConvolutionPart& k);
    Reg address(const Reg& base, const Reg& offset);
    ConvolutionLoader loader(bool is_a, std::uint32_t shared_offset);

    // Products.
    void set_up_products(const ConvolutionLoader& a, const ConvolutionLoader& b);
    void multiply(const ConvolutionLoader& a, const ConvolutionLoader& b, unsigned stage);
    void multiply_tf32(const ConvolutionLoader& a, const ConvolutionLoader& b, std::uint32_t a_tile,
                       std::uint32_t b_tile);
    void set_up_wgmma(const ConvolutionLoader& a);
    void multiply_wgmma(const ConvolutionLoader& a, const ConvolutionLoader& b, unsigned stage);

    // Tiles.
    Reg count_of_tiles();
    /// No part of the window may reach a phase.
    void leave_if_empty(const Reg& tiles, const std::string& done);
    /// Two stages: the next tile comes into registers while this one is multiplied.
    void main_loop(ConvolutionLoader& a, ConvolutionLoader& b);
    /// The next tile of both operands into a stage, while `to_copy` are left; ends a group of copies either
    /// way.
    void copy_tile(ConvolutionLoader& a, ConvolutionLoader& b, unsigned stage, const Reg& to_copy);
    /// Writes what is done with a tile in a stage. `copy_next` copies into the stage that is free,
    /// `leave_if_last` counts the tile.
    using StageWriter = std::function<void(unsigned stage, const std::function<void()>& copy_next,
                                           const std::function<void()>& leave_if_last)>;
    /// A ring of stages that cp.async fills: all but one are under way while one is multiplied.
    void ring(ConvolutionLoader& a, ConvolutionLoader& b, const StageWriter& write_stage);
    void ring_loop(ConvolutionLoader& a, ConvolutionLoader& b);
    /// Instructions that copy the next tile of both operands, in turns: neighbours do not wait for each
    /// other.
    std::vector<std::string> copies_of(ConvolutionLoader& a, ConvolutionLoader& b, unsigned stage);
    /// ring_loop() with the copies of a tile among the products of another: a warp that waits for the tensor
    /// cores has time for addresses. Fragments come a step ahead of their use.
    void interleaved_ring_loop(ConvolutionLoader& a, ConvolutionLoader& b);
    /// ring_loop() for wgmma: copies begin while the product of their stage's neighbour runs.
    void wgmma_ring_loop(ConvolutionLoader& a, ConvolutionLoader& b);

    const ConvolutionSpec& spec_;
    bool tensor_;
    unsigned tile_k_, warps_m_, warps_n_, threads_;
    PtxWriter w_;
    Reg a_, b_, d_, bias_, m_, n_, k_begin_, k_end_, group_;
    std::vector<Reg> extents_, image_strides_, steps_, dilations_, lows_, other_strides_;
    std::vector<PtxWriter::Divider> position_dividers_, window_dividers_, step_dividers_;
    Reg image_item_, image_channel_, other_item_, other_row_, other_window_, other_channel_;
    PtxWriter::Divider inner_, plane_;
    Reg phase_rows_, phase_tiles_, tiles_n_;
    std::vector<Reg> phase_extents_, window_extents_, phases_, phase_lows_, first_windows_, phase_windows_;
    Reg d_item_, d_position_, d_column_;
    Reg tid_, first_row_, first_column_, shared_, lane_, warp_row_, warp_column_;
    bool a_along_k_ = true, b_along_k_ = true;
    std::optional<FragmentPattern> a_pattern_, b_pattern_;
    std::optional<MmaOperand> a_fragments_, b_fragments_;
    AccumulatorTile sums_;
    Reg thread_row_, thread_column_, a_read_, b_read_;
    std::vector<Reg> plain_sums_;
    Reg descriptor_high_, a_descriptor_, b_descriptor_;  // low halves: of the first stage
};

}  // namespace heddle::kernels
