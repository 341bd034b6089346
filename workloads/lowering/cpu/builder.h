// Writes the program of one op: views of its tensors, loops, registers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/cpu/program.h"
#include "workloads/expression/expression.h"
#include "workloads/lowering/cpu/cpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering::on_cpu {

using cpu::Affine;
using cpu::ElementType;
using cpu::Mask;
using cpu::Opcode;

/// Thrown where no program carries out the op; the reason is for users.
struct Unsupported {
    std::string reason;
};

/// Where a tensor lies: strides and offset in elements.
struct View {
    std::uint16_t buffer = 0;
    ElementType type = ElementType::f32;
    std::int64_t offset = 0;
    std::vector<std::int64_t> shape, strides;

    std::int64_t elements() const;
    /// The place of the element at these indices, one for each axis.
    Affine at(const std::vector<Affine>& indices) const;
    bool dense() const;  ///< row-major without gaps
};

/// A view of the same elements with another shape of as many; the view must be dense.
View reshaped(const View& view, std::vector<std::int64_t> shape);
/// Broadcast by NumPy's rules.
View broadcast(const View& view, const std::vector<std::int64_t>& shape);

class Builder;

/// A vector register, free again when the last handle goes.
class Register {
  public:
    Register(Builder& builder, std::int8_t number) : builder_(builder), number_(number) {}
    ~Register();
    Register(const Register&) = delete;
    Register& operator=(const Register&) = delete;
    std::int8_t number() const { return number_; }

  private:
    Builder& builder_;
    std::int8_t number_;
};
using Value = std::shared_ptr<Register>;

/// Collects the program of one op.
class Builder {
  public:
    Builder(const trace::Trace& trace, const trace::Op& op, const CpuTarget& target);

    const trace::Trace& trace() const { return trace_; }
    const trace::Op& op() const { return op_; }
    const CpuTarget& target() const { return target_; }
    std::int64_t lanes() const { return lanes_; }
    const trace::Tensor& input(std::size_t i) const { return trace_.tensor(op_.inputs.at(i)); }
    const trace::Tensor& output(std::size_t i) const { return trace_.tensor(op_.outputs.at(i)); }

    /// The operands, following "input<i>_strides" and "input<i>_offset". Throw Unsupported for types that no program computes with.
    View in(std::size_t i);
    View out(std::size_t i);
    /// The operand as one dense run of elements; throw Unsupported where it is none.
    View dense_in(std::size_t i);
    View dense_out(std::size_t i);
    /// Memory for intermediate results; of each thread its own when `per_thread`.
    View scratch(std::vector<std::int64_t> shape, ElementType type = ElementType::f32, bool per_thread = false);

    /// A region over these counts; the body is called once with the counters. `work`: elements, of which each thread should have 32768
    /// (0: all threads take part).
    void parallel(const std::string& name, const std::vector<std::int64_t>& counts, std::int64_t work,
                  const std::function<void(const std::vector<Affine>&)>& body);
    /// A loop; a count of one makes none.
    void loop(std::int64_t count, const std::function<void(const Affine&)>& body);
    /// A loop of min(count, limit) trips.
    void loop_limited(std::int64_t count, const Affine& limit, const std::function<void(const Affine&)>& body);
    /// Carries out the body for the vectors of [0, length): whole ones in a loop, and what is left with a mask. `body(first, masks)`:
    /// the first element of the vector.
    void vectors(std::int64_t length, const std::function<void(const Affine&, const std::vector<Mask>&)>& body);

    /// Throws Unsupported when none is free.
    Value fresh();
    Value load(const View& view, const Affine& element, std::int64_t step = 1, const std::vector<Mask>& masks = {});
    /// Bits of pairs or groups: `step` in elements of the view's type.
    Value load_raw(const View& view, const Affine& element, std::int64_t step);
    void store(const View& view, const Affine& element, const Value& value, std::int64_t step = 1, const std::vector<Mask>& masks = {});
    void store_raw(const View& view, const Affine& element, const Value& value, std::int64_t step);
    /// The element of lane 0 alone.
    void store_first(const View& view, const Affine& element, const Value& value);
    Value gather_row(const View& view, const Affine& element, const Value& index, std::int64_t row_elements, std::int64_t step,
                     const std::vector<Mask>& masks = {});
    void scatter_row(const View& view, const Affine& element, const Value& index, std::int64_t row_elements, const Value& value,
                     const std::vector<Mask>& masks = {});
    Value constant(float value);
    Value bits(std::uint32_t bits);
    Value index(const Affine& first, std::int64_t step);
    Value apply(Opcode opcode, const Value& a, const Value& b = nullptr, const Value& c = nullptr);
    void apply_into(const Value& d, Opcode opcode, const Value& a, const Value& b = nullptr, const Value& c = nullptr);
    void set_into(const Value& d, float value);
    Value shift_right(const Value& a, unsigned distance);
    /// `value` where the lanes are active, `fill` elsewhere.
    Value masked(const Value& value, const std::vector<Mask>& masks, float fill);
    void tile(Opcode opcode, int d, int a = 0, int b = 0);
    void tile_memory(Opcode opcode, int tile, const View& view, const Affine& element, std::int64_t row_elements);

