// A barrier of the whole grid: all thread blocks run at once, and each round reads what other blocks wrote in the
// round before. Only a cooperative launch has such a barrier (cudaLaunchCooperativeKernel).
#include <cooperative_groups.h>

// Each round turns the values around and adds one to each, from one buffer to the other.
extern "C" __global__ void turn_around(float* here, float* there, int count, int rounds) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int round = 0; round < rounds; ++round) {
        const float* from = round % 2 == 0 ? here : there;
        float* to = round % 2 == 0 ? there : here;
        for (int i = static_cast<int>(grid.thread_rank()); i < count; i += static_cast<int>(grid.size()))
            to[i] = from[count - 1 - i] + 1;
        grid.sync();
    }
}
