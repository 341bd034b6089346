#include "workloads/importers/recording.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "isa/common/checked.h"
#include "workloads/trace/possible_shape.h"

namespace heddle::importers {
namespace {

struct TypeName {
    const char* name;
    ElementType type;
};

/// C++ names that PyTorch records inside "Tensor(...)".
constexpr std::array<TypeName, 18> type_names{{
    {"double", ElementType::f64},
    {"float", ElementType::f32},
    {"c10::Half", ElementType::f16},
    {"c10::BFloat16", ElementType::bf16},
    {"c10::Float8_e4m3fn", ElementType::e4m3},
    {"c10::Float8_e5m2", ElementType::e5m2},
    {"long int", ElementType::i64},
    {"long", ElementType::i64},
    {"int64", ElementType::i64},
    {"int", ElementType::i32},
    {"int32", ElementType::i32},
    {"short int", ElementType::i16},
    {"short", ElementType::i16},
    {"signed char", ElementType::i8},
    {"char", ElementType::i8},
    {"unsigned char", ElementType::u8},
    {"bool", ElementType::boolean},
    {"half", ElementType::f16},
}};

/// The types of "Tensor(float)" or "GenericList[Tensor(float),Tensor(long int)]"; empty when no tensors are
/// named.
std::vector<std::string> tensor_types(const std::string& text) {
    std::vector<std::string> result;
    const std::string open = "Tensor(";
    for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
        at += open.size();
        const std::size_t close = text.find(')', at);
        if (close == std::string::npos) break;
        result.push_back(text.substr(at, close - at));
    }
    return result;
}

const Literal* item(const Literal& list, std::size_t i) {
    return list.list() != nullptr && i < list.list()->size() ? &(*list.list())[i] : nullptr;
}

/// Chakra writes operands as texts.
std::vector<Argument> arguments_of(const trace::ChakraOperands& operands) {
    if (operands.values.empty()) return {};
    const auto literal = [](const std::string& text) {
        return text.empty() ? Literal{LiteralList{}} : parse_literal(text);
    };
    return importers::arguments_of(parse_literal(operands.values), literal(operands.shapes),
                                   literal(operands.types));
}

/// Texts such as "[[64, 1], []]": strides of each operand, as heddle_trace records them.
void take_strides(std::vector<Argument>& arguments, const std::string& text) {
    if (text.empty()) return;
    const Literal recorded = parse_literal(text);
    const auto take = [](RecordedTensor& tensor, const Literal* strides) {
        if (strides != nullptr) take_strides(tensor, strides->integers());
    };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Literal* one = item(recorded, i);
        if (arguments[i].tensor) take(*arguments[i].tensor, one);
        for (std::size_t k = 0; k < arguments[i].tensors.size() && one != nullptr; ++k)
            take(arguments[i].tensors[k], item(*one, k));
    }
}

/// A whole number that the gate admits; nothing recorded: `fallback`, which may also stand there itself.
std::int64_t count_of(const trace::ChakraNode& node, const std::string& attribute, const Gate& gate,
                      std::int64_t fallback, const SourceLocation& where) {
    const trace::ChakraValue* value = node.find(attribute);
    if (value == nullptr) return fallback;
    const SourceLocation place{.key = where.key + ", " + attribute};
    if (const auto* number = std::get_if<std::uint64_t>(value))
        return static_cast<std::int64_t>(gate.check(*number, place));
    if (const auto* number = std::get_if<double>(value))
        return static_cast<std::int64_t>(gate.check(*number, place));
    const std::int64_t number = node.integer(attribute, fallback);
    return number == fallback ? fallback : gate.check(number, place);
}

double duration_of(const trace::ChakraNode& node, const SourceLocation& where) {
    constexpr Gate kNanoseconds{"a time in nanoseconds", 0, 1e3 * gates::kMicroseconds.most, true};
    const std::int64_t nanoseconds = count_of(node, "duration_ns", kNanoseconds, 0, where);
    if (nanoseconds > 0) return 1e-3 * static_cast<double>(nanoseconds);
    return static_cast<double>(gates::kMicroseconds.check(node.duration_us, where));
}

