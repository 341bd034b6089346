// The whole TPU: hand-counted programs, bandwidth, agreement of the modes, errors.
#include "models/tpu/tpu.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>

#include "isa/common/error.h"
#include "isa/tpu/assembler.h"
#include "isa/tpu/execute.h"

using namespace heddle;
using namespace heddle::models;

namespace {

/// Round numbers: 512 bytes per cycle from HBM, 100 cycles of latency.
TpuConfig round_numbers() {
    TpuConfig config;
    config.clock_hertz = 1e9;
    config.hbm.bandwidth = 512e9;
    config.hbm.efficiency = 1;
    config.hbm.latency_cycles = 100;
    config.dma.issue_cycles = 20;
    config.vector.startup_cycles = 10;
    return config;
}

std::string load(std::uint64_t vmem, std::uint64_t hbm, std::uint64_t bytes, const std::string& flags) {
    return "dma.load vmem " + std::to_string(vmem) + " hbm " + std::to_string(hbm) + " rows 1 row_bytes " +
           std::to_string(bytes) + " hbm_stride " + std::to_string(bytes) + " vmem_stride " +
           std::to_string(bytes) + " " + flags + "\n";
}

TpuResult run(Tpu& tpu, const std::string& text, tpu::Memory& memory, TpuMode mode = TpuMode::timing,
              bool every = false) {
    TpuRunOptions options;
    options.mode = mode;
    options.tick_every_cycle = every;
    options.record_events = true;
    return tpu.run(tpu::assemble(text), memory, options);
}

}  // namespace

TEST_CASE("a small program takes the cycles counted by hand") {
    Tpu tpu("tpu", round_numbers());
    tpu::Memory memory;
    const std::uint64_t base = memory.allocate("all", 1 << 20, false);
    const std::string text = "core {\n" + load(0, base, 51200, "signals 0") +
                             "push unit 0 vmem 0 rows 128 columns 128 stride 256 type bf16 after 0\n"
                             "matmul unit 0 vmem 0x8000 rows 16 depth 128 columns 128 stride 256 type bf16\n"
                             "pop unit 0 vmem 0x10000 rows 16 columns 128 stride 512 type fp32 signals 1\n"
                             "dma.store vmem 0x10000 hbm " +
                             std::to_string(base) +
                             " rows 16 row_bytes 512 vmem_stride 512 hbm_stride 512 after 1\nhalt\n}\n";
    const TpuResult result = run(tpu, text, memory);
    // Issued in 0, begins in 1, at HBM in 21, 100 cycles of bus, 100 of latency: done in 221, seen in 222.
    // Push 222..349; matmul 350..365; its last row stands in the result buffer in 350 + 15 + 256 = 621,
    // popped there. Store begins in 622, at HBM in 642, 16 cycles of bus, 100 of latency: done in 758.
    REQUIRE(result.events.size() == 5);
    CHECK(result.events[0].begin == 1);
    CHECK(result.events[0].end == 221);
    CHECK(result.events[1].begin == 222);
    CHECK(result.events[1].end == 349);
    CHECK(result.events[2].begin == 350);
    CHECK(result.events[2].end == 365);
    CHECK(result.events[3].end == 621);
    CHECK(result.events[4].begin == 622);
    CHECK(result.events[4].end == 758);
    CHECK(result.cycles == 759);
    CHECK(result.seconds == Approx(759e-9));
    CHECK(result.macs == 16 * 128 * 128);
    CHECK(result.bytes_loaded == 51200);
    CHECK(result.bytes_stored == 8192);
    CHECK(result.bound_by == "latency");
    CHECK(result.cores[0].matrix[0].times[static_cast<std::size_t>(UnitState::working)] == 16);
    // From cycle 3, when the matmul shows, to 222 the weights are missing, then they are shifted in.
    CHECK(result.cores[0].matrix[0].times[static_cast<std::size_t>(UnitState::weights)] == 222 - 3);
    CHECK(result.cores[0].matrix[0].times[static_cast<std::size_t>(UnitState::weight_shift)] == 128);
}

