#include "workloads/kernels/gemm_common.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

/// pointer += index * stride elements
Reg offset_pointer(PtxWriter& w, const Reg& pointer, const Reg& index, const Reg& stride, ElementType type) {
    const Reg wide = w.make_b64("cvt.u64.u32", index);
    const Reg elements = w.make_b64("mul.lo.u64", wide, stride);
    const Reg bytes =
        bytes_of(type) == 1 ? elements : w.make_b64("shl.b64", elements, std::countr_zero(bytes_of(type)));
    return w.make_b64("add.s64", pointer, bytes);
}

}  // namespace

std::string layout_name(bool transpose_a, bool transpose_b) {
    return std::string(transpose_a ? "t" : "n") + (transpose_b ? "t" : "n");
}

std::string epilogue_name(const GemmEpilogue& epilogue) {
    std::string name;
    if (epilogue.expression) {
        // FNV-1a: names must not change between runs or machines.
        std::uint32_t hash = 2166136261u;
        for (const char c : expression::to_text(*epilogue.expression)) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
        }
        char text[16];
        std::snprintf(text, sizeof text, "%08x", hash);
        name = std::string("_epilogue") + text;
        if (ExpressionCode::reads_input(*epilogue.expression, 1)) name += "_bias" + name_of(epilogue.bias);
        if (ExpressionCode::reads_input(*epilogue.expression, 2)) name += "_c" + name_of(epilogue.c);
        if (epilogue.expression->outputs.size() > 1) name += "_aux" + name_of(epilogue.auxiliary);
    }
    return name + "_v" + std::to_string(epilogue.vector_width);
}

GemmParameters emit_gemm_parameters(PtxWriter& w, const GemmPartition& partition,
                                    const GemmEpilogue& epilogue, ElementType a, ElementType b, ElementType d,
                                    ComputeType compute, Reg& k_begin) {
    GemmParameters p;
    for (auto [name, reg] : {std::pair{"a", &p.a},
                             {"b", &p.b},
                             {"c", &p.c},
                             {"bias", &p.bias},
                             {"d", &p.d},
                             {"auxiliary", &p.auxiliary}}) {
        *reg = w.pointer_parameter(name);
    }
    for (auto [name, reg] : {std::pair{"m", &p.m},
                             {"n", &p.n},
                             {"k", &p.k},
                             {"lda", &p.lda},
                             {"ldb", &p.ldb},
                             {"ldc", &p.ldc},
                             {"ldd", &p.ldd}}) {
        *reg = w.b32_parameter(name);
    }
    for (auto [name, reg] : {std::pair{"stride_a", &p.stride_a},
                             {"stride_b", &p.stride_b},
                             {"stride_c", &p.stride_c},
                             {"stride_d", &p.stride_d}}) {
        *reg = w.b64_parameter(name);
    }
    p.k_per_split = w.b32_parameter("k_per_split");
    p.splits = w.b32_parameter("splits");
    if (epilogue.expression) {
        for (unsigned i = 0; i < epilogue.expression->scalar_count; ++i) {
            const std::string name = "s" + std::to_string(i);
            p.scalars.push_back(compute == ComputeType::f32 ? w.f32_parameter(name) : w.f64_parameter(name));
        }
    }
    load_factors(w, epilogue, compute, p);
    if (!partition.batched && !partition.split_k) return p;
    const Reg z = w.cta_z();
    Reg batch = z, slice = z;
    if (partition.batched && partition.split_k) {
        batch = w.make_b32("div.u32", z, p.splits);
        slice = w.make_b32("rem.u32", z, p.splits);
    }
    if (partition.batched) {
        p.a = offset_pointer(w, p.a, batch, p.stride_a, a);
        p.b = offset_pointer(w, p.b, batch, p.stride_b, b);
        if (!partition.split_k && epilogue.expression &&
            ExpressionCode::reads_input(*epilogue.expression, 2)) {
            p.c = offset_pointer(w, p.c, batch, p.stride_c, epilogue.c);
        }
        if (!partition.split_k && epilogue.expression && epilogue.expression->outputs.size() > 1) {
            p.auxiliary = offset_pointer(w, p.auxiliary, batch, p.stride_d, epilogue.auxiliary);
        }
    }
    p.d = offset_pointer(w, p.d, z, p.stride_d, d);
    if (partition.split_k) {
        k_begin = w.make_b32("mul.lo.u32", slice, p.k_per_split);
        const Reg end = w.make_b32("add.u32", k_begin, p.k_per_split);
        p.k = w.make_b32("min.u32", end, p.k);
        k_begin = w.make_b32("min.u32", k_begin, p.k);
    }
    return p;
}

