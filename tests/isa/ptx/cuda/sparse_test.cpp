// Kernels of sparse.cu against plain C++.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string_view>

#include "cuda_gpu.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

struct Graph {
    std::vector<int> start{0}, neighbour;
};

Graph random_graph(int nodes, int smallest_degree, int largest_degree, unsigned seed) {
    std::mt19937 generator(seed);
    Graph graph;
    for (int i = 0; i < nodes; ++i) {
        const auto choices = static_cast<unsigned>(largest_degree - smallest_degree + 1);
        const int degree = smallest_degree + static_cast<int>(generator() % choices);
        for (int e = 0; e < degree; ++e) {
            graph.neighbour.push_back(static_cast<int>(generator() % static_cast<unsigned>(nodes)));
        }
        graph.start.push_back(static_cast<int>(graph.neighbour.size()));
    }
    return graph;
}

}  // namespace

TEST_CASE("CUDA: sparse matrix times vector", "[ptx][cuda]") {
    CudaGpu gpu("sparse.ptx");
    const int rows = 37;
    const Graph graph = random_graph(rows, 0, 70, 1);
    // Small integers: sums are exact in any order.
    const auto values = random_values<double>(graph.neighbour.size(), -9, 9, 2);
    const auto x = random_values<double>(rows, -99, 99, 3);
    const auto py = gpu.zeros<double>(rows);
    gpu.run("spmv_csr", {10}, {128}, rows, gpu.upload(graph.start), gpu.upload(graph.neighbour),
            gpu.upload(values), gpu.upload(x), py);
    const auto y = gpu.download<double>(py, rows);
    for (int r = 0; r < rows; ++r) {
        double sum = 0;
        for (int e = graph.start[r]; e < graph.start[r + 1]; ++e) sum += values[e] * x[graph.neighbour[e]];
        CHECK(y[r] == sum);
    }
}

TEST_CASE("CUDA: breadth-first search", "[ptx][cuda]") {
    CudaGpu gpu("sparse.ptx");
    const int nodes = 500;
    const Graph graph = random_graph(nodes, 1, 3, 4);
    std::vector<int> expected(nodes, -1), queue{0};
    expected[0] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        for (int e = graph.start[queue[i]]; e < graph.start[queue[i] + 1]; ++e) {
            int& level = expected[graph.neighbour[e]];
            if (level == -1) {
                level = expected[queue[i]] + 1;
                queue.push_back(graph.neighbour[e]);
            }
        }
    }
    std::vector<int> level(nodes, -1);
    level[0] = 0;
    const auto start = gpu.upload(graph.start), neighbour = gpu.upload(graph.neighbour),
               levels = gpu.upload(level);
    std::vector<int> frontier{0};
    for (int depth = 1; !frontier.empty(); ++depth) {
        const auto next = gpu.zeros<int>(nodes), size = gpu.zeros<int>(1);
        const int count = static_cast<int>(frontier.size());
        gpu.run("bfs_level", {static_cast<unsigned>(count + 63) / 64}, {64}, start, neighbour,
                gpu.upload(frontier), count, next, size, levels, depth);
        frontier = gpu.download<int>(next, gpu.download<int>(size, 1)[0]);
    }
    CHECK(gpu.download<int>(levels, nodes) == expected);
    CHECK(*std::max_element(expected.begin(), expected.end()) > 5);
}

TEST_CASE("CUDA: histogram and every atomic", "[ptx][cuda]") {
    CudaGpu gpu("sparse.ptx");
    const int n = 3001;
    const auto bytes = random_values<unsigned char>(n, 0, 199, 5);
    const auto bins = gpu.zeros<std::uint64_t>(64);
    gpu.run("histogram", {3}, {128}, n, gpu.upload(bytes), bins);
    std::vector<std::uint64_t> expected(64);
    for (const unsigned char b : bytes) ++expected[b >> 2];
    CHECK(gpu.download<std::uint64_t>(bins, 64) == expected);

    const int count = 250;
    const auto x = random_values<int>(count, -5000, 5000, 6);
    std::vector<long long> wide{0, 0, 0, static_cast<long long>(0xFFF0000000000000ull)};  // minus infinity
    std::vector<int> before(20);
    before[19] = 55;
    const auto results = gpu.upload(before), pw = gpu.upload(wide), pf = gpu.zeros<float>(1),
               pd = gpu.zeros<double>(1);
    gpu.run("atomics", {1}, {96}, gpu.upload(x), count, results, pw, pf, pd);
    std::vector<int> r(8);
    r[4] = -1;
    unsigned inc = 0, dec = 0, largest = 0;
    float real = 0;
    double real64 = 0;
    for (const int v : x) {
        r[0] += v;
        r[1] -= v;
        r[2] = std::min(r[2], v);
        r[3] = std::max(r[3], v);
        r[4] &= v | 0x0F0F0000;
        r[5] |= v;
        r[6] ^= v;
        inc = inc >= 100 ? 0 : inc + 1;
        dec = dec == 0 || dec > 77 ? 77 : dec - 1;
        largest = std::max(largest, static_cast<unsigned>(v));
        wide[0] = std::min(wide[0], v * 1048576ll);
        wide[1] = std::max(wide[1], v * 1048576ll);
        wide[2] ^= v * 1048576ll;
        real += 0.25f * static_cast<float>(v & 3);
        real64 += 0.125 * v;
    }
    const auto given = gpu.download<int>(results, 20);
    for (int i = 0; i < 7; ++i) CHECK(given[i] == r[i]);
    CHECK(given[8] == static_cast<int>(inc));
    CHECK(given[9] == static_cast<int>(dec));
    CHECK(given[10] == static_cast<int>(largest));
    CHECK(given[12] == count);
    CHECK(given[16] == r[0]);
    CHECK(given[17] == r[0]);
    CHECK(given[18] == 55);
    CHECK(given[19] == 1234);
    const auto wide_given = gpu.download<long long>(pw, 4);
    for (int i = 0; i < 3; ++i) CHECK(wide_given[i] == wide[i]);
    CHECK(std::bit_cast<double>(wide_given[3]) == *std::max_element(x.begin(), x.begin() + 96) * 0.1);
    CHECK(gpu.download<float>(pf, 1)[0] == real);
    CHECK(gpu.download<double>(pd, 1)[0] == real64);
}

