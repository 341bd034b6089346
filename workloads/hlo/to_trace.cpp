// HLO -> Trace: instructions in order, calls, tuples.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "isa/common/error.h"
#include "workloads/hlo/converter.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {

using trace::OpKind;

namespace {

constexpr std::size_t kDeepest = 200;  // calls within calls

/// The computation that a call or a fusion evaluates, wherever it stands.
const std::string* called(const Instruction& at) {
    if (at.opcode != "call" && at.opcode != "fusion") return nullptr;
    for (const char* key : {"calls", "to_apply"})
        if (const auto name = at.attributes.find(key); name != at.attributes.end())
            return name->second.starts_with("_uniform") ? nullptr : &name->second;
    return nullptr;
}

/// Instructions that evaluating a computation takes at least, those of its calls among them: told before
/// millions have been evaluated. Loops and branches decide on the way, circles are told there.
class CountOfInstructions {
  public:
    CountOfInstructions(const Module& module, std::size_t most) : module_(module), most_(most) {}

    std::size_t of(const Instruction& at, std::size_t depth = 0) {
        const std::string* name = called(at);
        const auto body = name == nullptr ? module_.computations.end() : module_.computations.find(*name);
        return body == module_.computations.end() ? 1 : 1 + of(body->second, depth + 1);
    }

  private:
    std::size_t of(const Computation& body, std::size_t depth) {
        if (depth > kDeepest) return 0;
        const auto [known, fresh] = counts_.try_emplace(&body, 0);  // 0 as long as it is open
        if (!fresh) return known->second;
        std::size_t count = 0;
        for (const Instruction& instruction : body.instructions)
            count = std::min(count + of(instruction, depth), most_ + 1);
        return counts_[&body] = count;
    }

    const Module& module_;
    const std::size_t most_;
    std::map<const Computation*, std::size_t> counts_;
};

}  // namespace

