#include "workloads/kernels/torch_softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "isa/common/error.h"
#include "workloads/kernels/block_reduce.h"
#include "workloads/kernels/expression_code.h"
#include "workloads/kernels/row_walk.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kWarpCtaThreads = 128;
constexpr std::uint32_t kStagedBytes = 48 * 1024;

bool short_row(std::uint32_t columns, ElementType type) {
    return columns <= 1024 && columns * bytes_of(type) <= 4096;
}

/// Elements of a 16-byte vector.
unsigned vector_width(ElementType type) {
    return 16 / bytes_of(type);
}

/// SoftMax_getBlockSize: a power of two such that half of the row at least is read in vectors.
unsigned vector_threads(std::uint32_t columns, unsigned width) {
    const std::uint32_t most = std::min(columns / width, 1024u) / 2;
    return std::max(32u, std::bit_ceil(std::max(most, 1u)));
}

/// SoftMaxForward_getBlockSize: whole warps, as many threads as columns, at most 1,024.
unsigned full_threads(std::uint32_t columns) {
    return divide_up(std::min(columns, 1024u), 32) * 32;
}

void check(std::uint32_t columns, ElementType input, ElementType output) {
    if (columns == 0) throw Error("a row has no columns");
    for (const ElementType type : {input, output}) {
        if (type != ElementType::f32 && type != ElementType::f16 && type != ElementType::bf16)
            throw Error("softmax works on f32, f16 and bf16, not " + name_of(type));
    }
}

/// A sub-warp of up to 32 lanes does one or two rows that stay in its registers; lane l has columns l, l +
/// lanes, ...
struct WarpShape {
    unsigned lanes = 32, turns = 1, rows = 1;

    explicit WarpShape(std::uint32_t columns) {
        const std::uint32_t power = std::bit_ceil(columns);
        lanes = std::min(power, 32u);
        turns = power / lanes;
        rows = power <= 128 ? 2 : 1;
    }
    unsigned rows_per_cta() const { return kWarpCtaThreads / lanes * rows; }
};

class WarpRows {
  public:
    WarpRows(PtxWriter& w, std::uint32_t columns, const Reg& rows)
        : w_(w), shape_(columns), columns_(columns) {
        const Reg tid = w.tid();
        lane_ = w.make_b32("and.b32", tid, shape_.lanes - 1);
        const Reg group = w.divide_by(tid, shape_.lanes);
        const Reg own = w.make_b32("mad.lo.u32", w.cta_x(), kWarpCtaThreads / shape_.lanes, group);
        first_row_ = w.make_b32("mul.lo.u32", own, shape_.rows);
        for (unsigned turn = 0; turn < shape_.turns; ++turn) {
            inside_.push_back(
                (turn + 1) * shape_.lanes <= columns
                    ? Reg{}
                    : w.make_predicate("setp.lt.s32", lane_,
                                       static_cast<std::int64_t>(columns) - turn * shape_.lanes));
        }
        for (unsigned r = 0; r < shape_.rows; ++r) {
            const Reg row = r == 0 ? first_row_ : w.make_b32("add.u32", first_row_, r);
            row_inside_.push_back(w.make_predicate("setp.lt.u32", row, rows));
            for (const Reg& inside : inside_) {
                guards_.push_back(inside.empty() ? row_inside_.back()
                                                 : w.make_predicate("and.pred", row_inside_.back(), inside));
            }
        }
    }

    const WarpShape& shape() const { return shape_; }
    Reg address(const Reg& base, ElementType type) {
        const Reg row = w_.make_b64("mul.wide.u32", first_row_, columns_);
        const Reg element = w_.make_b64("add.s64", row, w_.make_b64("cvt.u64.u32", lane_));
        return w_.make_b64("mad.lo.s64", element, bytes_of(type), base);
    }
    /// [row][turn], zeros outside.
    std::vector<RawVector> load(const Reg& address, ElementType type) {
        std::vector<RawVector> raw;
        for (unsigned i = 0; i < shape_.rows * shape_.turns; ++i)
            raw.push_back(load_raw(w_, "ld.global", type, 1, address, offset(i, type), guards_[i]));
        return raw;
    }
    std::vector<Reg> convert(const std::vector<RawVector>& raw, double outside = 0) {
        std::vector<Reg> values;
        for (std::size_t i = 0; i < raw.size(); ++i) {
            const Reg value = convert_raw(w_, raw[i], ComputeType::f32)[0];
            values.push_back(
                outside == 0 ? value : w_.make_f32("selp.f32", value, f32_immediate(outside), guards_[i]));
        }
        return values;
    }
    void store(const Reg& address, ElementType type, const std::vector<Reg>& values) {
        for (unsigned i = 0; i < values.size(); ++i)
            store_elements(w_, "st.global", type, {values[i]}, address, offset(i, type), ComputeType::f32,
                           guards_[i]);
    }
    /// One value for each row, over its lanes.
    void reduce(Combine combine, const std::vector<Reg>& values) {
        if (shape_.lanes > 1) emit_warp_reduce(w_, combine, values, shape_.lanes);
    }

