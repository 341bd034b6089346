// GEMMs and their algorithms as a capture's records tell them: what validation/capture/blas_record.h wrote.
#pragma once

#include "validation/capture/blas.h"
#include "validation/capture/gemm_inputs.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// Throw heddle::Error (file, line, key) when a member is missing, of another kind, or a name that is not
/// known. `key` is the member of the record that holds the object.
capture::GemmProblem problem_of(const CapturedRecord& record, const nlohmann::json& object,
                                const std::string& key = "problem");
capture::GemmAlgorithm algorithm_of(const CapturedRecord& record, const nlohmann::json& object,
                                    const std::string& key = "algorithm");
/// Also when the inputs come from another generator than this program's.
capture::GemmInputs inputs_of(const CapturedRecord& record, const nlohmann::json& object,
                              const std::string& key = "inputs");
/// The order of sums that the record says was revealed, as text of a numerics::SummationTree: in the member
/// "tree", or, when long, in the binary. Empty when there is none.
std::string tree_of(const CapturedRecord& record);

}  // namespace heddle::validation
