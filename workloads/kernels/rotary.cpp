#include "workloads/kernels/rotary.h"

#include <cmath>

#include "isa/common/error.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kRotaryThreads = 256, kWaveThreads = 1024;
constexpr unsigned kElements = 8;  // of 16 bytes

class Rotary {
  public:
    explicit Rotary(const RotarySpec& spec)
        : spec_(spec),
          vectors_(spec.head_dim / kElements),
          tokens_per_cta_(kRotaryThreads / vectors_),
          half_((spec.rotary_dim == 0 ? spec.head_dim : spec.rotary_dim) / 2),
          w_("rotary_" + name_of(spec.type) + "_d" + std::to_string(spec.head_dim) +
                 (spec.rotary_dim == 0 ? "" : "_turn" + std::to_string(spec.rotary_dim)) +
                 (spec.paged ? "_paged" : ""),
             spec.compute_capability) {}

    GeneratedKernel write() {
        parameters();
        const std::string next = w_.new_label("tokens"), end = w_.new_label("end");
        const Reg last_token = w_.make_b32("sub.u32", tokens_, 1);
        const Reg step = w_.multiply_by(w_.make_b32("mov.u32", "%nctaid.x"), tokens_per_cta_);
        const Reg kv_head = w_.divide_fast(head_, ratio_);
        // Elements of the token's row: heads, key heads, value heads.
        const Reg row_elements =
            w_.multiply_by(w_.make_b32("mad.lo.u32", kv_heads_, 2, heads_), spec_.head_dim);
        const Reg key_head = w_.make_b32("add.u32", heads_, kv_head);
        const Reg value_head = w_.make_b32("add.u32", key_head, kv_heads_);
        // In the same head the partner of the second half lies before it, else always after it.
        const Reg half = half_ < spec_.head_dim ? w_.make_b32("xor.b32", column_, half_)
                                                : w_.make_b32("add.u32", column_, half_);
        const Reg first = w_.make_predicate("setp.lt.u32", column_, half_);
        const Reg angle = w_.make_b32("and.b32", column_, half_ - 1);
        const Reg leads = w_.make_predicate("setp.eq.u32", w_.remainder_fast(head_, kv_head, ratio_), 0);
        w_.place(next);
        // The whole CTA meets at the barrier: threads without a token repeat the last one and write nothing.
        w_.jump_if(w_.make_predicate("setp.ge.u32", first_token_, tokens_), end);
        const Reg own = w_.make_b32("add.u32", first_token_, in_block_);
        const Reg token = w_.make_b32("min.u32", own, last_token);
        const Reg row = w_.make_b64("mul.wide.u32", token, row_elements);
        const Cached place = position_of(token);
        const std::vector<Reg> q = load(row, head_, column_), k = load(row, key_head, column_),
                               v = load(row, value_head, column_), q_pair = load(row, head_, half),
                               k_pair = load(row, key_head, half);
        const Reg angles =
            w_.element_address(angles_, w_.make_b32("mad.lo.u32", place.position, half_, angle), 8);
        std::vector<Reg> cosine, sine;
        for (unsigned e = 0; e < kElements; ++e) {
            const std::vector<Reg> pair = w_.f32s(2);
            w_.op("ld.global.v2.f32", vector_of(pair), at(angles, e * 8));
            cosine.push_back(pair[0]);
            sine.push_back(w_.make_f32("selp.f32", w_.make_f32("neg.f32", pair[1]), pair[1], first));
        }
        const std::vector<Reg> new_q = turned(q, q_pair, cosine, sine),
                               new_k = turned(k, k_pair, cosine, sine);
        const Reg key_line = cache_line(place, kv_head, 0), value_line = cache_line(place, kv_head, 1);
        // In place, what a pair needs must have been read before it is written.
        w_.cta_barrier();
        const Reg valid = w_.make_predicate("setp.lt.u32", own, tokens_);
        const Reg q_place = w_.make_b32("mad.lo.u32", token, heads_, head_);
        store(q_, w_.make_b64("mul.wide.u32", q_place, spec_.head_dim), new_q, valid);
        const Reg writes = w_.make_predicate("and.pred", valid, leads);
        store(k_, key_line, new_k, writes);
        store(v_, value_line, v, writes);
        w_.op("add.u32", first_token_, first_token_, step);
        w_.jump(next);
        w_.place(end);
        return w_.finish({kRotaryThreads, 1, 1});
    }

