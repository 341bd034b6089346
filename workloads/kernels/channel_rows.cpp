#include "workloads/kernels/channel_rows.h"

#include <algorithm>

#include "workloads/kernels/channel_statistics_output.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kUnroll = 4;  // rows that are on their way at once
constexpr unsigned kMergeParts = 8, kMergeColumns = 32;

class RowsWriter {
  public:
    explicit RowsWriter(const ChannelRowsSpec& spec)
        : s_(spec),
          row_lanes_(spec.threads / spec.lanes),
          w_(std::string(spec.gradient ? "channel_rows_grad_" : "channel_rows_") + name_of(spec.x) +
                 (spec.gradient ? "_" + name_of(spec.dy) : "") + "_v" + std::to_string(spec.vector_width) +
                 "_" + std::to_string(spec.lanes) + "x" + std::to_string(row_lanes_),
             spec.compute_capability) {}

    GeneratedKernel write() {
        const Reg first_out = w_.pointer_parameter(s_.gradient ? "sum" : "mean"),
                  second_out = w_.pointer_parameter(s_.gradient ? "dot" : "squares");
        const Reg dy = s_.gradient ? w_.pointer_parameter("dy") : Reg{}, x = w_.pointer_parameter("x");
        const Reg mean = s_.gradient ? w_.pointer_parameter("mean_of") : Reg{},
                  rstd = s_.gradient ? w_.pointer_parameter("rstd_of") : Reg{};
        const Reg rows = w_.b32_parameter("rows"), columns = w_.b32_parameter("columns"),
                  rows_per_cta = w_.b32_parameter("rows_per_cta");
        const unsigned width = s_.vector_width;
        tid_ = w_.tid();
        const Reg lane = w_.remainder_by(tid_, s_.lanes);
        row_lane_ = w_.divide_by(tid_, s_.lanes);
        const Reg own = w_.multiply_by(w_.make_b32("mad.lo.u32", w_.cta_x(), s_.lanes, lane), width);
        const Reg owned = w_.make_predicate("setp.lt.u32", own, columns);
        // Beyond the last column the last one is read again, and not written.
        const Reg column = w_.make_b32("min.u32", own, w_.make_b32("sub.u32", columns, width));
        const Reg split = w_.cta_y();
        const Reg begin = w_.make_b32("mul.lo.u32", split, rows_per_cta);
        row_ = w_.make_b32("add.u32", begin, row_lane_);
        end_ = w_.make_b32("min.u32", rows, w_.make_b32("add.u32", begin, rows_per_cta));
        const Reg element = w_.make_b32("mad.lo.u32", row_, columns, column);
        const Reg step = w_.multiply_by(columns, row_lanes_);
        add_input(x, s_.x, element, step);
        if (s_.gradient) {
            add_input(dy, s_.dy, element, step);
            means_ = statistics_of(mean, column);
        }
        for (unsigned e = 0; e < width; ++e) {
            first_.push_back(w_.constant_f32(0));
            second_.push_back(w_.constant_f32(0));
        }
        count_ = w_.constant_f32(0);
        loop();
        merge_rows();
        if (s_.gradient) {
            const std::vector<Reg> scale = statistics_of(rstd, column);
            for (unsigned e = 0; e < width; ++e) w_.op("mul.rn.f32", second_[e], second_[e], scale[e]);
        }
        const Reg writes = w_.make_predicate("setp.eq.and.u32", row_lane_, 0, owned);
        const Reg place = w_.make_b32("mad.lo.u32", split, columns, column);
        store_elements(w_, "st.global", ElementType::f32, first_, w_.element_address(first_out, place, 4), 0,
                       ComputeType::f32, writes);
        store_elements(w_, "st.global", ElementType::f32, second_, w_.element_address(second_out, place, 4),
                       0, ComputeType::f32, writes);
        return w_.finish({s_.threads, 1, 1});
    }

  private:
    struct Input {
        ElementType type;
        Reg pointer, step;
    };

    void add_input(const Reg& base, ElementType type, const Reg& element, const Reg& step) {
        inputs_.push_back({type, w_.element_address(base, element, bytes_of(type)),
                           w_.make_b64("mul.wide.u32", step, bytes_of(type))});
    }

    std::vector<Reg> statistics_of(const Reg& base, const Reg& column) {
        return load_elements(w_, "ld.global", ElementType::f32, s_.vector_width,
                             w_.element_address(base, column, 4), 0, ComputeType::f32);
    }

