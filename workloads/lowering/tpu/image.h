// Images as convolutions and poolings read them: with channels last, and with pieces of them in VMEM that are
// surrounded by zeros (or another number).
#pragma once

#include <vector>

#include "workloads/lowering/tpu/tile_transfer.h"
#include "workloads/trace/sliding_window.h"

namespace heddle::lowering::on_tpu {

/// [batch, height, width, channels] in HBM, channels side by side; strides in elements.
struct Image {
    std::uint64_t address = 0;
    tpu::ElementType type = tpu::ElementType::fp32;
    std::uint64_t batch = 0, height = 1, width = 0, channels = 0;
    std::uint64_t pixel_stride = 0, row_stride = 0, image_stride = 0;

    std::uint64_t at(std::uint64_t item, std::uint64_t row, std::uint64_t column,
                     std::uint64_t channel) const {
        return address +
               (item * image_stride + row * row_stride + column * pixel_stride + channel) * bytes_of(type);
    }
};

/// Returns a dense operand [N, C, (H,) W] or [N, (H,) W, C] as an image. When its channels are not
/// contiguous, it is first copied to a workspace (`copied` is then set, and the cores must synchronise).
/// Throws Unsupported for three spatial axes.
Image input_image(ProgramBuilder& program, std::size_t i, bool channels_last, bool& copied);
/// Returns the place where an image of the i-th output's shape is written; finish_output() moves it when its
/// channels must not be contiguous.
Image output_image(ProgramBuilder& program, std::size_t i, bool channels_last);
void finish_output(ProgramBuilder& program, std::size_t i, bool channels_last, const Image& image);

/// Rows [first_row, first_row + rows) x columns [first_column, first_column + columns) of some images, some
/// channels: what lies outside of the image is filled up.
struct Slab {
    std::uint64_t item = 0, items = 1;
    std::int64_t first_row = 0, first_column = 0;
    std::uint64_t rows = 0, columns = 0;
    std::uint64_t channel = 0, channels = 0;

    std::uint64_t elements() const { return items * rows * columns * channels; }
    /// Element number of a pixel; row and column count from those of the image.
    std::uint64_t at(std::uint64_t image, std::int64_t row, std::int64_t column) const {
        return ((image * rows + static_cast<std::uint64_t>(row - first_row)) * columns +
                static_cast<std::uint64_t>(column - first_column)) *
               channels;
    }
};

/// Buffers for slabs in VMEM, which are used in rotation. Nothing else is written there, so borders at the
/// same place as those of the previous slab are not filled again.
class SlabRing {
  public:
    SlabRing(ProgramBuilder& program, CoreBuilder& core, tpu::ElementType type, std::uint64_t elements,
             std::size_t places, float border);
    /// row_stride of the tile is that of pixels.
    Tile load(CoreBuilder& core, const Image& image, const Slab& slab);

  private:
    /// How the image lies within each slab of a place, in pixels.
    struct Borders {
        std::uint64_t rows = 0, columns = 0, channels = 0;  ///< of the slab
        std::uint64_t above = 0, inner_rows = 0, before = 0, inner_columns = 0;
        bool operator==(const Borders&) const = default;
    };
    struct Place {
        std::uint64_t address = 0;
        Region* region = nullptr;
        Borders borders;          ///< that are filled
        std::uint64_t items = 0;  ///< images with such borders
    };
    void fill_borders(CoreBuilder& core, const Place& place, std::uint64_t items,
                      const Borders& borders) const;
    void fill(CoreBuilder& core, const Place& place, std::uint64_t first, std::uint64_t rows,
              std::uint64_t columns, std::uint64_t row_stride) const;

    tpu::ElementType type_;
    float border_;
    std::shared_ptr<const tpu::VectorKernel> filler_;
    std::vector<Place> places_;
    std::size_t turn_ = 0;
};

/// One axis of a sliding window as it is worked through: result a lies at first + step * a, and reads the
/// source at a * stride + offset for each tap.
struct Tap {
    std::uint64_t window = 0;  ///< position in the window
    std::int64_t offset = 0;
};

/// How a window slides along one axis of an image.
struct SlidingAxis {
    std::uint64_t results = 0, first = 0, step = 1;
    std::int64_t stride = 1;
    std::vector<Tap> taps;  ///< ascending offsets

    std::int64_t begin(std::uint64_t result) const {
        return static_cast<std::int64_t>(result) * stride + taps.front().offset;
    }
    /// Returns the position after the last source position that results before `end` read.
    std::int64_t end(std::uint64_t end) const {
        return static_cast<std::int64_t>(end - 1) * stride + taps.back().offset + 1;
    }
};

/// Taps along the width whose pixels are contiguous.
struct Run {
    std::size_t tap = 0, taps = 0;
};
std::vector<Run> runs_of(const SlidingAxis& axis);

/// Axes of a window of one or two axes; one axis gets a height of one.
struct Plane {
    std::int64_t input[2] = {1, 1}, window[2] = {1, 1}, output[2] = {1, 1};
    std::int64_t strides[2] = {1, 1}, dilation[2] = {1, 1}, padding[2] = {0, 0};

    explicit Plane(const trace::SlidingWindow& space);
    SlidingAxis forward(std::size_t axis) const;
    /// The positions phase, phase + stride, ... of the input, from the results that read them.
    SlidingAxis backward(std::size_t axis, std::int64_t phase) const;
};

}  // namespace heddle::lowering::on_tpu
