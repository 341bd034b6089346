#include "workloads/kernels/convolution_results.h"

namespace heddle::kernels {

bool wide_convolution_results(const ConvolutionSpec& spec) {
    return spec.vector_d == 8 && bytes_of(spec.type) == 2 && bytes_of(spec.output) == 2 && !spec.split_k;
}

bool paired_convolution_results(const ConvolutionSpec& spec) {
    const ElementType stored = spec.split_k ? ElementType::f32 : spec.output;
    const bool tensor = spec.tf32 || spec.type != ElementType::f32;
    return spec.vector_d == 8 && stored == ElementType::f32 && tensor && !spec.bias;
}

void ConvolutionResults::store_fragments(const AccumulatorTile& sums, const Reg& lane, const Reg& warp_row,
                                         const Reg& warp_column) {
    const Reg row = w_.make_b32("add.u32", warp_row, w_.make_b32("shr.u32", lane, 2));
    const Reg column = w_.make_b32("mad.lo.u32", w_.make_b32("and.b32", lane, 3), 2, warp_column);
    const bool paired = paired_convolution_results(spec_);
    std::vector<unsigned> steps;
    for (unsigned j = 0; j < sums[0].size(); ++j)
        for (unsigned e = 0; e < (paired ? 1 : 2); ++e) steps.push_back(j * 8 + e);
    if (!wide_convolution_results(spec_) || spec_.bias) set_columns(column, steps);
    if (wide_convolution_results(spec_)) {
        const Reg quad_lane = w_.make_b32("and.b32", lane, 3);
        for (const unsigned bit : {1u, 2u})
            lane_bits_.push_back(w_.make_predicate("setp.ne.u32", w_.make_b32("and.b32", quad_lane, bit), 0));
        const Reg first = w_.make_b32("add.u32", p_.first_column, warp_column);
        const Reg own = w_.make_b32("mad.lo.u32", quad_lane, 8, first);
        for (unsigned column = 0; column < sums[0].size() * 8; column += 32)
            wide_guards_.push_back(w_.make_predicate(
                "setp.lt.u32", column == 0 ? own : w_.make_b32("add.u32", own, column), p_.n));
        wide_column_ = w_.make_b64("cvt.u64.u32", own);
    }
    for (unsigned i = 0; i < sums.size(); ++i) {
        for (unsigned below = 0; below < 2; ++below) {
            std::vector<Reg> values;
            for (const auto& block : sums[i])
                for (unsigned e = 0; e < 2; ++e) values.push_back(block[below * 2 + e]);
            store_row(w_.make_b32("add.u32", row, i * 16 + below * 8), values);
        }
    }
}

void ConvolutionResults::store_squares(const std::vector<Reg>& sums, const Reg& row, const Reg& column) {
    const unsigned half = spec_.tile_n / 2;
    set_columns(column, {0, 1, 2, 3, half, half + 1, half + 2, half + 3});
    for (unsigned i = 0; i < 8; ++i) {
        const std::vector<Reg> values(sums.begin() + i * 8, sums.begin() + i * 8 + 8);
        store_row(w_.make_b32("add.u32", row, i / 4 * spec_.tile_m / 2 + i % 4), values);
    }
}

void ConvolutionResults::set_columns(const Reg& local, const std::vector<unsigned>& steps) {
    const Reg first = w_.make_b32("add.u32", p_.first_column, local);
    for (const unsigned step : steps) {
        const Reg column = step == 0 ? first : w_.make_b32("add.u32", first, step);
        column_guards_.push_back(w_.make_predicate("setp.lt.u32", column, p_.n));
        column_offsets_.push_back(spec_.split_k ? w_.make_b64("cvt.u64.u32", column)
                                                : w_.make_b64("mul.wide.u32", column, p_.d_column));
        if (!spec_.bias) continue;
        const Reg index = w_.make_b32("mad.lo.u32", p_.group, p_.n, column);
        const RawVector raw =
            load_raw(w_, "ld.global.nc", spec_.type, 1,
                     w_.element_address(p_.bias, index, bytes_of(spec_.type)), 0, column_guards_.back());
        biases_.push_back(convert_raw(w_, raw, ComputeType::f32)[0]);
    }
}

/// Elements from d to a row's first column, and whether there is such a row.
std::pair<Reg, Reg> ConvolutionResults::row_start(const Reg& row) {
    if (p_.locate_row) {
        const auto [start, within] = p_.locate_row(row);
        return {start, w_.make_predicate("setp.lt.and.u32", row, p_.m, within)};
    }
    const Reg inside = w_.make_predicate("setp.lt.u32", row, p_.m);
    if (spec_.split_k) return {w_.make_b64("mul.wide.u32", row, p_.n), inside};
    const Reg item = w_.divide_fast(row, p_.plane);
    const Reg position = w_.remainder_fast(row, item, p_.plane);
    return {
        w_.make_b64("mad.wide.u32", position, p_.d_position, w_.make_b64("mul.wide.u32", item, p_.d_item)),
        inside};
}

/// words[i ^ quad_lane] for i = 0 ... 3.
std::vector<Reg> ConvolutionResults::permuted_by_lane(const std::vector<Reg>& words) {
    std::vector<Reg> result = words;
    for (unsigned bit = 0; bit < 2; ++bit) {
        const std::vector<Reg> from = result;
        for (unsigned i = 0; i < 4; ++i)
            result[i] = w_.make_b32("selp.b32", from[i ^ (1u << bit)], from[i], lane_bits_[bit]);
    }
    return result;
}

/// The four lanes that have a row's columns, 2 of each 8, exchange those of every 32: each stores 8 that
/// follow one another.
void ConvolutionResults::store_wide_row(const Reg& local, const std::vector<Reg>& values) {
    const Reg row = w_.make_b32("add.u32", p_.first_row, local);
    const auto [start, inside] = row_start(row);
    const Reg element = w_.make_b64("add.s64", start, wide_column_);
    const Reg address = w_.make_b64("add.s64", p_.d, w_.make_b64("shl.b64", element, 1));
    for (unsigned first = 0; first < values.size(); first += 8) {
        std::vector<Reg> words;
        for (unsigned j = first; j < first + 8; j += 2) {
            std::vector<Reg> two(values.begin() + j, values.begin() + j + 2);
            for (unsigned e = 0; e < 2 && spec_.bias; ++e)
                two[e] = w_.make_f32("add.rn.f32", two[e], biases_[j + e]);
            words.push_back(pack_pair(w_, spec_.output, two[0], two[1]));
        }
        words = permuted_by_lane(words);
        for (unsigned i = 1; i < 4; ++i)
            words[i] = w_.make_b32("shfl.sync.bfly.b32", words[i], i, 31, "0xffffffff");
        words = permuted_by_lane(words);
        w_.op_if(w_.make_predicate("and.pred", inside, wide_guards_[first / 8]), "st.global.v4.b32",
                 at(address, first / 8 * 64), vector_of(words));
    }
}

void ConvolutionResults::store_row(const Reg& local, const std::vector<Reg>& values) {
    if (wide_convolution_results(spec_)) return store_wide_row(local, values);
    const Reg row = w_.make_b32("add.u32", p_.first_row, local);
    const auto [start, inside] = row_start(row);
    if (paired_convolution_results(spec_)) {
        // Columns follow one another, and their number is even: constants lead from the first to the others.
        const Reg place = w_.make_b64("add.s64", start, column_offsets_[0]);
        const Reg address = w_.make_b64("add.s64", p_.d, w_.make_b64("shl.b64", place, 2));
        for (unsigned j = 0; j < values.size(); j += 2)
            w_.op_if(w_.make_predicate("and.pred", inside, column_guards_[j / 2]), "st.global.v2.f32",
                     at(address, j / 2 * 32), vector_of({values[j], values[j + 1]}));
        return;
    }
    const ElementType type = spec_.split_k ? ElementType::f32 : spec_.output;
    for (unsigned j = 0; j < values.size(); ++j) {
        const Reg place = w_.make_b64("add.s64", start, column_offsets_[j]);
        const Reg bytes = w_.make_b64("shl.b64", place, bytes_of(type) == 4 ? 2 : 1);
        const Reg value = spec_.bias ? w_.make_f32("add.rn.f32", values[j], biases_[j]) : values[j];
        const Reg guard = w_.make_predicate("and.pred", inside, column_guards_[j]);
        store_elements(w_, "st.global", type, {value}, w_.make_b64("add.s64", p_.d, bytes), 0,
                       ComputeType::f32, guard);
    }
}

}  // namespace heddle::kernels
