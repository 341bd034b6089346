// Convolutions: lanes along filters, a row of output positions in registers, weights packed so that filters are contiguous. Padding is
// written out first, so that the inner loops ask nothing.
#include <algorithm>
#include <limits>

#include "workloads/lowering/cpu/builder.h"
#include "workloads/trace/sliding_window.h"

namespace heddle::lowering::on_cpu {
namespace {

/// Two spatial axes; one becomes two with a first axis of one.
struct Plane {
    std::int64_t batch = 0, channels = 0, filters = 0, groups = 1;
    std::int64_t in[2] = {1, 1}, window[2] = {1, 1}, out[2] = {1, 1}, stride[2] = {1, 1}, low[2] = {0, 0}, high[2] = {0, 0}, dilation[2] = {1, 1};
    bool channels_last = false;
};

void take_space(Plane& plane, const trace::SlidingWindow& space) {
    if (space.axes() > 2) throw Unsupported{"windows over three axes"};
    const std::size_t lead = 2 - space.axes();
    for (std::size_t i = 0; i < space.axes(); ++i) {
        plane.in[lead + i] = space.input[i];
        plane.window[lead + i] = space.window[i];
        plane.out[lead + i] = space.output[i];
        plane.stride[lead + i] = space.strides[i];
        plane.low[lead + i] = space.padding_low[i];
        plane.high[lead + i] = space.padding_high[i];
        plane.dilation[lead + i] = space.dilation[i];
    }
}

Plane plane_of(const Builder& b) {
    const trace::ConvolutionSizes sizes = trace::convolution_sizes(b.trace(), b.op());
    Plane plane;
    plane.batch = sizes.batch;
    plane.channels = sizes.channels;
    plane.filters = sizes.filters;
    plane.groups = sizes.groups;
    plane.channels_last = sizes.channels_last;
    take_space(plane, sizes.space);
    return plane;
}

/// [batch, channels, height, width] of an image, whatever its layout.
View image_of(const View& view, bool channels_last, std::int64_t batch, std::int64_t channels, const std::int64_t* extent) {
    View image = reshaped(view, channels_last ? std::vector<std::int64_t>{batch, extent[0], extent[1], channels}
                                              : std::vector<std::int64_t>{batch, channels, extent[0], extent[1]});
    if (!channels_last) return image;
    const auto moved = [](const std::vector<std::int64_t>& v) { return std::vector<std::int64_t>{v[0], v[3], v[1], v[2]}; };
    image.shape = moved(image.shape);
    image.strides = moved(image.strides);
    return image;
}

/// [filters, channels of a group, height, width] of the weights.
View weights_of(const View& view, const Plane& plane) {
    return image_of(view, plane.channels_last, plane.filters, plane.channels / plane.groups, plane.window);
}

/// The image with `low` and `high` elements of `fill` around it, or the image itself where there are none.
View padded(Builder& b, const View& image, const std::int64_t* low, const std::int64_t* high, float fill) {
    if (low[0] == 0 && low[1] == 0 && high[0] == 0 && high[1] == 0) return image;
    const std::int64_t height = image.shape[2] + low[0] + high[0], width = image.shape[3] + low[1] + high[1];
    const bool last = image.strides[1] == 1 && image.shape[1] > 1;  // keep channels where they are
    View wide = b.scratch(last ? std::vector<std::int64_t>{image.shape[0], height, width, image.shape[1]}
                               : std::vector<std::int64_t>{image.shape[0], image.shape[1], height, width},
                          image.type);
    if (last) {
        wide.shape = {image.shape[0], image.shape[1], height, width};
        wide.strides = {wide.strides[0], wide.strides[3], wide.strides[1], wide.strides[2]};
    }
    map(b, "pad", wide.shape, {}, {wide}, expression::parse(fill == 0 ? "y0 = 0" : "y0 = -inf"));
    View inside = wide;
    inside.shape = image.shape;
    inside.offset += low[0] * wide.strides[2] + low[1] * wide.strides[3];
    map(b, "pad_copy", image.shape, {image}, {inside}, expression::parse("y0 = x0"));
    return wide;
}

/// Output positions in a row and vectors of filters that registers hold.
struct ConvolutionTile {
    std::int64_t positions = 1, vectors = 1;
};

ConvolutionTile convolution_tile(const Builder& b, std::int64_t positions, std::int64_t filters) {
    const auto registers = static_cast<std::int64_t>(b.target().registers);
    ConvolutionTile best;
    double best_worth = 0;
    for (std::int64_t vectors = 1; vectors <= 4; ++vectors) {
        for (std::int64_t row = 1; row <= (registers - 1 - vectors) / vectors && row <= positions; ++row) {
            const auto up = [](std::int64_t a, std::int64_t c) { return static_cast<double>((a + c - 1) / c * c); };
            const double used = static_cast<double>(positions) / up(positions, row) * static_cast<double>(filters) / up(filters, vectors * b.lanes());
            // Loads beside the multiply-adds, and chains enough for their latency.
            const double loads = static_cast<double>(row + vectors) / static_cast<double>(row * vectors);
            const double worth = used * std::min(1.0, 1 / std::max(loads, 0.5)) * std::min(1.0, static_cast<double>(row * vectors) / 8) * (1 - 0.05 * loads);
            if (worth > best_worth) best_worth = worth, best = {row, vectors};
        }
    }
    return best;
}

Mask filters_below(const Affine& filter, std::int64_t limit) {
    Mask mask;
    mask.value = filter;
    mask.lane_stride = 1;
    mask.limit = limit;
    return mask;
}

/// Weights as [group, block of filters, depth, filters of the block] in f32. `source(filter lanes, channel, y, x)`.
View packed_weights(Builder& b, const Plane& plane, const View& w, bool by_filter, const ConvolutionTile& tile) {
    // by_filter: lanes are filters, depth is channels; otherwise the other way round (for the gradient of the data).
    const std::int64_t group_filters = plane.filters / plane.groups, group_channels = plane.channels / plane.groups;
    const std::int64_t along = by_filter ? group_filters : group_channels, depth = by_filter ? group_channels : group_filters;
    const std::int64_t width = tile.vectors * b.lanes(), blocks = (along + width - 1) / width;
    const View packed = b.scratch({plane.groups, blocks, depth, plane.window[0], plane.window[1], width});
    b.parallel("pack_weights", {plane.groups, blocks, depth}, w.elements(), [&](const std::vector<Affine>& i) {
        b.loop(plane.window[0], [&](const Affine& y) {
            b.loop(plane.window[1], [&](const Affine& x) {
                for (std::int64_t v = 0; v < tile.vectors; ++v) {
                    const Affine first = i[1] * width + Affine(v * b.lanes());
                    std::vector<Mask> masks;
                    if (along % width != 0) masks.push_back(filters_below(first, along));
                    const Affine filter = i[0] * group_filters + (by_filter ? first : i[2]), channel = by_filter ? i[2] : first;
                    const Value value = b.load(w, w.at({filter, channel, y, x}), by_filter ? w.strides[0] : w.strides[1], masks);
                    b.store(packed, packed.at({i[0], i[1], i[2], y, x, v * b.lanes()}), value);
                }
            });
        });
    });
    return packed;
}

/// One channel in each group: lanes along a row of the image.
void depthwise_convolution(Builder& b, const Plane& plane, const View& x, const View& w, const View& y, const View* bias) {
    const std::int64_t per_group = plane.filters / plane.groups;
    b.parallel("depthwise", {plane.batch, plane.groups, per_group, plane.out[0]}, y.elements() * w.shape[2] * w.shape[3], [&](const std::vector<Affine>& i) {
        const Affine filter = i[1] * per_group + i[2];
        b.vectors(plane.out[1], [&](const Affine& column, const std::vector<Mask>& m) {
            Value sum = bias != nullptr ? b.load(*bias, filter, 0) : b.constant(0);
            b.loop(plane.window[0], [&](const Affine& wy) {
                b.loop(plane.window[1], [&](const Affine& wx) {
                    const Affine at = x.at({i[0], i[1], i[3] * plane.stride[0] + wy * plane.dilation[0], column * plane.stride[1] + wx * plane.dilation[1]});
                    const Value image = b.load(x, at, plane.stride[1] * x.strides[3], m);
                    b.apply_into(sum, Opcode::op_fma, image, b.load(w, w.at({filter, 0, wy, wx}), 0), sum);
                });
            });
            b.store(y, y.at({i[0], filter, i[3], column}), sum, y.strides[3], m);
        });
    });
}

/// The row tiles of an output row: whole ones in a loop, then what is left.
void for_positions(Builder& b, std::int64_t positions, std::int64_t tile, const std::function<void(std::int64_t count, const Affine& first)>& body) {
    b.loop(positions / tile, [&](const Affine& i) { body(tile, i * tile); });
    if (positions % tile != 0) body(positions % tile, Affine(positions / tile * tile));
}

struct Sums {
    std::vector<Value> values;
    std::int64_t vectors;
    Sums(Builder& b, std::int64_t rows, std::int64_t width) : vectors(width) {
        for (std::int64_t i = 0; i < rows * width; ++i) values.push_back(b.constant(0));
    }
    Value& at(std::int64_t row, std::int64_t vector) { return values[static_cast<std::size_t>(row * vectors + vector)]; }
};

}  // namespace

void lower_convolution(Builder& b) {
    const Plane plane = plane_of(b);
    const View image = image_of(b.in(0), plane.channels_last, plane.batch, plane.channels, plane.in), w = weights_of(b.in(1), plane);
    const View y = image_of(b.out(0), plane.channels_last, plane.batch, plane.filters, plane.out);
    const bool has_bias = b.op().inputs.size() > 2;
    const View bias = has_bias ? b.dense_in(2) : w;
    const View x = padded(b, image, plane.low, plane.high, 0);
    const std::int64_t group_filters = plane.filters / plane.groups, group_channels = plane.channels / plane.groups;
    if (group_channels == 1 && plane.groups > 1) return depthwise_convolution(b, plane, x, w, y, has_bias ? &bias : nullptr);
    const ConvolutionTile tile = convolution_tile(b, plane.out[1], group_filters);
    const View packed = packed_weights(b, plane, w, true, tile);
    const std::int64_t width = tile.vectors * b.lanes(), blocks = (group_filters + width - 1) / width;
    b.parallel("convolution", {plane.batch, plane.groups, blocks, plane.out[0]}, y.elements() * group_channels, [&](const std::vector<Affine>& i) {
        for_positions(b, plane.out[1], tile.positions, [&](std::int64_t count, const Affine& column) {
            Sums sums(b, count, tile.vectors);
            b.loop(group_channels, [&](const Affine& channel) {
                b.loop(plane.window[0], [&](const Affine& wy) {
                    b.loop(plane.window[1], [&](const Affine& wx) {
                        std::vector<Value> weights;
                        for (std::int64_t v = 0; v < tile.vectors; ++v)
                            weights.push_back(b.load(packed, packed.at({i[1], i[2], channel, wy, wx, v * b.lanes()})));
                        for (std::int64_t p = 0; p < count; ++p) {
                            const Affine at = x.at({i[0], i[1] * group_channels + channel, i[3] * plane.stride[0] + wy * plane.dilation[0],
                                                    (column + Affine(p)) * plane.stride[1] + wx * plane.dilation[1]});
                            const Value pixel = b.load(x, at, 0);
                            for (std::int64_t v = 0; v < tile.vectors; ++v)
                                b.apply_into(sums.at(p, v), Opcode::op_fma, pixel, weights[static_cast<std::size_t>(v)], sums.at(p, v));
                        }
                    });
                });
            });
            for (std::int64_t v = 0; v < tile.vectors; ++v) {
                const Affine first = i[2] * width + Affine(v * b.lanes());
                std::vector<Mask> masks;
                if (group_filters % width != 0) masks.push_back(filters_below(first, group_filters));
                const Affine filter = i[1] * group_filters + first;
                for (std::int64_t p = 0; p < count; ++p) {
                    Value sum = sums.at(p, v);
                    if (has_bias) b.apply_into(sum, Opcode::op_add, sum, b.load(bias, filter, 1, masks));
                    b.store(y, y.at({i[0], filter, i[3], column + Affine(p)}), sum, y.strides[1], masks);
                    sums.at(p, v) = nullptr;
                }
            }
        });
    });
}

void lower_convolution_data_grad(Builder& b) {
    const Plane plane = plane_of(b);
    const View dy_image = image_of(b.in(0), plane.channels_last, plane.batch, plane.filters, plane.out), w = weights_of(b.in(1), plane);
    const View dx = image_of(b.out(0), plane.channels_last, plane.batch, plane.channels, plane.in);
    const std::int64_t group_filters = plane.filters / plane.groups, group_channels = plane.channels / plane.groups;
    // Input position i gets dy at (i + low - w * dilation) / stride where that is whole. Positions of one remainder are one loop nest.
    std::int64_t low[2], high[2];
    for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t reach = (plane.window[axis] - 1) * plane.dilation[axis];
        low[axis] = std::max<std::int64_t>(0, (reach - plane.low[axis] + plane.stride[axis] - 1) / plane.stride[axis]);
        high[axis] = std::max<std::int64_t>(0, (plane.in[axis] - 1 + plane.low[axis]) / plane.stride[axis] - (plane.out[axis] - 1));
    }
    const View dy = padded(b, dy_image, low, high, 0);
    const ConvolutionTile tile = convolution_tile(b, (plane.in[1] + plane.stride[1] - 1) / plane.stride[1], group_channels);
    const View packed = packed_weights(b, plane, w, false, tile);
    const std::int64_t width = tile.vectors * b.lanes(), blocks = (group_channels + width - 1) / width;
    const std::int64_t most_rows = (plane.in[0] + plane.stride[0] - 1) / plane.stride[0];
    b.parallel("data_grad", {plane.batch, plane.groups, blocks, most_rows}, dx.elements() * group_filters, [&](const std::vector<Affine>& i) {
        for (std::int64_t ry = 0; ry < std::min(plane.stride[0], plane.in[0]); ++ry) {
            // Rows ry, ry + stride, ...: the last block may have none.
            const std::int64_t rows = (plane.in[0] - ry + plane.stride[0] - 1) / plane.stride[0];
            b.loop_limited(1, Affine(rows) + i[3] * -1, [&](const Affine&) {
                for (std::int64_t rx = 0; rx < std::min(plane.stride[1], plane.in[1]); ++rx) {
                    const std::int64_t columns = (plane.in[1] - rx + plane.stride[1] - 1) / plane.stride[1];
                    for_positions(b, columns, tile.positions, [&](std::int64_t count, const Affine& column) {
                        Sums sums(b, count, tile.vectors);
                        b.loop(group_filters, [&](const Affine& filter) {
                            for (std::int64_t wy = 0; wy < plane.window[0]; ++wy) {
                                const std::int64_t from_y = ry + plane.low[0] - wy * plane.dilation[0];
                                if (from_y % plane.stride[0] != 0) continue;
                                for (std::int64_t wx = 0; wx < plane.window[1]; ++wx) {
                                    const std::int64_t from_x = rx + plane.low[1] - wx * plane.dilation[1];
                                    if (from_x % plane.stride[1] != 0) continue;
                                    std::vector<Value> weights;
                                    for (std::int64_t v = 0; v < tile.vectors; ++v)
                                        weights.push_back(b.load(packed, packed.at({i[1], i[2], filter, wy, wx, v * b.lanes()})));
                                    for (std::int64_t p = 0; p < count; ++p) {
                                        const Affine at = dy.at({i[0], i[1] * group_filters + filter, i[3] + Affine(from_y / plane.stride[0] + low[0]),
                                                                 column + Affine(p + from_x / plane.stride[1] + low[1])});
                                        const Value pixel = b.load(dy, at, 0);
                                        for (std::int64_t v = 0; v < tile.vectors; ++v)
                                            b.apply_into(sums.at(p, v), Opcode::op_fma, pixel, weights[static_cast<std::size_t>(v)], sums.at(p, v));
                                    }
                                }
                            }
                        });
                        for (std::int64_t v = 0; v < tile.vectors; ++v) {
                            const Affine first = i[2] * width + Affine(v * b.lanes());
                            std::vector<Mask> masks;
                            if (group_channels % width != 0) masks.push_back(filters_below(first, group_channels));
                            for (std::int64_t p = 0; p < count; ++p)
                                b.store(dx, dx.at({i[0], i[1] * group_channels + first, i[3] * plane.stride[0] + Affine(ry), (column + Affine(p)) * plane.stride[1] + Affine(rx)}),
                                        sums.at(p, v), dx.strides[1], masks);
                        }
                    });
                }
            });
        }
    });
}

