// Switch Transformer: T5 with mixtures of experts.
#include <cmath>

#include "isa/common/error.h"
#include "workloads/zoo/transformer.h"

namespace heddle::zoo {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr std::int64_t kBuckets = 32;  ///< of relative positions
constexpr double kFurthest = 128;      ///< distance from which all positions share a bucket

class SwitchTransformerRecorder {
  public:
    SwitchTransformerRecorder(Network& network, const SwitchOptions& options, std::int64_t batch)
        : n_(network), o_(options), batch_(batch) {
        width_ =
            options.sizes.head_dim != 0 ? options.sizes.head_dim : options.sizes.hidden / options.sizes.heads;
    }

    TensorId run() {
        const std::int64_t rows = batch_ * o_.sequence, targets = batch_ * o_.target;
        const TensorId tokens = n_.input("tokens", ElementType::i32, {rows}, TensorRole::input);
        const TensorId before = n_.input("target_tokens", ElementType::i32, {targets}, TensorRole::input);
        const TensorId labels = n_.input("labels", ElementType::i32, {targets}, TensorRole::label);
        const TensorId encoded = stack("encoder", tokens, o_.sequence, {});
        const TensorId decoded = stack("decoder", before, o_.target, encoded);
        MatmulOptions head;
        head.transpose_b = true;
        const TensorId table = n_.parameter("token_embedding.weight", {o_.vocabulary, o_.sizes.hidden});
        // A tied head takes states times hidden^-1/2 (T5).
        const TensorId x = n_.tape().elementwise("decoded.scaled", "y0 = s0 * x0", {decoded}, {},
                                                 {1 / std::sqrt(static_cast<double>(o_.sizes.hidden))});
        return n_.loss(n_.tape().matmul("head", x, table, head), labels);
    }

  private:
    TensorId stack(const std::string& name, TensorId tokens, std::int64_t sequence,
                   std::optional<TensorId> encoded) {
        const bool decoder = encoded.has_value();
        TensorId x = n_.dropout(name + ".embedded",
                                n_.embedding("token_embedding", tokens, o_.vocabulary, o_.sizes.hidden));
        const TensorId bias = relative_positions(name, sequence, decoder);
        std::size_t first = 0;
        for (std::int64_t i = 0; i < o_.sizes.layers; ++i) {
            if (i == o_.every) first = n_.tape().ops();
            const std::string block = name + std::to_string(i);
            n_.begin_block();
            AttentionSizes own = sizes(sequence, sequence);
            own.causal = decoder;
            own.bias = bias;
            TensorId y = n_.rms_norm(block + ".norm1", x, kEpsilon);
            x = residual(block + ".self", x, attend(block + ".self", y, y, own));
            if (decoder) {
                y = n_.rms_norm(block + ".norm2", x, kEpsilon);
                x = residual(block + ".cross", x,
                             attend(block + ".cross", y, *encoded, sizes(sequence, o_.sequence)));
            }
            y = n_.rms_norm(block + ".norm3", x, kEpsilon);
            // The second of every two blocks, the fourth of every four.
            const bool experts = i % o_.every == o_.every - 1;
            x = residual(block + ".feed_forward", x,
                         experts ? n_.mixture(block + ".experts", y, mixture()) : feed_forward(block, y));
            n_.end_block();
            if (i == 2 * o_.every - 1) n_.tape().expect_again(first, o_.sizes.layers / o_.every - 2);
        }
        return n_.dropout(name + ".dropped", n_.rms_norm(name + ".final_norm", x, kEpsilon));
    }

