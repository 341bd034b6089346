// Latency of dependent instructions, and how many of them an SM takes per cycle.
#include <array>
#include <memory>

#include "validation/capture/microbenchmarks/timed_loop.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::PtxWriter;
using kernels::Reg;

/// Registers that an instruction works on.
enum class Operands : std::uint8_t { f32, b32, f16x2, bf16x2, f64 };

/// `text`: $d is the register of the chain, $a and $b values that the assembler does not know; $i, $h, $e and
/// $p are of 32 bits, 16 bits, f64 and a predicate, for what lies between two instructions.
struct Instruction {
    const char* name;
    const char* text;
    Operands operands;
    unsigned minimum_capability = 70;
    bool quick = false;
};

// The most used first. Each makes one machine instruction with ptxas 13 for sm_90, unless a comment says
// more.
constexpr std::array kInstructions{
    Instruction{"ffma", "fma.rn.f32 $d, $d, $a, $b", Operands::f32, 70, true},
    Instruction{"fadd", "add.rn.f32 $d, $d, $b", Operands::f32, 70},
    Instruction{"fmul", "mul.rn.f32 $d, $d, $a", Operands::f32, 70},
    Instruction{"imad", "mad.lo.s32 $d, $d, $a, $b", Operands::b32, 70, true},
    // One IADD3 of three operands.
    Instruction{"iadd3", "add.s32 $i, $d, $a;\n    add.s32 $d, $i, $b", Operands::b32, 70},
    Instruction{"lop3", "lop3.b32 $d, $d, $a, $b, 0x6a", Operands::b32, 70},
    Instruction{"shf", "shf.l.wrap.b32 $d, $d, $a, $b", Operands::b32, 70},
    Instruction{"prmt", "prmt.b32 $d, $d, $a, $b", Operands::b32, 70},
    Instruction{"imin_imax", "min.s32 $i, $d, $a;\n    max.s32 $d, $i, $b", Operands::b32, 70},
    Instruction{"fmin", "min.f32 $d, $d, $a", Operands::f32, 70},
    Instruction{"dp4a", "dp4a.u32.u32 $d, $d, $a, $b", Operands::b32, 70},
    Instruction{"popc", "popc.b32 $d, $d", Operands::b32, 70},
    Instruction{"bfind", "bfind.u32 $d, $d", Operands::b32, 70},
    Instruction{"brev", "brev.b32 $d, $d", Operands::b32, 70},
    Instruction{"hfma2", "fma.rn.f16x2 $d, $d, $a, $b", Operands::f16x2, 70, true},
    Instruction{"hadd2", "add.rn.f16x2 $d, $d, $b", Operands::f16x2, 70},
    Instruction{"hfma2_bf16", "fma.rn.bf16x2 $d, $d, $a, $b", Operands::bf16x2, 80},
    Instruction{"dfma", "fma.rn.f64 $d, $d, $a, $b", Operands::f64, 70, true},
    Instruction{"dadd", "add.rn.f64 $d, $d, $b", Operands::f64, 70},
    Instruction{"dmul", "mul.rn.f64 $d, $d, $a", Operands::f64, 70},
    Instruction{"ex2", "ex2.approx.ftz.f32 $d, $d", Operands::f32, 70, true},
    Instruction{"lg2", "lg2.approx.ftz.f32 $d, $d", Operands::f32, 70},
    Instruction{"rcp_fadd", "rcp.approx.ftz.f32 $d, $d;\n    add.rn.f32 $d, $d, $b", Operands::f32, 70},
    Instruction{"rsqrt", "rsqrt.approx.ftz.f32 $d, $d", Operands::f32, 70},
    Instruction{"sqrt", "sqrt.approx.ftz.f32 $d, $d", Operands::f32, 70},
    Instruction{"sin", "sin.approx.ftz.f32 $d, $d", Operands::f32, 70},
    Instruction{"cos", "cos.approx.ftz.f32 $d, $d", Operands::f32, 70},
    Instruction{"tanh", "tanh.approx.f32 $d, $d", Operands::f32, 75},
    Instruction{"ex2_f16x2", "ex2.approx.f16x2 $d, $d", Operands::f16x2, 75},
    Instruction{"tanh_f16x2", "tanh.approx.f16x2 $d, $d", Operands::f16x2, 75},
    // Two conversions each: there and back.
    Instruction{"cvt_s32_f32_s32", "cvt.rni.s32.f32 $i, $d;\n    cvt.rn.f32.s32 $d, $i", Operands::f32, 70},
    Instruction{"cvt_f16_f32_f16", "cvt.rn.f16.f32 $h, $d;\n    cvt.f32.f16 $d, $h", Operands::f32, 70},
    Instruction{"cvt_f64_f32_f64", "cvt.f64.f32 $e, $d;\n    cvt.rn.f32.f64 $d, $e", Operands::f32, 70},
    Instruction{"shfl", "shfl.sync.bfly.b32 $d, $d, 1, 31, 0xffffffff", Operands::b32, 70, true},
    Instruction{"setp_vote", "setp.ne.s32 $p, $d, $a;\n    vote.sync.ballot.b32 $d, $p, 0xffffffff",
                Operands::b32, 70},
    Instruction{"match_any", "match.any.sync.b32 $d, $d, 0xffffffff", Operands::b32, 70},
    Instruction{"redux_add", "redux.sync.add.s32 $d, $d, 0xffffffff", Operands::b32, 80},
    Instruction{"setp_selp", "setp.lt.s32 $p, $d, $a;\n    selp.b32 $d, $a, $b, $p", Operands::b32, 70},
};

