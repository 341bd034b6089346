#include "workloads/lowering/tpu/selection.h"

#include <array>
#include <limits>

#include "workloads/lowering/tpu/map.h"
#include "workloads/lowering/tpu/parts.h"
#include "workloads/lowering/tpu/rowwise.h"
#include "workloads/trace/shape.h"

namespace heddle::lowering::on_tpu {
namespace {

using tpu::Reduction;
using tpu::VectorOp;
using Node = KernelBuilder::Node;

std::uint32_t word(const trace::Op& op, trace::Integer key) {
    const std::int64_t value = op.get(key);
    if (value < 0 || value > std::int64_t{UINT32_MAX})
        throw Unsupported{std::string("a ") + key.name + " of Philox beyond 32 bits"};
    return static_cast<std::uint32_t>(value);
}

}  // namespace

void lower_dropout(ProgramBuilder& program) {
    const double probability = program.op().get(keys::dropout.probability);
    const HbmView x = program.dense_input(0);
    std::vector<HbmView> outputs{program.dense_output(0)};
    KernelBuilder builder;
    const Node value = builder.input(x.type);
    const Node kept = builder.apply(
        VectorOp::greater_equal,
        builder.philox(word(program.op(), keys::dropout.seed), word(program.op(), keys::dropout.offset)),
        builder.constant(static_cast<float>(probability)));
    const Node scaled = builder.apply(VectorOp::multiply, value, builder.constant(1 / (1 - probability)));
    builder.output(builder.apply(VectorOp::select, kept, scaled, builder.constant(0)), outputs[0].type);
    if (program.op().outputs.size() > 1) {
        outputs.push_back(program.dense_output(1));
        builder.output(kept, outputs[1].type, outputs[1].boolean);
    }
    map_elements(program, program.kernel(builder.finish(), {x.type}), {x}, outputs);
}

void lower_quantise(ProgramBuilder& program) {
    const Parts::Shape shape{program.input(0).elements()};
    const bool scaled = program.op().inputs.size() > 1;
    Parts parts(program);
    const auto x = parts.input(0, shape);
    std::vector<Parts::Tensor> inputs{x};
    if (scaled) inputs.push_back(parts.input(1, {1}));
    const double largest = program.output(0).type == trace::ElementType::e4m3 ? 448 : 57344;
    parts.elementwise(scaled ? "y0 = max(min(x0 * x1, s0), 0 - s0)" : "y0 = max(min(x0, s0), 0 - s0)",
                      {largest}, inputs, {parts.output(0, shape)});
    if (parts.has_output(1)) parts.reduce("max", {0}, "y0 = abs(x0)", {x}, {parts.output(1, {})});
}

void lower_expert_slots(ProgramBuilder& program) {
    const std::int64_t tokens = program.input(0).elements(),
                       experts = program.op().get(keys::expert_slots.experts, 1);
    const std::int64_t capacity = program.op().get(keys::expert_slots.capacity, 1);
    // Numbers pass through fp32: those of slots, and those of a chunk's elements.
    constexpr std::int64_t kExact = 1 << 24;
    if (experts * (capacity + 1) >= kExact || tokens >= kExact)
        throw Unsupported{"places in experts of more than 2^24 slots or tokens"};
    const std::int64_t chunk = std::min<std::int64_t>({tokens, 2048, kExact / experts});
    Parts parts(program);
    const auto chosen = parts.input(0, {tokens, 1}), slots = parts.output(0, {tokens, 1});
    const auto choice = parts.temporary({chunk, experts}, trace::ElementType::bf16);
    const auto earlier = parts.temporary({chunk, chunk}, trace::ElementType::bf16);
    const auto before = parts.temporary({chunk, experts}), all = parts.temporary({1, experts});
    parts.elementwise("t0 = floor((position + 0.5) / s0); y0 = position - s0 * t0 < t0",
                      {static_cast<double>(chunk)}, {}, {earlier});
    const std::string places = std::to_string(static_cast<double>(capacity)),
                      nowhere = std::to_string(static_cast<double>(experts * capacity));
    for (std::int64_t first = 0; first < tokens; first += chunk) {
        const std::int64_t rows = std::min(chunk, tokens - first);
        const auto here = parts.rows(chosen, first, rows), one = parts.rows(choice, 0, rows),
                   count = parts.rows(before, 0, rows);
        parts.elementwise("y0 = x0 == position - s0 * floor((position + 0.5) / s0)",
                          {static_cast<double>(experts)}, {here}, {one});
        // How many of the chunk's earlier tokens chose each expert, and how many before the chunk.
        // A last chunk that is shorter multiplies what the one before left behind by 0.
        parts.matmul(parts.rows(earlier, 0, rows), choice, count);
        const std::string taken = first > 0 ? "(x1 + x3)" : "x1";
        std::vector<Parts::Tensor> operands{one, count, here};
        if (first > 0) operands.push_back(all);
        // Each row has one choice: its sum is that one's slot.
        std::string slot = "y0 = x0 == 0 ? 0 : " + taken;
        slot.append(" < ").append(places).append(" ? x2 * ").append(places);
        slot.append(" + ").append(taken).append(" : ").append(nowhere);
        parts.reduce("sum", {1}, slot, operands, {parts.reshaped(parts.rows(slots, first, rows), {rows})});
        if (first + rows == tokens) break;
        const auto sum = parts.temporary({experts});
        parts.reduce("sum", {0}, "y0 = x0", {one}, {sum});
        parts.elementwise(first > 0 ? "y0 = x0 + x1" : "y0 = x0", {},
                          first > 0 ? std::vector{parts.reshaped(sum, {1, experts}), all}
                                    : std::vector{parts.reshaped(sum, {1, experts})},
                          {all});
    }
}

namespace {

/// One vector instruction: y = a, or y = a + b.
void add_columns(ProgramBuilder& program, CoreBuilder& core, std::uint64_t rows, std::uint64_t columns,
                 const std::vector<Tile>& operands, const Tile& y) {
    if (columns == 0) return;
    KernelBuilder builder;
    Node sum = builder.input(operands[0].type);
    if (operands.size() > 1) sum = builder.apply(VectorOp::add, sum, builder.input(operands[1].type));
    builder.output(sum, y.type);
    core.vector(made(program, builder, operands), rows, columns, operands, {y});
}

void sum_along_rows(ProgramBuilder& program, bool reverse) {
    const auto [rows, columns] = rows_of(program.input(0));
    RowwisePlan plan;
    plan.rows = rows;
    plan.inputs = {{program.dense_input(0), columns}};
    plan.outputs = {{program.dense_output(0), columns}};
    plan.temporaries = {columns, columns};
    for_each_row_chunk(program, plan, [&, columns = columns](CoreBuilder& core, const RowChunk& chunk) {
        Tile from = chunk.inputs[0];
        std::size_t turn = 0;
        for (std::uint64_t distance = 1; distance < columns; distance *= 2) {
            const Tile to = 2 * distance < columns ? chunk.temporaries[turn++ % 2] : chunk.outputs[0];
            const std::uint64_t near = reverse ? 0 : distance, far = reverse ? distance : 0;
            add_columns(program, core, chunk.rows, columns - distance, {from.at(0, near), from.at(0, far)},
                        to.at(0, near));
            const std::uint64_t rest = reverse ? columns - distance : 0;
            add_columns(program, core, chunk.rows, distance, {from.at(0, rest)}, to.at(0, rest));
            from = to;
        }
        if (columns == 1) add_columns(program, core, chunk.rows, 1, {from}, chunk.outputs[0]);
    });
}

/// Of [extent, inner] numbers.
void sum_along_slabs(Parts& parts, Parts::Tensor x, Parts::Tensor y, const trace::AlongAxis& along,
                     bool reverse) {
    const std::array<Parts::Tensor, 2> temporaries{parts.temporary({along.extent, along.inner}),
                                                   parts.temporary({along.extent, along.inner})};
    if (along.extent == 1) parts.elementwise("y0 = x0", {}, {x}, {y});
    std::size_t turn = 0;
    Parts::Tensor from = x;
    for (std::int64_t distance = 1; distance < along.extent; distance *= 2) {
        const Parts::Tensor to = 2 * distance < along.extent ? temporaries[turn++ % 2] : y;
        const std::int64_t near = reverse ? 0 : distance, far = reverse ? distance : 0,
                           rest = reverse ? along.extent - distance : 0, count = along.extent - distance;
        parts.elementwise("y0 = x0 + x1", {}, {parts.rows(from, near, count), parts.rows(from, far, count)},
                          {parts.rows(to, near, count)});
        parts.elementwise("y0 = x0", {}, {parts.rows(from, rest, distance)},
                          {parts.rows(to, rest, distance)});
        from = to;
    }
}

}  // namespace

void lower_cumulative_sum(ProgramBuilder& program) {
    const auto& shape = program.input(0).shape;
    const trace::AlongAxis along = trace::along_axis(
        shape, program.op().get(keys::cumulative_sum.axis, static_cast<std::int64_t>(shape.size()) - 1));
    const bool reverse = program.op().get(keys::cumulative_sum.reverse) != 0;
    if (along.inner == 1) return sum_along_rows(program, reverse);
    constexpr std::int64_t kMostSlabs = 64;
    if (along.outer > kMostSlabs) throw Unsupported{"sums along an inner axis of more than 64 slabs"};
    Parts parts(program);
    const std::int64_t rows = along.outer * along.extent;
    const auto x = parts.input(0, {rows, along.inner}), y = parts.output(0, {rows, along.inner});
    for (std::int64_t o = 0; o < along.outer; ++o)
        sum_along_slabs(parts, parts.rows(x, o * along.extent, along.extent),
                        parts.rows(y, o * along.extent, along.extent), along, reverse);
}

void lower_top_k(ProgramBuilder& program) {
    const auto columns = static_cast<std::uint64_t>(program.input(0).shape.back());
    const auto k = static_cast<std::uint64_t>(program.output(0).shape.back());
    if (columns >= (1u << 24)) throw Unsupported{"a position among more than 2^24 elements"};
    RowwisePlan plan;
    plan.rows = rows_of(program.input(0)).rows;
    plan.inputs = {{program.dense_input(0), columns}};
    plan.outputs = {{program.dense_output(0), k}, {program.dense_output(1), k}};
    plan.temporaries = {columns, 1, 1};
    const double nothing = -std::numeric_limits<double>::infinity();
    for_each_row_chunk(program, plan, [&](CoreBuilder& core, const RowChunk& chunk) {
        const Tile &x = chunk.inputs[0], &left = chunk.temporaries[0];
        const Tile &largest = chunk.temporaries[1], &position = chunk.temporaries[2];
        KernelBuilder copy;
        copy.raw_output(copy.input(x.type));
        core.vector(made(program, copy, {x}), chunk.rows, columns, {x}, {left});
        for (std::uint64_t i = 0; i < k; ++i) {
            KernelBuilder maximum;
            maximum.reduce(maximum.raw_input(), Reduction::lanes_maximum);
            core.vector(made(program, maximum, {left}), chunk.rows, columns, {left}, {largest});
            // The smallest position is the largest negative one.
            KernelBuilder find;
            const Node hit = find.apply(VectorOp::equal, find.raw_input(), find.raw_input());
            const Node column = find.apply(VectorOp::integer_to_float, find.column_index());
            find.reduce(find.apply(VectorOp::select, hit, find.apply(VectorOp::negate, column),
                                   find.constant(nothing)),
                        Reduction::lanes_maximum);
            core.vector(made(program, find, {left, largest}), chunk.rows, columns, {left, broadcast(largest)},
                        {position});
            KernelBuilder take;
            const Node value = take.raw_input(), where = take.apply(VectorOp::negate, take.raw_input());
            const Node here = take.apply(VectorOp::integer_to_float, take.column_index());
            take.raw_output(take.apply(VectorOp::select, take.apply(VectorOp::equal, here, where),
                                       take.constant(nothing), value));
            core.vector(made(program, take, {left, position}), chunk.rows, columns,
                        {left, broadcast(position)}, {left});
            KernelBuilder results;
            const Node found = results.raw_input(), negative = results.raw_input();
            results.output(found, chunk.outputs[0].type);
            results.output(results.apply(VectorOp::negate, negative), chunk.outputs[1].type);
            core.vector(made(program, results, {largest, position}), chunk.rows, 1, {largest, position},
                        {chunk.outputs[0].at(0, i), chunk.outputs[1].at(0, i)});
        }
    });
}

}  // namespace heddle::lowering::on_tpu