  private:
    std::int64_t offset(unsigned i, ElementType type) const {
        const std::int64_t elements =
            std::int64_t{i / shape_.turns} * columns_ + i % shape_.turns * shape_.lanes;
        return elements * bytes_of(type);
    }

    PtxWriter& w_;
    WarpShape shape_;
    std::uint32_t columns_;
    Reg lane_, first_row_;
    std::vector<Reg> inside_, row_inside_, guards_;
};

std::string kernel_name(const char* stem, bool logarithm, ElementType from, ElementType to,
                        std::uint32_t columns) {
    return std::string(logarithm ? "log_" : "") + stem + "_" + name_of(from) + "_" + name_of(to) + "_" +
           std::to_string(columns);
}

GeneratedKernel generate_warp_forward(const TorchSoftmaxSpec& spec) {
    PtxWriter w(kernel_name("softmax_warp_forward", spec.logarithm, spec.input, spec.output, spec.columns),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x"), rows = w.b32_parameter("rows");
    WarpRows code(w, spec.columns, rows);
    const unsigned turns = code.shape().turns;
    std::vector<Reg> values = code.convert(code.load(code.address(x, spec.input), spec.input),
                                           -std::numeric_limits<double>::infinity());
    std::vector<Reg> maxima, sums;
    for (unsigned r = 0; r < code.shape().rows; ++r) {
        maxima.push_back(w.make_f32("mov.f32", values[r * turns]));
        for (unsigned i = 1; i < turns; ++i)
            emit_combine(w, Combine::maximum, maxima[r], values[r * turns + i]);
    }
    code.reduce(Combine::maximum, maxima);
    for (unsigned r = 0; r < code.shape().rows; ++r) {
        sums.push_back(w.constant_f32(0));
        for (unsigned i = r * turns; i < (r + 1) * turns; ++i) {
            const Reg shifted = w.make_f32("sub.rn.f32", values[i], maxima[r]);
            const Reg power = emit_exponential(w, shifted);
            emit_combine(w, Combine::add, sums[r], power);
            values[i] = spec.logarithm ? shifted : power;
        }
    }
    code.reduce(Combine::add, sums);
    for (unsigned r = 0; r < code.shape().rows; ++r) {
        const Reg log_sum = spec.logarithm ? emit_logarithm(w, sums[r]) : Reg{};
        for (unsigned i = r * turns; i < (r + 1) * turns; ++i)
            values[i] = spec.logarithm ? w.make_f32("sub.rn.f32", values[i], log_sum)
                                       : w.make_f32("div.rn.f32", values[i], sums[r]);
    }
    code.store(code.address(y, spec.output), spec.output, values);
    return w.finish({kWarpCtaThreads, 1, 1});
}

GeneratedKernel generate_warp_backward(const TorchSoftmaxGradSpec& spec) {
    PtxWriter w(kernel_name("softmax_warp_backward", spec.logarithm, spec.y, spec.dx, spec.columns),
                spec.compute_capability);
    const Reg dx = w.pointer_parameter("dx"), g = w.pointer_parameter("g"), y = w.pointer_parameter("y");
    const Reg rows = w.b32_parameter("rows");
    WarpRows code(w, spec.columns, rows);
    const unsigned turns = code.shape().turns;
    const auto g_raw = code.load(code.address(g, spec.y), spec.y);
    const auto y_raw = code.load(code.address(y, spec.y), spec.y);
    std::vector<Reg> values = code.convert(g_raw);
    const std::vector<Reg> outputs = code.convert(y_raw);
    std::vector<Reg> sums;
    for (unsigned r = 0; r < code.shape().rows; ++r) {
        sums.push_back(w.make_f32("mov.f32", values[r * turns]));
        for (unsigned i = 1; i < turns; ++i) emit_combine(w, Combine::add, sums[r], values[r * turns + i]);
    }
    code.reduce(Combine::add, sums);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Reg factor = spec.logarithm ? emit_exponential(w, outputs[i]) : outputs[i];
        const Reg negated = w.make_f32("neg.f32", factor);
        values[i] = w.make_f32("fma.rn.f32", negated, sums[i / turns], values[i]);
    }
    code.store(code.address(dx, spec.dx), spec.dx, values);
    return w.finish({kWarpCtaThreads, 1, 1});
}

