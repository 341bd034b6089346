#include "validation/recorded/tpu_tables.h"

#include "validation/recorded/csv_table.h"

namespace heddle::validation {
namespace {

/// Elements of bf16 in the 96 GB of the largest memory that a TPU has had (v5p).
constexpr double kTpuTablesMostElements = 48e9;
/// Beyond the arrays that were built, and beyond what their cells, one by one, are counted for.
constexpr std::uint32_t kLargestArray = 1024, kLargestExtent = 1 << 20;

std::uint32_t at_most(std::uint32_t most, const CsvTable& table, const CsvRow& row, std::size_t column) {
    const std::uint32_t value = table.extent(row, column);
    if (value > most)
        throw Error("`" + row.cells[column] + "` is more than any that was recorded",
                    table.place(row, table.columns()[column]), "at most " + std::to_string(most));
    return value;
}

}  // namespace

std::vector<RecordedProduct> read_products(const std::filesystem::path& file) {
    const CsvTable table(file, "a table of products on a TPU");
    const std::size_t m = table.column("m"), k = table.column("k"), n = table.column("n"),
                      time = table.column("latency_us");
    std::vector<RecordedProduct> products;
    for (const CsvRow& row : table.rows()) {
        const RecordedProduct product{table.extent(row, m), table.extent(row, k), table.extent(row, n),
                                      table.positive(row, time)};
        const auto rows = static_cast<double>(product.m), inner = static_cast<double>(product.k),
                   columns = static_cast<double>(product.n);
        if (rows * inner + inner * columns + rows * columns > kTpuTablesMostElements)
            throw Error("these matrices are larger than the memory of any TPU", table.place(row),
                        "a line is m, k, n and microseconds");
        products.push_back(product);
    }
    return products;
}

std::vector<RecordedArrayRun> read_array_runs(const std::filesystem::path& file) {
    const CsvTable table(file, "a table of cycles of systolic arrays");
    const std::size_t rows = table.column("array_rows"), columns = table.column("array_cols"),
                      dataflow = table.column("dataflow"), m = table.column("m"), n = table.column("n"),
                      k = table.column("k"), cycles = table.column("cycles");
    std::vector<RecordedArrayRun> runs;
    for (const CsvRow& row : table.rows()) {
        RecordedArrayRun run;
        run.rows = at_most(kLargestArray, table, row, rows);
        run.columns = at_most(kLargestArray, table, row, columns);
        run.m = at_most(kLargestExtent, table, row, m);
        run.n = at_most(kLargestExtent, table, row, n);
        run.k = at_most(kLargestExtent, table, row, k);
        run.dataflow = row.cells[dataflow];
        if (run.dataflow != "ws" && run.dataflow != "os" && run.dataflow != "is")
            throw Error("`" + run.dataflow + "` is no dataflow", table.place(row, "dataflow"),
                        "ws, os or is: what is stationary");
        run.cycles = table.positive(row, cycles);
        runs.push_back(std::move(run));
    }
    return runs;
}

}  // namespace heddle::validation
