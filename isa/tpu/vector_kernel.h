// What the vector unit does to each element of a tile: a small straight-line kernel over vector registers.
//
// The vector unit walks over a tile in registers of 8 sublanes x 128 lanes. For every register position it
// loads the inputs, performs the kernel's operations and stores the outputs, or folds them into a reduction.
// Values are 32 bits wide: fp32 (round to nearest even, subnormals kept) or int32 (wrapping).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa/tpu/element_type.h"

namespace heddle::tpu {

/// The shape of a vector register, the same in every published TPU.
inline constexpr unsigned kSublanes = 8;
inline constexpr unsigned kLanes = 128;
/// Vector registers of a core: a kernel may not hold more values than this at a time (TPU v2 and v3: 32).
inline constexpr unsigned kVectorRegisters = 32;

/// The operations of a kernel. Operands and results are fp32 unless the comment says otherwise.
enum class VectorOp : std::uint8_t {
    input,             ///< element of input `index`; bf16 and fp8 become fp32, int16, int8 and word8
                       ///< int32
    scalar,            ///< scalar `index` of the instruction
    constant,          ///< fp32 number with the bits `bits`
    integer_constant,  ///< int32 `bits`
    row_index,         ///< int32: row origin of the instruction + row
    column_index,      ///< int32: column origin of the instruction + column
    random,            ///< fp32 in [0, 1) from stream `index` and the element's index
    philox,            ///< the same by Philox4x32-10: number of seed `index` and offset `bits`
    philox_counter,    ///< Philox with a counter for each element and `index` as key
    element_index,     ///< int32: the element's index, as random counts it
    // fp32
    add,
    subtract,
    multiply,
    divide,
    minimum,
    maximum,
    negate,
    absolute,
    exponential,
    logarithm,
    square_root,
    reciprocal_square_root,
    reciprocal,
    hyperbolic_tangent,
    sigmoid,
    error_function,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    equal,
    not_equal,      ///< 1.0f or 0.0f
    select,         ///< a != 0 ? b : c, of any type
    round_to_bf16,  ///< nearest bf16, as fp32
    // int32
    integer_add,
    integer_subtract,
    integer_multiply,
    integer_equal,
    integer_less,      ///< comparisons: 1.0f or 0.0f
    integer_to_float,  ///< nearest even
    float_to_integer,  ///< toward zero; NaN gives 0, what does not fit the nearest bound
};

/// Properties of an operation. Vendors publish few costs, so the others are estimates of Heddle's: iterative
/// operations count an approximation from the extended unary pipe plus Newton steps or a polynomial in the
/// ALUs.
struct VectorOpTraits {
    VectorOp op;                ///< the operation of this row
    const char* name;           ///< in assembly text
    unsigned operands;          ///< that it takes of a, b, c
    unsigned arithmetic_slots;  ///< vector ALU operations per register (beside the transcendental, if any)
    unsigned transcendental_slots;  ///< operations of the extended unary pipe per register
};
const VectorOpTraits& traits(VectorOp op);
std::optional<VectorOp> vector_op_from_name(const std::string& name);

/// Operands a, b, c are positions of earlier nodes.
struct VectorNode {
    VectorOp op = VectorOp::constant;   ///< what the node computes
    std::uint32_t a = 0, b = 0, c = 0;  ///< as many as traits(op).operands says
    std::uint32_t index = 0;            ///< of inputs and scalars
    std::uint32_t bits = 0;             ///< of constants
    bool operator==(const VectorNode&) const = default;
};

/// Where an output goes. Reductions over lanes give one element per row; the order of additions is fixed:
/// lane l takes columns l, l + 128, ... ascending, then lanes combine pairwise at distances 64, 32, ..., 1.
/// Reductions over sublanes give one element per column: sublane s takes rows s, s + 8, ... ascending, then
/// pairwise at distances 4, 2, 1.
enum class Reduction : std::uint8_t { none, lanes_sum, lanes_maximum, sublanes_sum, sublanes_maximum };
const char* name_of(Reduction reduction);
constexpr bool over_lanes(Reduction r) {
    return r == Reduction::lanes_sum || r == Reduction::lanes_maximum;
}
constexpr bool over_sublanes(Reduction r) {
    return r == Reduction::sublanes_sum || r == Reduction::sublanes_maximum;
}
constexpr bool is_sum(Reduction r) {
    return r == Reduction::lanes_sum || r == Reduction::sublanes_sum;
}

/// A result of a kernel.
struct VectorOutput {
    std::uint32_t node = 0;                 ///< position in VectorKernel::nodes
    Reduction reduction = Reduction::none;  ///< what becomes of the tile of values
    bool accumulate =
        false;  ///< combine with what the output tile holds (add, or maximum for a maximum reduction)
    bool operator==(const VectorOutput&) const = default;
};

/// A straight-line program for each element of a tile. Nodes refer to earlier ones only.
struct VectorKernel {
    std::string name;                   ///< for messages
    std::uint32_t inputs = 0;           ///< tiles that it reads
    std::uint32_t scalars = 0;          ///< numbers that each instruction gives it
    std::vector<VectorNode> nodes;      ///< in order of computation
    std::vector<VectorOutput> outputs;  ///< tiles that it writes
    bool operator==(const VectorKernel&) const = default;
};

/// Work per vector register, for the timing model.
struct VectorKernelWork {
    unsigned loads = 0, arithmetic = 0, transcendental = 0, stores = 0;  ///< operations of each kind of slot
    unsigned lane_reductions = 0, sublane_reductions = 0;                ///< by the cross-lane unit
    unsigned live_registers = 0;                                         ///< the most values held at a time
};
VectorKernelWork work_of(const VectorKernel& kernel);

/// What a register holds: fp32 numbers, or integers of 32 bits.
enum class ValueType : std::uint8_t { floating, integer };
constexpr ValueType value_type_of(ElementType type) {
    return type == ElementType::fp32 || type == ElementType::bf16 || type == ElementType::fp8_e4m3 ||
                   type == ElementType::fp8_e5m2
               ? ValueType::floating
               : ValueType::integer;
}

/// The type of every node, given those of the inputs. Throws heddle::Error when operands, inputs or outputs
/// are out of range, an operation is given the wrong type, or more than 32 values live at a time.
std::vector<ValueType> check(const VectorKernel& kernel, std::span<const ElementType> inputs);

}  // namespace heddle::tpu