TEST_CASE("cores and directions share the bandwidth of HBM") {
    Tpu tpu("tpu", round_numbers());
    tpu::Memory memory;
    const std::uint64_t base = memory.allocate("all", 1 << 25, false);
    constexpr std::uint64_t megabyte = 1 << 20;
    std::string loads, stores;
    for (int i = 0; i < 8; ++i) {
        loads += load(megabyte, base + i * megabyte, megabyte, "");
        stores += "dma.store vmem 0x200000 hbm " + std::to_string(base + (16 + i) * megabyte) +
                  " rows 1 row_bytes 1048576 hbm_stride 1048576 vmem_stride 1048576\n";
    }
    const std::string one = "core {\n" + loads + "halt\n}\n",
                      both = "core {\n" + loads + stores + "halt\n}\n";
    // 8 MiB at 512 bytes per cycle are 16,384 cycles; beside them 1 cycle to issue, 20 to request, 100 of
    // latency.
    CHECK(run(tpu, one, memory).cycles == 16384 + 1 + 20 + 100 + 1);
    CHECK(run(tpu, one + one, memory).cycles == 2 * 16384 + 1 + 20 + 100 + 1);
    const TpuResult mixed = run(tpu, both, memory);
    CHECK(mixed.cycles == 2 * 16384 + 1 + 20 + 100 + 1);
    CHECK(mixed.hbm_busy == Approx(1).epsilon(0.01));
    CHECK(mixed.bound_by == "HBM");
    // Both cores are served alike: neither is through long before the other.
    const TpuResult two = run(tpu, one + one, memory);
    std::map<std::string, Cycle> last;
    for (const TpuEvent& event : two.events) last[event.unit] = event.end;
    REQUIRE(last.size() == 2);
    CHECK(last.begin()->second > 32000);
    CHECK(last.rbegin()->second > 32000);
}

namespace {

Cycle end_of(const TpuResult& result, const std::string& what, std::size_t which = 0) {
    for (const TpuEvent& event : result.events)
        if (what == event.what && which-- == 0) return event.end;
    FAIL("no " << what);
    return 0;
}

}  // namespace

TEST_CASE("CMEM is a memory of its own: its transfers overtake those of HBM") {
    TpuConfig config = round_numbers();
    config.cmem = {1 << 20, 1024e9, 10};
    Tpu tpu("tpu", config);
    tpu::Memory memory;
    memory.allocate_at("far", 4096, 1 << 20, false);
    memory.allocate_at("near", tpu::kCommonMemoryBase, 1 << 20, false);
    const TpuResult result = run(
        tpu,
        "core {\n" + load(0, 4096, 51200, "") + load(65536, tpu::kCommonMemoryBase, 51200, "") + "halt\n}\n",
        memory);
    // Begun in 1 and 2, there 20 later; 100 cycles of bus and 100 of latency, 50 and 10.
    std::map<std::size_t, Cycle> ends;
    for (const TpuEvent& event : result.events) ends[event.begin] = event.end;
    CHECK(ends.at(1) == 221);
    CHECK(ends.at(2) == 82);
    CHECK(config.links.count == 4);
    CHECK(tpu.links.size() == 4);  // ports that nothing uses yet
}

