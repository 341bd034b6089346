#include "workloads/kernels/compiled_layer_norm.h"

#include <algorithm>
#include <functional>

#include "isa/common/error.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

/// Triton gives a thread consecutive elements, up to 16 bytes; a piece may take several turns of the CTA.
struct PieceShape {
    unsigned width = 1, turns = 1;
    bool masked = false;  ///< the last piece is not whole
};

PieceShape shape_of(const CompiledLayerNormSpec& spec) {
    PieceShape shape;
    const unsigned most = 16 / bytes_of(spec.x);
    // Rows whose length is no multiple of 16 elements are not known to be aligned, and are read one by one.
    shape.width = spec.columns % 16 == 0 ? std::min(most, std::max(1u, spec.piece / spec.threads)) : 1;
    shape.turns = std::max(1u, spec.piece / (spec.threads * shape.width));
    shape.masked = spec.columns % spec.piece != 0;
    return shape;
}

class Rows {
  public:
    Rows(PtxWriter& w, const CompiledLayerNormSpec& spec) : w_(w), spec_(spec), shape_(shape_of(spec)) {
        tid_ = w.tid();
        row_ = w.cta_x();
        column_ = w.make_b32("mul.lo.u32", tid_, shape_.width);
    }
    unsigned elements() const { return shape_.width * shape_.turns; }
    const Reg& tid() const { return tid_; }
    Reg row_address(const Reg& base, ElementType type) {
        const Reg start = w_.make_b64("mul.wide.u32", row_, spec_.columns);
        const Reg element = w_.make_b64("add.s64", start, w_.make_b64("cvt.u64.u32", column_));
        return w_.make_b64("mad.lo.s64", element, bytes_of(type), base);
    }
    Reg column_address(const Reg& base, ElementType type) {
        return w_.element_address(base, column_, bytes_of(type));
    }

    struct Operand {
        Reg address;
        ElementType type;
        const char* load;  ///< nullptr: stored
    };
    /// One pass over the row: `body` gets the values of each loaded operand and returns what is stored.
    void pass(const std::vector<Operand>& operands,
              const std::function<std::vector<Reg>(const std::vector<std::vector<Reg>>& values,
                                                   const std::vector<Reg>& guards)>& body) {
        std::vector<Reg> addresses;
        addresses.reserve(operands.size());
        for (const Operand& operand : operands) addresses.push_back(w_.make_b64("mov.b64", operand.address));
        const Reg piece = w_.constant_b32(0);
        const std::string loop = w_.new_label("piece");
        w_.place(loop);
        std::vector<Reg> guards;
        for (unsigned turn = 0; turn < shape_.turns; ++turn) {
            if (!shape_.masked) {
                guards.emplace_back();
                continue;
            }
            const Reg own = w_.make_b32("add.u32", w_.make_b32("add.u32", piece, column_),
                                        turn * spec_.threads * shape_.width);
            guards.push_back(w_.make_predicate("setp.lt.u32", own, spec_.columns));
        }
        std::vector<std::vector<RawVector>> raw(operands.size());
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (operands[i].load == nullptr) continue;
            for (unsigned turn = 0; turn < shape_.turns; ++turn)
                raw[i].push_back(load_raw(w_, operands[i].load, operands[i].type, shape_.width, addresses[i],
                                          turn_bytes(turn, operands[i].type), guards[turn]));
        }
        std::vector<std::vector<Reg>> values;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (operands[i].load == nullptr) continue;
            values.emplace_back();
            for (const RawVector& vector : raw[i])
                for (const Reg& value : convert_raw(w_, vector, ComputeType::f32))
                    values.back().push_back(value);
        }
        const std::vector<Reg> results = body(values, guards);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (operands[i].load != nullptr) continue;
            for (unsigned turn = 0; turn < shape_.turns; ++turn) {
                const auto first = results.begin() + turn * shape_.width;
                store_elements(w_, "st.global", operands[i].type, {first, first + shape_.width}, addresses[i],
                               turn_bytes(turn, operands[i].type), ComputeType::f32, guards[turn]);
            }
        }
        for (std::size_t i = 0; i < operands.size(); ++i)
            w_.op("add.s64", addresses[i], addresses[i],
                  std::int64_t{spec_.piece} * bytes_of(operands[i].type));
        w_.op("add.u32", piece, piece, spec_.piece);
        w_.jump_if(w_.make_predicate("setp.lt.u32", piece, spec_.columns), loop);
    }
    /// The guard of element i of a thread's elements.
    Reg guard_of(const std::vector<Reg>& guards, std::size_t i) const { return guards[i / shape_.width]; }
    Reg sum(std::vector<Reg> accumulators) {
        for (std::size_t i = 1; i < accumulators.size(); ++i)
            w_.op("add.rn.f32", accumulators[0], accumulators[0], accumulators[i]);
        emit_cta_reduce(w_, Combine::add, {accumulators[0]}, tid_, spec_.threads,
                        w_.shared("sum" + std::to_string(sums_++), 128));
        return accumulators[0];
    }

  private:
    std::int64_t turn_bytes(unsigned turn, ElementType type) const {
        return std::int64_t{turn} * spec_.threads * shape_.width * bytes_of(type);
    }

    PtxWriter& w_;
    const CompiledLayerNormSpec& spec_;
    PieceShape shape_;
    Reg tid_, row_, column_;
    unsigned sums_ = 0;
};

}  // namespace

