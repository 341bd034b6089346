// What the table says of instructions, against NVIDIA's own descriptions and disassembler.
#include "isa/sass/machine_instruction.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "isa/sass/matrix_shape.h"

using namespace heddle;
using namespace heddle::sass;

namespace {

struct Case {
    const char* opcode;
    bool writes;
    std::vector<std::uint8_t> sources;  ///< the destination is R40
    unsigned bytes;
    ptx::Operation operation;
    std::size_t registers_written, registers_read;
};

MachineInstruction decoded(const Case& c) {
    const auto machine = decode({c.opcode, c.writes, c.writes ? std::uint8_t{40} : kNoGeneralRegister,
                                 c.sources, static_cast<std::uint8_t>(c.bytes), 0});
    REQUIRE(machine);
    return *machine;
}

}  // namespace

TEST_CASE("Classes and widths follow from mnemonic and modifiers") {
    using enum ptx::Operation;
    // Widths: CUDA Binary Utilities names the instructions, nvdisasm's register ranges (-plr) the operands.
    const std::vector<Case> cases{
        {"FFMA", true, {4, 8, 12}, 0, fp32, 1, 3},
        {"FADD2", true, {4, 8}, 0, fp32, 2, 4},
        {"FFMA2.RZ", true, {4, 8, 12}, 0, fp32, 2, 6},
        {"FSETP.GEU.AND", false, {4, 8}, 0, fp32_compare, 0, 2},
        {"IADD3.X", true, {4, 8, 255}, 0, integer, 1, 2},
        {"IMAD.MOV.U32", true, {255, 255, 8}, 0, multiply, 1, 1},
        {"IMAD.WIDE.U32", true, {4, 8, 12}, 0, multiply_wide, 2, 4},
        {"IMAD.HI.U32", true, {4, 8, 12}, 0, multiply_wide, 1, 3},
        {"DFMA", true, {4, 8, 12}, 0, fp64, 2, 6},
        {"HFMA2.MMA", true, {4, 8, 12}, 0, half, 1, 3},
        {"HFMA2.BF16_V2", true, {4, 8, 12}, 0, bf16, 1, 3},
        {"F2F.F64.F32", true, {4}, 0, wide_conversion, 2, 1},
        {"F2F.F32.F64", true, {4}, 0, wide_conversion, 1, 2},
        {"F2I.TRUNC.NTZ", true, {4}, 0, conversion, 1, 1},
        {"I2F.F64.S64", true, {4}, 0, wide_conversion, 2, 2},
        {"F2FP.BF16.F32.PACK_AB", true, {4, 8}, 0, half_conversion, 1, 2},
        {"MUFU.EX2", true, {4}, 0, special, 1, 1},
        {"POPC", true, {4}, 0, bit_count, 1, 1},
        {"REDUX.SUM", false, {4}, 0, warp_reduce, 0, 1},
        {"CS2R", true, {}, 0, move, 2, 0},
        {"LDG.E.128.CONSTANT", true, {4}, 16, load_store, 4, 2},
        {"LDG.E.U8", true, {4}, 1, load_store, 1, 2},
        {"LDS.64", true, {4}, 8, load_store, 2, 1},
        {"STG.E.64", false, {4, 8}, 8, load_store, 0, 4},
        {"STS.128", false, {4, 8}, 16, load_store, 0, 5},
        {"LDSM.16.M88.4", true, {4}, 16, load_store, 4, 1},
        {"LDGSTS.E.BYPASS.128", false, {4, 8}, 16, load_store, 0, 3},
        {"ATOMG.E.CAS.64.STRONG.GPU", false, {40, 4, 8, 12}, 8, load_store, 2, 6},
        {"REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", false, {4, 8}, 4, load_store, 0, 3},
        {"SHFL.BFLY", false, {40, 4, 8, 12}, 0, load_store, 1, 3},
        {"HMMA.16816.F32.BF16", true, {4, 8, 12}, 0, tensor, 4, 10},
        {"HMMA.16816.F16", true, {4, 8, 12}, 0, tensor, 2, 8},
        {"HMMA.1688.F32.TF32", true, {4, 8, 12}, 0, tensor, 4, 10},
        {"IMMA.16832.S8.S8.SAT", true, {4, 8, 12}, 0, tensor, 4, 10},
        {"DMMA.8x8x4", true, {4, 8, 12}, 0, tensor, 4, 8},
        {"HGMMA.64x128x16.F32.BF16", true, {40}, 0, tensor, 64, 64},
        {"HGMMA.64x64x16.F32", true, {4, 40}, 0, tensor, 32, 36},
        {"BRA", false, {}, 0, branch, 0, 0},
        {"BAR.SYNC.DEFER_BLOCKING", false, {}, 0, barrier, 0, 0},
    };
    for (const Case& c : cases) {
        INFO(c.opcode);
        const MachineInstruction machine = decoded(c);
        CHECK(ptx::name_of(machine.info.operation) == ptx::name_of(c.operation));
        CHECK(machine.info.pipeline == pipeline_of(c.operation));
        CHECK(machine.info.writes.size() == c.registers_written);
        CHECK(machine.info.reads.size() == c.registers_read);
    }
    // Pairs of numbers are as many operations as PTX's .f32x2.
    for (const char* opcode : {"FADD2", "FMUL2", "FFMA2.FTZ"})
        CHECK(decoded({opcode, true, {4, 8}, 0, fp32, 1, 2}).info.machine_operations == 2);
    for (const char* opcode : {"FADD", "FMUL", "FFMA.FTZ", "HADD2", "HFMA2"})
        CHECK(decoded({opcode, true, {4, 8}, 0, fp32, 1, 2}).info.machine_operations == 1);
    const auto add = decode({"UIADD3", false, kNoGeneralRegister, {}, 0, 0});
    CHECK(add->info.uniform);
    CHECK_FALSE(decode({"FSWZ.B", true, 4, {}, 0, 0}));
    CHECK_FALSE(decode({"HMMA.777", true, 4, {}, 0, 0}));
    CHECK_FALSE(decode({"", false, 4, {}, 0, 0}));
}

