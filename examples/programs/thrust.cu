// Algorithms of Thrust and CUB, which choose among their kernels by what the device and the program's code say of themselves.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <cub/device/device_histogram.cuh>
#include <numeric>

#include "check.h"

struct IsOdd {
    __host__ __device__ bool operator()(unsigned x) const { return x % 2 != 0; }
};

int main() {
    constexpr unsigned kCount = 20000;
    thrust::device_vector<unsigned> keys(kCount), values(kCount);
    thrust::host_vector<unsigned> numbers(kCount);
    unsigned seed = 1;
    for (unsigned& x : numbers) x = (seed = seed * 1664525u + 1013904223u) >> 12;
    keys = numbers;
    thrust::sequence(values.begin(), values.end());
    bool right = thrust::reduce(keys.begin(), keys.end(), 0ull) == std::accumulate(numbers.begin(), numbers.end(), 0ull);

    thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
    const thrust::host_vector<unsigned> sorted = keys, order = values;
    for (unsigned i = 0; i < kCount; ++i) right = right && numbers[order[i]] == sorted[i] && (i == 0 || sorted[i - 1] <= sorted[i]);

    thrust::device_vector<unsigned> sums(kCount);
    thrust::inclusive_scan(values.begin(), values.end(), sums.begin());
    right = right && sums[kCount - 1] == kCount / 2 * (kCount - 1) && sums[100] == thrust::reduce(values.begin(), values.begin() + 101);

    thrust::device_vector<unsigned> odd(kCount);
    const auto end = thrust::copy_if(keys.begin(), keys.end(), odd.begin(), IsOdd());
    long wanted = 0;
    for (const unsigned x : numbers) wanted += x % 2;
    right = right && end - odd.begin() == wanted;

    thrust::transform(values.begin(), values.end(), values.begin(), [] __device__(unsigned x) { return x / 10; });
    thrust::sort(values.begin(), values.end());
    right = right && thrust::unique(values.begin(), values.end()) - values.begin() == kCount / 10;

    unsigned* bins = nullptr;
    void* memory = nullptr;
    std::size_t bytes = 0;
    CHECK(cudaMallocManaged(&bins, 16 * sizeof *bins));
    CHECK(cub::DeviceHistogram::HistogramEven(nullptr, bytes, thrust::raw_pointer_cast(keys.data()), bins, 17, 0u, 1u << 20, static_cast<int>(kCount)));
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cub::DeviceHistogram::HistogramEven(memory, bytes, thrust::raw_pointer_cast(keys.data()), bins, 17, 0u, 1u << 20, static_cast<int>(kCount)));
    CHECK(cudaDeviceSynchronize());
    unsigned host_bins[16] = {};
    for (const unsigned x : numbers) ++host_bins[x >> 16];
    for (unsigned i = 0; i < 16; ++i) right = right && bins[i] == host_bins[i];
    return verdict(right, "algorithms");
}
