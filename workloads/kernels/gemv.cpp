#include "workloads/kernels/gemv.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kUnroll = 4;  // pieces in flight

unsigned columns_of(const GemvSpec& spec) {
    return spec.warps == 1 ? 4 : 1;
}

unsigned threads_of(const GemvSpec& spec) {
    return 32 * std::max(4u, spec.warps);
}

void check(const GemvSpec& spec) {
    const bool known = spec.type == ElementType::f16 || spec.type == ElementType::bf16 ||
                       spec.type == ElementType::f32 || spec.type == ElementType::f64;
    if (!known)
        throw Error("gemv multiplies f16, bf16, f32 or f64, not " + name_of(spec.type), {.key = "gemv"});
    if (spec.type == ElementType::bf16 && !target::nearest_generation(spec.compute_capability).has_bf16)
        throw Error("gemv of bf16 needs compute capability 8.0", {.key = "gemv"}, "use f16");
    if (spec.warps != 1 && spec.warps != 4 && spec.warps != 8 && spec.warps != 16)
        throw Error("an output takes 1, 4, 8 or 16 warps", {.key = "gemv"});
    if (spec.vector == 0 || gemv_piece(spec.type) % spec.vector != 0)
        throw Error(
            "loads take a power of two of at most " + std::to_string(gemv_piece(spec.type)) + " elements",
            {.key = "gemv"});
}

/// Values of a piece of 16 bytes that begins `ahead` pieces of all lanes further on; zeros beyond the end.
std::vector<Reg> load_piece(PtxWriter& w, const GemvSpec& spec, const Reg& address, unsigned distance,
                            const std::vector<Reg>& guards, ComputeType compute) {
    std::vector<Reg> values;
    const unsigned size = bytes_of(spec.type);
    for (std::size_t part = 0; part < guards.size(); ++part) {
        const std::vector<Reg> some = load_elements(
            w, "ld.global.nc", spec.type, spec.vector, address,
            std::int64_t{distance} * size + std::int64_t(part * spec.vector * size), compute, guards[part]);
        values.insert(values.end(), some.begin(), some.end());
    }
    return values;
}

/// The lane's sum over its pieces of k.
Reg write_dot_product(PtxWriter& w, const GemvSpec& spec, const Reg& a_row, const Reg& b_row,
                      const Reg& first_lane, const Reg& k, ComputeType compute) {
    const bool f32 = compute == ComputeType::f32;
    const unsigned piece = gemv_piece(spec.type), size = bytes_of(spec.type);
    const unsigned step = piece * 32 * spec.warps;  // elements between the pieces of a lane
    Reg sum = f32 ? w.constant_f32(0) : w.make_f64("mov.f64", f64_immediate(0));
    StridedLoop loop;
    loop.index = w.multiply_by(first_lane, piece);
    loop.end = k;
    loop.step = step;
    loop.unroll = kUnroll;
    loop.pointers = {{w.element_address(a_row, loop.index, size), size},
                     {w.element_address(b_row, loop.index, size), size}};
    emit_strided_loop(w, loop, [&](unsigned count) {
        std::vector<std::vector<Reg>> a, b;
        for (unsigned i = 0; i < count; ++i) {
            // A piece that one load takes lies before the end as a whole.
            std::vector<Reg> guards;
            if (spec.vector == piece) guards.emplace_back();
            for (unsigned part = 0; part < piece && spec.vector != piece; part += spec.vector) {
                const Reg at_k =
                    i + part == 0 ? loop.index : w.make_b32("add.u32", loop.index, i * step + part);
                guards.push_back(w.make_predicate("setp.lt.u32", at_k, k));
            }
            b.push_back(load_piece(w, spec, loop.pointers[1].first, i * step, guards, compute));
            a.push_back(load_piece(w, spec, loop.pointers[0].first, i * step, guards, compute));
        }
        for (unsigned i = 0; i < count; ++i)
            for (unsigned j = 0; j < piece; ++j)
                w.op(f32 ? "fma.rn.f32" : "fma.rn.f64", sum, a[i][j], b[i][j], sum);
    });
    return sum;
}

