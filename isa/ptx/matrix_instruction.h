// What the suffixes of a matrix instruction say: types, layouts, kind.
#pragma once

#include <optional>

#include "isa/numerics/formats.h"
#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Element types of D = A B + C.
struct MatrixTypes {
    Type d = Type::none, a = Type::none, b = Type::none, c = Type::none;  ///< Type::none where the
                                                                          ///< instruction has no such operand
};
/// The element types that mma and wmma.mma name; the f16 form of wmma.mma names D and C only.
MatrixTypes matrix_types(const Instruction& instruction);

/// How fragments of A and B lie.
struct MatrixLayouts {
    bool a_row = true, b_row = false;  ///< row-major; false: column-major
};
/// By the suffixes .row and .col; without them the defaults above.
MatrixLayouts matrix_layouts(const Instruction& instruction);

bool is_matrix_multiply(const Instruction& instruction);  ///< mma, mma.sp, wmma.mma
bool is_sparse_multiply(const Instruction& instruction);  ///< mma.sp
bool is_fragment_load(const Instruction& instruction);    ///< wmma.load
bool is_fragment_store(const Instruction& instruction);   ///< wmma.store
/// Whether this is m8n8k4 in f16, which computes four products, one for each pair of quads.
bool multiplies_by_quad_pairs(const Instruction& instruction);

/// mma.sp: how many values the sparsity selector may have (PTX manual, "Sparse matrix storage").
unsigned metadata_choices(const Instruction& instruction);

/// Multiply-accumulates that the tensor core carries out: those of mma.sp with a stored element of A.
std::uint32_t multiply_accumulates(const Instruction& instruction);

/// The number format of a floating-point matrix; nothing for integers and bits.
std::optional<numerics::Format> matrix_format(Type type);

}  // namespace heddle::ptx
