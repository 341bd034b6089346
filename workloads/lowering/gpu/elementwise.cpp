// Elementwise operations and everything that is one in disguise: copies, casts, transposes, fills, random
// numbers, concatenations (one copy per part).
#include "workloads/kernels/elementwise.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "workloads/expression/expression.h"
#include "workloads/kernels/data_movement.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/elementwise_launch.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering {
namespace {

using kernels::AccessPattern;
using kernels::KernelArgument;

constexpr std::size_t kMostDimensions = 5;  // of the generator's offset calculators

/// Merges neighbouring axes along which every operand runs on, so that few dimensions are left.
void collapse(std::vector<std::int64_t>& shape, std::vector<std::vector<std::int64_t>>& strides) {
    std::vector<std::int64_t> kept_shape;
    std::vector<std::vector<std::int64_t>> kept(strides.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) continue;
        bool merges = !kept_shape.empty();
        for (std::size_t i = 0; i < strides.size() && merges; ++i) {
            merges = kept[i].back() == strides[i][axis] * shape[axis];
        }
        if (merges) {
            kept_shape.back() *= shape[axis];
            for (std::size_t i = 0; i < strides.size(); ++i) kept[i].back() = strides[i][axis];
        } else {
            kept_shape.push_back(shape[axis]);
            for (std::size_t i = 0; i < strides.size(); ++i) kept[i].push_back(strides[i][axis]);
        }
    }
    if (kept_shape.empty()) {
        kept_shape = {1};
        for (auto& k : kept) k = {0};
    }
    shape = kept_shape;
    strides = kept;
}

/// How an operand follows the result, when that is one of the simple ways; `columns` as the pattern needs it.
struct Pattern {
    AccessPattern access = AccessPattern::strided;
    std::int64_t columns = 0;
};

/// `strides` has one entry per axis of the collapsed result.
Pattern pattern_of(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
    if (std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 0; })) {
        return {AccessPattern::scalar, 0};
    }
    if (is_dense(shape, strides)) return {AccessPattern::contiguous, 0};
    if (shape.size() == 2 && strides[0] == 0 && strides[1] == 1) return {AccessPattern::per_column, shape[1]};
    if (shape.size() == 2 && strides[0] == 1 && strides[1] == 0) return {AccessPattern::per_row, shape[1]};
    return {};
}

/// Widest access that every contiguous operand and the number of elements allow.
unsigned vector_width_for(const kernels::ElementwiseSpec& spec, std::int64_t elements, std::int64_t columns,
                          const std::vector<std::uint64_t>& byte_offsets, unsigned most) {
    unsigned widest_type = 1;
    for (const kernels::ElementType type : spec.outputs)
        widest_type = std::max(widest_type, kernels::bytes_of(type));
    for (const kernels::ElementwiseInput& input : spec.inputs) {
        if (input.access == AccessPattern::contiguous)
            widest_type = std::max(widest_type, kernels::bytes_of(input.type));
    }
    unsigned width = std::min(most, 16 / widest_type);
    const auto fits = [&](unsigned w) {
        if (elements % w != 0 || (columns != 0 && columns % w != 0)) return false;
        return std::all_of(byte_offsets.begin(), byte_offsets.end(), [&](std::uint64_t offset) {
            return offset % (w * std::uint64_t{widest_type}) == 0;
        });
    };
    while (width > 1 && !fits(width)) width /= 2;
    return width;
}

/// The order in which a recorded kernel's threads do their elements (see kernels::ElementwiseForm).
void choose_form(kernels::ElementwiseSpec& spec, const trace::Op& op, std::int64_t elements) {
    using kernels::ElementwiseForm;
    const bool plain =
        std::all_of(spec.inputs.begin(), spec.inputs.end(), [](const kernels::ElementwiseInput& input) {
            return input.access == AccessPattern::contiguous || input.access == AccessPattern::scalar;
        });
    const bool small = elements < (std::int64_t{1} << 28);  // offsets in bytes are 32 bits, also of 16 bytes
    const auto chunk = static_cast<std::uint32_t>(op.get(keys::any.chunk_elements));
    if (chunk != 0 && plain && chunk % (spec.threads * spec.elements_per_thread) == 0) {
        spec.form = ElementwiseForm::chunks;
        spec.chunk_elements = chunk;
    } else if (op.get(keys::any.casting) != 0 && plain && small) {
        spec.form = ElementwiseForm::casting;
        spec.vector_width = 1;
    } else if (op.get(keys::any.in_turn) != 0) {
        spec.form = ElementwiseForm::in_turn;
    }
}