void lower_convolution_weight_grad(Builder& b) {
    const Plane plane = plane_of(b);
    const View dy = image_of(b.in(0), plane.channels_last, plane.batch, plane.filters, plane.out);
    const View image = image_of(b.in(1), plane.channels_last, plane.batch, plane.channels, plane.in);
    const View dw = weights_of(b.out(0), plane);
    const std::int64_t group_filters = plane.filters / plane.groups, group_channels = plane.channels / plane.groups;
    const View x = padded(b, image, plane.low, plane.high, 0);
    // dy with its filters contiguous.
    View turned = b.scratch({plane.batch, plane.out[0], plane.out[1], plane.filters});
    View as_image = turned;
    as_image.shape = dy.shape;
    as_image.strides = {turned.strides[0], turned.strides[3], turned.strides[1], turned.strides[2]};
    map(b, "turn_gradient", dy.shape, {dy}, {as_image}, expression::parse("y0 = x0"));
    const ConvolutionTile tile = convolution_tile(b, group_channels, group_filters);
    const std::int64_t width = tile.vectors * b.lanes(), blocks = (group_filters + width - 1) / width;
    const std::int64_t rows = (group_channels + tile.positions - 1) / tile.positions;
    b.parallel("weight_grad", {plane.groups, blocks, rows, plane.window[0], plane.window[1]}, dy.elements() * group_channels, [&](const std::vector<Affine>& i) {
        const auto block_of = [&](std::int64_t count, const Affine& first_channel) {
            Sums sums(b, count, tile.vectors);
            b.loop(plane.batch, [&](const Affine& n) {
                b.loop(plane.out[0], [&](const Affine& oy) {
                    b.loop(plane.out[1], [&](const Affine& ox) {
                        std::vector<Value> gradients;
                        for (std::int64_t v = 0; v < tile.vectors; ++v) {
                            const Affine first = i[1] * width + Affine(v * b.lanes());
                            std::vector<Mask> masks;
                            if (group_filters % width != 0) masks.push_back(filters_below(first, group_filters));
                            gradients.push_back(b.load(turned, turned.at({n, oy, ox, i[0] * group_filters + first}), 1, masks));
                        }
                        for (std::int64_t c = 0; c < count; ++c) {
                            const Affine at = x.at({n, i[0] * group_channels + first_channel + Affine(c), oy * plane.stride[0] + i[3] * plane.dilation[0],
                                                    ox * plane.stride[1] + i[4] * plane.dilation[1]});
                            const Value pixel = b.load(x, at, 0);
                            for (std::int64_t v = 0; v < tile.vectors; ++v)
                                b.apply_into(sums.at(c, v), Opcode::op_fma, pixel, gradients[static_cast<std::size_t>(v)], sums.at(c, v));
                        }
                    });
                });
            });
            for (std::int64_t v = 0; v < tile.vectors; ++v) {
                const Affine first = i[1] * width + Affine(v * b.lanes());
                std::vector<Mask> masks;
                if (group_filters % width != 0) masks.push_back(filters_below(first, group_filters));
                for (std::int64_t c = 0; c < count; ++c)
                    b.store(dw, dw.at({i[0] * group_filters + first, first_channel + Affine(c), i[3], i[4]}), sums.at(c, v), dw.strides[0], masks);
            }
        };
        const std::int64_t whole = group_channels / tile.positions;
        if (whole > 0) b.loop_limited(1, Affine(whole) + i[2] * -1, [&](const Affine&) { block_of(tile.positions, i[2] * tile.positions); });
        if (group_channels % tile.positions != 0)
            b.loop_limited(1, i[2] + Affine(2 - rows), [&](const Affine&) { block_of(group_channels % tile.positions, Affine(whole * tile.positions)); });
    });
    if (b.op().outputs.size() < 2) return;
    const View db = b.dense_out(1);
    b.parallel("bias_grad", {(plane.filters + b.lanes() - 1) / b.lanes()}, dy.elements(), [&](const std::vector<Affine>& i) {
        const std::vector<Mask> masks{filters_below(i[0] * b.lanes(), plane.filters)};
        Value sum = b.constant(0);
        b.loop(plane.batch * plane.out[0] * plane.out[1],
               [&](const Affine& p) { b.apply_into(sum, Opcode::op_add, sum, b.load(turned, p * plane.filters + i[0] * b.lanes(), 1, masks)); });
        b.store(db, i[0] * b.lanes(), sum, 1, masks);
    });
}

