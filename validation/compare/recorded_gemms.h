// GEMM times that others recorded on GPUs, beside Heddle's: third-party tables that lie outside the project.
#pragma once

#include <filesystem>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// `data`/gemm/h100_sxm_bf16.csv, h100_sxm_fp8.csv and a100_sxm_bf16.csv: a few shapes of each class of size,
/// timed as `heddle validate gemm` times them. One Comparison for each file that is there; options.hardware
/// selects one device. Throws heddle::Error for a damaged file.
std::vector<Comparison> compare_recorded_gemms(const std::filesystem::path& data,
                                               const CompareOptions& options);

}  // namespace heddle::validation
