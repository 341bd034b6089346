// Builds vector kernels node by node, and from elementwise expressions.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "isa/tpu/vector_kernel.h"
#include "workloads/expression/expression.h"

namespace heddle::lowering::on_tpu {

/// Collects the nodes of one vector kernel.
class KernelBuilder {
  public:
    using Node = std::uint32_t;

    /// Returns the next input, converted to fp32 from the tile's type.
    Node input(tpu::ElementType type);
    /// Returns the next input without conversion.
    Node raw_input();
    Node scalar();
    Node constant(double value);
    Node integer(std::int32_t value);
    Node row_index() { return leaf(tpu::VectorOp::row_index); }
    Node column_index() { return leaf(tpu::VectorOp::column_index); }
    Node random(std::uint32_t stream);
    Node philox(std::uint32_t seed, std::uint32_t offset) {
        return leaf(tpu::VectorOp::philox, seed, offset);
    }
    Node apply(tpu::VectorOp op, Node a, Node b = 0, Node c = 0);

    /// The values of an expression's outputs; `inputs` are fp32 nodes for x0, x1, ..., `scalars` for s0, s1,
    /// ...
    std::vector<Node> expression(const expression::Expression& expression, const std::vector<Node>& inputs,
                                 const std::vector<Node>& scalars);

    /// Stores an fp32 node in a tile of this type (integers truncate; `boolean` makes 0 or 1).
    void output(Node node, tpu::ElementType type, bool boolean = false);
    void raw_output(Node node);
    /// Reduces to one fp32 number per row or column. With `accumulate`, the result is combined with the
    /// existing contents.
    void reduce(Node node, tpu::Reduction reduction, bool accumulate = false);
    /// Adds to the existing contents.
    void accumulate(Node node);

    tpu::VectorKernel finish() { return std::move(kernel_); }

  private:
    Node leaf(tpu::VectorOp op, std::uint32_t index = 0, std::uint32_t bits = 0);
    using Key = std::tuple<tpu::VectorOp, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
    Node add(const tpu::VectorNode& node);
    tpu::VectorKernel kernel_;
    std::map<Key, Node> known_;  ///< the kernel's nodes
};

}  // namespace heddle::lowering::on_tpu
