#include "workloads/importers/execution_trace.h"

#include <algorithm>
#include <deque>

#include "workloads/importers/recorded_number.h"
#include "workloads/trace_files/file.h"
#include "workloads/trace_files/json_stream.h"

namespace heddle::importers {
namespace {

using trace::JsonView;

Literal literal_of(const JsonView& value) {
    switch (value.kind()) {
        case JsonView::Kind::nothing:
            return {};
        case JsonView::Kind::boolean:
            return {value.truth()};
        case JsonView::Kind::integer:
            return {value.integer(0)};
        case JsonView::Kind::real:
            return {value.number(0)};
        case JsonView::Kind::text:
            return {std::string(value.text())};
        case JsonView::Kind::object:
            return {};
        case JsonView::Kind::list:
            break;
    }
    LiteralList list;
    list.reserve(value.size());
    for (const JsonView item : value) list.push_back(literal_of(item));
    return {std::move(list)};
}

/// Strides of tensors, as many as axes; those of lists of tensors nest.
void take_strides(std::vector<Argument>& arguments, const JsonView& strides) {
    std::size_t i = 0;
    const auto take = [](RecordedTensor& tensor, const JsonView& recorded) {
        Shape values;
        for (const JsonView stride : recorded) {
            if (stride.is_list()) return;
            values.push_back(recorded_count(stride, gates::kElements, 0, [] { return SourceLocation{}; }));
        }
        take_strides(tensor, values);
    };
    for (const JsonView one : strides) {
        if (i >= arguments.size()) return;
        Argument& argument = arguments[i++];
        if (argument.tensor) take(*argument.tensor, one);
        std::size_t k = 0;
        for (const JsonView part : one)
            if (k < argument.tensors.size()) take(argument.tensors[k++], part);
    }
}

struct NumberedCall {
    Call call;
    std::int64_t number = -1;  ///< rf_id
};

/// Calls in order, and the recording that is to have them; it keeps their names.
struct ReadCalls {
    Recording recording;
    std::deque<NumberedCall> calls;
};

class ExecutionTraceReader {
  public:
    explicit ExecutionTraceReader(const std::string& file) : file_(file) {}

    void member(std::string_view key, const JsonView& value, bool element) {
        if (key == "schema") {
            schema_ = value.text();
            if (schema_.rfind("1.", 0) != 0)
                throw Error("schema " + schema_ + " of execution traces is not known",
                            {.file = file_, .key = "schema"}, "schemas 1.0.1 to 1.1 are read");
        } else if (key == "nodes") {
            if (element) return node(value);
            if (!value.is_list()) throw Error("nodes is not a list", {.file = file_, .key = "nodes"});
        }
    }

    ReadCalls finish() {
        if (calls_.empty())
            throw Error("there is no list `nodes` with calls", {.file = file_},
                        "the file is cut or no trace");
        // Calls are written when they end; numbers are given when they begin.
        std::sort(calls_.begin(), calls_.end(),
                  [](const NumberedCall& a, const NumberedCall& b) { return a.call.id < b.call.id; });
        for (std::size_t i = 1; i < calls_.size(); ++i) {
            if (calls_[i].call.id == calls_[i - 1].call.id)
                throw Error("two nodes have this number",
                            {.file = file_, .key = "node " + std::to_string(calls_[i].call.id)});
        }
        return {std::move(recording_), std::move(calls_)};
    }

  private:
    SourceLocation place(const std::string& member = "") const {
        return {.file = file_,
                .key = "nodes[" + std::to_string(nodes_ - 1) + "]" + (member.empty() ? "" : "." + member)};
    }
    [[noreturn]] void fail(const std::string& problem) const { throw Error(problem, place()); }

    void node(const JsonView& value) {
        ++nodes_;
        if (!value.is_object()) fail("a node is not an object");
        NumberedCall made;
        Call& call = made.call;
        const std::int64_t id = value["id"].integer(-1);
        if (id < 0) fail("the node has no number `id`");
        call.id = static_cast<std::uint64_t>(id);
        if (!value["name"].is_text()) fail("the node has no `name`");
        call.full_name = recording_.names().of(value["name"].text());
        const bool flat = !value["inputs"].is_object();
        const JsonView caller = value[value["ctrl_deps"].exists() ? "ctrl_deps" : "parent"];
        if (const std::int64_t of = caller.integer(0); of > 0 && of != id)
            call.caller = static_cast<std::uint64_t>(of);
        if (flat) {
            made.number = value["rf_id"].integer(-1);
            call.sequence = value["seq_id"].integer(-1);
            call.inputs =
                operands(value["inputs"], value["input_shapes"], value["input_types"], {}, "inputs");
            call.outputs =
                operands(value["outputs"], value["output_shapes"], value["output_types"], {}, "outputs");
        } else {
            attributes(made, value["attrs"]);
            const JsonView in = value["inputs"], out = value["outputs"];
            call.inputs = operands(in["values"], in["shapes"], in["types"], in["strides"], "inputs");
            call.outputs = operands(out["values"], out["shapes"], out["types"], out["strides"], "outputs");
        }
        call.has_results = true;
        calls_.push_back(std::move(made));
    }

