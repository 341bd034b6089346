// The dot product unit against single tensor-core operations that were recorded on real GPUs, and how badly
// wrong models of it would do: a comparison that a wrong model passes proves nothing.
#pragma once

#include <filesystem>

#include "validation/compare/result.h"

namespace heddle::validation {

/// Every series under `folder` (of tensor_core_folder()): the definition and the fast implementation must
/// give every row's bits. Series that are found and cannot be compared are named in `missing`, each with the
/// reason. Throws heddle::Error when a file is damaged.
Comparison compare_recorded_vectors(const std::filesystem::path& folder, const CompareOptions& options);

}  // namespace heddle::validation
