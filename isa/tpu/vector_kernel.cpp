#include "isa/tpu/vector_kernel.h"

#include <algorithm>
#include <array>

#include "isa/common/error.h"

namespace heddle::tpu {
namespace {

constexpr std::array<VectorOpTraits, 42> kTraits{{
    {VectorOp::input, "input", 0, 0, 0},
    {VectorOp::scalar, "scalar", 0, 0, 0},
    {VectorOp::constant, "constant", 0, 0, 0},
    {VectorOp::integer_constant, "integer_constant", 0, 0, 0},
    {VectorOp::row_index, "row_index", 0, 1, 0},
    {VectorOp::column_index, "column_index", 0, 1, 0},
    {VectorOp::random, "random", 0, 12, 0},  // two rounds of multiply and xor-shift over a counter
    // Ten rounds of two 32 x 32 products, whose upper halves take eight operations each, and six others make
    // four numbers.
    {VectorOp::philox, "philox", 0, 62, 0},
    {VectorOp::philox_counter, "philox_counter", 0, 242, 0},
    {VectorOp::element_index, "element_index", 0, 2, 0},
    {VectorOp::add, "add", 2, 1, 0},
    {VectorOp::subtract, "subtract", 2, 1, 0},
    {VectorOp::multiply, "multiply", 2, 1, 0},
    {VectorOp::divide, "divide", 2, 4, 1},
    {VectorOp::minimum, "minimum", 2, 1, 0},
    {VectorOp::maximum, "maximum", 2, 1, 0},
    {VectorOp::negate, "negate", 1, 1, 0},
    {VectorOp::absolute, "absolute", 1, 1, 0},
    {VectorOp::exponential, "exponential", 1, 1, 1},
    {VectorOp::logarithm, "logarithm", 1, 1, 1},
    {VectorOp::square_root, "square_root", 1, 3, 1},
    {VectorOp::reciprocal_square_root, "reciprocal_square_root", 1, 3, 1},
    {VectorOp::reciprocal, "reciprocal", 1, 2, 1},
    {VectorOp::hyperbolic_tangent, "hyperbolic_tangent", 1, 0, 1},
    {VectorOp::sigmoid, "sigmoid", 1, 2, 1},
    {VectorOp::error_function, "error_function", 1, 14, 1},
    {VectorOp::floor, "floor", 1, 1, 0},
    {VectorOp::greater, "greater", 2, 1, 0},
    {VectorOp::greater_equal, "greater_equal", 2, 1, 0},
    {VectorOp::less, "less", 2, 1, 0},
    {VectorOp::less_equal, "less_equal", 2, 1, 0},
    {VectorOp::equal, "equal", 2, 1, 0},
    {VectorOp::not_equal, "not_equal", 2, 1, 0},
    {VectorOp::select, "select", 3, 1, 0},
    {VectorOp::round_to_bf16, "round_to_bf16", 1, 1, 0},
    {VectorOp::integer_add, "integer_add", 2, 1, 0},
    {VectorOp::integer_subtract, "integer_subtract", 2, 1, 0},
    {VectorOp::integer_multiply, "integer_multiply", 2, 1, 0},
    {VectorOp::integer_equal, "integer_equal", 2, 1, 0},
    {VectorOp::integer_less, "integer_less", 2, 1, 0},
    {VectorOp::integer_to_float, "integer_to_float", 1, 1, 0},
    {VectorOp::float_to_integer, "float_to_integer", 1, 1, 0},
}};

[[noreturn]] void fail(const VectorKernel& kernel, const std::string& problem,
                       const std::string& remedy = "") {
    throw Error("kernel " + kernel.name + ": " + problem, {}, remedy);
}

/// Scalars and constants sit in the scalar unit and are broadcast as they are used.
bool is_held(VectorOp op) {
    return op != VectorOp::scalar && op != VectorOp::constant && op != VectorOp::integer_constant;
}

/// The most values that registers must hold at a time. Inputs are loaded at their first use, outputs stored
/// as soon as they are computed, and a result may take the register of an operand that nothing else needs.
unsigned most_live_values(const VectorKernel& kernel) {
    const std::size_t count = kernel.nodes.size();
    std::vector<std::size_t> first_use(count, count), last_use(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const VectorNode& node = kernel.nodes[i];
        const std::array<std::uint32_t, 3> operands{node.a, node.b, node.c};
        for (unsigned operand = 0; operand < traits(node.op).operands; ++operand) {
            first_use[operands[operand]] = std::min(first_use[operands[operand]], i);
            last_use[operands[operand]] = i;
        }
    }
    // How many more values are held before and after a node than before and after the one in front of it.
    std::vector<int> before(count + 1, 0), after(count + 1, 0);
    const auto hold = [](std::vector<int>& changes, std::size_t from, std::size_t to) {
        if (from > to) return;
        ++changes[from];
        --changes[to + 1];
    };
    for (std::size_t j = 0; j < count; ++j) {
        const VectorOp op = kernel.nodes[j].op;
        if (!is_held(op)) continue;
        const bool used = first_use[j] < count;
        const std::size_t born = op == VectorOp::input ? first_use[j] : j;
        if (!used || born > j) hold(after, j, j);
        if (!used) continue;
        hold(before, std::min(born + 1, last_use[j]), last_use[j]);
        hold(after, born, last_use[j] - 1);
    }
    int most = 0, held_before = 0, held_after = 0;
    for (std::size_t i = 0; i < count; ++i) {
        held_before += before[i];
        held_after += after[i];
        most = std::max({most, held_before, held_after});
    }
    return static_cast<unsigned>(most);
}

}  // namespace

const VectorOpTraits& traits(VectorOp op) {
    return kTraits[static_cast<std::size_t>(op)];
}

std::optional<VectorOp> vector_op_from_name(const std::string& name) {
    for (const VectorOpTraits& entry : kTraits) {
        if (name == entry.name) return entry.op;
    }
    return std::nullopt;
}

const char* name_of(Reduction reduction) {
    switch (reduction) {
        case Reduction::none:
            return "none";
        case Reduction::lanes_sum:
            return "lanes_sum";
        case Reduction::lanes_maximum:
            return "lanes_maximum";
        case Reduction::sublanes_sum:
            return "sublanes_sum";
        case Reduction::sublanes_maximum:
            return "sublanes_maximum";
    }
    return "?";
}

VectorKernelWork work_of(const VectorKernel& kernel) {
    VectorKernelWork work;
    work.loads = kernel.inputs;
    for (const VectorNode& node : kernel.nodes) {
        work.arithmetic += traits(node.op).arithmetic_slots;
        work.transcendental += traits(node.op).transcendental_slots;
    }
    for (const VectorOutput& output : kernel.outputs) {
        if (output.reduction == Reduction::none) {
            ++work.stores;
            if (output.accumulate) {
                ++work.loads;
                ++work.arithmetic;
            }
            continue;
        }
        ++work.arithmetic;  // into the running sum, which has a register of its own
        ++work.live_registers;
        ++(over_lanes(output.reduction) ? work.lane_reductions : work.sublane_reductions);
    }
    work.live_registers += most_live_values(kernel);
    return work;
}

std::vector<ValueType> check(const VectorKernel& kernel, std::span<const ElementType> inputs) {
    if (inputs.size() != kernel.inputs) {
        fail(kernel, "takes " + std::to_string(kernel.inputs) + " inputs but is given " +
                         std::to_string(inputs.size()));
    }
    if (kernel.outputs.empty()) fail(kernel, "has no output", "end it with: output <node>");
    std::vector<ValueType> types;
    types.reserve(kernel.nodes.size());
    for (std::size_t i = 0; i < kernel.nodes.size(); ++i) {
        const VectorNode& node = kernel.nodes[i];
        const VectorOpTraits& what = traits(node.op);
        const std::string here = "node " + std::to_string(i) + " (" + what.name + ")";
        const std::array<std::uint32_t, 3> operands{node.a, node.b, node.c};
        for (unsigned operand = 0; operand < what.operands; ++operand) {
            if (operands[operand] >= i)
                fail(kernel,
                     here + " uses node " + std::to_string(operands[operand]) + ", which is not before it");
        }
        const auto require = [&](unsigned operand, ValueType type) {
            if (types[operands[operand]] != type) {
                fail(kernel,
                     here + " takes " + (type == ValueType::floating ? "fp32" : "int32") + " but operand " +
                         std::to_string(operand) + " is not",
                     "convert with integer_to_float or float_to_integer");
            }
        };
        ValueType type = ValueType::floating;
        switch (node.op) {
            case VectorOp::input:
                if (node.index >= kernel.inputs) fail(kernel, here + " reads an input that does not exist");
                type = value_type_of(inputs[node.index]);
                break;
            case VectorOp::scalar:
                if (node.index >= kernel.scalars) fail(kernel, here + " reads a scalar that does not exist");
                break;
            case VectorOp::integer_constant:
            case VectorOp::row_index:
            case VectorOp::column_index:
            case VectorOp::element_index:
                type = ValueType::integer;
                break;
            case VectorOp::select:
                require(0, ValueType::floating);
                type = types[node.b];
                require(2, type);
                break;
            case VectorOp::integer_add:
            case VectorOp::integer_subtract:
            case VectorOp::integer_multiply:
                require(0, ValueType::integer);
                require(1, ValueType::integer);
                type = ValueType::integer;
                break;
            case VectorOp::integer_equal:
            case VectorOp::integer_less:
                require(0, ValueType::integer);
                require(1, ValueType::integer);
                break;
            case VectorOp::integer_to_float:
                require(0, ValueType::integer);
                break;
            case VectorOp::float_to_integer:
                require(0, ValueType::floating);
                type = ValueType::integer;
                break;
            default:
                for (unsigned operand = 0; operand < what.operands; ++operand)
                    require(operand, ValueType::floating);
        }
        types.push_back(type);
    }
    for (const VectorOutput& output : kernel.outputs) {
        if (output.node >= kernel.nodes.size())
            fail(kernel, "an output names node " + std::to_string(output.node) + ", which does not exist");
        const bool folds = output.reduction != Reduction::none || output.accumulate;
        if (folds && types[output.node] != ValueType::floating) {
            fail(kernel, "a reduction or accumulation takes fp32", "convert with integer_to_float");
        }
    }
    const unsigned live = work_of(kernel).live_registers;
    if (live > kVectorRegisters) {
        fail(kernel,
             "holds " + std::to_string(live) + " values at a time, but a core has " +
                 std::to_string(kVectorRegisters) + " vector registers",
             "split it into two kernels");
    }
    return types;
}

}  // namespace heddle::tpu
