#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "isa/tpu/assembler.h"

using namespace heddle;
using namespace heddle::tpu;

namespace {

std::string verdict(const std::string& instructions, const std::string& kernels = "") {
    try {
        validate(assemble(kernels + "core {\n" + instructions + "\n}", "p.tpu"), Limits{}, "p.tpu");
    } catch (const Error& error) {
        return error.what();
    }
    return "good";
}

}  // namespace

TEST_CASE("what does not fit the machine is refused with place and reason") {
    using Catch::Contains;
    CHECK(verdict("halt") == "good");
    CHECK_THAT(verdict("signal 0"), Contains("end every core with halt"));
    CHECK_THAT(verdict("halt\nsignal 0"), Contains("p.tpu:3") && Contains("follows halt"));
    CHECK_THAT(verdict("repeat 2 {\nhalt\n}"), Contains("inside a repeat"));
    CHECK_THAT(verdict("signal 256\nhalt"), Contains("does not exist"));
    CHECK_THAT(verdict("signal 3 3\nwait 3 3\nhalt"), Contains("flag 3 twice"));
    CHECK_THAT(verdict("wait 3\nhalt"), Contains("waited for 1 times but signalled only 0"));
    CHECK_THAT(verdict("repeat 3 {\nwait 3\n}\nrepeat 2 {\nsignal 3\n}\nhalt"),
               Contains("3 times but signalled only 2"));
    CHECK_THAT(verdict("repeat 2 {\nrepeat 2 {\nrepeat 2 {\nrepeat 2 {\nsignal 0\n}\n}\n}\n}\nhalt"),
               Contains("nested too deeply"));

    // 16 MiB of VMEM: the last byte of the last iteration counts.
    const std::string load = "repeat 16 {\ndma.load vmem 0x100000*i hbm 0 rows 1 row_bytes ";
    CHECK(verdict(load + "1048576\n}\nhalt") == "good");
    CHECK_THAT(verdict(load + "1048577\n}\nhalt"), Contains("VMEM") && Contains("16777216"));
    CHECK_THAT(verdict("dma.load vmem 0x10*i hbm 0 rows 1 row_bytes 4\nhalt"), Contains("does not enclose"));

    CHECK_THAT(verdict("push unit 2 vmem 0 rows 4 columns 4 type bf16\nhalt"), Contains("matrix unit 2"));
    CHECK_THAT(verdict("push unit 0 vmem 0 rows 129 columns 4 type bf16\nhalt"), Contains("rows is 129"));
    CHECK_THAT(verdict("push unit 0 vmem 1 rows 4 columns 4 type bf16\nhalt"), Contains("multiple"));
    CHECK_THAT(verdict("push unit 0 vmem 0 rows 4 columns 4 type int32\nhalt"), Contains("not int32"));
    CHECK_THAT(verdict("push unit 0 vmem 0 rows 4 columns 4 type bf16 part low\nhalt"),
               Contains("only fp32"));
    CHECK_THAT(verdict("matmul unit 0 vmem 0 rows 100 depth 4 columns 4 type bf16 accumulator 2000\nhalt"),
               Contains("result rows up to 2100"));
    CHECK_THAT(verdict("pop unit 0 vmem 0 rows 1 columns 4 type int8\nhalt"),
               Contains("fp32, bf16 or int32"));
}

TEST_CASE("kernels are type-checked with the tiles that they are given") {
    using Catch::Contains;
    const std::string add =
        "kernel f inputs 2 scalars 0 {\n0 = input 0\n1 = input 1\n2 = add 0 1\noutput 2\n}\n";
    const std::string use = "vector f rows 8 columns 128 in fp32@0:512 in ";
    CHECK(verdict(use + "bf16@0x1000:256 out bf16@0x2000:256\nhalt", add) == "good");
    CHECK_THAT(verdict(use + "int32@0x1000:512 out fp32@0x2000:512\nhalt", add), Contains("takes fp32"));
    CHECK_THAT(verdict(use + "fp32@0x1000:512 out int32@0x2000:512\nhalt", add),
               Contains("other kind of number"));
    CHECK_THAT(verdict(use + "fp32@0x1000:512 out fp32@0x2000:4\nhalt", add), Contains("overlap"));
    CHECK_THAT(verdict("vector f rows 8 columns 128 in fp32@0:512 out fp32@0x2000:512\nhalt", add),
               Contains("2 inputs"));

    // All values are made before the first of them is used up.
    const auto many = [](int values) {
        std::string kernel = "kernel f inputs 1 scalars 0 {\n0 = input 0\n";
        for (int i = 1; i <= values; ++i) kernel += std::to_string(i) + " = negate 0\n";
        kernel += std::to_string(values + 1) + " = add 1 2\n";
        for (int i = values + 2; i < 2 * values; ++i) {
            kernel += std::to_string(i) + " = add " + std::to_string(i - 1) + " " +
                      std::to_string(i - values + 1) + "\n";
        }
        return kernel + "output " + std::to_string(2 * values - 1) + "\n}\n";
    };
    const std::string call = "vector f rows 1 columns 1 in fp32@0:4 out fp32@0:4\nhalt";
    CHECK(verdict(call, many(32)) == "good");
    CHECK_THAT(verdict(call, many(33)), Contains("holds 33 values") && Contains("32 vector registers"));
}
