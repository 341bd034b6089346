// Evaluates a program of XLA, instruction by instruction, into a Trace. One file for each group of
// operations.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/hlo/coming_turns.h"
#include "workloads/hlo/module.h"
#include "workloads/hlo/trace_writer.h"
#include "workloads/hlo/value.h"

namespace heddle::hlo {

/// "size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=1x1 rhs_dilate=1x1": of convolutions and of reductions over
/// windows.
struct Window {
    Dimensions size, stride, low, high, base_dilation, window_dilation, reversed;
};

/// Converts one module. An object converts only once.
class Converter {
  public:
    explicit Converter(const Module& module) : module_(module), writer_(module.name) {}
    Program run();

  private:
    /// Far more than programs have: computations that call others twice, again and again, never end
    /// otherwise.
    static constexpr std::size_t kMostInstructions = 1'000'000, kMostOps = 300'000;
    using Operands = std::vector<Value>;
    /// Values by name; regions see those of the computation around them.
    struct Scope {
        Scope* around = nullptr;
        std::map<std::string, Value> values;
    };

    // to_trace.cpp: evaluation
    [[noreturn]] void fail(const Instruction& at, const std::string& problem,
                           const std::string& remedy = "") const;
    /// The program comes to more than programs have.
    [[noreturn]] void fail_at_limit(const Instruction& at) const;
    const Computation& computation(const std::string& name, unsigned line) const;
    const Computation& computation_of(const Instruction& at, const std::string& key) const;
    static TraceWriter::Label label(const Instruction& at);
    static Dimensions list(const Instruction& at, const std::string& key);
    static std::string text(const Instruction& at, const std::string& key);
    Value new_input(const Shape& shape, const std::string& name);
    View written(Value& value, const std::string& name = "fused");
    View densely(const Instruction& at, Value& value) {
        return writer_.densely(label(at), forwards(at, written(value, at.name)));
    }
    std::vector<Value> evaluate(const Computation& body, const Operands& arguments, Scope* around);
    /// Checked, with a line in every error.
    Value evaluate_one(const Instruction& at, Operands& operands, const Operands& arguments, Scope& scope);
    Value& lookup(Scope& scope, const Instruction& at, const std::string& name);
    Value evaluate(const Instruction& at, Operands& operands, const Operands& arguments, Scope& scope);
    Value call(const Instruction& at, Operands& operands, Scope& scope);
    Value tuple(const Instruction& at, Operands& operands) const;
    Value unknown(const Instruction& at, Operands& operands, const std::string& why = "");
    Value dimension_size(const Instruction& at, const Value& of) const;
    /// A tuple's parts one behind the other, and a value of the shape made of as many views.
    static std::vector<TraceWriter::Result> flat(const Shape& shape);
    static Value built(const Shape& shape, const std::vector<View>& views);

    // communication.cpp
    static bool is_collective(const std::string& opcode);
    Value collective(const Instruction& at, Operands& operands);
    static Value context(const Shape& shape);
    /// Converts one half of an operation that consists of a start and a done instruction; returns nothing for
    /// any other operation.
    std::optional<Value> half(const Instruction& at, Operands& operands, Scope& scope);

    // check.cpp: throw an Error at the instruction that does not fit
    void check_operands(const Instruction& at, const Operands& operands) const;
    void check_result(const Instruction& at, const Value& value) const;
    static bool has_shape(const Value& value, const Shape& shape);
    void check_window(const Instruction& at, const Window& window) const;
    void check_convolution(const Instruction& at, const Window& window, const Dimensions& input,
                           const Dimensions& filter, const Dimensions& output) const;

    // loops.cpp: turns are evaluated, counted or missing; branches taken where the program says which
    /// A loop on its way.
    struct Turns {
        std::size_t evaluated = 0;  ///< one by one
        double counted = 0;         ///< those too that others stand for
        double left = 0;            ///< by its condition, if its numbers go on as they do
        bool even = false;          ///< its numbers did go on so
        bool is_long = false;       ///< not to be written out
        bool apart = false;         ///< each turn writes what it hands to the next
        Operands before;            ///< what the last turn began with
        std::size_t last_instructions = 0, last_ops = 0;  ///< of the last turn
        std::size_t begins_at = 0;                        ///< ops before this turn
    };
    Value loop(const Instruction& at, Operands& operands, Scope& scope);
    /// Evaluates a turn of `state`, whose numbers have the steps of `stepped`, and holds it for those that do
    /// the same; `state` is what the next turn begins with. The turns that do the same, this one among them.
    double turn(const Instruction& at, const Computation& body, Operands& state, Operands stepped,
                Turns& turns, Scope& scope);
    /// What was settled before this turn belongs to the last one.
    void end_last_turn(Turns& turns, bool was_apart);
    bool may_be_written_out(const Turns& turns) const;
    bool is_too_much(const Turns& turns) const;
    /// The state with the steps of its numbers, innermost loop last.
    Operands with_steps(const Operands& state, const Turns& turns) const;
    void settle(Value& value, const std::string& name);
    /// Numbers that do not rise evenly are tensors in a long loop.
    void settle_uneven(Value& now, Value& stepped, const std::string& name);
    /// What decides how a value of the state is read and written, but for where it lies.
    struct Form {
        Value::Kind kind;
        trace::ElementType type;
        Dimensions shape, layout, strides;
        std::size_t tensor;  ///< the same for values of the state that share one
        bool begins_later, is_whole, is_input, is_overwritten;
        bool operator==(const Form&) const = default;
    };
    std::vector<Form> forms_of(const Operands& state) const;
    /// Whether numbers change by their steps.
    bool go_on(const Value& from, const Value& to) const;
    Value missing_turns(const Instruction& at, Operands& state, const Turns& turns, const std::string& why);
    Value conditional(const Instruction& at, Operands& operands, Scope& scope);

