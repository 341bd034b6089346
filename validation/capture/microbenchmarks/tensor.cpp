// mma.sync of every type and shape: latency of a chain of accumulations, and rate by number of warps;
// ldmatrix and stmatrix.
#include <array>
#include <memory>

#include "validation/capture/microbenchmarks/timed_loop.h"

namespace heddle::capture {
namespace {

using kernels::at;
using kernels::PtxWriter;
using kernels::Reg;
using kernels::vector_of;

/// Registers of a fragment per lane: of A, B and of the accumulators.
struct MmaShape {
    const char* name;
    const char* opcode;
    unsigned m, n, k;
    unsigned a, b, c;
    bool f64 = false;  ///< every register is 64 bits wide
    bool f32_accumulators = true;
    unsigned minimum_capability = 80;
    bool quick = false;
    /// A is the accumulator: types that the assembler makes of several instructions, of which it would move
    /// what does not change out of the loop.
    bool a_is_accumulator = false;
};

constexpr std::array kShapes{
    MmaShape{"m16n8k16_bf16_f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 16, 4, 2, 4,
             false, true, 80, true},
    MmaShape{"m16n8k16_f16_f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, 4, 2, 4},
    MmaShape{"m16n8k16_f16_f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, 4, 2, 2,
             false, false},
    MmaShape{"m16n8k8_f16_f32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 8, 2, 1, 4, false,
             true, 75},
    MmaShape{"m16n8k8_bf16_f32", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 8, 2, 1, 4},
    MmaShape{"m16n8k8_tf32_f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, 4, 2, 4},
    MmaShape{"m16n8k4_tf32_f32", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, 2, 1, 4},
    MmaShape{"m16n8k32_s8_s32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 16, 8, 32, 4, 2, 4, false,
             false},
    MmaShape{"m16n8k16_s8_s32", "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", 16, 8, 16, 2, 1, 4, false,
             false},
    MmaShape{"m8n8k16_s8_s32", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16, 1, 1, 2, false,
             false, 75},
    MmaShape{"m16n8k64_s4_s32", "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 16, 8, 64, 4, 2, 4, false,
             false, 80, false, true},
    MmaShape{"m16n8k256_b1_s32", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 16, 8, 256, 4,
             2, 4, false, false},
    MmaShape{"m8n8k4_f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, 1, 1, 2, true, false},
    MmaShape{"m16n8k4_f64", "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", 16, 8, 4, 2, 1, 4, true,
             false, 90},
    MmaShape{"m16n8k8_f64", "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 8, 4, 2, 4, true,
             false, 90},
    MmaShape{"m16n8k16_f64", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 16, 8, 16, 8, 4, 4, true,
             false, 90},
    MmaShape{"m16n8k32_e4m3_f32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 8, 32, 4, 2, 4,
             false, true, 89, false, true},
    MmaShape{"m16n8k32_e5m2_f32", "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 8, 32, 4, 2, 4,
             false, true, 89, false, true},
};

struct Fragments {
    std::vector<Reg> a, b;
    std::vector<std::vector<Reg>> accumulators;  ///< of each chain
};

std::vector<Reg> make_fragment(PtxWriter& w, unsigned count, bool f64, bool f32, const Reg& zeros) {
    std::vector<Reg> registers;
    for (unsigned i = 0; i < count; ++i) {
        registers.push_back(f64 ? w.f64() : f32 ? w.f32() : w.b32());
        // Zeros that the assembler does not know: no value overflows, however long the chain.
        w.op(f64   ? "ld.global.f64"
             : f32 ? "ld.global.f32"
                   : "ld.global.b32",
             registers.back(), at(zeros, 8 * i));
    }
    return registers;
}

TimedBody mma_body(const MmaShape& shape, unsigned warps, unsigned chains) {
    TimedBody body;
    body.entry = std::string("mma_") + shape.name;
    body.threads = 32 * warps;
    body.minimum_capability = shape.minimum_capability;
    body.links = 32;
    if (std::string(shape.opcode).find("e4m3") != std::string::npos ||
        std::string(shape.opcode).find("e5m2") != std::string::npos)
        body.version = "8.4";
    auto state = std::make_shared<Fragments>();
    body.prologue = [state, shape, chains](PtxWriter& w, const Reg&, const Reg& scratch) {
        *state = {};
        state->a = make_fragment(w, shape.a, shape.f64, false, scratch);
        state->b = make_fragment(w, shape.b, shape.f64, false, scratch);
        for (unsigned i = 0; i < chains; ++i)
            state->accumulators.push_back(make_fragment(
                w, shape.c, shape.f64, shape.f32_accumulators && !shape.a_is_accumulator, scratch));
    };
    body.link = [state, shape](PtxWriter& w, unsigned link) {
        const auto& d = state->accumulators[link % state->accumulators.size()];
        const auto braced = [](const std::vector<Reg>& registers) {
            return registers.size() == 1 ? "{" + registers[0] + "}" : vector_of(registers);
        };
        w.op(shape.opcode, braced(d), braced(shape.a_is_accumulator ? d : state->a), braced(state->b),
             braced(d));
    };
    body.results = [state, shape](PtxWriter& w) {
        std::vector<Reg> kept;
        for (const auto& accumulator : state->accumulators) {
            for (const Reg& value : accumulator) {
                kept.push_back(shape.f64 ? w.make_b32("cvt.u32.u64", w.make_b64("mov.b64", value))
                                         : w.make_b32("mov.b32", value));
            }
        }
        return kept;
    };
    return body;
}

void add_mma_latency(std::vector<Benchmark>& list, const MmaShape& shape) {
    Benchmark benchmark = timed_loop_benchmark(std::string("latency/mma/") + shape.name, "tensor latency",
                                               mma_body(shape, 1, 1), {{"warps", 1}, {"chains", 1}});
    benchmark.quick = shape.quick;
    list.push_back(std::move(benchmark));
}

void add_mma_throughput(std::vector<Benchmark>& list, const MmaShape& shape, unsigned warps,
                        unsigned chains) {
    const double macs = static_cast<double>(shape.m) * shape.n * shape.k;
    Benchmark benchmark = timed_loop_benchmark(
        std::string("throughput/mma/") + shape.name + "/warps=" + std::to_string(warps) +
            "/chains=" + std::to_string(chains),
        "tensor throughput", mma_body(shape, warps, chains),
        {{"warps", warps}, {"chains", chains}, {"m", shape.m}, {"n", shape.n}, {"k", shape.k}},
        "MAC/cycle/SM", warps * macs);
    benchmark.quick = shape.quick && warps == 8 && chains == 4;
    list.push_back(std::move(benchmark));
}

/// ldmatrix whose every word is the address of the row that the next one reads: a chain.
void add_matrix_moves(std::vector<Benchmark>& list) {
    for (const unsigned count : {1u, 2u, 4u}) {
        for (const unsigned warps : {1u, 16u}) {
            struct State {
                std::vector<Reg> words;
            };
            auto state = std::make_shared<State>();
            TimedBody body;
            body.entry = "ldmatrix_x" + std::to_string(count);
            body.threads = 32 * warps;
            body.links = 32;
            body.minimum_capability = 75;
            body.prologue = [state](PtxWriter& w, const Reg&, const Reg&) {
                const std::string matrix = w.shared("matrix", 512, 128);
                const Reg base = w.make_b32("mov.u32", matrix);
                const Reg lane = w.make_b32("and.b32", w.tid(), 31);
                // Word i of every matrix is the address of row i % 8 of matrix i / 8: what lane i must
                // supply.
                const Reg word = w.make_b32("mad.lo.u32", lane, 4, base);
                const Reg target = w.make_b32("mad.lo.u32", lane, 16, base);
                for (unsigned i = 0; i < 512; i += 128) w.op("st.shared.u32", at(word, i), target);
                w.cta_barrier();
                state->words = w.b32s(4);
                for (const Reg& value : state->words) w.op("mov.u32", value, target);
            };
            const std::string opcode = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + ".shared.b16";
            body.link = [state, opcode, count](PtxWriter& w, unsigned) {
                std::string words = "{" + state->words[0];
                for (unsigned i = 1; i < count; ++i) words += ", " + state->words[i];
                w.op(opcode, words + "}", at(state->words[0]));
            };
            body.results = [state](PtxWriter&) { return state->words; };
            const std::string name = "ldmatrix_x" + std::to_string(count);
            list.push_back(
                warps == 1
                    ? timed_loop_benchmark("latency/" + name, "shared memory", body, {{"warps", 1}})
                    : timed_loop_benchmark("throughput/" + name, "shared memory", body, {{"warps", warps}},
                                           "bytes/cycle/SM", 128.0 * count * warps));
        }
    }
}

void add_stmatrix(std::vector<Benchmark>& list) {
    struct State {
        Reg address, value;
    };
    auto state = std::make_shared<State>();
    TimedBody body;
    body.entry = "stmatrix_x4";
    body.threads = 512;
    body.links = 32;
    body.minimum_capability = 90;
    body.prologue = [state](PtxWriter& w, const Reg&, const Reg& scratch) {
        const std::string matrix = w.shared("matrix", 8192, 128);
        const Reg thread = w.tid();
        const Reg base = w.make_b32("mov.u32", matrix);
        state->address = w.make_b32("mad.lo.u32", thread, 16, base);
        state->value = w.make_b32("ld.global.b32", at(scratch));
    };
    body.link = [state](PtxWriter& w, unsigned) {
        w.op("stmatrix.sync.aligned.m8n8.x4.shared.b16", at(state->address),
             "{" + state->value + ", " + state->value + ", " + state->value + ", " + state->value + "}");
    };
    body.results = [state](PtxWriter& w) {
        return std::vector<Reg>{w.make_b32("ld.shared.b32", at(state->address))};
    };
    list.push_back(timed_loop_benchmark("throughput/stmatrix_x4", "shared memory", body, {{"warps", 16}},
                                        "bytes/cycle/SM", 512.0 * 16));
}

}  // namespace

void add_tensor_benchmarks(std::vector<Benchmark>& list) {
    for (const MmaShape& shape : kShapes) add_mma_latency(list, shape);
    for (const MmaShape& shape : kShapes) add_mma_throughput(list, shape, 8, 4);
    for (const unsigned warps : {1u, 2u, 4u, 8u, 16u}) {
        for (const unsigned chains : {1u, 2u, 4u}) {
            if ((warps != 8 || chains != 4) && (warps != 16 || chains != 2))
                add_mma_throughput(list, kShapes[0], warps, chains);
        }
    }
    for (const MmaShape& shape : kShapes) add_mma_throughput(list, shape, 16, 2);
    add_matrix_moves(list);
    add_stmatrix(list);
}

}  // namespace heddle::capture