    void loop() {
        const std::string unrolled = w_.new_label("rows"), rest = w_.new_label("row"),
                          done = w_.new_label("rows_done");
        const auto whole = [&] {
            const Reg last = w_.make_b32("add.u32", row_, (kUnroll - 1) * row_lanes_);
            return w_.make_predicate("setp.lt.u32", last, end_);
        };
        w_.jump_unless(whole(), rest);
        w_.place(unrolled);
        take(kUnroll);
        w_.jump_if(whole(), unrolled);
        w_.place(rest);
        w_.jump_unless(w_.make_predicate("setp.lt.u32", row_, end_), done);
        take(1);
        w_.jump(rest);
        w_.place(done);
    }

    /// Rows in ascending order; all are on their way before the first is needed.
    void take(unsigned count) {
        std::vector<std::vector<RawVector>> raw(inputs_.size());
        for (unsigned i = 0; i < count; ++i) {
            for (std::size_t input = 0; input < inputs_.size(); ++input) {
                const Input& in = inputs_[input];
                raw[input].push_back(load_raw(w_, "ld.global", in.type, s_.vector_width, in.pointer, 0));
                w_.op("add.s64", in.pointer, in.pointer, in.step);
            }
        }
        w_.op("add.u32", row_, row_, count * row_lanes_);
        for (unsigned i = 0; i < count; ++i) {
            const std::vector<Reg> x = convert_raw(w_, raw[0][i], ComputeType::f32);
            if (s_.gradient)
                add_products(x, convert_raw(w_, raw[1][i], ComputeType::f32));
            else
                add_row(x);
        }
    }

    void add_row(const std::vector<Reg>& x) {
        w_.op("add.rn.f32", count_, count_, f32_immediate(1));
        const Reg share = w_.make_f32("rcp.rn.f32", count_);
        for (unsigned e = 0; e < x.size(); ++e) {
            const Reg before = w_.make_f32("sub.rn.f32", x[e], first_[e]);
            w_.op("fma.rn.f32", first_[e], before, share, first_[e]);
            const Reg after = w_.make_f32("sub.rn.f32", x[e], first_[e]);
            w_.op("fma.rn.f32", second_[e], before, after, second_[e]);
        }
    }

    void add_products(const std::vector<Reg>& x, const std::vector<Reg>& dy) {
        for (unsigned e = 0; e < x.size(); ++e) {
            w_.op("add.rn.f32", first_[e], first_[e], dy[e]);
            w_.op("fma.rn.f32", second_[e], dy[e], w_.make_f32("sub.rn.f32", x[e], means_[e]), second_[e]);
        }
    }

    /// Half of the threads that have the same columns give theirs to the other half, until one is left.
    void merge_rows() {
        const unsigned width = s_.vector_width;
        const std::uint32_t plane = s_.threads * 4;
        const Reg base = w_.make_b32("mov.u32", w_.shared("partial", (2 * width + 1) * plane));
        const Reg place = w_.make_b32("mad.lo.u32", tid_, 4, base);
        for (unsigned half = row_lanes_ / 2; half > 0; half /= 2) {
            const std::string takes = w_.new_label("takes"), next = w_.new_label("merged");
            w_.jump_if(w_.make_predicate("setp.lt.u32", row_lane_, half), takes);
            for (unsigned e = 0; e < width; ++e) {
                w_.op("st.shared.f32", at(place, 2 * e * plane), first_[e]);
                w_.op("st.shared.f32", at(place, (2 * e + 1) * plane), second_[e]);
            }
            if (!s_.gradient) w_.op("st.shared.f32", at(place, 2 * width * plane), count_);
            w_.place(takes);
            w_.cta_barrier();
            w_.jump_unless(w_.make_predicate("setp.lt.u32", row_lane_, half), next);
            const std::uint32_t other = half * s_.lanes * 4;
            const auto given = [&](unsigned number) {
                return w_.make_f32("ld.shared.f32", at(place, other + number * plane));
            };
            const Reg count = s_.gradient ? Reg{} : given(2 * width);
            Reg together;
            for (unsigned e = 0; e < width; ++e) {
                const Reg first = given(2 * e), second = given(2 * e + 1);
                if (s_.gradient) {
                    w_.op("add.rn.f32", first_[e], first_[e], first);
                    w_.op("add.rn.f32", second_[e], second_[e], second);
                    continue;
                }
                together = w_.make_f32("mov.f32", count_);
                merge(w_, {together, first_[e], second_[e]}, {count, first, second});
            }
            if (!s_.gradient) w_.op("mov.f32", count_, together);
            w_.place(next);
        }
    }

    const ChannelRowsSpec& s_;
    unsigned row_lanes_;
    PtxWriter w_;
    Reg tid_, row_lane_, row_, end_, count_;
    std::vector<Input> inputs_;
    std::vector<Reg> means_, first_, second_;  // of a column: mean and squares, or sum and dot
};

}  // namespace

GeneratedKernel generate_channel_rows(const ChannelRowsSpec& spec) {
    return RowsWriter(spec).write();
}

