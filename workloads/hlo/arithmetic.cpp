// What is computed element by element, and numbers that the program carries.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "workloads/expression/expression.h"
#include "workloads/hlo/converter.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {

using trace::ElementType;
using trace::OpKind;

namespace {

constexpr std::size_t kMostInputs = 6, kLongestText = 600;
/// A table is written in pieces that are constant or rise evenly; more than this would be a program of its
/// own.
constexpr std::size_t kMostPieces = 64;

using Patterns = std::map<std::string, std::string>;

/// Expressions over $0, $1, $2.
const Patterns& patterns() {
    static const Patterns all{
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
        {"cbrt", "($0 < 0 ? -exp(log(-$0) / 3) : $0 == 0 ? 0 : exp(log($0) / 3))"},
        {"tanh", "tanh($0)"},
        {"logistic", "sigmoid($0)"},
        {"erf", "erf($0)"},
        {"floor", "floor($0)"},
        {"ceil", "(-floor(-$0))"},
        {"exponential-minus-one", "(exp($0) - 1)"},
        {"log-plus-one", "log($0 + 1)"},
        {"power", "($1 == 2 ? $0 * $0 : $1 == 3 ? $0 * $0 * $0 : exp($1 * log($0)))"},
        {"select", "($0 != 0 ? $1 : $2)"},
        {"clamp", "min(max($1, $0), $2)"},
        {"sign", "(($0 > 0) - ($0 < 0))"},
        {"convert", "$0"},
        {"is-finite", "(abs($0) < inf)"},
        {"reduce-precision", "$0"},
        {"square", "($0 * $0)"},
    };
    return all;
}

const Patterns& patterns_of_truth_values() {
    static const Patterns all{
        {"and", "($0 * $1)"}, {"or", "max($0, $1)"}, {"not", "(1 - $0)"}, {"xor", "($0 != $1)"}};
    return all;
}

/// Quotients of integers are cut off towards zero.
const Patterns& patterns_of_integers() {
    static const Patterns all{
        {"divide", "($0 / $1 < 0 ? -floor(-($0 / $1)) : floor($0 / $1))"},
        {"remainder", "($0 - $1 * ($0 / $1 < 0 ? -floor(-($0 / $1)) : floor($0 / $1)))"}};
    return all;
}

/// x^2, x^3 and the like are products to XLA, too.
std::string power_of(double exponent) {
    if (exponent == 0.5) return "sqrt($0)";
    if (exponent == -0.5) return "rsqrt($0)";
    const double size = std::abs(exponent);
    if (size != std::floor(size) || size < 1 || size > 16) return "exp($1 * log($0))";
    std::string product = "$0";
    for (int i = 1; i < static_cast<int>(size); ++i) product += " * $0";
    return exponent > 0 ? "(" + product + ")" : "(1 / (" + product + "))";
}

std::string filled_in(const std::string& pattern, const std::vector<std::string>& texts) {
    std::string result;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '$') {
            result += texts.at(static_cast<std::size_t>(pattern[++i] - '0'));
        } else {
            result += pattern[i];
        }
    }
    return result;
}

double evaluated(const std::string& text) {
    const expression::Expression parsed = expression::parse("y0 = " + text);
    double result = 0;
    expression::evaluate(parsed, {}, {}, 0, std::span(&result, 1));
    return result;
}

/// Integers of up to 32 bits wrap around, as on every device; a conversion from a floating-point number ends
/// at the limits of its type.
double wrapped(double number, const Shape& shape, bool saturates) {
    if (std::isnan(number)) return 0;
    const double count = std::exp2(8 * trace::bytes_of(shape.type));
    const double most = shape.is_unsigned || shape.type == ElementType::u8 ? count - 1 : count / 2 - 1;
    if (saturates || std::isinf(number)) return std::clamp(number, most - (count - 1), most);
    if (count > 0x1p32) return number;
    number -= std::floor(number / count) * count;
    return number > most ? number - count : number;
}

