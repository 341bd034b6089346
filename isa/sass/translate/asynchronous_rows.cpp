// Rows of the translator: asynchronous instructions.
#include "isa/sass/translate/rows.h"

namespace heddle::sass {

std::span<const Row> asynchronous_rows() {
    return {};
}

}  // namespace heddle::sass
