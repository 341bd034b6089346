#include "isa/tpu/assembler.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::tpu;

namespace {

constexpr const char* kText = R"(program example
kernel mixed inputs 2 scalars 1 {
  0 = input 0
  1 = input 1
  2 = scalar 0
  3 = multiply 0 2
  4 = add 3 1
  5 = constant -0.1
  6 = maximum 4 5
  7 = random 3
  8 = less 7 2
  9 = select 8 6 4
  10 = integer_constant -7
  output 9
  output 6 lanes_sum
  output 4 sublanes_maximum accumulate
}
core {
  dma.load vmem 0x0 hbm 0x10000 rows 16 row_bytes 512 vmem_stride 512 hbm_stride 4096 signals 0
  dma.gather vmem 0x8000 hbm 0x20000 rows 4 row_bytes 64 vmem_stride 64 hbm_stride 64 indices 0x7000 table_rows 100
  push unit 1 vmem 0x0 rows 128 columns 64 stride 256 type fp32 part low transposed after 0
  repeat 4 {
    repeat 2 {
      matmul unit 1 vmem 0x20000+0x10000*i-0x40*j rows 128 depth 128 columns 64 stride 512 type bf16 accumulator 8 accumulate keep_weights
    }
  }
  pop unit 1 vmem 0x40000 rows 8 columns 64 stride 128 type bf16 accumulator 8 after 1:2 after 2 signals 1.0 signals 3
  vector mixed rows 8 columns 128 in fp32@0x0:512 in bf16@0x30000+0x100*i:0:broadcast out fp32@0x40000:512 out fp32@0x50000:4 out fp32@0x50100:0 scalar 0.3 row_origin 0x10 element_stride 1000
  transpose source 0x0 destination 0x10000 rows 8 columns 16 source_stride 64 destination_stride 32 type fp32
  dma.scatter_add vmem 0x0 hbm 0x20000 rows 4 row_bytes 64 vmem_stride 64 hbm_stride 64 indices 0x7000 table_rows 100
  wait 3 4:2 signals 5
  signal 6
  halt
}
core {
  dma.store vmem 0x0 hbm 0x10000 rows 16 row_bytes 512 vmem_stride 512 hbm_stride 4096
  halt
}
)";

}  // namespace

TEST_CASE("text becomes instructions") {
    const Program program = assemble(kText);
    REQUIRE(program.name == "example");
    REQUIRE(program.cores.size() == 2);
    const std::vector<Instruction>& list = program.cores[0].instructions;
    REQUIRE(list.size() == 15);

    const auto& load = std::get<Dma>(list[0].operation);
    CHECK(load.hbm.base == 0x10000);
    CHECK(load.rows == 16);
    CHECK(load.hbm_stride == 4096);
    CHECK(list[0].signals.at(0).flag == 0);
    CHECK(list[0].line == 19);

    const auto& push = std::get<PushWeights>(list[2].operation);
    CHECK(push.unit == 1);
    CHECK(push.transposed);
    CHECK(push.part == Bf16Part::low);
    CHECK(list[2].waits == std::vector<FlagWait>{{0, 1}});

    const auto& matmul = std::get<Matmul>(list[5].operation);
    CHECK(matmul.vmem.at({3, 1, 0}) == 0x20000 + 3 * 0x10000 - 0x40);
    CHECK_FALSE(matmul.next_weights);
    CHECK(matmul.accumulate);

    CHECK(list[8].waits == std::vector<FlagWait>{{1, 2}, {2, 1}});
    CHECK(list[8].signals.at(0).core == 1);
    CHECK(list[8].signals.at(1).flag == 3);

    const auto& vector = std::get<Vector>(list[9].operation);
    CHECK(vector.inputs.at(1).broadcast_columns);
    CHECK(vector.inputs.at(1).row_stride == 0);
    CHECK(vector.scalars == std::vector<float>{0.3f});
    CHECK(vector.kernel->nodes.at(9).c == 4);
    CHECK(vector.kernel->outputs.at(2).reduction == Reduction::sublanes_maximum);

    CHECK(list[12].waits == std::vector<FlagWait>{{3, 1}, {4, 2}});
    CHECK(list[12].signals.at(0).flag == 5);
}