/// Over the lanes of a warp: halves first.
void add_lanes(PtxWriter& w, const Reg& sum, ComputeType compute) {
    if (compute == ComputeType::f32) {
        emit_warp_reduce(w, Combine::add, {sum});
        return;
    }
    for (unsigned distance = 16; distance >= 1; distance /= 2) {
        const Reg low = w.b32(), high = w.b32();
        w.op("mov.b64", vector_of({low, high}), sum);
        const Reg other_low = w.make_b32("shfl.sync.bfly.b32", low, distance, 31, "0xffffffff");
        const Reg other_high = w.make_b32("shfl.sync.bfly.b32", high, distance, 31, "0xffffffff");
        const Reg other = w.make_f64("mov.b64", vector_of({other_low, other_high}));
        w.op("add.rn.f64", sum, sum, other);
    }
}

/// Over the warps of the CTA, first to last, in its first thread.
void add_warps(PtxWriter& w, const GemvSpec& spec, const Reg& sum, const Reg& warp, const Reg& lane,
               ComputeType compute) {
    const bool f32 = compute == ComputeType::f32;
    const unsigned size = f32 ? 4 : 8;
    const Reg base = w.make_b32("mov.u32", w.shared("sums", spec.warps * size));
    const Reg place = w.make_b32("mad.lo.u32", warp, size, base);
    w.op_if(w.make_predicate("setp.eq.u32", lane, 0), f32 ? "st.shared.f32" : "st.shared.f64", at(place),
            sum);
    w.cta_barrier();
    w.op(f32 ? "ld.shared.f32" : "ld.shared.f64", sum, at(base));
    for (unsigned i = 1; i < spec.warps; ++i) {
        const Reg other = f32 ? w.make_f32("ld.shared.f32", at(base, i * size))
                              : w.make_f64("ld.shared.f64", at(base, i * size));
        w.op(f32 ? "add.rn.f32" : "add.rn.f64", sum, sum, other);
    }
}

}  // namespace

unsigned gemv_piece(ElementType type) {
    return 16 / bytes_of(type);
}

Extent3 gemv_grid(const GemvSpec& spec, std::uint32_t m, std::uint32_t n, std::uint32_t batch) {
    return {divide_up(n, columns_of(spec)), m, batch};
}

GeneratedKernel generate_gemv(const GemvSpec& spec) {
    check(spec);
    const ComputeType compute = spec.type == ElementType::f64 ? ComputeType::f64 : ComputeType::f32;
    PtxWriter w("gemv_" + name_of(spec.type) + "_" + name_of(spec.epilogue.output) + "_warps" +
                    std::to_string(spec.warps) + "_vector" + std::to_string(spec.vector) +
                    (spec.batched ? "_batched" : "") + epilogue_name(spec.epilogue),
                spec.compute_capability);
    GemmEpilogue epilogue = spec.epilogue;
    epilogue.vector_width = 1;
    Reg k_begin;
    const GemmParameters p = emit_gemm_parameters(w, {spec.batched, false}, epilogue, spec.type, spec.type,
                                                  epilogue.output, compute, k_begin);
    const Reg tid = w.tid();
    const Reg lane = w.make_b32("and.b32", tid, 31), warp = w.make_b32("shr.u32", tid, 5);
    const Reg row = w.cta_y();
    Reg column = w.cta_x();
    if (spec.warps == 1) {
        column = w.make_b32("mad.lo.u32", column, columns_of(spec), warp);
        w.op_if(w.make_predicate("setp.ge.u32", column, p.n), "exit");
    }
    const unsigned size = bytes_of(spec.type);
    const auto row_of = [&](const Reg& base, const Reg& index, const Reg& leading) {
        const Reg elements = w.make_b64("mul.wide.u32", index, leading);
        return w.make_b64("mad.lo.u64", elements, size, base);
    };
    const Reg sum = write_dot_product(w, spec, row_of(p.a, row, p.lda), row_of(p.b, column, p.ldb),
                                      spec.warps == 1 ? lane : tid, p.k, compute);
    add_lanes(w, sum, compute);
    if (spec.warps > 1) add_warps(w, spec, sum, warp, lane, compute);
    const Reg first = spec.warps == 1 ? lane : tid;
    w.op_if(w.make_predicate("setp.ne.u32", first, 0), "exit");
    GemmOutput output(w, p, epilogue, false, compute, row, column);
    output.store(0, {sum});
    return w.finish({threads_of(spec), 1, 1});
}

}  // namespace heddle::kernels
