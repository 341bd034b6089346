#include "workloads/kernels/attention_wgmma.h"

#include <optional>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "workloads/kernels/attention_softmax.h"
#include "workloads/kernels/attention_wgmma_parts.h"

namespace heddle::kernels {
namespace {

constexpr unsigned kAttentionWgmmaGroups = kAttentionConsumers, kGroupThreads = kWarpgroupThreads,
                   kGroupRows = kWarpgroupRows;

/// Byte offsets in shared memory, from a multiple of kAtom.
struct AttentionWgmmaLayout {
    explicit AttentionWgmmaLayout(const AttentionWgmmaSpec& spec)
        : panels(spec.head_dim / kLineElements),
          q_bytes(kGroupRows * kLine * panels),
          block_bytes(spec.block_n * kLine * panels),
          k(kAttentionWgmmaGroups * q_bytes),
          v(k + spec.stages * block_bytes),
          staging(v + spec.stages * block_bytes),
          q_full(staging + kAttentionWgmmaGroups * q_bytes),
          q_empty(q_full + 8 * kAttentionWgmmaGroups),
          k_full(q_empty + 8 * kAttentionWgmmaGroups),
          v_full(k_full + 8 * spec.stages),
          empty(v_full + 8 * spec.stages),
          end(empty + 8 * spec.stages) {}
    unsigned panels, q_bytes, block_bytes;
    unsigned k, v, staging, q_full, q_empty, k_full, v_full, empty, end;
};

void check(const AttentionWgmmaSpec& spec) {
    const SourceLocation where{.key = "attention_wgmma head_dim " + std::to_string(spec.head_dim) +
                                      " block " + std::to_string(spec.block_n)};
    check_attention_wgmma(spec.type, spec.head_dim, where);
    const bool block =
        spec.block_n == 64 || spec.block_n == 128 || (spec.block_n == 256 && spec.head_dim == 64);
    if (!block) throw Error("blocks have 64 or 128 keys, or 256 with heads of 64", where);
    if (spec.stages < 2 || AttentionWgmmaLayout(spec).end + kAtom > 227 * 1024)
        throw Error("a ring of " + std::to_string(spec.stages) + " stages does not work", where,
                    "at least 2, and at most 227 KiB in all");
}

class AttentionWgmmaWriter {
  public:
    explicit AttentionWgmmaWriter(const AttentionWgmmaSpec& spec)
        : spec_(spec),
          d_(spec.head_dim),
          layout_(spec),
          w_("attention_wgmma_" + name_of(spec.type) + "_d" + std::to_string(spec.head_dim) + "_128x" +
                 std::to_string(spec.block_n) + "_stages" + std::to_string(spec.stages) +
                 (spec.causal ? "_causal" : "") + (spec.take_turns ? "" : "_free") +
                 (spec.longest_first ? "_longest" : "") + (spec.paged ? "_paged" : "") +
                 (spec.store_words ? "_words" : "") +
                 (spec.dropout ? spec.narrow_dropout ? "_dropout32" : "_dropout" : ""),
             spec.compute_capability, target::first_with(&target::Generation::has_wgmma), "wgmma") {}

    GeneratedKernel write() {
        parts_.begin();
        parameters();
        set_up_barriers();
        return parts_.finish(
            group_, [&](const std::string& end) { consume(end); },
            [&](const std::string& end) { produce(end); });
    }

  private:
    void parameters() {
        q_map_ = w_.tensor_map_parameter("tensor_q");
        k_map_ = w_.tensor_map_parameter("tensor_k");
        v_map_ = w_.tensor_map_parameter("tensor_v");
        o_ = w_.pointer_parameter("o");
        lse_ = w_.pointer_parameter("lse");
        counter_ = w_.pointer_parameter("counter");
        if (spec_.paged) {
            page_list_ = w_.pointer_parameter("page_list");
            pages_per_entry_ = w_.b32_parameter("pages_per_entry");
        }
        queries_ = w_.b32_parameter("queries");
        keys_ = w_.b32_parameter("keys");
        heads_ = w_.b32_parameter("heads");
        tiles_ = w_.b32_parameter("tiles");
        o_row_ = w_.b32_parameter("o_row");
        o_head_ = w_.b32_parameter("o_head");
        o_batch_ = w_.b64_parameter("o_batch");
        outer_ = w_.divider_parameter("outer");
        inner_ = w_.divider_parameter("inner");
        ratio_ = w_.divider_parameter("heads_per_kv_head");
        softmax_.emplace(w_);
        if (spec_.dropout) dropout_.emplace(w_, spec_.narrow_dropout);
        const AttentionWgmmaParts::Position own = parts_.position(layout_.end);
        group_ = own.group;
        thread_ = own.thread;
        shared_ = own.shared;
        // By its own name, so that nothing else in shared memory can steer.
        tile_slot_ = w_.shared("tile_at_hand", 4);
        offset_ = w_.make_b32("sub.s32", keys_, queries_);
    }

