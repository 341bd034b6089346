// Twins of programs, and how experiments are timed.
#include <catch2/catch.hpp>
#include <cstring>

#include "isa/common/error.h"
#include "isa/cpu/execute.h"
#include "validation/cpu/cpu_validation.h"
#include "validation/cpu/native_program.h"

using namespace heddle;

TEST_CASE("a twin computes what its program does, every bit") {
    if (!validation::why_no_twins().empty()) {
        WARN(validation::why_no_twins());
        return;
    }
    const char* const text = R"(program p lanes 16
buffer x 1024
buffer y 2048
buffer z 512
parallel r 3 {
  loop i1 4 limit 3-1*i0 {
    load.f32 v0 [x 0+256*i0+64*i1] step 4 where 0+64*i0+16*i1 1 150
    load.f32 v1 [x 4+16*i1] step 0
    gather.f32 v9 v8 [x 0+4*i1] step 4 scale 4 uniform
    fma v2 v0 v1 v0
    exponent v3 v2
    mantissa v4 v2
    scale v5 v4 v3
    gt v6 v0 v1
    select v5 v6 v5 v1
    hsum v7 v5
    add v5 v5 v7
    round v7 v5
    sub v5 v5 v7
    store.f32 v5 [y 0+512*i0+128*i1] step 8
    store.bf16 v2 [z 0+128*i0+32*i1] step 2 where 0 1 11
  }
}
)";
    const std::vector<cpu::Program> programs{cpu::assemble(text)};
    cpu::validate(programs[0]);
    cpu::Memory executed(programs[0], 1), native(programs[0], 1);
    for (cpu::Memory* const memory : {&executed, &native})
        for (int i = 0; i < 256; ++i) {
            const float value = static_cast<float>((i * 37) % 101 - 50) / 7.0f;
            std::memcpy(memory->bytes(0).data() + 4 * i, &value, 4);
        }
    cpu::execute(programs[0], executed);
    const validation::NativePrograms twins(programs);
    twins.run(0, {native.bytes(0).data(), native.bytes(1).data(), native.bytes(2).data()});
    bool written = false;
    for (std::size_t buffer : {1u, 2u}) {
        CHECK(std::memcmp(executed.bytes(buffer).data(), native.bytes(buffer).data(), executed.bytes(buffer).size()) == 0);
        for (const std::byte byte : executed.bytes(buffer)) written = written || byte != std::byte{0};
    }
    CHECK(written);
    CHECK_THROWS_AS(validation::twin_text(std::vector<cpu::Program>{cpu::assemble("program q lanes 8\n")}), Error);
}

TEST_CASE("experiments take turns, and the least counts") {
    std::string order;
    int a = 0;
    const std::vector<validation::HostTime> times = validation::measure_in_turns(
        {{"a", [&] { return order += 'a', ++a == 1 ? 0.5 : 10.0 + a; }}, {"b", [&] { return order += 'b', 2.0; }}}, 4);
    CHECK(order == "ababababab");  // the first round warms up
    CHECK(times[0].least == 12);
    CHECK(times[0].median == 14);
    CHECK(times[0].runs == 4);
    CHECK(times[1].spread() == 0);
}

TEST_CASE("a chain through a small memory is quicker than through a large one") {
    validation::HostChase small(16 << 10), large(64 << 20);
    double quick = 1, slow = 1;
    for (int i = 0; i < 5; ++i) {
        quick = std::min(quick, small.seconds_per_load());
        slow = std::min(slow, large.seconds_per_load());
    }
    CHECK(quick > 0);
    CHECK(quick * 2 < slow);
    CHECK(validation::host_clock() > 5e8);
}
