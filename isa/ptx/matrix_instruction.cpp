#include "isa/ptx/matrix_instruction.h"

#include "isa/ptx/instruction_table.h"

namespace heddle::ptx {
MatrixTypes matrix_types(const Instruction& n) {
    if (n.types.size() == 2) return {n.type(0), Type::f16, Type::f16, n.type(1)};
    return {n.type(0), n.type(1), n.type(2), n.type(3)};
}

MatrixLayouts matrix_layouts(const Instruction& n) {
    // Modifiers are a set. When both words stand in it, the row of the table says which came first.
    if (!n.has(Modifier::col)) return {true, true};
    if (!n.has(Modifier::row)) return {false, false};
    const bool row_first = n.form->suffixes.find("row col") != std::string_view::npos;
    return {row_first, !row_first};
}

bool is_matrix_multiply(const Instruction& n) {
    return n.opcode == Opcode::mma || (n.opcode == Opcode::wmma && n.has(Modifier::mma));
}
bool is_sparse_multiply(const Instruction& n) {
    return n.opcode == Opcode::mma && (n.has(Modifier::sp) || n.has(Modifier::sp_ordered_metadata));
}
bool is_fragment_load(const Instruction& n) {
    return n.opcode == Opcode::wmma && n.has(Modifier::load);
}
bool is_fragment_store(const Instruction& n) {
    return n.opcode == Opcode::wmma && n.has(Modifier::store);
}
bool multiplies_by_quad_pairs(const Instruction& n) {
    return n.opcode == Opcode::mma && n.shape == MatrixShape{8, 8, 4} && n.type(1) == Type::f16;
}

unsigned metadata_choices(const Instruction& n) {
    // Lanes of a group of four that hold metadata: 16 rows of a bit per element (two of tf32, half of 4-bit
    // ones), in 32-bit words, eight groups.
    const unsigned bits = bits_of(matrix_types(n).a);
    const unsigned depth = n.shape.depth, row_bits = bits == 32 ? 2 * depth : bits == 4 ? depth / 2 : depth;
    const unsigned lanes = 16 * row_bits / 32 / 8;
    return 4 / lanes;
}

std::uint32_t multiply_accumulates(const Instruction& n) {
    const std::uint32_t all = std::uint32_t{n.shape.rows} * n.shape.columns * n.shape.depth;
    if (is_sparse_multiply(n)) return all / 2;
    return multiplies_by_quad_pairs(n) ? 4 * all : all;
}

std::optional<numerics::Format> matrix_format(Type type) {
    switch (type) {
        case Type::f16:
            return numerics::Format::fp16;
        case Type::bf16:
            return numerics::Format::bf16;
        case Type::tf32:
            return numerics::Format::tf32;
        case Type::e4m3:
            return numerics::Format::e4m3;
        case Type::e5m2:
            return numerics::Format::e5m2;
        case Type::e3m2:
            return numerics::Format::e3m2;
        case Type::e2m3:
            return numerics::Format::e2m3;
        case Type::e2m1:
            return numerics::Format::e2m1;
        case Type::f32:
            return numerics::Format::fp32;
        case Type::f64:
            return numerics::Format::fp64;
        default:
            return std::nullopt;
    }
}

}  // namespace heddle::ptx
