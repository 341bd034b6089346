// Rows of the translator: cluster instructions.
#include "isa/sass/translate/rows.h"

namespace heddle::sass {

std::span<const Row> cluster_rows() {
    return {};
}

}  // namespace heddle::sass
