#include "workloads/kernels/cumulative_sum.h"

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr const char* kCumulativeSumAll = "0xffffffff";
constexpr unsigned kRowsOfWarps = 4;    // of a block whose rows have a warp each
constexpr unsigned kLineThreads = 256;  // of a block whose threads have a line each
constexpr unsigned kLinesInFlight = 4;  // loads of a line on their way

bool sums_in_f64(ElementType type) {
    return type == ElementType::f64 || type == ElementType::i64 || type == ElementType::i32;
}

/// Arithmetic and shuffles in f32 or f64.
class Numbers {
  public:
    Numbers(PtxWriter& w, ComputeType compute) : w_(w), compute_(compute) {}

    bool wide() const { return compute_ == ComputeType::f64; }
    Reg zero() { return wide() ? w_.make_f64("mov.f64", f64_immediate(0)) : w_.constant_f32(0); }
    Reg sum(const Reg& a, const Reg& b) {
        return wide() ? w_.make_f64("add.rn.f64", a, b) : w_.make_f32("add.rn.f32", a, b);
    }
    void add_to(const Reg& a, const Reg& b) { w_.op(wide() ? "add.rn.f64" : "add.rn.f32", a, a, b); }
    Reg choose(const Reg& a, const Reg& b, const Reg& guard) {
        return wide() ? w_.make_f64("selp.f64", a, b, guard) : w_.make_f32("selp.f32", a, b, guard);
    }
    /// `how`: up or idx; the last operand is that of shfl.sync.
    template <class Lane>
    Reg shuffle(const char* how, const Reg& value, const Lane& lane, unsigned limit) {
        const std::string opcode = std::string("shfl.sync.") + how + ".b32";
        if (!wide()) return w_.make_f32(opcode, value, lane, limit, kCumulativeSumAll);
        const Reg low = w_.b32(), high = w_.b32();
        w_.op("mov.b64", vector_of({low, high}), value);
        const Reg other_low = w_.make_b32(opcode, low, lane, limit, kCumulativeSumAll);
        const Reg other_high = w_.make_b32(opcode, high, lane, limit, kCumulativeSumAll);
        return w_.make_f64("mov.b64", vector_of({other_low, other_high}));
    }
    /// Lane i gets the sum of lanes 0 to i.
    Reg scan(Reg value, const Reg& lane) {
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const Reg other = shuffle("up", value, distance, 0);
            const Reg has = w_.make_predicate("setp.ge.u32", lane, distance);
            value = sum(value, choose(other, zero(), has));
        }
        return value;
    }

  private:
    PtxWriter& w_;
    ComputeType compute_;
};

/// Sums of the warps before the own one and of the whole block, from each warp's. Contains two CTA barriers.
struct OfBlock {
    Reg before, total;
};
OfBlock scan_warps(PtxWriter& w, Numbers& numbers, const std::string& shared, const Reg& inclusive,
                   const Reg& lane, const Reg& warp, unsigned warps) {
    const unsigned size = numbers.wide() ? 8 : 4;
    const char* suffix = numbers.wide() ? "f64" : "f32";
    const Reg base = w.make_b32("mov.u32", shared);
    w.op_if(w.make_predicate("setp.eq.u32", lane, 31), std::string("st.shared.") + suffix,
            at(w.make_b32("mad.lo.u32", warp, size, base)), inclusive);
    w.cta_barrier();
    const Reg own = numbers.zero();
    w.op_if(w.make_predicate("setp.lt.u32", lane, warps), std::string("ld.shared.") + suffix, own,
            at(w.make_b32("mad.lo.u32", lane, size, base)));
    w.cta_barrier();
    const Reg scanned = numbers.scan(own, lane);
    const Reg earlier = numbers.shuffle("up", scanned, 1, 0);
    const Reg exclusive = numbers.choose(earlier, numbers.zero(), w.make_predicate("setp.ne.u32", lane, 0));
    return {numbers.shuffle("idx", exclusive, warp, 31), numbers.shuffle("idx", scanned, 31, 31)};
}

std::string name_of(const CumulativeSumSpec& spec) {
    return std::string("cumulative_sum_") + (spec.rows ? std::to_string(spec.threads) : "lines") + "_" +
           kernels::name_of(spec.x) + "_" + kernels::name_of(spec.y) + (spec.reverse ? "_reverse" : "");
}