/// A product of integers of up to 32 bits before it wraps around, which a double may be too short for: as far
/// as it matters. Nothing for other operands.
std::optional<double> integer_product(const Value& a, const Value& b) {
    if (is_floating(a.type) || std::max(trace::bytes_of(a.type), trace::bytes_of(b.type)) > 4 ||
        !(std::abs(a.number) <= 0x1p32 && std::abs(b.number) <= 0x1p32))
        return std::nullopt;
    const std::uint64_t product = static_cast<std::uint64_t>(static_cast<std::int64_t>(a.number)) *
                                  static_cast<std::uint64_t>(static_cast<std::int64_t>(b.number));
    return static_cast<double>(product & 0xffff'ffff);
}

double rounded(double number, const Shape& shape, bool saturates) {
    if (shape.type == ElementType::boolean) return number != 0 ? 1 : 0;
    if (shape.type == ElementType::f32) return static_cast<double>(static_cast<float>(number));
    return is_floating(shape.type) ? number : wrapped(std::trunc(number), shape, saturates);
}

bool is_number(const Value& value) {
    return value.kind == Value::Kind::number;
}

/// What every device can do to a product on its way out: beside it one vector with a number for each column,
/// and one matrix of its shape.
bool is_epilogue(const Value& product) {
    unsigned vectors = 0, matrices = 0;
    for (std::size_t i = 2; i < product.inputs.size(); ++i) {
        const View& view = product.inputs[i];
        const bool vector =
            view.strides.back() == 1 && view.shape.back() != count_of(view.shape) &&
            std::all_of(view.strides.begin(), view.strides.end() - 1, [](auto s) { return s == 0; });
        ++(vector ? vectors : matrices);
        if (!vector && !view.is_dense()) return false;
    }
    return vectors <= 1 && matrices <= 1;
}

}  // namespace

const std::string* Converter::elementwise(const Instruction& at, const Operands& operands) const {
    const ElementType type = operands[0].type;
    const std::string* found = nullptr;
    const auto look = [&](const Patterns& in) {
        const auto entry = in.find(at.opcode);
        if (entry != in.end() && found == nullptr) found = &entry->second;
    };
    if (type == ElementType::boolean) look(patterns_of_truth_values());
    if (!is_floating(type) && type != ElementType::boolean) look(patterns_of_integers());
    look(patterns());
    if (found == nullptr) return nullptr;
    const std::size_t wanted = found->find("$2") != std::string::npos   ? 3u
                               : found->find("$1") != std::string::npos ? 2u
                                                                        : 1u;
    if (operands.size() < wanted) fail(at, "has too few operands");
    return found;
}

Value Converter::apply(const Instruction& at, const std::string& pattern, Operands& operands) {
    if (std::all_of(operands.begin(), operands.end(), is_number)) {
        std::vector<std::string> texts;
        for (const Value& value : operands) texts.push_back(number_text(value.number));
        std::optional<double> number;
        if (at.opcode == "multiply") number = integer_product(operands[0], operands[1]);
        if (!number) number = evaluated(filled_in(pattern, texts));
        const bool saturates = at.opcode == "convert" && is_floating(operands[0].type);
        Value result = Value::of(rounded(*number, at.shape, saturates), at.shape.type, at.shape.dimensions);
        result.steps = coming_.steps_of(at, operands, result);
        return result;
    }
    Value result = joined(at, pattern, operands);
    if (result.product && !is_epilogue(result)) {
        for (Value& value : operands)
            if (value.kind == Value::Kind::pending && value.product) written(value, at.name);
        result = joined(at, pattern, operands);
    }
    const bool rounds = at.opcode == "convert" && !is_floating(result.type);
    if (result.inputs.size() > kMostInputs || result.text.size() > kLongestText || rounds)
        written(result, at.name);
    return result;
}

Value Converter::joined(const Instruction& at, const std::string& pattern, Operands operands) {
    Value result;
    result.kind = Value::Kind::pending;
    result.type = at.shape.type;
    result.shape = at.shape.dimensions;
    // One product may carry the others as its epilogue.
    for (Value& value : operands) {
        if (value.kind != Value::Kind::pending || !value.product) continue;
        if (result.product || value.shape != result.shape) {
            written(value, at.name);
        } else {
            result.product = true;
            result.matrix = value.matrix;
            result.inputs = value.inputs;
        }
    }
    const bool power = at.opcode == "power" && is_number(operands.at(1));
    if (power) coming_.decide(operands[1]);
    std::vector<std::string> texts;
    for (Value& value : operands) {
        if (value.kind == Value::Kind::view) value.view = forwards(at, value.view);
        texts.push_back(text_of(value, result));
    }
    result.text = filled_in(power ? power_of(operands[1].number) : pattern, texts);
    return result;
}

