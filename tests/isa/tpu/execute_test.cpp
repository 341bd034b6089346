// Whole programs without time.
#include "isa/tpu/execute.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "isa/common/error.h"
#include "isa/numerics/systolic.h"
#include "isa/tpu/assembler.h"

using namespace heddle;
using namespace heddle::tpu;

namespace {

std::vector<float> random_numbers(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = uniform(random);
    return numbers;
}

void put(Memory& memory, std::uint64_t address, const std::vector<float>& values) {
    memory.write(address, std::as_bytes(std::span(values)));
}

std::vector<float> get(const Memory& memory, std::uint64_t address, std::size_t count) {
    std::vector<float> values(count);
    memory.read(address, std::as_writable_bytes(std::span(values)));
    return values;
}

}  // namespace

TEST_CASE("a matmul over two weight tiles has the bits of the column arithmetic") {
    constexpr unsigned m = 20, k = 200, n = 60;
    Memory memory;
    const auto a = random_numbers(m * k, 1), b = random_numbers(k * n, 2);
    const std::uint64_t at_a = memory.allocate("a", m * k * 4, true),
                        at_b = memory.allocate("b", k * n * 4, true),
                        at_c = memory.allocate("c", m * n * 4, true);
    put(memory, at_a, a);
    put(memory, at_b, b);
    const std::string text =
        "core {\n"
        "dma.load vmem 0 hbm " +
        std::to_string(at_a) +
        " rows 1 row_bytes 16000 signals 0\n"
        "dma.load vmem 0x10000 hbm " +
        std::to_string(at_b) +
        " rows 1 row_bytes 48000 signals 1\n"
        "push unit 0 vmem 0x10000 rows 128 columns 60 stride 240 type fp32 after 1\n"
        "matmul unit 0 vmem 0 rows 20 depth 128 columns 60 stride 800 type fp32 after 0\n"
        "push unit 0 vmem 0x17800 rows 72 columns 60 stride 240 type fp32\n"
        "matmul unit 0 vmem 0x200 rows 20 depth 72 columns 60 stride 800 type fp32 accumulate\n"
        "pop unit 0 vmem 0x20000 rows 20 columns 60 stride 240 type fp32 signals 2\n"
        "dma.store vmem 0x20000 hbm " +
        std::to_string(at_c) +
        " rows 1 row_bytes 4800 after 2\n"
        "halt\n}\n";
    const ExecutionCounts counts = execute(assemble(text), memory, Limits{});
    CHECK(counts.macs == std::uint64_t{m} * n * k);
    CHECK(counts.bytes_loaded == 64000);
    CHECK(counts.bytes_stored == 4800);
    CHECK(counts.instructions == 8);

    std::vector<std::uint16_t> a16, b16;
    for (const float value : a) a16.push_back(numerics::fp32_to_bf16_tpu(value));
    for (const float value : b) b16.push_back(numerics::fp32_to_bf16_tpu(value));
    const auto c = get(memory, at_c, m * n);
    for (unsigned i = 0; i < m; ++i) {
        for (unsigned j = 0; j < n; ++j) {
            const float expected = numerics::matrix_unit_column({}, k, &a16[i * k], 1, &b16[j], n, 0.0f);
            REQUIRE(c[i * n + j] == expected);
        }
    }
}

TEST_CASE("three passes of parts bring an fp32 matmul near double, one does not") {
    constexpr unsigned m = 8, k = 64, n = 8;
    Memory memory;
    const auto a = random_numbers(m * k, 3), b = random_numbers(k * n, 4);
    const std::uint64_t at_a = memory.allocate("a", m * k * 4, true),
                        at_b = memory.allocate("b", k * n * 4, true),
                        at_c = memory.allocate("c", m * n * 4, true);
    put(memory, at_a, a);
    put(memory, at_b, b);
    const auto error_of = [&](const std::vector<std::pair<const char*, const char*>>& passes) {
        std::string text = "core {\ndma.load vmem 0 hbm " + std::to_string(at_a) +
                           " rows 1 row_bytes 2048 signals 0\n"
                           "dma.load vmem 0x10000 hbm " +
                           std::to_string(at_b) + " rows 1 row_bytes 2048 signals 0\nwait 0:2\n";
        bool first = true;
        for (const auto& [part_a, part_b] : passes) {
            text += std::string("push unit 0 vmem 0x10000 rows 64 columns 8 stride 32 type fp32 part ") +
                    part_b + "\n" +
                    "matmul unit 0 vmem 0 rows 8 depth 64 columns 8 stride 256 type fp32 part " + part_a +
                    (first ? "\n" : " accumulate\n");
            first = false;
        }
        text +=
            "pop unit 0 vmem 0x20000 rows 8 columns 8 stride 32 type fp32 signals 2\n"
            "dma.store vmem 0x20000 hbm " +
            std::to_string(at_c) + " rows 1 row_bytes 256 after 2\nhalt\n}\n";
        execute(assemble(text), memory, Limits{});
        const auto c = get(memory, at_c, m * n);
        double worst = 0;
        for (unsigned i = 0; i < m; ++i) {
            for (unsigned j = 0; j < n; ++j) {
                double exact = 0;
                for (unsigned l = 0; l < k; ++l) exact += static_cast<double>(a[i * k + l]) * b[l * n + j];
                worst = std::max(worst, std::fabs(c[i * n + j] - exact));
            }
        }
        return worst;
    };
    // bf16 keeps 8 bits: 2^-9 per factor; two parts keep 16.
    const double one = error_of({{"high", "high"}});
    CHECK(one > 1e-3);
    CHECK(one < 64 * std::ldexp(1.0, -8));
    CHECK(error_of({{"middle", "high"}, {"high", "middle"}, {"high", "high"}}) < 64 * std::ldexp(1.0, -16));
    CHECK(error_of({{"middle", "middle"},
                    {"low", "high"},
                    {"high", "low"},
                    {"middle", "high"},
                    {"high", "middle"},
                    {"high", "high"}}) < 64 * std::ldexp(1.0, -22));
}