    void set_up_barriers() {
        parts_.make_barriers([&] {
            const Reg one = w_.constant_b32(1), both = w_.constant_b32(kAttentionWgmmaGroups);
            const auto make = [&](unsigned place, const Reg& count) {
                parts_.make_barrier(shared_, place, count);
            };
            for (unsigned g = 0; g < kAttentionWgmmaGroups; ++g) {
                make(layout_.q_full + 8 * g, one);
                make(layout_.q_empty + 8 * g, one);
            }
            for (unsigned s = 0; s < spec_.stages; ++s) {
                make(layout_.k_full + 8 * s, one);
                make(layout_.v_full + 8 * s, one);
                make(layout_.empty + 8 * s, both);
            }
        });
    }

    void wait(const Reg& base, unsigned offset, const Reg& parity) { parts_.wait(base, offset, parity); }
    void arrive(const Reg& guard, const Reg& base, unsigned offset) { parts_.arrive(guard, base, offset); }

    /// From tile_ (b32): first query, head, batch entry, and how many blocks of keys its queries see.
    void decode_tile() {
        const Reg major = w_.divide_fast(tile_, outer_);
        const Reg rest = w_.remainder_fast(tile_, major, outer_);
        const Reg middle = w_.divide_fast(rest, inner_);
        const Reg minor = w_.remainder_fast(rest, middle, inner_);
        head_ = middle;
        Reg block = minor;
        batch_ = major;
        if (spec_.longest_first) {
            // outer: batch * heads, inner: batch; the last queries first.
            batch_ = minor;
            const Reg last = w_.make_b32("shr.u32", w_.make_b32("sub.u32", queries_, 1), 7);
            block = w_.make_b32("sub.u32", last, major);
        }
        first_query_ = w_.multiply_by(block, kAttentionWgmmaQueries);
        Reg seen = keys_;
        if (spec_.causal) {
            const Reg end = w_.make_b32("add.s32", first_query_, kAttentionWgmmaQueries);
            seen = w_.make_b32("min.s32", w_.make_b32("add.s32", end, offset_), keys_);
            seen = w_.make_b32("max.s32", seen, 1);  // rows that see nothing take part in one block
        }
        const unsigned shift = spec_.block_n == 64 ? 6 : spec_.block_n == 128 ? 7 : 8;
        blocks_ = w_.make_b32("shr.u32", w_.make_b32("add.u32", seen, spec_.block_n - 1), shift);
    }

    void copy(const Reg& map, unsigned lines, const Reg& to, const Reg& row, const Reg& head,
              const Reg& barrier, unsigned barrier_offset) {
        parts_.copy(map, layout_.panels, lines, to, row, head, batch_, barrier, barrier_offset);
    }