Call call_of(const trace::ChakraNode& node, Names& names) {
    const SourceLocation where{.key =
                                   "node " + std::to_string(node.id) + " (" + node.name.substr(0, 60) + ")"};
    Call call;
    call.id = node.id;
    call.full_name = names.of(node.name);
    call.on_gpu = !node.boolean("is_cpu_op", true);
    if (!node.control_dependencies.empty()) call.caller = node.control_dependencies[0];
    call.sequence = node.integer("seq_id", -1);
    call.stream = node.integer("stream", -1);
    call.collective_bytes = count_of(node, "comm_size", gates::kBytes, -1, where);
    call.ranks = count_of(node, "pg_size", gates::kThings, -1, where);
    call.duration_us = duration_of(node, where);
    if (!node.inputs.values.empty()) call.operand_digest = std::hash<std::string>{}(node.inputs.values) | 1;
    try {
        call.inputs = arguments_of(node.inputs);
        call.outputs = arguments_of(node.outputs);
        call.has_results = !node.outputs.values.empty();
        take_strides(call.inputs, node.text("input_strides"));
        take_strides(call.outputs, node.text("output_strides"));
    } catch (const Error& error) {
        throw Error("operands are not readable: " + std::string(error.what()), where);
    }
    return call;
}

}  // namespace

std::optional<ElementType> torch_element_type(const std::string& name) {
    for (const TypeName& entry : type_names) {
        if (name == entry.name) return entry.type;
    }
    return std::nullopt;
}

void take_strides(RecordedTensor& tensor, const Shape& strides) {
    if (strides.empty() || strides.size() != tensor.shape.size()) return;
    if (!trace::storage_reach(tensor.offset, tensor.shape, strides))
        throw Error("no memory holds a tensor " + trace::to_text(tensor.shape) + " with strides " +
                    trace::to_text(strides));
    tensor.strides = strides;
}

std::optional<RecordedTensor> tensor_of(const Literal& value, const Literal* shape, const std::string& type) {
    const LiteralList* fields = value.list();
    const auto known = torch_element_type(type);
    if (fields == nullptr || fields->size() < 5 || !known) return std::nullopt;
    for (std::size_t i = 0; i < 5; ++i) {
        const auto& value_there = (*fields)[i].value;
        if (std::holds_alternative<std::int64_t>(value_there)) continue;
        if (std::holds_alternative<std::string>(value_there) ||
            std::holds_alternative<LiteralList>(value_there))
            return std::nullopt;
        throw Error("number " + std::to_string(i + 1) + " of a tensor is no whole number of 64 bits");
    }
    const auto field = [fields](std::size_t i) { return std::get<std::int64_t>((*fields)[i].value); };
    RecordedTensor tensor;
    tensor.id = static_cast<std::uint64_t>(field(0));
    tensor.storage = static_cast<std::uint64_t>(field(1));
    tensor.offset = field(2);
    tensor.type = *known;
    if (fields->size() > 5 && (*fields)[5].text() != nullptr)
        tensor.on_host = (*fields)[5].text()->rfind("cpu", 0) == 0;
    tensor.shape = shape != nullptr ? shape->integers() : Shape{field(3)};
    if (shape != nullptr && shape->list() != nullptr && shape->list()->size() != tensor.shape.size())
        throw Error("an extent of a tensor is no whole number of 64 bits");
    if (!trace::is_possible(tensor.shape) || !trace::storage_reach(tensor.offset, tensor.shape, {}))
        throw Error("there is no tensor " + trace::to_text(tensor.shape) + " at element " +
                        std::to_string(tensor.offset) + " of its storage",
                    {}, "it has " + gates::kElements.range() + " elements");
    tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
    return tensor;
}

