#include "workloads/zoo/gpt.h"

#include <cmath>

#include "isa/common/error.h"

namespace heddle::zoo {
namespace {

void check(const GptOptions& options) {
    const auto bad = [](const std::string& key, const std::string& problem) {
        throw Error(problem, {.key = "gpt option " + key});
    };
    const auto positive = [&](const char* key, std::int64_t value) {
        if (value < 1) bad(key, "must be at least 1");
    };
    positive("layers", options.layers);
    positive("hidden", options.hidden);
    positive("heads", options.heads);
    positive("batch", options.batch);
    positive("sequence", options.sequence);
    positive("vocabulary", options.vocabulary);
    if (options.feed_forward < 0) bad("feed_forward", "must not be negative");
    if (options.hidden % options.heads != 0) bad("heads", "must divide hidden");
    if (options.type != ElementType::f32 && options.type != ElementType::f16 &&
        options.type != ElementType::bf16 && options.type != ElementType::tf32) {
        bad("type", "must be f32, tf32, f16 or bf16");
    }
    if (options.deterministic && options.attention == AttentionForm::fused) {
        bad("attention", "fused has a gradient that adds in any order, which deterministic excludes");
    }
    check(options.optimizer, "gpt");
}

/// Records one step.
class Builder {
  public:
    explicit Builder(const GptOptions& options)
        : o_(options),
          type_(options.type == ElementType::tf32 ? ElementType::f32 : options.type),
          rows_(options.batch * options.sequence),
          feed_forward_(options.feed_forward != 0 ? options.feed_forward : 4 * options.hidden),
          fused_(is_fused()),
          tape_("gpt") {}

    trace::Trace run() {
        tokens_ = tape_.external("tokens", ElementType::i32, {rows_}, TensorRole::input);
        const TensorId labels = tape_.external("labels", ElementType::i32, {rows_}, TensorRole::label);
        tape_.expect(o_.layers);
        declare_parameters();
        if (!fused_) positions_ = indices("positions", o_.sequence);
        TensorId x = embed();
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            const std::size_t first = tape_.ops();
            x = block(x, i);
            if (i == 1) tape_.expect_again(first, o_.layers - 2);
        }
        x = norm("final_norm", x, final_norm_);
        x = linear("head", x, o_.tied ? Linear{token_, {}} : head_);
        if (type_ != ElementType::f32) x = tape_.cast("logits", x, ElementType::f32);
        const TensorId rows = tape_.softmax_cross_entropy("cross_entropy", x, labels).loss;
        optimise(tape_.reduce("loss", rows, "mean", {0}, {}));
        return finish();
    }

  private:
    struct Linear {
        TensorId weight = 0;
        std::optional<TensorId> bias;
    };
    struct Norm {
        TensorId gamma = 0, beta = 0;
    };
    struct Block {
        Norm norm1, norm2;
        Linear query, key, value, projection, up, down;
    };

    bool is_fused() const {
        if (o_.attention != AttentionForm::automatic) return o_.attention == AttentionForm::fused;
        const std::int64_t head = o_.hidden / o_.heads;
        return !o_.deterministic && bytes_of(type_) == 2 && (head == 64 || head == 128);
    }

    /// 0, 1, 2, ...: what initial_values() puts into integers of this name.
    TensorId indices(const std::string& name, std::int64_t count) {
        return tape_.external(name, ElementType::i32, {count}, TensorRole::other);
    }

