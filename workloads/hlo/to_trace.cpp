// HLO -> Trace.
//
// Values are evaluated in order. A value is a view of a tensor, a number, a tuple, or an elementwise
// expression over views that has not been written yet: it grows as long as one reader alone needs it, which
// is how XLA fuses.
#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "isa/common/error.h"
#include "workloads/hlo/module.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {
namespace {

using trace::ElementType;
using trace::OpKind;
using Dimensions = std::vector<std::int64_t>;

/// A tensor as it is read.
struct View {
    trace::TensorId tensor = 0;
    ElementType type = ElementType::f32;
    Dimensions shape, strides;
    std::int64_t offset = 0;
    bool operator==(const View&) const = default;
};

struct Value {
    enum class Kind : std::uint8_t { view, number, pending, tuple } kind = Kind::view;
    ElementType type = ElementType::f32;
    Dimensions shape;
    View view;
    double number = 0;
    // pending: text over x0, x1, ...; of a product's epilogue x0 is the product of the first two of `inputs`.
    std::string text;
    std::vector<View> inputs;
    bool product = false;
    std::vector<Value> elements;
};

constexpr std::size_t kMostInputs = 6, kLongestText = 600;

std::int64_t count(const Dimensions& shape) {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) product *= extent;
    return product;
}

Dimensions dense(const Dimensions& shape) {
    Dimensions strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
    return strides;
}

bool is_dense(const View& view) {
    std::int64_t stride = 1;
    for (std::size_t axis = view.shape.size(); axis-- > 0; stride *= view.shape[axis]) {
        if (view.shape[axis] != 1 && view.strides[axis] != stride) return false;
    }
    return true;
}

/// x0, x1 in an expression get other numbers.
std::string renumbered(const std::string& text, const std::vector<std::size_t>& to) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool name = text[i] == 'x' && i + 1 < text.size() &&
                          std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                          (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0);
        if (!name) {
            result += text[i];
            continue;
        }
        std::size_t end = i + 1;
        while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
        result += "x" + std::to_string(to.at(std::stoul(text.substr(i + 1, end - i - 1))));
        i = end - 1;
    }
    return result;
}

std::string number_text(double number) {
    if (std::isinf(number)) return number > 0 ? "inf" : "(-inf)";
    char text[40];
    std::snprintf(text, sizeof text, number < 0 ? "(%.17g)" : "%.17g", number);
    return text;
}

/// Expressions over $0, $1, $2 of what is elementwise.
const std::map<std::string, std::string>& elementwise() {
    static const std::map<std::string, std::string> all{
        {"add", "($0 + $1)"},
        {"subtract", "($0 - $1)"},
        {"multiply", "($0 * $1)"},
        {"divide", "($0 / $1)"},
        {"maximum", "max($0, $1)"},
        {"minimum", "min($0, $1)"},
        {"negate", "(-$0)"},
        {"abs", "abs($0)"},
        {"exponential", "exp($0)"},
        {"log", "log($0)"},
        {"sqrt", "sqrt($0)"},
        {"rsqrt", "rsqrt($0)"},
        {"tanh", "tanh($0)"},
        {"logistic", "sigmoid($0)"},
        {"erf", "erf($0)"},
        {"floor", "floor($0)"},
        {"exponential-minus-one", "(exp($0) - 1)"},
        {"log-plus-one", "log($0 + 1)"},
        {"power", "($1 == 2 ? $0 * $0 : $1 == 3 ? $0 * $0 * $0 : exp($1 * log($0)))"},
        {"select", "($0 != 0 ? $1 : $2)"},
        {"clamp", "min(max($1, $0), $2)"},
        {"and", "($0 * $1)"},
        {"or", "max($0, $1)"},
        {"not", "(1 - $0)"},
        {"xor", "($0 != $1)"},
        {"sign", "(($0 > 0) - ($0 < 0))"},
        {"convert", "$0"},
        {"copy", "$0"},
        {"is-finite", "(abs($0) < inf)"},
        {"optimization_barrier", "$0"},
        {"reduce-precision", "$0"},
        {"square", "($0 * $0)"},
    };
    return all;
}

