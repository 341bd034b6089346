// What is told of signals against what is counted without them: every figure of the file is read back.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "gpu_test_bench.h"
#include "isa/common/error.h"
#include "models/common/vcd_writer.h"
#include "support/vcd_reader.h"

namespace heddle::models::gpu {
namespace {

GpuConfig small() {
    GpuConfig config;
    config.sm.count = 8;
    config.sm.gpcs = 2;
    config.l2.slices = 16;
    config.hbm.channels = 8;
    config.l2.bytes = 4 << 20;
    return config;
}

constexpr unsigned kBlocks = 40, kThreads = 256, kChunks = 6;
constexpr std::uint64_t kBytes = std::uint64_t{kBlocks} * kThreads * kChunks * 16;

struct Traced {
    KernelResult result;
    std::string text;
};

/// One GPU, which SystemC elaborates once, and a kernel that reads memory with every warp.
class Tracer {
  public:
    Tracer() : in_(bench_.memory.allocate("in", kBytes, true)) {}

    KernelResult run(const RunOptions& options = {}) {
        return bench_.run(streaming_read(kChunks, std::uint64_t{kBlocks} * kThreads, "cg"), kBlocks,
                          kThreads, {in_}, options, ptx::Mode::timing);
    }
    Traced trace(const std::vector<std::string>& patterns, unsigned threads = 1, unsigned runs = 1,
                 std::uint64_t most_bytes = 1 << 30) {
        const std::string path = std::filesystem::temp_directory_path() /
                                 ("heddle-signals-test-" + std::to_string(::getpid()) + ".vcd");
        Traced traced;
        {
            VcdWriter writer(path, most_bytes);
            SignalTrace signals(patterns, writer);
            RunOptions options;
            options.signals = &signals;
            options.threads = threads;
            for (unsigned i = 0; i < runs; ++i) traced.result = run(options);
            writer.close();
        }
        std::ifstream file(path, std::ios::binary);
        traced.text.assign(std::istreambuf_iterator<char>(file), {});
        std::filesystem::remove(path);
        return traced;
    }

