// C = A B in f32, row-major, through tiles of 32 x 32 in shared memory; each thread makes 1 x 4 elements.
constexpr int kTile = 32, kPerThread = 4;

extern "C" __global__ void __launch_bounds__(256) sgemm(int m, int n, int k, const float* a, const float* b, float* c) {
    __shared__ float a_tile[kTile][kTile + 1];
    __shared__ float b_tile[kTile][kTile];
    const int column = blockIdx.x * kTile + threadIdx.x;
    const int row = blockIdx.y * kTile;
    float sum[kPerThread] = {};
    for (int first = 0; first < k; first += kTile) {
        for (int i = threadIdx.y; i < kTile; i += blockDim.y) {
            const int from_a = first + threadIdx.x, from_b = first + i;
            a_tile[i][threadIdx.x] = row + i < m && from_a < k ? a[(row + i) * k + from_a] : 0.0f;
            b_tile[i][threadIdx.x] = from_b < k && column < n ? b[from_b * n + column] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < kTile; ++i) {
            const float right = b_tile[i][threadIdx.x];
            for (int j = 0; j < kPerThread; ++j) sum[j] += a_tile[threadIdx.y * kPerThread + j][i] * right;
        }
        __syncthreads();
    }
    for (int j = 0; j < kPerThread; ++j) {
        const int to = row + threadIdx.y * kPerThread + j;
        if (to < m && column < n) c[to * n + column] = sum[j];
    }
}
