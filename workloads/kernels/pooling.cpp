#include "workloads/kernels/pooling.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kPoolingThreads = 256;

void check(const PoolingSpec& spec) {
    if (spec.type != ElementType::f32 && spec.type != ElementType::f16 && spec.type != ElementType::bf16)
        throw Error("pooling takes f32, f16 or bf16, not " + name_of(spec.type));
    if (spec.positions != ElementType::i64 && spec.positions != ElementType::i32)
        throw Error("positions are i64 or i32, not " + name_of(spec.positions));
    if (spec.axes < 1 || spec.axes > 3) throw Error("pooling has one to three spatial axes");
    if (spec.with_positions && !spec.maximum) throw Error("only the maximum has a position");
    if (spec.gradient && spec.maximum && !spec.with_positions)
        throw Error("the gradient of a maximum needs positions", {}, "run the forward kernel first");
}

class PoolingWriter {
  public:
    explicit PoolingWriter(const PoolingSpec& spec)
        : spec_(spec),
          w_(std::string(spec.gradient ? "pooling_grad_" : "pooling_") + (spec.maximum ? "max_" : "mean_") +
                 name_of(spec.type) + (spec.channels_last ? "_nhwc" : "_nchw") + std::to_string(spec.axes) +
                 "d" + (spec.with_positions ? "_" + name_of(spec.positions) : "") +
                 (spec.padding_counts ? "" : "_inside"),
             spec.compute_capability) {}

    GeneratedKernel write() {
        parameters();
        const std::string end = w_.new_label("end");
        const Reg index = w_.make_b32("mad.lo.u32", w_.cta_x(), kPoolingThreads, w_.tid());
        w_.jump_if(w_.make_predicate("setp.ge.u32", index, total_), end);
        split(index);
        if (spec_.gradient)
            gradient(index);
        else
            forward(index);
        w_.place(end);
        return w_.finish({kPoolingThreads, 1, 1});
    }

