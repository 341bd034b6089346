#include "workloads/kernels/split_k.h"

#include <algorithm>
#include <bit>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kSplitKThreads = 128;
constexpr unsigned kUnroll = 16;  // slices in flight

std::string name_for(const SplitKReduceSpec& spec) {
    return "split_k_reduce_" + name_of(spec.accumulator) + "_" + name_of(spec.epilogue.output) +
           (spec.batched ? "_batched" : "") +
           (spec.stream_tile_m == 0
                ? ""
                : "_stream" + std::to_string(spec.stream_tile_m) + "x" + std::to_string(spec.stream_tile_n)) +
           epilogue_name(spec.epilogue);
}

}  // namespace

unsigned split_k_reduce_width(const SplitKReduceSpec& spec) {
    return std::min(4u, spec.epilogue.vector_width);
}

Extent3 split_k_reduce_grid(const SplitKReduceSpec& spec, std::uint32_t m, std::uint32_t n,
                            std::uint32_t batch) {
    const std::uint64_t vectors = std::uint64_t{m} * (n / split_k_reduce_width(spec));
    return {divide_up(vectors, kSplitKThreads), batch, 1};
}

GeneratedKernel generate_split_k_reduce(const SplitKReduceSpec& spec) {
    if (spec.accumulator != ElementType::f32 && spec.accumulator != ElementType::f64) {
        throw Error("split-K accumulators are f32 or f64, not " + name_of(spec.accumulator));
    }
    if (spec.stream_tile_m != 0 && (spec.batched || spec.stream_tile_n % split_k_reduce_width(spec) != 0))
        throw Error("slices of stream-K are those of one product, with tiles of whole vectors of columns");
    const ComputeType compute = spec.accumulator == ElementType::f32 ? ComputeType::f32 : ComputeType::f64;
    const bool f32 = compute == ComputeType::f32;
    const unsigned width = split_k_reduce_width(spec), size = bytes_of(spec.accumulator);
    PtxWriter w(name_for(spec), spec.compute_capability);
    GemmParameters p;
    const Reg workspace = w.pointer_parameter("workspace");
    p.c = w.pointer_parameter("c");
    p.bias = w.pointer_parameter("bias");
    p.d = w.pointer_parameter("d");
    p.auxiliary = w.pointer_parameter("auxiliary");
    p.m = w.b32_parameter("m");
    p.n = w.b32_parameter("n");
    p.ldc = w.b32_parameter("ldc");
    p.ldd = w.b32_parameter("ldd");
    p.splits = w.b32_parameter("splits");
    const Reg slice_stride = w.b64_parameter("slice_stride");
    p.stride_c = w.b64_parameter("stride_c");
    p.stride_d = w.b64_parameter("stride_d");
    const PtxWriter::Divider row_vectors = w.divider_parameter("row_vectors");
    const bool stream = spec.stream_tile_m != 0;
    Reg tiles_m, stages_per_tile;
    PtxWriter::Divider stages_per_cta;
    if (stream) {
        tiles_m = w.b32_parameter("tiles_m");
        stages_per_tile = w.b32_parameter("stages_per_tile");
        stages_per_cta = w.divider_parameter("stages_per_cta");
    }
    if (spec.epilogue.expression) {
        for (unsigned i = 0; i < spec.epilogue.expression->scalar_count; ++i) {
            const std::string name = "s" + std::to_string(i);
            p.scalars.push_back(f32 ? w.f32_parameter(name) : w.f64_parameter(name));
        }
    }
    load_factors(w, spec.epilogue, compute, p);
    const Reg linear = w.make_b32("mad.lo.u32", w.cta_x(), kSplitKThreads, w.tid());
    const Reg row = w.divide_fast(linear, row_vectors);
    const Reg column = w.multiply_by(w.remainder_fast(linear, row, row_vectors), width);
    w.op_if(w.make_predicate("setp.ge.u32", row, p.m), "exit");

    const Reg slice_bytes = w.make_b64("shl.b64", slice_stride, std::countr_zero(size));
    const Reg row_elements = w.make_b64("mul.wide.u32", row, p.n);
    const Reg elements = w.make_b64("add.s64", row_elements, w.make_b64("cvt.u64.u32", column));
    Reg address = w.make_b64("add.s64", workspace, w.make_b64("shl.b64", elements, std::countr_zero(size)));
    if (spec.batched) {
        const Reg batch = w.cta_y();
        const Reg first_slice = w.make_b64("mul.wide.u32", batch, p.splits);
        address = w.make_b64("add.s64", address, w.make_b64("mul.lo.u64", first_slice, slice_bytes));
        const Reg wide_batch = w.make_b64("cvt.u64.u32", batch);
        const auto offset = [&](const Reg& pointer, const Reg& stride, ElementType type) {
            const Reg moved = w.make_b64("mul.lo.u64", wide_batch, stride);
            return w.make_b64("add.s64", pointer,
                              w.make_b64("shl.b64", moved, std::countr_zero(bytes_of(type))));
        };
        p.c = offset(p.c, p.stride_c, spec.epilogue.c);
        p.auxiliary = offset(p.auxiliary, p.stride_d, spec.epilogue.auxiliary);
        p.d = offset(p.d, p.stride_d, spec.epilogue.output);
    }

    std::vector<Reg> sums;
    for (unsigned i = 0; i < width; ++i) {
        sums.push_back(f32 ? w.constant_f32(0) : w.make_f64("mov.f64", f64_immediate(0)));
    }
    const Reg left = w.make_b32("mov.u32", p.splits);
    if (stream) {
        // CTAs from that which has the tile's first stage to that which has its last one.
        const Reg tile_m = w.divide_by(row, spec.stream_tile_m),
                  tile_n = w.divide_by(column, spec.stream_tile_n);
        const Reg tile = w.make_b32("mad.lo.u32", tile_n, tiles_m, tile_m);
        const Reg begin = w.make_b32("mul.lo.u32", tile, stages_per_tile);
        const Reg end = w.make_b32("sub.u32", w.make_b32("add.u32", begin, stages_per_tile), 1);
        const Reg first = w.divide_fast(begin, stages_per_cta), last = w.divide_fast(end, stages_per_cta);
        w.op("sub.u32", left, w.make_b32("add.u32", last, 1), first);
    }
    const std::string loop = w.new_label("slices");
    w.place(loop);
    std::vector<RawVector> slices;
    for (unsigned i = 0; i < kUnroll; ++i) {
        const Reg wanted = w.make_predicate("setp.gt.s32", left, i);
        slices.push_back(load_raw(w, "ld.global", spec.accumulator, width, address, 0, wanted));
        w.op("add.s64", address, address, slice_bytes);
    }
    for (const RawVector& slice : slices) {
        for (unsigned i = 0; i < width; ++i)
            w.op(f32 ? "add.rn.f32" : "add.rn.f64", sums[i], sums[i], slice.words[i]);
    }
    w.op("sub.s32", left, left, kUnroll);
    w.jump_if(w.make_predicate("setp.gt.s32", left, 0), loop);

    GemmOutput output(w, p, spec.epilogue, false, compute, row, column);
    output.store(0, sums);
    return w.finish({kSplitKThreads, 1, 1});
}

}  // namespace heddle::kernels
