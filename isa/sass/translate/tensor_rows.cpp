// Rows of the translator: tensor instructions.
#include "isa/sass/translate/rows.h"

namespace heddle::sass {

std::span<const Row> tensor_rows() {
    return {};
}

}  // namespace heddle::sass