class Converter {
  public:
    explicit Converter(const Module& module) : module_(module) { trace_.name = module.name; }

    trace::Trace run() {
        const Computation& entry = computation(module_.entry, 0);
        std::vector<Value> arguments;
        for (const Instruction& instruction : entry.instructions) {
            if (instruction.opcode != "parameter") continue;
            trace::Tensor tensor;
            tensor.name = instruction.name;
            tensor.role = trace::TensorRole::input;
            set(arguments, std::stoul(instruction.literal), new_value(instruction.shape, std::move(tensor)));
        }
        for (Value& result : evaluate(entry, arguments)) written(result);
        trace_.check();
        return std::move(trace_);
    }

  private:
    static void set(std::vector<Value>& list, std::size_t index, Value value) {
        if (list.size() <= index) list.resize(index + 1);
        list[index] = std::move(value);
    }
    [[noreturn]] void fail(const Instruction& at, const std::string& problem,
                           const std::string& remedy = "") const {
        throw Error(at.opcode + " " + at.name + " " + problem, {module_.file, at.line, ""}, remedy);
    }
    const Computation& computation(const std::string& name, unsigned line) const {
        const auto found = module_.computations.find(name);
        if (found == module_.computations.end())
            throw Error("computation `" + name + "` is not there", {module_.file, line, ""},
                        "give the whole module");
        return found->second;
    }

    Value new_value(const Shape& shape, trace::Tensor tensor) {
        Value value;
        if (shape.tuple) {
            value.kind = Value::Kind::tuple;
            for (const Shape& element : shape.elements) value.elements.push_back(new_value(element, tensor));
            return value;
        }
        tensor.type = shape.type;
        tensor.shape = shape.dimensions;
        tensor.storage = trace_.tensors.size() + 1;
        value.type = shape.type;
        value.shape = shape.dimensions;
        value.view = {trace_.add(std::move(tensor)), shape.type, shape.dimensions, dense(shape.dimensions),
                      0};
        return value;
    }
    Value new_value(const Instruction& instruction) {
        trace::Tensor tensor;
        tensor.name = instruction.name;
        return new_value(instruction.shape, std::move(tensor));
    }

    /// The tensor of a view as operand `index` of an op.
    trace::TensorId operand(trace::Op& op, const View& view, std::size_t index) {
        const trace::Tensor& base = trace_.tensor(view.tensor);
        if (view.offset == 0 && is_dense(view) && base.shape == view.shape) return view.tensor;
        trace::Tensor alias = base;
        alias.shape = view.shape;
        const trace::TensorId id = trace_.add(std::move(alias));
        const std::string name = "input" + std::to_string(index);
        if (!is_dense(view)) op.attributes[name + "_strides"] = view.strides;
        if (view.offset != 0) {
            op.attributes[name + "_strides"] = view.strides;
            op.attributes[name + "_offset"] = view.offset;
        }
        return id;
    }

    Value emit(const Instruction& at, OpKind kind, const std::vector<View>& inputs,
               std::map<std::string, trace::Attribute> attributes) {
        Value result = new_value(at);
        trace::Op op;
        op.name = at.name;
        op.kind = kind;
        op.phase = phase_of(at);
        op.attributes = std::move(attributes);
        for (const View& view : inputs) op.inputs.push_back(operand(op, view, op.inputs.size()));
        const auto add = [&](const Value& value) { op.outputs.push_back(value.view.tensor); };
        if (result.kind == Value::Kind::tuple) {
            for (const Value& element : result.elements) add(element);
        } else {
            add(result);
        }
        trace_.add(std::move(op));
        return result;
    }

    static trace::Phase phase_of(const Instruction& at) {
        const auto metadata = at.attributes.find("metadata");
        const bool backward =
            metadata != at.attributes.end() && metadata->second.find("transpose(") != std::string::npos;
        return backward ? trace::Phase::backward : trace::Phase::forward;
    }

