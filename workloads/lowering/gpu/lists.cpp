#include "workloads/lowering/gpu/lists.h"

#include <algorithm>
#include <map>
#include <set>

#include "workloads/expression/expression.h"
#include "workloads/kernels/multi_tensor.h"
#include "workloads/trace/shape.h"
#include "workloads/trace/turns.h"

namespace heddle::lowering {
namespace {

using kernels::KernelArgument;

constexpr std::uint32_t kChunk = 65536;     ///< elements; PyTorch's kChunkSize
constexpr std::uint32_t kMostChunks = 320;  ///< of a launch; PyTorch's depth_to_max_blocks

/// PyTorch's depth_to_max_tensors: what fits into 4 KiB of arguments beside the table of chunks.
unsigned most_tensors(std::size_t operands) {
    constexpr unsigned kMost[] = {110, 110, 64, 48, 36, 30};
    return std::min(kernels::kMostListedTensors, kMost[std::min<std::size_t>(operands, 5)]);
}

bool is_sum_of_squares(const trace::Op& op) {
    return op.kind == trace::OpKind::reduce && op.get(keys::reduce.reduction) == "sum" &&
           op.get(keys::reduce.expression) == "y0 = x0 * x0";
}

bool has_strides(const trace::Op& op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
        if (!op.strides("input" + std::to_string(i)).empty()) return true;
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
        if (!op.strides("output" + std::to_string(i)).empty()) return true;
    return false;
}

bool is_scalar(const trace::Trace& trace, const trace::Op& op, std::size_t input) {
    return trace.tensor(op.inputs[input]).elements() == 1 && trace.tensor(op.outputs[0]).elements() != 1;
}

/// Whether an op may be one of several in a launch at all.
bool may_be_listed(const trace::Trace& trace, const trace::Op& op) {
    if (op.get(keys::any.list) == 0 || has_strides(op) || op.outputs.empty()) return false;
    if (op.kind == trace::OpKind::reduce)
        return is_sum_of_squares(op) && op.outputs.size() == 1 &&
               trace.tensor(op.outputs[0]).elements() == 1 &&
               trace.tensor(op.outputs[0]).type == trace::ElementType::f32;
    if (op.kind != trace::OpKind::elementwise) return false;
    const std::int64_t elements = trace.tensor(op.outputs[0]).elements();
    for (const trace::TensorId id : op.outputs)
        if (trace.tensor(id).elements() != elements) return false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
        if (!is_scalar(trace, op, i) && trace.tensor(op.inputs[i]).shape != trace.tensor(op.outputs[0]).shape)
            return false;
    return true;
}

bool same_types(const trace::Trace& trace, const std::vector<trace::TensorId>& a,
                const std::vector<trace::TensorId>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](trace::TensorId x, trace::TensorId y) {
        return trace.tensor(x).type == trace.tensor(y).type;
    });
}

bool go_together(const trace::Trace& trace, const trace::Op& a, const trace::Op& b) {
    if (a.kind != b.kind || a.get(keys::any.list) != b.get(keys::any.list) || !trace::are_in_one_turn(a, b) ||
        a.get(keys::elementwise.expression) != b.get(keys::elementwise.expression) ||
        a.get(keys::elementwise.scalars) != b.get(keys::elementwise.scalars) ||
        !same_types(trace, a.inputs, b.inputs) || !same_types(trace, a.outputs, b.outputs))
        return false;
    // Of a tensor of one element, the head of the list says which operands are scalars.
    for (std::size_t i = 0; i < a.inputs.size() && a.kind == trace::OpKind::elementwise; ++i) {
        if (is_scalar(trace, a, i) ? a.inputs[i] != b.inputs[i] : is_scalar(trace, b, i)) return false;
    }
    return true;
}

/// A part of an op's tensors: as many chunks as its launch has room for.
struct Part {
    trace::OpId op;
    std::uint64_t begin, elements;
};

std::vector<std::vector<Part>> launches_of(const trace::Trace& trace, const std::vector<trace::OpId>& ops,
                                           unsigned most) {
    std::vector<std::vector<Part>> launches;
    std::uint32_t chunks = kMostChunks;
    for (const trace::OpId op : ops) {
        const auto elements = static_cast<std::uint64_t>(trace.tensor(trace.ops[op].inputs[0]).elements());
        for (std::uint64_t begin = 0; begin < elements;) {
            if (chunks == kMostChunks || launches.back().size() == most) {
                launches.emplace_back();
                chunks = 0;
            }
            const std::uint64_t take =
                std::min(elements - begin, std::uint64_t{kMostChunks - chunks} * kChunk);
            launches.back().push_back({op, begin, take});
            chunks += kernels::divide_up(take, kChunk);
            begin += take;
        }
    }
    return launches;
}