GeneratedKernel along_rows(const CumulativeSumSpec& spec, ComputeType compute) {
    PtxWriter w(name_of(spec), spec.compute_capability);
    Numbers numbers(w, compute);
    const bool alone = spec.threads == 32;
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    const Reg rows = w.b32_parameter("lines"), columns = w.b32_parameter("extent");
    const std::string shared = alone ? "" : w.shared("sums", 32 * 8);
    const Reg tid = w.tid(), lane = w.make_b32("and.b32", tid, 31), warp = w.make_b32("shr.u32", tid, 5);
    const Reg row = alone ? w.make_b32("mad.lo.u32", w.cta_x(), kRowsOfWarps, warp) : w.cta_x();
    w.op_if(w.make_predicate("setp.ge.u32", row, rows), "exit");
    const Reg start = w.make_b64("mul.wide.u32", row, columns);
    const Reg x_row = w.make_b64("mad.lo.s64", start, bytes_of(spec.x), x);
    const Reg y_row = w.make_b64("mad.lo.s64", start, bytes_of(spec.y), y);
    const Reg last = w.make_b32("sub.u32", columns, 1), base = w.constant_b32(0);
    const Reg running = numbers.zero();
    const std::string turn = w.new_label("turn");
    w.place(turn);
    const Reg column = w.make_b32("add.u32", base, alone ? lane : tid);
    const Reg inside = w.make_predicate("setp.lt.u32", column, columns);
    const Reg place = spec.reverse ? w.make_b32("sub.u32", last, column) : column;
    const Reg value = load_elements(w, "ld.global", spec.x, 1,
                                    w.element_address(x_row, place, bytes_of(spec.x)), 0, compute, inside)[0];
    const Reg inclusive = numbers.scan(value, lane);
    Reg total, result = inclusive;
    if (alone) {
        total = numbers.shuffle("idx", inclusive, 31, 31);
    } else {
        const OfBlock block = scan_warps(w, numbers, shared, inclusive, lane, warp, spec.threads / 32);
        result = numbers.sum(block.before, inclusive);
        total = block.total;
    }
    store_elements(w, "st.global", spec.y, {numbers.sum(running, result)},
                   w.element_address(y_row, place, bytes_of(spec.y)), 0, compute, inside);
    numbers.add_to(running, total);
    w.op("add.u32", base, base, spec.threads);
    w.jump_if(w.make_predicate("setp.lt.u32", base, columns), turn);
    return w.finish({alone ? 32 * kRowsOfWarps : spec.threads, 1, 1});
}

GeneratedKernel along_lines(const CumulativeSumSpec& spec, ComputeType compute) {
    PtxWriter w(name_of(spec), spec.compute_capability);
    Numbers numbers(w, compute);
    const Reg y = w.pointer_parameter("y"), x = w.pointer_parameter("x");
    const Reg lines = w.b32_parameter("lines"), extent = w.b32_parameter("extent");
    const PtxWriter::Divider inner = w.divider_parameter("inner");
    const Reg line = w.make_b32("mad.lo.u32", w.cta_x(), kLineThreads, w.tid());
    w.op_if(w.make_predicate("setp.ge.u32", line, lines), "exit");
    const Reg outer = w.divide_fast(line, inner), within = w.remainder_fast(line, outer, inner);
    const Reg first = w.make_b64("mul.wide.u32", w.make_b32("mul.lo.u32", outer, extent), inner.divisor);
    const Reg start = w.make_b64("add.s64", first, w.make_b64("cvt.u64.u32", within));
    const Reg x_line = w.make_b64("mad.lo.s64", start, bytes_of(spec.x), x);
    const Reg y_line = w.make_b64("mad.lo.s64", start, bytes_of(spec.y), y);
    const Reg last = w.make_b32("sub.u32", extent, 1), i = w.constant_b32(0), running = numbers.zero();
    const std::string turn = w.new_label("turn");
    w.place(turn);
    std::vector<Reg> inside, offset;
    std::vector<RawVector> raw;
    for (unsigned k = 0; k < kLinesInFlight; ++k) {
        const Reg own = k == 0 ? i : w.make_b32("add.u32", i, k);
        inside.push_back(w.make_predicate("setp.lt.u32", own, extent));
        const Reg place = spec.reverse ? w.make_b32("sub.u32", last, own) : own;
        offset.push_back(w.make_b64("mul.wide.u32", place, inner.divisor));
        const Reg address = w.make_b64("mad.lo.s64", offset[k], bytes_of(spec.x), x_line);
        raw.push_back(load_raw(w, "ld.global", spec.x, 1, address, 0, inside[k]));
    }
    for (unsigned k = 0; k < kLinesInFlight; ++k) {
        numbers.add_to(running, convert_raw(w, raw[k], compute)[0]);
        store_elements(w, "st.global", spec.y, {running},
                       w.make_b64("mad.lo.s64", offset[k], bytes_of(spec.y), y_line), 0, compute, inside[k]);
    }
    w.op("add.u32", i, i, kLinesInFlight);
    w.jump_if(w.make_predicate("setp.lt.u32", i, extent), turn);
    return w.finish({kLineThreads, 1, 1});
}

}  // namespace

GeneratedKernel generate_cumulative_sum(const CumulativeSumSpec& spec) {
    const unsigned n = spec.threads;
    if (spec.rows && (n < 32 || n > 1024 || (n & (n - 1)) != 0))
        throw Error("sums along rows take blocks of 32, 64, ... 1,024 threads");
    const ComputeType compute = sums_in_f64(spec.x) || sums_in_f64(spec.y) ? ComputeType::f64 : ComputeType::f32;
    return spec.rows ? along_rows(spec, compute) : along_lines(spec, compute);
}

unsigned cumulative_sum_threads(const CumulativeSumSpec& spec, std::uint32_t extent) {
    unsigned threads = 32;
    while (spec.rows && threads < 1024 && threads < extent) threads *= 2;
    return threads;
}

Extent3 cumulative_sum_grid(const CumulativeSumSpec& spec, std::uint32_t lines) {
    if (!spec.rows) return {divide_up(lines, kLineThreads), 1, 1};
    return {spec.threads == 32 ? divide_up(lines, kRowsOfWarps) : lines, 1, 1};
}

}  // namespace heddle::kernels