  private:
    void parameters() {
        from_ = w_.pointer_parameter("from");
        to_ = w_.pointer_parameter("to");
        positions_ = w_.pointer_parameter("positions");
        total_ = w_.b32_parameter("total");
        item_stride_ = w_.b32_parameter("item_stride");
        channel_stride_ = w_.b32_parameter("channel_stride");
        channels_ = w_.divider_parameter("channels");
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const std::string i = std::to_string(axis);
            own_.push_back(w_.divider_parameter("own" + i));
            extents_.push_back(w_.b32_parameter("extent" + i));
            strides_.push_back(w_.b32_parameter("stride" + i));
            windows_.push_back(w_.b32_parameter("window" + i));
            steps_.push_back(w_.divider_parameter("step" + i));
            dilations_.push_back(w_.b32_parameter("dilation" + i));
            lows_.push_back(w_.b32_parameter("low" + i));
            inputs_.push_back(w_.b32_parameter("input" + i));
            highs_.push_back(w_.b32_parameter("high" + i));
        }
    }

    /// Of the thread's element: item, channel, coordinates; where its plane begins in the other tensor.
    void split(const Reg& index) {
        Reg rest = index, channel;
        if (spec_.channels_last) {
            const Reg next = w_.divide_fast(rest, channels_);
            channel = w_.remainder_fast(rest, next, channels_);
            rest = next;
        }
        coordinates_.resize(spec_.axes);
        for (unsigned axis = spec_.axes; axis-- > 0;) {
            const Reg next = w_.divide_fast(rest, own_[axis]);
            coordinates_[axis] = w_.remainder_fast(rest, next, own_[axis]);
            rest = next;
        }
        if (!spec_.channels_last) {
            const Reg next = w_.divide_fast(rest, channels_);
            channel = w_.remainder_fast(rest, next, channels_);
            rest = next;
        }
        const Reg item = w_.make_b32("mul.lo.u32", rest, item_stride_);
        plane_ = w_.make_b32("mad.lo.u32", channel, channel_stride_, item);
    }

    /// Loops over the window, outermost axis first; `visit` gets the distances w * dilation.
    void for_each_in_window(unsigned axis, std::vector<Reg>& distances, const std::function<void()>& visit) {
        if (axis == spec_.axes) return visit();
        const Reg left = w_.make_b32("mov.u32", windows_[axis]), distance = w_.constant_b32(0);
        distances.push_back(distance);
        const std::string loop = w_.new_label("window");
        w_.place(loop);
        for_each_in_window(axis + 1, distances, visit);
        w_.op("add.u32", distance, distance, dilations_[axis]);
        w_.op("sub.u32", left, left, 1);
        w_.jump_if(w_.make_predicate("setp.ne.u32", left, 0), loop);
        distances.pop_back();
    }

    void both(Reg& guard, const std::string& comparison, const std::string& type, const Reg& x,
              const Reg& y) {
        guard = guard.empty() ? w_.make_predicate("setp." + comparison + type, x, y)
                              : w_.make_predicate("setp." + comparison + ".and" + type, x, y, guard);
    }

    void forward(const Reg& index) {
        std::vector<Reg> starts;
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const Reg first = w_.make_b32("mul.lo.s32", coordinates_[axis], steps_[axis].divisor);
            starts.push_back(w_.make_b32("sub.s32", first, lows_[axis]));
        }
        const Reg best = w_.constant_f32(spec_.maximum ? -INFINITY : 0), place = w_.constant_b32(-1);
        std::vector<Reg> distances;
        for_each_in_window(0, distances, [&] {
            Reg guard, position, offset = plane_;
            for (unsigned axis = 0; axis < spec_.axes; ++axis) {
                const Reg at = w_.make_b32("add.s32", starts[axis], distances[axis]);
                both(guard, "lt", ".u32", at, extents_[axis]);
                offset = w_.make_b32("mad.lo.s32", at, strides_[axis], offset);
                position = axis == 0 ? at : w_.make_b32("mad.lo.s32", position, extents_[axis], at);
            }
            const std::string skip = w_.new_label("outside");
            w_.jump_unless(guard, skip);
            const Reg value = load(offset);
            if (spec_.maximum) {
                Reg better = w_.make_predicate("setp.gt.f32", value, best);
                better = w_.make_predicate("setp.nan.or.f32", value, value, better);
                better = w_.make_predicate("setp.lt.or.s32", place, 0, better);
                w_.op("selp.f32", best, value, best, better);
                w_.op("selp.b32", place, position, place, better);
            } else {
                w_.op("add.rn.f32", best, best, value);
            }
            w_.place(skip);
        });
        Reg result = best;
        if (!spec_.maximum) result = w_.make_f32("div.rn.f32", best, divisor(coordinates_));
        store(spec_.type, to_, index, result);
        if (spec_.with_positions) {
            const Reg address = w_.element_address(positions_, index, bytes_of(spec_.positions));
            if (spec_.positions == ElementType::i32)
                w_.op("st.global.b32", at(address), place);
            else
                w_.op("st.global.b64", at(address), w_.make_b64("cvt.s64.s32", place));
        }
    }

    void gradient(const Reg& index) {
        const Reg sum = w_.constant_f32(0);
        Reg own;  // position in the plane
        for (unsigned axis = 0; axis < spec_.axes; ++axis)
            own = axis == 0 ? coordinates_[0]
                            : w_.make_b32("mad.lo.u32", own, inputs_[axis], coordinates_[axis]);
        std::vector<Reg> distances;
        for_each_in_window(0, distances, [&] {
            Reg guard, offset = plane_;
            std::vector<Reg> outputs;
            for (unsigned axis = 0; axis < spec_.axes; ++axis) {
                const Reg from = w_.make_b32("add.s32", coordinates_[axis], lows_[axis]);
                const Reg at = w_.make_b32("sub.s32", from, distances[axis]);
                both(guard, "ge", ".s32", at, "0");
                const Reg safe = w_.make_b32("max.s32", at, 0);
                const Reg output = w_.divide_fast(safe, steps_[axis]);
                both(guard, "eq", ".u32", w_.remainder_fast(safe, output, steps_[axis]), "0");
                both(guard, "lt", ".u32", output, extents_[axis]);
                offset = w_.make_b32("mad.lo.s32", output, strides_[axis], offset);
                outputs.push_back(output);
            }
            const std::string skip = w_.new_label("elsewhere");
            w_.jump_unless(guard, skip);
            if (spec_.maximum) {
                const Reg address = w_.element_address(positions_, offset, bytes_of(spec_.positions));
                const Reg place = w_.b32();
                w_.op("ld.global.nc.b32", place, at(address));  // of i64 the low half
                const Reg here = w_.make_predicate("setp.eq.u32", place, own);
                w_.op("add.rn.f32", sum, sum, w_.make_f32("selp.f32", load(offset), f32_immediate(0), here));
            } else {
                const Reg part = w_.make_f32("div.rn.f32", load(offset), divisor(outputs));
                w_.op("add.rn.f32", sum, sum, part);
            }
            w_.place(skip);
        });
        store(spec_.type, to_, index, sum);
    }

    /// Positions that the mean of an output is over.
    Reg divisor(const std::vector<Reg>& outputs) {
        Reg count;
        for (unsigned axis = 0; axis < spec_.axes; ++axis) {
            const Reg first = w_.make_b32("mul.lo.s32", outputs[axis], steps_[axis].divisor);
            Reg start = w_.make_b32("sub.s32", first, lows_[axis]);
            Reg end = w_.make_b32("add.s32", start, windows_[axis]), limit = inputs_[axis];
            if (spec_.padding_counts)
                limit = w_.make_b32("add.s32", limit, highs_[axis]);
            else
                start = w_.make_b32("max.s32", start, 0);
            end = w_.make_b32("min.s32", end, limit);
            const Reg own = w_.make_b32("sub.s32", end, start);
            count = axis == 0 ? own : w_.make_b32("mul.lo.s32", count, own);
        }
        return w_.make_f32("cvt.rn.f32.s32", count);
    }

    Reg load(const Reg& offset) {
        const Reg address = w_.element_address(from_, offset, bytes_of(spec_.type));
        return load_elements(w_, "ld.global.nc", spec_.type, 1, address, 0, ComputeType::f32)[0];
    }
    void store(ElementType type, const Reg& base, const Reg& index, const Reg& value) {
        store_elements(w_, "st.global", type, {value}, w_.element_address(base, index, bytes_of(type)), 0,
                       ComputeType::f32);
    }

    const PoolingSpec& spec_;
    PtxWriter w_;
    Reg from_, to_, positions_, total_, item_stride_, channel_stride_, plane_;
    PtxWriter::Divider channels_;
    std::vector<PtxWriter::Divider> own_, steps_;
    std::vector<Reg> extents_, strides_, windows_, dilations_, lows_, inputs_, highs_, coordinates_;
};

