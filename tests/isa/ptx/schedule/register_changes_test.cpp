// setmaxnreg: with how many registers a kernel starts, and when the instruction counts at all, as ptxas 13.0
// has it. Where ptxas is installed, it is asked again.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "../launch.h"
#include "support/ptx_assembler.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

/// The first warpgroup gives registers back and copies, the others take some and multiply 64 x `columns`.
struct Roles {
    unsigned columns = 128;                  ///< of the product; 0: there is none
    unsigned decrease = 40, increase = 240;  ///< 0: no such instruction
    bool half = false;                       ///< f16 accumulators, two to a register
    bool a_in_registers = false;
    bool producer_multiplies = false;  ///< instead of the consumers
};

std::string product(const Roles& roles) {
    if (roles.columns == 0) return "";
    const unsigned count = roles.columns / (roles.half ? 4 : 2);
    std::string list, stores;
    for (unsigned i = 0; i < count; ++i) {
        list += (i == 0 ? "%f" : ", %f") + std::to_string(i);
        stores += "st.global.b32 [%rd1+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
    }
    std::string loads;
    for (unsigned i = 0; roles.a_in_registers && i < 4; ++i)
        loads += "ld.global.b32 %a" + std::to_string(i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
    return loads + "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n" +
           std::to_string(roles.columns) + (roles.half ? "k16.f16.f16.f16 {" : "k16.f32.f16.f16 {") + list +
           (roles.a_in_registers ? "}, {%a0, %a1, %a2, %a3}, %rd2, 0, 1, 1, 0;\n"
                                 : "}, %rd2, %rd2, 0, 1, 1, 0, 0;\n") +
           "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n" + stores;
}

std::string text_of(const std::string& directives, const Roles& roles) {
    const auto change = [](const char* direction, unsigned count) {
        return count == 0 ? std::string()
                          : std::string("setmaxnreg.") + direction + ".sync.aligned.u32 " +
                                std::to_string(count) + ";\n";
    };
    return ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry test(.param .u64 out)\n" +
           directives + "\n{\n.reg .b32 %r<4>, %a<4>; .reg .b64 %rd<3>; .reg .pred %p<2>; .reg ." +
           (roles.half ? "b32" : "f32") +
           " %f<128>;\n"
           "ld.param.u64 %rd1, [out]; mov.u64 %rd2, 0x4000000000010000; mov.u32 %r1, %tid.x;\n"
           "setp.ge.u32 %p1, %r1, 128; @%p1 bra consume;\n" +
           change("dec", roles.decrease) + (roles.producer_multiplies ? product(roles) : "") +
           "st.global.b32 [%rd1], %r1; ret;\nconsume:\n" + change("inc", roles.increase) +
           (roles.producer_multiplies ? "" : product(roles)) + "st.global.b32 [%rd1+4], %r1; ret;\n}\n";
}

struct Row {
    std::string directives;
    Roles roles;
    unsigned registers;  ///< ptxas -v: "Used ..."; 0: it says that it ignores setmaxnreg
};

const std::vector<Row> kRows = {
    // Neither threads nor registers are known.
    {"", {}, 0},
    {".minnctapersm 1", {}, 0},
    // All registers that one thread block, or several, can have; sub-cores hold whole warps.
    {".maxntid 384 .minnctapersm 1", {}, 168},
    {".maxntid 384 .minnctapersm 1", {.columns = 0}, 168},
    {".reqntid 384 .minnctapersm 1", {}, 168},
    {".maxntid 128, 3 .minnctapersm 1", {}, 168},
    {".maxntid 288 .minnctapersm 1", {}, 168},
    {".maxntid 416 .minnctapersm 1", {}, 128},
    {".maxntid 384 .minnctapersm 2", {.columns = 8}, 80},
    {".maxntid 160 .minnctapersm 2", {.columns = 8}, 168},
    {".maxnreg 168", {}, 168},
    {".maxnreg 100", {}, 100},
    {".maxntid 384 .maxnreg 200", {}, 200},
    {".maxntid 384 .minnctapersm 1 .maxnreg 200", {}, 168},
    // No more than setmaxnreg.inc asks for.
    {".maxntid 256 .minnctapersm 1", {.columns = 64, .increase = 232}, 232},
    {".maxntid 384 .minnctapersm 1", {.columns = 64, .increase = 96}, 96},
    {".maxnreg 168", {.columns = 64, .increase = 96}, 96},
    {".maxntid 128 .minnctapersm 1", {.columns = 0, .increase = 0}, 255},
    // The number of threads alone tells where the product leaves room for one thread block.
    {".maxntid 384", {}, 168},
    {".reqntid 384", {}, 168},
    {".maxntid 384", {.increase = 160}, 160},
    {".maxntid 352", {}, 168},
    {".maxntid 320", {}, 0},
    {".maxntid 256", {}, 0},
    {".maxntid 256", {.columns = 256}, 240},
    {".maxntid 416", {}, 128},
    {".maxntid 512", {.columns = 64}, 0},
    {".maxntid 544", {.columns = 64}, 96},
    {".maxntid 544", {.columns = 64, .decrease = 0}, 96},
    {".maxntid 384", {.columns = 0}, 0},
    {".maxntid 1024", {.columns = 8}, 0},
    {".maxntid 768", {.columns = 56, .half = true}, 0},
    {".maxntid 800", {.columns = 56, .half = true}, 72},
    {".maxntid 544", {.columns = 56, .a_in_registers = true}, 96},
    {".maxntid 544", {.columns = 56}, 0},
    // A product with fewer registers than it needs.
    {".maxntid 384 .minnctapersm 1", {.producer_multiplies = true}, 0},
    {".maxntid 384", {.producer_multiplies = true}, 0},
    {".maxntid 384", {.decrease = 96, .producer_multiplies = true}, 168},
    {".maxntid 384 .minnctapersm 1", {.columns = 8, .producer_multiplies = true}, 168},
    {".maxnreg 168", {.increase = 88}, 0},
};

std::string describe(const Row& row) {
    return row.directives + ", " + std::to_string(row.roles.columns) + " columns, dec " +
           std::to_string(row.roles.decrease) + ", inc " + std::to_string(row.roles.increase);
}

bool changes_registers(const LoadedKernel& kernel) {
    for (const InstructionInfo& info : kernel.instructions())
        if (info.synchronisation == Synchronisation::more_registers ||
            info.synchronisation == Synchronisation::fewer_registers)
            return true;
    return false;
}

}  // namespace