std::vector<Argument> arguments_of(Literal values, const Literal& shapes, const Literal& types) {
    std::vector<Argument> result;
    auto* list = std::get_if<LiteralList>(&values.value);
    if (list == nullptr) return result;
    result.reserve(list->size());
    for (std::size_t i = 0; i < list->size(); ++i) {
        Argument argument;
        Literal& value = (*list)[i];
        const Literal* type = item(types, i);
        const Literal* shape = item(shapes, i);
        const bool typed = type != nullptr && type->text() != nullptr;
        const std::vector<std::string> named =
            typed ? tensor_types(*type->text()) : std::vector<std::string>{};
        const bool is_list = typed && type->text()->rfind("GenericList", 0) == 0;
        if (!named.empty() && is_list && value.list() != nullptr) {
            auto& parts = std::get<LiteralList>(value.value);
            for (std::size_t k = 0; k < parts.size(); ++k) {
                const Literal* part = shape != nullptr ? item(*shape, k) : nullptr;
                const auto tensor = tensor_of(parts[k], part, named[std::min(k, named.size() - 1)]);
                if (!tensor) continue;
                argument.tensors.push_back(*tensor);
                parts[k] = Literal{std::int64_t{0}};  // its place in the list is all that is still asked for
            }
            argument.tensors.shrink_to_fit();
        } else if (!named.empty()) {
            argument.tensor = tensor_of(value, shape, named[0]);
        }
        // A tensor's numbers are in `tensor`; the rest may be asked for again.
        if (!argument.tensor) argument.value = std::move(value);
        result.push_back(std::move(argument));
    }
    return result;
}

bool RecordedTensor::is_contiguous() const {
    std::int64_t expected = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] == 1) continue;
        if (strides[axis] != expected) return false;
        expected *= shape[axis];
    }
    return true;
}

namespace {

/// "aten::add_(0)"
bool is_part(const std::string& name) {
    const std::size_t open = name.rfind('(');
    return open != std::string::npos && name.back() == ')' &&
           std::all_of(name.begin() + static_cast<std::ptrdiff_t>(open) + 1, name.end() - 1,
                       [](char c) { return c >= '0' && c <= '9'; });
}

/// Converters to Chakra split a call in parts "name(0)", "name(1)" and number them anew, and may so turn the
/// way to their callers into a circle.
bool circle_of_parts(const Recording& recording, const Call& member) {
    const Call* call = &member;
    do {
        if (is_part(call->full_name)) return true;
        call = recording.parent(*call);
    } while (call != nullptr && call != &member);
    return false;
}

}  // namespace

std::string plain_name(const std::string& name) {
    std::string result = name;
    if (is_part(result)) result.erase(result.rfind('('));
    if (result.rfind("aten::", 0) != 0) return result;
    result.erase(0, 6);
    if (result.size() > 1 && result.back() == '_' && result[result.size() - 2] != '_') result.pop_back();
    return result;
}

const RecordedTensor* Call::gpu_tensor(std::size_t index) const {
    if (index >= inputs.size() || !inputs[index].tensor || !inputs[index].tensor->on_gpu()) return nullptr;
    return &*inputs[index].tensor;
}

const RecordedTensor* Call::output_tensor(std::size_t index) const {
    if (index >= outputs.size() || !outputs[index].tensor) return nullptr;
    return &*outputs[index].tensor;
}

const Literal* Call::literal(std::size_t index) const {
    return index < inputs.size() && !inputs[index].tensor ? &inputs[index].value : nullptr;
}

Recording::Recording(const trace::ChakraGraph& graph) {
    for (const trace::ChakraNode& node : graph.nodes) add(node);
    finish();
    check_callers();
}

void Recording::add(const trace::ChakraNode& node) {
    dependencies_.insert(dependencies_.end(), node.data_dependencies.begin(), node.data_dependencies.end());
    add(call_of(node, names_));
}

void Recording::add(Call call) {
    call.position = calls_.size();
    call.name = names_.of(plain_name(call.full_name));
    for (auto* arguments : {&call.inputs, &call.outputs}) {
        for (Argument& argument : *arguments) apply_strides(argument);
    }
    learn_strides(call);
    dependency_starts_.push_back(dependencies_.size());
    calls_.push_back(std::move(call));
}

void Recording::apply_strides(Argument& argument) {
    const auto apply = [this](RecordedTensor& tensor) {
        // A reader that knows of none leaves them out.
        if (tensor.strides.size() != tensor.shape.size())
            tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
        const auto known = strides_.find(tensor.id);
        if (known == strides_.end()) return;
        // Ids are used again when a tensor is freed: shape and storage must still be the same.
        if (known->second.storage != tensor.storage || known->second.shape != tensor.shape) return;
        tensor.strides = known->second.strides;
    };
    if (argument.tensor) apply(*argument.tensor);
    for (RecordedTensor& tensor : argument.tensors) apply(tensor);
}

