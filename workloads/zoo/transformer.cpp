#include "workloads/zoo/transformer.h"

#include "isa/common/error.h"

namespace heddle::zoo {
namespace {

std::int64_t head_dim(const TransformerSizes& s) {
    return s.head_dim != 0 ? s.head_dim : s.hidden / s.heads;
}

void check(const std::string& model, const TransformerSizes& s) {
    require_positive(model, "layers", s.layers);
    require_positive(model, "hidden", s.hidden);
    require_positive(model, "heads", s.heads);
    const auto bad = [&](const std::string& key, const std::string& problem) {
        throw Error(problem, {.key = model + " option " + key});
    };
    if (s.key_heads < 0) bad("key_heads", "must not be negative");
    if (s.feed_forward < 0) bad("feed_forward", "must not be negative");
    if (s.head_dim < 0) bad("head_dim", "must not be negative");
    if (s.head_dim == 0 && s.hidden % s.heads != 0) bad("heads", "must divide hidden");
    if (s.key_heads > 0 && s.heads % s.key_heads != 0) bad("key_heads", "must divide heads");
}

void check(const std::string& model, const LanguageModelOptions& o) {
    check(model, o.block.sizes);
    require_positive(model, "batch", o.batch);
    require_positive(model, "sequence", o.sequence);
    require_positive(model, "vocabulary", o.vocabulary);
    if (o.positions > 0 && o.sequence > o.positions)
        throw Error("is longer than the " + std::to_string(o.positions) + " learned positions",
                    {.key = model + " option sequence"}, "give a shorter one, or more positions");
}

void refuse_context(const std::string& model, const StepOptions& step) {
    if (step.context > 1)
        throw Error("sequences are shared in decoders only", {.key = model + " option context"},
                    "choose gpt or llama");
}

TensorId norm(Network& network, const std::string& name, TensorId x, const BlockOptions& o) {
    return o.rms ? network.rms_norm(name, x, o.epsilon) : network.layer_norm(name, x, o.epsilon);
}

TensorId attend(Network& network, const std::string& name, TensorId x, std::int64_t batch,
                std::int64_t sequence, const BlockOptions& o) {
    AttentionSizes sizes;
    sizes.batch = batch;
    sizes.queries = sizes.keys = sequence;
    sizes.heads = network.share("heads", o.sizes.heads);
    sizes.key_heads = network.share("key heads", o.sizes.key_heads != 0 ? o.sizes.key_heads : o.sizes.heads);
    x = network.enter_shared(name + ".attention.enter", x);
    sizes.head_dim = head_dim(o.sizes);
    sizes.causal = o.causal;
    Network::QueryKeyValue heads;
    if (o.rotary != 0 || network.options().context > 1) {
        // Turned heads are tensors of their own, and keys and values that travel lie apart from queries, so
        // nothing is gained by one product.
        const auto project = [&](const char* what, std::int64_t count) {
            const std::int64_t width = count * sizes.head_dim;
            return Heads{network.linear(name + "." + what, x, width, o.bias), width, 0};
        };
        heads = {project("query", sizes.heads), project("key", sizes.key_heads),
                 project("value", sizes.key_heads)};
    }
    if (o.rotary != 0) {
        heads.q = network.rotary(name + ".query.turned", heads.q, batch, sequence, sizes.heads,
                                 sizes.head_dim, o.rotary);
        heads.k = network.rotary(name + ".key.turned", heads.k, batch, sequence, sizes.key_heads,
                                 sizes.head_dim, o.rotary);
    } else if (network.options().context == 1) {
        heads = network.query_key_value(name, x, sizes, o.bias);
    }
    const TensorId attended = network.attention(name + ".attention", heads.q, heads.k, heads.v, sizes);
    return network.dropout(
        name + ".attention.dropped",
        network.leave_shared(name + ".attention.leave",
                             network.linear(name + ".projection", attended, o.sizes.hidden, o.bias)));
}

TensorId feed_forward(Network& network, const std::string& name, TensorId x, const BlockOptions& o) {
    const std::int64_t width =
        network.share("columns", o.sizes.feed_forward != 0 ? o.sizes.feed_forward : 4 * o.sizes.hidden);
    x = network.enter_shared(name + ".mlp.enter", x);
    TensorId y;
    if (o.gated) {
        const TensorId gate = network.linear(name + ".gate", x, width, o.bias);
        const TensorId up = network.linear(name + ".up", x, width, o.bias);
        if (o.function != "silu") {
            y = network.tape().elementwise(name + ".gated", "y0 = x0 * x1",
                                           {network.activation(name + ".function", gate, o.function), up});
        } else {
            y = network.tape().elementwise(name + ".swiglu", "y0 = x0 * sigmoid(x0) * x1", {gate, up});
        }
    } else {
        y = network.activation(name + "." + o.function, network.linear(name + ".up", x, width, o.bias),
                               o.function);
    }
    return network.dropout(
        name + ".down.dropped",
        network.leave_shared(name + ".mlp.leave", network.linear(name + ".down", y, o.sizes.hidden, o.bias)));
}

/// Rows of this device's part of the table: made evenly divisible as Megatron-LM does, by whole tiles of 128.
std::int64_t vocabulary_of(const Network& network, const LanguageModelOptions& o) {
    const std::int64_t tensor = network.options().tensor, whole = 128 * tensor;
    return tensor == 1 ? o.vocabulary : (o.vocabulary + whole - 1) / whole * 128;
}

/// Tokens of a sequence that this device has. Two chunks of it, so that causal attention is shared evenly.
std::int64_t sequence_of(const Network& network, const LanguageModelOptions& o) {
    const std::int64_t context = network.options().context;
    if (context > 1 && o.sequence % (2 * context) != 0)
        throw Error(std::to_string(context) + " devices cannot share a sequence of " +
                        std::to_string(o.sequence) + " tokens, two chunks each",
                    {.key = "option context"}, "choose a divisor of half the sequence");
    return o.sequence / context;
}

/// tokens -> rows of the table, plus what `positions` says of their place in the sequence.
TensorId embed(Network& network, TensorId tokens, const LanguageModelOptions& o, std::int64_t batch) {
    const std::int64_t width = o.block.sizes.hidden;
    TensorId x = network.embedding("token_embedding", tokens, vocabulary_of(network, o), width);
    x = network.leave_shared("tokens.leave", x);
    if (o.positions == 0) return x;
    const bool some = network.options().tensor > 1 && network.options().sequence_parallel;
    const std::int64_t own = sequence_of(network, o);
    const std::int64_t sequence = some ? network.share("tokens", own) : own;
    const TensorId numbers =
        network.constant("first_" + std::to_string(sequence) + "_positions", ElementType::i32, {sequence});
    const TensorId places = network.embedding("position_embedding", numbers, o.positions, width);
    const TensorId seen = network.tape().view("tokens.by_sequence", x, {batch, sequence, width});
    x = network.add("embedded", seen, places);
    return network.tape().view("embedded.rows", x, {batch * sequence, width});
}

TensorId blocks(Network& network, TensorId x, std::int64_t batch, std::int64_t sequence,
                const BlockOptions& o) {
    for (std::int64_t i = 0; i < o.sizes.layers; ++i) {
        const std::size_t first = network.tape().ops();
        network.begin_block();
        x = transformer_block(network, "block" + std::to_string(i), x, batch, sequence, o);
        network.end_block();
        if (i == 1) network.tape().expect_again(first, o.sizes.layers - 2);
    }
    return x;
}

}  // namespace

void require_positive(const std::string& model, const std::string& key, std::int64_t value) {
    if (value < 1) throw Error("must be at least 1", {.key = model + " option " + key});
}

std::int64_t part_of_batch(const std::string& model, std::int64_t batch, const StepOptions& step) {
    require_positive(model, "batch", batch);
    require_positive(model, "micro_batches", step.micro_batches);
    if (batch % step.micro_batches != 0)
        throw Error("a batch of " + std::to_string(batch) + " does not fall into " +
                        std::to_string(step.micro_batches) + " parts",
                    {.key = model + " option micro_batches"});
    return batch / step.micro_batches;
}

TensorId transformer_block(Network& network, const std::string& name, TensorId x, std::int64_t batch,
                           std::int64_t sequence, const BlockOptions& o) {
    if (o.norm_after) {
        TensorId y = attend(network, name, x, batch, sequence, o);
        x = norm(network, name + ".norm1", network.add(name + ".residual1", x, y), o);
        y = feed_forward(network, name, x, o);
        return norm(network, name + ".norm2", network.add(name + ".residual2", x, y), o);
    }
    TensorId y = attend(network, name, norm(network, name + ".norm1", x, o), batch, sequence, o);
    x = network.add(name + ".residual1", x, y);
    y = feed_forward(network, name, norm(network, name + ".norm2", x, o), o);
    return network.add(name + ".residual2", x, y);
}

trace::Trace decoder(const std::string& name, const LanguageModelOptions& o) {
    check(name, o);
    const std::int64_t batch = part_of_batch(name, o.batch, o.step);
    return record_step(name, o.step, [&](Network& network) {
        const std::int64_t sequence = sequence_of(network, o), rows = batch * sequence;
        const TensorId tokens = network.input("tokens", ElementType::i32, {rows}, TensorRole::input);
        const TensorId labels = network.input("labels", ElementType::i32, {rows}, TensorRole::label);
        TensorId x = network.dropout("embedded.dropped", embed(network, tokens, o, batch));
        x = norm(network, "final_norm", blocks(network, x, batch, sequence, o.block), o.block);
        x = network.enter_shared("head.enter", x);
        const Shape table{vocabulary_of(network, o), o.block.sizes.hidden};
        MatmulOptions head;
        head.transpose_b = true;
        const TensorId weight = network.parameter(o.tied ? "token_embedding.weight" : "head.weight", table);
        return network.loss(network.tape().matmul("head", x, weight, head), labels);
    });
}

trace::Trace bert(const std::string& name, const LanguageModelOptions& o) {
    check(name, o);
    refuse_context(name, o.step);
    const std::int64_t batch = part_of_batch(name, o.batch, o.step), rows = batch * o.sequence,
                       width = o.block.sizes.hidden;
    return record_step(name, o.step, [&](Network& network) {
        Tape& tape = network.tape();
        const TensorId tokens = network.input("tokens", ElementType::i32, {rows}, TensorRole::input);
        const TensorId segments = network.input("segments", ElementType::i32, {rows}, TensorRole::input);
        const TensorId labels = network.input("labels", ElementType::i32, {rows}, TensorRole::label);
        const TensorId follows = network.input("follows", ElementType::i32, {batch}, TensorRole::label);
        TensorId x = network.add("embedded.with_segments", embed(network, tokens, o, batch),
                                 network.embedding("segment_embedding", segments, 2, width));
        x = network.dropout("embedded.dropped", norm(network, "embedding_norm", x, o.block));
        x = blocks(network, x, batch, o.sequence, o.block);
        // Every token.
        const std::string function = "gelu";
        TensorId y =
            network.activation("head.function", network.linear("head.transform", x, width), function);
        y = norm(network, "head.norm", y, o.block);
        MatmulOptions head;
        head.transpose_b = true;
        head.bias = network.parameter("head.bias", {o.vocabulary});
        y = tape.matmul("head", y, network.parameter("token_embedding.weight", {o.vocabulary, width}), head);
        const TensorId token_loss = network.loss(y, labels);
        // The first token of each sequence.
        const TensorId first = network.every("first_tokens", x, batch, o.sequence);
        const TensorId pooled =
            network.activation("pooler.tanh", network.linear("pooler", first, width), "tanh");
        const TensorId sentence_loss = network.loss(network.linear("head.follows", pooled, 2), follows);
        return network.add("loss", token_loss, sentence_loss);
    });
}

trace::Trace vit(const std::string& name, const ViTOptions& o) {
    check(name, o.block.sizes);
    require_positive(name, "image", o.image);
    require_positive(name, "patch", o.patch);
    require_positive(name, "classes", o.classes);
    refuse_context(name, o.step);
    if (o.image % o.patch != 0)
        throw Error("must divide the image's " + std::to_string(o.image) + " pixels",
                    {.key = name + " option patch"});
    const std::int64_t batch = part_of_batch(name, o.batch, o.step), side = o.image / o.patch,
                       width = o.block.sizes.hidden, sequence = side * side + 1;
    return record_step(name, o.step, [&](Network& network) {
        Tape& tape = network.tape();
        const TensorId image =
            network.input("image", network.type(), {batch, o.image, o.image, 3}, TensorRole::input);
        const TensorId labels = network.input("labels", ElementType::i32, {batch}, TensorRole::label);
        ConvolutionOptions patches;
        patches.strides = {o.patch, o.patch};
        patches.channels_last = true;
        TensorId x = tape.convolution(
            "patches", image, network.parameter("patches.weight", {width, o.patch, o.patch, 3}), patches);
        x = tape.view("patches.rows", x, {batch, side * side, width});
        x = network.add("patches.biased", x, network.parameter("patches.bias", {width}));
        Op repeat;
        repeat.name = "class_token.repeated";
        repeat.kind = OpKind::copy;
        repeat.inputs = {network.parameter("class_token", {1, 1, width})};
        const TensorId token = tape.record(
            std::move(repeat), {Tensor{"class_token.repeated", network.type(), {batch, 1, width}}})[0];
        x = tape.concat("tokens", {token, x}, 1);
        x = network.add("embedded", x, network.parameter("position_embedding", {1, sequence, width}));
        x = network.dropout("embedded.dropped", tape.view("embedded.rows", x, {batch * sequence, width}));
        x = blocks(network, x, batch, sequence, o.block);
        // Rows are normalised each for itself, so only those that are classified need be.
        x = norm(network, "final_norm", network.every("class_tokens", x, batch, sequence), o.block);
        return network.loss(network.linear("head", x, o.classes), labels);
    });
}

}  // namespace heddle::zoo
