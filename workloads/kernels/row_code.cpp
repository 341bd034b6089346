#include "workloads/kernels/row_code.h"

#include "isa/common/error.h"

namespace heddle::kernels {

std::string RowGeometry::name() const {
    return std::to_string(columns) + "_v" + std::to_string(vector_width) + "_t" +
           std::to_string(threads_per_row);
}

RowGeometry choose_row_geometry(std::uint32_t columns, unsigned vector_width, unsigned elements_per_thread) {
    if (columns == 0) throw Error("a row has no columns");
    RowGeometry geometry;
    geometry.columns = columns;
    geometry.vector_width = vector_width;
    while (columns % geometry.vector_width != 0) geometry.vector_width /= 2;
    while (std::uint64_t{geometry.threads_per_row} * elements_per_thread < columns) {
        geometry.threads_per_row *= 2;
        if (geometry.threads_per_row > 1024) {
            throw Error(
                "a row of " + std::to_string(columns) + " columns does not fit into the registers of a CTA",
                {}, "use the streaming kernel");
        }
    }
    geometry.vectors = divide_up(columns, std::uint64_t{geometry.threads_per_row} * geometry.vector_width);
    return geometry;
}

RowCode::RowCode(PtxWriter& w, const RowGeometry& geometry) : w_(w), geometry_(geometry) {
    tid_ = w.tid();
    row_ = w.cta_x();
    position_ = tid_;
    if (geometry.threads_per_row == 32) {
        row_ = w.make_b32("mad.lo.u32", row_, geometry.rows_per_cta(), w.make_b32("shr.u32", tid_, 5));
        position_ = w.make_b32("and.b32", tid_, 31);
    } else {
        for (const char* name : {"reduce_even", "reduce_odd"}) shared_.push_back(w.shared(name, 4 * 128));
    }
    column_ = w.multiply_by(position_, geometry.vector_width);
    guards_.resize(geometry.vectors);
}

Reg RowCode::guard(unsigned vector) {
    const unsigned row_vectors = geometry_.columns / geometry_.vector_width;
    if ((vector + 1) * geometry_.threads_per_row <= row_vectors) return {};
    if (guards_[vector].empty()) {
        guards_[vector] =
            w_.make_predicate("setp.lt.u32", position_, row_vectors - vector * geometry_.threads_per_row);
    }
    return guards_[vector];
}

Reg RowCode::row_address(const Reg& base, const Reg& row, const Reg& row_stride, ElementType type) {
    const Reg start = w_.make_b64("mul.wide.u32", row, row_stride);
    const Reg element = w_.make_b64("add.s64", start, w_.make_b64("cvt.u64.u32", column_));
    const unsigned size = bytes_of(type);
    if (size == 1) return w_.make_b64("add.s64", base, element);
    return w_.make_b64("add.s64", base, w_.make_b64("shl.b64", element, size == 2 ? 1 : size == 4 ? 2 : 3));
}

Reg RowCode::column_address(const Reg& base, ElementType type) {
    return w_.element_address(base, column_, bytes_of(type));
}

std::vector<RawVector> RowCode::load_raw_row(ElementType type, const Reg& address) {
    std::vector<RawVector> raw;
    for (unsigned i = 0; i < geometry_.vectors; ++i) {
        raw.push_back(load_raw(w_, "ld.global", type, geometry_.vector_width, address, i * vector_bytes(type),
                               guard(i)));
    }
    return raw;
}

std::vector<Reg> RowCode::convert_row(const std::vector<RawVector>& raw, double fill) {
    std::vector<Reg> values;
    for (unsigned i = 0; i < geometry_.vectors; ++i) {
        for (const Reg& value : convert_raw(w_, raw[i], ComputeType::f32)) {
            // Lanes beyond the row already hold zeros.
            values.push_back(guard(i).empty() || fill == 0
                                 ? value
                                 : w_.make_f32("selp.f32", value, f32_immediate(fill), guard(i)));
        }
    }
    return values;
}

std::vector<Reg> RowCode::mask_row(const std::vector<Reg>& values) {
    std::vector<Reg> masked;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Reg inside = guard(static_cast<unsigned>(i) / geometry_.vector_width);
        masked.push_back(inside.empty() ? values[i]
                                        : w_.make_f32("selp.f32", values[i], f32_immediate(0), inside));
    }
    return masked;
}

void RowCode::store_row(ElementType type, const std::vector<Reg>& values, const Reg& address) {
    const unsigned width = geometry_.vector_width;
    for (unsigned i = 0; i < geometry_.vectors; ++i) {
        store_elements(w_, "st.global", type, {values.begin() + i * width, values.begin() + (i + 1) * width},
                       address, i * vector_bytes(type), ComputeType::f32, guard(i));
    }
}

void RowCode::reduce(Combine combine, const std::vector<Reg>& values) {
    if (geometry_.threads_per_row == 32) {
        emit_warp_reduce(w_, combine, values);
        return;
    }
    if (values.size() * 128 > 4 * 128) throw Error("at most four values are reduced at once");
    emit_cta_reduce(w_, combine, values, tid_, geometry_.threads_per_row, shared_[reductions_++ % 2]);
}

const Reg& RowCode::is_first() {
    if (is_first_.empty()) is_first_ = w_.make_predicate("setp.eq.u32", position_, 0);
    return is_first_;
}

}  // namespace heddle::kernels
