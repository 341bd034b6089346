#include <algorithm>
#include <bit>

#include "workloads/kernels/gemm_wgmma_parts.h"

namespace heddle::kernels {

WgmmaEpilogue::WgmmaEpilogue(PtxWriter& w, const GemmWgmmaSpec& spec, const GemmParameters& parameters,
                             const WgmmaPlace& place)
    : w_(w),
      spec_(spec),
      parameters_(parameters),
      swap_(spec.tile.swap),
      reads_bias_(ExpressionCode::reads_input(*spec.epilogue.expression, 1)),
      reads_c_(ExpressionCode::reads_input(*spec.epilogue.expression, 2)),
      writes_auxiliary_(spec.epilogue.expression->outputs.size() > 1),
      code_(w, *spec.epilogue.expression, ComputeType::f32, parameters.scalars) {
    const Reg lane = w.make_b32("and.b32", place.thread, 31), warp = w.make_b32("shr.u32", place.thread, 5);
    const Reg group = w.make_b32("shr.u32", lane, 2), pair = w.make_b32("and.b32", lane, 3);
    lane_row_ = w.make_b32("add.u32", w.make_b32("mad.lo.u32", warp, 16, place.row), group);
    lane_column_ = w.make_b32("mad.lo.u32", pair, 2, place.column);
    c_ = {spec.epilogue.c, parameters.c, parameters.ldc, {}, {}};
    auxiliary_ = {spec.epilogue.auxiliary, parameters.auxiliary, parameters.ldd, {}, {}};
}

/// Addresses for the fragment at hand, of block 0.
void WgmmaEpilogue::place_surface(Surface& surface) {
    const unsigned size = bytes_of(surface.type);
    const Reg& m = swap_ ? lane_column_ : row_;
    const Reg& n = swap_ ? row_ : lane_column_;
    const Reg line = w_.make_b64("mul.wide.u32", m, surface.leading);
    const Reg element = w_.make_b64("add.s64", line, w_.make_b64("cvt.u64.u32", n));
    const Reg bytes = w_.make_b64("shl.b64", element, std::countr_zero(size));
    surface.address[0] = w_.make_b64("add.s64", surface.base, bytes);
    const Reg one_line = w_.make_b64("mul.wide.u32", surface.leading, size);
    const Reg eight_lines = w_.make_b64("shl.b64", one_line, 3);
    surface.address[1] = w_.make_b64("add.s64", surface.address[0], swap_ ? one_line : eight_lines);
    surface.step = eight_lines;
}

void WgmmaEpilogue::begin_fragment(unsigned fragment) {
    row_ = fragment == 0 ? lane_row_ : w_.make_b32("add.u32", lane_row_, 64 * fragment);
    const Reg& end = swap_ ? parameters_.n : parameters_.m;
    row_guards_[0] = w_.make_predicate("setp.lt.u32", row_, end);
    row_guards_[1] = w_.make_predicate("setp.lt.u32", w_.make_b32("add.u32", row_, 8), end);
    if (reads_c_) place_surface(c_);
    if (writes_auxiliary_) place_surface(auxiliary_);
    if (!swap_ || !reads_bias_) return;
    row_bias_.clear();
    const ElementType type = spec_.epilogue.bias;
    const Reg address = w_.element_address(parameters_.bias, row_, bytes_of(type));
    for (unsigned below = 0; below < 2; ++below) {
        row_bias_.push_back(load_elements(w_, "ld.global.nc", type, 1, address, below * 8 * bytes_of(type),
                                          ComputeType::f32, row_guards_[below])[0]);
    }
}

const Reg& WgmmaEpilogue::column_guard(unsigned block, unsigned column) {
    if (column_guards_of_ != block) {
        const Reg& end = swap_ ? parameters_.m : parameters_.n;
        for (unsigned i = 0; i < 2; ++i) {
            column_guards_[i] =
                w_.make_predicate("setp.lt.u32", w_.make_b32("add.u32", lane_column_, block * 8 + i), end);
        }
        column_guards_of_ = block;
    }
    return column_guards_[column];
}

/// Elements 0 to 3: columns 0 and 1 of row 0, then of row 8.
Reg WgmmaEpilogue::guard(unsigned block, unsigned element) {
    return w_.make_predicate("and.pred", row_guards_[element / 2], column_guard(block, element % 2));
}

std::int64_t WgmmaEpilogue::offset(const Surface& surface, unsigned block, unsigned element) const {
    const unsigned elements = swap_ ? element / 2 * 8 : block * 8 + element % 2;
    return std::int64_t{elements} * bytes_of(surface.type);
}

std::vector<Reg> WgmmaEpilogue::load(const Surface& surface, unsigned block) {
    std::vector<Reg> values;
    const unsigned width = swap_ ? 1 : std::min(2u, spec_.epilogue.vector_width);
    for (unsigned element = 0; element < 4; element += width) {
        const Reg& address = surface.address[swap_ ? element % 2 : element / 2];
        for (const Reg& value :
             load_elements(w_, "ld.global", surface.type, width, address, offset(surface, block, element),
                           ComputeType::f32, guard(block, element)))
            values.push_back(value);
    }
    return values;
}

void WgmmaEpilogue::store(const Surface& surface, unsigned block, const std::vector<Reg>& values) {
    const unsigned width = swap_ ? 1 : std::min(2u, spec_.epilogue.vector_width);
    for (unsigned element = 0; element < 4; element += width) {
        const Reg& address = surface.address[swap_ ? element % 2 : element / 2];
        store_elements(w_, "st.global", surface.type,
                       {values.begin() + element, values.begin() + element + width}, address,
                       offset(surface, block, element), ComputeType::f32, guard(block, element));
    }
}

std::vector<Reg> WgmmaEpilogue::load_bias(unsigned block) {
    if (swap_) return {row_bias_[0], row_bias_[0], row_bias_[1], row_bias_[1]};
    const ElementType type = spec_.epilogue.bias;
    const unsigned width = std::min(2u, spec_.epilogue.vector_width);
    const Reg address = w_.element_address(parameters_.bias, lane_column_, bytes_of(type));
    std::vector<Reg> pair;
    for (unsigned column = 0; column < 2; column += width) {
        for (const Reg& value : load_elements(w_, "ld.global.nc", type, width, address,
                                              std::int64_t{block * 8 + column} * bytes_of(type),
                                              ComputeType::f32, column_guard(block, column)))
            pair.push_back(value);
    }
    return {pair[0], pair[1], pair[0], pair[1]};
}

std::vector<Reg> WgmmaEpilogue::apply(unsigned fragment, unsigned block,
                                      const std::vector<Reg>& accumulators) {
    if (block == 0) begin_fragment(fragment);
    std::vector<Reg> bias(4), c(4), result, auxiliary;
    if (reads_c_) c = load(c_, block);
    if (reads_bias_) bias = load_bias(block);
    for (unsigned element = 0; element < 4; ++element) {
        const std::vector<Reg> outputs = code_.emit({accumulators[element], bias[element], c[element],
                                                     parameters_.factors[0], parameters_.factors[1]});
        result.push_back(outputs[0]);
        if (writes_auxiliary_) auxiliary.push_back(outputs[1]);
    }
    if (writes_auxiliary_) store(auxiliary_, block, auxiliary);
    if (swap_) {
        for (Surface* surface : {&c_, &auxiliary_}) {
            if (surface->address[0].empty()) continue;
            for (Reg& address : surface->address) address = w_.make_b64("add.s64", address, surface->step);
        }
    }
    return result;
}

}  // namespace heddle::kernels
