// What all programs of one build have in common.
#pragma once

namespace heddle::cli {

/// A hash of the libraries that results of kernels depend on (sim/cli/CMakeLists.txt), in hexadecimal digits.
const char* model_identity();

}  // namespace heddle::cli