TEST_CASE("What synchronises does so as the PTX that ptxas makes it of") {
    using enum ptx::Synchronisation;
    struct Row {
        const char* opcode;
        std::int64_t immediate;
        ptx::Synchronisation meaning;
        unsigned groups_left;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"LDGDEPBAR", 0, async_copy_commit, 0},                    // cp.async.commit_group
             {"DEPBAR.LE", 1, async_copy_wait, 1},                      // cp.async.wait_group 1
             {"MEMBAR.SC.GPU", 0, memory_fence, 0},                     // fence.sc.gpu
             {"UCGABAR_ARV", 0, cluster_arrive, 0},                     // barrier.cluster.arrive
             {"UCGABAR_WAIT", 0, cluster_barrier, 0},                   // barrier.cluster.wait
             {"WARPGROUP.ARRIVE", 0, wgmma_fence, 0},                   // wgmma.fence
             {"WARPGROUP.DEPBAR.LE", 2, wgmma_wait, 2},                 // wgmma.wait_group 2
             {"UTMACMDFLUSH", 0, bulk_commit, 0},                       // cp.async.bulk.commit_group
             {"PREEXIT", 0, launch_dependents, 0},                      // griddepcontrol.launch_dependents
             {"ACQBULK", 0, dependency_wait, 0},                        // griddepcontrol.wait
             {"USETMAXREG.TRY_ALLOC.CTAPOOL", 232, more_registers, 0},  // setmaxnreg.inc 232
             {"USETMAXREG.DEALLOC.CTAPOOL", 40, fewer_registers, 0},    // setmaxnreg.dec 40
             {"USETMAXREG.DEALLOC.CTAPOOL", 0, none, 0},                // a trace that left the count out
             {"EXIT", 0, exit, 0}}) {
        INFO(row.opcode);
        const auto machine = decode({row.opcode, false, kNoGeneralRegister, {}, 0, row.immediate});
        REQUIRE(machine);
        CHECK(machine->info.synchronisation == row.meaning);
        CHECK(machine->info.async_copy_groups_left == row.groups_left);
        if (row.meaning == more_registers || row.meaning == fewer_registers)
            CHECK(machine->info.register_count == row.immediate);
    }
    const auto barrier = [](const char* opcode, std::int64_t number) {
        return *decode({opcode, false, kNoGeneralRegister, {}, 0, number});
    };
    CHECK(barrier("BAR.ARV", 3).barrier == BarrierUse::arrive);
    CHECK(barrier("BAR.ARV", 3).barrier_number == 3);
    CHECK(barrier("BAR.RED.POPC.DEFER_BLOCKING", 0).barrier == BarrierUse::reduce);
    CHECK(barrier("BAR.SYNC.DEFER_BLOCKING", 15).barrier == BarrierUse::sync);
}

