// The phases of a strided convolution's data gradient: positions that are alike modulo the strides.
#include "workloads/kernels/convolution_writer.h"

namespace heddle::kernels {

/// Of positions p = stride * row + phase along an axis, the parts of the window (p + low) % stride +
/// stride
/// * j reach results row + (phase + low) / stride - j.
void ConvolutionWriter::set_up_phase(Reg phase) {
    phases_.resize(spec_.axes);
    phase_lows_.resize(spec_.axes);
    first_windows_.resize(spec_.axes);
    phase_windows_.resize(spec_.axes);
    Reg all;
    for (unsigned axis = spec_.axes; axis-- > 0;) {
        phases_[axis] = w_.make_b32("rem.u32", phase, steps_[axis]);
        if (axis > 0) phase = w_.make_b32("div.u32", phase, steps_[axis]);
        const Reg place = w_.make_b32("add.s32", phases_[axis], lows_[axis]);
        phase_lows_[axis] = w_.make_b32("div.u32", place, steps_[axis]);
        first_windows_[axis] = w_.make_b32("rem.u32", place, steps_[axis]);
        const Reg ahead = w_.make_b32(
            "sub.u32", w_.make_b32("add.u32", window_extents_[axis], w_.make_b32("sub.u32", steps_[axis], 1)),
            first_windows_[axis]);
        phase_windows_[axis] = w_.make_b32("div.u32", ahead, steps_[axis]);
        all = all.empty() ? phase_windows_[axis] : w_.make_b32("mul.lo.u32", all, phase_windows_[axis]);
    }
    m_ = phase_rows_;
    k_end_ = w_.make_b32("mul.lo.u32", all, inner_.divisor);
}

Reg ConvolutionWriter::whole_window(const Reg& position) {
    std::vector<Reg> own(spec_.axes);
    Reg rest = position;
    for (unsigned axis = spec_.axes; axis-- > 0;) {
        own[axis] = axis > 0 ? w_.make_b32("rem.u32", rest, phase_windows_[axis]) : rest;
        if (axis > 0) rest = w_.make_b32("div.u32", rest, phase_windows_[axis]);
    }
    Reg whole;
    for (unsigned axis = 0; axis < spec_.axes; ++axis) {
        const Reg place = multiply_add(own[axis], steps_[axis], first_windows_[axis]);
        whole = whole.empty() ? place : multiply_add(whole, window_extents_[axis], place);
    }
    return whole;
}

std::pair<Reg, Reg> ConvolutionWriter::phased_row(const Reg& row) {
    const auto [item, coordinates] = split_position(row);
    Reg position, inside;
    for (unsigned axis = 0; axis < spec_.axes; ++axis) {
        const Reg place = multiply_add(coordinates[axis], steps_[axis], phases_[axis]);
        inside = inside.empty() ? w_.make_predicate("setp.lt.u32", place, phase_extents_[axis])
                                : w_.make_predicate("setp.lt.and.u32", place, phase_extents_[axis], inside);
        position = position.empty() ? place : multiply_add(position, phase_extents_[axis], place);
    }
    return {w_.make_b64("mad.wide.u32", position, d_position_, w_.make_b64("mul.wide.u32", item, d_item_)),
            inside};
}

}  // namespace heddle::kernels
