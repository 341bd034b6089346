// Kernels whose threads wait for one another in loops: what hangs simulators that do not let a waiting warp
// give way, or that cannot fill a machine with tiny blocks.
#pragma once

#include <string>

namespace heddle::models::gpu {

/// Parameters: p0 the sum (u32), p1 unused. Each block of 8 threads (a quarter of a warp) adds its lanes up
/// through shared memory, with barriers, and adds one sum to p0.
inline std::string eight_thread_blocks() {
    return R"(
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 8, %r1;
    shl.b32 %r4, %r1, 2;
    mov.u32 %r5, smem;
    add.u32 %r5, %r5, %r4;
    st.shared.u32 [%r5], %r3;
    mov.u32 %r6, 4;
step:
    bar.sync 0;
    setp.ge.u32 %p1, %r1, %r6;
    @%p1 bra skip;
    shl.b32 %r7, %r6, 2;
    add.u32 %r8, %r5, %r7;
    ld.shared.u32 %r9, [%r5];
    ld.shared.u32 %r10, [%r8];
    add.u32 %r9, %r9, %r10;
    st.shared.u32 [%r5], %r9;
skip:
    shr.u32 %r6, %r6, 1;
    setp.ne.u32 %p2, %r6, 0;
    @%p2 bra step;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 bra end;
    ld.shared.u32 %r11, [%r5];
    red.global.add.u32 [%rd1], %r11;
end:
)";
}

/// Split-K as CUTLASS does it serially: p0 D (u32 per tile), p1 the semaphores (u32 per tile, zeros), p2 the
/// number of slices. Block b works on tile b / slices, slice b mod slices; it may add to D only when the
/// semaphore has counted all slices before its own.
inline std::string serial_split_k() {
    return R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    ld.param.u64 %rd3, [p2];
    cvt.u32.u64 %r1, %rd3;
    mov.u32 %r2, %ctaid.x;
    div.u32 %r3, %r2, %r1;
    rem.u32 %r4, %r2, %r1;
    mad.wide.u32 %rd4, %r3, 4, %rd1;
    mad.wide.u32 %rd5, %r3, 4, %rd2;
    mov.u32 %r5, %tid.x;
    setp.ne.u32 %p1, %r5, 0;
    @%p1 bra wait_for_turn;
spin:
    ld.acquire.gpu.global.u32 %r6, [%rd5];
    setp.ne.u32 %p2, %r6, %r4;
    @%p2 bra spin;
wait_for_turn:
    bar.sync 0;
    @%p1 bra end;
    ld.global.cg.u32 %r7, [%rd4];
    mad.lo.u32 %r7, %r7, 3, %r4;
    st.global.u32 [%rd4], %r7;
    fence.acq_rel.gpu;
    add.u32 %r8, %r4, 1;
    st.release.gpu.global.u32 [%rd5], %r8;
end:
)";
}

/// A barrier of the whole grid: p0 a counter (u32, 0), p1 the result of each block (u32). All blocks must be
/// there at once.
inline std::string grid_barrier() {
    return R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %nctaid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r9, 1;
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra passed;
    red.release.gpu.global.add.u32 [%rd1], %r9;
spin:
    ld.acquire.gpu.global.u32 %r4, [%rd1];
    setp.lt.u32 %p2, %r4, %r2;
    @%p2 bra spin;
passed:
    bar.sync 0;
    @%p1 bra end;
    mad.wide.u32 %rd3, %r3, 4, %rd2;
    ld.global.cg.u32 %r5, [%rd1];
    st.global.u32 [%rd3], %r5;
end:
)";
}

/// Every thread, the lanes of one warp too, takes a lock (p0, u32, 0) in turn and adds 1 to p1 (u32).
inline std::string lock_of_each_lane() {
    return R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    mov.u32 %r2, 0;
    mov.u32 %r3, 1;
spin:
    atom.acquire.gpu.global.cas.b32 %r1, [%rd1], %r2, %r3;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra spin;
    ld.global.cg.u32 %r4, [%rd2];
    add.u32 %r4, %r4, 1;
    st.global.u32 [%rd2], %r4;
    fence.acq_rel.gpu;
    atom.release.gpu.global.exch.b32 %r5, [%rd1], 0;
)";
}

}  // namespace heddle::models::gpu