TEST_CASE("Barriers in shared memory, texels, surfaces and bulk copies move what their modifiers say") {
    using enum ptx::MemoryBarrierUse;
    struct Row {
        const char* opcode;
        ptx::MemoryBarrierUse use;
        bool reads, writes, atomic;
    };
    const std::vector<std::uint8_t> sources{4, 8};
    const auto decoded_from = [&](const char* opcode, bool writes) {
        const auto machine =
            decode({opcode, writes, writes ? std::uint8_t{40} : kNoGeneralRegister, sources, 0, 0});
        REQUIRE(machine);
        return *machine;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"SYNCS.EXCH.64", ptx::MemoryBarrierUse::none, false, true, false},  // mbarrier.init
             {"SYNCS.ARRIVE.TRANS64.A1T0", arrive, true, true, true},             // mbarrier.arrive
             {"SYNCS.PHASECHK.TRANS64", test_wait, true, false, false},           // mbarrier.test_wait
             {"SYNCS.PHASECHK.TRANS64.TRYWAIT", try_wait, true, false, false}}) {
        INFO(row.opcode);
        const MachineInstruction machine = decoded_from(row.opcode, false);
        CHECK(machine.info.memory_barrier == row.use);
        CHECK(machine.info.reads_memory == row.reads);
        CHECK(machine.info.writes_memory == row.writes);
        CHECK(machine.info.atomic == row.atomic);
        CHECK(machine.bytes_per_lane == 8);
    }
    const MachineInstruction copies = decoded_from("ARRIVES.LDGSTSBAR.64", false);
    CHECK(copies.info.memory_barrier == arrive);  // cp.async.mbarrier.arrive

    const MachineInstruction texture = decoded_from("TEX.SCR.LL", true);
    CHECK((texture.info.reads_memory && !texture.info.writes_memory));
    CHECK(texture.info.writes.size() == 4);
    const MachineInstruction load = decoded_from("SULD.D.BA.2D.64", true);
    CHECK((load.info.reads_memory && !load.info.writes_memory));
    CHECK(load.info.writes.size() == 2);
    const MachineInstruction store = decoded_from("SUST.D.BA.2D.128", false);
    CHECK((!store.info.reads_memory && store.info.writes_memory));
    CHECK(store.info.reads.size() == 1 + 4);
    CHECK(store.bytes_per_lane == 16);
    const MachineInstruction constant = decoded_from("LDC.64", true);
    CHECK((constant.info.reads_memory && constant.info.writes.size() == 2));

    CHECK(decoded_from("UBLKCP.S.G", false).behaviour == Behaviour::bulk_load);
    CHECK(decoded_from("UBLKCP.G.S", false).behaviour == Behaviour::bulk_store);
    CHECK(decoded_from("UTMALDG.2D", false).info.bulk_copy);
}

