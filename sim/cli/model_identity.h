// The identity of the models, which all programs of one build share.
#pragma once

namespace heddle::cli {

/// Returns a hash, in hexadecimal digits, of the libraries on which results of kernels depend
/// (sim/cli/CMakeLists.txt).
const char* model_identity();

}  // namespace heddle::cli