    // Functions of the vector library, by polynomials.
    Value exponential(const Value& x);
    Value logarithm(const Value& x);
    Value hyperbolic_tangent(const Value& x);
    Value sigmoid(const Value& x);
    Value error_function(const Value& x);
    Value reciprocal_square_root(const Value& x);

    /// The outputs of an expression. `input(i)` loads operand i; `position`: the element of lane 0.
    std::vector<Value> evaluate(const expression::Expression& expression, const std::vector<double>& scalars,
                                const std::function<Value(unsigned)>& input, const Affine& position, std::int64_t position_step);

    CpuLoweredOp finish();

  private:
    friend class Register;
    View view_of(trace::TensorId id, const std::string& operand);
    cpu::Instruction& emit(Opcode opcode);
    void memory(cpu::Instruction& instruction, const View& view, const Affine& element, std::int64_t step, const std::vector<Mask>& masks);
    void add_loop(std::int64_t count, bool bounded, const Affine& limit, const std::function<void(const Affine&)>& body);

    const trace::Trace& trace_;
    const trace::Op& op_;
    CpuTarget target_;
    std::int64_t lanes_;
    CpuLoweredOp lowered_;
    std::map<std::uint64_t, std::uint16_t> buffers_;  ///< by storage
    std::vector<cpu::Body*> bodies_;                  ///< innermost last
    std::uint32_t counters_ = 0;                      ///< bits: in use
    std::vector<bool> registers_;                     ///< in use
    unsigned scratches_ = 0;
};

/// y_i = output i of the expression over inputs, element by element over `shape`: all views have that shape (broadcast axes have
/// stride 0). Inputs of type i64 and i32 are numbers.
void map(Builder& builder, const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<View>& inputs,
         const std::vector<View>& outputs, const expression::Expression& expression, const std::vector<double>& scalars = {});

/// One operand of a product: strides in elements of [batch..., rows, columns].
struct Matrix {
    View view;
    std::int64_t row = 0, column = 0;  ///< strides
};

/// Emits the loops of C[rows, columns] = A B (+ C), where `a(row, k)` and `b(k, column)` are elements and columns of B and C are
/// contiguous; for a part within a region. Rows beyond `rows` and columns beyond `columns` are left alone.
void small_product(Builder& builder, std::int64_t rows, std::int64_t columns, std::int64_t depth, const View& a, const Affine& a_at, std::int64_t a_row,
                   std::int64_t a_depth, const View& b, const Affine& b_at, std::int64_t b_depth, const View& c, const Affine& c_at, std::int64_t c_row,
                   bool accumulate, float factor = 1);

// By kind of op; those that are missing are unsupported.
void lower_matmul(Builder&);
void lower_elementwise(Builder&);
void lower_reduce(Builder&);
void lower_softmax_cross_entropy(Builder&);
void lower_softmax_cross_entropy_grad(Builder&);
void lower_softmax(Builder&);
void lower_softmax_grad(Builder&);
void lower_layer_norm(Builder&);
void lower_layer_norm_grad(Builder&);
void lower_rms_norm(Builder&);
void lower_rms_norm_grad(Builder&);
void lower_batch_norm(Builder&);
void lower_batch_norm_grad(Builder&);
void lower_attention(Builder&);
void lower_attention_grad(Builder&);
void lower_convolution(Builder&);
void lower_convolution_data_grad(Builder&);
void lower_convolution_weight_grad(Builder&);
void lower_pooling(Builder&);
void lower_pooling_grad(Builder&);
void lower_lstm_cell(Builder&);
void lower_lstm_cell_grad(Builder&);
void lower_embedding(Builder&);
void lower_embedding_grad(Builder&);
void lower_gather(Builder&);
void lower_scatter(Builder&);
void lower_copy(Builder&);
void lower_concat(Builder&);
void lower_fill(Builder&);
void lower_dropout(Builder&);
void lower_random(Builder&);

}  // namespace heddle::lowering::on_cpu