TEST_CASE("two cores meet at a flag and gather and scatter follow their indices") {
    Memory memory;
    const std::uint64_t table = memory.allocate("table", 10 * 64, true),
                        out = memory.allocate("out", 3 * 64, true),
                        indices = memory.allocate("indices", 12, true);
    std::vector<float> rows(160);
    for (int i = 0; i < 160; ++i) rows[i] = static_cast<float>(i);
    put(memory, table, rows);
    const std::vector<std::int32_t> wanted{7, 2, 7};
    memory.write(indices, std::as_bytes(std::span(wanted)));
    // Core 0 gathers rows 7, 2, 7 into `out`; then core 1 adds them back onto the table.
    const std::string load =
        "dma.load vmem 0 hbm " + std::to_string(indices) + " rows 1 row_bytes 12 signals 0\n";
    const std::string list = " rows 3 row_bytes 64 vmem_stride 64 hbm_stride 64 indices 0 table_rows 10";
    const std::string text =
        "core {\n" + load + "dma.gather vmem 0x100 hbm " + std::to_string(table) + list +
        " after 0 signals 1\n" + "dma.store vmem 0x100 hbm " + std::to_string(out) +
        " rows 3 row_bytes 64 vmem_stride 64 hbm_stride 64 after 1 signals 1.5\nhalt\n}\n" + "core {\n" +
        load + "wait 0 5\ndma.load vmem 0x100 hbm " + std::to_string(out) +
        " rows 1 row_bytes 192 signals 1\n" + "dma.scatter_add vmem 0x100 hbm " + std::to_string(table) +
        list + " after 1\nhalt\n}\n";
    execute(assemble(text), memory, Limits{});
    const auto gathered = get(memory, out, 48), table_after = get(memory, table, 160);
    for (int i = 0; i < 16; ++i) {
        CHECK(gathered[i] == 112 + i);
        CHECK(gathered[16 + i] == 32 + i);
        CHECK(gathered[32 + i] == 112 + i);
        CHECK(table_after[7 * 16 + i] == 3 * (112 + i));
        CHECK(table_after[2 * 16 + i] == 2 * (32 + i));
        CHECK(table_after[i] == i);
    }
}

TEST_CASE("what only values show is an error too") {
    using Catch::Contains;
    Memory memory;
    const std::uint64_t base = memory.allocate("small", 64, true);
    const std::vector<std::int32_t> wrong{4};
    memory.write(base, std::as_bytes(std::span(wrong)));
    const auto run = [&](const std::string& body) {
        execute(assemble("core {\n" + body + "\nhalt\n}"), memory, Limits{});
    };
    CHECK_THROWS_WITH(run("dma.load vmem 0 hbm " + std::to_string(base) + " rows 1 row_bytes 65"),
                      Contains("no allocation"));
    CHECK_THROWS_WITH(run("dma.load vmem 0 hbm " + std::to_string(base) +
                          " rows 1 row_bytes 4 signals 0\ndma.gather vmem 64 hbm " + std::to_string(base) +
                          " rows 1 row_bytes 16 hbm_stride 16 indices 0 table_rows 4 after 0"),
                      Contains("index 4") && Contains("4 rows"));
    CHECK_THROWS_WITH(run("push unit 0 vmem 0 rows 4 columns 4 type bf16\nmatmul unit 0 vmem 0 rows 1 depth "
                          "5 columns 4 type bf16"),
                      Contains("weights of 5 x 4"));
    // Each waits for the other.
    CHECK_THROWS_WITH(run("pop unit 0 vmem 0 rows 1 columns 1 type fp32 after 0 signals 1\n"
                          "dma.load vmem 0 hbm " +
                          std::to_string(base) + " rows 1 row_bytes 4 after 1 signals 0"),
                      Contains("deadlocked") && Contains("line 2") && Contains("flag 0"));
}