namespace {

void check_rows_by_index(unsigned sparse_cores) {
    // 64 rows of 128 bytes: 8 rows for each of 8 tiles, each 8 cycles and 128 bytes at 32 a cycle.
    TpuConfig config = round_numbers();
    config.cores = 1;
    config.sparse.cores = sparse_cores;
    config.sparse.tiles = 4;
    Tpu tpu("tpu", config);
    tpu::Memory memory;
    const std::uint64_t base = memory.allocate("all", 1 << 20, false);
    const std::string rows = " vmem 4096 hbm " + std::to_string(base) +
                             " rows 64 row_bytes 128 vmem_stride 128 hbm_stride 128 indices 0 table_rows 64 ";
    const TpuResult result =
        run(tpu,
            "core {\n" + load(0, base, 256, "signals 0") + "wait 0\ndma.gather" + rows + "signals 1\n" +
                load(65536, base, 512, "") + "wait 1\ndma.scatter_add" + rows + "\nhalt\n}\n",
            memory);
    Cycle begin = 0, add = 0;
    for (const TpuEvent& event : result.events) {
        if (std::string(event.what) == "dma.gather") begin = event.begin;
        if (std::string(event.what) == "dma.scatter_add") add = event.begin;
    }
    const bool sparse = config.sparse.cores > 0;
    // 20 to HBM, 100 of latency; without SparseCores a cycle for each row.
    CHECK(end_of(result, "dma.gather") - begin == 120 + (sparse ? 8 * (8 + 4) : 64));
    CHECK(end_of(result, "dma.scatter_add") - add == 120 + (sparse ? 8 * (8 + 2 * 4) : 64));
    // The plain load behind it waits only where the DMA engine itself gathers.
    CHECK((end_of(result, "dma.load", 1) < end_of(result, "dma.gather")) == sparse);
    CHECK(result.bytes_loaded == 256 + 64 * 128 + 512);
    for (const auto& [unit, shares] : time_by_unit(result)) {
        double sum = 0;
        for (const auto& [state, share] : shares) sum += share;
        INFO(unit);
        CHECK(sum == Approx(1));
    }
    CHECK(time_by_unit(result).count("SparseCore loads") == (sparse ? 1 : 0));
}

void check_stream_rates(unsigned int8_rows) {
    TpuConfig config = round_numbers();
    config.matrix.int8_rows_per_cycle = int8_rows;
    Tpu tpu("tpu", config);
    tpu::Memory memory;
    const auto cycles = [&](const std::string& activations, const std::string& weights) {
        const TpuResult result =
            run(tpu,
                "core {\npush unit 0 vmem 0 rows 128 columns 128 stride 512 type " + weights +
                    "\nmatmul unit 0 vmem 0x20000 rows 200 depth 128 columns 128 stride 512 type " +
                    activations + "\nhalt\n}\n",
                memory);
        for (const TpuEvent& event : result.events)
            if (std::string(event.what) == "matmul") return event.end + 1 - event.begin;
        return Cycle{0};
    };
    CHECK(cycles("int8", "int8") == 200 / config.matrix.int8_rows_per_cycle);
    CHECK(cycles("bf16", "bf16") == 200);
    CHECK(cycles("int16", "int8") == 400);
    CHECK(cycles("int16", "int16") == 800);
}

}  // namespace

TEST_CASE("SparseCores gather rows with all their tiles, beside the DMA engine") {
    check_rows_by_index(2);
}
TEST_CASE("without SparseCores the DMA engine takes a cycle for each row") {
    check_rows_by_index(0);
}
TEST_CASE("rows of int8 enter two at a time where the chip says so, others one by one") {
    check_stream_rates(2);
}
TEST_CASE("rows of 8 bits enter as fast as bf16 where nothing else is said") {
    check_stream_rates(1);
}

TEST_CASE("short rows cost whole pieces of memory, and their own time") {
    Tpu tpu("tpu", round_numbers());
    tpu::Memory memory;
    const std::uint64_t base = memory.allocate("all", 1 << 25, false);
    // 4,096 rows of 4 bytes, each alone in its 64-byte piece: 4,096 * 64 / 512 = 512 cycles of bus, but a row
    // per cycle.
    const TpuResult result = run(tpu,
                                 "core {\ndma.load vmem 0 hbm " + std::to_string(base) +
                                     " rows 4096 row_bytes 4 vmem_stride 4 hbm_stride 1024\nhalt\n}",
                                 memory);
    CHECK(result.hbm.bytes_read == 4096 * 64);
    CHECK(result.hbm.busy_cycles == Approx(512));
    CHECK(result.cycles == 4096 + 1 + 20 + 100 + 1);
}