void load_factors(PtxWriter& w, const GemmEpilogue& epilogue, ComputeType compute,
                  GemmParameters& parameters) {
    if (!epilogue.expression) return;
    for (unsigned i = 0; i < GemmEpilogue::kFactors; ++i) {
        if (!ExpressionCode::reads_input(*epilogue.expression, GemmEpilogue::kFirstFactor + i)) continue;
        const Reg address = w.pointer_parameter("factor" + std::to_string(i));
        parameters.factors[i] = load_elements(w, "ld.global.nc", ElementType::f32, 1, address, 0, compute)[0];
    }
}

TilePosition emit_tile_position(PtxWriter& w, const Reg& n, unsigned tile_m, unsigned tile_n,
                                unsigned raster_log2) {
    const Reg x = w.cta_x(), y = w.cta_y();
    TilePosition position;
    if (raster_log2 == 0) {
        position.row = w.multiply_by(x, tile_m);
        position.column = w.multiply_by(y, tile_n);
        return position;
    }
    position.row = w.multiply_by(w.make_b32("shr.u32", x, raster_log2), tile_m);
    const Reg low = w.make_b32("and.b32", x, (1u << raster_log2) - 1);
    const Reg tile = w.make_b32("mad.lo.u32", y, 1u << raster_log2, low);
    position.column = w.multiply_by(tile, tile_n);
    w.op_if(w.make_predicate("setp.ge.u32", position.column, n), "exit");
    return position;
}

Extent3 gemm_grid(std::uint32_t m, std::uint32_t n, std::uint32_t batch_times_splits, unsigned tile_m,
                  unsigned tile_n, unsigned raster_log2) {
    const std::uint32_t tiles_m = divide_up(m, tile_m), tiles_n = divide_up(n, tile_n);
    return {tiles_m << raster_log2, divide_up(tiles_n, 1u << raster_log2), batch_times_splits};
}

unsigned choose_raster_log2(std::uint32_t n, unsigned tile_n) {
    const std::uint32_t tiles = divide_up(n, tile_n);
    for (unsigned log2 = 3; log2 > 0; --log2) {
        // CTAs beyond the edge leave at once, but they take their turn in the distribution to SMs: few of
        // them, or none.
        const std::uint32_t beyond = (divide_up(tiles, 1u << log2) << log2) - tiles;
        if (beyond * 16 <= tiles && tiles >= 1u << log2) return log2;
    }
    return 0;
}

GemmOutput::GemmOutput(PtxWriter& w, const GemmParameters& parameters, const GemmEpilogue& epilogue, bool raw,
                       ComputeType compute, const Reg& row, const Reg& column)
    : w_(w),
      parameters_(parameters),
      epilogue_(epilogue),
      expression_(!raw && epilogue.expression ? *epilogue.expression : identity_expression()),
      compute_(compute),
      row_(row),
      column_(column) {
    if (expression_.input_count > GemmEpilogue::kFirstFactor + GemmEpilogue::kFactors ||
        expression_.outputs.empty() || expression_.outputs.size() > 2) {
        throw Error(
            "a GEMM epilogue reads x0 (accumulator), x1 (bias), x2 (C), x3 and x4 (factors) and writes y0 or "
            "y0 and y1",
            {.key = expression::to_text(expression_)});
    }
    reads_bias_ = ExpressionCode::reads_input(expression_, 1);
    reads_c_ = ExpressionCode::reads_input(expression_, 2);
    const ElementType accumulator = compute == ComputeType::f32 ? ElementType::f32 : ElementType::f64;
    d_ = make_surface(parameters.d, parameters.ldd, raw ? accumulator : epilogue.output);
    if (reads_c_) c_ = make_surface(parameters.c, parameters.ldc, epilogue.c);
    if (expression_.outputs.size() > 1) {
        auxiliary_ = make_surface(parameters.auxiliary, parameters.ldd, epilogue.auxiliary);
    }
    if (reads_bias_) bias_address_ = w.element_address(parameters.bias, column, bytes_of(epilogue.bias));
    row_guard_ = w.make_predicate("setp.lt.u32", row_, parameters.m);
    code_.emplace(w, expression_, compute, parameters.scalars);
}

