// Hopper's warpgroup products. Tiles are put into shared memory by plain stores, swizzled by hand.
// ptx: wgmma.ptx -arch=compute_90a
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

// D = A B (+ D), both operands in shared memory, k contiguous.
__device__ void multiply(float (&d)[32], unsigned long long a, unsigned long long b, int adds) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, adds, 1, "
        "1, 0, 0;\n}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(adds));
}

// D = -A B (+ D), A in registers, B in shared memory with its columns contiguous.
__device__ void multiply(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int adds) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, "
        "%35}, %36, adds, 1, -1, 1;\n}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

__device__ void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ void end_group() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kLeft>
__device__ void wait_for_groups() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// Stores of this thread become visible to the tensor core.
__device__ void publish_tile() {
    asm volatile("fence.proxy.async;" ::: "memory");
}

// Lines of 128 bytes with the 128-byte swizzle; 1024 bytes to the next 8 lines.
__device__ unsigned long long descriptor(const void* tile) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    return (address & 0x3FFFFull) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// 64 lines of 128 bytes from rows that lie `stride` elements apart; chunk c of line l goes to place c ^ l
// % 8.
template <class T>
__device__ void copy_tile(T* tile, const T* from, int stride) {
    for (int i = threadIdx.x; i < 64 * 8; i += blockDim.x) {
        const int line = i / 8, chunk = i % 8;
        reinterpret_cast<uint4*>(tile)[line * 8 + (chunk ^ line % 8)] =
            *reinterpret_cast<const uint4*>(from + line * stride + chunk * 8);
    }
}

__device__ void store_tile(float* c, int stride, const float (&d)[32]) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    for (int i = 0; i < 32; ++i) c[(row + i / 2 % 2 * 8) * stride + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

}  // namespace

extern "C" {

// C = A B, A is m x k, B given as n x k: two stages, products of one tile while the next is copied.
__global__ void __launch_bounds__(128)
    gemm_staged(int n, int k, const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
    __shared__ __align__(1024) __nv_bfloat16 a_tile[2][64 * 64], b_tile[2][64 * 64];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    float d[32];
    for (int i = 0; i < 32; ++i) d[i] = -1;  // not to be added
    for (int t = 0; t < k / 64; ++t) {
        const int stage = t % 2;
        copy_tile(a_tile[stage], a + row * k + t * 64, k);
        copy_tile(b_tile[stage], b + column * k + t * 64, k);
        publish_tile();
        __syncthreads();
        begin_products();
        // 16 elements along k are 32 bytes further in each line.
        for (int step = 0; step < 4; ++step) {
            multiply(d, descriptor(a_tile[stage]) + 2 * step, descriptor(b_tile[stage]) + 2 * step,
                     t + step != 0);
        }
        end_group();
        wait_for_groups<1>();
    }
    wait_for_groups<0>();
    store_tile(c + row * n + column, n, d);
}

// C = -A B, B is k x n: A goes from global memory to registers.
__global__ void __launch_bounds__(128)
    gemm_from_registers(int n, int k, const __half* a, const __half* b, float* c) {
    __shared__ __align__(1024) __half b_tile[64 * 64];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, lane = threadIdx.x % 32;
    const __half* mine = a + (row + threadIdx.x / 32 * 16 + lane / 4) * k + lane % 4 * 2;
    float d[32];
    for (int t = 0; t < k; t += 64) {
        copy_tile(b_tile, b + t * n + column, n);
        publish_tile();
        __syncthreads();
        for (int step = 0; step < 4; ++step) {
            unsigned fragment[4];
            for (int i = 0; i < 4; ++i) {
                fragment[i] =
                    *reinterpret_cast<const unsigned*>(mine + i % 2 * 8 * k + t + step * 16 + i / 2 * 8);
            }
            begin_products();
            // 16 lines of k.
            multiply(d, fragment, descriptor(b_tile + step * 16 * 64), t + step != 0);
            end_group();
            wait_for_groups<0>();
        }
        __syncthreads();
    }
    store_tile(c + row * n + column, n, d);
}

}  // extern "C"
