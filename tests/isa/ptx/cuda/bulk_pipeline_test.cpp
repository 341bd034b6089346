// Kernels built on mbarriers and bulk copies, against plain C++.
#include <catch2/catch.hpp>
#include <cstring>

#include "cuda_gpu.h"
#include "isa/ptx/tensor_map.h"

namespace heddle::ptx::test {

TEST_CASE("A producer warp and consumers with a ring of four stages", "[ptx][cuda][tensor]") {
    CudaGpu gpu("bulk_pipeline.ptx");
    const int tiles = 11, rows = 16 * tiles - 5;  // the last tile hangs over
    const std::vector<float> matrix = random_values<float>(static_cast<std::size_t>(rows) * 32, -100, 100, 1);
    const std::uint64_t in = gpu.upload(matrix), out = gpu.zeros<float>(32);
    TensorMap map;
    map.type = TensorMapType::float32;
    map.rank = 2;
    map.address = in;
    map.sizes = {32, static_cast<std::uint64_t>(rows)};
    map.strides = {128};
    map.box = {32, 16};
    map.swizzle = TensorMapSwizzle::bytes_128;
    gpu.run("column_sums", {2}, {128}, map.encode(), tiles, out);
    const std::vector<float> sums = gpu.download<float>(out, 32);
    for (std::size_t column = 0; column < 32; ++column) {
        float expected = 0;  // whole numbers: exact in any order
        for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
            expected += matrix[row * 32 + column];
        CHECK(sums[column] == 2 * expected);
    }
}

TEST_CASE("Blocks in and out with bulk copies and cuda::barrier", "[ptx][cuda][bulk]") {
    CudaGpu gpu("bulk_pipeline.ptx");
    const std::vector<int> x = random_values<int>(5 * 1024, -1000000, 1000000, 2);
    const std::uint64_t in = gpu.upload(x), out = gpu.zeros<int>(x.size());
    gpu.run("scale_blocks", {5}, {160}, in, out);
    const std::vector<int> y = gpu.download<int>(out, x.size());
    for (std::size_t k = 0; k < x.size(); ++k) REQUIRE(y[k] == 2 * x[k] + 1);
}

TEST_CASE("A histogram that a cluster gathers with red.async", "[ptx][cuda][bulk]") {
    CudaGpu gpu("bulk_pipeline.ptx");
    gpu.compares_modes = false;  // that is for CTAs without a cluster
    const std::vector<unsigned char> x = random_values<unsigned char>(10000, 0, 200, 3);
    const std::uint64_t in = gpu.upload(x), table = gpu.zeros<unsigned>(256);
    const Program& program = gpu.program("cluster_histogram");
    LaunchContext launch =
        program.launch(gpu, {4}, {96}, {argument(in), argument(10000), argument(table)}, Mode::functional);
    launch.cluster = {4};
    run_functionally(launch);
    std::vector<unsigned> expected(256);
    for (const unsigned char byte : x) ++expected[byte];
    CHECK(gpu.download<unsigned>(table, 256) == expected);
}

}  // namespace heddle::ptx::test
