// A CPU's times, against what follows from its parameters by hand.
#include <catch2/catch.hpp>
#include <chrono>

#include "isa/common/error.h"
#include "models/cpu/cpu.h"

using namespace heddle;
using Approx = Catch::Detail::Approx;

namespace {

models::CpuConfig four_cores() {
    models::CpuConfig config;
    config.cores = 4;
    config.clock_single = config.clock_all = 2e9;
    config.memory_bandwidth = 50e9;
    config.memory_efficiency = 1;
    config.memory_latency = 70e-9;
    config.l3.latency = 30e-9;
    config.fork_seconds = 0;
    return config;
}

/// One machine in this process, as SystemC wants it; configurations are tried by tests of their own programs.
models::Cpu& machine() {
    static models::Cpu cpu("cpu", four_cores());
    return cpu;
}

cpu::Program program_of(const std::string& text) {
    cpu::Program program = cpu::assemble("program p lanes 16\n" + text);
    cpu::validate(program);
    return program;
}

double cycles_of(const models::CpuResult& result) {
    return result.seconds * 2e9;
}

std::string repeated(const std::string& line, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
        std::string copy = line;
        for (std::size_t at; (at = copy.find('@')) != std::string::npos;) copy.replace(at, 1, std::to_string(i));
        text += copy + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("independent multiply-adds fill the ports, a chain waits for each") {
    const std::string loop = "parallel r 1 {\nloop i1 10000 {\n";
    // 10 chains on 2 ports: 5 cycles a trip; one chain of 10: 40.
    const auto wide = machine().run(program_of(loop + repeated("fma v@ v30 v31 v@", 10) + "}\n}\n"));
    CHECK(cycles_of(wide) == Approx(50000).epsilon(0.01));
    CHECK(wide.bound_by == "arithmetic");
    CHECK(wide.utilisation.at("arithmetic") == Approx(1).epsilon(0.02));
    const auto chain = machine().run(program_of(loop + repeated("fma v0 v30 v31 v0", 10) + "}\n}\n"));
    CHECK(cycles_of(chain) == Approx(400000).epsilon(0.01));
    CHECK(chain.bound_by == "latency");
    // Twelve operations and the branch that need no port wait for the 6 slots of a cycle.
    const auto issue = machine().run(program_of(loop + repeated("tile_zero t0", 11) + "}\n}\n"));
    CHECK(cycles_of(issue) == Approx(20000).epsilon(0.01));
}

TEST_CASE("loads see the latency of the level where the line is") {
    // A chain of loads through `bytes` of memory, each at the place that the last one names.
    const auto chase = [&](std::uint64_t bytes) {
        const auto lines = std::to_string(bytes / 64);
        const cpu::Program program = program_of("buffer x " + std::to_string(bytes) + "\nparallel touch 1 {\nloop i1 " + lines +
                                                " {\nload.i32 v1 [x 0+64*i1] step 0\n}\n}\nparallel chase 1 {\nloop i1 20000 {\n"
                                                "gather.i32 v0 v0 [x 0] step 0 scale 64 uniform\n}\n}\n");
        return machine().run(program).regions[1].core.cycles / 20000;
    };
    CHECK(chase(32 << 10) == Approx(5).margin(0.2));
    CHECK(chase(1 << 20) == Approx(15).epsilon(0.1));
    CHECK(chase(16 << 20) == Approx(15 + 60).epsilon(0.15));
    // Beyond the L3: 30 + 70 ns, and some lines hit.
    CHECK(chase(512 << 20) == Approx(15 + 200).epsilon(0.1));
}

TEST_CASE("a stream moves as fast as memory, and its write-backs count") {
    const std::string body = "load.f32 v0 [a 0+64*i1] step 4\nload.f32 v1 [b 0+64*i1] step 4\nfma v0 v0 v2 v1\nstore.f32 v0 [c 0+64*i1] step 4";
    const std::string buffers = "buffer a 67108864\nbuffer b 67108864\nbuffer c 67108864\n";
    const auto triad = machine().run(program_of(buffers + "parallel r 1 {\nloop i1 1048576 {\n" + body + "\n}\n}\n"));
    // Four lines per trip: two loads, the line that is stored into, and its write-back, but for what the L3 still holds at the end.
    CHECK(triad.memory_bytes > 3 * 67108864.0);
    CHECK(triad.memory_bytes < 4 * 67108864.0);
    const double rate = triad.memory_bytes / triad.seconds;
    CHECK(rate < 50e9);
    CHECK(rate > 15e9);
    const auto all = machine().run(program_of(buffers + "parallel r 1048576 {\nload.f32 v0 [a 0+64*i0] step 4\nload.f32 v1 [b 0+64*i0] step 4\n"
                                                        "fma v0 v0 v2 v1\nstore.f32 v0 [c 0+64*i0] step 4\n}\n"));
    CHECK(all.regions[0].threads == 4);
    CHECK(all.memory_bytes / all.seconds == Approx(50e9).epsilon(0.05));
    CHECK(all.bound_by == "memory");
    // What lies in the L2 does not ask memory the second time.
    const cpu::Program small = program_of("buffer a 65536\nparallel r 1 {\nloop i1 1024 {\nload.f32 v0 [a 0+64*i1] step 4\n}\n}\n");
    const double cold = machine().run(small).seconds;
    models::CpuRunOptions warm;
    warm.warm = true;
    CHECK(machine().run(small, warm).seconds < cold / 4);
    CHECK(machine().run(small, warm).memory_bytes == 0);
}

TEST_CASE("folded loops take the time of loops that are run") {
    const std::string texts[] = {
        "buffer a 67108864\nbuffer c 65536\nparallel r 64 {\nloop i1 16384 {\nload.f32 v0 [a 0+1048576*i0+64*i1] step 4\nadd v1 v1 v0\n}\n"
        "store.f32 v1 [c 0+64*i0] step 4\n}\n",
        "buffer a 1048576\nbuffer b 1048576\nparallel r 8 {\nloop i1 16 {\nloop i2 1000 {\nload.f32 v0 [a 0+64*i2+65536*i1] step 0\nload.f32 v1 "
        "[b 0+64*i2] step 4\nfma v2 v0 v1 v2\nfma v3 v0 v1 v3\n}\n}\n}\n"};
    for (const std::string& text : texts) {
        models::CpuRunOptions every;
        every.folding = false;
        const auto exact = machine().run(program_of(text), every);
        const auto folded = machine().run(program_of(text));
        CHECK(exact.folded == 0);
        CHECK(folded.folded > 0.3);
        CHECK(folded.seconds == Approx(exact.seconds).epsilon(0.03));
        CHECK(folded.memory_bytes == Approx(exact.memory_bytes).epsilon(0.05));
        CHECK(folded.instructions == Approx(exact.instructions));
        CHECK(folded.simulated < exact.simulated / 2);
    }
}

TEST_CASE("a program takes the same time whatever ran before it") {
    const cpu::Program program = program_of("buffer a 8388608\nparallel r 300 {\nloop i1 100 {\nload.f32 v0 [a 0+6400*i0+64*i1] step 4\ngather.f32 v1 v9 [a 0] step 0 scale 64\n"
                                            "div v2 v0 v1\nstore.f32 v2 [a 1024+64*i1] step 4\n}\n}\n");
    const double first = machine().run(program).seconds;
    machine().run(program_of("buffer b 33554432\nparallel r 7 {\nloop i1 9999 {\nload.f32 v0 [b 0+192*i1] step 4\nsqrt v1 v0\n}\n}\n"));
    CHECK(machine().run(program).seconds == first);
}

TEST_CASE("what several threads read comes from memory once") {
    // Every thread reads all of `a`; of `b` each has a part.
    const std::string begin = "buffer a 4194304\nbuffer b 4194304\nparallel r 4 65536 {\nload.f32 v0 [", end = "] step 4\nfma v1 v0 v0 v1\n}\n";
    const auto common = machine().run(program_of(begin + "a 0+64*i1" + end));
    const auto apart = machine().run(program_of("buffer a 64\nbuffer b 16777216\nparallel r 4 65536 {\nload.f32 v0 [b 0+4194304*i0+64*i1" + end));
    CHECK(common.regions[0].threads == 4);
    CHECK(common.memory_bytes == Approx(4194304).epsilon(0.05));
    CHECK(apart.memory_bytes == Approx(16777216).epsilon(0.05));
    CHECK(common.seconds < apart.seconds);
}

TEST_CASE("threads share by OpenMP's rule, and a program needs units that there are") {
    const std::string body = " {\nloop i1 1000 {\n" + repeated("fma v@ v30 v31 v@", 8) + "}\n}\n";
    CHECK(cycles_of(machine().run(program_of("parallel r 8" + body))) == Approx(2 * 4000).epsilon(0.02));
    CHECK(cycles_of(machine().run(program_of("parallel r 9" + body))) == Approx(3 * 4000).epsilon(0.02));
    CHECK(cycles_of(machine().run(program_of("parallel r 9 threads 1" + body))) == Approx(9 * 4000).epsilon(0.02));
    CHECK_THROWS_AS(machine().run(program_of("parallel r 1 {\ntile_bf16 t0 t1 t2\n}\n")), Error);
}

TEST_CASE("a million vector instructions take less than a second") {
    models::CpuRunOptions every;
    every.folding = false;
    const cpu::Program program =
        program_of("buffer a 4194304\nparallel r 1 {\nloop i1 65536 {\n" + repeated("load.f32 v@ [a 0+64*i1] step 4\nfma v@ v@ v31 v30", 8) + "}\n}\n");
    const auto begin = std::chrono::steady_clock::now();
    const auto result = machine().run(program, every);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    CHECK(result.simulated == 65536 * 16);
    WARN(static_cast<double>(result.simulated) / seconds / 1e6 << " million instructions per second");
    CHECK(seconds < 1);
}