  private:
    GpuTestBench bench_{small()};
    std::uint64_t in_;
};

double cycle_ps() {
    return 1e12 / small().clock;
}

/// Sum over time of value x cycles, of all signals whose names end so.
double sum(const tests::Vcd& vcd, const std::string& end) {
    double sum = 0;
    for (const auto& [name, signal] : vcd.signals)
        if (name.ends_with(end)) sum += tests::integral(signal, vcd.end) / cycle_ps();
    return sum;
}

TEST_CASE("signals add up to the counters of the kernel") {
    Tracer tracer;
    const Traced traced = tracer.trace({});
    const tests::Vcd vcd = tests::read_vcd(traced.text);
    CHECK(vcd.problems.empty());
    const KernelResult& result = traced.result;
    for (std::size_t reason = 0; reason < kCycleReasonCount; ++reason) {
        const auto what = static_cast<CycleReason>(reason);
        if (what == CycleReason::not_launched || what == CycleReason::no_warp)
            continue;  // what comes after, too
        double cycles = 0;
        for (const auto& [name, signal] : vcd.signals)
            if (name.ends_with(".state")) cycles += tests::time_at(signal, reason, vcd.end) / cycle_ps();
        INFO(name_of(what));
        CHECK(cycles == Approx(static_cast<double>(result.sub_core_cycles[reason])).margin(0.5));
    }
    CHECK(sum(vcd, ".bytes") ==
          Approx(static_cast<double>(result.dram_read_bytes + result.dram_write_bytes)).margin(0.5));
    CHECK(result.dram_read_bytes >= kBytes);
    CHECK(sum(vcd, ".requested") == Approx(sum(vcd, ".received")).margin(0.5));
    CHECK(sum(vcd, ".load_sectors") + sum(vcd, ".store_sectors") ==
          Approx(static_cast<double>(result.l2.sectors)).margin(0.5));
    CHECK(sum(vcd, ".hit_sectors") == Approx(static_cast<double>(result.l2.hit_sectors)).margin(0.5));
    // Whoever issues has a number and a line.
    for (unsigned sub_core = 0; sub_core < 4; ++sub_core) {
        const std::string path = "gpu.gpc0.sm0.sub_core" + std::to_string(sub_core);
        const double issued = tests::time_at(vcd.signals.at(path + ".state"), 0, vcd.end);
        CHECK(issued > 0);
        CHECK(tests::time_with_value(vcd.signals.at(path + ".issued_warp"), vcd.end) ==
              Approx(issued).margin(1));
        CHECK(tests::time_with_value(vcd.signals.at(path + ".issued_line"), vcd.end) ==
              Approx(issued).margin(1));
        for (const auto& [at, warp] : vcd.signals.at(path + ".issued_warp").changes)
            if (warp) CHECK(*warp % 4 == sub_core);
    }
    // Levels are over when the kernel is.
    for (const char* const end : {".misses", ".warps", ".thread_blocks", ".reads", ".stalled"})
        for (const auto& [name, signal] : vcd.signals)
            if (name.ends_with(end)) CHECK(signal.changes.back().second == 0u);
    CHECK(vcd.end >= static_cast<std::uint64_t>(static_cast<double>(result.cycles) * cycle_ps()) - 1);
}

TEST_CASE("signals change no result, and neither do they depend on the host's threads") {
    Tracer tracer;
    const KernelResult plain = tracer.run();
    const Traced one = tracer.trace({}), many = tracer.trace({}, 2);
    const KernelResult later = tracer.run();
    CHECK(many.result.host_threads == 2);
    CHECK((one.text == many.text));
    CHECK(plain.cycles == one.result.cycles);
    CHECK(plain.cycles == later.cycles);
    CHECK(plain.activations == one.result.activations);
    CHECK(plain.sub_core_cycles == one.result.sub_core_cycles);
    CHECK(plain.l2.hit_sectors == one.result.l2.hit_sectors);
    CHECK(plain.dram_row_hits == one.result.dram_row_hits);
}

TEST_CASE("patterns choose signals") {
    Tracer tracer;
    const tests::Vcd sm = tests::read_vcd(tracer.trace({"gpu.*.sm1.*"}).text);
    CHECK(sm.signals.size() == 26);
    CHECK(sm.signals.count("gpu.gpc0.sm1.sub_core3.issued_warp") +
              sm.signals.count("gpu.gpc1.sm1.sub_core3.issued_warp") ==
          1);
    CHECK(tests::read_vcd(tracer.trace({"gpu.l2_slice3", "gpu.memory_channel?.pseudo_channel0.row"}).text)
              .signals.size() == 8 + 8);
    try {
        tracer.trace({"gpu.gpc0.sm0.sub_core1.isued_warp"});
        FAIL("nothing is chosen");
    } catch (const Error& error) {
        CHECK_THAT(error.what(), Catch::Contains("no signal matches `gpu.gpc0.sm0.sub_core1.isued_warp`") &&
                                     Catch::Contains("gpu.gpc0.sm0.sub_core1.issued_warp,"));
    }
}

TEST_CASE("kernels follow one another in one file of signals") {
    Tracer tracer;
    const Traced once = tracer.trace({"gpu.gpc0"}), twice = tracer.trace({"gpu.gpc0"}, 1, 2);
    const tests::Vcd first = tests::read_vcd(once.text), both = tests::read_vcd(twice.text);
    CHECK(both.problems.empty());
    const double length = static_cast<double>(once.result.cycles) * cycle_ps();
    CHECK(static_cast<double>(both.end) == Approx(2 * length).margin(10));
    CHECK(sum(both, ".requested") == Approx(2 * sum(first, ".requested")).margin(0.5));
}

TEST_CASE("a file of signals has a largest size") {
    Tracer tracer;
    CHECK_THROWS_WITH(tracer.trace({}, 1, 1, 1 << 18), Catch::Contains("more than 262144 bytes within"));
}

}  // namespace
}  // namespace heddle::models::gpu
