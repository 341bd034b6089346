#include "workloads/kernels/batch_norm.h"

#include <algorithm>
#include <bit>

#include "workloads/kernels/channel_statistics_output.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

/// Accesses of a thread that are on their way at once. With four of four elements ptxas 13.0 gives the kernel
/// 40 registers for sm_80, as many as cuDNN's has in recordings on an A100 (30 with one, 55 with six).
constexpr unsigned kUnderWay = 4;
/// What a launch may have without asking for more (CUDA C++ Programming Guide). In recordings on an A100
/// channels of 25,088 bytes are staged and those of 100,352 are not; of gradients, which hold two tensors,
/// those of 6,272 are and those of 25,088 are not.
constexpr std::uint32_t kStagedBytes = 48 * 1024;
/// What threads tell each other about a channel, and the alignment of what comes after it.
constexpr std::uint32_t kMomentBytes = 512;

class BatchNormWriter {
  public:
    explicit BatchNormWriter(const BatchNormSpec& spec)
        : s_(spec), w_(name_of(spec), spec.compute_capability) {}

    GeneratedKernel write() {
        ChannelStatisticsOutput output(w_, s_.running);
        y_ = w_.pointer_parameter("y");
        x_ = w_.pointer_parameter("x");
        const Reg weight = w_.pointer_parameter("weight"), bias = w_.pointer_parameter("bias");
        runs_ = w_.b32_parameter("runs");
        if (staged())
            run_ = w_.divider_parameter("run_length");
        else
            run_.divisor = w_.b32_parameter("run_length");
        run_stride_ = w_.b32_parameter("run_stride");
        output.declare_numbers();
        tid_ = w_.tid();
        channel_ = w_.cta_x();
        begin_ = w_.make_b32("mul.lo.u32", channel_, run_.divisor);
        own_ = {w_.constant_f32(0), w_.constant_f32(0), w_.constant_f32(0)};
        if (staged())
            slots_ =
                w_.make_b32("mad.lo.u32", tid_, 4, w_.make_b32("mov.u32", w_.dynamic_shared(staged_bytes())));
        staged() ? each_element(true) : each_vector(true);
        scale_ = of_channel(weight, s_.weight);
        shift_ = of_channel(bias, s_.bias);
        merge_threads(output);
        staged() ? each_element(false) : each_vector(false);
        return w_.finish({kBatchNormThreads, 1, 1});
    }

  private:
    static std::string name_of(const BatchNormSpec& s) {
        using kernels::name_of;
        std::string name = s.staged_elements != 0 ? "batch_norm_staged_" : "batch_norm_planes_";
        name += name_of(s.x) + "_" + name_of(s.y) + "_" + name_of(s.weight) + "_" + name_of(s.bias);
        if (s.running) name += "_running";
        if (s.staged_elements == 0)
            name += "_t" + std::to_string(s.run_threads) + "_v" + std::to_string(s.vector_width);
        return name;
    }
    bool staged() const { return s_.staged_elements != 0; }
    std::uint32_t staged_bytes() const { return divide_up(s_.staged_elements, kBatchNormThreads) * kBatchNormThreads * 4; }

    Reg of_channel(const Reg& base, ElementType type) {
        return load_elements(w_, "ld.global", type, 1, w_.element_address(base, channel_, bytes_of(type)), 0,
                             ComputeType::f32)[0];
    }

    /// Thread 0 has the channel's statistics and writes them; all learn mean and rstd.
    void merge_threads(ChannelStatisticsOutput& output) {
        merge_cta(w_, own_, tid_, kBatchNormThreads);
        const Reg told = w_.make_b32("mov.u32", w_.shared("told", 8, 8));
        const std::string others = w_.new_label("others");
        w_.jump_if(w_.make_predicate("setp.ne.u32", tid_, 0), others);
        const ChannelStatisticsOutput::Deviation deviation = output.deviation(own_);
        w_.op("st.shared.v2.f32", at(told), vector_of({own_.mean, deviation.rstd}));
        output.store(own_.mean, deviation, channel_);
        w_.place(others);
        w_.cta_barrier();
        mean_ = w_.f32();
        rstd_ = w_.f32();
        w_.op("ld.shared.v2.f32", vector_of({mean_, rstd_}), at(told));
    }

    Reg result_of(const Reg& x) {
        const Reg centred = w_.make_f32("sub.rn.f32", x, mean_);
        return w_.make_f32("fma.rn.f32", w_.make_f32("mul.rn.f32", centred, rstd_), scale_, shift_);
    }

