// Elementwise kernels from an Expression, shaped like PyTorch's: vectorised one-shot kernels for contiguous
// operands, offset calculators for everything else.
#pragma once

#include <vector>

#include "workloads/kernels/expression_code.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// How an input's elements relate to the elements of the output, which is contiguous.
enum class AccessPattern : std::uint8_t {
    contiguous,  ///< element i
    scalar,      ///< one element for all
    per_column,  ///< element i % columns (a bias)
    per_row,     ///< element i / columns (a value per row)
    strided,     ///< sum over dimensions of index times stride, up to 5 dimensions
};

/// In what order a thread does its elements.
enum class ElementwiseForm : std::uint8_t {
    together,  ///< all loads, then all results: PyTorch's vectorised and unrolled kernels, compiled kernels
    in_turn,   ///< load, compute, store, one element after the other: elementwise_kernel, whose pointers may
               ///< overlap and whose compiler therefore moves no load before a store. With strided inputs the
               ///< number of dimensions is known at launch only, and results have offset calculators too
    casting,   ///< types are known at launch only, so that each access goes through a tree of branches to its
              ///< type's code (LoadWithCast, StoreWithCast); all loads, then all results. Contiguous operands
              ///< of fewer than 2^32 bytes, vector_width 1
    chunks,  ///< multi_tensor_apply: a CTA walks through a chunk of `chunk_elements`. Contiguous or scalar
             ///< operands
};

/// The type of one input and how it is addressed.
struct ElementwiseInput {
    ElementType type = ElementType::f32;
    AccessPattern access = AccessPattern::contiguous;
};

/// The number of elements is at most 2^31 - 1; strides and offsets are in elements and below 2^31.
struct ElementwiseSpec {
    unsigned compute_capability = 80;
    expression::Expression expression;
    std::vector<ElementwiseInput> inputs;
    std::vector<ElementType> outputs;
    /// Elements per access: 1, 2, 4 or 8. More than one: the number of elements, and `columns` when an input
    /// is per_column or per_row, must be multiples of it, and no input may be strided. Contiguous accesses
    /// are 16 bytes at most.
    unsigned vector_width = 1;
    /// Elements per thread, a multiple of vector_width; PyTorch: 4 vectorised, 2-4 with offset calculators.
    unsigned elements_per_thread = 4;
    unsigned threads = 128;
    unsigned dimensions = 1;   ///< of the offset calculators, 1 ... 5
    bool grid_stride = false;  ///< loop over the tensor with a fixed grid, instead of one shot
    ElementwiseForm form = ElementwiseForm::together;
    std::uint32_t chunk_elements = 65536;  ///< a multiple of threads * elements_per_thread
};

/// Parameters, in order:
///   y0, y1, ...       pointers to outputs
///   x0, x1, ...       pointers to inputs
///   elements          u32
///   s0, s1, ...       scalars (f32, or f64 when the kernel computes in f64)
///   columns, columns_multiplier, columns_shift          when an input is per_column or per_row
///   size<d>, size<d>_multiplier, size<d>_shift           d = 0 (innermost) ... dimensions - 2, when an input
///   is strided; in turn also d = dimensions - 1
///   dimensions, y<i>_stride<d>   u32, when an input is strided and the form is in_turn
///   x<i>_stride<d>    u32, for each strided input, innermost first
///   x<i>_type, x<i>_bytes, y<i>_type, y<i>_bytes   u32, when the form is casting: c10::ScalarType, bytes of
///   an element; fewer than 2^32 bytes
GeneratedKernel generate_elementwise(const ElementwiseSpec& spec);
Extent3 elementwise_grid(const ElementwiseSpec& spec, std::uint64_t elements, unsigned sm_count = 0);
/// The arguments for the types of a casting kernel.
void add_type_arguments(std::vector<KernelArgument>& arguments, const ElementwiseSpec& spec);
/// f64 when an operand is f64, or an i32 or i64 operand meets no function that only f32 has; else f32.
ComputeType elementwise_compute_type(const ElementwiseSpec& spec);
/// The arguments for sizes and strides of strided inputs. `shape` and `strides[input]` are outermost first,
/// as tensors have them; strides of inputs that are not strided are ignored.
void add_offset_arguments(std::vector<KernelArgument>& arguments, const ElementwiseSpec& spec,
                          const std::vector<std::uint32_t>& shape,
                          const std::vector<std::vector<std::uint32_t>>& strides);

}  // namespace heddle::kernels
