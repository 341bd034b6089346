#include "workloads/trace/sliding_window.h"

#include "isa/common/checked.h"
#include "workloads/trace/possible_shape.h"

namespace heddle::trace {
namespace {

std::int64_t product(const std::vector<std::int64_t>& extents) {
    return element_count(extents);
}

class WindowReader {
  public:
    WindowReader(const Trace& trace, const Op& op) : trace_(trace), op_(op) {}

    [[noreturn]] void fail(const std::string& problem, const std::string& remedy = {}) const {
        throw Error(problem, {.key = "op " + op_.name + " (" + name_of(op_.kind) + ")"}, remedy);
    }

    bool channels_last() const {
        const std::string layout = op_.get(keys::convolution.layout);
        if (layout != "nchw" && layout != "nhwc")
            fail("layout '" + layout + "' is not known", "nchw (channels first) or nhwc (channels last)");
        return layout == "nhwc";
    }

    const Tensor& operand(const std::vector<TensorId>& ids, std::size_t i, const std::string& what) const {
        if (i >= ids.size()) fail(what + " is missing");
        const Tensor& tensor = trace_.tensor(ids[i]);
        if (tensor.shape.size() < 3 || tensor.shape.size() > 5) {
            fail(what + " " + to_text(tensor.shape) + " does not have 3 to 5 axes",
                 "batch, channels and one to three spatial axes");
        }
        return tensor;
    }
    /// Extents of the spatial axes.
    static Shape space(const Tensor& tensor, bool channels_last) {
        const Shape& shape = tensor.shape;
        return channels_last ? Shape(shape.begin() + 1, shape.end() - 1)
                             : Shape(shape.begin() + 2, shape.end());
    }
    static std::int64_t channels(const Tensor& tensor, bool channels_last) {
        return channels_last ? tensor.shape.back() : tensor.shape[1];
    }

    /// Strides, padding and dilation from the attributes; the window's extents are set already.
    void read(SlidingWindow& s) const {
        check_range("window", s.window, 0);
        if (s.window.size() != s.input.size() || s.output.size() != s.input.size())
            fail("operands have different numbers of spatial axes");
        s.strides = each(keys::convolution.strides, s, 1, 1);
        s.dilation = each(keys::convolution.dilation, s, 1, 1);
        std::vector<std::int64_t> padding = op_.get(keys::convolution.padding);
        check_range("padding", padding, -gates::kMostThings);
        if (padding.size() == 2 * s.axes()) {
            for (std::size_t i = 0; i < s.axes(); ++i) {
                s.padding_low.push_back(padding[2 * i]);
                s.padding_high.push_back(padding[2 * i + 1]);
            }
        } else {
            s.padding_low = s.padding_high = each(keys::convolution.padding, s, 0, -gates::kMostThings);
        }
        if (!is_possible(s.window)) fail("a window " + to_text(s.window) + " is impossible");
        for (std::size_t i = 0; i < s.axes(); ++i) {
            if (s.window[i] < 1 || s.input[i] < 1) fail("a spatial extent is not positive");
            check_output(s, i);
        }
    }

  private:
    std::vector<std::int64_t> each(Integers key, const SlidingWindow& s, std::int64_t fallback,
                                   std::int64_t least) const {
        std::vector<std::int64_t> values = op_.get(key);
        if (values.empty()) values.assign(s.axes(), fallback);
        if (values.size() == 1) values.assign(s.axes(), values.front());
        if (values.size() != s.axes()) {
            fail("attribute '" + std::string(key.name) + "' has " + std::to_string(values.size()) + " values",
                 "one for each of " + std::to_string(s.axes()) + " spatial axes" +
                     (key == keys::convolution.padding.name ? ", or low and high of each" : ""));
        }
        check_range(key.name, values, least);
        return values;
    }

    /// None of 2^31 and more, so that sums and products of two of them can be computed.
    void check_range(const std::string& key, const std::vector<std::int64_t>& values,
                     std::int64_t least) const {
        for (const std::int64_t value : values) {
            if (value < least || value > gates::kMostThings)
                fail("attribute '" + key + "' is " + std::to_string(value));
        }
    }

    void check_output(const SlidingWindow& s, std::size_t i) const {
        const std::int64_t reach = s.dilation[i] * (s.window[i] - 1) + 1;
        const std::int64_t room = s.input[i] + s.padding_low[i] + s.padding_high[i] - reach;
        if (room < 0) {
            fail("a window of " + std::to_string(reach) + " does not fit into " + std::to_string(s.input[i]) +
                 " and its padding");
        }
        std::int64_t expected = room / s.strides[i] + 1;
        if (op_.get(keys::pooling.round_up) != 0 && room % s.strides[i] != 0 &&
            expected * s.strides[i] < s.input[i] + s.padding_low[i])
            ++expected;  // a last window that begins within the input or the padding before it
        if (s.output[i] != expected) {
            fail("spatial axis " + std::to_string(i) + " has " + std::to_string(s.output[i]) +
                 " results instead of " + std::to_string(expected));
        }
    }