GemmOutput::Surface GemmOutput::make_surface(const Reg& base, const Reg& leading, ElementType type) {
    Surface surface;
    surface.type = type;
    const Reg row_elements = w_.make_b64("mul.wide.u32", row_, leading);
    const Reg elements = w_.make_b64("add.s64", row_elements, w_.make_b64("cvt.u64.u32", column_));
    const Reg bytes = w_.make_b64("shl.b64", elements, std::countr_zero(bytes_of(type)));
    surface.address = w_.make_b64("add.s64", base, bytes);
    surface.row_bytes = w_.make_b64("mul.wide.u32", leading, bytes_of(type));
    return surface;
}

void GemmOutput::advance(Surface& surface, unsigned rows) {
    const Reg step = std::has_single_bit(rows)
                         ? (rows == 1 ? surface.row_bytes
                                      : w_.make_b64("shl.b64", surface.row_bytes, std::countr_zero(rows)))
                         : w_.make_b64("mul.lo.u64", surface.row_bytes, rows);
    surface.address = w_.make_b64("add.s64", surface.address, step);
}

void GemmOutput::advance_rows(unsigned rows) {
    advance(d_, rows);
    if (reads_c_) advance(c_, rows);
    if (expression_.outputs.size() > 1) advance(auxiliary_, rows);
    row_ = w_.make_b32("add.u32", row_, rows);
    row_guard_ = w_.make_predicate("setp.lt.u32", row_, parameters_.m);
}

const Reg& GemmOutput::column_guard(unsigned offset) {
    Reg& guard = column_guards_[offset];
    if (guard.empty()) {
        const Reg column = offset == 0 ? column_ : w_.make_b32("add.u32", column_, offset);
        guard = w_.make_predicate("setp.lt.u32", column, parameters_.n);
    }
    return guard;
}

void GemmOutput::store(unsigned column_offset, const std::vector<Reg>& accumulators) {
    const unsigned count = static_cast<unsigned>(accumulators.size());
    const unsigned width = std::min(count, epilogue_.vector_width);
    for (unsigned first = 0; first < count; first += width) {
        store_piece(column_offset + first,
                    {accumulators.begin() + first, accumulators.begin() + first + width});
    }
}

void GemmOutput::store_piece(unsigned offset, const std::vector<Reg>& accumulators) {
    const unsigned width = static_cast<unsigned>(accumulators.size());
    const Reg guard = w_.make_predicate("and.pred", row_guard_, column_guard(offset));
    std::vector<Reg> c;
    if (reads_c_) {
        c = load_elements(w_, "ld.global", c_.type, width, c_.address,
                          std::int64_t{offset} * bytes_of(c_.type), compute_, guard);
    }
    std::vector<Reg>& bias = bias_[offset];
    if (reads_bias_ && bias.empty()) {
        bias = load_elements(w_, "ld.global.nc", epilogue_.bias, width, bias_address_,
                             std::int64_t{offset} * bytes_of(epilogue_.bias), compute_, column_guard(offset));
    }
    std::vector<Reg> d, auxiliary;
    for (unsigned i = 0; i < width; ++i) {
        const std::vector<Reg> outputs =
            code_->emit({accumulators[i], reads_bias_ ? bias[i] : Reg{}, reads_c_ ? c[i] : Reg{},
                         parameters_.factors[0], parameters_.factors[1]});
        d.push_back(outputs[0]);
        if (outputs.size() > 1) auxiliary.push_back(outputs[1]);
    }
    store_elements(w_, "st.global", d_.type, d, d_.address, std::int64_t{offset} * bytes_of(d_.type),
                   compute_, guard);
    if (!auxiliary.empty()) {
        store_elements(w_, "st.global", auxiliary_.type, auxiliary, auxiliary_.address,
                       std::int64_t{offset} * bytes_of(auxiliary_.type), compute_, guard);
    }
}

}  // namespace heddle::kernels