  private:
    void parameters() {
        q_ = w_.pointer_parameter("q");
        k_ = w_.pointer_parameter("k_cache");
        v_ = w_.pointer_parameter("v_cache");
        qkv_ = w_.pointer_parameter("qkv");
        angles_ = w_.pointer_parameter("angles");
        tokens_ = w_.b32_parameter("tokens");
        heads_ = w_.b32_parameter("heads");
        kv_heads_ = w_.b32_parameter("kv_heads");
        ratio_ = w_.divider_parameter("heads_per_kv_head");
        sequence_ = w_.divider_parameter("sequence");
        if (spec_.paged) {
            entries_ = w_.pointer_parameter("entries");
            positions_ = w_.pointer_parameter("positions");
            lengths_ = w_.pointer_parameter("lengths");
            cache_lengths_ = w_.pointer_parameter("cache_lengths");
            pages_ = w_.pointer_parameter("pages");
            pages_per_entry_ = w_.b32_parameter("pages_per_entry");
        }
        const Reg tid = w_.tid();
        column_ = w_.multiply_by(w_.remainder_by(tid, vectors_), kElements);
        in_block_ = w_.divide_by(tid, vectors_);
        first_token_ = w_.multiply_by(w_.cta_x(), tokens_per_cta_);
        head_ = w_.cta_y();
    }
    Reg load_index(const Reg& base, const Reg& index) {
        Reg value = w_.b32();
        w_.op("ld.global.b32", value, at(w_.element_address(base, index, 4)));
        return value;
    }

    /// Where a token belongs: entry of the batch, position in it.
    struct Cached {
        Reg entry, position;
    };
    Cached position_of(const Reg& token) {
        if (!spec_.paged) {
            const Reg entry = w_.divide_fast(token, sequence_);
            return {entry, w_.remainder_fast(token, entry, sequence_)};
        }
        const Reg entry = load_index(entries_, token), position = load_index(positions_, token);
        const Reg cached = load_index(cache_lengths_, entry), length = load_index(lengths_, entry);
        return {entry, w_.make_b32("add.u32", w_.make_b32("sub.u32", cached, length), position)};
    }
    /// The first element of a position's line in the cache of keys (0) or values (1).
    Reg cache_line(const Cached& place, const Reg& kv_head, unsigned values) {
        Reg outer = place.entry, extent = sequence_.divisor, inner = place.position;
        if (spec_.paged) {
            const Reg list = w_.make_b32("mad.lo.u32", place.entry, 2, values);
            const Reg number = w_.divide_by(place.position, kRotaryPage);
            outer = load_index(pages_, w_.make_b32("mad.lo.u32", list, pages_per_entry_, number));
            extent = w_.constant_b32(kRotaryPage);
            inner = w_.remainder_by(place.position, kRotaryPage);
        }
        const Reg plane = w_.make_b32("mad.lo.u32", outer, kv_heads_, kv_head);
        const Reg line = w_.make_b64("mad.wide.u32", plane, extent, w_.make_b64("cvt.u64.u32", inner));
        return w_.make_b64("mul.lo.u64", line, spec_.head_dim);
    }
    std::vector<Reg> load(const Reg& row, const Reg& head, const Reg& column) {
        const Reg element = w_.make_b32("mad.lo.u32", head, spec_.head_dim, column);
        const Reg place = w_.make_b64("add.s64", row, w_.make_b64("cvt.u64.u32", element));
        std::vector<Reg> words = w_.b32s(4);
        const Reg address = w_.make_b64("add.s64", qkv_, w_.make_b64("shl.b64", place, 1));
        if (whole_vectors()) {
            w_.op("ld.global.v4.b32", vector_of(words), at(address));
        } else {
            for (unsigned i = 0; i < 4; ++i) w_.op("ld.global.b32", words[i], at(address, i * 4));
        }
        return words;
    }
    std::vector<Reg> turned(const std::vector<Reg>& own, const std::vector<Reg>& pair,
                            const std::vector<Reg>& cosine, const std::vector<Reg>& sine) {
        std::vector<Reg> words;
        for (unsigned word = 0; word < 4; ++word) {
            const std::vector<Reg> x = unpack_pair(w_, spec_.type, own[word]),
                                   y = unpack_pair(w_, spec_.type, pair[word]);
            std::vector<Reg> z;
            for (unsigned e = 0; e < 2; ++e) {
                const Reg part = w_.make_f32("mul.rn.f32", y[e], sine[word * 2 + e]);
                z.push_back(w_.make_f32("fma.rn.f32", x[e], cosine[word * 2 + e], part));
            }
            words.push_back(pack_pair(w_, spec_.type, z[0], z[1]));
        }
        return words;
    }
    void store(const Reg& base, const Reg& elements, const std::vector<Reg>& words, const Reg& guard) {
        const Reg place = w_.make_b64("add.s64", elements, w_.make_b64("cvt.u64.u32", column_));
        const Reg address = w_.make_b64("add.s64", base, w_.make_b64("shl.b64", place, 1));
        if (whole_vectors()) return w_.op_if(guard, "st.global.v4.b32", at(address), vector_of(words));
        for (unsigned i = 0; i < 4; ++i) w_.op_if(guard, "st.global.b32", at(address, i * 4), words[i]);
    }
    /// TensorRT-LLM's vector of eight bf16 is a struct of four pairs, which is aligned to 4 bytes: its
    /// compiler must access it pair by pair. That of f16 is a uint4.
    bool whole_vectors() const { return spec_.type == ElementType::f16; }