/// Views carry strides in their arguments; what they make is remembered by tensor id.
void Recording::learn_strides(Call& call) {
    const RecordedTensor* output = call.output_tensor(0);
    if (output == nullptr) return;
    Shape strides;
    if (call.name == "as_strided" || call.name == "_reshape_alias" ||
        call.name == "inductor::_reinterpret_tensor") {
        if (call.inputs.size() > 2) strides = call.inputs[2].value.integers();
    } else if (call.name == "empty_strided") {
        if (call.inputs.size() > 1) strides = call.inputs[1].value.integers();
    } else if (call.name == "alias" || call.name == "detach" || call.name == "view_as" ||
               call.name == "view") {
        const RecordedTensor* source = call.gpu_tensor(0);
        if (source != nullptr && source->shape == output->shape) strides = source->strides;
    } else if (call.name == "empty" || call.name == "resize") {
        strides_.erase(output->id);
        return;
    } else {
        return;
    }
    const bool sane = std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s >= 0; }) &&
                      trace::storage_reach(output->offset, output->shape, strides);
    if (strides.size() != output->shape.size() || !sane) {
        strides_.erase(output->id);
        return;
    }
    call.outputs[0].tensor->strides = strides;
    strides_[output->id] = {output->storage, output->shape, strides};
}

std::optional<std::size_t> Recording::position_of(std::uint64_t id) const {
    const auto found = std::lower_bound(by_id_.begin(), by_id_.end(), std::pair{id, std::uint32_t{0}});
    if (found == by_id_.end() || found->first != id) return std::nullopt;
    return found->second;
}

std::optional<std::size_t> Recording::launcher_of(const Call& call) const {
    const auto recorded = call.caller == 0 ? std::nullopt : position_of(call.caller);
    const auto same_operands = [&](std::size_t at) {
        return calls_[at].operand_digest == call.operand_digest && !calls_[at].on_gpu;
    };
    if (!call.on_gpu || call.operand_digest == 0 || (recorded && same_operands(*recorded))) return recorded;
    // Kernels carry the operands of the call that launched them. Converters that split calls in parts
    // renumber nodes and leave kernels under a stranger; the call is then among the data dependencies.
    for (const std::uint64_t id : data_dependencies(call)) {
        const auto at = position_of(id);
        if (at && same_operands(*at)) return at;
    }
    return recorded && calls_[*recorded].on_gpu ? std::nullopt : recorded;
}

void Recording::index_numbers() {
    if (calls_.size() > std::numeric_limits<std::uint32_t>::max() - 1) {
        throw Error("the recording has " + std::to_string(calls_.size()) +
                    " calls, more than 4 thousand million");
    }
    by_id_.reserve(calls_.size());
    for (const Call& call : calls_) {
        const auto position = static_cast<std::uint32_t>(call.position);
        by_id_.emplace_back(call.id, position);
        if (call.sequence >= 0) by_sequence_.emplace_back(call.sequence, position);
    }
    std::sort(by_id_.begin(), by_id_.end());
    std::sort(by_sequence_.begin(), by_sequence_.end());
    for (std::size_t i = 1; i < by_id_.size(); ++i) {
        if (by_id_[i].first != by_id_[i - 1].first) continue;
        const Call& call = calls_[by_id_[i].second];
        throw Error("two nodes have this number",
                    {.key = "node " + std::to_string(call.id) + " (" + call.full_name.substr(0, 60) + ")"},
                    "the recording is damaged, or two of them were joined without renumbering");
    }
}

void Recording::list_children() {
    child_starts_.assign(calls_.size() + 1, 0);
    for (const Call& call : calls_)
        if (call.parent) ++child_starts_[*call.parent + 1];
    for (std::size_t i = 1; i < child_starts_.size(); ++i) child_starts_[i] += child_starts_[i - 1];
    children_.resize(child_starts_.back());
    std::vector<std::uint32_t> next(child_starts_.begin(), child_starts_.end() - 1);
    for (const Call& call : calls_)
        if (call.parent) children_[next[*call.parent]++] = static_cast<std::uint32_t>(call.position);
}