void lower_pooling(Builder& b) {
    const trace::PoolingSizes sizes = trace::pooling_sizes(b.trace(), b.op());
    if (b.op().outputs.size() > 1) throw Unsupported{"the places of maxima"};
    Plane plane;
    take_space(plane, sizes.space);
    const bool pads = plane.low[0] + plane.low[1] + plane.high[0] + plane.high[1] != 0;
    if (!sizes.maximum && pads && !sizes.padding_counts) throw Unsupported{"means of windows that the padding cuts"};
    const View image = image_of(b.in(0), sizes.channels_last, sizes.batch, sizes.channels, plane.in);
    const View y = image_of(b.out(0), sizes.channels_last, sizes.batch, sizes.channels, plane.out);
    const View x = padded(b, image, plane.low, plane.high, sizes.maximum ? -INFINITY : 0);
    b.parallel("pooling", {sizes.batch, sizes.channels, plane.out[0]}, image.elements(), [&](const std::vector<Affine>& i) {
        b.vectors(plane.out[1], [&](const Affine& column, const std::vector<Mask>& m) {
            Value total = b.constant(sizes.maximum ? -INFINITY : 0);
            b.loop(plane.window[0], [&](const Affine& wy) {
                b.loop(plane.window[1], [&](const Affine& wx) {
                    const Affine at = x.at({i[0], i[1], i[2] * plane.stride[0] + wy * plane.dilation[0], column * plane.stride[1] + wx * plane.dilation[1]});
                    b.apply_into(total, sizes.maximum ? Opcode::op_max : Opcode::op_add, total, b.load(x, at, plane.stride[1] * x.strides[3], m));
                });
            });
            if (!sizes.maximum) total = b.apply(Opcode::op_mul, total, b.constant(1.0f / static_cast<float>(plane.window[0] * plane.window[1])));
            b.store(y, y.at({i[0], i[1], i[2], column}), total, y.strides[3], m);
        });
    });
}