    const RotarySpec& spec_;
    unsigned vectors_, tokens_per_cta_, half_;
    PtxWriter w_;
    Reg q_, k_, v_, qkv_, angles_, tokens_, heads_, kv_heads_, column_, in_block_, first_token_, head_;
    Reg entries_, positions_, lengths_, cache_lengths_, pages_, pages_per_entry_;
    PtxWriter::Divider ratio_, sequence_;
};

}  // namespace

GeneratedKernel generate_rotary(const RotarySpec& spec) {
    if ((spec.type != ElementType::f16 && spec.type != ElementType::bf16) ||
        (spec.head_dim != 64 && spec.head_dim != 128)) {
        throw Error("rotary embedding takes heads of 64 or 128 in f16 or bf16, not of " +
                    std::to_string(spec.head_dim) + " in " + name_of(spec.type));
    }
    if (spec.rotary_dim != 0 && spec.rotary_dim != spec.head_dim && spec.rotary_dim != 2 * spec.head_dim)
        throw Error("rotary embedding of " + std::to_string(spec.rotary_dim) + " elements of heads of " +
                    std::to_string(spec.head_dim));
    return Rotary(spec).write();
}

/// As TensorRT-LLM's calGridSizeWithBestEfficiency: the first number of CTAs whose last wave is the fullest.
Extent3 rotary_grid(const RotarySpec& spec, std::uint32_t tokens, std::uint32_t heads, unsigned sm_count) {
    const std::uint32_t needed = divide_up(tokens, kRotaryThreads / (spec.head_dim / kElements));
    const unsigned ctas = kWaveThreads / kRotaryThreads * sm_count;
    const auto wave = static_cast<float>(ctas);
    float best = 0;
    std::uint32_t chosen = 1;
    for (std::uint32_t x = 1; x <= needed && best < 1; ++x) {
        const float waves = static_cast<float>(x) * static_cast<float>(heads) / wave;
        const float filled = waves / std::ceil(waves);
        if (filled <= best) continue;
        best = filled;
        chosen = x;
    }
    return {chosen, heads, 1};
}

}  // namespace heddle::kernels