TEST_CASE("What is unknown can be taken for a class of instruction") {
    const std::vector<std::uint8_t> sources{4, 8};
    const MachineInstruction integer =
        decode_as({"NEWOP.X", true, 40, sources, 0, 0}, ptx::Operation::integer);
    CHECK(integer.info.pipeline == pipeline_of(ptx::Operation::integer));
    CHECK((integer.info.writes.size() == 1 && integer.info.reads.size() == 2));
    CHECK_FALSE(integer.info.reads_memory);
    // With addresses in the trace it is an access of global memory, without one something between lanes.
    const MachineInstruction access =
        decode_as({"NEWOP.E.64", true, 40, sources, 8, 0}, ptx::Operation::load_store);
    CHECK(access.info.reads_memory);
    CHECK(access.info.space == ptx::StateSpace::global);
    CHECK(access.bytes_per_lane == 8);
    CHECK(decode_as({"NEWOP", true, 40, sources, 0, 0}, ptx::Operation::load_store).behaviour ==
          Behaviour::shuffle);
}

TEST_CASE("What tensor instructions multiply") {
    const auto macs = [](const char* opcode) {
        return decode({opcode, true, 40, {}, 0, 0})->info.tensor_macs;
    };
    CHECK(macs("HMMA.16816.F32") == 2048);
    CHECK(macs("HMMA.SP.16832.F32") == 2048);  // half of A's columns are zeros that are not multiplied
    CHECK(macs("HMMA.884.F32.F32.STEP2") * 4 == 1024);
    CHECK(macs("HMMA.884.F16.F16.STEP0") * 2 == 1024);
    CHECK(macs("BMMA.168256.AND.POPC") == 32768);
    CHECK(macs("HGMMA.64x256x16.F32") == 64 * 256 * 16 / 4);  // of one of four warps
    CHECK(macs("QGMMA.64x256x32.F32.E4M3.E4M3") == 64 * 256 * 32 / 4);
}

TEST_CASE("Every class has a name that --unknown-as takes, but those that need more than a class") {
    CHECK(operation_named("integer") == ptx::Operation::integer);
    CHECK_FALSE(operation_named("tensor"));
    CHECK_FALSE(operation_named("none"));
    CHECK_FALSE(operation_named("texture"));
    CHECK(operation_names().find("load_store") != std::string::npos);
    std::set<std::string_view> names;
    for (const Mnemonic& mnemonic : all_mnemonics()) CHECK(names.insert(mnemonic.name).second);
}

TEST_CASE("The table has every instruction that ptxas makes of the kept kernels") {
    const std::string ptxas = HEDDLE_PTXAS, disassembler = HEDDLE_NVDISASM;
    if (!std::filesystem::exists(ptxas) || !std::filesystem::exists(disassembler)) {
        WARN("skipped: ptxas and nvdisasm of the CUDA toolkit are not installed");
        return;
    }
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "heddle-opcodes";
    std::filesystem::create_directories(folder);
    std::set<std::string> unknown;
    std::size_t instructions = 0;
    for (const char* file : {"kernels", "features", "warps", "sort"}) {
        std::ifstream in(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/" + file + ".ptx");
        std::string text((std::istreambuf_iterator<char>(in)), {});
        for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_90"}) {
            const std::size_t at = text.find("\n.target "), end = text.find('\n', at + 1);
            const std::string here = (folder / file).string() + "." + target;
            std::ofstream(here + ".ptx") << text.substr(0, at) << "\n.target " << target << text.substr(end);
            const std::string command = ptxas + " -arch=" + target + " " + here + ".ptx -o " + here +
                                        ".cubin 2>/dev/null && " + disassembler + " -c " + here +
                                        ".cubin > " + here + ".sass 2>/dev/null";
            if (std::system(command.c_str()) != 0) continue;  // too new for this generation
            std::ifstream sass(here + ".sass");
            for (std::string line; std::getline(sass, line);) {
                const std::size_t begin = line.find("/*"), close = line.find("*/");
                if (begin == std::string::npos || close - begin != 6) continue;
                std::istringstream words(line.substr(close + 2));
                std::string word;
                words >> word;
                if (word.front() == '@') words >> word;
                if (!word.empty() && word.back() == ';') word.pop_back();
                ++instructions;
                if (!decode({word, true, 4, {}, 4, 0})) unknown.insert(word);
            }
        }
    }
    std::filesystem::remove_all(folder);
    CHECK(instructions > 1000);
    CHECK(unknown == std::set<std::string>{});
}
