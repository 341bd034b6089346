// Softmax, layer norm and GELU on an A100, recorded by others beside Heddle's: third-party tables that lie
// outside the project.
#pragma once

#include <filesystem>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// `data`/kernels/softmax_A100.csv, layernorm_A100.csv (rows, columns, 10^9 elements per second) and
/// gelu_A100.csv (elements, the same): fp16, each call timed by the host with a synchronisation. One
/// Comparison for each file that is there; options.hardware selects one device. Rows above twice the file's
/// floor are judged: at most 12 % mean error. Throws heddle::Error for a damaged file.
std::vector<Comparison> compare_recorded_rows(const std::filesystem::path& data,
                                              const CompareOptions& options);

}  // namespace heddle::validation