/// Registers that a text declares: ".reg .f32 %f<12>;" are 12.
std::size_t declared_registers(const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(".reg "); at != std::string::npos; at = text.find(".reg ", at + 1)) {
        const std::size_t end = text.find(';', at), bracket = text.rfind('<', end);
        if (end == std::string::npos || bracket == std::string::npos || bracket < at) continue;
        std::size_t declared = 0;
        std::from_chars(text.data() + bracket + 1, text.data() + end, declared);
        count += declared;
    }
    return count;
}

/// Each value of each element has a register of its own, until ptxas or the GPU's model finds them a place: the
/// kernels of long expressions take an element at a time. Throws Unsupported for expressions that are longer
/// than one kernel's registers.
kernels::GeneratedKernel generate(kernels::ElementwiseSpec& spec) {
    constexpr std::size_t kMostRegisters = 65'534;
    const std::size_t values = spec.expression.nodes.size();
    const auto fits = [](const kernels::GeneratedKernel& kernel) {
        return declared_registers(kernel.text) <= kMostRegisters;
    };
    if (values <= kMostRegisters) {
        if (kernels::GeneratedKernel kernel = kernels::generate_elementwise(spec); fits(kernel)) return kernel;
        spec.vector_width = spec.elements_per_thread = 1;
        spec.form = kernels::ElementwiseForm::together;
        if (kernels::GeneratedKernel kernel = kernels::generate_elementwise(spec); fits(kernel)) return kernel;
    }
    throw Unsupported{"an expression of " + std::to_string(values) +
                      " values needs more registers than a kernel may name"};
}

/// Kernels write their results in one run. Where the results' axes lie in another order in memory, walks the
/// axes in that order; throws Unsupported when the results have gaps.
void walk_in_order_of_outputs(const GpuProgramBuilder& b, std::vector<std::int64_t>& shape,
                              std::vector<ElementwiseOperand>& inputs) {
    const std::vector<std::int64_t> strides = b.op().strides("output0");
    if (strides.empty() || is_dense(shape, strides)) return b.require_dense_outputs();
    for (std::size_t i = 1; i < b.op().outputs.size(); ++i) {
        if (b.op().strides("output" + std::to_string(i)) != strides) {
            throw Unsupported{"no elementwise kernel writes results with different strides"};
        }
    }
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return strides[x] > strides[y]; });
    const auto permuted = [&](const std::vector<std::int64_t>& values) {
        std::vector<std::int64_t> result;
        result.reserve(order.size());
        for (const std::size_t axis : order) result.push_back(values[axis]);
        return result;
    };
    if (!is_dense(permuted(shape), permuted(strides))) {
        throw Unsupported{"no elementwise kernel writes a result with gaps"};
    }
    shape = permuted(shape);
    for (ElementwiseOperand& input : inputs) input.strides = permuted(input.strides);
}

}  // namespace

