// The format's rules on texts written by hand, and what is said of damaged ones.
#include "workloads/sass_traces/trace_reader.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::sass;

namespace {

class TextBytes : public ByteSource {
  public:
    TextBytes(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}
    std::size_t read(char* to, std::size_t capacity) override {
        const std::size_t count = std::min({capacity, piece_, text_.size() - at_});
        std::memcpy(to, text_.data() + at_, count);
        at_ += count;
        return count;
    }

  private:
    std::string text_;
    std::size_t piece_, at_ = 0;
};

TraceReader reader_of(const std::string& text, std::size_t piece = 1 << 20) {
    return TraceReader(std::make_unique<TextBytes>(text, piece), "kernel.traceg");
}

std::string header(const std::string& more = "-accelsim tracer version = 5\n-enable lineinfo = 0\n") {
    return "-kernel name = vector_add\n-kernel id = 7\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = "
           "16\n"
           "-nregs = 12\n-binary version = 80\n-cuda stream id = 3\n-shmem base_addr = 0x00007fb139000000\n"
           "-local mem base_addr = 0x00007fb137000000\n-nvbit version = 1.7\n" +
           more + "\n#traces format = ...\n\n";
}

std::string one_warp(const std::string& instructions, unsigned count) {
    return "#BEGIN_TB\n\nthread block = 1,0,0\n\nwarp = 1\ninsts = " + std::to_string(count) + "\n" +
           instructions + "\n#END_TB\n";
}

/// All that a text holds, or the message of the error.
std::string outcome(const std::string& text) {
    try {
        TraceReader reader = reader_of(text);
        std::size_t steps = 0;
        while (const auto block = reader.next()) {
            for (const WarpTrace& warp : block->warps) steps += warp.steps.size();
        }
        return std::to_string(steps) + " steps";
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("Header, instructions and the three modes of addresses") {
    const std::string text =
        header() + one_warp(
                       "0000 ffffffff 1 R1 MOV 0 0 0\n"
                       "0010 0000000f 1 R2 LDG.E.64 1 R4 8 0 0x100 0x108 0x200 0x40 0\n"
                       "0020 000000f0 0 STS 2 R11 R14 4 1 0x40 -4 0\n"
                       "0030 80000007 1 R3 LDSM.16.M88.4 1 R5 16 2 0x1000 16 -32 4096 0\n"
                       "0040 00000000 0 EXIT 0 0 0\n",
                       5);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
        TraceReader reader = reader_of(text, piece);
        CHECK(reader.header().name == "vector_add");
        CHECK(reader.header().grid.x == 2);
        CHECK(reader.header().block.count() == 64);
        CHECK(reader.header().shared_bytes == 16);
        CHECK(reader.header().shared_base == 0x00007fb139000000);
        CHECK(reader.header().local_base == 0x00007fb137000000);
        CHECK(reader.header().binary_version == 80);
        const auto block = reader.next();
        REQUIRE(block);
        CHECK(block->position.x == 1);
        REQUIRE(block->warps.size() == 1);
        const WarpTrace& warp = block->warps[0];
        CHECK(warp.warp == 1);
        REQUIRE(warp.steps.size() == 5);
        CHECK(warp.addresses == std::vector<std::uint64_t>{0x100, 0x108, 0x200, 0x40, 0x40, 0x3c, 0x38, 0x34,
                                                           0x1000, 0x1010, 0xff0, 0x1ff0});
        CHECK(warp.steps[2].addresses == 4);
        CHECK(warp.steps[3].lanes == 0x80000007);
        const Instruction& load = reader.instructions()[warp.steps[1].instruction];
        CHECK(load.opcode == "LDG.E.64");
        CHECK(load.destination == 2);
        CHECK(load.sources[0] == 4);
        CHECK(load.bytes_per_lane == 8);
        CHECK_FALSE(reader.instructions()[warp.steps[2].instruction].writes);
        CHECK_FALSE(reader.next());
    }
}

TEST_CASE("Old versions name the place of every instruction, and lines of the source stand in front") {
    CHECK(outcome(header("-accelsim tracer version = 2\n") +
                  one_warp("1 0 0 1 0000 ffffffff 1 R1 MOV 0 0\n", 1)) == "1 steps");
    TraceReader reader = reader_of(header("-accelsim tracer version = 5\n-enable lineinfo = 1\n") +
                                   one_warp("42 0010 ffffffff 1 R1 MOV 0 0 0\n", 1));
    CHECK(reader.next().has_value());
    CHECK(reader.instructions()[0].program_counter == 0x10);
}

TEST_CASE("Version 6: uniform registers, values, groups of products, what the copy engine moves") {
    TraceReader reader = reader_of(
        header("-accelsim tracer version = 6\n-enable lineinfo = 0\n") +
        "#BEGIN_TB\nthread block = 1,0,0\ncluster id = 0,0,0\ncluster cta = 1,0,0\ncluster rank = 1\nwarp = "
        "1\ninsts = 8\n"
        "0000 ffffffff 1 UR4 S2UR 0 0 0 0 NoVal\n"
        "0010 0000000f 1 R2 IMAD 3 R4 UR5 R6 0 7 0 Val 1 2a 1 1 1 2 1 3\n"
        "0020 ffffffff 1 R24 HGMMA.64x64x16.F32 2 UR4 R24 1 0 0 0 NoVal\n"
        "0030 00000001 0 SYNCS.EXCH.64 2 UR4 UR6 8 1 0x408 0 0 0 Val 1 408 1 7ffff800001ffff8\n"
        "0040 00000002 0 SYNCS.ARRIVE.TRANS64.RED.A1T0 2 R2 R255 8 1 0x3000408 0 0 0 Val 1 3000408 1 0\n"
        "0050 ffffffff 1 P0 SYNCS.PHASECHK.TRANS64.TRYWAIT 2 R2 R3 8 1 0x408 0 0 0 Val 1 0 1 408 1 80000000\n"
        "0060 ffffffff 0 UTMALDG.2D.MULTICAST 2 UR8 UR4 128 408 1 5 400 100 3 3 7f0000001000 7f0000003000 "
        "7f0000004000 0 0 "
        "NoVal\n"
        "0070 ffffffff 1 R9 BAR.ARV 0 0 128 0 Val 1 3\n"
        "#END_TB\n");
    CHECK(reader.header().complete);
    const auto block = reader.next();
    REQUIRE(block);
    const WarpTrace& warp = block->warps[0];
    REQUIRE(warp.steps.size() == 8);
    const auto instruction = [&](std::size_t i) { return reader.instructions()[warp.steps[i].instruction]; };
    CHECK(instruction(0).destination == kZeroRegister);
    CHECK(instruction(1).destination == 2);
    CHECK(instruction(1).sources[1] == kZeroRegister);
    CHECK(instruction(1).sources[2] == 6);
    CHECK(instruction(1).immediate == 7);
    CHECK(instruction(2).ends_group);
    CHECK(instruction(3).immediate == 4);  // arrivals: 2^20 less what is kept
    CHECK(warp.addresses[warp.steps[3].addresses] == 0x00007fb139000408);
    CHECK(instruction(4).immediate == 1);  // one arrival, no transactions
    CHECK(warp.addresses[warp.steps[4].addresses] == 0x00007fb139000408 + (4ull << 24));  // in thread block 3
    CHECK(instruction(5).immediate == 1);
    CHECK(warp.steps[6].lanes == 1);
    CHECK(warp.addresses[warp.steps[6].addresses] == 0x7f0000001000);
    REQUIRE(reader.copies().size() == 1);
    const BulkCopy& copy = reader.copies()[static_cast<std::size_t>(instruction(6).immediate)];
    CHECK(copy.kind == BulkCopy::Kind::load);
    CHECK(copy.barrier == 0x408);
    CHECK(copy.ranks == 5);
    CHECK(copy.bytes == 400);
    CHECK(copy.piece_bytes == 100);
    CHECK(copy.offsets == std::vector<std::uint64_t>{0, 0x2000, 0x3000});
    CHECK(instruction(7).immediate == 3);
}

TEST_CASE("Functions that are called have program counters of their own") {
    TraceReader reader =
        reader_of(header() + one_warp("0000 f 1 R1 MOV 0 0 0\n0000 f 1 R1 FADD 0 0 0\n0000 f 1 R1 MOV 0 0 0\n"
                                      "0010 f 0 BAR.SYNC 0 0 3\n",
                                      4));
    const auto block = reader.next();
    REQUIRE(block);
    const std::vector<Step>& steps = block->warps[0].steps;
    CHECK(reader.instructions().size() == 3);
    CHECK(steps[0].instruction == steps[2].instruction);
    CHECK(reader.instructions()[steps[1].instruction].opcode == "FADD");
    CHECK(reader.instructions()[steps[3].instruction].immediate == 3);
}

TEST_CASE("A damaged trace is told with file, line and word") {
    const std::string good = one_warp("0000 ffffffff 1 R1 MOV 0 0 0\n", 1);
    CHECK_THAT(outcome(header() + one_warp("0000 ffffffff 1 Q1 MOV 0 0 0\n", 1)),
               Catch::Contains("kernel.traceg:23: Q1"));
    CHECK_THAT(outcome(header() + one_warp("0000 ffffffff 1 R256 MOV 0 0 0\n", 1)),
               Catch::Contains("R0 to R255"));
    CHECK_THAT(outcome(header() + one_warp("0000 fffffffff 1 R1 MOV 0 0 0\n", 1)),
               Catch::Contains("a mask of lanes"));
    CHECK_THAT(outcome(header() + one_warp("0000 ffffffff 1 R1 LDG 1 R2 4 3 0x0 0\n", 1)),
               Catch::Contains("0, 1 or 2"));
    CHECK_THAT(outcome(header() + one_warp("0000 ffffffff 1 R1 LDG 1 R2 4 0 0x0 0\n", 1)),
               Catch::Contains("line ends"));
    CHECK_THAT(outcome(header() + one_warp("0000 ffffffff 1 R1 MOV 0 0 0 9\n", 1)),
               Catch::Contains("after the end"));
    CHECK_THAT(outcome(header() + good.substr(0, good.size() - 9)), Catch::Contains("cut off"));
    CHECK_THAT(outcome(header()), Catch::Contains("no thread block"));
    CHECK_THAT(outcome("hello\n"), Catch::Contains(".traceg"));
    CHECK_THAT(outcome(header() + "#BEGIN_TB\nthread block = 2,0,0\n#END_TB\n"),
               Catch::Contains("outside of the grid"));
    CHECK_THAT(outcome(header() + "#BEGIN_TB\nthread block = 0,0,0\nwarp = 2\ninsts = 0\n#END_TB\n"),
               Catch::Contains("no warp"));
}

TEST_CASE("A launch that no GPU takes is told with the line in which its header ends") {
    const auto with = [](const std::string& from, const std::string& to) {
        std::string text = header() + one_warp("0000 ffffffff 0 EXIT 0 0 0\n", 1);
        return outcome(text.replace(text.find(from), from.size(), to));
    };
    CHECK(with("(2,1,1)", "(2147483647,65535,65535)") == "1 steps");
    CHECK_THAT(with("(2,1,1)", "(2,2147483648,1)"),
               Catch::Contains("kernel.traceg:") && Catch::Contains("-grid dim") &&
                   Catch::Contains("a grid has at most 65535 blocks in y, this has 2147483648"));
    CHECK_THAT(with("(2,1,1)", "(2,0,1)"), Catch::Contains("-grid dim") && Catch::Contains("is empty"));
    CHECK_THAT(with("(64,1,1)", "(64,17,1)"),
               Catch::Contains("-block dim") && Catch::Contains("at most 1024 threads, this has 1088"));
    CHECK_THAT(with("(64,1,1)", "(1,1,65)"), Catch::Contains("at most 64 threads in z"));
    CHECK_THAT(with("-nregs", "-cluster dim = (3,1,1)\n-nregs"),
               Catch::Contains("-cluster dim") && Catch::Contains("is not made of whole clusters"));
}

TEST_CASE("Mutated traces end in an error or a result") {
    const std::string text = header() + one_warp(
                                            "0000 ffffffff 1 R1 MOV 0 0 0\n"
                                            "0010 0000000f 1 R2 LDG.E.64 1 R4 8 2 0x100 8 8 8 0\n",
                                            2);
    std::mt19937 random(1);
    unsigned accepted = 0;
    for (unsigned i = 0; i < 4000; ++i) {
        std::string mutant = text;
        for (unsigned changes = 1 + random() % 3; changes != 0; --changes) {
            const std::size_t at = random() % mutant.size();
            switch (random() % 3) {
                case 0:
                    mutant[at] = static_cast<char>(random());
                    break;
                case 1:
                    mutant.erase(at, 1 + random() % 12);
                    break;
                default:
                    mutant.insert(at, mutant.substr(random() % mutant.size(), random() % 20));
            }
            if (mutant.empty()) break;
        }
        accepted += outcome(mutant).find(" steps") != std::string::npos ? 1 : 0;
    }
    CHECK(accepted > 0);
    CHECK(accepted < 4000);
}
