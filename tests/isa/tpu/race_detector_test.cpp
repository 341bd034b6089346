#include "isa/tpu/race_detector.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "isa/tpu/assembler.h"

using namespace heddle;
using namespace heddle::tpu;

namespace {

std::string verdict(const std::string& text) {
    Memory memory;
    memory.allocate_at("all", 0, 1 << 20, true);
    memory.allocate_at("CMEM", kCommonMemoryBase, 1 << 20, true);
    const Program program = assemble("kernel copy inputs 1 scalars 0 {\n0 = input 0\noutput 0\n}\n" + text);
    Limits limits;
    limits.vmem_bytes = 1 << 16;
    RaceDetector detector(program, limits);
    try {
        execute(program, memory, limits, &detector);
    } catch (const Error& error) {
        return error.what();
    }
    return "good";
}

const std::string kLoad = "dma.load vmem 0 hbm 0 rows 1 row_bytes 512 signals 0\n";
const std::string kCopy = "vector copy rows 1 columns 128 in fp32@0:0 out fp32@0x400:0 ";

}  // namespace

TEST_CASE("programs whose flags order every access are good") {
    CHECK(verdict("core {\n" + kLoad + kCopy +
                  "after 0 signals 1\ndma.store vmem 0x400 hbm 0 rows 1 row_bytes 512 after 1\nhalt\n}") ==
          "good");
    // The sequencer's waits order what it issues later.
    CHECK(verdict("core {\n" + kLoad + "wait 0\n" + kCopy + "\nhalt\n}") == "good");
    // Two writers of different bytes.
    CHECK(verdict("core {\n" + kLoad +
                  "vector copy rows 1 columns 128 in fp32@0x800:0 out fp32@0x400:0\nhalt\n}") == "good");
    // Two units signal one flag; the waiter takes both tokens.
    CHECK(verdict("core {\n" + kLoad +
                  "vector copy rows 1 columns 128 in fp32@0x800:0 out fp32@0x400:0 signals 0\n"
                  "push unit 0 vmem 0 rows 1 columns 128 type fp32 after 0:2\nhalt\n}") == "good");
    // Loads of one engine are done in order.
    CHECK(verdict("core {\n" + kLoad + kLoad + "halt\n}") == "good");
}

TEST_CASE("races are found in all forms") {
    using Catch::Contains;
    CHECK_THAT(verdict("core {\n" + kLoad + kCopy + "\nhalt\n}"),
               Contains("race") && Contains("dma.load") && Contains("vector copy"));
    // Write after read.
    CHECK_THAT(verdict("core {\n" + kLoad + kCopy + "after 0\n" + kLoad + "halt\n}"), Contains("race"));
    // A wait for the wrong token: the second load is not known to be done.
    CHECK_THAT(verdict("core {\n" + kLoad +
                       "dma.load vmem 0x400 hbm 0 rows 1 row_bytes 512 signals 0\n"
                       "push unit 0 vmem 0x400 rows 1 columns 128 type fp32 after 0\nhalt\n}"),
               Contains("race"));
    // A load from CMEM overtakes one from HBM: one of two tokens tells nothing of either.
    CHECK_THAT(verdict("core {\n" + kLoad +
                       "dma.load vmem 0x400 hbm 0x100000000000 rows 1 row_bytes 512 signals 0\n"
                       "push unit 0 vmem 0 rows 1 columns 128 type fp32 after 0\nhalt\n}"),
               Contains("race"));
    // Order is kept by words: halves of one are told as one place, halves of neighbours are not.
    const auto halves = [](const std::string& second) {
        return verdict("core {\ndma.load vmem 0 hbm 0 rows 1 row_bytes 2\ndma.load vmem " + second +
                       " hbm 0x100000000000 rows 1 row_bytes 2\nhalt\n}");
    };
    CHECK_THAT(halves("2"), Contains("race") && Contains("VMEM byte 0"));
    CHECK(halves("4") == "good");
    // One token of two units: it is not known whose.
    CHECK_THAT(verdict("core {\n" + kLoad +
                       "vector copy rows 1 columns 128 in fp32@0x800:0 out fp32@0x400:0 signals 0\n"
                       "push unit 0 vmem 0 rows 1 columns 128 type fp32 after 0\nhalt\n}"),
               Contains("race"));
    // A gather reads its indices when it starts.
    CHECK_THAT(verdict("core {\n" + kLoad +
                       "dma.gather vmem 0x800 hbm 0 rows 4 row_bytes 16 hbm_stride 16 vmem_stride 16 indices "
                       "0 table_rows 9\nhalt\n}"),
               Contains("race") && Contains("dma.gather"));
    // Two cores and HBM.
    CHECK_THAT(verdict("core {\ndma.store vmem 0 hbm 0 rows 1 row_bytes 512 signals 1.0\nhalt\n}\n"
                       "core {\ndma.load vmem 0 hbm 0 rows 1 row_bytes 512\nwait 0\nhalt\n}"),
               Contains("race") && Contains("HBM"));
    CHECK(verdict("core {\ndma.store vmem 0 hbm 0 rows 1 row_bytes 512 signals 1.0\nhalt\n}\n"
                  "core {\nwait 0\ndma.load vmem 0 hbm 0 rows 1 row_bytes 512\nhalt\n}") == "good");
}

TEST_CASE("a use before its load is found when asked for, and named with its line") {
    Memory memory;
    memory.allocate_at("all", 0, 1 << 20, true);
    const Limits limits;
    const auto strictly = [&](const std::string& text) {
        const Program program = assemble("core {\n" + text + "halt\n}", "bad.tpu");
        RaceDetector detector(program, limits, true);
        try {
            execute(program, memory, limits, &detector);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("good");
    };
    const std::string push = "push unit 0 vmem 0 rows 1 columns 128 type fp32 after 0\n";
    CHECK(strictly(kLoad + push) == "good");
    using Catch::Contains;
    CHECK_THAT(
        strictly("dma.load vmem 0 hbm 0 rows 1 row_bytes 256 signals 0\n" + push),
        Contains("use before load") && Contains("byte 256") && Contains("push unit 0") && Contains("3"));
}