void launch_elementwise(GpuProgramBuilder& b, const expression::Expression& expression,
                        const std::vector<double>& scalars, const std::vector<std::int64_t>& result_shape,
                        const std::vector<ElementwiseOperand>& inputs,
                        const std::vector<ElementwiseOperand>& outputs) {
    const std::int64_t elements = trace::element_count(result_shape);
    if (elements == 0) return;
    if (elements >= (std::int64_t{1} << 31))
        throw Unsupported{"no elementwise kernel for 2^31 elements or more"};

    std::vector<std::int64_t> shape = result_shape;
    std::vector<std::vector<std::int64_t>> strides;
    strides.reserve(inputs.size());
    for (const ElementwiseOperand& input : inputs) strides.push_back(input.strides);
    collapse(shape, strides);
    if (shape.size() > kMostDimensions)
        throw Unsupported{"no elementwise kernel for more than five strided axes"};

    const trace::Op& op = b.op();
    // A recorded kernel with offset calculators reads all its operands that way; one that is vectorised,
    // none.
    const bool force_strided = op.get(keys::any.strided) != 0;
    kernels::ElementwiseSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.expression = expression;
    std::int64_t columns = 0;
    bool any_strided = false;
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Pattern pattern = pattern_of(shape, strides[i]);
        if (pattern.access == AccessPattern::contiguous && force_strided && shape.size() > 1) {
            pattern.access = AccessPattern::strided;
        }
        // elementwise_kernel calculates offsets of operands with one element too.
        if (pattern.access == AccessPattern::scalar && force_strided && op.get(keys::any.in_turn) != 0 &&
            shape.size() > 1) {
            pattern.access = AccessPattern::strided;
        }
        if (pattern.columns != 0 && (force_strided || (columns != 0 && columns != pattern.columns))) {
            pattern = {AccessPattern::strided, 0};
        }
        if (pattern.columns != 0) columns = pattern.columns;
        any_strided = any_strided || pattern.access == AccessPattern::strided;
        spec.inputs.push_back({kernel_type(inputs[i].type), pattern.access});
        if (pattern.access == AccessPattern::contiguous) offsets.push_back(inputs[i].pointer.byte_offset);
    }
    for (const ElementwiseOperand& output : outputs) {
        spec.outputs.push_back(kernel_type(output.type));
        offsets.push_back(output.pointer.byte_offset);
    }
    spec.dimensions = any_strided ? static_cast<unsigned>(shape.size()) : 1;
    const auto wished = static_cast<unsigned>(op.get(keys::any.vector_width, 8));
    unsigned width = 1;
    while (width * 2 <= wished && width < 8) width *= 2;
    spec.vector_width = any_strided ? 1 : vector_width_for(spec, elements, columns, offsets, width);
    const auto per_thread = static_cast<unsigned>(op.get(keys::any.elements_per_thread, 4));
    spec.elements_per_thread =
        std::max(spec.vector_width, per_thread / spec.vector_width * spec.vector_width);
    spec.threads = static_cast<unsigned>(op.get(keys::any.threads, 128));
    if (spec.threads < 32 || spec.threads > 1024 || spec.threads % 32 != 0) spec.threads = 128;
    choose_form(spec, op, elements);

    const kernels::GeneratedKernel kernel = generate(spec);

    std::vector<KernelArgument> arguments;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        KernelArgument argument = outputs[i].pointer;
        argument.parameter = "y" + std::to_string(i);
        arguments.push_back(argument);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        KernelArgument argument = inputs[i].pointer;
        argument.parameter = "x" + std::to_string(i);
        arguments.push_back(argument);
    }
    arguments.push_back(kernels::integer_argument("elements", static_cast<std::uint64_t>(elements)));
    const bool in_f64 = kernels::elementwise_compute_type(spec) == kernels::ComputeType::f64;
    if (scalars.size() < expression.scalar_count)
        throw Unsupported{"the expression names scalars that the op does not give"};
    for (unsigned i = 0; i < expression.scalar_count; ++i) {
        const std::string name = "s" + std::to_string(i);
        arguments.push_back(in_f64 ? kernels::f64_argument(name, scalars[i])
                                   : kernels::f32_argument(name, static_cast<float>(scalars[i])));
    }
    if (spec.form == kernels::ElementwiseForm::casting) kernels::add_type_arguments(arguments, spec);
    if (columns != 0)
        kernels::add_divider_arguments(arguments, "columns", static_cast<std::uint32_t>(columns));
    if (any_strided) {
        const std::vector<std::uint32_t> sizes(shape.begin(), shape.end());
        std::vector<std::vector<std::uint32_t>> steps;
        steps.reserve(strides.size());
        for (const auto& s : strides) steps.emplace_back(s.begin(), s.end());
        kernels::add_offset_arguments(arguments, spec, sizes, steps);
    }
    b.launch(kernel, kernels::elementwise_grid(spec, static_cast<std::uint64_t>(elements)), arguments);
}

ElementwiseOperand input_operand(const GpuProgramBuilder& b, std::size_t i,
                                 const std::vector<std::int64_t>& shape) {
    const trace::Tensor& tensor = b.input(i);
    ElementwiseOperand operand;
    operand.type = tensor.type;
    operand.pointer = b.input_pointer("", i);
    operand.strides = trace::broadcast_strides(tensor.shape, shape);
    const std::vector<std::int64_t> own = b.input_strides(i);
    if (!own.empty()) {
        const std::size_t lead = shape.size() - own.size();
        for (std::size_t axis = 0; axis < own.size(); ++axis) {
            operand.strides[lead + axis] = tensor.shape[axis] == 1 && shape[lead + axis] != 1 ? 0 : own[axis];
        }
    }
    return operand;
}

ElementwiseOperand output_operand(const GpuProgramBuilder& b, std::size_t i) {
    return {b.output(i).type, b.output_pointer("", i), {}};
}

void lower_elementwise(GpuProgramBuilder& b) {
    std::vector<std::int64_t> shape = b.output(0).shape;
    const expression::Expression expression = expression::parse(b.op().get(keys::elementwise.expression));
    std::vector<ElementwiseOperand> inputs, outputs;
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) {
        if (i >= expression.input_count) continue;
        inputs.push_back(input_operand(b, i, shape));
    }
    for (std::size_t i = 0; i < b.op().outputs.size(); ++i) outputs.push_back(output_operand(b, i));
    walk_in_order_of_outputs(b, shape, inputs);
    launch_elementwise(b, expression, b.op().get(keys::elementwise.scalars), shape, inputs, outputs);
}