    // arithmetic.cpp: element by element
    const std::string* elementwise(const Instruction& at, const Operands& operands) const;
    Value apply(const Instruction& at, const std::string& pattern, Operands& operands);
    std::string text_of(Value& value, Value& into);
    /// `pattern` over the operands; may end as an epilogue that no device has.
    Value joined(const Instruction& at, const std::string& pattern, Operands operands);
    Value compare(const Instruction& at, Operands& operands);
    Value constant(const Instruction& at);
    Value iota(const Instruction& at);
    Value random(const Instruction& at, Operands& operands);
    Value random_function(const Instruction& at, Operands& operands);

    // views.cpp: other ways of reading
    Value broadcast(const Instruction& at, Value& from);
    Value transpose(const Instruction& at, Value& from);
    Value bitcast(const Instruction& at, Value& from);
    Value reshape(const Instruction& at, Value& from, const Dimensions& to);
    Value turned(const Instruction& at, Value& from, const Dimensions& axes);
    Value slice(const Instruction& at, Value& from);
    Value reverse(const Instruction& at, Value& from);
    Value pad(const Instruction& at, Operands& operands);
    View bordered(const Instruction& at, View view, const Dimensions& low, double value);
    Value concatenate(const Instruction& at, Operands& operands);
    void check_starts(const Instruction& at, const Operands& operands, std::size_t first,
                      const Dimensions& shape, const Dimensions& sizes) const;
    Value dynamic_slice(const Instruction& at, Operands& operands);
    Value dynamic_update_slice(const Instruction& at, Operands& operands);
    /// Without axes that are read from their end.
    View forwards(const Instruction& at, View view);

    // products.cpp
    View matrix(const Instruction& at, View view, const Dimensions& batch, const Dimensions& first,
                const Dimensions& last);
    /// As every device reads it: dense, or dense when transposed (then `attributes` say so under `key`).
    View matrix_operand(const TraceWriter::Label& label, const View& view, trace::Integer key,
                        TraceWriter::Attributes& attributes);
    Value dot(const Instruction& at, Operands& operands);
    /// Sine and cosine, which no device has: the angle is brought to [-pi, pi], then a polynomial.
    Value sinusoid(const Instruction& at, Operands& operands);

    // convolution.cpp: what slides
    Window window(const Instruction& at, std::size_t axes) const;
    Value convolution(const Instruction& at, Operands& operands);
    Value reduce_window(const Instruction& at, Operands& operands);
    Value maximum_with_position(const Instruction& at, Operands& operands);
    Value select_and_scatter(const Instruction& at, Operands& operands);

    // reductions.cpp: over whole axes, and lookups
    /// The one operation of a computation of two arguments, or nothing.
    std::string applied(const Instruction& at, const std::string& key) const;
    Value reduce(const Instruction& at, Operands& operands);
    Value gather(const Instruction& at, Operands& operands);
    Value scatter(const Instruction& at, Operands& operands);
    Value scatter_along(const Instruction& at, Value& base, const View& indices, const View& updates,
                        bool adds);
    std::vector<View> with_rows(const Instruction& at, const View& table, const View& indices);
    std::vector<View> index_tensors(const Instruction& at, Value& indices, std::int64_t vector_axis,
                                    std::size_t coordinates);

    const Module& module_;
    TraceWriter writer_;
    ComingTurns coming_;
    std::map<std::pair<std::int64_t, trace::ElementType>, View> ranges_;  // 0, 1, 2, ...
    std::vector<const Computation*> open_;  // that are being evaluated, each called by the one before
    std::size_t evaluated_ = 0;             // instructions
};

}  // namespace heddle::hlo
