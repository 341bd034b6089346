// GEMM times that others recorded on GPUs, beside Heddle's: third-party tables that lie outside the project.
#pragma once

#include <filesystem>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// `data`/gemm/h100_sxm_bf16.csv and a100_sxm_bf16.csv (m,n,k, microseconds of one or more software stacks;
/// the first that has a figure counts): an even sample of the shapes that are simulated in seconds. One
/// Comparison for each file that is there; options.hardware selects one device. Throws heddle::Error for a
/// damaged file.
std::vector<Comparison> compare_recorded_gemms(const std::filesystem::path& data,
                                               const CompareOptions& options);

}  // namespace heddle::validation