namespace {

/// A change between channels first and last by way of tiles of 32 by 32 in shared memory, as cuDNN's
/// nchwToNhwcKernel does it, one item after the other: of weights with small windows most of each tile is
/// empty. False: not such a copy.
bool lower_change_of_layout(GpuProgramBuilder& b, const std::vector<std::int64_t>& permutation) {
    const trace::Tensor& x = b.input(0);
    const std::size_t rank = permutation.size();
    if (b.op().get(keys::copy.tiles) == 0 || rank < 3 || rank != x.shape.size() || permutation[0] != 0 ||
        x.type != b.output(0).type || !b.input_strides(0).empty())
        return false;
    const bool to_last = permutation.back() == 1;
    std::int64_t positions = 1;
    for (std::size_t axis = 1; axis + 1 < rank; ++axis) {
        if (permutation[axis + (to_last ? 0 : 1)] != static_cast<std::int64_t>(axis) + (to_last ? 1 : 0))
            return false;
        positions *= x.shape[axis + (to_last ? 1 : 0)];
    }
    const std::int64_t channels = x.shape[to_last ? 1 : rank - 1], items = x.shape[0];
    if (items > 65535 || channels > 65535 * 32 || positions > 65535 * 32 || b.output(0).elements() == 0)
        return false;
    b.require_dense_outputs();
    const kernels::TransposeSpec spec{b.compute_capability(), kernel_type(x.type)};
    const auto rows = static_cast<std::uint32_t>(to_last ? channels : positions),
               columns = static_cast<std::uint32_t>(to_last ? positions : channels);
    b.launch(kernels::generate_transpose(spec),
             kernels::transpose_grid(spec, rows, columns, static_cast<std::uint32_t>(items)),
             {b.output_pointer("y", 0), b.input_pointer("x", 0), kernels::integer_argument("rows", rows),
              kernels::integer_argument("columns", columns)});
    return true;
}

}  // namespace

void lower_copy(GpuProgramBuilder& b) {
    const trace::Tensor& x = b.input(0);
    std::vector<std::int64_t> shape = b.output(0).shape;
    const std::vector<std::int64_t> permutation = b.op().get(keys::copy.permutation);
    if (lower_change_of_layout(b, permutation)) return;
    ElementwiseOperand operand;
    if (!permutation.empty()) {
        std::vector<std::int64_t> own = b.input_strides(0);
        if (own.empty()) own = trace::broadcast_strides(x.shape, x.shape);
        operand = {x.type, b.input_pointer("", 0), {}};
        for (const std::int64_t axis : permutation)
            operand.strides.push_back(own.at(static_cast<std::size_t>(axis)));
    } else if (x.elements() == b.output(0).elements() && x.shape != shape) {
        shape = x.shape;  // a reshape runs over the input
        operand = input_operand(b, 0, shape);
    } else {
        operand = input_operand(b, 0, shape);
    }
    std::vector<ElementwiseOperand> inputs{operand};
    if (shape == b.output(0).shape) {
        walk_in_order_of_outputs(b, shape, inputs);
    } else {
        b.require_dense_outputs();
    }
    launch_elementwise(b, expression::parse("y0 = x0"), {}, shape, inputs, {output_operand(b, 0)});
}

void lower_fill(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    const double value = b.op().get(keys::fill.value), step = b.op().get(keys::fill.step);
    const expression::Expression expression =
        expression::parse(step == 0 ? "y0 = s0" : "y0 = s0 + s1 * position");
    for (std::size_t i = 0; i < b.op().outputs.size(); ++i) {
        // Positions are counted in fp32.
        if (step != 0 && b.output(i).elements() > 1 << 24) throw Unsupported{"no kernel for a range as long"};
        std::vector<double> scalars{value};
        if (step != 0) scalars.push_back(step);
        launch_elementwise(b, expression, scalars, b.output(i).shape, {}, {output_operand(b, i)});
    }
}

void lower_random(GpuProgramBuilder& b) {
    b.require_dense_outputs();
    const trace::Op& op = b.op();
    const std::string uniform =
        "s0 + (s1 - s0) * random(" + std::to_string(op.get(keys::random.stream)) + ")";
    const bool integers = op.get(keys::random.distribution) == "integer";
    const expression::Expression expression =
        expression::parse(integers ? "y0 = floor(" + uniform + ")" : "y0 = " + uniform);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        launch_elementwise(b, expression, {op.get(keys::random.low), op.get(keys::random.high)},
                           b.output(i).shape, {}, {output_operand(b, i)});
    }
}

}  // namespace heddle::lowering
