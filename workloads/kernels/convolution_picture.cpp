// Where an element of a convolution's matrices lies in memory: positions, windows, padding.
#include "workloads/kernels/convolution_writer.h"

namespace heddle::kernels {
namespace {

// Words after each row of a tile of f32: vectors of rows stay aligned; rows of tf32 fragments lie in banks of
// their own.
constexpr unsigned kVectorPadding = 4, kTf32Padding = 8;

}  // namespace

Reg ConvolutionWriter::multiply_add(const Reg& x, const Reg& y, const Reg& sum) {
    return sum.empty() ? w_.make_b32("mul.lo.s32", x, y) : w_.make_b32("mad.lo.s32", x, y, sum);
}

std::pair<Reg, std::vector<Reg>> ConvolutionWriter::split_position(const Reg& index) {
    std::vector<Reg> coordinates(spec_.axes);
    Reg rest = index;
    for (unsigned axis = spec_.axes; axis-- > 0;) {
        const Reg next = w_.divide_fast(rest, position_dividers_[axis]);
        coordinates[axis] = w_.remainder_fast(rest, next, position_dividers_[axis]);
        rest = next;
    }
    return {rest, coordinates};
}

ConvolutionPart ConvolutionWriter::picture_position(const Reg& index) {
    const auto [item, coordinates] = split_position(index);
    ConvolutionPart part;
    part.offset = w_.make_b32("mul.lo.s32", item, image_item_);
    for (unsigned axis = 0; axis < spec_.axes; ++axis) {
        const Reg start =
            data_grad()
                ? w_.make_b32("add.s32", coordinates[axis], spec_.phased ? phase_lows_[axis] : lows_[axis])
                : w_.make_b32("sub.s32", multiply_add(coordinates[axis], steps_[axis], {}), lows_[axis]);
        part.coordinates.push_back(start);
        if (!spec_.strided) part.offset = multiply_add(start, image_strides_[axis], part.offset);
    }
    return part;
}

std::pair<Reg, Reg> ConvolutionWriter::split_window(const Reg& index) {
    const Reg outer = w_.divide_fast(index, inner_);
    const Reg inner = w_.remainder_fast(index, outer, inner_);
    return spec_.channels_last ? std::pair{inner, outer} : std::pair{outer, inner};
}

ConvolutionPart ConvolutionWriter::picture_window(const Reg& index) {
    const auto [channel, position] = split_window(index);
    ConvolutionPart part;
    part.offset = w_.make_b32("mul.lo.s32", channel, image_channel_);
    std::vector<Reg> coordinates(spec_.axes);
    Reg rest = position, position_left = position;
    for (unsigned axis = spec_.axes; axis-- > 0;) {
        Reg own = rest;
        if (axis > 0 && !spec_.phased) {
            const Reg next = w_.divide_fast(rest, window_dividers_[axis]);
            own = w_.remainder_fast(rest, next, window_dividers_[axis]);
            rest = next;
        }
        if (spec_.phased && axis > 0) {
            own = w_.make_b32("rem.u32", position_left, phase_windows_[axis]);
            position_left = w_.make_b32("div.u32", position_left, phase_windows_[axis]);
        } else if (spec_.phased) {
            own = position_left;
        }
        Reg distance = spec_.phased ? own : multiply_add(own, dilations_[axis], {});
        if (data_grad()) distance = w_.make_b32("neg.s32", distance);
        coordinates[axis] = distance;
    }
    for (unsigned axis = 0; axis < spec_.axes; ++axis) {
        part.coordinates.push_back(coordinates[axis]);
        if (!spec_.strided) part.offset = multiply_add(coordinates[axis], image_strides_[axis], part.offset);
    }
    return part;
}

std::pair<Reg, Reg> ConvolutionWriter::locate_in_picture(const Reg& base, const ConvolutionPart& row,
                                                         const ConvolutionPart& k) {
    Reg offset = w_.make_b32("add.s32", row.offset, k.offset);
    Reg guard;
    const auto require = [&](const std::string& opcode, const Reg& x, const Reg& y) {
        guard = guard.empty() ? w_.make_predicate("setp." + opcode, x, y)
                              : w_.make_predicate("setp." + opcode.substr(0, 2) + ".and" + opcode.substr(2),
                                                  x, y, guard);
    };
    for (unsigned axis = 0; axis < spec_.axes; ++axis) {
        const Reg place = w_.make_b32("add.s32", row.coordinates[axis], k.coordinates[axis]);
        if (!spec_.strided) {
            require("lt.u32", place, extents_[axis]);  // negative: large
            continue;
        }
        require("ge.s32", place, "0");
        const Reg safe = w_.make_b32("max.s32", place, 0);
        const Reg index = w_.divide_fast(safe, step_dividers_[axis]);
        require("eq.u32", w_.remainder_fast(safe, index, step_dividers_[axis]), "0");
        require("lt.u32", index, extents_[axis]);
        offset = multiply_add(index, image_strides_[axis], offset);
    }
    return {address(base, offset), guard};
}

Reg ConvolutionWriter::address(const Reg& base, const Reg& offset) {
    const Reg bytes = w_.make_b64("mul.wide.s32", offset, bytes_of(spec_.type));
    return w_.make_b64("add.s64", base, bytes);
}

ConvolutionLoader ConvolutionWriter::loader(bool is_a, std::uint32_t shared_offset) {
    const bool weight_grad = spec_.pass == ConvolutionPass::weight_grad;
    const bool picture = is_a != weight_grad;
    // Which way memory goes on: channels last along channels or filters, which are k in the forward and
    // the data's gradient; channels first along positions.
    bool along_k = picture ? !weight_grad : !weight_grad && !data_grad();
    if (!spec_.channels_last) along_k = weight_grad || !picture;
    const ConvolutionLoader::Shape shape{spec_.type,
                                         is_a ? spec_.tile_m : spec_.tile_n,
                                         tile_k_,
                                         threads_,
                                         is_a ? spec_.vector_a : spec_.vector_b,
                                         along_k,
                                         spec_.tf32 ? kTf32Padding : kVectorPadding,
                                         shared_offset,
                                         tf32_ring(spec_),
                                         spec_.wgmma && !along_k};
    (is_a ? a_along_k_ : b_along_k_) = along_k;
    const Reg& base = is_a ? a_ : b_;
    if (picture) {
        const auto position = [this](const Reg& index) { return picture_position(index); };
        const auto window = [this](const Reg& index) { return picture_window(index); };
        const auto locate = [this, base](const ConvolutionPart& row, const ConvolutionPart& k) {
            return locate_in_picture(base, row, k);
        };
        if (is_a) return ConvolutionLoader(w_, shape, position, window, locate);
        return ConvolutionLoader(w_, shape, window, position, locate);
    }
    const auto row = [this](const Reg& index) {
        return ConvolutionPart{multiply_add(index, other_row_, {}), {}};
    };
    const auto k = [this, weight_grad](const Reg& index) {
        if (weight_grad) {
            const auto [item, coordinates] = split_position(index);
            Reg offset = w_.make_b32("mul.lo.s32", item, other_item_);
            for (unsigned axis = 0; axis < spec_.axes; ++axis)
                offset = multiply_add(coordinates[axis], other_strides_[axis], offset);
            return ConvolutionPart{offset, {}};
        }
        if (!data_grad()) return ConvolutionPart{index, {}};
        auto [channel, position] = split_window(index);
        if (spec_.phased) position = whole_window(position);
        return ConvolutionPart{
            multiply_add(channel, other_channel_, multiply_add(position, other_window_, {})), {}};
    };
    const auto locate = [this, base](const ConvolutionPart& r, const ConvolutionPart& c) {
        return std::pair{address(base, w_.make_b32("add.s32", r.offset, c.offset)), Reg{}};
    };
    return ConvolutionLoader(w_, shape, row, k, locate);
}

}  // namespace heddle::kernels
