// Bytes and halves in words by the video instructions, and the place of the n-th set bit.
// ptx: video.ptx -arch=compute_90
extern "C" {

__global__ void nth_set_bit(const unsigned* x, const unsigned* z, unsigned* y) {
    const unsigned a = x[threadIdx.x], b = z[threadIdx.x];
    y[threadIdx.x] = __fns(a, b & 31, 1 + (b >> 5 & 3));
}

// Four bytes or two halves at a time.
__global__ void video(const unsigned* x, const unsigned* z, unsigned* y) {
    const unsigned a = x[threadIdx.x], b = z[threadIdx.x];
    unsigned* out = y + threadIdx.x * 32;
    out[0] = __vadd4(a, b);
    out[1] = __vsub4(a, b);
    out[2] = __vaddus4(a, b);
    out[3] = __vsubus4(a, b);
    out[4] = __vaddss4(a, b);
    out[5] = __vsubss4(a, b);
    out[6] = __vavgu4(a, b);
    out[7] = __vavgs4(a, b);
    out[8] = __vabsdiffu4(a, b);
    out[9] = __vabsdiffs4(a, b);
    out[10] = __vmaxu4(a, b);
    out[11] = __vmaxs4(a, b);
    out[12] = __vminu4(a, b);
    out[13] = __vmins4(a, b);
    out[14] = __vcmpeq4(a, b);
    out[15] = __vcmpgtu4(a, b);
    out[16] = __vcmples4(a, b);
    out[17] = __vsadu4(a, b);
    out[18] = __vsads4(a, b);
    out[19] = __vsetltu4(a, b);
    out[20] = __vnegss4(a);
    out[21] = __vabsss4(a);
    out[22] = __vadd2(a, b);
    out[23] = __vsub2(a, b);
    out[24] = __vaddss2(a, b);
    out[25] = __vsubus2(a, b);
    out[26] = __vmaxs2(a, b);
    out[27] = __vminu2(a, b);
    out[28] = __vsadu2(a, b);
    out[29] = __vcmpges2(a, b);
    out[30] = __vabsdiffu2(a, b);
    out[31] = __vavgs2(a, b);
}

}  // extern "C"
