#include "workloads/kernels/spatial_softmax.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "isa/common/error.h"
#include "workloads/kernels/expression_code.h"
#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kMostThreads = 1024;

class SpatialSoftmaxWriter {
  public:
    explicit SpatialSoftmaxWriter(const SpatialSoftmaxSpec& spec)
        : spec_(spec),
          w_(std::string("spatial_") + (spec.logarithm ? "log_" : "") + "softmax_" +
                 (spec.gradient ? "grad_" : "") + name_of(spec.input) + "_" + name_of(spec.output) + "_" +
                 std::to_string(spec.columns) + "x" + std::to_string(spec.along_axis),
             spec.compute_capability) {}

    GeneratedKernel write() {
        const Reg out = w_.pointer_parameter(spec_.gradient ? "dx" : "y"),
                  first = w_.pointer_parameter(spec_.gradient ? "dy" : "x");
        const Reg second = spec_.gradient ? w_.pointer_parameter("y") : Reg{};
        axis_ = w_.b32_parameter("axis");
        columns_ = w_.b32_parameter("columns");
        tid_ = w_.tid();
        local_ = w_.remainder_by(tid_, spec_.columns);
        rank_ = w_.divide_by(tid_, spec_.columns);
        const Reg column = w_.make_b32("mad.lo.u32", w_.cta_y(), spec_.columns, local_);
        // Threads without a column go along with the last one: all meet at the barriers.
        inside_ = w_.make_predicate("setp.lt.u32", column, columns_);
        const Reg own = w_.make_b32("min.u32", column, w_.make_b32("sub.u32", columns_, 1));
        const Reg plane = w_.make_b64("mul.wide.u32", axis_, columns_);
        const Reg before = w_.make_b64("mul.lo.u64", plane, w_.make_b64("cvt.u64.u32", w_.cta_x()));
        start_ = w_.make_b64("add.s64", before, w_.make_b64("cvt.u64.u32", own));
        if (spec_.along_axis > 1) shared_ = w_.make_b32("mov.u32", w_.shared("partial", 4 * kMostThreads));
        spec_.gradient ? gradient(out, first, second) : forward(out, first);
        return w_.finish({spec_.columns * spec_.along_axis, 1, 1});
    }

  private:
    /// body(element) for this thread's elements of the column; `element` counts from the tensor's begin, b64.
    void along_axis(const std::function<void(const Reg& element)>& body) {
        const std::string loop = w_.new_label("along"), done = w_.new_label("along_done");
        const Reg index = w_.make_b32("mov.u32", rank_);
        w_.place(loop);
        w_.jump_if(w_.make_predicate("setp.ge.u32", index, axis_), done);
        body(w_.make_b64("mad.wide.u32", index, columns_, start_));
        w_.op("add.u32", index, index, spec_.along_axis);
        w_.jump(loop);
        w_.place(done);
    }
    Reg address(const Reg& base, const Reg& element, ElementType type) {
        const Reg bytes = w_.make_b64("mul.lo.u64", element, bytes_of(type));
        return w_.make_b64("add.s64", base, bytes);
    }
    Reg load(const Reg& base, const Reg& element) {
        return load_elements(w_, "ld.global", spec_.input, 1, address(base, element, spec_.input), 0,
                             ComputeType::f32)[0];
    }
    void store(const Reg& base, const Reg& element, const Reg& value) {
        store_elements(w_, "st.global", spec_.output, {value}, address(base, element, spec_.output), 0,
                       ComputeType::f32, inside_);
    }
    /// Of the threads of a column; all of them get the result, in place.
    void combine(Combine how, const Reg& value) {
        if (spec_.along_axis == 1) return;
        w_.cta_barrier();
        w_.op("st.shared.f32", at(w_.make_b32("mad.lo.u32", tid_, 4, shared_)), value);
        w_.cta_barrier();
        const Reg first = w_.make_b32("mad.lo.u32", local_, 4, shared_);
        w_.op("mov.f32", value, f32_immediate(identity_of(how)));
        for (unsigned i = 0; i < spec_.along_axis; ++i)
            emit_combine(w_, how, value, w_.make_f32("ld.shared.f32", at(first, i * spec_.columns * 4)));
    }

    void forward(const Reg& y, const Reg& x) {
        const Reg maximum = w_.constant_f32(-INFINITY), sum = w_.constant_f32(0);
        along_axis(
            [&](const Reg& element) { emit_combine(w_, Combine::maximum, maximum, load(x, element)); });
        combine(Combine::maximum, maximum);
        const auto shifted = [&](const Reg& element) {
            return w_.make_f32("sub.rn.f32", load(x, element), maximum);
        };
        along_axis([&](const Reg& element) {
            w_.op("add.rn.f32", sum, sum, emit_exponential(w_, shifted(element)));
        });
        combine(Combine::add, sum);
        const Reg last = spec_.logarithm ? emit_logarithm(w_, sum) : sum;
        along_axis([&](const Reg& element) {
            const Reg from = shifted(element);
            store(y, element,
                  spec_.logarithm ? w_.make_f32("sub.rn.f32", from, last)
                                  : w_.make_f32("div.rn.f32", emit_exponential(w_, from), last));
        });
    }

    void gradient(const Reg& dx, const Reg& dy, const Reg& y) {
        const Reg sum = w_.constant_f32(0);
        along_axis([&](const Reg& element) {
            const Reg slope = load(dy, element);
            if (spec_.logarithm) return w_.op("add.rn.f32", sum, sum, slope);
            w_.op("fma.rn.f32", sum, slope, load(y, element), sum);
        });
        combine(Combine::add, sum);
        along_axis([&](const Reg& element) {
            const Reg slope = load(dy, element), result = load(y, element);
            if (spec_.logarithm) {
                const Reg part = w_.make_f32("mul.rn.f32", emit_exponential(w_, result), sum);
                return store(dx, element, w_.make_f32("sub.rn.f32", slope, part));
            }
            store(dx, element, w_.make_f32("mul.rn.f32", result, w_.make_f32("sub.rn.f32", slope, sum)));
        });
    }

    const SpatialSoftmaxSpec& spec_;
    PtxWriter w_;
    Reg axis_, columns_, tid_, local_, rank_, inside_, start_, shared_;
};

}  // namespace

GeneratedKernel generate_spatial_softmax(const SpatialSoftmaxSpec& spec) {
    const unsigned threads = spec.columns * spec.along_axis;
    if (threads == 0 || threads > kMostThreads || threads % 32 != 0)
        throw Error("a softmax of " + std::to_string(spec.columns) + " columns by " +
                        std::to_string(spec.along_axis) + " threads",
                    {}, "a multiple of 32 threads, at most 1024");
    return SpatialSoftmaxWriter(spec).write();
}

SpatialSoftmaxSpec spatial_softmax_shape(SpatialSoftmaxSpec spec, std::uint32_t axis, std::uint32_t columns) {
    spec.columns = 32;
    while (spec.columns < columns && spec.columns < kMostThreads) spec.columns *= 2;
    spec.along_axis = 1;
    if (spec.columns > 64 || axis < 64) return spec;
    while (spec.columns * spec.along_axis < kMostThreads && spec.along_axis < axis) spec.along_axis *= 2;
    return spec;
}

Extent3 spatial_softmax_grid(const SpatialSoftmaxSpec& spec, std::uint32_t outer, std::uint32_t columns) {
    return {outer, divide_up(columns, spec.columns), 1};
}

}  // namespace heddle::kernels
