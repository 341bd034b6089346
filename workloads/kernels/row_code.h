// Rows kept in registers: each thread of a warp or a CTA owns the same columns of every row that it works on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {

/// How a row of `columns` elements lies in the registers of `threads_per_row` threads: vector i of thread t
/// begins at column (i * threads_per_row + t) * vector_width.
struct RowGeometry {
    std::uint32_t columns = 0;
    unsigned vector_width = 1;
    unsigned threads_per_row = 32;  ///< 32: one row per warp, four warps per CTA; more: one row per CTA
    unsigned vectors = 1;           ///< per thread

    unsigned threads() const { return threads_per_row == 32 ? 128 : threads_per_row; }
    unsigned rows_per_cta() const { return threads() / threads_per_row; }
    std::string name() const;
};

/// The fewest threads that hold the row in at most `elements_per_thread` elements each. Throws heddle::Error
/// when even 1,024 threads cannot. `vector_width` is reduced until it divides `columns`.
RowGeometry choose_row_geometry(std::uint32_t columns, unsigned vector_width, unsigned elements_per_thread);

/// Emits the code of a kernel that works on rows in this way.
class RowCode {
  public:
    RowCode(PtxWriter& w, const RowGeometry& geometry);

    /// Index of the thread's first row: CTA, and warp within it.
    const Reg& first_row() const { return row_; }
    /// Thread within the row.
    const Reg& position() const { return position_; }

    /// base + (row * row_stride + this thread's first column) elements, as an address.
    Reg row_address(const Reg& base, const Reg& row, const Reg& row_stride, ElementType type);
    /// base + this thread's first column: for vectors that all rows share.
    Reg column_address(const Reg& base, ElementType type);
    /// The thread's elements, loaded; columns beyond the row get `fill`.
    std::vector<RawVector> load_raw_row(ElementType type, const Reg& address);
    std::vector<Reg> convert_row(const std::vector<RawVector>& raw, double fill);
    /// The values, with zeros beyond the row.
    std::vector<Reg> mask_row(const std::vector<Reg>& values);
    void store_row(ElementType type, const std::vector<Reg>& values, const Reg& address);
    /// Over the row; every thread of the row gets the result. Alternates between two shared arrays, so that
    /// no barrier is needed between two calls; a loop over rows with a single call per row needs one.
    void reduce(Combine combine, const std::vector<Reg>& values);
    /// True in the first thread of the row.
    const Reg& is_first();
    /// Distance in bytes between a thread's vectors.
    std::int64_t vector_bytes(ElementType type) const {
        return std::int64_t{geometry_.threads_per_row} * geometry_.vector_width * bytes_of(type);
    }
    const RowGeometry& geometry() const { return geometry_; }
    unsigned elements() const { return geometry_.vectors * geometry_.vector_width; }

  private:
    /// Vectors that lie in the row for every thread need no guard.
    Reg guard(unsigned vector);

    PtxWriter& w_;
    RowGeometry geometry_;
    Reg tid_, row_, position_, column_, is_first_;
    std::vector<Reg> guards_;
    std::vector<std::string> shared_;
    unsigned reductions_ = 0;
};

}  // namespace heddle::kernels