/// The operand within `into`'s expression; its inputs join the others.
std::string Converter::text_of(Value& value, Value& into) {
    if (is_number(value)) return number_text(value.number);
    if (value.kind == Value::Kind::pending && value.product && into.product) {
        std::vector<std::size_t> same;
        for (std::size_t i = 0; i + 1 < value.inputs.size(); ++i) same.push_back(i);
        return renumbered(value.text, same);
    }
    // Beside a product, operands are read in the product's own shape.
    if (into.product && into.matrix != into.shape) {
        bool fits = true;
        std::vector<View> views =
            value.kind == Value::Kind::pending ? value.inputs : std::vector<View>{value.view};
        for (View& view : views) {
            const std::optional<View> reshaped = view.reshaped(into.matrix);
            fits = fits && reshaped;
            if (reshaped) view = *reshaped;
        }
        if (!fits) views = {writer_.reshaped({"operand"}, written(value), into.matrix)};
        if (value.kind == Value::Kind::pending) {
            value.inputs = views;
        } else {
            value.view = views[0];
        }
    }
    const std::vector<View> views =
        value.kind == Value::Kind::pending ? value.inputs : std::vector<View>{value.view};
    std::vector<std::size_t> to;
    const std::size_t first = into.product ? 2 : 0;
    for (const View& view : views) {
        const auto found =
            std::find(into.inputs.begin() + static_cast<std::ptrdiff_t>(first), into.inputs.end(), view);
        const auto place = static_cast<std::size_t>(found - into.inputs.begin());
        if (found == into.inputs.end()) into.inputs.push_back(view);
        // Of a product, x0 is the product and x1 the third input.
        to.push_back(into.product ? place - 1 : place);
    }
    return value.kind == Value::Kind::pending ? renumbered(value.text, to) : "x" + std::to_string(to[0]);
}

Value Converter::sinusoid(const Instruction& at, Operands& operands) {
    if (operands.empty()) fail(at, "has too few operands");
    const std::string angle = at.opcode == "cosine" ? "($0 + 1.5707963267948966)" : "$0";
    const std::string turns = "floor(" + angle + " * 0.15915494309189535 + 0.5)";
    // A turn in two parts, of which the first times the number of turns is exact in fp32.
    Value turned = apply(
        at, "((" + angle + " - 6.28125 * " + turns + ") - 0.0019353071795864769 * " + turns + ")", operands);
    if (!is_number(turned)) written(turned, at.name);
    // t - t^3 / 3! + ... + t^21 / 21!: 4e-12 off at pi.
    std::string rest = "1";
    for (int power = 20; power >= 2; power -= 2)
        rest.insert(0, "(1 - $0 * $0 * " + number_text(1.0 / (power * (power + 1))) + " * ").append(")");
    Operands one{turned};
    return apply(at, "($0 * " + rest + ")", one);
}

Value Converter::compare(const Instruction& at, Operands& operands) {
    static const std::map<std::string, std::string> directions{{"EQ", "=="}, {"NE", "!="}, {"LT", "<"},
                                                               {"LE", "<="}, {"GT", ">"},  {"GE", ">="}};
    const auto found = directions.find(text(at, "direction"));
    if (found == directions.end() || operands.size() != 2) fail(at, "has no direction such as EQ");
    return apply(at, "($0 " + found->second + " $1)", operands);
}

namespace {

/// A number as HLO or StableHLO prints it; nothing when it is something else.
std::optional<double> number_of(const std::string& text, ElementType type) {
    if (text == "true" || text == "false") return text == "true" ? 1 : 0;
    if (text == "inf" || text == "-inf") return text == "inf" ? INFINITY : -INFINITY;
    if (text == "nan" || text == "-nan") return NAN;
    if (text.compare(0, 2, "0x") == 0) {  // StableHLO prints infinities by their bits
        const std::uint64_t bits = std::stoull(text, nullptr, 16);
        const unsigned exponent = type == ElementType::f16 ? 5 : type == ElementType::f64 ? 11 : 8;
        const unsigned width = trace::bytes_of(type) * 8, fraction = width - 1 - exponent;
        if (!is_floating(type) || fraction > 52) return std::nullopt;
        const bool negative = (bits >> (width - 1) & 1) != 0;
        const std::uint64_t power = bits >> fraction & ((1ull << exponent) - 1);
        const std::uint64_t rest = bits & ((1ull << fraction) - 1);
        if (power != (1ull << exponent) - 1) return std::nullopt;
        return rest != 0 ? NAN : negative ? -INFINITY : INFINITY;
    }
    try {
        std::size_t used = 0;
        const double number = std::stod(text, &used);
        if (used == text.size()) return number;
    } catch (const std::logic_error&) {
    }
    return std::nullopt;
}

/// The numbers of "{ {1, 2}, {3, 4} }" or "[[1, 2], [3, 4]]" in row-major order; nothing when some are left
/// out.
std::vector<double> table_of(const std::string& text, ElementType type) {
    std::vector<double> numbers;
    std::string word;
    for (const char c : text + ",") {
        if (std::string(" {}[],\t").find(c) == std::string::npos) {
            word += c;
            continue;
        }
        if (word.empty()) continue;
        const std::optional<double> number = number_of(word, type);
        if (!number) return {};
        numbers.push_back(*number);
        word.clear();
    }
    return numbers;
}

/// Where an evenly rising piece of the table that begins at `begin` ends.
std::size_t piece_end(const std::vector<double>& table, std::size_t begin) {
    std::size_t end = begin + 1;
    if (end == table.size()) return end;
    const double step = table[end] - table[begin];
    while (end < table.size() && table[end] == table[begin] + step * static_cast<double>(end - begin)) ++end;
    return std::isfinite(step) || table[begin] == table[begin + 1] ? std::max(end, begin + 1) : begin + 1;
}

}  // namespace