void lower_pooling_grad(Builder& b) {
    const trace::PoolingSizes sizes = trace::pooling_sizes(b.trace(), b.op());
    Plane plane;
    take_space(plane, sizes.space);
    const bool pads = plane.low[0] + plane.low[1] + plane.high[0] + plane.high[1] != 0;
    if (!sizes.maximum && pads && !sizes.padding_counts) throw Unsupported{"means of windows that the padding cuts"};
    if (sizes.maximum && (b.op().inputs.size() < 2 || b.op().inputs.size() > 2)) throw Unsupported{"the gradient of maxima by their places"};
    const View dy = image_of(b.in(0), sizes.channels_last, sizes.batch, sizes.channels, plane.out);
    const View dx = image_of(b.out(0), sizes.channels_last, sizes.batch, sizes.channels, plane.in);
    View x = dy;
    if (sizes.maximum) x = image_of(b.in(1), sizes.channels_last, sizes.batch, sizes.channels, plane.in);
    if (sizes.maximum) x = padded(b, x, plane.low, plane.high, -INFINITY);
    const std::int64_t height = plane.in[0] + plane.low[0] + plane.high[0], width = plane.in[1] + plane.low[1] + plane.high[1];
    const View sums = b.scratch({height, width}, ElementType::f32, true);
    b.parallel("pooling_grad", {sizes.batch, sizes.channels}, dx.elements(), [&](const std::vector<Affine>& i) {
        b.vectors(height * width, [&](const Affine& e, const std::vector<Mask>& m) { b.store(sums, e, b.constant(0), 1, m); });
        b.loop(plane.out[0], [&](const Affine& row) {
            b.vectors(plane.out[1], [&](const Affine& column, const std::vector<Mask>& m) {
                const Value gradient = b.load(dy, dy.at({i[0], i[1], row, column}), dy.strides[3], m);
                const auto place = [&](const Affine& wy, const Affine& wx) {
                    return std::pair{row * plane.stride[0] + wy * plane.dilation[0], column * plane.stride[1] + wx * plane.dilation[1]};
                };
                const auto windows = [&](const std::function<void(const Affine&, const Affine&)>& body) {
                    b.loop(plane.window[0], [&](const Affine& wy) {
                        b.loop(plane.window[1], [&](const Affine& wx) {
                            const auto [py, px] = place(wy, wx);
                            body(py, px);
                        });
                    });
                };
                const auto add_to = [&](const Affine& py, const Affine& px, const Value& value) {
                    const Affine at = sums.at({py, px});
                    b.store(sums, at, b.apply(Opcode::op_add, b.load(sums, at, plane.stride[1], m), value), plane.stride[1], m);
                };
                if (!sizes.maximum) {
                    const Value part = b.apply(Opcode::op_mul, gradient, b.constant(1.0f / static_cast<float>(plane.window[0] * plane.window[1])));
                    windows([&](const Affine& py, const Affine& px) { add_to(py, px, part); });
                    return;
                }
                const auto load_x = [&](const Affine& py, const Affine& px) { return b.load(x, x.at({i[0], i[1], py, px}), plane.stride[1] * x.strides[3], m); };
                Value most = b.constant(-INFINITY);
                windows([&](const Affine& py, const Affine& px) { b.apply_into(most, Opcode::op_max, most, load_x(py, px)); });
                // What is left of the gradient: the first maximum takes all.
                Value left = b.constant(1);
                windows([&](const Affine& py, const Affine& px) {
                    const Value taken = b.apply(Opcode::op_mul, b.apply(Opcode::op_eq, load_x(py, px), most), left);
                    b.apply_into(left, Opcode::op_sub, left, taken);
                    add_to(py, px, b.apply(Opcode::op_mul, taken, gradient));
                });
            });
        });
        b.loop(plane.in[0], [&](const Affine& row) {
            b.vectors(plane.in[1], [&](const Affine& column, const std::vector<Mask>& m) {
                b.store(dx, dx.at({i[0], i[1], row, column}), b.load(sums, sums.at({row + Affine(plane.low[0]), column + Affine(plane.low[1])}), 1, m), dx.strides[3], m);
            });
        });
    });
}

}  // namespace heddle::lowering::on_cpu
