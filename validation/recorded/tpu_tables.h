// Tables of matrix units that others recorded: times of products on a TPU, cycles of systolic arrays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heddle::validation {

/// A is m x k, B is k x n.
struct RecordedProduct {
    std::int64_t m = 0, k = 0, n = 0;
    double microseconds = 0;
};

/// Columns m, k, n and latency_us. Throws heddle::Error with file, line and column for what is no product of
/// matrices of bf16 that the memory of a TPU holds.
std::vector<RecordedProduct> read_products(const std::filesystem::path& file);

/// A product of m x k by k x n on an array of rows x columns.
struct RecordedArrayRun {
    unsigned rows = 0, columns = 0, m = 0, n = 0, k = 0;
    std::string dataflow;  ///< "ws", "os" or "is": what is stationary
    double cycles = 0;
};

/// Columns array_rows, array_cols, dataflow, m, n, k and cycles. Throws heddle::Error with file, line and
/// column.
std::vector<RecordedArrayRun> read_array_runs(const std::filesystem::path& file);

}  // namespace heddle::validation