TEST_CASE("setmaxnreg: registers at entry, and when it is ignored", "[schedule]") {
    for (const Row& row : kRows) {
        INFO(describe(row));
        const LoadedKernel kernel(parse_shared(text_of(row.directives, row.roles), "changes.ptx"), "test", 90,
                                  Assembly::scheduled);
        CHECK(changes_registers(kernel) == (row.registers != 0));
        if (row.registers != 0) {
            CHECK(kernel.registers_per_thread() == row.registers);
        } else {
            CHECK(kernel.registers_per_thread() < 168);  // what the values need
        }
    }
}

TEST_CASE("setmaxnreg: the same of ptxas, where it is installed", "[schedule]") {
    const std::string ptxas = heddle::test::find_assembler(HEDDLE_PTXAS_FOUND);
    std::string output;
    if (ptxas.empty() || heddle::test::run_command("'" + ptxas + "' --version", output) != 0 ||
        output.find("release 13.0") == std::string::npos) {
        WARN("skipped: ptxas 13.0 is not installed");
        return;
    }
    const std::string base =
        (std::filesystem::temp_directory_path() / ("heddle-changes-" + std::to_string(::getpid()))).string();
    for (const Row& row : kRows) {
        INFO(describe(row));
        std::ofstream(base + ".ptx") << text_of(row.directives, row.roles);
        output.clear();
        REQUIRE(heddle::test::run_command(
                    "'" + ptxas + "' -v -arch=sm_90a " + base + ".ptx -o " + base + ".cubin 2>&1", output) ==
                0);
        INFO(output);
        const bool ignored = output.find("'setmaxnreg' ignored") != std::string::npos;
        CHECK(ignored == (row.registers == 0));
        const bool used =
            output.find("Used " + std::to_string(row.registers) + " registers") != std::string::npos;
        if (!ignored) CHECK(used);
    }
    std::filesystem::remove(base + ".ptx");
    std::filesystem::remove(base + ".cubin");
}