/// base + row * columns elements
Reg row_address(PtxWriter& w, const Reg& base, const Reg& row, std::uint32_t columns, ElementType type) {
    const Reg elements = w.make_b64("mul.wide.u32", row, columns);
    return w.make_b64("mad.lo.s64", elements, bytes_of(type), base);
}

struct BlockShape {
    unsigned threads = 0, width = 1;
    bool staged = false, aligned = false;
};

BlockShape block_shape(const TorchSoftmaxSpec& spec) {
    BlockShape shape;
    shape.width = vector_width(spec.input);
    // Tensors begin on 256 bytes; rows are aligned when they are whole vectors.
    shape.aligned = spec.columns % shape.width == 0;
    const bool old = spec.form == TorchSoftmaxForm::three_reads;
    shape.threads = old ? vector_threads(spec.columns, shape.width) : full_threads(spec.columns);
    const std::uint32_t reduction = shape.threads / 32 * 4;
    shape.staged = !old && shape.aligned && spec.columns < (kStagedBytes - reduction) / bytes_of(spec.input);
    return shape;
}

/// One vector or element of the result.
using Epilogue = std::function<Reg(const Reg& x)>;

void write_row(PtxWriter& w, const TorchSoftmaxSpec& spec, const BlockShape& shape, const Reg& x_row,
               const Reg& y_row, const Reg& tid, const Reg& shift, const Epilogue& epilogue) {
    RowWalk walk{{{x_row, bytes_of(spec.input)}, {y_row, bytes_of(spec.output)}},
                 spec.columns,
                 shape.threads,
                 shape.width,
                 shift};
    const auto body = [&](const std::vector<Reg>& addresses, unsigned width) {
        std::vector<Reg> values =
            load_elements(w, "ld.global", spec.input, width, addresses[0], 0, ComputeType::f32);
        for (Reg& value : values) value = epilogue(value);
        store_elements(w, "st.global", spec.output, values, addresses[1], 0, ComputeType::f32);
    };
    if (shift.empty() || spec.input == spec.output) return emit_row_walk(w, walk, tid, body);
    // Rows of two types with unlike alignment are written one by one.
    const std::string alike = w.new_label("alike"), done = w.new_label("written");
    w.jump_if(w.make_predicate("setp.eq.u32", shift, emit_shift(w, y_row, bytes_of(spec.output))), alike);
    RowWalk single = walk;
    single.width = 1;
    single.shift.clear();
    emit_row_walk(w, single, tid, body);
    w.jump(done);
    w.place(alike);
    emit_row_walk(w, walk, tid, body);
    w.place(done);
}