TEST_CASE("CUDA: the game of life on a torus", "[ptx][cuda]") {
    CudaGpu gpu("sparse.ptx");
    const int width = 45, height = 30;
    auto cells = random_values<unsigned char>(width * height, 0, 1, 7);
    auto now = gpu.upload(cells), next = gpu.zeros<unsigned char>(cells.size());
    for (int generation = 0; generation < 3; ++generation) {
        gpu.run("life", {3, 4}, {16, 8}, width, height, now, next);
        std::swap(now, next);
        auto after = cells;
        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
                int alive = -cells[y * width + x];
                for (int dy = -1; dy <= 1; ++dy) {
                    for (int dx = -1; dx <= 1; ++dx) {
                        alive += cells[(y + dy + height) % height * width + (x + dx + width) % width];
                    }
                }
                after[y * width + x] = alive == 3 || (alive == 2 && cells[y * width + x] == 1) ? 1 : 0;
            }
        }
        cells = after;
        REQUIRE(gpu.download<unsigned char>(now, cells.size()) == cells);
    }
}

TEST_CASE("CUDA: words in a text, and the distance of two texts", "[ptx][cuda]") {
    CudaGpu gpu("sparse.ptx");
    const std::string text =
        "a warp has lanes; ab-abab: a lane of a warp runs beside the other lanes of the warp, war or wa";
    const std::vector<char> characters(text.begin(), text.end());
    const int length = static_cast<int>(text.size());
    const auto pt = gpu.upload(characters), count = gpu.zeros<int>(3),
               first = gpu.upload(std::vector<int>(3, 1 << 30));
    gpu.run("find_words", {2}, {32}, pt, length, count, first);
    const std::string_view words[3] = {"warp", "lane", "ab"};
    for (int w = 0; w < 3; ++w) {
        int found = 0;
        for (std::size_t i = text.find(words[w]); i != std::string::npos; i = text.find(words[w], i + 1)) {
            ++found;
        }
        CHECK(gpu.download<int>(count, 3)[w] == found);
        CHECK(gpu.download<int>(first, 3)[w] == static_cast<int>(text.find(words[w])));
    }

    const std::string other =
        "the warp has a lane; abba: lanes of a warp run beside the others, or was it war?";
    const auto po = gpu.upload(std::vector<char>(other.begin(), other.end())), result = gpu.zeros<int>(1);
    const int m = length, n = static_cast<int>(other.size());
    gpu.run("edit_distance", {1}, {128}, pt, m, po, n, result);
    std::vector<std::vector<int>> table(m + 1, std::vector<int>(n + 1));
    for (int i = 0; i <= m; ++i) {
        for (int j = 0; j <= n; ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
            } else {
                table[i][j] = std::min(table[i - 1][j - 1] + (text[i - 1] != other[j - 1] ? 1 : 0),
                                       std::min(table[i - 1][j], table[i][j - 1]) + 1);
            }
        }
    }
    CHECK(gpu.download<int>(result, 1)[0] == table[m][n]);
}

TEST_CASE("CUDA: connected components", "[ptx][cuda]") {
    CudaGpu gpu("sparse.ptx");
    const int nodes = 200, edges = 150;
    const auto ends = random_values<int>(2 * edges, 0, nodes - 1, 8);
    std::vector<int> parent(nodes);
    std::iota(parent.begin(), parent.end(), 0);
    const auto pp = gpu.upload(parent);
    gpu.run("unite", {2}, {96}, edges, gpu.upload(ends), pp);
    // Reference: the smallest number of the component, by relaxation.
    std::vector<int> label = parent;
    for (bool changed = true; changed;) {
        changed = false;
        for (int e = 0; e < edges; ++e) {
            int &a = label[ends[2 * e]], &b = label[ends[2 * e + 1]];
            changed = changed || a != b;
            a = b = std::min(a, b);
        }
    }
    const auto given = gpu.download<int>(pp, nodes);
    for (int i = 0; i < nodes; ++i) {
        int root = i;
        while (given[root] != root) root = given[root];
        CHECK(root == label[i]);
    }
}