    /// Planes: this thread's vectors of every run of the channel that its threads have.
    void each_vector(bool statistics) {
        const unsigned width = s_.vector_width, x_bytes = bytes_of(s_.x), y_bytes = bytes_of(s_.y);
        const std::uint32_t together = kBatchNormThreads / s_.run_threads;
        const Reg first = w_.multiply_by(w_.remainder_by(tid_, s_.run_threads), width);
        const Reg run = w_.make_b32("mov.b32", w_.divide_by(tid_, s_.run_threads));
        const Reg element =
            w_.make_b32("mad.lo.u32", run, run_stride_, w_.make_b32("add.u32", begin_, first));
        const Reg next_run = w_.multiply_by(run_stride_, together);
        const std::string loop = w_.new_label("run"), done = w_.new_label("runs_done");
        w_.jump_if(w_.make_predicate("setp.ge.u32", run, runs_), done);
        w_.place(loop);
        StridedLoop vectors;
        vectors.index = w_.make_b32("mov.b32", first);
        vectors.end = run_.divisor;
        vectors.step = s_.run_threads * width;
        vectors.unroll = kUnderWay;
        const Reg from = w_.element_address(x_, element, x_bytes);
        const Reg to = statistics ? Reg{} : w_.element_address(y_, element, y_bytes);
        vectors.pointers = {{from, x_bytes}};
        if (!statistics) vectors.pointers.emplace_back(to, y_bytes);
        emit_strided_loop(w_, vectors, [&](unsigned count) {
            std::vector<RawVector> raw;
            for (unsigned i = 0; i < count; ++i)
                raw.push_back(load_raw(w_, "ld.global", s_.x, width, from, i * vectors.step * x_bytes));
            for (unsigned i = 0; i < count; ++i) {
                std::vector<Reg> values = convert_raw(w_, raw[i], ComputeType::f32);
                for (Reg& value : values) {
                    if (statistics)
                        take(w_, own_, value);
                    else
                        value = result_of(value);
                }
                if (!statistics)
                    store_elements(w_, "st.global", s_.y, values, to, i * vectors.step * y_bytes,
                                   ComputeType::f32);
            }
        });
        w_.op("add.u32", run, run, together);
        w_.op("add.u32", element, element, next_run);
        w_.jump_if(w_.make_predicate("setp.lt.u32", run, runs_), loop);
        w_.place(done);
    }

    /// Staged: elements 512 apart, each in a word of shared memory that no other thread reads.
    void each_element(bool statistics) {
        StridedLoop elements;
        elements.index = w_.make_b32("mov.b32", tid_);
        elements.end = w_.make_b32("mul.lo.u32", runs_, run_.divisor);
        elements.step = kBatchNormThreads;
        elements.unroll = kUnderWay;
        const Reg slot = w_.make_b32("mov.b32", slots_);
        emit_strided_loop(w_, elements, [&](unsigned count) {
            std::vector<Reg> places;
            for (unsigned i = 0; i < count; ++i) {
                const Reg index =
                    i == 0 ? elements.index : w_.make_b32("add.u32", elements.index, i * kBatchNormThreads);
                const Reg run = w_.divide_fast(index, run_);
                const Reg within = w_.remainder_fast(index, run, run_);
                places.push_back(
                    w_.make_b32("mad.lo.u32", run, run_stride_, w_.make_b32("add.u32", within, begin_)));
            }
            statistics ? stage(places, slot) : unstage(places, slot);
            w_.op("add.u32", slot, slot, count * kBatchNormThreads * 4);
        });
    }

    void stage(const std::vector<Reg>& places, const Reg& slot) {
        std::vector<RawVector> raw;
        raw.reserve(places.size());
        for (const Reg& place : places)
            raw.push_back(
                load_raw(w_, "ld.global", s_.x, 1, w_.element_address(x_, place, bytes_of(s_.x)), 0));
        for (std::size_t i = 0; i < raw.size(); ++i) {
            const Reg value = convert_raw(w_, raw[i], ComputeType::f32)[0];
            w_.op("st.shared.f32", at(slot, i * kBatchNormThreads * 4), value);
            take(w_, own_, value);
        }
    }

    void unstage(const std::vector<Reg>& places, const Reg& slot) {
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Reg value = result_of(w_.make_f32("ld.shared.f32", at(slot, i * kBatchNormThreads * 4)));
            store_elements(w_, "st.global", s_.y, {value}, w_.element_address(y_, places[i], bytes_of(s_.y)),
                           0, ComputeType::f32);
        }
    }

    const BatchNormSpec& s_;
    PtxWriter w_;
    Reg y_, x_, runs_, run_stride_, tid_, channel_, begin_, slots_;
    PtxWriter::Divider run_;
    Welford own_;
    Reg scale_, shift_, mean_, rstd_;
};

}  // namespace

GeneratedKernel generate_batch_norm(const BatchNormSpec& spec) {
    return BatchNormWriter(spec).write();
}

BatchNormSpec choose_batch_norm(unsigned compute_capability, const BatchNormShape& shape, bool aligned) {
    /// Of a thread in a run, in fours: planes of 112x112, 56x56 and 28x28, recorded with 512, 128 and 32
    /// threads, take 6.125 each.
    constexpr std::uint32_t kLoads = 7;
    BatchNormSpec spec;
    spec.compute_capability = compute_capability;
    const std::uint64_t elements = std::uint64_t{shape.runs} * shape.run_length;
    if (elements <= (kStagedBytes - kMomentBytes) / 4 / kBatchNormThreads * kBatchNormThreads) {
        spec.staged_elements = static_cast<std::uint32_t>(elements);
        return spec;
    }
    if (aligned && shape.run_length % 4 == 0) spec.vector_width = 4;
    const std::uint32_t fours = divide_up(shape.run_length, 4);
    spec.run_threads = 32;
    while (spec.run_threads < kBatchNormThreads && fours > kLoads * spec.run_threads) spec.run_threads *= 4;
    // Runs shorter than a warp leave no lane idle: not seen in recordings.
    spec.run_threads = std::min(spec.run_threads, std::bit_ceil(shape.run_length / spec.vector_width));
    return spec;
}

void add_batch_norm_arguments(std::vector<KernelArgument>& arguments, const BatchNormSpec& spec,
                              const BatchNormShape& shape) {
    arguments.push_back(integer_argument("runs", shape.runs));
    if (spec.staged_elements != 0)
        add_divider_arguments(arguments, "run_length", shape.run_length);
    else
        arguments.push_back(integer_argument("run_length", shape.run_length));
    arguments.push_back(integer_argument("run_stride", shape.run_stride));
}

}  // namespace heddle::kernels