void Recording::finish() {
    strides_ = {};
    index_numbers();
    for (Call& call : calls_) {
        const auto parent = launcher_of(call);
        if (parent && *parent != call.position) call.parent = parent;
        if (call.on_gpu) kernels_.push_back(call.position);
    }
    list_children();
}

std::span<const std::uint32_t> Recording::children(const Call& call) const {
    return std::span(children_).subspan(child_starts_[call.position],
                                        child_starts_[call.position + 1] - child_starts_[call.position]);
}

std::span<const std::uint64_t> Recording::data_dependencies(const Call& call) const {
    return std::span(dependencies_)
        .subspan(dependency_starts_[call.position],
                 dependency_starts_[call.position + 1] - dependency_starts_[call.position]);
}

void Recording::check_callers() const {
    // 0: not looked at; 1: on the way up from the call at hand; 2: leads to a call without a caller.
    std::vector<std::uint8_t> state(calls_.size());
    std::vector<std::size_t> way;
    for (const Call& call : calls_) {
        way.clear();
        const Call* up = &call;
        while (up != nullptr && state[up->position] == 0) {
            state[up->position] = 1;
            way.push_back(up->position);
            up = parent(*up);
        }
        if (up != nullptr && state[up->position] == 1 && !circle_of_parts(*this, *up)) {
            throw Error("callers form a circle",
                        {.key = "node " + std::to_string(up->id) + " (" + up->full_name.substr(0, 60) + ")"},
                        "the recording is damaged");
        }
        for (const std::size_t position : way) state[position] = 2;
    }
}

void Recording::place_on_device() {
    const auto each = [this](const auto& change) {
        for (Call& call : calls_) {
            for (auto* arguments : {&call.inputs, &call.outputs}) {
                for (Argument& argument : *arguments) {
                    if (argument.tensor) change(*argument.tensor);
                    for (RecordedTensor& tensor : argument.tensors) change(tensor);
                }
            }
        }
    };
    bool any = false;
    each([&any](const RecordedTensor& tensor) { any = any || tensor.on_gpu(); });
    if (!any) each([](RecordedTensor& tensor) { tensor.on_host = false; });
}

const Call* Recording::find(std::uint64_t id) const {
    const auto position = position_of(id);
    return position ? &calls_[*position] : nullptr;
}

std::vector<const Call*> Recording::enclosing(const Call& call) const {
    std::vector<const Call*> result;
    std::set<std::size_t> seen{call.position};
    for (const Call* up = parent(call); up != nullptr && seen.insert(up->position).second; up = parent(*up)) {
        result.push_back(up);
    }
    return result;
}

const Call* Recording::enclosing(const Call& call, const std::vector<std::string>& names) const {
    for (const Call* up : enclosing(call)) {
        if (std::find(names.begin(), names.end(), up->name) != names.end()) return up;
    }
    return nullptr;
}

std::vector<const Call*> Recording::inside(const Call& scope, const Call& before) const {
    std::vector<const Call*> result;
    const auto made = children(scope);
    std::vector<std::size_t> pending(made.rbegin(), made.rend());
    while (!pending.empty() && result.size() < calls_.size()) {
        const Call& call = calls_[pending.back()];
        pending.pop_back();
        if (call.position >= before.position) continue;
        result.push_back(&call);
        const auto inner = children(call);
        pending.insert(pending.end(), inner.rbegin(), inner.rend());
    }
    return result;
}

const Call* Recording::forward_of(const Call& backward) const {
    const std::int64_t sequence = backward.sequence;
    if (sequence < 0) return nullptr;
    // Several calls carry the number (views before the call take that of the next): the named one, or the
    // last.
    const std::string suffix = "Backward";
    std::string wanted = backward.name;
    if (const std::size_t at = wanted.rfind(suffix); at != std::string::npos) wanted.erase(at);
    const Call* last = nullptr;
    for (auto found = std::lower_bound(by_sequence_.begin(), by_sequence_.end(),
                                       std::pair{sequence, std::uint32_t{0}});
         found != by_sequence_.end() && found->first == sequence; ++found) {
        const std::size_t position = found->second;
        const Call& call = calls_[position];
        if (position >= backward.position || call.on_gpu) continue;
        if (call.name.find(suffix) != std::string::npos) continue;
        if (call.name == wanted) return &call;
        last = &call;
    }
    return last;
}

}  // namespace heddle::importers
