// A third kind of machine, all of it in this folder: a device that reaches its peaks. An op takes as long as its operations or its
// bytes take, whichever is longer, after the time to begin.
#pragma once

#include "sim/machine/kinds.h"

namespace heddle::tests {

/// `kind: roofline` (roofline.yaml).
sim::MachineKind roofline_kind();

}  // namespace heddle::tests
