#include "workloads/kernels/torch_reduce.h"

#include <algorithm>
#include <bit>
#include <string>

#include "isa/common/error.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kInFlight = 4;  // vt0

Combine combine_of(Reduction reduction) {
    return reduction == Reduction::maximum   ? Combine::maximum
           : reduction == Reduction::minimum ? Combine::minimum
                                             : Combine::add;
}

void check(const TorchReduceColumnsSpec& spec) {
    const unsigned threads = spec.column_lanes * spec.row_lanes;
    if (!std::has_single_bit(spec.column_lanes) || !std::has_single_bit(spec.row_lanes) || threads < 32 ||
        threads > 1024)
        throw Error("a block of " + std::to_string(spec.column_lanes) + " x " +
                        std::to_string(spec.row_lanes) + " threads reduces nothing",
                    {.key = "torch_reduce_columns"}, "use powers of two that make 32 to 1024");
    if ((spec.vector_width != 1 && spec.vector_width != 2 && spec.vector_width != 4) ||
        spec.vector_width * bytes_of(spec.input) > 16)
        throw Error("a thread reduces 1, 2 or 4 columns of at most 16 bytes, not " +
                    std::to_string(spec.vector_width) + " of " + name_of(spec.input));
    if (spec.batched && spec.shared_columns)
        throw Error("CTAs share the columns of one matrix, not of several", {.key = "torch_reduce_columns"});
    if (spec.input == ElementType::f64 || spec.input == ElementType::i64)
        throw Error("reductions accumulate in f32: " + name_of(spec.input) + " would lose digits", {},
                    "cast to f32 first");
}

class ColumnReduction {
  public:
    explicit ColumnReduction(const TorchReduceColumnsSpec& spec)
        : spec_(spec),
          w_(name_for(spec), spec.compute_capability),
          threads_(spec.column_lanes * spec.row_lanes),
          row_bytes_(spec.vector_width * 4) {}

    GeneratedKernel generate() {
        Reg y = w_.pointer_parameter("y"), x = w_.pointer_parameter("x"), partial, semaphores;
        if (spec_.shared_columns) {
            partial = w_.pointer_parameter("partial");
            semaphores = w_.pointer_parameter("semaphores");
        }
        rows_ = w_.b32_parameter("rows");
        const Reg columns = w_.b32_parameter("columns");
        row_stride_ = w_.b32_parameter("row_stride");
        const Reg scale = w_.f32_parameter("scale");
        if (spec_.batched) {
            const Reg matrix =
                w_.make_b32("mul.lo.u32", w_.make_b32("mul.lo.u32", rows_, row_stride_), w_.cta_z());
            x = w_.element_address(x, matrix, bytes_of(spec_.input));
            y = w_.element_address(y, w_.make_b32("mul.lo.u32", columns, w_.cta_z()), bytes_of(spec_.output));
        }
        tid_ = w_.tid();
        lane_ = w_.remainder_by(tid_, spec_.column_lanes);
        row_lane_ = w_.divide_by(tid_, spec_.column_lanes);
        const Reg thread_column = w_.make_b32("mad.lo.u32", w_.cta_x(), spec_.column_lanes, lane_);
        column_ = w_.multiply_by(thread_column, spec_.vector_width);
        inside_ = w_.make_predicate("setp.lt.u32", column_, columns);

        walk(x);
        combine_rows();
        const Reg stores = w_.make_predicate("setp.eq.and.u32", row_lane_, 0, inside_);
        if (spec_.shared_columns) {
            leave_partial(partial, stores);
            last_cta_goes_on(semaphores);
            gather_partial(partial);
            combine_rows();
        }
        std::vector<Reg> results = sums_;
        if (combine_of(spec_.reduction) == Combine::add) {
            for (Reg& result : results) result = w_.make_f32("mul.rn.f32", result, scale);
        }
        store_elements(w_, "st.global", spec_.output, results,
                       w_.element_address(y, column_, bytes_of(spec_.output)), 0, ComputeType::f32, stores);
        return w_.finish({threads_, 1, 1});
    }

  private:
    static std::string name_for(const TorchReduceColumnsSpec& spec) {
        const char* reduction = spec.reduction == Reduction::sum              ? "sum"
                                : spec.reduction == Reduction::maximum        ? "max"
                                : spec.reduction == Reduction::sum_of_squares ? "sum_of_squares"
                                                                              : "min";
        return std::string("torch_reduce_columns_") + reduction + "_" + name_of(spec.input) + "_" +
               name_of(spec.output) + "_v" + std::to_string(spec.vector_width) + "_" +
               std::to_string(spec.column_lanes) + "x" + std::to_string(spec.row_lanes) +
               (spec.shared_columns ? "_shared" : "") + (spec.batched ? "_batched" : "");
    }

    std::vector<Reg> identities() {
        std::vector<Reg> values;
        for (unsigned e = 0; e < spec_.vector_width; ++e)
            values.push_back(w_.constant_f32(identity_of(combine_of(spec_.reduction))));
        return values;
    }