    /// A block of keys and one of values, page by page.
    void copy_pages(const Reg& area, const Reg& first_key, const Reg& kv_head, const Reg& barrier) {
        for (const unsigned full : {layout_.k_full, layout_.v_full})
            parts_.expect_bytes(barrier, full, layout_.block_bytes);
        const Reg last = w_.make_b32("shr.u32", w_.make_b32("sub.u32", keys_, 1), 6);
        const Reg number = w_.make_b32("shr.u32", first_key, 6), place = w_.make_b32("mov.u32", area),
                  left = w_.constant_b32(spec_.block_n / kAttentionPage);
        const Reg list = w_.element_address(
            page_list_, w_.make_b32("mul.lo.u32", batch_, w_.make_b32("shl.b32", pages_per_entry_, 1)), 4);
        const std::string next = w_.new_label("produce_page");
        w_.place(next);
        const Reg own = w_.element_address(list, w_.make_b32("min.u32", number, last), 4);
        const Reg k_page = w_.make_b32("ld.global.u32", at(own));
        const Reg v_page = w_.make_b32("ld.global.u32", at(w_.element_address(own, pages_per_entry_, 4)));
        const auto copy_page = [&](const Reg& map, const Reg& page, unsigned part, unsigned full) {
            for (unsigned panel = 0; panel < layout_.panels; ++panel) {
                const Reg row = w_.constant_b32(0), column = w_.constant_b32(panel * kLineElements);
                w_.op("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                      at(place, part + panel * spec_.block_n * kLine),
                      at_box(map, {column, row, kv_head, page}), at(barrier, full));
            }
        };
        copy_page(k_map_, k_page, layout_.k, layout_.k_full);
        copy_page(v_map_, v_page, layout_.v, layout_.v_full);
        w_.op("add.u32", number, number, 1);
        w_.op("add.u32", place, place, kAttentionPage * kLine);
        w_.op("sub.u32", left, left, 1);
        w_.jump_if(w_.make_predicate("setp.ne.u32", left, 0), next);
    }

    void produce(const std::string& end) {
        w_.jump_if(w_.make_predicate("setp.ne.u32", thread_, 0), end);
        for (const Reg& map : {q_map_, k_map_, v_map_}) w_.op("prefetch.tensormap", at(map));
        const Reg stage = w_.constant_b32(0), parity = w_.constant_b32(1), q_parity = w_.constant_b32(1);
        const std::string next_tile = w_.new_label("produce_tile"), last = w_.new_label("no_more_tiles");
        tile_ = w_.b32();
        w_.op("atom.global.add.u32", tile_, at(counter_), 1);
        w_.place(next_tile);
        for (unsigned g = 0; g < kAttentionWgmmaGroups; ++g) wait(shared_, layout_.q_empty + 8 * g, q_parity);
        w_.op("xor.b32", q_parity, q_parity, 1);
        w_.op("st.shared.u32", at(tile_slot_), tile_);
        w_.jump_if(w_.make_predicate("setp.ge.u32", tile_, tiles_), last);
        decode_tile();
        for (unsigned g = 0; g < kAttentionWgmmaGroups; ++g) {
            parts_.expect_bytes(shared_, layout_.q_full + 8 * g, layout_.q_bytes);
            copy(q_map_, kGroupRows, g == 0 ? shared_ : w_.make_b32("add.u32", shared_, g * layout_.q_bytes),
                 g == 0 ? first_query_ : w_.make_b32("add.u32", first_query_, g * kGroupRows), head_, shared_,
                 layout_.q_full + 8 * g);
        }
        const Reg kv_head = w_.divide_fast(head_, ratio_);
        const Reg key = w_.constant_b32(0), left = w_.make_b32("mov.u32", blocks_);
        const std::string next = w_.new_label("produce_keys");
        w_.place(next);
        const Reg barrier = w_.make_b32("mad.lo.u32", stage, 8, shared_);
        const Reg area = w_.make_b32("mad.lo.u32", stage, layout_.block_bytes, shared_);
        wait(barrier, layout_.empty, parity);
        const auto copy_block = [&](const Reg& map, unsigned full, unsigned place) {
            parts_.expect_bytes(barrier, full, layout_.block_bytes);
            copy(map, spec_.block_n, w_.make_b32("add.u32", area, place), key, kv_head, barrier, full);
        };
        if (spec_.paged) {
            copy_pages(area, key, kv_head, barrier);
        } else {
            copy_block(k_map_, layout_.k_full, layout_.k);
            copy_block(v_map_, layout_.v_full, layout_.v);
        }
        w_.op("add.u32", key, key, spec_.block_n);
        w_.op("add.u32", stage, stage, 1);
        const Reg wraps = w_.make_predicate("setp.eq.u32", stage, spec_.stages);
        w_.op_if(wraps, "mov.u32", stage, 0);
        w_.op_if(wraps, "xor.b32", parity, parity, 1);
        w_.op("sub.u32", left, left, 1);
        w_.jump_if(w_.make_predicate("setp.ne.u32", left, 0), next);
        w_.op("atom.global.add.u32", tile_, at(counter_), 1);
        w_.jump(next_tile);
        w_.place(last);
        for (unsigned g = 0; g < kAttentionWgmmaGroups; ++g)
            w_.op("mbarrier.arrive.shared::cta.b64", "_", at(shared_, layout_.q_full + 8 * g));
        // Whoever asked last leaves the counter as it was found.
        const Reg asked = w_.make_b32("add.u32", tiles_, w_.make_b32("mov.u32", "%nctaid.x"));
        const Reg is_last = w_.make_predicate("setp.eq.u32", w_.make_b32("add.u32", tile_, 1), asked);
        w_.op_if(is_last, "st.global.u32", at(counter_), w_.constant_b32(0));
    }