Extent3 channel_rows_grid(const ChannelRowsSpec& spec, std::uint32_t columns, std::uint32_t splits) {
    return {divide_up(columns, spec.lanes * spec.vector_width), splits, 1};
}

ChannelRowsSpec choose_channel_rows(unsigned compute_capability, ElementType x, ElementType dy, bool gradient,
                                    std::uint32_t columns) {
    ChannelRowsSpec spec;
    spec.compute_capability = compute_capability;
    spec.x = x;
    spec.dy = dy;
    spec.gradient = gradient;
    const unsigned widest = 16 / std::max(bytes_of(x), gradient ? bytes_of(dy) : 1);
    while (spec.vector_width < widest && columns % (2 * spec.vector_width) == 0) spec.vector_width *= 2;
    while (spec.lanes > 1 && spec.lanes / 2 * spec.vector_width >= columns) spec.lanes /= 2;
    return spec;
}

std::uint32_t channel_rows_per_cta(const ChannelRowsSpec& spec, std::uint32_t rows, std::uint32_t columns,
                                   unsigned sm_count) {
    constexpr unsigned kThreadsPerSm = 1024, kRowsOfThread = 16;
    const std::uint32_t across = divide_up(columns, spec.lanes * spec.vector_width);
    const std::uint32_t splits = std::max(1u, sm_count * (kThreadsPerSm / spec.threads) / across);
    return std::max(divide_up(rows, splits), spec.threads / spec.lanes * kRowsOfThread);
}

GeneratedKernel generate_channel_merge(const ChannelMergeSpec& spec) {
    PtxWriter w(std::string("channel_merge") + (spec.running ? "_running" : ""), spec.compute_capability);
    ChannelStatisticsOutput output(w, spec.running);
    const Reg means = w.pointer_parameter("means"), squares = w.pointer_parameter("squares");
    const Reg rows = w.b32_parameter("rows"), columns = w.b32_parameter("columns"),
              rows_per_cta = w.b32_parameter("rows_per_cta"), splits = w.b32_parameter("splits");
    output.declare_numbers();
    const Reg tid = w.tid(), lane = w.remainder_by(tid, kMergeColumns),
              part = w.divide_by(tid, kMergeColumns);
    const Reg own = w.make_b32("mad.lo.u32", w.cta_x(), kMergeColumns, lane);
    const Reg column = w.make_b32("min.u32", own, w.make_b32("sub.u32", columns, 1));
    const Welford sums{w.constant_f32(0), w.constant_f32(0), w.constant_f32(0)};
    const Reg split = w.make_b32("mov.u32", part);
    const std::string loop = w.new_label("split"), done = w.new_label("splits_done");
    w.jump_if(w.make_predicate("setp.ge.u32", split, splits), done);
    w.place(loop);
    {
        const Reg place = w.make_b32("mad.lo.u32", split, columns, column);
        const Reg first = w.make_b32("mul.lo.u32", split, rows_per_cta);
        const Reg own_rows = w.make_b32("min.u32", rows_per_cta, w.make_b32("sub.u32", rows, first));
        const Reg count = w.make_f32("cvt.rn.f32.u32", own_rows);
        merge(w, sums,
              {count, w.make_f32("ld.global.f32", at(w.element_address(means, place, 4))),
               w.make_f32("ld.global.f32", at(w.element_address(squares, place, 4)))});
    }
    w.op("add.u32", split, split, kMergeParts);
    w.jump_if(w.make_predicate("setp.lt.u32", split, splits), loop);
    w.place(done);
    constexpr std::uint32_t kPlane = kMergeColumns * kMergeParts * 4;
    const Reg place =
        w.make_b32("mad.lo.u32", tid, 4, w.make_b32("mov.u32", w.shared("moments", 3 * kPlane)));
    const Reg* values[] = {&sums.count, &sums.mean, &sums.squares};
    for (unsigned i = 0; i < 3; ++i) w.op("st.shared.f32", at(place, i * kPlane), *values[i]);
    w.cta_barrier();
    const Reg writes =
        w.make_predicate("setp.lt.and.u32", own, columns, w.make_predicate("setp.eq.u32", part, 0));
    w.op_unless(writes, "exit");
    for (unsigned other = 1; other < kMergeParts; ++other) {
        const auto given = [&](unsigned i) {
            return w.make_f32("ld.shared.f32", at(place, i * kPlane + other * kMergeColumns * 4));
        };
        const Reg count = given(0), of_mean = given(1), of_squares = given(2);
        merge(w, sums, {count, of_mean, of_squares});
    }
    output.store(sums, column);
    return w.finish({kMergeColumns * kMergeParts, 1, 1});
}

Extent3 channel_merge_grid(std::uint32_t columns) {
    return {divide_up(columns, kMergeColumns), 1, 1};
}

}  // namespace heddle::kernels
