// Features of CUDA C++, compiled for every generation, and without optimisation (-G): local memory and
// generic addresses everywhere.

// ptx: language_75.ptx -arch=compute_75
// ptx: language_80.ptx -arch=compute_80
// ptx: language_89.ptx -arch=compute_89
// ptx: language_90.ptx -arch=compute_90
// ptx: language_debug.ptx -arch=compute_80 -G
// ptx: language_fast.ptx -arch=compute_90 -use_fast_math -maxrregcount=32
#include <cstdio>

__constant__ int weights[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__device__ int counter = 10;
__device__ float table[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};

// Solutions of the queens' problem below a first row, by recursion.
__device__ int queens(int n, unsigned columns, unsigned left, unsigned right) {
    const unsigned all = (1u << n) - 1;
    if (columns == all) return 1;
    int count = 0;
    for (unsigned open = all & ~(columns | left | right); open != 0; open &= open - 1) {
        const unsigned place = open & -open;
        count += queens(n, columns | place, (left | place) << 1, (right | place) >> 1);
    }
    return count;
}

template <int kSize, class Function>
__device__ void for_each_of(int (&values)[kSize], Function function) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) function(values[i], i);
}

struct Shape {
    __device__ virtual float area() const = 0;
    float scale = 1;
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float s) : side(s) {}
    __device__ float area() const override { return scale * side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ explicit Circle(float r) : radius(r) {}
    __device__ float area() const override { return scale * 3.0f * radius * radius; }
};

struct Matrix3 {
    float m[3][3];
    __device__ Matrix3 operator*(const Matrix3& other) const {
        Matrix3 product;
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                product.m[i][j] = 0;
                for (int k = 0; k < 3; ++k) product.m[i][j] += m[i][k] * other.m[k][j];
            }
        }
        return product;
    }
};

extern "C" {

__global__ void count_queens(int n, int* solutions) {
    const unsigned place = 1u << threadIdx.x;
    if (threadIdx.x < n) solutions[threadIdx.x] = queens(n, place, place << 1, place >> 1);
}

__global__ void __launch_bounds__(64, 2) mixture(const int* x, int* y, float* z) {
    extern __shared__ int scratch[];
    const int t = threadIdx.x;
    int values[8];
    for_each_of(values, [&](int& v, int i) { v = x[(t + i) % 64] * weights[i]; });
    int sum = 0;
    for_each_of(values, [&sum](int& v, int i) { sum += i % 2 == 0 ? v : v / 3; });
    scratch[t] = sum;
    __syncthreads();
    volatile int* again = scratch;
    again[t] = again[t] + 1;
    const int first = __ldg(x + t) + __ldcg(x + 1) + __ldca(x + 2) + __ldcs(x + 3) + __ldcv(x + 4);
    __syncthreads();
    y[t] = scratch[63 - t] + first + values[t & 7];
    __syncthreads();
    // Pointers whose space is known at run time only.
    int* somewhere = t % 3 == 0 ? &scratch[t] : t % 3 == 1 ? &values[t & 7] : &y[64 + t];
    *somewhere = t * 10;
    __syncthreads();
    y[128 + t] = scratch[t] + values[t & 7];
    float product = 1;
    for (int i = 0; i < 4; ++i) product *= table[i][t % 3];
    z[t] = product;
    if (t == 0) atomicAdd(&counter, 5);
}

__global__ void shapes(float* y) {
    Square square(threadIdx.x);
    Circle circle(threadIdx.x + 1);
    square.scale = 2;
    const Shape* shape = threadIdx.x % 3 == 0 ? static_cast<const Shape*>(&square) : &circle;
    y[threadIdx.x] = shape->area();
    Matrix3 a, power;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            a.m[i][j] = (i * 3 + j + threadIdx.x) % 4;
            power.m[i][j] = i == j;
        }
    }
    for (int i = 0; i < 3; ++i) power = power * a;
    y[32 + threadIdx.x] = power.m[threadIdx.x % 3][threadIdx.x / 3 % 3];
}

__global__ void report(int n) {
    if (threadIdx.x < n) {
        printf("thread %d of %u: %5.2f %c%s\n", threadIdx.x, blockDim.x, threadIdx.x * 0.75,
               'a' + threadIdx.x, threadIdx.x % 2 ? " odd" : "");
    }
}

}  // extern "C"
