#include "workloads/lowering/tpu/image.h"

#include <algorithm>

#include "workloads/lowering/tpu/map.h"

namespace heddle::lowering::on_tpu {
namespace {

/// [N, H, W, C] and its strides of a dense operand.
HbmView channels_last_view(HbmView view, bool channels_last) {
    const std::size_t axes = view.shape.size();
    if (axes != 3 && axes != 4) throw Unsupported{"windows over three axes"};
    std::vector<std::size_t> order{0};
    const std::size_t first = channels_last ? 1 : 2;
    for (std::size_t i = 0; i + 2 < axes; ++i) order.push_back(first + i);
    order.push_back(channels_last ? axes - 1 : 1);
    HbmView result = view;
    result.shape.clear();
    result.strides.clear();
    for (const std::size_t axis : order) {
        result.shape.push_back(view.shape[axis]);
        result.strides.push_back(view.strides[axis]);
        if (axis == 0 && axes == 3) {
            result.shape.push_back(1);
            result.strides.push_back(0);
        }
    }
    return result;
}

bool has_channels_side_by_side(const HbmView& view) {
    return view.shape[3] == 1 || view.strides[3] == 1;
}

Image image_of(const HbmView& view) {
    Image image;
    image.address = view.address;
    image.type = view.type;
    image.batch = static_cast<std::uint64_t>(view.shape[0]);
    image.height = static_cast<std::uint64_t>(view.shape[1]);
    image.width = static_cast<std::uint64_t>(view.shape[2]);
    image.channels = static_cast<std::uint64_t>(view.shape[3]);
    image.image_stride = static_cast<std::uint64_t>(view.strides[0]);
    image.row_stride = static_cast<std::uint64_t>(view.strides[1]);
    image.pixel_stride = static_cast<std::uint64_t>(view.strides[2]);
    return image;
}

HbmView view_of(const Image& image) {
    HbmView view;
    view.address = image.address;
    view.type = image.type;
    for (const std::uint64_t extent : {image.batch, image.height, image.width, image.channels})
        view.shape.push_back(static_cast<std::int64_t>(extent));
    for (const std::uint64_t stride :
         {image.image_stride, image.row_stride, image.pixel_stride, std::uint64_t{1}})
        view.strides.push_back(static_cast<std::int64_t>(stride));
    return view;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
    return ((a % b) + b) % b;
}

}  // namespace

Image input_image(ProgramBuilder& program, std::size_t i, bool channels_last, bool& copied) {
    const HbmView view = channels_last_view(program.input_view(i), channels_last);
    if (has_channels_side_by_side(view)) return image_of(view);
    const HbmView place = program.workspace(view.shape, view.type);
    copy_view(program, view, place);
    copied = true;
    return image_of(place);
}

Image output_image(ProgramBuilder& program, std::size_t i, bool channels_last) {
    const HbmView view = channels_last_view(program.output_view(i), channels_last);
    if (has_channels_side_by_side(view)) return image_of(view);
    return image_of(program.workspace(view.shape, view.type));
}

void finish_output(ProgramBuilder& program, std::size_t i, bool channels_last, const Image& image) {
    const HbmView view = channels_last_view(program.output_view(i), channels_last);
    if (has_channels_side_by_side(view)) return;
    program.meet();
    // In the order of the result's own axes, channels before space, so that runs of it are stored and the
    // image is what is turned.
    const auto channels_first = [](HbmView from) {
        for (auto* const list : {&from.shape, &from.strides})
            std::rotate(list->begin() + 1, list->end() - 1, list->end());
        return from;
    };
    copy_view(program, channels_first(view_of(image)), channels_first(view));
}

SlabRing::SlabRing(ProgramBuilder& program, CoreBuilder& core, tpu::ElementType type, std::uint64_t elements,
                   std::size_t places, float border)
    : type_(type), border_(border) {
    KernelBuilder builder;
    builder.output(builder.constant(border), type);
    filler_ = program.kernel(builder.finish(), {});
    for (std::size_t i = 0; i < places; ++i)
        places_.push_back({core.allocate(elements * bytes_of(type)), core.new_region(), {}, 0});
}

void SlabRing::fill(CoreBuilder& core, const Place& place, std::uint64_t first, std::uint64_t rows,
                    std::uint64_t columns, std::uint64_t row_stride) const {
    if (rows == 0 || columns == 0) return;
    Tile tile;
    tile.type = type_;
    tile.address = place.address + first * bytes_of(type_);
    tile.row_stride = row_stride * bytes_of(type_);
    tile.region = place.region;
    core.vector(filler_, rows, columns, {}, {tile});
}

/// Of all images at once: an instruction of the vector unit takes its time to begin.
void SlabRing::fill_borders(CoreBuilder& core, const Place& place, std::uint64_t items,
                            const Borders& borders) const {
    const std::uint64_t row = borders.columns * borders.channels, image = borders.rows * row;
    const std::uint64_t below = borders.rows - borders.above - borders.inner_rows;
    fill(core, place, 0, items, borders.above * row, image);
    fill(core, place, (borders.above + borders.inner_rows) * row, items, below * row, image);
    if (borders.inner_rows == 0) return;
    const std::uint64_t before = borders.before * borders.channels,
                        behind = before + borders.inner_columns * borders.channels;
    const std::uint64_t rows = items * borders.rows;
    if (borders.above > 0 && below > 0) {
        // The end of a row and the beginning of the next; the first and the last row are border themselves.
        fill(core, place, behind, rows - 1, row - behind + before, row);
    } else {
        fill(core, place, 0, rows, before, row);
        fill(core, place, behind, rows, row - behind, row);
    }
}

Tile SlabRing::load(CoreBuilder& core, const Image& image, const Slab& slab) {
    Place& place = places_[turn_++ % places_.size()];
    const auto clipped = [](std::int64_t first, std::uint64_t count, std::uint64_t extent) {
        const std::int64_t begin = std::max<std::int64_t>(0, first);
        const std::int64_t end =
            std::min(static_cast<std::int64_t>(extent), first + static_cast<std::int64_t>(count));
        return std::pair(begin, std::max(begin, end));
    };
    const auto [top, bottom] = clipped(slab.first_row, slab.rows, image.height);
    const auto [left, right] = clipped(slab.first_column, slab.columns, image.width);
    const auto rows = static_cast<std::uint64_t>(bottom - top),
               columns = static_cast<std::uint64_t>(right - left);
    const std::uint64_t row = slab.columns * slab.channels;  // elements
    const std::uint64_t size = bytes_of(type_);
    const bool nothing = rows == 0 || columns == 0;
    const Borders borders{slab.rows,
                          slab.columns,
                          slab.channels,
                          nothing ? slab.rows : static_cast<std::uint64_t>(top - slab.first_row),
                          nothing ? 0 : rows,
                          nothing ? slab.columns : static_cast<std::uint64_t>(left - slab.first_column),
                          nothing ? 0 : columns};
    // A transfer leaves the borders of the slab before as they are.
    if (place.borders != borders || place.items < slab.items) {
        fill_borders(core, place, slab.items, borders);
        place.borders = borders;
        place.items = slab.items;
    }
    for (std::uint64_t item = 0; item < slab.items && rows > 0 && columns > 0; ++item) {
        const bool whole_pixels = slab.channels == image.channels && image.pixel_stride == image.channels;
        const auto dma = [&](std::uint64_t vmem, std::uint64_t hbm, std::uint64_t pieces,
                             std::uint64_t elements, std::uint64_t vmem_stride, std::uint64_t hbm_stride) {
            tpu::Dma one;
            one.kind = tpu::DmaKind::load;
            one.vmem = static_cast<std::int64_t>(place.address + vmem * size);
            one.hbm = static_cast<std::int64_t>(hbm);
            one.rows = static_cast<std::uint32_t>(pieces);
            one.row_bytes = static_cast<std::uint32_t>(elements * size);
            one.vmem_stride = vmem_stride * size;
            one.hbm_stride = hbm_stride * size;
            core.dma(one, place.region, nullptr, true);
        };
        if (whole_pixels) {
            dma(slab.at(item, top, left),
                image.at(slab.item + item, static_cast<std::uint64_t>(top), static_cast<std::uint64_t>(left),
                         0),
                rows, columns * slab.channels, row, image.row_stride);
            continue;
        }
        for (std::int64_t y = top; y < bottom; ++y)
            dma(slab.at(item, y, left),
                image.at(slab.item + item, static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(left),
                         slab.channel),
                columns, slab.channels, slab.channels, image.pixel_stride);
    }
    Tile tile;
    tile.type = type_;
    tile.address = place.address;
    tile.row_stride = slab.channels * size;
    tile.region = place.region;
    return tile;
}

std::vector<Run> runs_of(const SlidingAxis& axis) {
    std::vector<Run> runs;
    for (std::size_t i = 0; i < axis.taps.size(); ++i) {
        if (i == 0 || axis.taps[i].offset != axis.taps[i - 1].offset + 1) runs.push_back({i, 0});
        ++runs.back().taps;
    }
    return runs;
}

Plane::Plane(const trace::SlidingWindow& space) {
    if (space.axes() > 2) throw Unsupported{"windows over three axes"};
    for (std::size_t i = 0; i < space.axes(); ++i) {
        const std::size_t axis = i + 2 - space.axes();
        input[axis] = space.input[i];
        window[axis] = space.window[i];
        output[axis] = space.output[i];
        strides[axis] = space.strides[i];
        dilation[axis] = space.dilation[i];
        padding[axis] = space.padding_low[i];
    }
}

SlidingAxis Plane::forward(std::size_t axis) const {
    SlidingAxis result;
    result.results = static_cast<std::uint64_t>(output[axis]);
    result.stride = strides[axis];
    for (std::int64_t k = 0; k < window[axis]; ++k)
        result.taps.push_back({static_cast<std::uint64_t>(k), k * dilation[axis] - padding[axis]});
    return result;
}

SlidingAxis Plane::backward(std::size_t axis, std::int64_t phase) const {
    SlidingAxis result;
    result.first = static_cast<std::uint64_t>(phase);
    result.step = static_cast<std::uint64_t>(strides[axis]);
    result.results =
        phase < input[axis] ? static_cast<std::uint64_t>((input[axis] - phase - 1) / strides[axis] + 1) : 0;
    for (std::int64_t k = window[axis]; k-- > 0;) {
        const std::int64_t place = phase + padding[axis] - k * dilation[axis];
        if (floor_mod(place, strides[axis]) == 0)
            result.taps.push_back(
                {static_cast<std::uint64_t>(k), (place - floor_mod(place, strides[axis])) / strides[axis]});
    }
    return result;
}

}  // namespace heddle::lowering::on_tpu
