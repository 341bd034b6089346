// Apache Parquet files, as far as a table of results needs them: one row group, plain encoding, no
// compression.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace heddle::explore {

/// A column. Numbers that may be missing are optional columns; all others have a value in every row.
struct ParquetColumn {
    std::string name;
    std::variant<std::vector<std::int64_t>, std::vector<bool>, std::vector<std::optional<double>>,
                 std::vector<std::string>>
        values;
};

/// The bytes of a file with these columns, which are equally long. Follows the format's specification,
/// github.com/apache/parquet-format, version 1 of data pages.
std::string parquet_file(const std::vector<ParquetColumn>& columns);

}  // namespace heddle::explore