GeneratedKernel generate_compiled_layer_norm(const CompiledLayerNormSpec& spec) {
    if (spec.columns == 0) throw Error("a row has no columns");
    PtxWriter w("compiled_layer_norm_" + name_of(spec.x) + "_" + name_of(spec.y) +
                    (spec.weights ? "_" + name_of(spec.weight) : std::string()) + "_" +
                    std::to_string(spec.columns) + "_r" + std::to_string(spec.piece) + "_t" +
                    std::to_string(spec.threads),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    Reg gamma, beta;
    if (spec.weights) {
        gamma = w.pointer_parameter("gamma");
        beta = w.pointer_parameter("beta");
    }
    w.b32_parameter("rows");
    const Reg epsilon = w.f32_parameter("epsilon");
    Rows rows(w, spec);
    const Reg x_row = rows.row_address(x, spec.x), y_row = rows.row_address(y, spec.y);
    const char* kept = "ld.global.L1::evict_last";
    const auto accumulate = [&](const std::function<Reg(const Reg&)>& term) {
        std::vector<Reg> sums;
        for (unsigned i = 0; i < rows.elements(); ++i) sums.push_back(w.constant_f32(0));
        rows.pass({{x_row, spec.x, kept}}, [&](const auto& values, const std::vector<Reg>& guards) {
            for (std::size_t i = 0; i < sums.size(); ++i) {
                const Reg more = w.make_f32("add.rn.f32", sums[i], term(values[0][i]));
                const Reg guard = rows.guard_of(guards, i);
                if (guard.empty()) {
                    w.op("mov.f32", sums[i], more);
                } else {
                    w.op("selp.f32", sums[i], more, sums[i], guard);
                }
            }
            return std::vector<Reg>{};
        });
        return rows.sum(sums);
    };
    const Reg count = w.constant_f32(spec.columns);
    const Reg mean = w.make_f32("div.full.f32", accumulate([](const Reg& value) { return value; }), count);
    const Reg squares = accumulate([&](const Reg& value) {
        const Reg difference = w.make_f32("sub.rn.f32", value, mean);
        return w.make_f32("mul.rn.f32", difference, difference);
    });
    const Reg variance = w.make_f32("add.rn.f32", w.make_f32("div.full.f32", squares, count), epsilon);
    const Reg rstd = w.make_f32("rsqrt.approx.ftz.f32", variance);
    std::vector<Rows::Operand> operands{{x_row, spec.x, kept}};
    if (spec.weights) {
        operands.push_back({rows.column_address(gamma, spec.weight), spec.weight, kept});
        operands.push_back({rows.column_address(beta, spec.weight), spec.weight, kept});
    }
    operands.push_back({y_row, spec.y, nullptr});
    rows.pass(operands, [&](const auto& values, const std::vector<Reg>&) {
        std::vector<Reg> results;
        for (std::size_t i = 0; i < values[0].size(); ++i) {
            Reg value = w.make_f32("mul.rn.f32", w.make_f32("sub.rn.f32", values[0][i], mean), rstd);
            if (spec.weights) value = w.make_f32("fma.rn.f32", value, values[1][i], values[2][i]);
            results.push_back(value);
        }
        return results;
    });
    return w.finish({spec.threads, 1, 1});
}

Extent3 compiled_layer_norm_grid(const CompiledLayerNormSpec&, std::uint32_t rows) {
    return {rows, 1, 1};
}

}  // namespace heddle::kernels