    void combine(std::vector<Reg>& into, const std::vector<Reg>& values) {
        for (unsigned e = 0; e < spec_.vector_width; ++e)
            emit_combine(w_, combine_of(spec_.reduction), into[e], values[e]);
    }

    /// A thread's own rows: row lane + CTA * row lanes, and so on by all row lanes of all CTAs.
    void walk(const Reg& x) {
        const unsigned size = bytes_of(spec_.input);
        Reg row = w_.make_b32("mov.b32", row_lane_);
        Reg stride = w_.constant_b32(spec_.row_lanes);
        if (spec_.shared_columns) {
            row = w_.make_b32("mad.lo.u32", w_.cta_y(), spec_.row_lanes, row);
            stride = w_.multiply_by(w_.make_b32("mov.u32", "%nctaid.y"), spec_.row_lanes);
        }
        const Reg elements = w_.make_b64("add.s64", w_.make_b64("mul.wide.u32", row, row_stride_),
                                         w_.make_b64("cvt.u64.u32", column_));
        const Reg pointer =
            w_.make_b64("add.s64", x, size == 1 ? elements : w_.make_b64("mul.lo.u64", elements, size));
        const Reg step = w_.make_b64("mul.lo.u64", w_.make_b64("mul.wide.u32", stride, row_stride_), size);
        std::vector<std::vector<Reg>> sums;
        for (unsigned i = 0; i < kInFlight; ++i) sums.push_back(identities());
        const auto body = [&](unsigned count) {
            std::vector<RawVector> raw;
            for (unsigned i = 0; i < count; ++i) {
                raw.push_back(load_raw(w_, "ld.global", spec_.input, spec_.vector_width, pointer, 0));
                w_.op("add.s64", pointer, pointer, step);
            }
            for (unsigned i = 0; i < count; ++i) {
                const std::vector<Reg> values = convert_raw(w_, raw[i], ComputeType::f32);
                if (spec_.reduction != Reduction::sum_of_squares) {
                    combine(sums[i], values);
                    continue;
                }
                for (unsigned e = 0; e < spec_.vector_width; ++e)
                    w_.op("fma.rn.f32", sums[i][e], values[e], values[e], sums[i][e]);
            }
        };
        const std::string unrolled = w_.new_label("unrolled"), rest = w_.new_label("rest"),
                          done = w_.new_label("done");
        const Reg ahead = w_.multiply_by(stride, kInFlight - 1), turn = w_.multiply_by(stride, kInFlight);
        const auto whole = [&] {
            return w_.make_predicate("setp.lt.u32", w_.make_b32("add.u32", row, ahead), rows_);
        };
        w_.jump_unless(inside_, done);
        w_.jump_unless(whole(), rest);
        w_.place(unrolled);
        body(kInFlight);
        w_.op("add.u32", row, row, turn);
        w_.jump_if(whole(), unrolled);
        w_.place(rest);
        w_.jump_unless(w_.make_predicate("setp.lt.u32", row, rows_), done);
        body(1);
        w_.op("add.u32", row, row, stride);
        w_.jump(rest);
        w_.place(done);
        for (unsigned i = 1; i < kInFlight; ++i) combine(sums[0], sums[i]);
        sums_ = sums[0];
    }

    /// Over the row lanes of the CTA by halves; row lane 0 has the result.
    void combine_rows() {
        if (spec_.row_lanes == 1) return;
        if (shared_.empty()) {
            shared_ = w_.make_b32("mov.u32", w_.shared("rows", threads_ * row_bytes_));
            own_ = w_.make_b32("mad.lo.u32", tid_, row_bytes_, shared_);
        } else {
            w_.cta_barrier();  // the first combination has been read
        }
        const auto publish = [&](const Reg& guard) {
            store_elements(w_, "st.shared", ElementType::f32, sums_, own_, 0, ComputeType::f32, guard);
        };
        publish({});
        for (unsigned half = spec_.row_lanes / 2; half > 0; half /= 2) {
            w_.cta_barrier();
            const Reg adds = w_.make_predicate("setp.lt.u32", row_lane_, half);
            const std::string skip = w_.new_label("upper");
            w_.jump_unless(adds, skip);
            combine(sums_,
                    load_elements(w_, "ld.shared", ElementType::f32, spec_.vector_width, own_,
                                  std::int64_t{half} * spec_.column_lanes * row_bytes_, ComputeType::f32));
            publish({});
            w_.place(skip);
        }
    }

    /// Address of this thread's element of CTA `cta`'s partial results.
    Reg partial_address(const Reg& partial, const Reg& cta) {
        const Reg slot = w_.make_b32("mad.lo.u32", w_.cta_x(), w_.make_b32("mov.u32", "%nctaid.y"), cta);
        return w_.element_address(partial, w_.make_b32("mad.lo.u32", slot, spec_.column_lanes, lane_),
                                  row_bytes_);
    }

    void leave_partial(const Reg& partial, const Reg& stores) {
        store_elements(w_, "st.global", ElementType::f32, sums_, partial_address(partial, w_.cta_y()), 0,
                       ComputeType::f32, stores);
    }