    Reg descriptor_low(const Reg& address, unsigned panel_bytes) {
        return parts_.descriptor_low(address, panel_bytes);
    }
    Reg descriptor(const Reg& low, unsigned offset) { return parts_.descriptor(low, offset); }
    static std::vector<Reg> all_of(const AccumulatorTile& tile) { return AttentionWgmmaParts::all_of(tile); }
    void finish_products() {
        parts_.commit();
        parts_.wait_for_all_but(0);
    }

    void multiply_queries_by_keys() {
        parts_.fence();
        const Reg keys = w_.make_b32("mad.lo.u32", stage_, layout_.block_bytes / 16, k_low_);
        for (unsigned step = 0; step < d_ / 16; ++step) {
            const unsigned panel = step / 4, within = step % 4 * 32;
            w_.op(parts_.opcode(spec_.block_n), vector_of(all_of(scores_)),
                  descriptor(q_low_, panel * kGroupRows * kLine + within),
                  descriptor(keys, panel * spec_.block_n * kLine + within), step == 0 ? never_ : Reg("1"), 1,
                  1, 0, 0);
        }
        finish_products();
    }

    void multiply_by_values(const Reg& first_key) {
        auto weights = pack_accumulators(w_, spec_.type, scores_);
        if (dropout_) drop(weights, first_key);
        wait(barrier_, layout_.v_full, parity_);
        parts_.fence();
        const Reg values = w_.make_b32("mad.lo.u32", stage_, layout_.block_bytes / 16, v_low_);
        for (unsigned step = 0; step < spec_.block_n / 16; ++step) {
            w_.op(parts_.opcode(d_), vector_of(all_of(output_)), vector_of(weights[0][step]),
                  descriptor(values, step * 16 * kLine), "1", 1, 1, 1);
        }
        finish_products();
    }

    void set_up_consumer() {
        lane_ = w_.make_b32("and.b32", thread_, 31);
        warp_row_ = w_.multiply_by(w_.make_b32("shr.u32", thread_, 5), 16);
        own_ = w_.make_b32("mad.lo.u32", group_, layout_.q_bytes,
                           w_.make_b32("mad.lo.u32", warp_row_, d_ * 2, shared_));
        own_ = w_.make_b32("add.u32", own_, layout_.staging);
        row_in_tile_ = w_.make_b32("mad.lo.u32", group_, kGroupRows,
                                   w_.make_b32("add.u32", warp_row_, w_.make_b32("shr.u32", lane_, 2)));
        pair_column_ = w_.make_b32("shl.b32", w_.make_b32("and.b32", lane_, 3), 1);
        elected_ = w_.make_predicate("setp.eq.u32", thread_, 0);
        never_ = w_.make_predicate("setp.ne.u32", thread_, thread_);
        parts_.make_high_word();
        q_low_ = descriptor_low(w_.make_b32("mad.lo.u32", group_, layout_.q_bytes, shared_), 16);
        k_low_ = descriptor_low(w_.make_b32("add.u32", shared_, layout_.k), 16);
        v_low_ = descriptor_low(w_.make_b32("add.u32", shared_, layout_.v), spec_.block_n * kLine);
        q_barrier_ = w_.make_b32("mad.lo.u32", group_, 8, shared_);
        own_turn_ = w_.make_b32("add.u32", group_, 1);
        other_turn_ = w_.make_b32("sub.u32", kAttentionWgmmaGroups, group_);
        stage_ = w_.constant_b32(0);
        parity_ = w_.constant_b32(0);
        q_parity_ = w_.constant_b32(0);
        scores_ = make_accumulators(w_, 1, spec_.block_n / 8, false);
        output_ = make_accumulators(w_, 1, d_ / 8, false);
        softmax_->make_rows(2);
    }

