#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "workloads/expression/expression.h"
#include "workloads/reference/kernels.h"

namespace heddle::reference {
namespace {

/// All inputs of an op, in row-major order, broadcast to one shape on access.
class Operands {
  public:
    Operands(const Context& context, const Shape& shape) : shape_(shape) {
        for (std::size_t i = 0; i < context.op.inputs.size(); ++i) {
            values_.push_back(context.gathered_input(i));
            strides_.push_back(trace::broadcast_strides(context.in(i).shape, shape));
            plain_.push_back(context.in(i).shape == shape);
        }
    }
    void at(std::size_t element, std::vector<double>& arguments) const {
        for (std::size_t i = 0; i < values_.size(); ++i) {
            arguments[i] = values_[i][plain_[i] ? element : broadcast_position(element, shape_, strides_[i])];
        }
    }
    std::size_t count() const { return values_.size(); }

  private:
    Shape shape_;
    std::vector<std::vector<double>> values_;
    std::vector<Shape> strides_;
    std::vector<bool> plain_;
};

}  // namespace

void run_elementwise(const Context& c) {
    const auto expression = expression::parse(c.op.get(keys::elementwise.expression));
    const std::vector<double> scalars = c.op.get(keys::elementwise.scalars);
    const Shape shape = c.out(0).shape;
    const Operands operands(c, shape);
    const auto count = static_cast<std::size_t>(c.out(0).elements());
    std::vector<std::vector<double>> results(c.op.outputs.size(), std::vector<double>(count));
    std::vector<double> arguments(operands.count()), values(results.size());
    for (std::size_t element = 0; element < count; ++element) {
        operands.at(element, arguments);
        expression::evaluate(expression, arguments, scalars, element, values);
        for (std::size_t i = 0; i < results.size(); ++i) results[i][element] = values[i];
    }
    for (std::size_t i = 0; i < results.size(); ++i) c.scatter_output(i, results[i]);
}

void run_reduce(const Context& c) {
    const Shape shape = c.in(0).shape;
    const std::string reduction = c.op.get(keys::reduce.reduction);
    std::vector<std::int64_t> axes = c.op.get(keys::reduce.axes);
    if (!c.op.has(keys::reduce.axes)) {
        axes.resize(shape.size());
        std::iota(axes.begin(), axes.end(), 0);
    }
    // Strides of the result along the axes that stay, 0 along those that are reduced.
    Shape strides(shape.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end()) continue;
        strides[axis] = stride;
        stride *= shape[axis];
    }
    const bool maximum = reduction == "max", minimum = reduction == "min", norm = reduction == "norm2";
    const double start = maximum   ? -std::numeric_limits<double>::infinity()
                         : minimum ? std::numeric_limits<double>::infinity()
                                   : 0.0;
    const auto map = expression::parse(c.op.get(keys::reduce.expression, "y0 = x0"));
    const std::size_t reduced = map.outputs.size();
    const auto places = static_cast<std::size_t>(c.out(0).elements());
    std::vector<std::vector<double>> results(reduced, std::vector<double>(places, start));
    std::vector<double> where(places, 0.0), seen(places, 0.0);
    const std::vector<double> scalars = c.op.get(keys::reduce.scalars);
    const Operands operands(c, shape);
    std::vector<double> arguments(operands.count()), mapped(reduced);
    const auto count = static_cast<std::size_t>(c.in(0).elements());
    for (std::size_t element = 0; element < count; ++element) {
        operands.at(element, arguments);
        expression::evaluate(map, arguments, scalars, element, mapped);
        const std::size_t place = broadcast_position(element, shape, strides);
        for (std::size_t i = 0; i < reduced; ++i) {
            const double value = mapped[i];
            double& slot = results[i][place];
            if (maximum || minimum) {
                if (maximum ? value > slot : value < slot) {
                    slot = value;
                    where[place] = seen[place];
                }
            } else {
                slot += norm ? value * value : value;
            }
        }
        seen[place] += 1;
    }
    for (std::size_t i = 0; i < reduced; ++i) {
        for (std::size_t place = 0; place < places; ++place) {
            if (reduction == "mean") results[i][place] /= seen[place];
            if (norm) results[i][place] = std::sqrt(results[i][place]);
        }
        c.scatter_output(i, results[i]);
    }
    if (c.op.get(keys::reduce.argument) != 0) c.scatter_output(reduced, where);
}

}  // namespace heddle::reference
