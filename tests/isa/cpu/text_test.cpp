// The text form: both ways, and what is refused.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "isa/cpu/program.h"

using namespace heddle;

namespace {

const char* const kText = R"(# y = a x + y
program axpy lanes 16
buffer x 4096
buffer y 4096
buffer part 64 per_thread
parallel rows 4 2 threads 3 {
  loop i2 8 limit 8-1*i0 {
    load.f32 v0 [x 0+1024*i0+64*i2] step 4 where 0+16*i2 1 100
    load.f32 v1 [y 0+1024*i0+64*i2] step 4
    set v2 0x40000000
    fma v1 v0 v2 v1
    shr v4 v1 3
    index v5 [lane 5+1*i2] step 1
    gather.bf16 v3 v5 [x 8] step 0 scale 2 uniform
    store.f32 v1 [y 0+1024*i0+64*i2] step 4 streaming
  }
  tile_zero t0
  tile_store t0 [x 0] step 64
}
)";

std::string problem_of(const std::string& text) {
    try {
        cpu::validate(cpu::assemble(text, "t.cpu"));
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a program survives its text form") {
    const cpu::Program program = cpu::assemble(kText);
    CHECK(cpu::assemble(cpu::disassemble(program)) == program);
    REQUIRE(program.regions.size() == 1);
    CHECK(program.regions[0].counts == std::vector<std::int64_t>{4, 2});
    CHECK(program.regions[0].most_threads == 3);
    const auto& loop = std::get<cpu::Loop>(program.regions[0].body[0]);
    CHECK(loop.bounded);
    CHECK(loop.limit.at(std::vector<std::int64_t>(32, 2).data()) == 6);
    const auto& gather = std::get<cpu::Instruction>(loop.body[6]);
    CHECK(gather.uniform);
    CHECK(gather.scale == 2);
    CHECK(gather.type == cpu::ElementType::bf16);
    CHECK(problem_of(kText).empty());
}

TEST_CASE("mistakes in the text are told with their line") {
    const auto with = [](const std::string& line) { return "program p lanes 16\nbuffer x 128\nparallel r 2 {\n" + line + "\n}\n"; };
    CHECK(problem_of(with("load.f32 v0 [x 0+64*i0] step 4")).empty());
    CHECK(problem_of(with("load.f32 v0 [x 4+64*i0] step 4")).find("load leaves buffer x of 128 bytes") != std::string::npos);
    CHECK(problem_of(with("load.f32 v0 [z 0] step 4")).find("there is no buffer `z`") != std::string::npos);
    CHECK(problem_of(with("load.f32 v0 [z 0] step 4")).find("t.cpu:4") != std::string::npos);
    CHECK(problem_of(with("load.f99 v0 [x 0] step 4")).find("there is no type `f99`") != std::string::npos);
    CHECK(problem_of(with("mull v0 v1 v2")).find("there is no instruction `mull`") != std::string::npos);
    CHECK(problem_of(with("mul v0 v1 v40")).find("register 40 of 32") != std::string::npos);
    CHECK(problem_of(with("tile_bf16 t0 t1 t8")).find("register 8 of 8") != std::string::npos);
    CHECK(problem_of(with("mul v0 v1 v2 v3")).find("is no option") != std::string::npos);
    CHECK(problem_of(with("mul v0 t1 v2")).find("is no vector register") != std::string::npos);
    CHECK(problem_of(with("load.f32 v0 [x 0+4*i3] step 0")).find("counter 3 outside of its loop") != std::string::npos);
    CHECK(problem_of(with("loop i0 3 {\n}")).find("counter 0 in two loops at once") != std::string::npos);
    CHECK(problem_of("program p lanes 5\n").find("4, 8 or 16") != std::string::npos);
    CHECK(problem_of("program p lanes 8\nparallel r 2 {\n").find("expected `}`") != std::string::npos);
    CHECK(problem_of("buffer x 1\n").find("begins with") != std::string::npos);
}

TEST_CASE("OpenMP's static rule: even shares, the first threads have one more") {
    for (const std::int64_t iterations : {0, 1, 7, 8, 9, 100}) {
        std::int64_t next = 0;
        for (unsigned thread = 0; thread < 8; ++thread) {
            const auto [first, last] = cpu::static_share(iterations, thread, 8);
            CHECK(first == next);
            CHECK(last - first == iterations / 8 + (thread < iterations % 8 ? 1 : 0));
            next = last;
        }
        CHECK(next == iterations);
    }
}