    void begin_tile() {
        softmax_->reset();
        for (const Reg& value : all_of(output_)) w_.op("mov.f32", value, f32_immediate(0));
        rows_ = {w_.make_b32("add.u32", first_query_, row_in_tile_)};
        rows_.push_back(w_.make_b32("add.u32", rows_[0], 8));
        // Rows of the log-sum-exp and of the weights: (batch * heads + head) * queries.
        const Reg matrix = w_.make_b32("mad.lo.u32", batch_, heads_, head_);
        matrix_row_ = w_.make_b64("mul.wide.u32", matrix, queries_);
        const Reg last_key = w_.make_b32("sub.s32", keys_, 1);
        limits_.clear();
        weights_of_row_.clear();
        for (const Reg& row : rows_) {
            limits_.push_back(spec_.causal
                                  ? w_.make_b32("min.s32", last_key, w_.make_b32("add.s32", row, offset_))
                                  : last_key);
            if (!dropout_) continue;
            const Reg above = w_.make_b64("add.s64", matrix_row_, w_.make_b64("cvt.u64.u32", row));
            weights_of_row_.push_back(
                w_.make_b64("mul.lo.u64", above, w_.make_b64("cvt.u64.u32", dropout_->row_elements(keys_))));
        }
        // Blocks up to this key are seen by all rows of the warpgroup.
        all_see_ = last_key;
        if (spec_.causal) {
            const Reg first = w_.make_b32("mad.lo.u32", group_, kGroupRows, first_query_);
            all_see_ = w_.make_b32("min.s32", last_key, w_.make_b32("add.s32", first, offset_));
        }
    }

    void mask(const Reg& first_key) {
        const std::string skip = w_.new_label("unmasked");
        const Reg last = w_.make_b32("add.s32", first_key, spec_.block_n - 1);
        w_.jump_if(w_.make_predicate("setp.le.s32", last, all_see_), skip);
        softmax_->hide(scores_, limits_, w_.make_b32("add.s32", first_key, pair_column_));
        w_.place(skip);
    }

    void drop(std::vector<std::vector<std::vector<Reg>>>& weights, const Reg& first_key) {
        // Eight numbers of the generator for 32 keys, two of them this thread's.
        const Reg first = w_.make_b32("add.u32", w_.make_b32("shr.u32", first_key, 2), pair_column_);
        const Reg column = w_.make_b64("cvt.u64.u32", first);
        std::vector<Reg> elements;
        for (const Reg& row : weights_of_row_) elements.push_back(w_.make_b64("add.s64", row, column));
        softmax_->drop(weights, *dropout_, elements);
    }

    void consume(const std::string& end) {
        set_up_consumer();
        if (spec_.take_turns) {
            // The first turn is the first warpgroup's.
            const Reg second = w_.make_predicate("setp.eq.u32", group_, 1);
            w_.op_if(second, "bar.arrive", 1, kAttentionWgmmaGroups * kGroupThreads);
        }
        const std::string next_tile = w_.new_label("tile");
        w_.place(next_tile);
        wait(q_barrier_, layout_.q_full, q_parity_);
        w_.op("xor.b32", q_parity_, q_parity_, 1);
        tile_ = w_.b32();
        w_.op("ld.shared.u32", tile_, at(tile_slot_));
        w_.jump_if(w_.make_predicate("setp.ge.u32", tile_, tiles_), end);
        decode_tile();
        begin_tile();
        const Reg first_key = w_.constant_b32(0), left = w_.make_b32("mov.u32", blocks_);
        const std::string next = w_.new_label("keys");
        w_.place(next);
        barrier_ = w_.make_b32("mad.lo.u32", stage_, 8, shared_);
        wait(barrier_, layout_.k_full, parity_);
        if (spec_.take_turns) w_.op("bar.sync", own_turn_, kAttentionWgmmaGroups * kGroupThreads);
        multiply_queries_by_keys();
        w_.op("sub.u32", left, left, 1);
        const Reg last = w_.make_predicate("setp.eq.u32", left, 0);
        arrive(w_.make_predicate("and.pred", last, elected_), q_barrier_, layout_.q_empty);
        if (spec_.take_turns) w_.op("bar.arrive", other_turn_, kAttentionWgmmaGroups * kGroupThreads);
        mask(first_key);
        softmax_->update(scores_, output_);
        multiply_by_values(first_key);
        arrive(elected_, barrier_, layout_.empty);
        w_.op("add.u32", first_key, first_key, spec_.block_n);
        w_.op("add.u32", stage_, stage_, 1);
        const Reg wraps = w_.make_predicate("setp.eq.u32", stage_, spec_.stages);
        w_.op_if(wraps, "mov.u32", stage_, 0);
        w_.op_if(wraps, "xor.b32", parity_, parity_, 1);
        w_.jump_unless(last, next);
        finish_tile();
        w_.jump(next_tile);
    }