    /// Writes what has not been written; numbers become filled tensors.
    View written(Value& value) {
        if (value.kind == Value::Kind::tuple) {
            for (Value& element : value.elements) written(element);
            return {};
        }
        if (value.kind == Value::Kind::view) return value.view;
        Instruction at;
        at.name = value.kind == Value::Kind::number ? "constant" : "fused";
        at.opcode = at.name;
        at.shape.type = value.type;
        at.shape.dimensions = value.shape;
        Value result;
        if (value.kind == Value::Kind::number) {
            result = emit(at, OpKind::fill, {}, {{"value", value.number}});
        } else if (value.product) {
            std::map<std::string, trace::Attribute> attributes;
            if (value.text != "x0") attributes["epilogue"] = "y0 = " + value.text;
            result = emit(at, OpKind::matmul, value.inputs, std::move(attributes));
        } else {
            result = emit(at, OpKind::elementwise, value.inputs, {{"expression", "y0 = " + value.text}});
        }
        value = result;
        return value.view;
    }

    // ---- Elementwise ----

    Value apply(const Instruction& at, const std::string& pattern, std::vector<Value>& operands) {
        Value result;
        result.kind = Value::Kind::pending;
        result.type = at.shape.type;
        result.shape = at.shape.dimensions;
        // One product may carry the others as its epilogue.
        for (Value& value : operands) {
            if (value.kind != Value::Kind::pending || !value.product) continue;
            if (result.product || value.shape != result.shape) {
                written(value);
            } else {
                result.product = true;
                result.inputs = value.inputs;
            }
        }
        std::vector<std::string> texts;
        for (Value& value : operands) texts.push_back(text_of(value, result));
        result.text.clear();
        for (std::size_t i = 0; i < pattern.size(); ++i) {
            if (pattern[i] == '$') {
                result.text += texts.at(static_cast<std::size_t>(pattern[++i] - '0'));
            } else {
                result.text += pattern[i];
            }
        }
        const bool constant = result.inputs.empty() &&
                              std::all_of(operands.begin(), operands.end(),
                                          [](const Value& v) { return v.kind == Value::Kind::number; });
        if (constant && at.opcode == "convert") {
            result = operands[0];
            result.type = at.shape.type;
            return result;
        }
        if (result.inputs.empty()) {
            Value one;
            one.kind = Value::Kind::number;
            one.type = result.type;
            one.shape = result.shape;
            View filled = written(one);
            result.inputs.push_back(filled);
        }
        const bool rounds = at.opcode == "convert" && !is_floating(result.type);
        if (result.inputs.size() > kMostInputs || result.text.size() > kLongestText || rounds)
            written(result);
        return result;
    }

    static bool is_floating(ElementType type) {
        return type == ElementType::f64 || type == ElementType::f32 || type == ElementType::f16 ||
               type == ElementType::bf16 || type == ElementType::e4m3 || type == ElementType::e5m2;
    }

    /// The operand within `into`'s expression; its inputs join the others.
    std::string text_of(Value& value, Value& into) {
        if (value.kind == Value::Kind::number) return number_text(value.number);
        if (value.kind == Value::Kind::pending && value.product && into.product) {
            std::vector<std::size_t> same;
            for (std::size_t i = 0; i + 1 < value.inputs.size(); ++i) same.push_back(i);
            return renumbered(value.text, same);
        }
        std::vector<View> views;
        if (value.kind == Value::Kind::pending) {
            views = value.inputs;
        } else {
            views = {value.view};
        }
        std::vector<std::size_t> to;
        const std::size_t first = into.product ? 2 : 0;
        for (const View& view : views) {
            const auto found =
                std::find(into.inputs.begin() + static_cast<std::ptrdiff_t>(first), into.inputs.end(), view);
            std::size_t place = static_cast<std::size_t>(found - into.inputs.begin());
            if (found == into.inputs.end()) into.inputs.push_back(view);
            // Of a product, x0 is the product and x1 the third input.
            to.push_back(into.product ? place - 1 : place);
        }
        return value.kind == Value::Kind::pending ? renumbered(value.text, to) : "x" + std::to_string(to[0]);
    }