Program Converter::run() {
    const Computation& entry = computation(module_.entry, 0);
    Operands arguments;
    std::set<std::size_t> given;
    for (const Instruction& instruction : entry.instructions) {
        if (instruction.opcode != "parameter") continue;
        const std::size_t index = std::stoul(instruction.literal);
        if (index > 100'000) fail(instruction, "has an impossible number");
        if (!given.insert(index).second) fail(instruction, "has the number of another parameter");
        if (arguments.size() <= index) arguments.resize(index + 1);
        arguments[index] = new_input(instruction.shape, instruction.name);
    }
    CountOfInstructions count(module_, kMostInstructions);
    std::size_t instructions = 0;
    for (const Instruction& instruction : entry.instructions) {
        instructions += count.of(instruction);
        if (instructions > kMostInstructions) fail_at_limit(instruction);
    }
    Program program;
    const std::function<void(Value&, std::vector<Placed>&)> place = [&](Value& value,
                                                                        std::vector<Placed>& to) {
        for (Value& element : value.elements) place(element, to);
        if (value.kind == Value::Kind::tuple) return;
        const View view = written(value, "result");
        writer_.result(view);
        to.push_back({view.tensor, view.shape, view.strides, view.offset});
    };
    for (Value& argument : arguments) place(argument, program.arguments);
    for (Value& result : evaluate(entry, arguments, nullptr)) place(result, program.results);
    program.trace = writer_.finish();
    return program;
}

void Converter::fail(const Instruction& at, const std::string& problem, const std::string& remedy) const {
    throw Error(at.opcode + " " + at.name + " " + problem, {module_.file, at.line, ""}, remedy);
}

void Converter::fail_at_limit(const Instruction& at) const {
    fail(at, "is where a million instructions, or 300,000 operations of the step, are passed",
         "do computations call others again and again?");
}

const Computation& Converter::computation(const std::string& name, unsigned line) const {
    const auto found = module_.computations.find(name);
    if (found == module_.computations.end())
        throw Error("computation `" + name + "` is not there", {module_.file, line, ""},
                    "give the whole module");
    return found->second;
}

const Computation& Converter::computation_of(const Instruction& at, const std::string& key) const {
    const auto name = at.attributes.find(key);
    if (name == at.attributes.end()) fail(at, "names no computation (" + key + ")");
    return computation(name->second, at.line);
}

/// Gradients carry "transpose(" in the names that JAX gives them.
TraceWriter::Label Converter::label(const Instruction& at) {
    const auto metadata = at.attributes.find("metadata");
    const bool backward =
        metadata != at.attributes.end() && metadata->second.find("transpose(") != std::string::npos;
    return {at.name, backward ? trace::Phase::backward : trace::Phase::forward};
}

Dimensions Converter::list(const Instruction& at, const std::string& key) {
    const auto found = at.attributes.find(key);
    return found == at.attributes.end() ? Dimensions{} : numbers_of(found->second);
}

std::string Converter::text(const Instruction& at, const std::string& key) {
    const auto found = at.attributes.find(key);
    return found == at.attributes.end() ? std::string() : found->second;
}

Value Converter::new_input(const Shape& shape, const std::string& name) {
    if (!shape.tuple)
        return Value::of(writer_.new_tensor(name, {shape.type, shape.dimensions}, trace::TensorRole::input));
    std::vector<Value> elements;
    for (const Shape& element : shape.elements) elements.push_back(new_input(element, name));
    return Value::of(std::move(elements));
}

/// Writes what has not been written; numbers become filled tensors.
View Converter::written(Value& value, const std::string& name) {
    if (value.kind == Value::Kind::tuple) {
        for (Value& element : value.elements) written(element, name);
        return {};
    }
    if (value.kind == Value::Kind::view) return value.view;
    const TraceWriter::Label label{name};
    View view;
    if (value.kind == Value::Kind::number) {
        view = writer_.emit_one(label, OpKind::fill, {}, {{keys::fill.value, value.number}},
                                {value.type, value.shape});
    } else if (value.product) {
        TraceWriter::Attributes attributes;
        if (value.text != "x0") attributes.set(keys::matmul.epilogue, "y0 = " + value.text);
        std::vector<View> inputs = value.inputs;
        inputs.at(0) = matrix_operand(label, inputs[0], keys::matmul.transpose_a, attributes);
        inputs.at(1) = matrix_operand(label, inputs[1], keys::matmul.transpose_b, attributes);
        view = writer_.emit_one(label, OpKind::matmul, inputs, std::move(attributes),
                                {value.type, value.matrix});
        view.shape = value.shape;
        view.strides = dense_strides(value.shape);
    } else {
        view = writer_.emit_one(label, OpKind::elementwise, value.inputs,
                                {{keys::elementwise.expression, "y0 = " + value.text}},
                                {value.type, value.shape});
    }
    value = Value::of(view);
    return view;
}

std::vector<TraceWriter::Result> Converter::flat(const Shape& shape) {
    if (!shape.tuple) return {{shape.type, shape.dimensions}};
    std::vector<TraceWriter::Result> results;
    for (const Shape& element : shape.elements)
        for (TraceWriter::Result& result : flat(element)) results.push_back(std::move(result));
    return results;
}

Value Converter::built(const Shape& shape, const std::vector<View>& views) {
    std::size_t next = 0;
    const std::function<Value(const Shape&)> build = [&](const Shape& part) {
        if (!part.tuple) return Value::of(views.at(next++));
        std::vector<Value> elements;
        for (const Shape& element : part.elements) elements.push_back(build(element));
        return Value::of(std::move(elements));
    };
    return build(shape);
}

/// Never zero time, never skipped: its results come from nowhere that is known.
Value Converter::unknown(const Instruction& at, Operands& operands, const std::string& why) {
    std::vector<View> views;
    const std::function<void(Value&)> read = [&](Value& value) {
        for (Value& element : value.elements) read(element);
        if (value.kind != Value::Kind::tuple) views.push_back(densely(at, value));
    };
    for (Value& value : operands) read(value);
    TraceWriter::Label label = Converter::label(at);
    label.name = at.opcode + " " + label.name + (why.empty() ? "" : ": " + why);
    return built(at.shape, writer_.emit(label, OpKind::unknown, views, {}, flat(at.shape)));
}

Value Converter::call(const Instruction& at, Operands& operands, Scope&) {
    const std::string key = at.attributes.contains("calls") ? "calls" : "to_apply";
    if (key == "to_apply" && text(at, key).compare(0, 8, "_uniform") == 0)
        return random_function(at, operands);
    std::vector<Value> results = evaluate(computation_of(at, key), operands, nullptr);
    return results.size() == 1 ? results[0] : Value::of(std::move(results));
}

Value Converter::tuple(const Instruction& at, Operands& operands) const {
    if (at.opcode == "get-tuple-element") {
        const Dimensions index = list(at, "index");
        const auto place = index.empty() ? std::size_t{0} : static_cast<std::size_t>(index[0]);
        if (operands.size() != 1 || place >= operands[0].elements.size())
            fail(at, "takes an element that is not there");
        return operands[0].elements[place];
    }
    if (at.opcode != "tuple" && operands.size() == 1) return operands[0];
    return Value::of(operands);
}

Value Converter::dimension_size(const Instruction& at, const Value& of) const {
    const Dimensions axis = list(at, "dimensions");
    if (axis.size() != 1 || axis[0] < 0 || static_cast<std::size_t>(axis[0]) >= of.shape.size())
        fail(at, "names a dimension that its operand has not");
    return Value::of(static_cast<double>(of.shape[static_cast<std::size_t>(axis[0])]), at.shape.type,
                     at.shape.dimensions);
}

Value Converter::evaluate(const Instruction& at, Operands& operands, const Operands& arguments,
                          Scope& scope) {
    const std::string& opcode = at.opcode;
    if (opcode == "parameter") {
        const std::size_t index = std::stoul(at.literal);
        if (index >= arguments.size()) fail(at, "has no argument");
        return arguments[index];
    }
    using Read = Value (Converter::*)(const Instruction&, Operands&);
    static const std::map<std::string, Read> several{
        {"dot", &Converter::dot},
        {"convolution", &Converter::convolution},
        {"reduce", &Converter::reduce},
        {"reduce-window", &Converter::reduce_window},
        {"select-and-scatter", &Converter::select_and_scatter},
        {"gather", &Converter::gather},
        {"scatter", &Converter::scatter},
        {"concatenate", &Converter::concatenate},
        {"pad", &Converter::pad},
        {"compare", &Converter::compare},
        {"sine", &Converter::sinusoid},
        {"cosine", &Converter::sinusoid},
        {"dynamic-slice", &Converter::dynamic_slice},
        {"dynamic-update-slice", &Converter::dynamic_update_slice},
        {"rng", &Converter::random},
    };
    using Look = Value (Converter::*)(const Instruction&, Value&);
    static const std::map<std::string, Look> single{
        {"broadcast", &Converter::broadcast}, {"transpose", &Converter::transpose},
        {"slice", &Converter::slice},         {"reverse", &Converter::reverse},
        {"bitcast", &Converter::bitcast},
    };
    if (opcode == "constant") return constant(at);
    if (opcode == "iota") return iota(at);
    if (opcode == "tuple" || opcode == "optimization-barrier" || opcode == "get-tuple-element")
        return tuple(at, operands);
    if (opcode == "fusion" || opcode == "call") return call(at, operands, scope);
    if (opcode == "while") return loop(at, operands, scope);
    if (opcode == "conditional" || opcode == "if" || opcode == "case")
        return conditional(at, operands, scope);
    if (opcode == "custom-call") {
        const std::string target = text(at, "custom_call_target");
        if (operands.size() == 1 &&
            (target == "Sharding" || target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape"))
            return operands[0];
        return unknown(at, operands, "nobody knows what " + target + " computes");
    }
    if (opcode == "after-all") return Value::of(Operands{});  // a token: nothing but an order
    // Programs are run as the first of their devices runs them.
    if (opcode == "partition-id" || opcode == "replica-id")
        return Value::of(0, at.shape.type, at.shape.dimensions);
    if (std::optional<Value> value = half(at, operands, scope)) return std::move(*value);
    if (operands.empty()) return unknown(at, operands);
    if (is_collective(opcode)) return collective(at, operands);
    for (const Value& value : operands)
        if (value.kind == Value::Kind::tuple) return unknown(at, operands);
    if (opcode == "reshape") return reshape(at, operands[0], at.shape.dimensions);
    if (opcode == "copy" || opcode == "optimization_barrier" || opcode == "domain") return operands[0];
    if (opcode == "get-dimension-size") return dimension_size(at, operands[0]);
    if (const auto read = several.find(opcode); read != several.end())
        return (this->*read->second)(at, operands);
    if (const auto look = single.find(opcode); look != single.end())
        return (this->*look->second)(at, operands[0]);
    const std::string* pattern = elementwise(at, operands);
    return pattern == nullptr ? unknown(at, operands) : apply(at, *pattern, operands);
}

Value Converter::evaluate_one(const Instruction& at, Operands& operands, const Operands& arguments,
                              Scope& scope) {
    if (++evaluated_ > kMostInstructions || writer_.ops() > kMostOps) fail_at_limit(at);
    try {
        check_operands(at, operands);
        Value value = evaluate(at, operands, arguments, scope);
        check_result(at, value);
        return value;
    } catch (const Error& error) {
        if (error.where().line != 0) throw;
        throw Error(error.problem(), {module_.file, at.line, ""}, error.remedy());
    } catch (const std::logic_error&) {  // a number where none is, a dimension that is not there
        fail(at, "does not fit together with its operands", "is the text cut off or edited?");
    }
}

Value& Converter::lookup(Scope& scope, const Instruction& at, const std::string& name) {
    // "%3#1" is the second result of %3.
    const std::size_t mark = name.find('#');
    const std::string base = name.substr(0, mark);
    for (Scope* where = &scope; where != nullptr; where = where->around) {
        const auto found = where->values.find(base);
        if (found == where->values.end()) continue;
        Value* value = &found->second;
        if (mark != std::string::npos) {
            const std::size_t place = std::stoul(name.substr(mark + 1));
            if (value->kind == Value::Kind::tuple && place >= value->elements.size())
                fail(at, "reads `" + name + "`, which is not there");
            if (value->kind == Value::Kind::tuple) value = &value->elements[place];
        }
        // A region may be evaluated many times: what it reads from outside is written once.
        if (where != &scope && value->kind == Value::Kind::pending) written(*value, base);
        return *value;
    }
    fail(at, "reads `" + name + "`, which is not there");
}

std::vector<Value> Converter::evaluate(const Computation& body, const Operands& arguments, Scope* around) {
    const unsigned line = body.instructions.empty() ? 0 : body.instructions[0].line;
    if (std::find(open_.begin(), open_.end(), &body) != open_.end())
        throw Error("computations call each other in a circle", {module_.file, line, ""});
    if (open_.size() >= kDeepest)
        throw Error("computations call each other more than " + std::to_string(kDeepest) + " deep",
                    {module_.file, line, ""}, "inline them, as XLA does");
    open_.push_back(&body);
    std::map<std::string, unsigned> readers;
    for (const Instruction& instruction : body.instructions) {
        const bool element = instruction.opcode == "get-tuple-element";
        for (const std::string& name : instruction.operands)
            ++readers[element ? name + "#" + text(instruction, "index") : name];
    }
    for (const std::string& name : body.results) ++readers[name];
    Scope scope{around, {}};
    // What several read is written once for all of them.
    const auto settle = [&](Value& value, const std::string& name) {
        const unsigned whole = readers[name];
        if (value.kind == Value::Kind::pending && whole > 1) written(value, name);
        for (std::size_t i = 0; i < value.elements.size(); ++i) {
            Value& element = value.elements[i];
            if (element.kind == Value::Kind::pending && whole + readers[name + "#" + std::to_string(i)] > 1)
                written(element, name);
        }
    };
    for (const Instruction& instruction : body.instructions) {
        Operands operands;
        for (const std::string& name : instruction.operands)
            operands.push_back(lookup(scope, instruction, name));
        Value value = evaluate_one(instruction, operands, arguments, scope);
        value.layout = instruction.shape.layout;
        settle(value, instruction.name);
        if (!scope.values.emplace(instruction.name, std::move(value)).second)
            fail(instruction, "has the name of another instruction");
    }
    std::vector<Value> results;
    Instruction end;
    end.opcode = "return";
    for (const std::string& name : body.results) results.push_back(lookup(scope, end, name));
    open_.pop_back();
    return results;
}

trace::Trace to_trace(const Module& module) {
    return to_program(module).trace;
}

Program to_program(const Module& module) {
    try {
        return Converter(module).run();
    } catch (const std::logic_error&) {  // a number where none is, a dimension that is not there
        throw Error("the program does not fit together", {module.file, 0, ""},
                    "is the text cut off or edited?");
    }
}

}  // namespace heddle::hlo