Value Converter::constant(const Instruction& at) {
    const ElementType type = at.shape.type;
    const Dimensions& shape = at.shape.dimensions;
    if (at.shape.tuple) fail(at, "is a tuple");
    if (const std::optional<double> number = number_of(at.literal, type))
        return Value::of(*number, type, shape);
    const std::vector<double> table = table_of(at.literal, type);
    const auto count = static_cast<std::size_t>(count_of(shape));
    if (table.size() == count && count > 0) {
        if (std::all_of(table.begin(), table.end(), [&](double v) { return v == table[0]; }))
            return Value::of(table[0], type, shape);
        std::vector<std::size_t> ends;
        for (std::size_t begin = 0; begin < count; begin = ends.back())
            ends.push_back(piece_end(table, begin));
        if (ends.size() <= kMostPieces) {
            const View whole = writer_.new_tensor(at.name, {type, shape});
            std::size_t begin = 0;
            for (const std::size_t end : ends) {
                View piece = whole;
                piece.shape = {static_cast<std::int64_t>(end - begin)};
                piece.strides = {1};
                piece.offset = static_cast<std::int64_t>(begin);
                writer_.fill_into(label(at), piece, table[begin],
                                  end > begin + 1 ? table[begin + 1] - table[begin] : 0);
                begin = end;
            }
            return Value::of(whole);
        }
    }
    // Data that the program carries: an input, whose numbers a trace does not hold.
    return Value::of(writer_.new_tensor(at.name, {type, shape}, trace::TensorRole::input));
}

Value Converter::iota(const Instruction& at) {
    const Dimensions axes = list(at, "iota_dimension"), &shape = at.shape.dimensions;
    const std::size_t axis = axes.empty() ? 0 : static_cast<std::size_t>(axes[0]);
    if (axis >= shape.size()) fail(at, "counts along a dimension that it has not");
    const auto key = std::pair(shape[axis], at.shape.type);
    const auto known = ranges_.find(key);
    const View range =
        known != ranges_.end()
            ? known->second
            : writer_.emit_one(label(at), OpKind::fill, {}, {{keys::fill.value, 0.0}, {keys::fill.step, 1.0}},
                               {at.shape.type, {shape[axis]}});
    ranges_.emplace(key, range);
    return Value::of(range.broadcast({static_cast<std::int64_t>(axis)}, shape));
}

/// Uniform numbers between two numbers; which numbers they are is Heddle's affair.
Value Converter::random(const Instruction& at, Operands& operands) {
    const std::string kind = text(at, "distribution");
    if (operands.size() < 2 || !is_number(operands[0]) || !is_number(operands[1]) ||
        (kind.find("uniform") == std::string::npos && kind.find("UNIFORM") == std::string::npos))
        return unknown(at, operands, "only uniform numbers between two constants");
    return Value::of(
        writer_.emit_one(label(at), OpKind::random, {},
                         {{keys::random.distribution, is_floating(at.shape.type) ? "uniform" : "integer"},
                          {keys::random.low, operands[0].number},
                          {keys::random.high, operands[1].number},
                          {keys::random.stream, writer_.ops()}},
                         {at.shape.type, at.shape.dimensions}));
}

/// JAX's function `_uniform`(key, low, high), which counts through a cipher: the numbers are Heddle's own
/// instead.
Value Converter::random_function(const Instruction& at, Operands& operands) {
    Instruction uniform = at;
    uniform.attributes["distribution"] = "uniform";
    Operands bounds;
    for (const Value& value : operands)
        if (is_number(value) && is_floating(value.type)) bounds.push_back(value);
    if (bounds.empty()) bounds = {Value::of(0, at.shape.type, {}), Value::of(1, at.shape.type, {})};
    return random(uniform, bounds);
}

}  // namespace heddle::hlo
