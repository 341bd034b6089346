// Ops that are executed as several simpler ones, in sequence within one program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// A sequence of parts; each part waits until all cores have finished the previous one.
class Parts {
  public:
    using Tensor = trace::TensorId;
    using Shape = std::vector<std::int64_t>;

    explicit Parts(ProgramBuilder& program) : program_(program) {}

    /// Returns an operand of the op, which must be dense, with another shape of equally many elements. Throws
    /// Unsupported when it is not dense.
    Tensor input(std::size_t i, const Shape& shape);
    Tensor output(std::size_t i, const Shape& shape);
    bool has_output(std::size_t i) const { return i < program_.op().outputs.size(); }
    /// Allocates a temporary tensor in HBM.
    Tensor temporary(const Shape& shape, trace::ElementType type = trace::ElementType::f32);
    /// Returns the tensor with another shape of equally many elements.
    Tensor reshaped(Tensor tensor, const Shape& shape);
    /// Returns the rows [first, first + count) of a tensor of two axes.
    Tensor rows(Tensor tensor, std::int64_t first, std::int64_t count);

    /// Result i reduces y<i> of `expression` over `axes`; inputs broadcast to the first.
    void reduce(const std::string& reduction, const std::vector<std::int64_t>& axes,
                const std::string& expression, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& outputs);
    /// y = a b
    void matmul(Tensor a, Tensor b, Tensor y);
    void elementwise(const std::string& expression, const std::vector<double>& scalars,
                     const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

  private:
    Tensor add(trace::ElementType type, const Shape& shape, std::uint64_t address);
    void run(trace::Op op, const std::function<void(ProgramBuilder&)>& lower);

    ProgramBuilder& program_;
    trace::Trace parts_;
    std::vector<std::uint64_t> addresses_;
};

}  // namespace heddle::lowering::on_tpu