TEST_CASE("vector instructions take what their busiest slot needs") {
    Tpu tpu("tpu", round_numbers());
    tpu::Memory memory;
    const auto cycles = [&](const std::string& kernel, const std::string& operands) {
        return run(tpu, "kernel k " + kernel + "core {\nvector k " + operands + "\nhalt\n}", memory).cycles -
               1 - 10;
    };
    // 1,024 registers of 8 x 128. v2 and v3 issue two ALU operations, one load and one store per cycle.
    const std::string add = "inputs 2 scalars 0 {\n0 = input 0\n1 = input 1\n2 = add 0 1\noutput 2\n}\n";
    CHECK(cycles(add, "rows 1024 columns 1024 in fp32@0:4096 in fp32@0x400000:4096 out fp32@0x800000:4096") ==
          2048);
    CHECK(cycles(add, "rows 1024 columns 1024 in bf16@0:2048 in bf16@0x400000:2048 out bf16@0x800000:2048") ==
          1024);
    CHECK(cycles(add, "rows 1024 columns 1024 in fp32@0:4096 in fp32@0x400000:0 out fp32@0x800000:4096") ==
          1024 + 8);
    CHECK(cycles(add, "rows 1023 columns 1020 in fp32@0:4096 in fp32@0x400000:4096 out fp32@0x800000:4096") ==
          2048);
    const std::string exponentials =
        "inputs 1 scalars 0 {\n0 = input 0\n1 = exponential 0\n2 = exponential 1\n3 = exponential 2\noutput "
        "3\n}\n";
    CHECK(cycles(exponentials, "rows 1024 columns 1024 in fp32@0:4096 out fp32@0x800000:4096") == 3072);
    const std::string sums = "inputs 1 scalars 0 {\n0 = input 0\noutput 0 lanes_sum\n}\n";
    CHECK(cycles(sums, "rows 1024 columns 1024 in fp32@0:4096 out fp32@0x800000:4") == 1024);
    CHECK(cycles(sums, "rows 1024 columns 128 in fp32@0:4096 out fp32@0x800000:4") == 128 * 8);
}

namespace {

/// Groups of instructions on regions of their own; the sequencer waits for all of a group before the next.
class RandomProgram {
  public:
    static constexpr std::uint32_t kRegion = 0x4000;
    static constexpr unsigned kRegions = 12;

    explicit RandomProgram(unsigned seed) : random_(seed) {}

    std::string text(std::uint64_t hbm) {
        std::string cores;
        for (unsigned core = 0; core < 2; ++core) {
            std::string body;
            // Values everywhere, so that what is wrong shows.
            for (unsigned region = 0; region < kRegions; ++region) {
                body += load(region * kRegion, hbm + core * 0x80000 + region * kRegion, kRegion, "signals 0");
            }
            body += "wait 0:" + std::to_string(kRegions) + "\n";
            for (int group = pick(3, 12); group > 0; --group) body += this->group(hbm + core * 0x80000);
            // Everything back, region by region.
            for (unsigned region = 0; region < kRegions; ++region) {
                body += "dma.store vmem " + std::to_string(region * kRegion) + " hbm " +
                        std::to_string(hbm + core * 0x80000 + region * kRegion) + " rows 1 row_bytes " +
                        std::to_string(kRegion) + " hbm_stride 0\n";
            }
            cores += "core {\n" + body + "halt\n}\n";
        }
        return "kernel one inputs 1 scalars 1 {\n0 = input 0\n1 = scalar 0\n2 = multiply 0 1\n3 = "
               "hyperbolic_tangent 2\noutput 3\n"
               "output 3 lanes_sum\n}\n"
               "kernel two inputs 2 scalars 0 {\n0 = input 0\n1 = input 1\n2 = add 0 1\noutput 2\n}\n" +
               cores;
    }

  private:
    int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