    Network::MixtureOptions mixture() const {
        Network::MixtureOptions options = o_.mixture;
        if (options.feed_forward == 0) options.feed_forward = inner();
        return options;
    }
    std::int64_t inner() const {
        return o_.sizes.feed_forward != 0 ? o_.sizes.feed_forward : 4 * o_.sizes.hidden;
    }
    TensorId residual(const std::string& name, TensorId x, TensorId y) {
        return n_.add(name + ".residual", x, n_.dropout(name + ".dropped", y));
    }
    TensorId feed_forward(const std::string& name, TensorId x) {
        const TensorId up = n_.linear(name + ".up", x, inner(), false);
        return n_.linear(name + ".down", n_.activation(name + ".relu", up, "relu"), o_.sizes.hidden, false);
    }
    AttentionSizes sizes(std::int64_t queries, std::int64_t keys) const {
        AttentionSizes s;
        s.batch = batch_;
        s.queries = queries;
        s.keys = keys;
        s.heads = s.key_heads = o_.sizes.heads;
        s.head_dim = width_;
        s.scale = 1;
        return s;
    }
    TensorId attend(const std::string& name, TensorId x, TensorId from, const AttentionSizes& s) {
        const std::int64_t width = s.heads * s.head_dim;
        const auto heads = [&](const char* what, TensorId rows) {
            return Heads{n_.linear(name + "." + what, rows, width, false), width, 0};
        };
        const Heads q = heads("query", x), k = heads("key", from), v = heads("value", from);
        const TensorId y = n_.attention(name + ".attention", q, k, v, s);
        return n_.linear(name + ".projection", y, o_.sizes.hidden, false);
    }

    /// A learned number for each head and bucket of distances: half of the buckets for small distances, the
    /// others for ever larger ones (Raffel et al., 2020); in both directions unless causal. [heads, S, S]
    TensorId relative_positions(const std::string& name, std::int64_t sequence, bool causal) {
        Tape& tape = n_.tape();
        const std::string count = std::to_string(sequence);
        const TensorId columns = n_.constant("first_" + count + "_positions", ElementType::i32, {sequence});
        const TensorId rows =
            n_.constant("column_of_" + count + "_positions", ElementType::i32, {sequence, 1});
        const double buckets = causal ? kBuckets : kBuckets / 2, exact = buckets / 2;
        const std::string distance = causal ? "t0 = max(x0 - x1, 0)" : "t0 = abs(x0 - x1)";
        const std::string bucket = distance +
                                   "; t1 = min(s0 + floor(log(max(t0, s0) * s1) * s2 + 0.0001), s3); "
                                   "y0 = (t0 < s0 ? t0 : t1)" +
                                   (causal ? "" : " + (x1 > x0 ? s4 : 0)");
        const TensorId chosen = tape.elementwise(
            name + ".buckets", bucket, {rows, columns}, ElementType::i32,
            {exact, 1 / exact, (buckets - exact) / std::log(kFurthest / exact), buckets - 1, buckets});
        const TensorId table = n_.parameter(name + ".relative_positions", {kBuckets, o_.sizes.heads});
        const TensorId looked_up = tape.embedding(
            name + ".relative", table, tape.view(name + ".buckets.flat", chosen, {sequence * sequence}));
        const TensorId seen =
            tape.view(name + ".relative.square", looked_up, {sequence, sequence, o_.sizes.heads});
        return tape.transpose(name + ".relative.by_head", seen, {2, 0, 1});
    }

    Network& n_;
    const SwitchOptions& o_;
    std::int64_t batch_, width_ = 0;
};

}  // namespace

trace::Trace switch_transformer(const std::string& name, const SwitchOptions& o) {
    for (const auto& [key, value] : {std::pair<const char*, std::int64_t>{"layers", o.sizes.layers},
                                     {"hidden", o.sizes.hidden},
                                     {"heads", o.sizes.heads},
                                     {"experts", o.mixture.experts},
                                     {"every", o.every},
                                     {"vocabulary", o.vocabulary},
                                     {"sequence", o.sequence},
                                     {"target", o.target}}) {
        require_positive(name, key, value);
    }
    if (o.sizes.head_dim == 0 && o.sizes.hidden % o.sizes.heads != 0)
        throw Error("must divide hidden", {.key = name + " option heads"});
    if (o.step.attention == AttentionForm::fused)
        throw Error("fused attention cannot add relative positions", {.key = name + " option attention"});
    const std::int64_t batch = part_of_batch(name, o.batch, o.step);
    return record_step(name, o.step, [&](Network& network) { return SwitchTransformerRecorder(network, o, batch).run(); });
}

}  // namespace heddle::zoo
