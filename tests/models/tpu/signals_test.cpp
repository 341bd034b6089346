// What is told of signals against what is counted without them.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "isa/tpu/assembler.h"
#include "models/common/vcd_writer.h"
#include "models/tpu/tpu.h"
#include "support/vcd_reader.h"

using namespace heddle;
using namespace heddle::models;

namespace {

TpuConfig small() {
    TpuConfig config;
    config.clock_hertz = 1e9;  // a cycle is 1000 ps
    return config;
}

/// Loads, products and stores, one after the other and side by side.
std::string program_text(std::uint64_t base) {
    const std::string hbm = std::to_string(base);
    std::string text = "core {\n";
    for (int turn = 0; turn < 40; ++turn) {
        text += "dma.load vmem 0 hbm " + hbm +
                " rows 1 row_bytes 51200 hbm_stride 51200 vmem_stride 51200 signals 0\n"
                "push unit 0 vmem 0 rows 128 columns 128 stride 256 type bf16 after 0\n"
                "matmul unit 0 vmem 0x8000 rows 16 depth 128 columns 128 stride 256 type bf16\n"
                "pop unit 0 vmem 0x10000 rows 16 columns 128 stride 512 type fp32 signals 1\n"
                "dma.store vmem 0x10000 hbm " +
                hbm + " rows 16 row_bytes 512 vmem_stride 512 hbm_stride 512 after 1\n";
    }
    return text + "halt\n}\n";
}

void check_states(const tests::Vcd& vcd, const std::string& name, const UnitTimes& times) {
    for (std::size_t state = 0; state < kUnitStates; ++state) {
        INFO(name << ": " << name_of(static_cast<UnitState>(state)));
        CHECK(tests::time_at(vcd.signals.at(name), state, vcd.end) ==
              1000.0 * static_cast<double>(times[state]));
    }
}

}  // namespace

TEST_CASE("signals of a TPU add up to its counters, and change nothing") {
    Tpu tpu("tpu", small());
    tpu::Memory memory;
    const tpu::Program program = tpu::assemble(program_text(memory.allocate("all", 1 << 20, false)));
    const TpuResult plain = tpu.run(program, memory);
    const std::string path = std::filesystem::temp_directory_path() /
                             ("heddle-tpu-signals-" + std::to_string(::getpid()) + ".vcd");
    TpuResult result;
    {
        VcdWriter writer(path, 1 << 28);
        SignalTrace signals({}, writer);
        TpuRunOptions options;
        options.signals = &signals;
        result = tpu.run(program, memory, options);
        writer.close();
    }
    std::ifstream file(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::filesystem::remove(path);
    CHECK(result.cycles == plain.cycles);
    CHECK(result.cycles > 9000);  // written in parts

    const tests::Vcd vcd = tests::read_vcd(text);
    CHECK(vcd.problems.empty());
    CHECK(vcd.end == result.cycles * 1000);
    const TpuCoreResult& core = result.cores.at(0);
    check_states(vcd, "tpu.core0.sequencer.state", core.sequencer.times);
    for (std::size_t unit = 0; unit < core.matrix.size(); ++unit)
        check_states(vcd, "tpu.core0.matrix_unit" + std::to_string(unit) + ".state", core.matrix[unit].times);
    check_states(vcd, "tpu.core0.vector_unit.state", core.vector.times);
    check_states(vcd, "tpu.core0.dma.load_state", core.dma.load_times);
    check_states(vcd, "tpu.core0.dma.store_state", core.dma.store_times);
    const auto amount = [&](const std::string& name) {
        return tests::integral(vcd.signals.at(name), vcd.end) / 1000;
    };
    CHECK(amount("tpu.core0.sequencer.issued") == static_cast<double>(core.sequencer.instructions));
    CHECK(amount("tpu.hbm.read_bytes") == static_cast<double>(result.hbm.bytes_read));
    CHECK(amount("tpu.hbm.written_bytes") == static_cast<double>(result.hbm.bytes_written));
    CHECK(amount("tpu.core0.matrix_unit0.streaming") == static_cast<double>(core.matrix[0].rows_streamed));
    const tests::VcdSignal& queue = vcd.signals.at("tpu.core0.matrix_unit0.push_queue");
    CHECK(queue.changes.size() > 10);
    CHECK(queue.changes.back().second == 0u);
    // Nobody watches any more.
    CHECK(tpu.run(program, memory).cycles == plain.cycles);
}
