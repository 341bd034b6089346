#include "workloads/kernels/attention_softmax.h"

#include <cmath>

#include "workloads/expression/expression.h"
#include "workloads/kernels/reduction_code.h"

namespace heddle::kernels {
namespace {

constexpr std::uint32_t kHighFactor = 0x85ebca6bu;

std::uint32_t mixed(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

Reg emit_mixed(PtxWriter& w, Reg x) {
    x = w.make_b32("xor.b32", x, w.make_b32("shr.u32", x, 16));
    x = w.make_b32("mul.lo.u32", x, "0x7feb352d");
    x = w.make_b32("xor.b32", x, w.make_b32("shr.u32", x, 15));
    x = w.make_b32("mul.lo.u32", x, "0x846ca68b");
    return w.make_b32("xor.b32", x, w.make_b32("shr.u32", x, 16));
}

}  // namespace

AttentionDropout::AttentionDropout(PtxWriter& w, bool narrow)
    : w_(w),
      narrow_(narrow),
      key_(w.b32_parameter("dropout_key")),
      threshold_(w.b32_parameter("dropout_threshold")),
      scale_(w.f32_parameter("dropout_scale")),
      threshold_pair_(w.make_b32("mul.lo.u32", w.make_b32("shr.u32", threshold_, 24), 0x10001)) {}

AttentionDropout::Start AttentionDropout::start(const Reg& element) {
    Start start;
    start.low = w_.b32();
    const Reg high = w_.b32();
    w_.op("mov.b64", vector_of({start.low, high}), element);
    if (narrow_) {
        start.key = start.next_key = key_;
        return start;
    }
    start.key = w_.make_b32("mad.lo.u32", high, kHighFactor, key_);
    start.next_key = w_.make_b32("add.u32", start.key, kHighFactor);
    return start;
}

Reg AttentionDropout::bits(const Start& start, unsigned offset) {
    Reg low = start.low, key = start.key;
    if (offset != 0) {
        low = w_.make_b32("add.u32", start.low, offset);
        if (!narrow_) {
            const Reg carries = w_.make_predicate("setp.lt.u32", low, start.low);
            key = w_.make_b32("selp.b32", start.next_key, start.key, carries);
        }
    }
    return emit_mixed(w_, w_.make_b32("add.u32", emit_mixed(w_, low), key));
}

Reg AttentionDropout::kept(const Reg& bits, unsigned byte) {
    // The threshold is in the highest byte: what lies below this one in the bits does not matter.
    const Reg value = byte == 3 ? bits : w_.make_b32("shl.b32", bits, 24 - byte * 8);
    return w_.make_predicate("setp.ge.u32", value, threshold_);
}

Reg AttentionDropout::keep_pair(const Reg& pair, const Reg& bits, unsigned byte) {
    // Bytes are small numbers of f16, which one instruction compares two by two, as FlashAttention-2 does.
    const Reg two = w_.make_b32("prmt.b32", bits, 0, byte == 0 ? "0x4140" : "0x4342");
    const Reg mask = w_.make_b32("set.ge.u32.f16x2", two, threshold_pair_);
    return w_.make_b32("and.b32", pair, mask);
}

Reg AttentionDropout::row_elements(const Reg& keys) {
    return w_.make_b32("and.b32", w_.make_b32("shr.u32", w_.make_b32("add.u32", keys, 31), 2), -8);
}

bool narrow_dropout(std::uint64_t rows, std::uint64_t keys) {
    return rows * (8 * ((keys + 31) / 32)) <= std::uint64_t{1} << 32;
}

void add_dropout_arguments(std::vector<KernelArgument>& arguments, double probability, std::uint64_t stream) {
    const expression::WeightDropout dropout(probability, stream);
    const std::uint32_t key = mixed(static_cast<std::uint32_t>(stream) +
                                    0x9e3779b9u * (static_cast<std::uint32_t>(stream >> 32) + 1));
    arguments.push_back(integer_argument("dropout_key", key));
    arguments.push_back(integer_argument("dropout_threshold", dropout.threshold << 24));
    arguments.push_back(f32_argument("dropout_scale", static_cast<float>(dropout.scale)));
}

OnlineSoftmax::OnlineSoftmax(PtxWriter& w)
    : w_(w),
      scale_log2_(w.make_f32("mul.rn.f32", w.f32_parameter("scale"), f32_immediate(kLog2E))),
      negative_scale_log2_(w.make_f32("neg.f32", scale_log2_)) {}

void OnlineSoftmax::make_rows(unsigned rows) {
    for (unsigned i = 0; i < rows; ++i) {
        maximum_.push_back(w_.constant_f32(-INFINITY));
        sum_.push_back(w_.constant_f32(0));
    }
}

void OnlineSoftmax::reset() {
    for (const Reg& maximum : maximum_) w_.op("mov.f32", maximum, f32_immediate(-INFINITY));
    for (const Reg& sum : sum_) w_.op("mov.f32", sum, f32_immediate(0));
}

void OnlineSoftmax::hide(const AccumulatorTile& scores, const std::vector<Reg>& limits, const Reg& column) {
    for (unsigned r = 0; r < limits.size(); ++r) {
        const Reg distance = w_.make_b32("sub.s32", limits[r], column);
        for (unsigned j = 0; j < scores[r / 2].size(); ++j) {
            for (unsigned e = 0; e < 2; ++e) {
                const Reg& score = scores[r / 2][j][r % 2 * 2 + e];
                const Reg hidden = w_.make_predicate("setp.lt.s32", distance, j * 8 + e);
                w_.op("selp.f32", score, f32_immediate(-INFINITY), score, hidden);
            }
        }
    }
}

/// Rows innermost: chains of different rows take turns, as each operation must wait for the one before it in
/// its own row.
void OnlineSoftmax::for_each_score(AccumulatorTile& scores, unsigned block,
                                   const std::function<void(unsigned row, const Reg& score)>& visit) {
    for (unsigned e = 0; e < 2; ++e) {
        for (unsigned r = 0; r < rows(); ++r) visit(r, scores[r / 2][block][r % 2 * 2 + e]);
    }
}

void OnlineSoftmax::update(AccumulatorTile& scores, AccumulatorTile& output) {
    const auto blocks = static_cast<unsigned>(scores[0].size());
    std::vector<Reg> previous, negative_shift, correction;
    for (const Reg& maximum : maximum_) previous.push_back(w_.make_f32("mul.rn.f32", maximum, scale_log2_));
    for (unsigned j = 0; j < blocks; ++j) {
        for_each_score(scores, j, [&](unsigned r, const Reg& score) {
            emit_combine(w_, Combine::maximum, maximum_[r], score);
        });
    }
    emit_warp_reduce(w_, Combine::maximum, maximum_, 4);
    for (const Reg& maximum : maximum_) {
        // A row that has seen nothing yet subtracts 0 rather than -infinity.
        const Reg nothing = w_.make_predicate("setp.eq.f32", maximum, f32_immediate(-INFINITY));
        const Reg shift = w_.make_f32("mul.rn.f32", maximum, negative_scale_log2_);
        negative_shift.push_back(w_.make_f32("selp.f32", f32_immediate(0), shift, nothing));
    }
    for (unsigned r = 0; r < rows(); ++r) {
        const Reg difference = w_.make_f32("add.rn.f32", previous[r], negative_shift[r]);
        correction.push_back(w_.make_f32("ex2.approx.ftz.f32", difference));
    }
    // The exponentials of one block of columns, then the sums of the block before it.
    for (unsigned j = 0; j <= blocks; ++j) {
        if (j < blocks) {
            for_each_score(scores, j, [&](unsigned r, const Reg& score) {
                w_.op("fma.rn.f32", score, score, scale_log2_, negative_shift[r]);
            });
            for_each_score(scores, j,
                           [&](unsigned, const Reg& score) { w_.op("ex2.approx.ftz.f32", score, score); });
        }
        if (j == 0) {
            for (unsigned r = 0; r < rows(); ++r) w_.op("mul.rn.f32", sum_[r], sum_[r], correction[r]);
            continue;
        }
        for_each_score(scores, j - 1,
                       [&](unsigned r, const Reg& score) { w_.op("add.rn.f32", sum_[r], sum_[r], score); });
    }
    for (unsigned r = 0; r < rows(); ++r) {
        for (const auto& block : output[r / 2]) {
            for (unsigned e = r % 2 * 2; e < r % 2 * 2 + 2; ++e)
                w_.op("mul.rn.f32", block[e], block[e], correction[r]);
        }
    }
}

void OnlineSoftmax::drop(std::vector<std::vector<std::vector<Reg>>>& weights, AttentionDropout& dropout,
                         const std::vector<Reg>& elements) {
    std::vector<AttentionDropout::Start> starts;
    starts.reserve(elements.size());
    for (const Reg& element : elements) starts.push_back(dropout.start(element));
    for (unsigned pair = 0; pair < weights[0].size(); ++pair) {  // of blocks of 8 keys
        for (unsigned r = 0; r < rows(); ++r) {
            const Reg bits = dropout.bits(starts[r], pair / 2 * 8 + pair % 2);
            for (unsigned block = 0; block < 2; ++block) {
                Reg& two = weights[r / 2][pair][block * 2 + r % 2];
                two = dropout.keep_pair(two, bits, block * 2);
            }
        }
    }
}

void OnlineSoftmax::normalise(AccumulatorTile& output, const AttentionDropout* dropout) {
    empty_.clear();
    for (unsigned r = 0; r < rows(); ++r) {
        emit_warp_reduce(w_, Combine::add, {sum_[r]}, 4);
        empty_.push_back(w_.make_predicate("setp.eq.f32", sum_[r], f32_immediate(0)));
        Reg inverse =
            w_.make_f32("selp.f32", f32_immediate(1), w_.make_f32("rcp.rn.f32", sum_[r]), empty_[r]);
        if (dropout != nullptr) inverse = w_.make_f32("mul.rn.f32", inverse, dropout->scale());
        for (const auto& block : output[r / 2]) {
            for (unsigned e = r % 2 * 2; e < r % 2 * 2 + 2; ++e)
                w_.op("mul.rn.f32", block[e], block[e], inverse);
        }
    }
}

Reg OnlineSoftmax::log_sum_exp(unsigned row) {
    const Reg log2_sum = w_.make_f32("lg2.approx.f32", sum_[row]);
    const Reg log2_total = w_.make_f32("fma.rn.f32", maximum_[row], scale_log2_, log2_sum);
    const Reg total = w_.make_f32("mul.rn.f32", log2_total, f32_immediate(kLn2));
    return w_.make_f32("selp.f32", f32_immediate(INFINITY), total, empty_[row]);
}

}  // namespace heddle::kernels
