#include "workloads/kernels/lstm_cell.h"

#include "isa/common/error.h"
#include "workloads/kernels/expression_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kLstmCellThreads = 256;

class LstmCellWriter {
  public:
    explicit LstmCellWriter(const LstmCellSpec& spec)
        : spec_(spec),
          w_(std::string(spec.gradient ? "lstm_cell_grad_" : "lstm_cell_") + name_of(spec.type) + "_bias" +
                 std::to_string(spec.biases) + (spec.keeps_gates ? "_gates" : ""),
             spec.compute_capability) {}

    GeneratedKernel write() {
        const std::vector<const char*> names =
            spec_.gradient ? std::vector<const char*>{"dh", "dc", "c", "new_c", "gates", "d_gates", "d_old"}
                           : std::vector<const char*>{"from_x", "from_h", "c",     "bias0",
                                                      "bias1",  "new_h",  "new_c", "gates"};
        for (const char* name : names) pointers_.push_back(w_.pointer_parameter(name));
        const Reg elements = w_.b32_parameter("elements");
        const PtxWriter::Divider columns = w_.divider_parameter("columns");
        const std::string end = w_.new_label("end");
        index_ = w_.make_b32("mad.lo.u32", w_.cta_x(), kLstmCellThreads, w_.tid());
        w_.jump_if(w_.make_predicate("setp.ge.u32", index_, elements), end);
        const Reg row = w_.divide_fast(index_, columns);
        column_ = w_.remainder_fast(index_, row, columns);
        columns_ = columns.divisor;
        // 4 * row * columns + column
        first_gate_ = w_.make_b32("mad.lo.u32", w_.make_b32("mul.lo.u32", row, columns_), 3, index_);
        if (spec_.gradient)
            gradient();
        else
            forward();
        w_.place(end);
        return w_.finish({kLstmCellThreads, 1, 1});
    }

  private:
    Reg load(unsigned pointer, const Reg& element) {
        const Reg address = w_.element_address(pointers_[pointer], element, bytes_of(spec_.type));
        return load_elements(w_, "ld.global.nc", spec_.type, 1, address, 0, ComputeType::f32)[0];
    }
    void store(unsigned pointer, const Reg& element, const Reg& value) {
        const Reg address = w_.element_address(pointers_[pointer], element, bytes_of(spec_.type));
        store_elements(w_, "st.global", spec_.type, {value}, address, 0, ComputeType::f32);
    }
    Reg gate(const Reg& first, unsigned number) {
        return number == 0 ? first : w_.make_b32("mad.lo.u32", columns_, number, first);
    }
    Reg multiply(const Reg& x, const Reg& y) { return w_.make_f32("mul.rn.f32", x, y); }
    /// x (1 - x)
    Reg slope(const Reg& x) { return w_.make_f32("fma.rn.f32", w_.make_f32("neg.f32", x), x, x); }

    void forward() {
        std::vector<Reg> gates;
        for (unsigned i = 0; i < 4; ++i) {
            const Reg element = gate(first_gate_, i);
            Reg sum = w_.make_f32("add.rn.f32", load(0, element), load(1, element));
            for (unsigned bias = 0; bias < spec_.biases; ++bias)
                sum = w_.make_f32("add.rn.f32", sum, load(3 + bias, gate(column_, i)));
            gates.push_back(i == 2 ? emit_hyperbolic_tangent(w_, sum) : emit_sigmoid(w_, sum));
            if (spec_.keeps_gates) store(7, element, gates.back());
        }
        const Reg kept = multiply(gates[1], load(2, index_));
        const Reg cell = w_.make_f32("fma.rn.f32", gates[0], gates[2], kept);
        store(6, index_, cell);
        store(5, index_, multiply(gates[3], emit_hyperbolic_tangent(w_, cell)));
    }

    void gradient() {
        std::vector<Reg> gates;
        for (unsigned i = 0; i < 4; ++i) gates.push_back(load(4, gate(first_gate_, i)));
        const Reg dh = load(0, index_), old = load(2, index_);
        const Reg shown = emit_hyperbolic_tangent(w_, load(3, index_));
        const Reg minus_shown = w_.make_f32("neg.f32", shown);
        const Reg rise = w_.make_f32("fma.rn.f32", minus_shown, shown, f32_immediate(1));
        const Reg d_cell = w_.make_f32("fma.rn.f32", multiply(dh, gates[3]), rise, load(1, index_));
        const Reg minus_fresh = w_.make_f32("neg.f32", gates[2]);
        const Reg fresh_rise = w_.make_f32("fma.rn.f32", minus_fresh, gates[2], f32_immediate(1));
        const Reg d_gates[] = {multiply(multiply(d_cell, gates[2]), slope(gates[0])),
                               multiply(multiply(d_cell, old), slope(gates[1])),
                               multiply(multiply(d_cell, gates[0]), fresh_rise),
                               multiply(multiply(dh, shown), slope(gates[3]))};
        for (unsigned i = 0; i < 4; ++i) store(5, gate(first_gate_, i), d_gates[i]);
        store(6, index_, multiply(d_cell, gates[1]));
    }

    const LstmCellSpec& spec_;
    PtxWriter w_;
    std::vector<Reg> pointers_;
    Reg index_, column_, columns_, first_gate_;
};

}  // namespace

GeneratedKernel generate_lstm_cell(const LstmCellSpec& spec) {
    if (spec.type != ElementType::f32 && spec.type != ElementType::f16 && spec.type != ElementType::bf16)
        throw Error("the LSTM cell takes f32, f16 or bf16, not " + name_of(spec.type));
    if (spec.biases > 2) throw Error("an LSTM cell has at most two biases");
    return LstmCellWriter(spec).write();
}

Extent3 lstm_cell_grid(std::uint32_t elements) {
    return {divide_up(elements, kLstmCellThreads), 1, 1};
}

}  // namespace heddle::kernels