    std::vector<Argument> operands(const JsonView& values, const JsonView& shapes, const JsonView& types,
                                   const JsonView& strides, const char* side) const {
        if (!values.is_list() || values.size() == 0) return {};
        try {
            std::vector<Argument> result =
                arguments_of(literal_of(values), literal_of(shapes), literal_of(types));
            if (strides.is_list()) take_strides(result, strides);
            return result;
        } catch (const Error& error) {
            throw Error(error.problem(), place(side), error.remedy());
        }
    }

    void attributes(NumberedCall& made, const JsonView& list) {
        std::int64_t in = -1, out = -1;
        std::string type;
        bool collective = false;
        for (const JsonView attribute : list) {
            const std::string_view name = attribute["name"].text();
            const JsonView value = attribute["value"];
            const auto at = [&] { return place("attrs." + std::string(name)); };
            if (name == "rf_id") made.number = value.integer(-1);
            if (name == "seq_id") made.call.sequence = value.integer(-1);
            if (name == "collective_name") collective = !value.text().empty();
            if (name == "in_msg_nelems") in = recorded_count(value, gates::kElements, -1, at);
            if (name == "out_msg_nelems") out = recorded_count(value, gates::kElements, -1, at);
            if (name == "dtype") type = value.text();
            if (name == "pg_size") made.call.ranks = recorded_count(value, gates::kThings, -1, at);
        }
        if (collective) made.call.collective_bytes = collective_bytes(in, out, type);
    }

    const std::string& file_;
    std::string schema_;
    Recording recording_;
    std::deque<NumberedCall> calls_;
    std::size_t nodes_ = 0;
};

ReadCalls read_calls(std::istream& text, const std::string& file) {
    ExecutionTraceReader reader(file);
    trace::read_json_members(text, file, [&reader](std::string_view key, JsonView value, bool element) {
        reader.member(key, value, element);
    });
    return reader.finish();
}

}  // namespace

std::int64_t collective_bytes(std::int64_t in, std::int64_t out, const std::string& type) {
    struct Size {
        const char* name;
        std::int64_t bytes;
    };
    static constexpr Size sizes[] = {
        {"Double", 8}, {"Long", 8}, {"Float", 4}, {"Int", 4},  {"Half", 2},          {"BFloat16", 2},
        {"Short", 2},  {"Byte", 1}, {"Char", 1},  {"Bool", 1}, {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    const std::int64_t elements = std::max(in, out);
    if (elements < 0) return -1;
    for (const Size& size : sizes)
        if (type == size.name) return elements * size.bytes;
    const auto torch = torch_element_type(type);
    return torch ? elements * trace::bytes_of(*torch) : -1;
}

Recording read_execution_trace(std::istream& text, const std::string& file) {
    auto [recording, calls] = read_calls(text, file);
    for (; !calls.empty(); calls.pop_front()) recording.add(std::move(calls.front().call));
    recording.finish();
    trace::in_file(file, [&made = recording] { made.check_callers(); });
    return std::move(recording);
}

RecordedOperands read_operands(std::istream& text, const std::string& file) {
    auto [recording, calls] = read_calls(text, file);
    // Views say how tensors lie in memory: read in order, as for a recording of its own.
    std::vector<std::int64_t> numbers;
    for (; !calls.empty(); calls.pop_front()) {
        numbers.push_back(calls.front().number);
        recording.add(std::move(calls.front().call));
    }
    RecordedOperands operands;
    operands.file = file;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] <= 0) continue;
        Call& call = recording.call(i);
        operands.calls.insert_or_assign(
            numbers[i],
            RecordedOperands::Entry{operands.names.of(call.full_name.text()), std::move(call.inputs),
                                    std::move(call.outputs), call.collective_bytes, call.ranks});
    }
    return operands;
}

}  // namespace heddle::importers