GeneratedKernel generate_block_forward(const TorchSoftmaxSpec& spec) {
    const BlockShape shape = block_shape(spec);
    const unsigned in_size = bytes_of(spec.input), out_size = bytes_of(spec.output);
    PtxWriter w(kernel_name(shape.staged ? "softmax_block_staged" : "softmax_block_forward", spec.logarithm,
                            spec.input, spec.output, spec.columns) +
                    "_t" + std::to_string(shape.threads),
                spec.compute_capability);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    w.b32_parameter("rows");
    const std::uint32_t staged_bytes = shape.staged ? spec.columns * in_size : 0;
    const Reg memory = w.make_b32("mov.u32", w.dynamic_shared(staged_bytes + shape.threads / 32 * 4));
    const Reg reduction = w.make_b32("add.u32", memory, staged_bytes);
    const Reg tid = w.tid(), row = w.cta_x();
    const Reg x_row = row_address(w, x, row, spec.columns, spec.input);
    const Reg y_row = row_address(w, y, row, spec.columns, spec.output);
    const Reg shift = shape.aligned ? Reg{} : emit_shift(w, x_row, in_size);
    const unsigned vector_bytes = shape.width * in_size;
    const Reg own_stage = w.make_b32("mad.lo.u32", tid, vector_bytes, memory);

    // Passes over the row: memory, or what the first pass left in shared memory.
    const auto staged_pass = [&](const std::vector<std::pair<Reg, unsigned>>& global, bool from_memory,
                                 const std::function<void(const RawVector&, const std::vector<Reg>&)>& body) {
        const Reg stage = w.make_b32("mov.u32", own_stage),
                  index = w.make_b32("mul.lo.u32", tid, shape.width);
        std::vector<Reg> addresses;
        addresses.reserve(global.size());
        for (const auto& [base, bytes] : global)
            addresses.push_back(w.make_b64("mad.wide.u32", index, bytes, base));
        const std::string loop = w.new_label("pass"), done = w.new_label("pass_done");
        w.jump_if(w.make_predicate("setp.ge.u32", index, spec.columns), done);
        w.place(loop);
        const RawVector raw = from_memory ? load_raw(w, "ld.global", spec.input, shape.width, addresses[0], 0)
                                          : load_raw(w, "ld.shared", spec.input, shape.width, stage, 0);
        if (from_memory) store_raw(w, "st.shared", raw, stage, 0);
        body(raw, addresses);
        const unsigned step = shape.threads * shape.width;
        for (std::size_t i = 0; i < addresses.size(); ++i)
            w.op("add.s64", addresses[i], addresses[i], std::int64_t{step} * global[i].second);
        w.op("add.u32", stage, stage, shape.threads * vector_bytes);
        w.op("add.u32", index, index, step);
        w.jump_if(w.make_predicate("setp.lt.u32", index, spec.columns), loop);
        w.place(done);
    };
    const auto pass = [&](bool first, const std::function<void(const Reg&)>& fold) {
        if (shape.staged) {
            std::vector<std::pair<Reg, unsigned>> global;
            if (first) global.push_back({x_row, in_size});
            return staged_pass(global, first, [&](const RawVector& raw, const std::vector<Reg>&) {
                for (const Reg& value : convert_raw(w, raw, ComputeType::f32)) fold(value);
            });
        }
        emit_row_walk(w, {{{x_row, in_size}}, spec.columns, shape.threads, shape.width, shift}, tid,
                      [&](const std::vector<Reg>& addresses, unsigned width) {
                          for (const Reg& value : load_elements(w, "ld.global", spec.input, width,
                                                                addresses[0], 0, ComputeType::f32))
                              fold(value);
                      });
    };

    const Reg maximum = w.constant_f32(-std::numeric_limits<float>::max());
    pass(true, [&](const Reg& value) { emit_combine(w, Combine::maximum, maximum, value); });
    emit_block_reduce_by_shuffles(w, Combine::maximum, maximum, tid, shape.threads, reduction);
    const Reg sum = w.constant_f32(0);
    pass(false, [&](const Reg& value) {
        emit_combine(w, Combine::add, sum, emit_exponential(w, w.make_f32("sub.rn.f32", value, maximum)));
    });
    emit_block_reduce_by_shuffles(w, Combine::add, sum, tid, shape.threads, reduction);
    const Reg log_sum = spec.logarithm ? emit_logarithm(w, sum) : Reg{};
    const Epilogue epilogue = [&](const Reg& value) {
        const Reg shifted = w.make_f32("sub.rn.f32", value, maximum);
        return spec.logarithm ? w.make_f32("sub.rn.f32", shifted, log_sum)
                              : w.make_f32("div.rn.f32", emit_exponential(w, shifted), sum);
    };
    if (shape.staged) {
        staged_pass({{y_row, out_size}}, false, [&](const RawVector& raw, const std::vector<Reg>& addresses) {
            std::vector<Reg> values = convert_raw(w, raw, ComputeType::f32);
            for (Reg& value : values) value = epilogue(value);
            store_elements(w, "st.global", spec.output, values, addresses[0], 0, ComputeType::f32);
        });
    } else {
        write_row(w, spec, shape, x_row, y_row, tid, shift, epilogue);
    }
    return w.finish({shape.threads, 1, 1});
}