TEST_CASE("disassembling and assembling gives the same program, and the same text") {
    const Program program = assemble(kText);
    const std::string text = disassemble(program);
    CHECK(text == kText);
    CHECK(assemble(text) == program);
}

TEST_CASE("the cursor walks through repeats as nested loops do") {
    const Program program = assemble(R"(core {
  repeat 3 {
    signal 0
    repeat 2 {
      signal 1
    }
  }
  halt
})");
    std::string walked, expected;
    for (ProgramCursor cursor(program.cores[0]); cursor.instruction() != nullptr; cursor.advance()) {
        const Instruction& instruction = *cursor.instruction();
        if (std::holds_alternative<Halt>(instruction.operation)) break;
        walked += std::to_string(instruction.signals.at(0).flag) + ":" +
                  std::to_string(cursor.counters()[0]) + "," + std::to_string(cursor.counters()[1]) + " ";
    }
    for (int i = 0; i < 3; ++i) {
        expected += "0:" + std::to_string(i) + ",0 ";
        for (int j = 0; j < 2; ++j) expected += "1:" + std::to_string(i) + "," + std::to_string(j) + " ";
    }
    CHECK(walked == expected);
}

TEST_CASE("errors name file, line, word and remedy") {
    const auto message = [](const std::string& text) {
        try {
            assemble(text, "bad.tpu");
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    CHECK_THAT(message("core {\n  dma.lod vmem 0\n}"),
               Catch::Contains("bad.tpu:2") && Catch::Contains("dma.load"));
    CHECK_THAT(message("core {\n\n  push unit 0 vmem 0 rows 4 colums 4 type bf16\n}"),
               Catch::Contains("bad.tpu:3") && Catch::Contains("needs columns"));
    CHECK_THAT(message("core {\n  pop unit 0 vmem 0 rows 4 columns 4 type bf16 strde 8\n}"),
               Catch::Contains("strde") && Catch::Contains("did you mean stride"));
    CHECK_THAT(message("core {\n  pop unit 0 vmem 0 rows x columns 4 type bf16\n}"),
               Catch::Contains("not an integer"));
    CHECK_THAT(message("core {\n  pop unit 0 vmem 0+4*q rows 1 columns 4 type bf16\n}"),
               Catch::Contains("repeat counter q"));
    CHECK_THAT(message("core {\n  pop unit 0 vmem 0 rows 1 columns 4 type fp64\n}"),
               Catch::Contains("not an element type"));
    CHECK_THAT(message("core {\n  vector f rows 1 columns 1\n}"), Catch::Contains("not a kernel"));
    CHECK_THAT(message("kernel f inputs 0 scalars 0 {\n 0 = ad 1 2\n}"),
               Catch::Contains("no vector operation"));
    CHECK_THAT(message("kernel f inputs 0 scalars 0 {\n 1 = random 2\n}"), Catch::Contains("expected 0"));
    CHECK_THAT(message("core {\n  halt\n"), Catch::Contains("not closed"));
    CHECK_THAT(message("core {\n  pop unit 300 vmem 0 rows 1 columns 4 type bf16\n}"),
               Catch::Contains("out of range"));
}

TEST_CASE("any text gives a program or an error, never a crash") {
    const std::string text = kText;
    for (std::size_t length = 0; length < text.size(); length += 7) {
        try {
            assemble(text.substr(0, length));
        } catch (const Error&) {
        }
        std::string changed = text;
        changed[length] = static_cast<char>(33 + length % 90);
        try {
            validate(assemble(changed), Limits{});
        } catch (const Error&) {
        }
    }
    SUCCEED();
}
