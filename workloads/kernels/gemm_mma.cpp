#include "workloads/kernels/gemm_mma.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "isa/common/error.h"
#include "workloads/kernels/gemm_mma_operand.h"

namespace heddle::kernels {
namespace {

/// Words between rows of the epilogue's staging area: 8 more than a multiple of 16 spreads 4 rows over all
/// banks.
unsigned staging_stride(unsigned warp_n) {
    return warp_n + 8;
}

std::uint32_t staging_bytes(const GemmTile& tile) {
    return tile.warps_m * tile.warps_n * 16 * staging_stride(tile.n / tile.warps_n) * 4;
}

void check(const GemmMmaSpec& spec) {
    const GemmTile& t = spec.tile;
    const unsigned bytes = bytes_of(spec.type);
    const auto fail = [&t](const std::string& problem, const std::string& remedy) {
        throw Error(problem,
                    {.key = "gemm_mma tile " + std::to_string(t.m) + "x" + std::to_string(t.n) + "x" +
                            std::to_string(t.k)},
                    remedy);
    };
    const target::Feature needed = mma_feature(spec.type);
    if (needed == nullptr)
        fail("mma.sync does not multiply " + name_of(spec.type), "cast to f16, bf16 or f32");
    if (!(target::nearest_generation(spec.compute_capability).*needed)) {
        fail("mma.sync of " + name_of(spec.type) + " needs compute capability " +
                 target::capability_text(target::first_with(needed)),
             "use f16, or gemm_simt for f32 and f64");
    }
    if (bytes == 1 && (spec.transpose_a || !spec.transpose_b))
        fail("mma.sync reads " + name_of(spec.type) + " only where k is contiguous", "transpose the operand");
    if (spec.type == ElementType::i8 &&
        (spec.epilogue.output != ElementType::i32 || spec.epilogue.expression || spec.partition.split_k))
        fail("products of i8 are stored as i32, as they are", "");
    if (!std::has_single_bit(t.m) || !std::has_single_bit(t.n) || t.m < 16 * t.warps_m ||
        t.n < 16 * t.warps_n || t.m % (16 * t.warps_m) != 0 || t.n % (16 * t.warps_n) != 0) {
        fail("each warp needs a multiple of 16 rows and columns, in tiles of powers of two",
             "use fewer warps");
    }
    const unsigned k_bytes = t.k * bytes;
    if (k_bytes != 128 && (k_bytes != 64 || bytes == 8)) fail("the tile's k must be 64 or 128 bytes", "");
    if (t.stages < 2 || t.stages > kMostRingStages)
        fail("a ring of 2 to " + std::to_string(kMostRingStages) + " stages is needed", "");
    if (t.warps_m * t.warps_n > 16) fail("more than 16 warps", "use fewer warps");
    if (t.m * t.n / t.threads() > 256) fail("more than 256 accumulators per thread", "use more warps");
    for (const unsigned copy : {spec.copy_a, spec.copy_b}) {
        if (!std::has_single_bit(copy) || copy * bytes < 2 || copy * bytes > 16)
            fail("copies take 2, 4, 8 or 16 bytes", "");
    }
}

std::string name_for(const GemmMmaSpec& spec) {
    const GemmTile& t = spec.tile;
    return "gemm_mma_" + name_of(spec.type) + "_" + name_of(spec.epilogue.output) + "_" +
           std::to_string(t.m) + "x" + std::to_string(t.n) + "x" + std::to_string(t.k) + "_" +
           std::to_string(t.warps_m) + "x" + std::to_string(t.warps_n) + "_stages" +
           std::to_string(t.stages) + "_" + layout_name(spec.transpose_a, spec.transpose_b) + "_a" +
           std::to_string(spec.copy_a) + "_b" + std::to_string(spec.copy_b) + (spec.full_k ? "_fullk" : "") +
           (spec.partition.batched ? "_batched" : "") + (spec.partition.split_k ? "_splitk" : "") +
           "_raster" + std::to_string(spec.raster_log2) + epilogue_name(spec.epilogue);
}

/// The accumulators and the two buffers of fragments of one warp. Volta: the eight sums of a block of 16x16
/// are those of two neighbouring n.
struct WarpTile {
    unsigned fragments_m, fragments_n;                        // 16 rows; 8 columns
    std::vector<std::vector<std::vector<Reg>>> accumulators;  // [m][n][4]
    std::array<std::vector<std::vector<Reg>>, 2> a, b;        // [buffer][16 rows or 16 columns][4]
};

WarpTile make_warp_tile(PtxWriter& w, ElementType type, unsigned warp_m, unsigned warp_n) {
    WarpTile warp{warp_m / 16, warp_n / 8, {}, {}, {}};
    const ElementType sums = mma_accumulator(type);
    const auto zero = [&] {
        return sums == ElementType::f32   ? w.constant_f32(0)
               : sums == ElementType::f64 ? w.make_f64("mov.f64", f64_immediate(0))
                                          : w.constant_b32(0);
    };
    const auto fragment = [&] {
        if (type != ElementType::f64) return w.b32s(4);
        std::vector<Reg> four;
        for (unsigned e = 0; e < 4; ++e) four.push_back(w.f64());
        return four;
    };
    for (unsigned i = 0; i < warp.fragments_m; ++i) {
        warp.accumulators.emplace_back();
        for (unsigned j = 0; j < warp.fragments_n; ++j) {
            std::vector<Reg> four;
            for (unsigned e = 0; e < 4; ++e) four.push_back(zero());
            warp.accumulators.back().push_back(four);
        }
    }
    for (unsigned buffer = 0; buffer < 2; ++buffer) {
        for (unsigned i = 0; i < warp.fragments_m; ++i) warp.a[buffer].push_back(fragment());
        for (unsigned j = 0; j < warp.fragments_n / 2; ++j) warp.b[buffer].push_back(fragment());
    }
    return warp;
}

using Action = std::function<void()>;

/// "m16n8k16.row.col.f32.bf16.bf16.f32"
std::string shape_and_types(ElementType type, unsigned depth) {
    const ElementType sums = mma_accumulator(type);
    const std::string t = type == ElementType::f32 ? "tf32" : type == ElementType::i8 ? "s8" : name_of(type);
    const std::string c = sums == ElementType::i32 ? "s32" : name_of(sums);
    return "m16n8k" + std::to_string(depth) + ".row.col." + c + "." + t + "." + t + "." + c;
}

/// One fragment of 16 rows times one of 8 columns.
void multiply_fragments(PtxWriter& w, ElementType type, const std::vector<Reg>& c, const std::vector<Reg>& a,
                        const std::vector<Reg>& b) {
    const std::string mma = "mma.sync.aligned.";
    const target::Generation& generation = w.generation();
    if (type == ElementType::f64 && !generation.has_fp64_mma_m16) {
        // Rows 0 to 7, then 8 to 15; k 0 to 3, then 4 to 7.
        for (unsigned half = 0; half < 2; ++half) {
            for (unsigned k = 0; k < 2; ++k) {
                const std::string sums = vector_of({c[2 * half], c[2 * half + 1]});
                w.op(mma + "m8n8k4.row.col.f64.f64.f64.f64", sums, "{" + a[2 * k + half] + "}",
                     "{" + b[k] + "}", sums);
            }
        }
    } else if (generation.has_mma_m16n8k16) {
        const unsigned depth = type == ElementType::f64 ? 8 : 32 / bytes_of(type);
        w.op(mma + shape_and_types(type, depth), vector_of(c), vector_of(a), vector_of(b), vector_of(c));
    } else {
        const std::string opcode = mma + shape_and_types(type, 8);
        w.op(opcode, vector_of(c), vector_of({a[0], a[1]}), "{" + b[0] + "}", vector_of(c));
        w.op(opcode, vector_of(c), vector_of({a[2], a[3]}), "{" + b[1] + "}", vector_of(c));
    }
}

/// Volta: 16 rows times 16 columns, a block of 8x8 for each quad pair, k 0 to 3, then 4 to 7.
void multiply_quads(PtxWriter& w, const GemmMmaSpec& spec, std::vector<Reg> c, const std::vector<Reg>& second,
                    const std::vector<Reg>& a, const std::vector<Reg>& b) {
    c.insert(c.end(), second.begin(), second.end());
    const std::string opcode = std::string("mma.sync.aligned.m8n8k4.") + (spec.transpose_a ? "col" : "row") +
                               (spec.transpose_b ? ".col" : ".row") + ".f32.f16.f16.f32";
    for (unsigned k = 0; k < 4; k += 2)
        w.op(opcode, vector_of(c), vector_of({a[k], a[k + 1]}), vector_of({b[k], b[k + 1]}), vector_of(c));
}

/// All products of one k step, with the `actions` (loads) spread evenly among them, so that neither the
/// load-store unit nor the tensor core waits for a burst of the other's instructions to pass.
void multiply(PtxWriter& w, const GemmMmaSpec& spec, const WarpTile& warp, unsigned buffer,
              const std::vector<Action>& actions) {
    const bool quads = w.generation().mma_by_quads;
    const unsigned products = warp.fragments_n * warp.fragments_m / (quads ? 2 : 1);
    std::size_t done = 0;
    for (unsigned product = 0; product < products; ++product) {
        for (; done < actions.size() && done * products <= product * actions.size(); ++done) actions[done]();
        const unsigned j = product / warp.fragments_m, place = product % warp.fragments_m;
        // Back and forth, so that neighbouring instructions share an operand.
        const unsigned i = j % 2 == 0 ? place : warp.fragments_m - 1 - place;
        const std::vector<Reg>& a = warp.a[buffer][i];
        if (quads) {
            multiply_quads(w, spec, warp.accumulators[i][2 * j], warp.accumulators[i][2 * j + 1], a,
                           warp.b[buffer][j]);
            continue;
        }
        const std::vector<Reg>& b = warp.b[buffer][j / 2];
        multiply_fragments(w, spec.type, warp.accumulators[i][j], a, {b[j % 2 * 2], b[j % 2 * 2 + 1]});
    }
    for (; done < actions.size(); ++done) actions[done]();
}

/// Fills the ring and runs over k.
void write_main_loop(PtxWriter& w, const GemmMmaSpec& spec, MmaOperand& a, MmaOperand& b, WarpTile& warp,
                     const Reg& tiles) {
    const unsigned stages = spec.tile.stages;
    const unsigned steps = spec.tile.k / MmaOperand::step_k(spec.compute_capability, bytes_of(spec.type));
    const bool asynchronous = !a.through_registers() || !b.through_registers();
    const auto commit = [&] {
        if (asynchronous) w.op("cp.async.commit_group");
    };
    const auto wait = [&] {
        if (asynchronous) w.op("cp.async.wait_group", stages - 2);
        w.cta_barrier();
    };
    const auto fragment_loads = [&](unsigned buffer, unsigned stage, unsigned step) {
        std::vector<Action> loads;
        for (unsigned i = 0; i < warp.fragments_m; ++i) {
            loads.push_back(
                [&, i, buffer, stage, step] { a.load_fragment(warp.a[buffer][i], stage, i, step); });
        }
        for (unsigned j = 0; j < warp.fragments_n / 2; ++j) {
            loads.push_back(
                [&, j, buffer, stage, step] { b.load_fragment(warp.b[buffer][j], stage, j, step); });
        }
        return loads;
    };
    // The copies of a stage, in as many portions as there are k steps before the one that waits; what travels
    // through registers as soon as these are free.
    const auto copies = [&](unsigned step) {
        std::vector<Action> portions;
        for (MmaOperand* operand : {&a, &b}) {
            const unsigned slots = operand->slots(), share = operand->slots_of_part();
            unsigned from = 0, to = 0;
            if (!operand->through_registers()) {
                const unsigned each = divide_up(slots, steps - 1);
                from = step * each;
                to = std::min(slots, from + each);
            } else if (step % (steps / operand->parts()) == 0) {
                const unsigned part = step / (steps / operand->parts());
                if (part > 0) operand->finish_part(part - 1);
                operand->begin_part();
                from = part * share;
                to = from + share;
            }
            for (unsigned slot = from; slot < to; ++slot)
                portions.push_back([operand, slot] { operand->copy_slot(slot); });
        }
        return portions;
    };
    for (unsigned stage = 0; stage + 1 < stages; ++stage) {
        a.begin_copy(stage, stage);
        b.begin_copy(stage, stage);
        for (unsigned part = 0; part < std::max(a.parts(), b.parts()); ++part) {
            for (MmaOperand* operand : {&a, &b}) {
                if (part >= operand->parts()) continue;
                operand->begin_part();
                for (unsigned i = 0; i < operand->slots_of_part(); ++i)
                    operand->copy_slot(part * operand->slots_of_part() + i);
            }
            for (MmaOperand* operand : {&a, &b})
                if (part < operand->parts()) operand->finish_part(part);
        }
        commit();
    }
    a.advance(stages - 1);
    b.advance(stages - 1);
    const std::string loop = w.new_label("loop"), done = w.new_label("done");
    wait();
    for (const Action& load : fragment_loads(0, 0, 0)) load();
    w.jump_if(w.make_predicate("setp.eq.u32", tiles, 0), done);
    w.place(loop);
    for (unsigned stage = 0; stage < stages; ++stage) {
        const unsigned refill = (stage + stages - 1) % stages;
        a.begin_copy(refill, stage);
        b.begin_copy(refill, stage);
        for (unsigned step = 0; step + 1 < steps; ++step) {
            std::vector<Action> actions = fragment_loads((step + 1) % 2, stage, step + 1);
            for (const Action& part : copies(step)) actions.push_back(part);
            multiply(w, spec, warp, step % 2, actions);
        }
        commit();
        a.finish_part(a.parts() - 1);
        b.finish_part(b.parts() - 1);
        wait();
        multiply(w, spec, warp, (steps - 1) % 2, fragment_loads(0, (stage + 1) % stages, 0));
        w.jump_if(w.make_predicate("setp.le.s32", tiles, stage + 1), done);
    }
    a.advance(stages);
    b.advance(stages);
    w.op("sub.s32", tiles, tiles, stages);
    w.jump(loop);
    w.place(done);
    if (asynchronous) w.op("cp.async.wait_all");
    w.cta_barrier();
}

/// Sums of Volta's quad pairs to where their place in a block of 16x16 is (gemm_mma_fragments.cpp).
void stage_quads(PtxWriter& w, const WarpTile& warp, unsigned i, const Reg& area, const Reg& lane,
                 unsigned stride) {
    const Reg row4 = w.make_b32("bfe.u32", lane, 2, 1), half = w.make_b32("shr.u32", lane, 4);
    const Reg odd = w.make_b32("and.b32", lane, 1);
    const Reg row = w.make_b32("mad.lo.u32", half, 8, w.make_b32("mad.lo.u32", row4, 4, odd));
    const Reg column =
        w.make_b32("mad.lo.u32", w.make_b32("bfe.u32", lane, 3, 1), 4, w.make_b32("and.b32", lane, 2));
    const Reg start = w.make_b32("mad.lo.u32", row, stride, area);
    const Reg address = w.make_b32("mad.lo.u32", column, 4, start);
    for (unsigned j = 0; j < warp.fragments_n; ++j) {
        // Sums 0 to 3 of eight: columns 0 and 1 of this row and of the second after it; 4 to 7: eight columns
        // further.
        const std::vector<Reg>& c = warp.accumulators[i][j];
        w.op("st.shared.v2.f32", at(address, j * 32), vector_of({c[0], c[1]}));
        w.op("st.shared.v2.f32", at(address, j * 32 + 2 * stride), vector_of({c[2], c[3]}));
    }
}

/// Accumulators to shared memory, 16 rows of a warp at a time, and from there by rows through the epilogue.
void write_epilogue(PtxWriter& w, const GemmMmaSpec& spec, const GemmParameters& p, const WarpTile& warp,
                    const Reg& shared_base, const Reg& warp_index, const Reg& lane, const Reg& row,
                    const Reg& column) {
    const unsigned warp_n = spec.tile.n / spec.tile.warps_n;
    const unsigned stride = staging_stride(warp_n) * 4;
    const unsigned width = spec.epilogue.vector_width >= 8 && !spec.partition.split_k ? 8 : 4;
    const unsigned lanes_per_row = warp_n / width, rows_per_pass = 32 / lanes_per_row;
    const Reg area = w.make_b32("mad.lo.u32", warp_index, 16 * stride, shared_base);
    const Reg group = w.make_b32("shr.u32", lane, 2), pair = w.make_b32("and.b32", lane, 3);
    const Reg write_row = w.make_b32("mad.lo.u32", group, stride, area);
    const Reg write_address = w.make_b32("mad.lo.u32", pair, 8, write_row);
    const Reg lane_row = w.divide_by(lane, lanes_per_row);
    const Reg lane_column = w.multiply_by(w.remainder_by(lane, lanes_per_row), width);
    const Reg read_row = w.make_b32("mad.lo.u32", lane_row, stride, area);
    const Reg read_address = w.make_b32("mad.lo.u32", lane_column, 4, read_row);

    const bool integers = spec.type == ElementType::i8;
    const char* store = integers ? "st.shared.v2.b32" : "st.shared.v2.f32";
    // Integers pass as the words that they are.
    GemmOutput output(w, p, spec.epilogue, spec.partition.split_k || integers, ComputeType::f32,
                      w.make_b32("add.u32", row, lane_row), w.make_b32("add.u32", column, lane_column));
    const bool quads = w.generation().mma_by_quads;
    for (unsigned i = 0; i < warp.fragments_m; ++i) {
        if (i != 0) w.warp_barrier();
        if (quads) stage_quads(w, warp, i, area, lane, stride);
        for (unsigned j = 0; j < warp.fragments_n && !quads; ++j) {
            const std::vector<Reg>& c = warp.accumulators[i][j];
            w.op(store, at(write_address, j * 32), vector_of({c[0], c[1]}));
            w.op(store, at(write_address, j * 32 + 8 * stride), vector_of({c[2], c[3]}));
        }
        w.warp_barrier();
        for (unsigned pass = 0; pass < 16 / rows_per_pass; ++pass) {
            if (i != 0 || pass != 0) output.advance_rows(rows_per_pass);
            output.store(0, load_raw(w, "ld.shared", ElementType::f32, width, read_address,
                                     std::int64_t{pass} * rows_per_pass * stride)
                                .words);
        }
    }
}

/// Sums of f64 straight to memory: a lane has two neighbours of a row, and of the eighth after it.
void write_wide_epilogue(PtxWriter& w, const GemmMmaSpec& spec, const GemmParameters& p, const WarpTile& warp,
                         const Reg& lane, const Reg& row, const Reg& column) {
    const Reg group = w.make_b32("shr.u32", lane, 2), pair = w.make_b32("and.b32", lane, 3);
    GemmOutput output(w, p, spec.epilogue, spec.partition.split_k, ComputeType::f64,
                      w.make_b32("add.u32", row, group), w.make_b32("mad.lo.u32", pair, 2, column));
    for (unsigned i = 0; i < 2 * warp.fragments_m; ++i) {
        if (i != 0) output.advance_rows(8);
        for (unsigned j = 0; j < warp.fragments_n; ++j) {
            const std::vector<Reg>& c = warp.accumulators[i / 2][j];
            output.store(j * 8, {c[i % 2 * 2], c[i % 2 * 2 + 1]});
        }
    }
}

}  // namespace

unsigned rows_by_elements(const GemmTile& tile, ElementType type, unsigned copy_a, unsigned copy_b) {
    if (bytes_of(type) != 2) return 0;
    return (copy_a == 1 ? tile.m : 0) + (copy_b == 1 ? tile.n : 0);
}

unsigned parts_by_elements(unsigned compute_capability, const GemmTile& tile, ElementType type,
                           unsigned copy_a, unsigned copy_b) {
    const unsigned elements = rows_by_elements(tile, type, copy_a, copy_b) * tile.k / tile.threads();
    const unsigned steps = tile.k / MmaOperand::step_k(compute_capability, bytes_of(type));
    return elements > 64 && steps >= 4 ? 2 : 1;
}

ElementType mma_accumulator(ElementType type) {
    return type == ElementType::f64  ? ElementType::f64
           : type == ElementType::i8 ? ElementType::i32
                                     : ElementType::f32;
}

target::Feature mma_feature(ElementType type) {
    using target::Generation;
    switch (type) {
        case ElementType::f16:
            return &Generation::has_fp16_mma;
        case ElementType::bf16:
            return &Generation::has_bf16;
        case ElementType::f32:
            return &Generation::has_tf32;
        case ElementType::f64:
            return &Generation::has_fp64_mma;
        case ElementType::i8:
            return &Generation::has_int8_mma_k32;
        case ElementType::e4m3:
        case ElementType::e5m2:
            return &Generation::has_fp8;
        default:
            return nullptr;
    }
}

std::uint32_t gemm_mma_shared_bytes(const GemmTile& tile, unsigned element_bytes) {
    const std::uint32_t ring = (tile.m + tile.n) * tile.k * element_bytes * tile.stages;
    return element_bytes == 8 ? ring : std::max(ring, staging_bytes(tile));
}

Extent3 gemm_mma_grid(const GemmMmaSpec& spec, std::uint32_t m, std::uint32_t n,
                      std::uint32_t batch_times_splits) {
    return gemm_grid(m, n, batch_times_splits, spec.tile.m, spec.tile.n, spec.raster_log2);
}

GeneratedKernel generate_gemm_mma(const GemmMmaSpec& spec) {
    check(spec);
    const ElementType sums = mma_accumulator(spec.type);
    const bool wide = sums == ElementType::f64;
    PtxWriter w(name_for(spec), spec.compute_capability, target::first_with(mma_feature(spec.type)),
                "mma.sync of " + name_of(spec.type));
    if (mma_feature(spec.type) == &target::Generation::has_fp8) w.require_version("8.4");
    Reg k_begin;
    const GemmParameters p = emit_gemm_parameters(w, spec.partition, spec.epilogue, spec.type, spec.type,
                                                  spec.partition.split_k ? sums : spec.epilogue.output,
                                                  wide ? ComputeType::f64 : ComputeType::f32, k_begin);
    const TilePosition tile = emit_tile_position(w, p.n, spec.tile.m, spec.tile.n, spec.raster_log2);
    const Reg tid = w.tid();
    const Reg lane = w.make_b32("and.b32", tid, 31), warp_index = w.make_b32("shr.u32", tid, 5);
    const unsigned warp_m = spec.tile.m / spec.tile.warps_m, warp_n = spec.tile.n / spec.tile.warps_n;
    const Reg warp_row = w.multiply_by(w.divide_by(warp_index, spec.tile.warps_n), warp_m);
    const Reg warp_column = w.multiply_by(w.remainder_by(warp_index, spec.tile.warps_n), warp_n);
    const Reg shared =
        w.make_b32("mov.u32", w.dynamic_shared(gemm_mma_shared_bytes(spec.tile, bytes_of(spec.type))));

    MmaOperandShape shape;
    shape.tile_k = spec.tile.k;
    shape.element_bytes = bytes_of(spec.type);
    shape.threads = spec.tile.threads();
    shape.stages = spec.tile.stages;
    shape.full_k = spec.full_k;
    const unsigned parts =
        parts_by_elements(spec.compute_capability, spec.tile, spec.type, spec.copy_a, spec.copy_b);
    shape.parts = spec.copy_a * bytes_of(spec.type) == 2 ? parts : 1;
    shape.extent = spec.tile.m;
    shape.contiguous_in_k = !spec.transpose_a;
    shape.copy_elements = spec.copy_a;
    MmaOperand a(w, shape);
    shape.shared_offset = shape.stage_bytes() * spec.tile.stages;
    shape.extent = spec.tile.n;
    shape.contiguous_in_k = spec.transpose_b;
    shape.copy_elements = spec.copy_b;
    shape.parts = spec.copy_b * bytes_of(spec.type) == 2 ? parts : 1;
    shape.is_b = true;
    MmaOperand b(w, shape);
    a.set_up(shared, tid, lane, p.a, tile.row, p.m, p.lda, k_begin, p.k, warp_row);
    b.set_up(shared, tid, lane, p.b, tile.column, p.n, p.ldb, k_begin, p.k, warp_column);
    a.set_up_fragments(warp_m);
    b.set_up_fragments(warp_n);

    const Reg extent = k_begin.empty() ? p.k : w.make_b32("sub.u32", p.k, k_begin);
    const Reg tiles = w.divide_by(w.make_b32("add.u32", extent, spec.tile.k - 1), spec.tile.k);
    WarpTile warp = make_warp_tile(w, spec.type, warp_m, warp_n);
    write_main_loop(w, spec, a, b, warp, tiles);
    const Reg row = w.make_b32("add.u32", tile.row, warp_row);
    const Reg column = w.make_b32("add.u32", tile.column, warp_column);
    if (wide) {
        write_wide_epilogue(w, spec, p, warp, lane, row, column);
    } else {
        write_epilogue(w, spec, p, warp, shared, warp_index, lane, row, column);
    }
    return w.finish({spec.tile.threads(), 1, 1});
}

}  // namespace heddle::kernels