    /// All CTAs but the last of these columns end here; the last one makes the semaphore 0 again.
    void last_cta_goes_on(const Reg& semaphores) {
        w_.op("membar.gl");
        w_.cta_barrier();
        const std::string flag = w_.shared("last", 4);
        const Reg flag_address = w_.make_b32("mov.u32", flag);
        const Reg leader = w_.make_predicate("setp.eq.u32", tid_, 0);
        const std::string told = w_.new_label("told");
        w_.jump_unless(leader, told);
        const Reg semaphore = w_.element_address(semaphores, w_.cta_x(), 4);
        const Reg before = w_.make_b32("atom.global.add.u32", at(semaphore), 1);
        const Reg last = w_.make_b32("sub.u32", w_.make_b32("mov.u32", "%nctaid.y"), 1);
        const Reg is_last = w_.make_predicate("setp.eq.u32", before, last);
        w_.op("st.shared.u32", at(flag_address), w_.make_b32("selp.b32", 1, 0, is_last));
        w_.op_if(is_last, "st.global.u32", at(semaphore), w_.constant_b32(0));
        w_.place(told);
        w_.cta_barrier();
        const Reg goes_on = w_.make_b32("ld.shared.u32", at(flag_address));
        w_.op_if(w_.make_predicate("setp.eq.u32", goes_on, 0), "exit");
    }

    /// Row lane r reads the results of CTAs r, r + row lanes, ...
    void gather_partial(const Reg& partial) {
        sums_ = identities();
        const Reg cta = w_.make_b32("mov.b32", row_lane_), ctas = w_.make_b32("mov.u32", "%nctaid.y");
        const Reg address = partial_address(partial, cta);
        const std::string loop = w_.new_label("partial"), done = w_.new_label("gathered");
        w_.jump_unless(inside_, done);
        w_.place(loop);
        w_.jump_unless(w_.make_predicate("setp.lt.u32", cta, ctas), done);
        combine(sums_, load_elements(w_, "ld.global", ElementType::f32, spec_.vector_width, address, 0,
                                     ComputeType::f32));
        w_.op("add.s64", address, address, std::int64_t{spec_.row_lanes} * spec_.column_lanes * row_bytes_);
        w_.op("add.u32", cta, cta, spec_.row_lanes);
        w_.jump(loop);
        w_.place(done);
    }

    TorchReduceColumnsSpec spec_;
    PtxWriter w_;
    unsigned threads_, row_bytes_;  // row_bytes_: of a thread's results
    Reg rows_, row_stride_, tid_, lane_, row_lane_, column_, inside_, shared_, own_;
    std::vector<Reg> sums_;
};

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

}  // namespace

GeneratedKernel generate_torch_reduce_columns(const TorchReduceColumnsSpec& spec) {
    check(spec);
    return ColumnReduction(spec).generate();
}

TorchReducePlan torch_reduce_columns_plan(std::int64_t rows, std::int64_t columns, unsigned most_threads,
                                          unsigned vector_width, std::int64_t sm_count,
                                          std::int64_t threads_of_sm) {
    const auto power = [&](std::int64_t extent) {
        return extent < most_threads
                   ? static_cast<unsigned>(std::bit_floor(static_cast<std::uint64_t>(extent)))
                   : most_threads;
    };
    const unsigned wide = power(std::max<std::int64_t>(1, columns / vector_width)),
                   deep = power(std::max<std::int64_t>(1, rows));
    TorchReducePlan plan;
    plan.column_lanes = std::min(wide, 32u);
    plan.row_lanes = std::min(deep, most_threads / plan.column_lanes);
    plan.column_lanes = std::min(wide, most_threads / plan.row_lanes);
    // Threads one below the other share a column when each still has 16 rows for every one of them, or 256;
    // otherwise they have columns of their own.
    constexpr std::int64_t kFewestValues = 16, kMostValues = 256;
    const bool shared_rows = rows >= plan.row_lanes * kFewestValues || rows >= kMostValues;
    if (!shared_rows) {
        plan.column_lanes *= plan.row_lanes;
        plan.row_lanes = 1;
    }
    const unsigned threads = plan.column_lanes * plan.row_lanes;
    plan.ctas_wide =
        static_cast<std::uint32_t>(divided_up(columns, std::int64_t{plan.column_lanes} * vector_width));
    // And CTAs share columns when a thread would have 256 rows and the device has room for more CTAs.
    const std::int64_t values = divided_up(rows, plan.row_lanes), room = sm_count * (threads_of_sm / threads);
    if (shared_rows && values >= kMostValues && plan.ctas_wide <= room)
        plan.ctas_deep = static_cast<std::uint32_t>(
            std::max(std::min(divided_up(room, plan.ctas_wide), divided_up(values, kFewestValues)),
                     divided_up(values, kMostValues)));
    // A warp at least: lanes of rows that are not there find nothing to do.
    while (plan.column_lanes * plan.row_lanes < 32) plan.row_lanes *= 2;
    return plan;
}

}  // namespace heddle::kernels
