// Rates of calls over tensors of different shapes, as others recorded them: a line a call, without a heading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace heddle::validation {

struct RecordedRow {
    std::vector<std::int64_t> shape;
    double microseconds = 0;
};

/// Lines of `extents` whole numbers and a rate in 10^9 elements per second; empty ones are no rows. Throws
/// heddle::Error with file and line, also for tensors of fp16 that the GPU of the recording could not hold.
std::vector<RecordedRow> read_rows(const std::filesystem::path& file, std::size_t extents);

}  // namespace heddle::validation