Reg new_register(PtxWriter& w, Operands operands) {
    return operands == Operands::f32 ? w.f32() : operands == Operands::f64 ? w.f64() : w.b32();
}

int offset_of_first(Operands operands) {
    switch (operands) {
        case Operands::f32:
            return operand_offset::f32_one;
        case Operands::f16x2:
            return operand_offset::f16x2_one;
        case Operands::bf16x2:
            return operand_offset::bf16x2_one;
        case Operands::f64:
            return operand_offset::f64_one;
        case Operands::b32:
            break;
    }
    return operand_offset::b32_three;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

/// Registers of a body, filled in while its kernel is written.
struct Chains {
    std::vector<Reg> values;
    Reg a, b;
    Reg b32, b16, f64, predicate;
};

TimedBody instruction_body(const Instruction& instruction, unsigned warps, unsigned chains) {
    TimedBody body;
    body.entry = std::string("chain_") + instruction.name;
    body.threads = 32 * warps;
    body.minimum_capability = instruction.minimum_capability;
    auto state = std::make_shared<Chains>();
    const Operands operands = instruction.operands;
    body.prologue = [state, operands, chains](PtxWriter& w, const Reg& table, const Reg&) {
        *state = {};
        state->b32 = w.b32();
        state->b16 = w.b16();
        state->f64 = w.f64();
        state->predicate = w.predicate();
        const char* load = operands == Operands::f64   ? "ld.global.f64"
                           : operands == Operands::f32 ? "ld.global.f32"
                                                       : "ld.global.b32";
        const int offset = offset_of_first(operands);
        state->a = new_register(w, operands);
        state->b = new_register(w, operands);
        w.op(load, state->a, at(table, offset));
        w.op(load, state->b, at(table, offset + (operands == Operands::f64 ? 8 : 4)));
        for (unsigned i = 0; i < chains; ++i) {
            state->values.push_back(new_register(w, operands));
            w.op(load, state->values.back(), at(table, offset));
            // Lanes differ, or a shuffle would be optimised away.
            if (operands == Operands::b32)
                w.op("add.u32", state->values.back(), state->values.back(), w.tid());
        }
    };
    body.link = [state, text = std::string(instruction.text)](PtxWriter& w, unsigned link) {
        std::string line = replaced(text, "$d", state->values[link % state->values.size()]);
        line = replaced(replaced(line, "$a", state->a), "$b", state->b);
        line = replaced(replaced(line, "$i", state->b32), "$h", state->b16);
        line = replaced(replaced(line, "$e", state->f64), "$p", state->predicate);
        w.op(line);
    };
    body.results = [state, operands](PtxWriter& w) {
        std::vector<Reg> kept;
        for (const Reg& value : state->values) {
            if (operands == Operands::f64) {
                const Reg bits = w.make_b64("mov.b64", value);
                kept.push_back(w.make_b32("cvt.u32.u64", bits));
            } else {
                kept.push_back(w.make_b32("mov.b32", value));
            }
        }
        return kept;
    };
    return body;
}

void add_latency(std::vector<Benchmark>& list, const Instruction& instruction) {
    Benchmark benchmark =
        timed_loop_benchmark(std::string("latency/") + instruction.name, "instruction latency",
                             instruction_body(instruction, 1, 1), {{"warps", 1}, {"chains", 1}});
    benchmark.quick = instruction.quick;
    list.push_back(std::move(benchmark));
}

void add_throughput(std::vector<Benchmark>& list, const Instruction& instruction, unsigned warps,
                    unsigned chains) {
    Benchmark benchmark = timed_loop_benchmark(
        std::string("throughput/") + instruction.name + "/warps=" + std::to_string(warps),
        "instruction throughput", instruction_body(instruction, warps, chains),
        {{"warps", warps}, {"chains", chains}}, "instructions/cycle/SM", warps);
    benchmark.quick = instruction.quick && warps == 16;
    list.push_back(std::move(benchmark));
}

/// Barriers: every warp of the CTA takes part, nothing is carried along.
void add_barriers(std::vector<Benchmark>& list) {
    for (const unsigned warps : {1u, 2u, 4u, 8u, 16u, 32u}) {
        TimedBody body;
        body.entry = "barrier_of_cta";
        body.threads = 32 * warps;
        body.links = 32;
        body.link = [](PtxWriter& w, unsigned) { w.cta_barrier(); };
        body.results = [](PtxWriter&) { return std::vector<Reg>{}; };
        Benchmark benchmark = timed_loop_benchmark("latency/bar_sync/warps=" + std::to_string(warps),
                                                   "synchronisation", body, {{"warps", warps}});
        benchmark.quick = warps == 8;
        list.push_back(std::move(benchmark));
    }
    TimedBody body;
    body.entry = "barrier_of_warp";
    body.links = 32;
    body.link = [](PtxWriter& w, unsigned) { w.warp_barrier(); };
    body.results = [](PtxWriter&) { return std::vector<Reg>{}; };
    list.push_back(timed_loop_benchmark("latency/bar_warp_sync", "synchronisation", body, {{"warps", 1}}));
    for (const char* scope : {"cta", "gpu", "sys"}) {
        body.entry = std::string("fence_") + scope;
        body.links = 16;
        body.link = [scope](PtxWriter& w, unsigned) { w.op(std::string("fence.acq_rel.") + scope); };
        list.push_back(timed_loop_benchmark(std::string("latency/fence_") + scope, "synchronisation", body,
                                            {{"warps", 1}}));
    }
}

}  // namespace

void add_instruction_benchmarks(std::vector<Benchmark>& list) {
    for (const Instruction& instruction : kInstructions) add_latency(list, instruction);
    for (const Instruction& instruction : kInstructions) add_throughput(list, instruction, 16, 4);
    add_barriers(list);
    // How many warps and independent instructions fill the pipelines.
    for (const char* name : {"ffma", "ex2", "hfma2"}) {
        for (const Instruction& instruction : kInstructions) {
            if (instruction.name != std::string(name)) continue;
            for (const unsigned warps : {1u, 4u, 8u, 32u}) add_throughput(list, instruction, warps, 1);
        }
    }
}

}  // namespace heddle::capture
