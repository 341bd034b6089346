// What instructions compute, against numbers worked out by hand or by double precision.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "isa/common/error.h"
#include "isa/cpu/execute.h"

using namespace heddle;

namespace {

/// Runs a text on 8 lanes; buffer 0 is `in`, buffer 1 the result.
std::vector<float> run(const std::string& body, std::vector<float> in, unsigned threads = 1, std::size_t out = 8) {
    const cpu::Program program =
        cpu::assemble("program p lanes 8\nbuffer in " + std::to_string(in.size() * 4) + "\nbuffer out " + std::to_string(out * 4) + "\n" + body);
    cpu::validate(program);
    cpu::Memory memory(program, threads);
    std::memcpy(memory.bytes(0).data(), in.data(), in.size() * 4);
    cpu::execute(program, memory);
    std::vector<float> result(out);
    std::memcpy(result.data(), memory.bytes(1).data(), out * 4);
    return result;
}

const std::vector<float> kEight{1, 2, 3, 4, 5, 6, 7, 8};

std::vector<float> unary(const std::string& instruction, const std::vector<float>& in = kEight) {
    return run("parallel r 1 {\n load.f32 v0 [in 0] step 4\n" + instruction + "\n store.f32 v1 [out 0] step 4\n}\n", in);
}

}  // namespace

TEST_CASE("arithmetic rounds once") {
    CHECK(unary("fma v1 v0 v0 v0") == std::vector<float>{2, 6, 12, 20, 30, 42, 56, 72});
    const std::vector<float> thirds = unary("set v2 0x40400000\n div v1 v0 v2");
    for (int i = 0; i < 8; ++i) CHECK(thirds[i] == kEight[i] / 3.0f);
    // 1 + 2^-12 squared minus (1 + 2^-11): what a fused product keeps.
    const float x = 1 + 0x1p-12f;
    CHECK(unary("set v2 0xbf801000\n fma v1 v0 v0 v2", std::vector<float>(8, x))[0] == 0x1p-24f);
    CHECK(unary("hsum v1 v0") == std::vector<float>(8, 36));
    CHECK(unary("hmax v1 v0") == std::vector<float>(8, 8));
    CHECK(unary("hmin v1 v0") == std::vector<float>(8, 1));
    CHECK(unary("set v2 0x40800000\n gt v2 v0 v2\n set v3 0\n select v1 v2 v0 v3") == std::vector<float>{0, 0, 0, 0, 5, 6, 7, 8});
    CHECK(unary("round v1 v0", {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 3.4f, 3.6f, 0}) == std::vector<float>{0, 2, 2, -0.0f, -2, 3, 4, 0});
    CHECK(unary("exponent v2 v0\n mantissa v1 v0\n scale v1 v1 v2", {0.3f, 5, -7, 1e-40f, 1e30f, 1, 2, 4}) ==
          std::vector<float>{0.3f, 5, -7, 1e-40f, 1e30f, 1, 2, 4});
    const float nan = std::nanf("");
    CHECK(unary("set v2 0x3f800000\n max v1 v0 v2", std::vector<float>(8, nan))[0] == 1);  // the second operand
}

TEST_CASE("masks, strides and threads") {
    // 3 rows of 5 transposed: lanes beyond 5 neither read nor write.
    std::vector<float> in(15);
    for (int i = 0; i < 15; ++i) in[i] = static_cast<float>(i);
    const std::vector<float> out = run(
        "parallel r 3 {\n load.f32 v0 [in 0+20*i0] step 4 where 0 1 5\n store.f32 v0 [out 0+4*i0] step 12 where 0 1 5\n}\n", in, 2, 15);
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 5; ++c) CHECK(out[c * 3 + r] == in[r * 5 + c]);
    // Negative places are masked: the padding of a convolution.
    const std::vector<float> padded = run("parallel r 1 {\n load.f32 v0 [in -8] step 4 where -2 1 15\n store.f32 v0 [out 0] step 4\n}\n", in);
    CHECK(padded == std::vector<float>{0, 0, 0, 1, 2, 3, 4, 5});
    // A sum through a loop with a limit: row i0 adds i0 + 1 numbers.
    CHECK(run("parallel r 8 {\n set v1 0\n loop i1 8 limit 1+1*i0 {\n load.f32 v0 [in 0+4*i1] step 0\n add v1 v1 v0\n }\n"
              " store.f32 v1 [out 0+4*i0] step 0 where 0 1 1\n}\n",
              kEight, 3) == std::vector<float>{1, 3, 6, 10, 15, 21, 28, 36});
    // gather by computed indices.
    CHECK(run("parallel r 1 {\n index v0 [lane 7] step -1\n gather.f32 v1 v0 [in 0] step 0 scale 4\n store.f32 v1 [out 0] step 4\n}\n", kEight) ==
          std::vector<float>{8, 7, 6, 5, 4, 3, 2, 1});
    // An index out of bounds is told.
    CHECK_THROWS_AS(run("parallel r 1 {\n index v0 [lane 8] step 1\n gather.f32 v1 v0 [in 0] step 0 scale 4\n}\n", kEight), Error);
}

TEST_CASE("memory types convert") {
    const std::string text = "parallel r 1 {\n load.f32 v0 [in 0] step 4\n store.bf16 v0 [in 32] step 2\n load.bf16 v1 [in 32] step 2\n"
                             " store.f32 v1 [out 0] step 4\n}\n";
    std::vector<float> in(16);
    in[0] = 1 + 0x1p-8f;  // halfway between bf16 numbers: to even
    in[1] = 1 + 3 * 0x1p-8f;
    in[2] = -3.140625f;
    CHECK(run(text, in) == std::vector<float>{1, 1 + 0x1p-6f, -3.140625f, 0, 0, 0, 0, 0});
}
