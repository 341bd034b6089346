// From a recording, whichever file it came from, to a Trace.
#pragma once

#include <string>

#include "workloads/importers/recording.h"
#include "workloads/trace/trace.h"

namespace heddle::importers {

/// Where kernels were recorded, every kernel and memory copy belongs to one op, with its measured time: rules
/// that go by the kernel's name come first (rules.h), then the op that launched it takes all its kernels
/// (operations.h); what is left is OpKind::unknown with attribute "reason". Where no kernels were recorded,
/// ops follow from calls alone.
///
/// Attributes beside those of the kind: "kernels" (how many, when several), "tile", "warpgroups" and
/// "stages" (of the kernel's name), "copy_elements" (that CUTLASS's kernels copy at a time), "slices" (of k,
/// of its grid), "layout", "vector_width", "elements_per_thread", "strided" (1: addresses go through offset
/// calculators), "casting" (1: element types are switched at run time), "thread_blocks" (of a collective's
/// kernel), "beside" (ops: collectives and copies between host and device of other streams that ran while it
/// did; "beside_start_ns": how long before it each began), "assumed" (what the recording did not say and
/// where it was taken from).
///
/// Tensors are places in memory: storages are the recording's, so dependencies follow from what each op reads
/// and overwrites there, together with the recorded ones between kernels.
trace::Trace import_recording(Recording recording, const std::string& name);

}  // namespace heddle::importers