std::uint64_t product(const std::vector<std::uint32_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

}  // namespace

GeneratedKernel generate_pooling(const PoolingSpec& spec) {
    check(spec);
    return PoolingWriter(spec).write();
}

PoolingLaunch pooling_launch(const PoolingSpec& spec, const PoolingGeometry& g) {
    const std::vector<std::uint32_t>& own = spec.gradient ? g.input : g.output;
    const std::vector<std::uint32_t>& other = spec.gradient ? g.output : g.input;
    const std::uint64_t total = std::uint64_t{g.batch} * g.channels * product(own);
    if (total >= std::uint64_t{1} << 31 ||
        std::uint64_t{g.batch} * g.channels * product(other) >= std::uint64_t{1} << 31)
        throw Error("pooling of 2^31 elements or more", {}, "divide the batch");
    PoolingLaunch launch;
    launch.grid[0] = divide_up(total, kPoolingThreads);
    const auto integer = [&](const std::string& name, std::uint64_t value) {
        launch.scalars.push_back(integer_argument(name, value));
    };
    const auto plane = static_cast<std::uint32_t>(product(other));
    integer("total", total);
    integer("item_stride", g.channels * plane);
    integer("channel_stride", spec.channels_last ? 1 : plane);
    add_divider_arguments(launch.scalars, "channels", g.channels);
    std::uint32_t stride = spec.channels_last ? g.channels : 1;
    for (std::size_t axis = g.input.size(); axis-- > 0; stride *= other[axis]) {
        const std::string i = std::to_string(axis);
        add_divider_arguments(launch.scalars, "own" + i, own[axis]);
        integer("extent" + i, other[axis]);
        integer("stride" + i, stride);
        integer("window" + i, g.window[axis]);
        add_divider_arguments(launch.scalars, "step" + i, g.strides[axis]);
        integer("dilation" + i, g.dilation[axis]);
        integer("low" + i, g.padding_low[axis]);
        integer("input" + i, g.input[axis]);
        integer("high" + i, g.padding_high[axis]);
    }
    return launch;
}

}  // namespace heddle::kernels