    void finish_tile() {
        softmax_->normalise(output_, dropout_ ? &*dropout_ : nullptr);
        const Reg first_of_quad = w_.make_predicate("setp.eq.u32", pair_column_, 0);
        const Reg lse = w_.make_b64("add.s64", lse_, w_.make_b64("shl.b64", matrix_row_, 2));
        for (unsigned r = 0; r < 2; ++r) {
            const Reg inside = w_.make_predicate("setp.lt.and.u32", rows_[r], queries_, first_of_quad);
            w_.op_if(inside, "st.global.f32", at(w_.element_address(lse, rows_[r], 4)),
                     softmax_->log_sum_exp(r));
        }
        const Reg batch = w_.make_b64("mul.lo.u64", w_.make_b64("cvt.u64.u32", batch_), o_batch_);
        const Reg elements = w_.make_b64("mad.wide.u32", head_, o_head_, batch);
        const Reg base = w_.make_b64("add.s64", o_, w_.make_b64("shl.b64", elements, 1));
        const Reg first_row =
            w_.make_b32("add.u32", w_.make_b32("mad.lo.u32", group_, kGroupRows, first_query_), warp_row_);
        if (spec_.store_words) return store_words(base);
        emit_row_store(w_, spec_.type, output_, {lane_, own_, first_row, queries_, base, o_row_});
    }

    void store_words(const Reg& base) {
        const std::string done = w_.new_label("stored");
        for (unsigned r = 0; r < 2; ++r) {
            w_.jump_if(w_.make_predicate("setp.ge.u32", rows_[r], queries_), done);
            const Reg element =
                w_.make_b64("mad.wide.u32", rows_[r], o_row_, w_.make_b64("cvt.u64.u32", pair_column_));
            const Reg address = w_.make_b64("add.s64", base, w_.make_b64("shl.b64", element, 1));
            for (unsigned j = 0; j < d_ / 8; ++j) {
                const std::vector<Reg>& four = output_[0][j];
                w_.op("st.global.b32", at(address, j * 16),
                      pack_pair(w_, spec_.type, four[2 * r], four[2 * r + 1]));
            }
        }
        w_.place(done);
    }

    const AttentionWgmmaSpec& spec_;
    unsigned d_;
    AttentionWgmmaLayout layout_;
    PtxWriter w_;
    AttentionWgmmaParts parts_{w_, spec_.type};
    std::optional<OnlineSoftmax> softmax_;
    std::optional<AttentionDropout> dropout_;
    Reg page_list_, pages_per_entry_;
    Reg q_map_, k_map_, v_map_, o_, lse_, counter_, queries_, keys_, heads_, tiles_, o_row_, o_head_,
        o_batch_;
    PtxWriter::Divider outer_, inner_, ratio_;
    Reg group_, thread_, shared_, tile_slot_, offset_;
    // The tile at hand.
    Reg tile_, first_query_, head_, batch_, blocks_;
    // Of a consumer.
    Reg lane_, warp_row_, own_, row_in_tile_, pair_column_, elected_, never_, q_low_, k_low_, v_low_;
    Reg q_barrier_, own_turn_, other_turn_, stage_, parity_, q_parity_, barrier_, matrix_row_, all_see_;
    AccumulatorTile scores_, output_;
    std::vector<Reg> rows_, limits_, weights_of_row_;
};

}  // namespace

GeneratedKernel generate_attention_wgmma(const AttentionWgmmaSpec& spec) {
    check(spec);
    return AttentionWgmmaWriter(spec).write();
}

}  // namespace heddle::kernels