    const Trace& trace_;
    const Op& op_;
};

}  // namespace

std::int64_t SlidingWindow::inputs() const {
    return product(input);
}
std::int64_t SlidingWindow::positions() const {
    return product(window);
}
std::int64_t SlidingWindow::outputs() const {
    return product(output);
}

ConvolutionSizes convolution_sizes(const Trace& trace, const Op& op) {
    const WindowReader reader(trace, op);
    ConvolutionSizes sizes;
    const bool last = sizes.channels_last = reader.channels_last();
    const bool data_grad = op.kind == OpKind::convolution_data_grad;
    const bool weight_grad = op.kind == OpKind::convolution_weight_grad;
    const Tensor& x = data_grad     ? reader.operand(op.outputs, 0, "dx")
                      : weight_grad ? reader.operand(op.inputs, 1, "x")
                                    : reader.operand(op.inputs, 0, "x");
    const Tensor& w =
        weight_grad ? reader.operand(op.outputs, 0, "dw") : reader.operand(op.inputs, 1, "the weight");
    const Tensor& y = data_grad || weight_grad ? reader.operand(op.inputs, 0, "dy")
                                               : reader.operand(op.outputs, 0, "the result");
    sizes.batch = x.shape[0];
    sizes.channels = WindowReader::channels(x, last);
    sizes.filters = w.shape[0];
    sizes.groups = op.get(keys::convolution.groups);
    sizes.space.input = WindowReader::space(x, last);
    sizes.space.window = WindowReader::space(w, last);
    sizes.space.output = WindowReader::space(y, last);
    if (sizes.groups < 1 || sizes.channels % sizes.groups != 0 || sizes.filters % sizes.groups != 0) {
        reader.fail(std::to_string(sizes.groups) + " groups do not divide " + std::to_string(sizes.channels) +
                    " channels and " + std::to_string(sizes.filters) + " filters");
    }
    if (WindowReader::channels(w, last) != sizes.group_channels()) {
        reader.fail("the weight has " + std::to_string(WindowReader::channels(w, last)) +
                    " channels instead of " + std::to_string(sizes.group_channels()));
    }
    if (y.shape[0] != sizes.batch || WindowReader::channels(y, last) != sizes.filters) {
        reader.fail("y " + to_text(y.shape) + " does not have a batch of " + std::to_string(sizes.batch) +
                    " and " + std::to_string(sizes.filters) + " channels");
    }
    reader.read(sizes.space);
    return sizes;
}

PoolingSizes pooling_sizes(const Trace& trace, const Op& op) {
    const WindowReader reader(trace, op);
    PoolingSizes sizes;
    const bool last = sizes.channels_last = reader.channels_last();
    const std::string kind = op.get(keys::pooling.pooling);
    if (kind != "max" && kind != "mean") reader.fail("pooling '" + kind + "' is not known", "max or mean");
    sizes.maximum = kind == "max";
    sizes.padding_counts = op.get(keys::pooling.padding_counts) != 0;
    const bool grad = op.kind == OpKind::pooling_grad;
    const Tensor& x = grad ? reader.operand(op.outputs, 0, "dx") : reader.operand(op.inputs, 0, "x");
    const Tensor& y = grad ? reader.operand(op.inputs, 0, "dy") : reader.operand(op.outputs, 0, "y");
    sizes.batch = x.shape[0];
    sizes.channels = WindowReader::channels(x, last);
    if (y.shape[0] != sizes.batch || WindowReader::channels(y, last) != sizes.channels)
        reader.fail("y " + to_text(y.shape) + " and x " + to_text(x.shape) + " differ in batch or channels");
    sizes.space.input = WindowReader::space(x, last);
    sizes.space.window = op.get(keys::pooling.window);
    sizes.space.output = WindowReader::space(y, last);
    if (sizes.space.window.size() == 1)
        sizes.space.window.assign(sizes.space.input.size(), sizes.space.window[0]);
    reader.read(sizes.space);
    for (std::size_t i = 0; i < sizes.space.axes(); ++i) {
        // Otherwise a window may lie in the padding alone, of which there is no maximum.
        const std::int64_t reach = sizes.space.dilation[i] * (sizes.space.window[i] - 1) + 1;
        if (sizes.space.padding_low[i] < 0 || sizes.space.padding_high[i] < 0 ||
            sizes.space.padding_low[i] >= reach || sizes.space.padding_high[i] >= reach)
            reader.fail("the padding is negative or as wide as the window");
    }
    return sizes;
}

}  // namespace heddle::trace