/// Tensors of whole vectors of four, and the others: each takes launches of its own.
std::vector<std::vector<trace::OpId>> by_vectors(const GpuProgramBuilder& b, trace::OpId first,
                                                 std::size_t count) {
    std::vector<std::vector<trace::OpId>> parts(2);
    for (std::size_t k = 0; k < count; ++k) {
        const auto id = static_cast<trace::OpId>(first + k);
        const trace::Op& op = b.trace().ops[id];
        bool whole = b.trace().tensor(op.inputs[0]).elements() % 4 == 0;
        for (std::size_t i = 0; i < op.inputs.size(); ++i)
            whole = whole && op.offset("input" + std::to_string(i)) % 4 == 0;
        for (std::size_t i = 0; i < op.outputs.size() && op.kind == trace::OpKind::elementwise; ++i)
            whole = whole && op.offset("output" + std::to_string(i)) % 4 == 0;
        parts[whole ? 0 : 1].push_back(id);
    }
    return parts;
}

std::string listed(std::size_t tensor, const std::string& operand) {
    return "t" + std::to_string(tensor) + "_" + operand;
}

KernelArgument moved(KernelArgument argument, std::uint64_t elements, trace::ElementType type) {
    argument.byte_offset += elements * trace::bytes_of(type);
    return argument;
}

kernels::MultiTensorLaunch launch_of_parts(const std::vector<Part>& parts) {
    std::vector<std::uint64_t> elements;
    elements.reserve(parts.size());
    for (const Part& part : parts) elements.push_back(part.elements);
    return kernels::multi_tensor_launch(elements, kChunk);
}

void lower_elementwise_list(GpuProgramBuilder& b, trace::OpId first, std::size_t count) {
    b.begin_op(first);
    const trace::Op op = b.op();
    kernels::MultiTensorSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.expression = expression::parse(op.get(keys::elementwise.expression));
    std::size_t operands = op.outputs.size();
    for (std::size_t i = 0; i < op.inputs.size() && i < spec.expression.input_count; ++i) {
        spec.inputs.push_back(kernel_type(b.input(i).type));
        spec.input_is_scalar.push_back(is_scalar(b.trace(), op, i));
        // What is changed in place is one operand.
        const bool own = std::none_of(op.outputs.begin(), op.outputs.end(), [&](trace::TensorId id) {
            return b.buffer_of(id) == b.buffer_of(op.inputs[i]);
        });
        operands += own && !spec.input_is_scalar.back() ? 1 : 0;
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) spec.outputs.push_back(kernel_type(b.output(i).type));
    for (const std::vector<kernels::ElementType>* types : {&spec.inputs, &spec.outputs})
        for (const kernels::ElementType type : *types)
            if (type == kernels::ElementType::f64 || kernels::is_integer(type))
                throw Unsupported{"lists are computed in f32"};
    const std::vector<double> scalars = op.get(keys::elementwise.scalars);
    if (scalars.size() < spec.expression.scalar_count)
        throw Unsupported{"the expression names scalars that the op does not give"};
    const std::vector<std::vector<trace::OpId>> groups = by_vectors(b, first, count);
    for (std::size_t group = 0; group < groups.size(); ++group) {
        spec.vector_width = group == 0 ? 4 : 1;
        for (const std::vector<Part>& parts : launches_of(b.trace(), groups[group], most_tensors(operands))) {
            spec.tensors = static_cast<unsigned>(parts.size());
            const kernels::MultiTensorLaunch launch = launch_of_parts(parts);
            std::vector<KernelArgument> arguments = launch.arguments;
            for (std::size_t t = 0; t < parts.size(); ++t) {
                b.begin_op(parts[t].op);
                for (std::size_t i = 0; i < spec.outputs.size(); ++i)
                    arguments.push_back(moved(b.output_pointer(listed(t, "y" + std::to_string(i)), i),
                                              parts[t].begin, b.output(i).type));
                for (std::size_t i = 0; i < spec.inputs.size(); ++i)
                    if (!spec.input_is_scalar[i])
                        arguments.push_back(moved(b.input_pointer(listed(t, "x" + std::to_string(i)), i),
                                                  parts[t].begin, b.input(i).type));
            }
            b.begin_op(first);
            for (std::size_t i = 0; i < spec.inputs.size(); ++i)
                if (spec.input_is_scalar[i]) arguments.push_back(b.input_pointer("x" + std::to_string(i), i));
            for (unsigned i = 0; i < spec.expression.scalar_count; ++i)
                arguments.push_back(
                    kernels::f32_argument("s" + std::to_string(i), static_cast<float>(scalars[i])));
            b.launch(kernels::generate_multi_tensor(spec), launch.grid, arguments);
        }
    }
}

