// Building blocks of kernels that work along rows: strided loops, and reductions over a warp or a CTA.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// The operation that combines two partial results.
enum class Combine : std::uint8_t { add, maximum, minimum };

/// d = combine(a, b) in f32, in place in `accumulator`.
void emit_combine(PtxWriter& w, Combine combine, const Reg& accumulator, const Reg& value);
/// The neutral element: 0, -infinity or infinity.
double identity_of(Combine combine);

/// Butterfly over `lanes` lanes (a power of two, 32 or fewer): every lane gets the result. In place.
void emit_warp_reduce(PtxWriter& w, Combine combine, const std::vector<Reg>& values, unsigned lanes = 32);

/// Over all threads of a CTA: warps by butterfly, then their results through shared memory. Every thread gets
/// the result. `shared`: an array of at least 4 * 32 * values.size() bytes, free for reuse after the next CTA
/// barrier. `tid` is the linear thread index, `threads` a multiple of 32. Contains one CTA barrier (none for
/// a single warp).
void emit_cta_reduce(PtxWriter& w, Combine combine, const std::vector<Reg>& values, const Reg& tid,
                     unsigned threads, const std::string& shared);

/// for (index; index < end; index += step): `body(count)` is called once for the unrolled loop, with count =
/// unroll positions at distances 0, step, 2 step, ..., and once for the rest, with count = 1. The pointers
/// move along; each is given with the bytes of one element.
struct StridedLoop {
    Reg index;
    Reg end;
    unsigned step = 1;
    unsigned unroll = 4;
    std::vector<std::pair<Reg, unsigned>> pointers;
};
void emit_strided_loop(PtxWriter& w, const StridedLoop& loop,
                       const std::function<void(unsigned count)>& body);

}  // namespace heddle::kernels
