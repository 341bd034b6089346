// Which axis of an image lies side by side in memory: XLA's layout assignment, as far as a TPU's matrix units
// ask for it.
//
// The matrix units read an activation row as the channels of neighbouring pixels, so that images with
// channels last feed them as they lie; with channels first every convolution would turn its operands and its
// result. So the images of a step that nobody outside of it sees are kept with channels last, whatever their
// shape says:
//  - Convolutions, poolings and their gradients with "layout" nchw ask for it. Elementwise ops, casts, fills,
//    batch norms, concatenations and reductions that read or write such an image follow, and hand it on.
//  - What the step is given and leaves behind (images, weights, their optimizer's state) stays as it is.
//  Where one
//    of these, or an op that follows no layout (softmax, a flattening view, dropout's numbered mask), meets
//    such an image, one transpose is made, which all later readers of the same pass share: what the forward
//    pass turned is turned again by the backward pass and not held twice until then. The cast of a weight is
//    that transpose, too.
//  - Images of one pixel or one channel lie the same both ways: they are seen with the other shape.
//  - Transposes between the two orders that a program itself has beside its convolutions (as JAX prints them)
//    become views.
// XLA's layout assignment is documented (openxla.org, "Shapes and Layout"; layout_assignment.h): constraints
// of ops are propagated to operands and users, and copies are inserted where they meet. That its TPU backend
// wants channels in the lanes is known from the same pages ("tiled layout") and from JAX's and Flax's
// defaults.
#pragma once

#include <cstddef>

#include "workloads/trace/trace.h"

namespace heddle::fusion {

/// What a layout assignment changed.
struct LayoutCount {
    std::size_t images = 0;      ///< tensors that are kept with channels last
    std::size_t transposes = 0;  ///< copies that were inserted
};

/// Returns the same step with channels last inside. Tensors keep their numbers. Tensors with a new layout
/// have the shape [N, space..., C] afterwards, and ops that read or write them have the corresponding
/// attributes. A step without channels-first convolutions or poolings is returned unchanged.
trace::Trace lay_out_images(const trace::Trace& trace, LayoutCount* count = nullptr);

}  // namespace heddle::fusion