/// Sums of squares of chunks, then those of each tensor.
void lower_norm_list(GpuProgramBuilder& b, trace::OpId first, std::size_t count) {
    struct Range {
        std::uint32_t first = 0, count = 0;
    };
    std::map<trace::OpId, Range> ranges;
    b.begin_op(first);
    kernels::MultiTensorNormSpec spec;
    spec.compute_capability = b.compute_capability();
    spec.input = kernel_type(b.input(0).type);
    if (spec.input == kernels::ElementType::f64 || kernels::is_integer(spec.input))
        throw Unsupported{"lists are computed in f32"};
    const std::vector<std::vector<trace::OpId>> groups = by_vectors(b, first, count);
    std::vector<std::vector<std::vector<Part>>> launches;
    std::uint32_t chunks = 0;
    for (const std::vector<trace::OpId>& group : groups) {
        launches.push_back(launches_of(b.trace(), group, most_tensors(1)));
        for (const std::vector<Part>& parts : launches.back()) {
            for (const Part& part : parts) {
                Range& range = ranges.try_emplace(part.op, Range{chunks, 0}).first->second;
                range.count += kernels::divide_up(part.elements, kChunk);
                chunks += kernels::divide_up(part.elements, kChunk);
            }
        }
    }
    const program::BufferId sums = b.workspace("sums of squares of chunks", std::uint64_t{chunks} * 4);
    std::uint32_t done = 0;
    for (std::size_t group = 0; group < groups.size(); ++group) {
        spec.vector_width = group == 0 ? 4 : 1;
        for (const std::vector<Part>& parts : launches[group]) {
            spec.tensors = static_cast<unsigned>(parts.size());
            const kernels::MultiTensorLaunch launch = launch_of_parts(parts);
            std::vector<KernelArgument> arguments = launch.arguments;
            for (std::size_t t = 0; t < parts.size(); ++t) {
                b.begin_op(parts[t].op);
                arguments.push_back(
                    moved(b.input_pointer(listed(t, "x0"), 0), parts[t].begin, b.input(0).type));
            }
            arguments.push_back(kernels::pointer_argument("sums", sums, std::uint64_t{done} * 4));
            b.launch(kernels::generate_multi_tensor_norm(spec), launch.grid, arguments);
            done += launch.grid[0];
        }
    }
    for (std::size_t begin = 0; begin < count; begin += kernels::kMostListedTensors) {
        const auto tensors =
            static_cast<unsigned>(std::min<std::size_t>(count - begin, kernels::kMostListedTensors));
        std::vector<KernelArgument> arguments{kernels::pointer_argument("sums", sums)};
        for (unsigned t = 0; t < tensors; ++t) {
            const auto op = static_cast<trace::OpId>(first + begin + t);
            b.begin_op(op);
            arguments.push_back(b.output_pointer(listed(t, "y0"), 0));
            arguments.push_back(kernels::integer_argument(listed(t, "first"), ranges.at(op).first));
            arguments.push_back(kernels::integer_argument(listed(t, "count"), ranges.at(op).count));
        }
        b.launch(kernels::generate_multi_tensor_sums(b.compute_capability(), tensors), {tensors, 1, 1},
                 arguments);
    }
}

}  // namespace

std::size_t list_length(const trace::Trace& trace, std::size_t first) {
    const trace::Op& op = trace.ops[first];
    if (!may_be_listed(trace, op)) return 1;
    // Nothing that one of them makes may be read or written by another.
    std::set<std::uint64_t> written;
    std::size_t count = 0;
    for (; first + count < trace.ops.size(); ++count) {
        const trace::Op& next = trace.ops[first + count];
        if (!may_be_listed(trace, next) || !go_together(trace, op, next)) break;
        const auto known = [&](trace::TensorId id) { return written.count(id) != 0; };
        if (std::any_of(next.inputs.begin(), next.inputs.end(), known) ||
            std::any_of(next.outputs.begin(), next.outputs.end(), known))
            break;
        written.insert(next.outputs.begin(), next.outputs.end());
    }
    return std::max<std::size_t>(1, count);
}

void lower_list(GpuProgramBuilder& b, trace::OpId first, std::size_t count) {
    if (b.trace().ops[first].kind == trace::OpKind::reduce) return lower_norm_list(b, first, count);
    lower_elementwise_list(b, first, count);
}

}  // namespace heddle::lowering