    /// Returns what the layers read: a copy in their type, or the master itself.
    TensorId parameter(const std::string& name, Shape shape) {
        masters_.push_back(tape_.external(name, ElementType::f32, std::move(shape), TensorRole::parameter));
        return masters_.back();
    }
    Linear linear_parameters(const std::string& name, std::int64_t out, std::int64_t in) {
        const TensorId weight = parameter(name + ".weight", {out, in});
        return {weight, parameter(name + ".bias", {out})};
    }
    Norm norm_parameters(const std::string& name) {
        const TensorId gamma = parameter(name + ".gamma", {o_.hidden});
        return {gamma, parameter(name + ".beta", {o_.hidden})};
    }
    void declare_parameters() {
        const std::int64_t d = o_.hidden;
        token_ = parameter("token_embedding", {o_.vocabulary, d});
        position_ = parameter("position_embedding", {o_.sequence, d});
        for (std::int64_t i = 0; i < o_.layers; ++i) {
            const std::string name = "block" + std::to_string(i);
            Block block;
            block.norm1 = norm_parameters(name + ".norm1");
            block.query = linear_parameters(name + ".query", d, d);
            block.key = linear_parameters(name + ".key", d, d);
            block.value = linear_parameters(name + ".value", d, d);
            block.projection = linear_parameters(name + ".projection", d, d);
            block.norm2 = norm_parameters(name + ".norm2");
            block.up = linear_parameters(name + ".up", feed_forward_, d);
            block.down = linear_parameters(name + ".down", d, feed_forward_);
            blocks_.push_back(block);
        }
        final_norm_ = norm_parameters("final_norm");
        if (!o_.tied) head_ = {parameter("head.weight", {o_.vocabulary, d}), {}};
        if (type_ == ElementType::f32) return;
        for (const TensorId id : masters_) read_[id] = tape_.cast(tape_.tensor(id).name + ".copy", id, type_);
    }
    TensorId read(TensorId parameter) const {
        const auto copy = read_.find(parameter);
        return copy == read_.end() ? parameter : copy->second;
    }

    TensorId embed() {
        looked_up_ = tape_.embedding("token", read(token_), tokens_);
        const TensorId rows = tape_.view("token.rows", looked_up_, {o_.batch, o_.sequence, o_.hidden});
        const TensorId sum = tape_.elementwise("embedded", "y0 = x0 + x1", {rows, read(position_)});
        return tape_.view("block0.input", sum, {rows_, o_.hidden});
    }
    TensorId norm(const std::string& name, TensorId x, const Norm& norm) {
        return tape_.layer_norm(name, x, read(norm.gamma), read(norm.beta));
    }
    TensorId linear(const std::string& name, TensorId x, const Linear& linear) {
        MatmulOptions options;
        options.transpose_b = true;
        if (linear.bias) options.bias = read(*linear.bias);
        return tape_.matmul(name, x, read(linear.weight), options);
    }

    TensorId block(TensorId x, std::size_t index) {
        const std::string name = "block" + std::to_string(index);
        const Block& b = blocks_[index];
        const TensorId attended = attention(name, norm(name + ".norm1", x, b.norm1), b);
        x = tape_.elementwise(name + ".residual1", "y0 = x0 + x1", {x, attended});
        TensorId y = linear(name + ".up", norm(name + ".norm2", x, b.norm2), b.up);
        // The tanh form of GELU (Hendrycks and Gimpel, 2016), as GPT-2 has it.
        y = tape_.elementwise(
            name + ".gelu",
            "t0 = tanh(0.7978845608028654 * (x0 + 0.044715 * (x0 * x0 * x0))); y0 = 0.5 * x0 * (1 + t0)",
            {y});
        return tape_.elementwise(name + ".residual2", "y0 = x0 + x1", {x, linear(name + ".down", y, b.down)});
    }

