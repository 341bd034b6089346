// Matrix instructions: which family an instruction belongs to.
#include "isa/ptx/handlers/fragments.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {

Handler select_matrix(const Instruction& n, bool evaluate) {
    if (is_fragment_load(n) || is_fragment_store(n)) return select_tile_access(n, evaluate);
    if (!is_matrix_multiply(n)) return select_matrix_move(n, evaluate);
    if (n.has(Modifier::kind_f8f6f4) || n.has(Modifier::block_scale)) return select_narrow_multiply(n);
    if (is_sparse_multiply(n)) return select_sparse_multiply(n);
    if (multiplies_by_quad_pairs(n)) return select_quad_multiply(n);
    return matrix_format(matrix_types(n).a) ? select_float_multiply(n) : select_integer_multiply(n);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
