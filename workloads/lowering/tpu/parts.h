// An op carried out as several simpler ones, one after the other in one program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// Each part waits until all cores are through with the one before.
class Parts {
  public:
    using Tensor = trace::TensorId;
    using Shape = std::vector<std::int64_t>;

    explicit Parts(ProgramBuilder& program) : program_(program) {}

    /// The op's operands, dense, seen with another shape of as many elements. Throws Unsupported when they
    /// are not dense.
    Tensor input(std::size_t i, const Shape& shape);
    Tensor output(std::size_t i, const Shape& shape);
    bool has_output(std::size_t i) const { return i < program_.op().outputs.size(); }
    /// In HBM.
    Tensor temporary(const Shape& shape, trace::ElementType type = trace::ElementType::f32);
    /// The tensor with another shape of as many elements.
    Tensor reshaped(Tensor tensor, const Shape& shape);
    /// Rows [first, first + count) of a tensor of two axes.
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