    /// [rows, hidden] -> [batch, heads, sequence, head_dim]
    TensorId to_heads(const std::string& name, TensorId x, const Linear& projection) {
        const TensorId y = linear(name, x, projection);
        const TensorId seen =
            tape_.view(name + ".heads", y, {o_.batch, o_.sequence, o_.heads, o_.hidden / o_.heads});
        return tape_.transpose(name + ".by_head", seen, {0, 2, 1, 3});
    }
    TensorId attention(const std::string& name, TensorId x, const Block& b) {
        const TensorId q = to_heads(name + ".query", x, b.query), k = to_heads(name + ".key", x, b.key),
                       v = to_heads(name + ".value", x, b.value);
        const TensorId out = fused_ ? tape_.attention(name + ".attention", q, k, v, true)
                                    : composed_attention(name + ".attention", q, k, v);
        const TensorId rows = tape_.transpose(name + ".by_row", out, {0, 2, 1, 3});
        return linear(name + ".projection", tape_.view(name + ".attended", rows, {rows_, o_.hidden}),
                      b.projection);
    }
    TensorId composed_attention(const std::string& name, TensorId q, TensorId k, TensorId v) {
        MatmulOptions transposed;
        transposed.transpose_b = true;
        const TensorId scores = tape_.matmul(name + ".scores", q, k, transposed);
        if (!query_positions_) query_positions_ = tape_.view("query_positions", positions_, {o_.sequence, 1});
        // exp(-30,000) is 0, and -30,000 is a number in f16 too.
        const std::int64_t head_dim = o_.hidden / o_.heads;
        const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
        const TensorId masked = tape_.elementwise(name + ".masked", "y0 = x1 >= x2 ? s0 * x0 : -30000",
                                                  {scores, *query_positions_, positions_}, type_, {scale});
        return tape_.matmul(name, tape_.softmax(name + ".weights", masked), v);
    }

    void optimise(TensorId loss) {
        std::vector<TensorId> wanted;
        for (const TensorId id : masters_) {
            const bool by_hand = id == token_ && o_.deterministic && !o_.tied;
            if (!by_hand) wanted.push_back(read(id));
        }
        if (o_.deterministic) {
            if (o_.tied) {
                throw Error(
                    "deterministic does not go with tied", {.key = "gpt option tied"},
                    "the gradient of a tied table is a sum that is not recorded in a fixed order yet");
            }
            wanted.push_back(looked_up_);
        }
        auto gradients = tape_.backward(loss, wanted, o_.optimizer.loss_scale);
        if (o_.deterministic) gradients[read(token_)] = {table_gradient(gradients.at(looked_up_)), 0};
        tape_.set_phase(Phase::optimizer);
        Optimizer optimizer(tape_, o_.optimizer);
        for (const TensorId id : masters_) optimizer.update(id, gradients.at(read(id)));
    }

    /// one_hot(tokens)^T d rows: the sum of an embedding's gradient in the order of a matrix product.
    TensorId table_gradient(const Gradient& d_rows) {
        const TensorId vocabulary = indices("vocabulary_positions", o_.vocabulary);
        const TensorId tokens = tape_.view("tokens.column", tokens_, {rows_, 1});
        const TensorId one_hot =
            tape_.elementwise("token.one_hot", "y0 = x0 == x1", {tokens, vocabulary}, type_);
        MatmulOptions transposed;
        transposed.transpose_a = true;
        return tape_.matmul("d token_embedding", one_hot, tape_.materialise(d_rows, "d token", looked_up_),
                            transposed);
    }

    trace::Trace finish() {
        trace::Trace trace = tape_.finish();
        if (o_.type == ElementType::tf32) {
            for (Op& op : trace.ops) {
                if (op.kind == OpKind::matmul) op.set(keys::any.compute_type, "tf32");
            }
        }
        return trace;
    }

    GptOptions o_;
    ElementType type_;
    std::int64_t rows_, feed_forward_;
    bool fused_;
    Tape tape_;
    TensorId tokens_ = 0, positions_ = 0, looked_up_ = 0, token_ = 0, position_ = 0;
    std::optional<TensorId> query_positions_;
    std::vector<TensorId> masters_;
    std::map<TensorId, TensorId> read_;
    std::vector<Block> blocks_;
    Norm final_norm_;
    Linear head_;
};

}  // namespace

trace::Trace gpt(const GptOptions& options) {
    check(options);
    return Builder(options).run();
}

}  // namespace heddle::zoo
