// Transformers: decoders (GPT-2, GPT-3, Llama), encoders (BERT, ViT), and the encoder-decoder of T5 with
// mixtures of experts (Switch Transformer).
#pragma once

#include "workloads/zoo/network.h"

namespace heddle::zoo {

/// The sizes of a stack of blocks.
struct TransformerSizes {
    std::int64_t layers = 12, hidden = 768, heads = 12;
    std::int64_t key_heads = 0;     ///< 0: as many as heads
    std::int64_t head_dim = 0;      ///< 0: hidden / heads
    std::int64_t feed_forward = 0;  ///< 0: 4 * hidden
};

/// The variant of a transformer block.
struct BlockOptions {
    TransformerSizes sizes;
    bool rms = false;         ///< RMS norms instead of layer norms
    bool norm_after = false;  ///< norms of the sums, as in BERT; else of what each half of a block reads
    bool bias = true;         ///< of linear layers
    bool causal = false;
    bool gated = false;  ///< function(gate) * up instead of function(up)
    std::string function = "gelu_tanh";
    double epsilon = 1e-5;
    double rotary = 0;  ///< base of rotary positions; 0: none
};

/// Records one block on x [batch * sequence, hidden].
TensorId transformer_block(Network& network, const std::string& name, TensorId x, std::int64_t batch,
                           std::int64_t sequence, const BlockOptions& options);

/// A decoder that predicts the next token.
struct LanguageModelOptions {
    BlockOptions block;
    std::int64_t vocabulary = 50257, batch = 1, sequence = 1024;
    std::int64_t positions = 0;  ///< rows of a learned table of positions; 0: none
    bool tied = true;            ///< the head is the token embedding transposed
    StepOptions step;
};

/// Builds a training step of a decoder, which predicts the next token from those before it (Radford et al.,
/// 2019; Brown et al., 2020; Touvron et al., 2023).
trace::Trace decoder(const std::string& name, const LanguageModelOptions& options);

/// Builds a training step of BERT (Devlin et al., 2019) with both heads of its pre-training: every token, and
/// whether the second sentence follows the first. Norms come after the sums; segments and positions are
/// learned.
trace::Trace bert(const std::string& name, const LanguageModelOptions& options);

/// A vision transformer.
struct ViTOptions {
    BlockOptions block;
    std::int64_t image = 224, patch = 16, classes = 1000, batch = 1;
    StepOptions step;
};

/// Builds a training step of a Vision Transformer (Dosovitskiy et al., 2021): patches, and a class token
/// whose last state is classified.
trace::Trace vit(const std::string& name, const ViTOptions& options);

/// An encoder-decoder with mixtures of experts.
struct SwitchOptions {
    TransformerSizes sizes;  ///< layers of the encoder, and as many of the decoder
    Network::MixtureOptions mixture;
    std::int64_t every = 2;  ///< every how many blocks have experts
    std::int64_t vocabulary = 32128, batch = 1, sequence = 512, target = 114;
    StepOptions step;
};

/// Builds a training step of a Switch Transformer (Fedus et al., 2022) on T5 (Raffel et al., 2020): RMS
/// norms, relative positions added to scores that are not scaled, no biases, and a tied head.
trace::Trace switch_transformer(const std::string& name, const SwitchOptions& options);

/// Returns the part of the batch that one micro-batch has. Throws heddle::Error when the batch cannot be
/// divided evenly.
std::int64_t part_of_batch(const std::string& model, std::int64_t batch, const StepOptions& step);
/// Throws heddle::Error naming "<model> option <key>" when the value is below 1.
void require_positive(const std::string& model, const std::string& key, std::int64_t value);

}  // namespace heddle::zoo