    std::string group(std::uint64_t hbm) {
        std::vector<std::uint32_t> regions;
        for (unsigned i = 0; i < kRegions; ++i) regions.push_back(i * kRegion);
        std::shuffle(regions.begin(), regions.end(), random_);
        std::size_t used = 0;
        const auto region = [&] { return std::to_string(regions[used++]); };
        std::string body;
        int signals = 0;
        const int repeats = pick(0, 3) == 0 ? 3 : 1;
        while (used + 3 <= kRegions) {
            const std::string rows = std::to_string(pick(1, 16)), columns = std::to_string(pick(1, 120));
            switch (pick(0, 4)) {
                case 0:
                    body += "vector one rows " + rows + " columns " + columns + " in fp32@" + region() +
                            ":512 out fp32@" + region() + ":512 out fp32@" + region() +
                            ":4 scalar 0.25 signals 0\n";
                    break;
                case 1:
                    body += "vector two rows " + rows + " columns " + columns + " in fp32@" + region() +
                            ":512 in bf16@" + region() + ":0 out fp32@" + region() + ":512 signals 0\n";
                    break;
                case 2: {
                    const std::string unit = std::to_string(pick(0, 1));
                    const std::string depth = std::to_string(pick(1, 16));
                    body += "push unit " + unit + " vmem " + region() + " rows " + depth + " columns " +
                            columns + " stride 512 type fp32 signals 0\n" + "matmul unit " + unit + " vmem " +
                            region() + " rows " + rows + " depth " + depth + " columns " + columns +
                            " stride 512 type fp32 accumulator " + std::to_string(pick(0, 40)) +
                            (pick(0, 1) ? " accumulate" : "") + " signals 0\n";
                    body += "pop unit " + unit + " vmem " + region() + " rows " + rows + " columns " +
                            columns + " stride 512 type fp32 accumulator " + std::to_string(pick(0, 40)) +
                            " signals 0\n";
                    signals += 2;
                    break;
                }
                case 3:
                    body += "transpose source " + region() + " destination " + region() + " rows " + rows +
                            " columns 16" + " source_stride 512 destination_stride 64 type fp32 signals 0\n";
                    break;
                default:
                    body += load(regions[used], hbm + regions[used],
                                 static_cast<std::uint64_t>(pick(1, 4096)) * 4, "signals 0");
                    ++used;
            }
            ++signals;
        }
        if (repeats > 1)
            body = "repeat " + std::to_string(repeats) + " {\n" + body + "wait 0:" + std::to_string(signals) +
                   "\n}\n";
        else
            body += "wait 0:" + std::to_string(signals) + "\n";
        return body;
    }

    std::mt19937 random_;
};

}  // namespace

TEST_CASE("modes agree: timing and functional in cycles and functional and untimed in bits") {
    TpuConfig config;
    config.sequencer.queue_depth = 3;
    config.vmem.read_bytes_per_cycle = 4096;  // tight, so that ports are fought for
    config.vmem.write_bytes_per_cycle = 4096;
    config.dma.bytes_per_cycle = 4096;
    TpuConfig single = config;
    single.matrix.weight_buffering = WeightBuffering::single;
    single.sequencer.issue_width = 2;
    Tpu first("first", config), second("second", single);
    std::uint64_t port_stalls = 0;
    for (unsigned seed = 0; seed < 40; ++seed) {
        INFO("seed " << seed);
        Tpu& tpu = seed % 2 == 0 ? first : second;
        const auto fresh = [&] {
            tpu::Memory memory;
            const std::uint64_t base = memory.allocate("all", 1 << 20, true);
            std::vector<float> numbers(1 << 18);
            std::mt19937 random(seed);
            for (float& number : numbers) number = std::uniform_real_distribution<float>(-1, 1)(random);
            memory.write(base, std::as_bytes(std::span(numbers)));
            return memory;
        };
        tpu::Memory untimed = fresh(), timed = fresh(), watched = fresh(), empty;
        const std::uint64_t base = empty.allocate("all", 1 << 20, false);
        const std::string text = RandomProgram(seed).text(base);
        tpu::execute(tpu::assemble(text), untimed, limits_of(tpu.config()));
        const TpuResult functional = run(tpu, text, timed, TpuMode::functional);
        const TpuResult timing = run(tpu, text, empty, TpuMode::timing);
        const TpuResult every = run(tpu, text, watched, TpuMode::functional, true);
        REQUIRE(functional.cycles == timing.cycles);
        REQUIRE(functional.cycles == every.cycles);
        REQUIRE(functional.events.size() == every.events.size());
        for (std::size_t i = 0; i < every.events.size(); ++i) {
            REQUIRE(functional.events[i].end == every.events[i].end);
            REQUIRE(functional.events[i].unit == every.events[i].unit);
        }
        for (const TpuCoreResult& core : functional.cores) {
            port_stalls += core.vector.times[static_cast<std::size_t>(UnitState::on_chip_memory)];
        }
        const auto bytes = [&](const tpu::Memory& memory) { return memory.allocations()[0].data; };
        REQUIRE(bytes(untimed) == bytes(timed));
        REQUIRE(bytes(untimed) == bytes(watched));
    }
    CHECK(port_stalls > 0);
}