    // ---- Ways of reading ----

    Value broadcast(const Instruction& at, Value& from) {
        const Dimensions axes = list(at, "dimensions");
        Value result = from;
        result.shape = at.shape.dimensions;
        if (from.kind == Value::Kind::number) return result;
        View view = written(from);
        View wide{view.tensor, view.type, at.shape.dimensions, Dimensions(at.shape.dimensions.size(), 0),
                  view.offset};
        if (axes.size() != view.shape.size())
            fail(at, "names " + std::to_string(axes.size()) + " dimensions for an operand of " +
                         std::to_string(view.shape.size()));
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            const auto to = static_cast<std::size_t>(axes[axis]);
            if (to >= wide.strides.size()) fail(at, "names a dimension that its result has not");
            if (view.shape[axis] != 1) wide.strides[to] = view.strides[axis];
        }
        return view_value(wide);
    }

    static Value view_value(const View& view) {
        Value value;
        value.type = view.type;
        value.shape = view.shape;
        value.view = view;
        return value;
    }

    Value transpose(const Instruction& at, Value& from) {
        const View view = written(from);
        View turned = view;
        const Dimensions axes = list(at, "dimensions");
        if (axes.size() != view.shape.size()) fail(at, "does not name every dimension once");
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            turned.shape[axis] = view.shape.at(static_cast<std::size_t>(axes[axis]));
            turned.strides[axis] = view.strides.at(static_cast<std::size_t>(axes[axis]));
        }
        return view_value(turned);
    }

    Value reshape(const Instruction& at, Value& from) {
        if (from.kind == Value::Kind::number) {
            Value result = from;
            result.shape = at.shape.dimensions;
            return result;
        }
        View view = densely(at, written(from));
        if (count(view.shape) != count(at.shape.dimensions)) fail(at, "changes the number of elements");
        view.shape = at.shape.dimensions;
        view.strides = dense(view.shape);
        return view_value(view);
    }

    Value slice(const Instruction& at, Value& from) {
        View view = written(from);
        const auto text = at.attributes.find("slice");
        if (text == at.attributes.end()) fail(at, "has no bounds");
        const Dimensions bounds = numbers_of(text->second);
        // {[0:4], [1:9:2]}: with or without strides.
        std::size_t next = 0;
        std::vector<std::string> parts;
        std::string part;
        for (const char c : text->second) {
            if (c == '[' || c == ']' || c == ',' || c == '{' || c == '}') {
                if (part.find(':') != std::string::npos) parts.push_back(part);
                part.clear();
            } else {
                part += c;
            }
        }
        if (parts.size() != view.shape.size()) fail(at, "does not give bounds for every dimension");
        for (const std::string& bound : parts) {
            const Dimensions numbers = numbers_of(bound);
            const std::int64_t stride = numbers.size() > 2 ? numbers[2] : 1;
            view.offset += numbers.at(0) * view.strides[next];
            view.shape[next] = (numbers.at(1) - numbers.at(0) + stride - 1) / stride;
            view.strides[next++] *= stride;
        }
        return view_value(view);
    }

    /// A copy when its elements do not lie one behind the other.
    View densely(const Instruction& at, const View& view) {
        if (is_dense(view)) return view;
        Instruction copy = at;
        copy.shape.tuple = false;
        copy.shape.type = view.type;
        copy.shape.dimensions = view.shape;
        return emit(copy, OpKind::elementwise, {view}, {{"expression", std::string("y0 = x0")}}).view;
    }

    // ---- The rest ----

    static Dimensions list(const Instruction& at, const std::string& key) {
        const auto found = at.attributes.find(key);
        return found == at.attributes.end() ? Dimensions{} : numbers_of(found->second);
    }

    /// Axes `batch`, then `first`, then `last`, the two groups as one axis each where they can be.
    View matrix(const Instruction& at, View view, const Dimensions& batch, const Dimensions& first,
                const Dimensions& last) {
        View result{view.tensor, view.type, {}, {}, view.offset};
        const auto group = [&](const Dimensions& axes, const View& from, View& to) {
            std::int64_t extent = 1, stride = 0;
            bool merged = true;
            for (std::size_t i = axes.size(); i-- > 0;) {
                const auto axis = static_cast<std::size_t>(axes[i]);
                if (from.shape.at(axis) == 1) continue;
                if (extent == 1)
                    stride = from.strides[axis];
                else if (from.strides[axis] != stride * extent)
                    merged = false;
                extent *= from.shape[axis];
            }
            to.shape.push_back(extent);
            to.strides.push_back(extent == 1 ? 1 : stride);
            return merged;
        };
        for (const std::int64_t axis : batch) {
            result.shape.push_back(view.shape.at(static_cast<std::size_t>(axis)));
            result.strides.push_back(view.strides.at(static_cast<std::size_t>(axis)));
        }
        const std::size_t batches = result.shape.size();
        if (group(first, view, result) && group(last, view, result)) return result;
        // Written out in the wanted order.
        View ordered{view.tensor, view.type, {}, {}, view.offset};
        for (const Dimensions* axes : {&batch, &first, &last}) {
            for (const std::int64_t axis : *axes) {
                ordered.shape.push_back(view.shape.at(static_cast<std::size_t>(axis)));
                ordered.strides.push_back(view.strides.at(static_cast<std::size_t>(axis)));
            }
        }
        Instruction copy = at;
        copy.shape.tuple = false;
        copy.shape.type = view.type;
        copy.shape.dimensions = ordered.shape;
        View packed =
            emit(copy, OpKind::elementwise, {ordered}, {{"expression", std::string("y0 = x0")}}).view;
        std::int64_t rows = 1, columns = 1;
        for (std::size_t i = 0; i < first.size(); ++i) rows *= packed.shape[batches + i];
        for (std::size_t i = 0; i < last.size(); ++i) columns *= packed.shape[batches + first.size() + i];
        packed.shape.resize(batches);
        packed.shape.push_back(rows);
        packed.shape.push_back(columns);
        packed.strides = dense(packed.shape);
        return packed;
    }

    Value dot(const Instruction& at, std::vector<Value>& operands) {
        if (operands.size() != 2) fail(at, "does not have two operands");
        const View a = written(operands[0]), b = written(operands[1]);
        const Dimensions ka = list(at, "lhs_contracting_dims"), kb = list(at, "rhs_contracting_dims");
        const Dimensions ba = list(at, "lhs_batch_dims"), bb = list(at, "rhs_batch_dims");
        const auto others = [](const View& view, const Dimensions& k, const Dimensions& batch) {
            Dimensions rest;
            for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(view.shape.size()); ++axis) {
                if (std::find(k.begin(), k.end(), axis) == k.end() &&
                    std::find(batch.begin(), batch.end(), axis) == batch.end())
                    rest.push_back(axis);
            }
            return rest;
        };
        Value product;
        product.kind = Value::Kind::pending;
        product.product = true;
        product.type = at.shape.type;
        product.text = "x0";
        product.inputs = {matrix(at, a, ba, others(a, ka, ba), ka), matrix(at, b, bb, kb, others(b, kb, bb))};
        const View& left = product.inputs[0];
        const View& right = product.inputs[1];
        if (left.shape.back() != right.shape[right.shape.size() - 2])
            fail(at, "contracts dimensions of different sizes");
        product.shape = left.shape;
        product.shape.back() = right.shape.back();
        if (product.shape == at.shape.dimensions) return product;
        if (count(product.shape) != count(at.shape.dimensions))
            fail(at, "has a result of another size than its operands give");
        Instruction reshaped = at;
        return reshape(reshaped, product);
    }

    Value reduce(const Instruction& at, std::vector<Value>& operands) {
        std::string applied;
        if (const auto found = at.attributes.find("applies"); found != at.attributes.end()) {
            applied = found->second;
        } else if (const auto body = at.attributes.find("to_apply"); body != at.attributes.end()) {
            const Computation& inner = computation(body->second, at.line);
            for (const Instruction& instruction : inner.instructions)
                if (instruction.opcode != "parameter")
                    applied = applied.empty() ? instruction.opcode : "more";
        }
        static const std::map<std::string, std::string> reductions{
            {"add", "sum"}, {"maximum", "max"}, {"minimum", "min"}, {"or", "max"}, {"and", "min"}};
        const auto reduction = reductions.find(applied);
        if (reduction == reductions.end() || operands.size() != 2 || at.shape.tuple)
            return unknown(at, operands);
        std::map<std::string, trace::Attribute> attributes{{"reduction", reduction->second},
                                                           {"axes", list(at, "dimensions")}};
        Value& from = operands[0];
        if (from.kind == Value::Kind::pending && !from.product && from.inputs.size() == 1 &&
            from.inputs[0].shape == from.shape && is_dense(from.inputs[0])) {
            attributes["expression"] = "y0 = " + from.text;
            return emit(at, OpKind::reduce, from.inputs, std::move(attributes));
        }
        return emit(at, OpKind::reduce, {densely(at, written(from))}, std::move(attributes));
    }

    Value iota(const Instruction& at) {
        const Dimensions axes = list(at, "iota_dimension");
        const std::size_t axis = axes.empty() ? 0 : static_cast<std::size_t>(axes[0]);
        if (at.shape.dimensions.empty() || axis >= at.shape.dimensions.size())
            fail(at, "counts along a dimension that it has not");
        Instruction line = at;
        line.shape.dimensions = {at.shape.dimensions[axis]};
        Value range = emit(line, OpKind::fill, {}, {{"value", 0.0}, {"step", 1.0}});
        View wide{range.view.tensor, at.shape.type, at.shape.dimensions,
                  Dimensions(at.shape.dimensions.size(), 0), 0};
        wide.strides[axis] = 1;
        return view_value(wide);
    }

    /// Rows of a table by one index each.
    Value gather(const Instruction& at, std::vector<Value>& operands) {
        if (operands.size() != 2) return unknown(at, operands);
        const View table = written(operands[0]);
        View indices = written(operands[1]);
        const bool rows = list(at, "collapsed_slice_dims") == Dimensions{0} &&
                          list(at, "start_index_map") == Dimensions{0} && table.shape.size() >= 1 &&
                          is_dense(table);
        if (!rows) return unknown(at, operands);
        indices = densely(at, indices);
        if (!indices.shape.empty() && indices.shape.back() == 1 &&
            count(at.shape.dimensions) == count(indices.shape) * (count(table.shape) / table.shape[0]))
            indices.shape.pop_back();
        indices.strides = dense(indices.shape);
        if (table.shape.size() == 2) return emit(at, OpKind::embedding, {table, indices}, {});
        return emit(at, OpKind::gather, {table, indices}, {{"axis", std::int64_t{0}}});
    }

    Value scatter(const Instruction& at, std::vector<Value>& operands) {
        if (operands.size() != 3 || list(at, "inserted_window_dims") != Dimensions{0} || at.shape.tuple)
            return unknown(at, operands);
        const View table = densely(at, written(operands[0]));
        View indices = densely(at, written(operands[1]));
        const View updates = densely(at, written(operands[2]));
        if (!indices.shape.empty() && indices.shape.back() == 1) indices.shape.pop_back();
        indices.strides = dense(indices.shape);
        bool adds = false;
        if (const auto body = at.attributes.find("to_apply"); body != at.attributes.end()) {
            for (const Instruction& instruction : computation(body->second, at.line).instructions)
                adds = adds || instruction.opcode == "add";
        }
        return emit(at, OpKind::scatter, {table, indices, updates},
                    {{"axis", std::int64_t{0}}, {"accumulate", std::int64_t{adds}}});
    }

    Value concatenate(const Instruction& at, std::vector<Value>& operands) {
        std::vector<View> views;
        for (Value& value : operands) views.push_back(densely(at, written(value)));
        const Dimensions axes = list(at, "dimensions");
        return emit(at, OpKind::concat, views, {{"axis", axes.empty() ? std::int64_t{0} : axes[0]}});
    }

    /// Never zero time, never skipped: its results come from nowhere that is known.
    Value unknown(const Instruction& at, std::vector<Value>& operands) {
        std::vector<View> views;
        for (Value& value : operands) {
            if (value.kind == Value::Kind::tuple) continue;
            views.push_back(densely(at, written(value)));
        }
        return emit(at, OpKind::unknown, views, {});
    }

    Value collective(const Instruction& at, std::vector<Value>& operands) {
        std::vector<View> views;
        double bytes = 0;
        for (Value& value : operands) {
            views.push_back(densely(at, written(value)));
            bytes += static_cast<double>(count(value.shape)) * trace::bytes_of(value.type);
        }
        std::string name = at.opcode;
        std::replace(name.begin(), name.end(), '-', '_');
        return emit(at, OpKind::collective, views,
                    {{"collective", name}, {"bytes", static_cast<std::int64_t>(bytes)}});
    }

    Value constant(const Instruction& at) {
        Value value;
        value.kind = Value::Kind::number;
        value.type = at.shape.type;
        value.shape = at.shape.dimensions;
        const std::string& text = at.literal;
        if (text == "true" || text == "false") {
            value.number = text == "true" ? 1 : 0;
            return value;
        }
        if (text.compare(0, 2, "0x") == 0 &&
            text.size() == 10) {  // StableHLO prints infinities by their bits
            const std::uint32_t bits = static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
            value.number = bits == 0xFF800000u ? -INFINITY : bits == 0x7F800000u ? INFINITY : NAN;
            return value;
        }
        if (text.compare(0, 2, "0x") == 0 && text.size() == 6) {
            value.number = text == "0xFF80" || text == "0xFC00" ? -INFINITY : INFINITY;
            return value;
        }
        try {
            std::size_t used = 0;
            value.number = std::stod(text, &used);
            if (used == text.size()) return value;
        } catch (const std::logic_error&) {
        }
        // A table of numbers: data that the program carries.
        trace::Tensor tensor;
        tensor.name = at.name;
        tensor.role = trace::TensorRole::input;
        return new_value(at.shape, std::move(tensor));
    }

    Value evaluate(const Instruction& at, std::vector<Value>& operands, const std::vector<Value>& arguments) {
        const std::string& opcode = at.opcode;
        if (opcode == "parameter") {
            const std::size_t index = std::stoul(at.literal);
            if (index >= arguments.size()) fail(at, "has no argument");
            return arguments[index];
        }
        if (opcode == "constant") return constant(at);
        if (opcode == "iota") return iota(at);
        if (opcode == "tuple" || opcode == "optimization-barrier" || opcode == "get-tuple-element")
            return tuple(at, operands);
        if (opcode == "fusion" || opcode == "call") {
            const auto name = at.attributes.find(opcode == "fusion" ? "calls" : "to_apply");
            if (name == at.attributes.end()) fail(at, "names no computation");
            std::vector<Value> results = evaluate(computation(name->second, at.line), operands);
            if (results.size() == 1) return results[0];
            Value all;
            all.kind = Value::Kind::tuple;
            all.elements = std::move(results);
            return all;
        }
        if (operands.empty()) return unknown(at, operands);
        if (opcode == "broadcast") return broadcast(at, operands[0]);
        if (opcode == "transpose") return transpose(at, operands[0]);
        if (opcode == "reshape" || opcode == "bitcast") return reshape(at, operands[0]);
        if (opcode == "slice") return slice(at, operands[0]);
        if (opcode == "dot") return dot(at, operands);
        if (opcode == "reduce") return reduce(at, operands);
        if (opcode == "gather") return gather(at, operands);
        if (opcode == "scatter") return scatter(at, operands);
        if (opcode == "concatenate") return concatenate(at, operands);
        if (opcode == "compare") return compare(at, operands);
        if (opcode.compare(0, 4, "all-") == 0 || opcode == "reduce-scatter") return collective(at, operands);
        const auto known = elementwise().find(opcode);
        if (known == elementwise().end()) return unknown(at, operands);
        const auto wanted =
            static_cast<std::size_t>(std::count(known->second.begin(), known->second.end(), '$'));
        if (wanted > 0 && operands.size() < (known->second.find("$2") != std::string::npos   ? 3u
                                             : known->second.find("$1") != std::string::npos ? 2u
                                                                                             : 1u))
            fail(at, "has too few operands");
        return apply(at, known->second, operands);
    }

    Value compare(const Instruction& at, std::vector<Value>& operands) {
        static const std::map<std::string, std::string> directions{{"EQ", "=="}, {"NE", "!="}, {"LT", "<"},
                                                                   {"LE", "<="}, {"GT", ">"},  {"GE", ">="}};
        const auto given = at.attributes.find("direction");
        const auto found = given == at.attributes.end() ? directions.end() : directions.find(given->second);
        if (found == directions.end() || operands.size() != 2) fail(at, "has no direction such as EQ");
        return apply(at, "($0 " + found->second + " $1)", operands);
    }

    Value tuple(const Instruction& at, std::vector<Value>& operands) const {
        if (at.opcode == "get-tuple-element") {
            const auto index = at.attributes.find("index");
            const std::size_t place = index == at.attributes.end() ? 0 : std::stoul(index->second);
            if (operands.size() != 1 || place >= operands[0].elements.size())
                fail(at, "takes an element that is not there");
            return operands[0].elements[place];
        }
        if (at.opcode == "optimization-barrier" && operands.size() == 1) return operands[0];
        Value all;
        all.kind = Value::Kind::tuple;
        all.elements = operands;
        return all;
    }

    std::vector<Value> evaluate(const Computation& body, const std::vector<Value>& arguments) {
        if (++depth_ > 64) throw Error("computations call each other in a circle", {module_.file, 0, ""});
        std::map<std::string, unsigned> readers;
        for (const Instruction& instruction : body.instructions)
            for (const std::string& name : instruction.operands) ++readers[name];
        for (const std::string& name : body.results) readers[name] += 2;  // results are written once
        std::map<std::string, Value> values;
        for (const Instruction& instruction : body.instructions) {
            std::vector<Value> operands;
            std::vector<std::map<std::string, Value>::iterator> from;
            for (const std::string& name : instruction.operands) {
                // "%3#1" is the second result of %3.
                const std::size_t mark = name.find('#');
                const auto found = values.find(name.substr(0, mark));
                if (found == values.end()) fail(instruction, "reads `" + name + "`, which is not there");
                if (mark == std::string::npos) {
                    operands.push_back(found->second);
                } else {
                    const std::size_t place = std::stoul(name.substr(mark + 1));
                    if (place >= found->second.elements.size())
                        fail(instruction, "reads `" + name + "`, which is not there");
                    operands.push_back(found->second.elements[place]);
                }
            }
            Value value = evaluate(instruction, operands, arguments);
            // What several read is written once for all of them; a fused computation's root belongs to its
            // caller.
            const bool is_result =
                std::find(body.results.begin(), body.results.end(), instruction.name) != body.results.end();
            const unsigned uses = readers[instruction.name];
            if (value.kind == Value::Kind::pending && uses > 1 && !(is_result && uses == 2)) written(value);
            values[instruction.name] = std::move(value);
        }
        std::vector<Value> results;
        for (const std::string& name : body.results) {
            const std::size_t mark = name.find('#');
            const auto found = values.find(name.substr(0, mark));
            if (found == values.end())
                throw Error("returns `" + name + "`, which is not there", {module_.file, 0, ""});
            results.push_back(mark == std::string::npos
                                  ? found->second
                                  : found->second.elements.at(std::stoul(name.substr(mark + 1))));
        }
        --depth_;
        return results;
    }

    const Module& module_;
    trace::Trace trace_;
    int depth_ = 0;
};

}  // namespace

trace::Trace to_trace(const Module& module) {
    try {
        return Converter(module).run();
    } catch (const std::logic_error&) {  // a number where none is, a dimension that is not there
        throw Error("the program does not fit together", {module.file, 0, ""},
                    "is the text cut off or edited?");
    }
}

}  // namespace heddle::hlo
