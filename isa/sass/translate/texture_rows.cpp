// Rows of the translator: texture instructions.
#include "isa/sass/translate/rows.h"

namespace heddle::sass {

std::span<const Row> texture_rows() {
    return {};
}

}  // namespace heddle::sass
