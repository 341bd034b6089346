#include "workloads/zoo/presets.h"

#include "isa/common/error.h"
#include "workloads/zoo/resnet.h"
#include "workloads/zoo/transformer.h"

namespace heddle::zoo {
namespace {

using Descriptions = std::vector<OptionDescription>;

StepOptions adamw_in_bf16(double rate) {
    StepOptions step;
    step.type = ElementType::bf16;
    step.optimizer.kind = OptimizerOptions::Kind::adamw;
    step.optimizer.learning_rate = rate;
    step.optimizer.beta2 = 0.95;
    return step;
}

OptionDescription option(const char* name, std::int64_t value, const char* meaning) {
    return {name, std::to_string(value), meaning};
}

Descriptions with_step(Descriptions own, const StepOptions& step) {
    const Descriptions more = step_options(step);
    own.insert(own.end(), more.begin(), more.end());
    return own;
}

Descriptions of_sizes(const TransformerSizes& s) {
    return {option("layers", s.layers, "blocks"),
            option("hidden", s.hidden, "width of the residual stream"),
            option("heads", s.heads, "of attention"),
            option("key_heads", s.key_heads, "of keys and values; 0: as many as heads"),
            option("head_dim", s.head_dim, "width of a head; 0: hidden / heads"),
            option("feed_forward", s.feed_forward, "width inside a block's MLP; 0: four times hidden")};
}

TransformerSizes read_sizes(const Options& options) {
    return {options.integer("layers"),    options.integer("hidden"),   options.integer("heads"),
            options.integer("key_heads"), options.integer("head_dim"), options.integer("feed_forward")};
}

/// A language model, encoder or decoder.
Model language_model(const std::string& name, const std::string& description,
                     const LanguageModelOptions& defaults, std::int64_t parameters, bool encoder) {
    Descriptions own{option("batch", defaults.batch, "sequences per step"),
                     option("sequence", defaults.sequence, "tokens per sequence"),
                     option("vocabulary", defaults.vocabulary, "tokens that there are")};
    const Descriptions sizes = of_sizes(defaults.block.sizes);
    own.insert(own.end(), sizes.begin(), sizes.end());
    if (defaults.positions > 0)
        own.push_back(option("positions", defaults.positions, "rows of the table of positions"));
    const auto build = [=](const Options& options) {
        LanguageModelOptions o = defaults;
        o.batch = options.integer("batch");
        o.sequence = options.integer("sequence");
        o.vocabulary = options.integer("vocabulary");
        o.block.sizes = read_sizes(options);
        if (options.has("positions")) o.positions = options.integer("positions");
        o.step = read_step_options(options);
        return encoder ? bert(name, o) : decoder(name, o);
    };
    return {name, description, with_step(own, defaults.step), build, parameters};
}

struct Row {
    const char* name;
    TransformerSizes sizes;
    std::int64_t parameters;
};

/// 12 L d^2 + 13 L d for blocks, V d + S d for embeddings, 2 d for the last norm.
void add_gpt(std::vector<Model>& models) {
    LanguageModelOptions o;
    o.block.causal = true;
    o.batch = 8;
    o.positions = 1024;
    o.step = adamw_in_bf16(6e-4);
    for (const Row& row :
         {Row{"gpt2-small", {12, 768, 12}, 124439808}, Row{"gpt2-medium", {24, 1024, 16}, 354823168},
          Row{"gpt2-large", {36, 1280, 20}, 774030080}, Row{"gpt2-xl", {48, 1600, 25}, 1557611200}}) {
        o.block.sizes = row.sizes;
        models.push_back(language_model(row.name, "GPT-2 (Radford et al., 2019): next token, GELU, tied head",
                                        o, row.parameters, false));
    }
    o.positions = o.sequence = 2048;
    o.batch = 1;
    // Table 2.1 of Brown et al., 2020. Its 1.3B has 24 heads of 128, its 13B a width of 5140: neither fits
    // the heads, so 16 heads and 5120 are taken.
    for (const Row& row : {Row{"gpt3-125m", {12, 768, 12}, 0}, Row{"gpt3-350m", {24, 1024, 16}, 0},
                           Row{"gpt3-760m", {24, 1536, 16}, 0}, Row{"gpt3-1.3b", {24, 2048, 16}, 0},
                           Row{"gpt3-2.7b", {32, 2560, 32}, 0}, Row{"gpt3-6.7b", {32, 4096, 32}, 0},
                           Row{"gpt3-13b", {40, 5120, 40}, 0}, Row{"gpt3-175b", {96, 12288, 96}, 0}}) {
        o.block.sizes = row.sizes;
        const std::int64_t d = row.sizes.hidden, layers = row.sizes.layers;
        const std::int64_t count = layers * (12 * d * d + 13 * d) + (50257 + 2048 + 2) * d;
        models.push_back(
            language_model(row.name, "GPT-3 shapes (Brown et al., 2020), dense attention", o, count, false));
    }
}

void add_llama(std::vector<Model>& models) {
    LanguageModelOptions o;
    o.block.rms = o.block.gated = o.block.causal = true;
    o.block.bias = o.tied = false;
    o.block.function = "silu";
    o.step = adamw_in_bf16(3e-4);
    o.batch = 1;
    o.sequence = 4096;
    o.vocabulary = 32000;
    o.block.rotary = 10000;
    for (const Row& row : {Row{"llama2-7b", {32, 4096, 32, 32, 0, 11008}, 6738415616},
                           Row{"llama2-13b", {40, 5120, 40, 40, 0, 13824}, 13015864320},
                           Row{"llama2-70b", {80, 8192, 64, 8, 0, 28672}, 68976648192}}) {
        o.block.sizes = row.sizes;
        models.push_back(language_model(
            row.name, "Llama 2 (Touvron et al., 2023): RMS norm, rotary positions, SwiGLU, no biases", o,
            row.parameters, false));
    }
    o.sequence = 8192;
    o.vocabulary = 128256;
    o.block.rotary = 500000;
    for (const Row& row : {Row{"llama3-8b", {32, 4096, 32, 8, 0, 14336}, 8030261248},
                           Row{"llama3-70b", {80, 8192, 64, 8, 0, 28672}, 70553706496}}) {
        o.block.sizes = row.sizes;
        models.push_back(language_model(row.name,
                                        "Llama 3 (2024): as Llama 2, eight key heads, a larger vocabulary", o,
                                        row.parameters, false));
    }
}

/// Published are BertModel's 109,482,240 and 335,141,888; the heads of pre-training add (transform, norm,
/// bias of the vocabulary, sentence pair) d^2 + 3 d + V + 2 d + 2.
void add_bert(std::vector<Model>& models) {
    LanguageModelOptions o;
    o.block.norm_after = true;
    o.block.function = "gelu";
    o.block.epsilon = 1e-12;
    o.positions = o.sequence = 512;
    o.vocabulary = 30522;
    o.batch = 8;
    o.step = adamw_in_bf16(1e-4);
    for (const Row& row :
         {Row{"bert-base", {12, 768, 12}, 110106428}, Row{"bert-large", {24, 1024, 16}, 336226108}}) {
        o.block.sizes = row.sizes;
        models.push_back(language_model(
            row.name, "BERT (Devlin et al., 2019), pre-training: every token and the sentence pair", o,
            row.parameters, true));
    }
}

void add_vit(std::vector<Model>& models) {
    ViTOptions defaults;
    defaults.block.function = "gelu";
    defaults.block.epsilon = 1e-6;
    defaults.batch = 32;
    defaults.step = adamw_in_bf16(1e-3);
    for (const Row& row :
         {Row{"vit-b16", {12, 768, 12}, 86567656}, Row{"vit-l16", {24, 1024, 16}, 304326632}}) {
        defaults.block.sizes = row.sizes;
        Descriptions own{option("batch", defaults.batch, "images per step"),
                         option("image", defaults.image, "pixels of each side"),
                         option("patch", defaults.patch, "pixels of a patch's sides"),
                         option("classes", defaults.classes, "classes")};
        const Descriptions sizes = of_sizes(row.sizes);
        own.insert(own.end(), sizes.begin(), sizes.end());
        const std::string name = row.name;
        const auto build = [=](const Options& options) {
            ViTOptions o = defaults;
            o.batch = options.integer("batch");
            o.image = options.integer("image");
            o.patch = options.integer("patch");
            o.classes = options.integer("classes");
            o.block.sizes = read_sizes(options);
            o.step = read_step_options(options);
            return vit(name, o);
        };
        models.push_back({name, "Vision Transformer (Dosovitskiy et al., 2021): patches and a class token",
                          with_step(own, defaults.step), build, row.parameters});
    }
}

/// switch-base of Fedus et al., 2022, with the feed-forward width of the released models; counts by
/// V d + 3 L 4 d^2 + L (dense) 2 d f + L (E 2 d f + E d) + norms + 2 * 32 * heads.
void add_switch(std::vector<Model>& models) {
    SwitchOptions defaults;
    defaults.sizes = {12, 768, 12, 0, 64, 3072};
    defaults.batch = 8;
    defaults.step = adamw_in_bf16(1e-3);
    const std::pair<const char*, std::int64_t> rows[] = {{"switch-base-8", 619339008},
                                                         {"switch-base-128", 7415217408}};
    std::int64_t experts = 8;
    for (const auto& [row, parameters] : rows) {
        defaults.mixture.experts = experts;
        experts = 128;
        Descriptions own{option("batch", defaults.batch, "pairs of sequences per step"),
                         option("sequence", defaults.sequence, "tokens that the encoder reads"),
                         option("target", defaults.target, "tokens that the decoder writes"),
                         option("vocabulary", defaults.vocabulary, "tokens that there are"),
                         option("layers", defaults.sizes.layers, "blocks of the encoder, and of the decoder"),
                         option("hidden", defaults.sizes.hidden, "width of the residual stream"),
                         option("heads", defaults.sizes.heads, "of attention"),
                         option("head_dim", defaults.sizes.head_dim, "width of a head; 0: hidden / heads"),
                         option("feed_forward", defaults.sizes.feed_forward, "width inside MLPs and experts"),
                         option("experts", defaults.mixture.experts, "of each mixture"),
                         option("every", defaults.every, "every how many blocks have experts"),
                         {"capacity", "1.25", "slots of an expert over tokens / experts; 0: no limit"},
                         {"balance", "0.01", "weight of the loss that spreads tokens evenly"}};
        const std::string name = row;
        const auto build = [=](const Options& options) {
            SwitchOptions o = defaults;
            o.batch = options.integer("batch");
            o.sequence = options.integer("sequence");
            o.target = options.integer("target");
            o.vocabulary = options.integer("vocabulary");
            o.sizes = {options.integer("layers"),   options.integer("hidden"),
                       options.integer("heads"),    0,
                       options.integer("head_dim"), options.integer("feed_forward")};
            o.mixture.experts = options.integer("experts");
            o.every = options.integer("every");
            o.mixture.capacity = options.real("capacity");
            o.mixture.balance = options.real("balance");
            o.step = read_step_options(options);
            return switch_transformer(name, o);
        };
        models.push_back({name,
                          "Switch Transformer (Fedus et al., 2022): T5 with one expert for each token, of "
                          "limited capacity",
                          with_step(own, defaults.step), build, parameters});
    }
}

void add_resnet(std::vector<Model>& models) {
    ResNetOptions defaults;
    defaults.batch = 32;
    defaults.step.type = ElementType::bf16;
    defaults.step.optimizer.momentum = 0.9;
    const std::pair<std::int64_t, std::int64_t> rows[] = {
        {18, 11689512}, {34, 21797672}, {50, 25557032}, {101, 44549160}, {152, 60192808}};
    for (const auto& [depth, parameters] : rows) {
        Descriptions own{option("batch", defaults.batch, "images per step"),
                         option("image", defaults.image, "pixels of each side"),
                         option("classes", defaults.classes, "classes"),
                         option("width", defaults.width, "channels of the first stage"),
                         {"layout", "nchw", "nchw or nhwc: channels before or after the pixels"}};
        const std::string name = "resnet" + std::to_string(depth);
        const auto build = [=, depth = depth](const Options& options) {
            ResNetOptions o = defaults;
            o.depth = depth;
            o.batch = options.integer("batch");
            o.image = options.integer("image");
            o.classes = options.integer("classes");
            o.width = options.integer("width");
            o.channels_last = options.choice("layout", {"nchw", "nhwc"}) == 1;
            o.step = read_step_options(options);
            return resnet(name, o);
        };
        models.push_back({name, "residual network for images (He et al., 2016), as in torchvision",
                          with_step(own, defaults.step), build, parameters});
    }
}

void add_lstm(std::vector<Model>& models) {
    LstmOptions defaults;
    defaults.step.optimizer.learning_rate = 1;
    const auto build = [=](const Options& options) {
        LstmOptions o;
        o.layers = options.integer("layers");
        o.hidden = options.integer("hidden");
        o.vocabulary = options.integer("vocabulary");
        o.batch = options.integer("batch");
        o.sequence = options.integer("sequence");
        o.step = read_step_options(options);
        return lstm("lstm", o);
    };
    models.push_back({"lstm", "LSTM language model (Zaremba et al., 2014, medium): next token",
                      with_step({option("layers", defaults.layers, "LSTM layers"),
                                 option("hidden", defaults.hidden, "width of layers and embedding"),
                                 option("vocabulary", defaults.vocabulary, "tokens that there are"),
                                 option("batch", defaults.batch, "sequences per step"),
                                 option("sequence", defaults.sequence, "tokens per sequence")},
                                defaults.step),
                      build, 19775200});
}

}  // namespace

void add_presets(std::vector<Model>& models) {
    add_lstm(models);
    add_resnet(models);
    add_bert(models);
    add_gpt(models);
    add_llama(models);
    add_vit(models);
    add_switch(models);
}

}  // namespace heddle::zoo
