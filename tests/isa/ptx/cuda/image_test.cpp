// Kernels of image.cu against plain C++.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

TEST_CASE("CUDA: edges of an image", "[ptx][cuda]") {
    CudaGpu gpu("image.ptx");
    const int width = 37, height = 21;
    const auto image = random_values<unsigned char>(width * height, 0, 255, 1);
    const auto py = gpu.zeros<unsigned char>(image.size());
    gpu.run("sobel", {3, 2}, {16, 16}, width, height, gpu.upload(image), py);
    const auto edges = gpu.download<unsigned char>(py, image.size());
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const auto at = [&](int dx, int dy) -> int {
                return image[std::clamp(y + dy, 0, height - 1) * width + std::clamp(x + dx, 0, width - 1)];
            };
            int gx = 0, gy = 0;
            for (int d = -1; d <= 1; ++d) {
                gx += (2 - std::abs(d)) * (at(1, d) - at(-1, d));
                gy += (2 - std::abs(d)) * (at(d, 1) - at(d, -1));
            }
            const int expected =
                std::min(static_cast<int>(std::sqrt(static_cast<float>(gx * gx + gy * gy))), 255);
            REQUIRE(edges[y * width + x] == expected);
        }
    }
}

TEST_CASE("CUDA: an image in another size, and in grey", "[ptx][cuda]") {
    CudaGpu gpu("image.ptx");
    const int width = 19, height = 13, new_width = 40, new_height = 9;
    const auto image = random_values<unsigned char>(4 * width * height, 0, 255, 2);
    const auto py = gpu.zeros<unsigned char>(4 * new_width * new_height);
    gpu.run("resize", {5, 2}, {8, 8}, width, height, gpu.upload(image), new_width, new_height, py);
    const auto out = gpu.download<unsigned char>(py, 4 * new_width * new_height);
    for (int y = 0; y < new_height; ++y) {
        for (int x = 0; x < new_width; ++x) {
            const double sx = std::max((x + 0.5) * width / new_width - 0.5, 0.0),
                         sy = std::max((y + 0.5) * height / new_height - 0.5, 0.0);
            const int x0 = static_cast<int>(sx), y0 = static_cast<int>(sy);
            const int x1 = std::min(x0 + 1, width - 1), y1 = std::min(y0 + 1, height - 1);
            for (int c = 0; c < 3; ++c) {
                const auto at = [&](int px, int py_) -> double { return image[4 * (py_ * width + px) + c]; };
                const double top = at(x0, y0) + (sx - x0) * (at(x1, y0) - at(x0, y0)),
                             bottom = at(x0, y1) + (sx - x0) * (at(x1, y1) - at(x0, y1));
                // Half a unit of rounding, and the error of positions in single precision.
                REQUIRE(std::fabs(out[4 * (y * new_width + x) + c] - (top + (sy - y0) * (bottom - top))) <=
                        0.501);
            }
            REQUIRE(out[4 * (y * new_width + x) + 3] == 255);
        }
    }

    const int groups = 50;
    const auto colours = random_values<unsigned char>(12 * groups, 0, 255, 3);
    const auto pg = gpu.zeros<unsigned char>(4 * groups);
    gpu.run("grey", {2}, {32}, groups, gpu.upload(colours), pg);
    const auto grey = gpu.download<unsigned char>(pg, 4 * groups);
    for (int i = 0; i < 4 * groups; ++i) {
        REQUIRE(grey[i] ==
                (77 * colours[3 * i] + 150 * colours[3 * i + 1] + 29 * colours[3 * i + 2] + 128) / 256);
    }
}

TEST_CASE("CUDA: a blur of rows, and runs of pixels", "[ptx][cuda]") {
    CudaGpu gpu("image.ptx");
    const int width = 75, rows = 4;
    const auto pairs = random_values<std::int16_t>(2 * width * rows, -3000, 3000, 4);
    const auto pb = gpu.zeros<float>(pairs.size());
    gpu.run("blur_rows", {rows}, {32}, width, gpu.upload(pairs), pb);
    const auto blurred = gpu.download<float>(pb, pairs.size());
    // In 32nds and 64ths: every sum is exact.
    const int weights[7] = {2, 7, 14, 18, 14, 7, 2};
    for (int i = 0; i < 2 * width * rows; ++i) {
        const int row = i / 2 / width, x = i / 2 % width;
        int sum = 0;
        for (int k = -3; k <= 3; ++k) {
            sum += weights[k + 3] * pairs[2 * (row * width + (x + k + width) % width) + i % 2];
        }
        REQUIRE(blurred[i] == static_cast<float>(sum) / 64);
    }

    const auto image = random_values<unsigned char>(width * rows, 0, 2, 5);
    const auto values = gpu.zeros<unsigned char>(image.size()), lengths = gpu.zeros<int>(image.size()),
               counts = gpu.zeros<int>(rows);
    gpu.run("runs", {rows}, {32}, width, gpu.upload(image), values, lengths, counts);
    const auto v = gpu.download<unsigned char>(values, image.size());
    const auto l = gpu.download<int>(lengths, image.size()), c = gpu.download<int>(counts, rows);
    for (int r = 0; r < rows; ++r) {
        std::vector<unsigned char> unpacked;
        for (int i = 0; i < c[r]; ++i) {
            unpacked.insert(unpacked.end(), static_cast<std::size_t>(l[r * width + i]), v[r * width + i]);
            if (i > 0) CHECK(v[r * width + i] != v[r * width + i - 1]);
        }
        CHECK(unpacked ==
              std::vector<unsigned char>(image.begin() + r * width, image.begin() + (r + 1) * width));
    }
}
