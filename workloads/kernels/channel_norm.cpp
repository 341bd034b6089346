#include "workloads/kernels/channel_norm.h"

#include <functional>

#include "workloads/kernels/channel_statistics_output.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

/// Parameters that say how sets lie, and the loop over the elements of this CTA's set.
class SetWalk {
  public:
    explicit SetWalk(PtxWriter& w)
        : w_(w),
          elements_(w.b32_parameter("elements")),
          run_length_(w.divider_parameter("run_length")),
          inner_(w.divider_parameter("inner")),
          run_stride_(w.b32_parameter("run_stride")),
          outer_stride_(w.b32_parameter("outer_stride")),
          inner_stride_(w.b32_parameter("inner_stride")) {
        tid_ = w.tid();
        set_ = w.cta_x();
        const Reg outer = w.divide_fast(set_, inner_), rest = w.remainder_fast(set_, outer, inner_);
        begin_ =
            w.make_b32("mad.lo.u32", outer, outer_stride_, w.make_b32("mul.lo.u32", rest, inner_stride_));
    }
    const Reg& tid() const { return tid_; }
    const Reg& set() const { return set_; }
    /// Calls `body` for the code of one element, with its index in the tensor.
    void each(unsigned threads, const std::function<void(const Reg& element)>& body) {
        const Reg index = w_.make_b32("mov.b32", tid_);
        const std::string loop = w_.new_label("element"), done = w_.new_label("set_done");
        w_.jump_if(w_.make_predicate("setp.ge.u32", index, elements_), done);
        w_.place(loop);
        const Reg run = w_.divide_fast(index, run_length_);
        const Reg within = w_.remainder_fast(index, run, run_length_);
        body(w_.make_b32("add.u32", w_.make_b32("mad.lo.u32", run, run_stride_, begin_), within));
        w_.op("add.u32", index, index, threads);
        w_.jump_if(w_.make_predicate("setp.lt.u32", index, elements_), loop);
        w_.place(done);
    }

  private:
    PtxWriter& w_;
    Reg elements_;
    PtxWriter::Divider run_length_, inner_;
    Reg run_stride_, outer_stride_, inner_stride_, tid_, set_, begin_;
};

}  // namespace

GeneratedKernel generate_channel_statistics(const ChannelStatisticsSpec& spec) {
    PtxWriter w("channel_statistics_" + name_of(spec.x) + "_t" + std::to_string(spec.threads),
                spec.compute_capability);
    ChannelStatisticsOutput output(w, false);
    const Reg x = w.pointer_parameter("x");
    SetWalk walk(w);
    output.declare_numbers();
    const Welford own{w.constant_f32(0), w.constant_f32(0), w.constant_f32(0)};
    walk.each(spec.threads, [&](const Reg& element) {
        const Reg address = w.element_address(x, element, bytes_of(spec.x));
        take(w, own, load_elements(w, "ld.global", spec.x, 1, address, 0, ComputeType::f32)[0]);
    });
    merge_cta(w, own, walk.tid(), spec.threads);
    w.op_if(w.make_predicate("setp.ne.u32", walk.tid(), 0), "exit");
    output.store(own, walk.set());
    return w.finish({spec.threads, 1, 1});
}

GeneratedKernel generate_channel_grad_sums(const ChannelGradSumsSpec& spec) {
    PtxWriter w(
        "channel_grad_sums_" + name_of(spec.x) + "_" + name_of(spec.dy) + "_t" + std::to_string(spec.threads),
        spec.compute_capability);
    const Reg sum_out = w.pointer_parameter("sum"), dot_out = w.pointer_parameter("dot");
    const Reg dy = w.pointer_parameter("dy"), x = w.pointer_parameter("x");
    const Reg mean = w.pointer_parameter("mean"), rstd = w.pointer_parameter("rstd");
    SetWalk walk(w);
    const Reg share = w.b32_parameter("statistics_share");
    const Reg number = w.make_b32("div.u32", walk.set(), share);
    const Reg set_mean = w.make_f32("ld.global.f32", at(w.element_address(mean, number, 4)));
    const Reg set_rstd = w.make_f32("ld.global.f32", at(w.element_address(rstd, number, 4)));
    const Reg sum = w.constant_f32(0), dot = w.constant_f32(0);
    walk.each(spec.threads, [&](const Reg& element) {
        const RawVector x_raw =
            load_raw(w, "ld.global", spec.x, 1, w.element_address(x, element, bytes_of(spec.x)), 0);
        const RawVector dy_raw =
            load_raw(w, "ld.global", spec.dy, 1, w.element_address(dy, element, bytes_of(spec.dy)), 0);
        const Reg value = convert_raw(w, x_raw, ComputeType::f32)[0];
        const Reg gradient = convert_raw(w, dy_raw, ComputeType::f32)[0];
        w.op("add.rn.f32", sum, sum, gradient);
        w.op("fma.rn.f32", dot, gradient, w.make_f32("sub.rn.f32", value, set_mean), dot);
    });
    emit_cta_reduce(w, Combine::add, {sum, dot}, walk.tid(), spec.threads, w.shared("partial", 2 * 128));
    w.op_if(w.make_predicate("setp.ne.u32", walk.tid(), 0), "exit");
    w.op("st.global.f32", at(w.element_address(sum_out, walk.set(), 4)), sum);
    w.op("st.global.f32", at(w.element_address(dot_out, walk.set(), 4)),
         w.make_f32("mul.rn.f32", dot, set_rstd));
    return w.finish({spec.threads, 1, 1});
}

void add_channel_arguments(std::vector<KernelArgument>& arguments, const ChannelSets& sets) {
    arguments.push_back(integer_argument("elements", sets.elements));
    add_divider_arguments(arguments, "run_length", sets.run_length);
    add_divider_arguments(arguments, "inner", sets.inner);
    arguments.push_back(integer_argument("run_stride", sets.run_stride));
    arguments.push_back(integer_argument("outer_stride", sets.outer_stride));
    arguments.push_back(integer_argument("inner_stride", sets.inner_stride));
}

}  // namespace heddle::kernels