GeneratedKernel generate_block_backward(const TorchSoftmaxGradSpec& spec) {
    const unsigned width = vector_width(spec.y), size = bytes_of(spec.y), dx_size = bytes_of(spec.dx);
    const unsigned threads = vector_threads(spec.columns, width);
    PtxWriter w(kernel_name("softmax_block_backward", spec.logarithm, spec.y, spec.dx, spec.columns) + "_t" +
                    std::to_string(threads),
                spec.compute_capability);
    const Reg dx = w.pointer_parameter("dx"), g = w.pointer_parameter("g"), y = w.pointer_parameter("y");
    w.b32_parameter("rows");
    const Reg memory = w.make_b32("mov.u32", w.dynamic_shared(threads * 4));
    const Reg tid = w.tid(), row = w.cta_x();
    const Reg g_row = row_address(w, g, row, spec.columns, spec.y),
              y_row = row_address(w, y, row, spec.columns, spec.y);
    const Reg dx_row = row_address(w, dx, row, spec.columns, spec.dx);
    const bool aligned = spec.columns % width == 0;
    const Reg shift = aligned ? Reg{} : emit_shift(w, g_row, size);
    const Reg sum = w.constant_f32(0);
    emit_row_walk(w, {{{g_row, size}}, spec.columns, threads, width, shift}, tid,
                  [&](const std::vector<Reg>& addresses, unsigned count) {
                      for (const Reg& value :
                           load_elements(w, "ld.global", spec.y, count, addresses[0], 0, ComputeType::f32))
                          emit_combine(w, Combine::add, sum, value);
                  });
    emit_block_reduce_in_turn(w, Combine::add, sum, tid, threads, memory);
    const Reg negative_sum = w.make_f32("neg.f32", sum);
    // Where alignments of the two types differ from row to row, elements are written one by one.
    const bool vectors = aligned || spec.y == spec.dx;
    RowWalk walk{{{y_row, size}, {g_row, size}, {dx_row, dx_size}},
                 spec.columns,
                 threads,
                 vectors ? width : 1,
                 vectors ? shift : Reg{}};
    emit_row_walk(w, walk, tid, [&](const std::vector<Reg>& addresses, unsigned count) {
        const RawVector y_raw = load_raw(w, "ld.global", spec.y, count, addresses[0], 0);
        const RawVector g_raw = load_raw(w, "ld.global", spec.y, count, addresses[1], 0);
        const std::vector<Reg> outputs = convert_raw(w, y_raw, ComputeType::f32);
        std::vector<Reg> values = convert_raw(w, g_raw, ComputeType::f32);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const Reg factor = spec.logarithm ? emit_exponential(w, outputs[i]) : outputs[i];
            values[i] = w.make_f32("fma.rn.f32", factor, negative_sum, values[i]);
        }
        store_elements(w, "st.global", spec.dx, values, addresses[2], 0, ComputeType::f32);
    });
    return w.finish({threads, 1, 1});
}

}  // namespace

GeneratedKernel generate_torch_softmax(const TorchSoftmaxSpec& spec) {
    check(spec.columns, spec.input, spec.output);
    return short_row(spec.columns, spec.input) ? generate_warp_forward(spec) : generate_block_forward(spec);
}

Extent3 torch_softmax_grid(const TorchSoftmaxSpec& spec, std::uint32_t rows) {
    if (!short_row(spec.columns, spec.input)) return {rows, 1, 1};
    return {divide_up(rows, WarpShape(spec.columns).rows_per_cta()), 1, 1};
}

GeneratedKernel generate_torch_softmax_grad(const TorchSoftmaxGradSpec& spec) {
    check(spec.columns, spec.y, spec.dx);
    return short_row(spec.columns, spec.y) ? generate_warp_backward(spec) : generate_block_backward(spec);
}

Extent3 torch_softmax_grad_grid(const TorchSoftmaxGradSpec& spec, std::uint32_t rows) {
    if (!short_row(spec.columns, spec.y)) return {rows, 1, 1};
    return {divide_up(rows, WarpShape(spec.columns).rows_per_cta()), 1, 1};
}

}  // namespace heddle::kernels
