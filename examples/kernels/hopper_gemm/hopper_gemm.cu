// C = A B^T on a Hopper GPU: bf16 in, f32 out. A is m x k and B is n x k, both with k contiguous, C is row-major.
//
// One warp asks the tensor memory accelerator for tiles, two warpgroups multiply them. A ring of kStages tiles lies
// between: `full` says that a tile has arrived, `empty` that both warpgroups are done with it. Tiles are 64 elements
// of k wide, which is 128 bytes: one row of the 128-byte swizzle that wgmma reads.
#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 3;
constexpr int kWarpgroups = 2;                    // each 64 rows
constexpr int kThreads = 128 * kWarpgroups + 32;  // and the producer
constexpr int kTileABytes = kTileM * kTileK * 2, kTileBBytes = kTileN * kTileK * 2;

__device__ uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void initialise(uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

__device__ void arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ void arrive_and_expect(uint64_t* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ void wait(uint64_t* barrier, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

__device__ void load_tile(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
            "r"(shared_address(to)),
        "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
        : "memory");
}

/// A matrix descriptor: rows of 128 bytes, swizzled over 8 rows, 1024 bytes from one group of 8 rows to the next.
__device__ uint64_t descriptor(const void* tile) {
    const uint64_t address = (shared_address(tile) & 0x3ffff) >> 4;
    return address | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

/// 64 x 128 += 64 x 16 times 16 x 128.
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
          "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
          "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "l"(a), "l"(b));
}

__device__ void produce(const CUtensorMap* a, const CUtensorMap* b, int tiles, unsigned char* a_tiles,
                        unsigned char* b_tiles, uint64_t* full, uint64_t* empty) {
    for (int tile = 0; tile < tiles; ++tile) {
        const int stage = tile % kStages;
        // The first time round nobody has to have emptied it: the phase before the first counts as complete.
        wait(&empty[stage], tile / kStages % 2 ^ 1);
        arrive_and_expect(&full[stage], kTileABytes + kTileBBytes);
        load_tile(a_tiles + stage * kTileABytes, a, tile * kTileK, blockIdx.y * kTileM, &full[stage]);
        load_tile(b_tiles + stage * kTileBBytes, b, tile * kTileK, blockIdx.x * kTileN, &full[stage]);
    }
}

__device__ void consume(float* c, int n, int tiles, const unsigned char* a_tiles, const unsigned char* b_tiles,
                        uint64_t* full, uint64_t* empty) {
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
    float sum[64] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        const int stage = tile % kStages;
        wait(&full[stage], tile / kStages % 2);
        const unsigned char* left = a_tiles + stage * kTileABytes + warpgroup * 64 * kTileK * 2;
        const unsigned char* right = b_tiles + stage * kTileBBytes;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < kTileK; k += 16) multiply(sum, descriptor(left + k * 2), descriptor(right + k * 2));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (thread == 0) arrive(&empty[stage]);
    }
    // A warp holds 16 rows: a lane's numbers lie in rows lane / 4 and 8 below, two beside each other.
    const int row = blockIdx.y * kTileM + warpgroup * 64 + thread / 32 * 16 + thread % 32 / 4;
    const int column = blockIdx.x * kTileN + thread % 4 * 2;
    for (int i = 0; i < 16; ++i) {
        float* to = c + row * n + column + i * 8;
        *reinterpret_cast<float2*>(to) = make_float2(sum[i * 4], sum[i * 4 + 1]);
        *reinterpret_cast<float2*>(to + 8 * n) = make_float2(sum[i * 4 + 2], sum[i * 4 + 3]);
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int n, int k) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ __align__(8) uint64_t full[kStages], empty[kStages];
    // The swizzle is a matter of the address: tiles begin at multiples of 1024 bytes.
    unsigned char* a_tiles = tiles + (1024 - shared_address(tiles) % 1024) % 1024;
    unsigned char* b_tiles = a_tiles + kStages * kTileABytes;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            initialise(&full[stage], 1);
            initialise(&empty[stage], kWarpgroups);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128 * kWarpgroups) {
        consume(c, n, k / kTileK, a_tiles, b_tiles, full, empty);
    } else if (threadIdx.x == 128 * kWarpgroups) {
        produce(&a, &b, k / kTileK, a_tiles, b_tiles, full, empty);
    }
}
