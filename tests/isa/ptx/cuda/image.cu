// Filters of images: bytes, vectors of bytes, bilinear samples, runs of pixels.

// ptx: image.ptx -arch=compute_90
extern "C" {

// Edges of a grey image by the Sobel operator; a tile with a border of one pixel in shared memory.
__global__ void sobel(int width, int height, const unsigned char* image, unsigned char* edges) {
    __shared__ short tile[18][18];
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
        const int x = min(max(static_cast<int>(blockIdx.x * 16) + i % 18 - 1, 0), width - 1);
        const int y = min(max(static_cast<int>(blockIdx.y * 16) + i / 18 - 1, 0), height - 1);
        tile[i / 18][i % 18] = image[y * width + x];
    }
    __syncthreads();
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    const auto at = [&](int dx, int dy) { return tile[threadIdx.y + 1 + dy][threadIdx.x + 1 + dx]; };
    const int gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    const int gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    edges[y * width + x] = min(static_cast<int>(sqrtf(static_cast<float>(gx * gx + gy * gy))), 255);
}

// Another size by bilinear samples, without textures.
__global__ void resize(int width, int height, const uchar4* image, int new_width, int new_height,
                       uchar4* out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= new_width || y >= new_height) return;
    const float sx = fmaxf((x + 0.5f) * width / new_width - 0.5f, 0.0f);
    const float sy = fmaxf((y + 0.5f) * height / new_height - 0.5f, 0.0f);
    const int x0 = static_cast<int>(sx), y0 = static_cast<int>(sy);
    const int x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, height - 1);
    const float fx = sx - x0, fy = sy - y0;
    const uchar4 a = image[y0 * width + x0], b = image[y0 * width + x1], c = image[y1 * width + x0],
                 d = image[y1 * width + x1];
    const auto blend = [&](float p, float q, float r, float s) {
        const float top = __fmaf_rn(fx, q - p, p), bottom = __fmaf_rn(fx, s - r, r);
        return static_cast<unsigned char>(__float2int_rn(__fmaf_rn(fy, bottom - top, top)));
    };
    out[y * new_width + x] =
        make_uchar4(blend(a.x, b.x, c.x, d.x), blend(a.y, b.y, c.y, d.y), blend(a.z, b.z, c.z, d.z), 255);
}

// Colour to grey in integers, four pixels per thread.
__global__ void grey(int groups, const uchar3* image, uchar4* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= groups) return;
    unsigned char y[4];
    for (int p = 0; p < 4; ++p) {
        const uchar3 c = image[i * 4 + p];
        y[p] = (77 * c.x + 150 * c.y + 29 * c.z + 128) >> 8;
    }
    out[i] = make_uchar4(y[0], y[1], y[2], y[3]);
}

// Separable blur with weights in constant memory; rows by a sliding window of short vectors.
__constant__ float kernel[7] = {0.03125f, 0.109375f, 0.21875f, 0.28125f, 0.21875f, 0.109375f, 0.03125f};
__global__ void blur_rows(int width, const short2* image, float2* out) {
    const short2* row = image + blockIdx.x * width;
    for (int x = threadIdx.x; x < width; x += blockDim.x) {
        float2 sum = make_float2(0, 0);
        for (int k = -3; k <= 3; ++k) {
            const short2 v = row[(x + k + width) % width];
            sum.x += kernel[k + 3] * v.x;
            sum.y += kernel[k + 3] * v.y;
        }
        out[blockIdx.x * width + x] = sum;
    }
}

// Lengths of runs of equal pixels, one row per warp: heads by shuffles and ballots.
__global__ void runs(int width, const unsigned char* image, unsigned char* values, int* lengths,
                     int* counts) {
    const int lane = threadIdx.x, row = blockIdx.x;
    int count = 0, carry = -1, start = 0;
    for (int base = 0; base < width; base += 32) {
        const int x = base + lane;
        const int v = x < width ? image[row * width + x] : -1;
        int before = __shfl_up_sync(0xFFFFFFFFu, v, 1);
        if (lane == 0) before = carry;
        const unsigned heads = __ballot_sync(0xFFFFFFFFu, x < width && v != before);
        carry = __shfl_sync(0xFFFFFFFFu, v, 31);
        for (unsigned left = heads; left != 0; left &= left - 1) {
            const int place = base + __ffs(left) - 1;
            if (lane == 0) {
                if (count > 0) lengths[row * width + count - 1] = place - start;
                values[row * width + count] = image[row * width + place];
            }
            start = place;
            ++count;
        }
    }
    if (lane == 0) {
        lengths[row * width + count - 1] = width - start;
        counts[row] = count;
    }
}

}  // extern "C"