TEST_CASE("a run leaves nothing behind") {
    Tpu tpu("tpu", TpuConfig{});
    tpu::Memory memory;
    const std::uint64_t base = memory.allocate("all", 1 << 20, true);
    const std::string a = RandomProgram(100).text(base), b = RandomProgram(101).text(base);
    const TpuResult first = run(tpu, a, memory);
    // A run that ends badly, in the middle of everything.
    TpuRunOptions options;
    options.limit = 1000;
    CHECK_THROWS_AS(tpu.run(tpu::assemble(b), memory, options), Error);
    run(tpu, b, memory, TpuMode::functional);
    const TpuResult again = run(tpu, a, memory);
    CHECK(again.cycles == first.cycles);
    CHECK(again.bytes_loaded == first.bytes_loaded);
    CHECK(again.hbm.busy_cycles == first.hbm.busy_cycles);
    REQUIRE(again.events.size() == first.events.size());
    for (std::size_t i = 0; i < first.events.size(); ++i) {
        CHECK(again.events[i].begin == first.events[i].begin);
        CHECK(again.events[i].end == first.events[i].end);
    }
    for (std::size_t core = 0; core < 2; ++core) {
        CHECK(again.cores[core].vector.times == first.cores[core].vector.times);
        CHECK(again.cores[core].matrix[0].times == first.cores[core].matrix[0].times);
        CHECK(again.cores[core].sequencer.times == first.cores[core].sequencer.times);
    }
}

TEST_CASE("what cannot end is reported") {
    using Catch::Contains;
    Tpu tpu("tpu", TpuConfig{});
    tpu::Memory memory;
    CHECK_THROWS_WITH(
        run(tpu, "core {\nwait 0\nsignal 1\nhalt\n}\ncore {\nwait 1 signals 0.0\nhalt\n}", memory),
        Contains("core 1 is waited for 1 times but signalled only 0"));
    CHECK_THROWS_WITH(
        run(tpu, "core {\nwait 0\nsignal 1.1\nhalt\n}\ncore {\nwait 1 signals 0.0\nhalt\n}", memory),
        Contains("deadlocked") && Contains("core_0") && Contains("wait of line 2"));
    // The instruction that will never begin, its line and its flag.
    CHECK_THROWS_WITH(
        run(tpu,
            "core {\npop unit 1 vmem 0 rows 8 columns 8 type fp32 stride 32 after 7\nwait 3 signals "
            "7\nwait 5 signals 3\nhalt\n}\ncore {\nwait 0 signals 0.5\nwait 1 signals 0\nsignal 1\nhalt\n}",
            memory),
        Contains("deadlocked") && Contains("matrix_unit_1 has not begun line 2") &&
            Contains("needs flag 7 >= 1"));
    CHECK_THROWS_WITH(run(tpu, "core {\n" + load(0, 4096, 4, "") + "halt\n}", memory),
                      Contains("no allocation"));
}

TEST_CASE("configurations: every parameter is described and impossible machines are refused") {
    using Catch::Contains;
    TpuConfig config;
    ParameterList list;
    config.describe(list);
    std::map<std::string, double> values;
    for (const Parameter& parameter : list.parameters()) {
        INFO(parameter.path);
        CHECK(values.emplace(parameter.path, parameter.get()).second);
        CHECK_FALSE(parameter.meaning.empty());
        CHECK(parameter.get() >= parameter.minimum);
        CHECK(parameter.get() <= parameter.maximum);
        parameter.set(parameter.get());
        CHECK(parameter.get() == values[parameter.path]);
    }
    // TPU v3: 2 cores x 2 matrix units of 128 x 128 at 0.94 GHz are 123 TFLOP/s; 32 GiB and 900 GB/s of HBM,
    // 16 MiB VMEM.
    const double peak = 2 * values["cores"] * values["matrix.per_core"] * values["matrix.rows"] *
                        values["matrix.columns"] * values["clock"];
    CHECK(peak == Approx(123e12).epsilon(0.005));
    CHECK(values["hbm.bandwidth"] == 900e9);
    CHECK(values["hbm.size"] == 32.0 * (1ull << 30));
    CHECK(values["vmem.size"] == 16.0 * (1 << 20));
    CHECK(target_of(config).matrix_units_per_core == 2);
    CHECK_NOTHROW(config.check());
    config.vmem.bytes = 1 << 18;
    CHECK_THROWS_WITH(config.check(), Contains("vmem.size"));
    config = {};
    config.vmem.read_bytes_per_cycle = 100;
    CHECK_THROWS_WITH(config.check(), Contains("vmem.read"));
}
