#include "workloads/zoo/layer_model.h"

#include <charconv>

#include "isa/common/checked.h"
#include "workloads/zoo/resnet.h"
#include "workloads/zoo/transformer.h"

namespace heddle::zoo {
namespace {

constexpr std::size_t kMostLayers = 1000000;

/// The fields of a layer, by name; what is not asked for is an error.
class Fields {
  public:
    Fields(const LayerModel& model, const LayerSpec& layer, const std::vector<std::string>& known,
           const std::string& alone = "")
        : model_(model), layer_(layer), alone_(alone) {
        for (const auto& [key, field] : layer.fields) {
            const std::string name = key.empty() ? alone : key;
            if (name.empty())
                throw Error("takes named values", {model.file, field.line, layer.kind},
                            "write " + layer.kind + ": {" + (known.empty() ? "" : known[0] + ": ...") + "}");
            if (std::find(known.begin(), known.end(), name) != known.end()) continue;
            const std::string near = nearest_word(name, known.data(), known.size());
            std::string remedy = near.empty() ? "it knows:" : "did you mean " + near + "?";
            for (std::size_t i = 0; near.empty() && i < known.size(); ++i) remedy += " " + known[i];
            throw Error("unknown key '" + name + "'", {model.file, field.line, layer.kind}, remedy);
        }
    }

    bool has(const std::string& name) const { return find(name) != nullptr; }
    /// As those of options: products of two of them can still be counted.
    std::int64_t integer(const std::string& name, std::int64_t fallback) const {
        return number<std::int32_t>(name, static_cast<std::int32_t>(fallback),
                                    "an integer of at most 2147483647");
    }
    std::int64_t integer(const std::string& name) const {
        const std::int64_t value = integer(required(name), std::int64_t{0});
        if (value < 1) fail(name, "must be at least 1");
        return value;
    }
    double real(const std::string& name, double fallback) const {
        const double value = number<double>(name, fallback, "a number");
        if (!gates::kFinite.admits(value)) fail(name, "is not a finite number");
        return value;
    }
    bool flag(const std::string& name, bool fallback) const {
        const LayerField* field = find(name);
        if (field == nullptr) return fallback;
        if (field->text == "true" || field->text == "1") return true;
        if (field->text == "false" || field->text == "0") return false;
        fail(name, "'" + field->text + "' is neither true nor false");
    }
    std::string text(const std::string& name, const std::string& fallback) const {
        const LayerField* field = find(name);
        return field == nullptr ? fallback : field->text;
    }
    bool choice(const std::string& name, const std::string& first, const std::string& second) const {
        const std::string word = text(name, first);
        if (word != first && word != second)
            fail(name, "'" + word + "' is neither " + first + " nor " + second);
        return word == first;
    }
    [[noreturn]] void fail(const std::string& name, const std::string& problem) const {
        const LayerField* field = find(name);
        throw Error(problem, {model_.file, field == nullptr ? layer_.line : field->line,
                              layer_.kind + (name.empty() ? "" : "." + name)});
    }

  private:
    const LayerField* find(const std::string& name) const {
        auto found = layer_.fields.find(name);
        if (found == layer_.fields.end() && name == alone_) found = layer_.fields.find("");
        return found == layer_.fields.end() ? nullptr : &found->second;
    }
    const std::string& required(const std::string& name) const {
        if (!has(name)) fail("", "needs " + name);
        return name;
    }
    template <class Number>
    Number number(const std::string& name, Number fallback, const char* wanted) const {
        const LayerField* field = find(name);
        if (field == nullptr) return fallback;
        Number value{};
        const std::string& t = field->text;
        const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
        if (error != std::errc{} || end != t.data() + t.size()) fail(name, "'" + t + "' is not " + wanted);
        return value;
    }

    const LayerModel& model_;
    const LayerSpec& layer_;
    std::string alone_;
};

/// What flows from layer to layer.
struct Flow {
    enum class Form : std::uint8_t { tokens, sequence, features, image } form = Form::features;
    TensorId x = 0;  ///< tokens [rows], sequence [rows, width], features [batch, width], image [N, C, H, W]
};
const char* name_of(Flow::Form form) {
    constexpr const char* names[] = {"tokens", "a sequence", "features", "an image"};
    return names[static_cast<std::size_t>(form)];
}

class LayerModelRecorder {
  public:
    LayerModelRecorder(Network& network, const LayerModel& model, std::int64_t batch, std::int64_t sequence)
        : n_(network), model_(model), batch_(batch), sequence_(sequence) {}

    TensorId run() {
        Flow flow = input();
        layers(flow, model_.layers, "layer");
        if (flow.form != Flow::Form::sequence && flow.form != Flow::Form::features)
            throw Error(
                std::string("the last layer leaves ") + name_of(flow.form) + " instead of rows of classes",
                {model_.file, model_.layers.back().line, "layers"});
        const TensorId labels =
            n_.input("labels", ElementType::i32, {n_.shape(flow.x)[0]}, TensorRole::label);
        return n_.loss(flow.x, labels);
    }

  private:
    using Form = Flow::Form;

    Flow input() {
        const LayerSpec& spec = model_.input;
        if (spec.kind == "tokens") {
            vocabulary_ = Fields(model_, spec, {"vocabulary", "sequence"}).integer("vocabulary");
            return {Form::tokens,
                    n_.input("tokens", ElementType::i32, {batch_ * sequence_}, TensorRole::input)};
        }
        if (spec.kind == "features") {
            const std::int64_t width = Fields(model_, spec, {"width"}, "width").integer("width");
            return {Form::features, n_.input("features", n_.type(), {batch_, width}, TensorRole::input)};
        }
        const Fields fields(model_, spec, {"channels", "height", "width"});
        return {Form::image, n_.input("image", n_.type(),
                                      {batch_, fields.integer("channels"), fields.integer("height"),
                                       fields.integer("width")},
                                      TensorRole::input)};
    }

    void layers(Flow& flow, const std::vector<LayerSpec>& specs, const std::string& prefix) {
        for (std::size_t i = 0; i < specs.size(); ++i) {
            const LayerSpec& spec = specs[i];
            // Some record no op.
            if (++recorded_ > kMostLayers)
                throw Error("more than " + std::to_string(kMostLayers) + " layers",
                            {model_.file, spec.line, spec.kind}, "repeat them less often");
            try {
                layer(flow, spec, prefix + std::to_string(i) + "." + spec.kind);
            } catch (const Error& error) {
                if (error.where().line != 0) throw;
                // A shape that does not fit is the layer's fault.
                throw Error(error.problem(), {model_.file, spec.line, spec.kind}, error.remedy());
            }
        }
    }

    void require(const Flow& flow, const LayerSpec& spec, std::initializer_list<Form> forms) const {
        for (const Form form : forms) {
            if (flow.form == form) return;
        }
        std::string wanted;
        for (const Form form : forms) wanted += std::string(wanted.empty() ? "" : " or ") + name_of(form);
        throw Error(std::string("gets ") + name_of(flow.form) + " but works on " + wanted,
                    {model_.file, spec.line, spec.kind});
    }

    /// Throws when a layer that has no fields is given some.
    void no_fields(const LayerSpec& spec) const { const Fields none(model_, spec, {}); }

    /// Layers that may be computed again as one; segments do not nest.
    template <class Record>
    void segment(Record record) {
        if (++depth_ == 1) n_.begin_block();
        record();
        if (--depth_ == 0) n_.end_block();
    }

    void layer(Flow& flow, const LayerSpec& spec, const std::string& name) {
        const auto rows = {Form::sequence, Form::features};
        const std::string& kind = spec.kind;
        if (kind == "repeat") {
            const std::int64_t times = Fields(model_, spec, {"times"}).integer("times");
            for (std::int64_t i = 0; i < times; ++i) {
                const std::size_t first = n_.tape().ops();
                layers(flow, spec.layers, name + std::to_string(i) + ".");
                if (i == 1) n_.tape().expect_again(first, times - 2);
            }
        } else if (kind == "residual") {
            no_fields(spec);
            const Flow before = flow;
            layers(flow, spec.layers, name + ".");
            if (n_.shape(flow.x) != n_.shape(before.x))
                throw Error("its layers turn " + trace::to_text(n_.shape(before.x)) + " into " +
                                trace::to_text(n_.shape(flow.x)),
                            {model_.file, spec.line, kind}, "what is added must have the same shape");
            flow.x = n_.add(name, before.x, flow.x);
        } else if (kind == "block") {
            no_fields(spec);
            segment([&] { layers(flow, spec.layers, name + "."); });
        } else if (kind == "embedding") {
            require(flow, spec, {Form::tokens});
            embedding(flow, spec, name);
        } else if (kind == "linear") {
            require(flow, spec, rows);
            const Fields fields(model_, spec, {"width", "bias"}, "width");
            flow.x = n_.linear(name, flow.x, fields.integer("width"), fields.flag("bias", true));
        } else if (kind == "activation") {
            const Fields fields(model_, spec, {"function"}, "function");
            flow.x = n_.activation(name, flow.x, fields.text("function", "relu"));
        } else if (kind == "dropout") {
            const double p = Fields(model_, spec, {"probability"}, "probability").real("probability", 0.1);
            if (!(p >= 0 && p < 1)) throw Error("must be from 0 to below 1", {model_.file, spec.line, kind});
            flow.x = n_.dropout(name, flow.x, p);
        } else if (kind == "layer_norm" || kind == "rms_norm") {
            require(flow, spec, rows);
            const double epsilon = Fields(model_, spec, {"epsilon"}).real("epsilon", 1e-5);
            flow.x = kind == "rms_norm" ? n_.rms_norm(name, flow.x, epsilon)
                                        : n_.layer_norm(name, flow.x, epsilon);
        } else if (kind == "batch_norm") {
            require(flow, spec, {Form::features, Form::image});
            no_fields(spec);
            flow.x = n_.batch_norm(name, flow.x);
        } else if (kind == "convolution") {
            require(flow, spec, {Form::image});
            convolution(flow, spec, name);
        } else if (kind == "pooling") {
            require(flow, spec, {Form::image});
            pooling(flow, spec, name);
        } else if (kind == "global_mean" || kind == "flatten") {
            require(flow, spec, {Form::image});
            no_fields(spec);
            to_features(flow, name, kind == "global_mean");
        } else if (kind == "lstm") {
            require(flow, spec, {Form::sequence});
            lstm(flow, name, Fields(model_, spec, {"width"}, "width").integer("width"));
        } else if (kind == "transformer_block") {
            require(flow, spec, {Form::sequence});
            segment([&] {
                flow.x = transformer_block(n_, name, flow.x, batch_, sequence_, block_options(flow, spec));
            });
        } else if (kind == "mixture") {
            require(flow, spec, rows);
            mixture(flow, spec, name);
        } else if (kind == "first_token") {
            require(flow, spec, {Form::sequence});
            no_fields(spec);
            flow = {Form::features, n_.every(name, flow.x, batch_, sequence_)};
        } else {
            unknown(spec);
        }
    }

    [[noreturn]] void unknown(const LayerSpec& spec) const {
        static const std::vector<std::string> kinds{
            "activation", "batch_norm",  "block",       "convolution", "dropout",  "embedding",
            "flatten",    "first_token", "global_mean", "layer_norm",  "linear",   "lstm",
            "mixture",    "pooling",     "repeat",      "residual",    "rms_norm", "transformer_block"};
        const std::string near = nearest_word(spec.kind, kinds.data(), kinds.size());
        std::string remedy = near.empty() ? "known layers:" : "did you mean " + near + "?";
        for (std::size_t i = 0; near.empty() && i < kinds.size(); ++i) remedy += " " + kinds[i];
        throw Error("there is no layer '" + spec.kind + "'", {model_.file, spec.line, "layers"}, remedy);
    }

    void embedding(Flow& flow, const LayerSpec& spec, const std::string& name) {
        const Fields fields(model_, spec, {"width", "positions"}, "width");
        const std::int64_t width = fields.integer("width");
        flow = {Form::sequence, n_.embedding(name, flow.x, vocabulary_, width)};
        if (!fields.has("positions")) return;
        const std::int64_t places = fields.integer("positions");
        if (places < sequence_)
            fields.fail("positions", "there are " + std::to_string(sequence_) + " tokens in a sequence");
        const TensorId numbers =
            n_.constant("first_" + std::to_string(sequence_) + "_positions", ElementType::i32, {sequence_});
        const TensorId learned = n_.embedding(name + ".positions", numbers, places, width);
        const TensorId seen = n_.tape().view(name + ".by_sequence", flow.x, {batch_, sequence_, width});
        flow.x =
            n_.tape().view(name + ".rows", n_.add(name + ".sum", seen, learned), {batch_ * sequence_, width});
    }

    void convolution(Flow& flow, const LayerSpec& spec, const std::string& name) {
        const Fields fields(model_, spec, {"filters", "window", "stride", "padding", "groups", "bias"});
        const std::int64_t filters = fields.integer("filters"), window = fields.integer("window"),
                           stride = fields.integer("stride", 1), padding = fields.integer("padding", 0);
        ConvolutionOptions options;
        options.strides = {stride, stride};
        options.padding = {padding, padding};
        options.groups = fields.integer("groups", 1);
        if (stride < 1) fields.fail("stride", "must be at least 1");
        if (padding < 0) fields.fail("padding", "must not be negative");
        const std::int64_t channels = n_.shape(flow.x)[1];
        if (options.groups < 1 || channels % options.groups != 0 || filters % options.groups != 0)
            fields.fail("groups", "must divide " + std::to_string(channels) + " channels and " +
                                      std::to_string(filters) + " filters");
        const TensorId weight =
            n_.parameter(name + ".weight", {filters, channels / options.groups, window, window});
        flow.x = n_.tape().convolution(name, flow.x, weight, options);
        if (fields.flag("bias", false))
            flow.x = n_.add(name + ".biased", flow.x, n_.parameter(name + ".bias", {filters, 1, 1}));
    }

    void pooling(Flow& flow, const LayerSpec& spec, const std::string& name) {
        const Fields fields(model_, spec, {"kind", "window", "stride", "padding"});
        const std::int64_t window = fields.integer("window"), stride = fields.integer("stride", window),
                           padding = fields.integer("padding", 0);
        if (stride < 1) fields.fail("stride", "must be at least 1");
        PoolingOptions options;
        options.maximum = fields.choice("kind", "max", "mean");
        options.window = {window, window};
        options.strides = {stride, stride};
        options.padding = {padding, padding};
        flow.x = n_.tape().pooling(name, flow.x, options);
    }

    void to_features(Flow& flow, const std::string& name, bool mean) {
        const Shape shape = n_.shape(flow.x);
        if (mean) {
            PoolingOptions options;
            options.maximum = false;
            options.window = {shape[2], shape[3]};
            flow.x = n_.tape().pooling(name, flow.x, options);
        }
        const std::int64_t width = mean ? shape[1] : shape[1] * shape[2] * shape[3];
        flow = {Form::features, n_.tape().view(name + ".rows", flow.x, {shape[0], width})};
    }

    /// Rows of one moment side by side for the layer, and back.
    void lstm(Flow& flow, const std::string& name, std::int64_t width) {
        Tape& tape = n_.tape();
        const auto turned = [&](const std::string& what, TensorId x, std::int64_t outer, std::int64_t inner) {
            const std::int64_t columns = n_.shape(x)[1];
            const TensorId seen = tape.view(what + ".seen", x, {outer, inner, columns});
            return tape.view(what + ".rows", tape.transpose(what, seen, {1, 0, 2}), {outer * inner, columns});
        };
        const TensorId by_moment = turned(name + ".by_moment", flow.x, batch_, sequence_);
        flow.x = turned(name + ".by_sequence", n_.lstm(name, by_moment, sequence_, width), sequence_, batch_);
    }

    BlockOptions block_options(const Flow& flow, const LayerSpec& spec) {
        const Fields fields(model_, spec,
                            {"heads", "key_heads", "head_dim", "feed_forward", "causal", "norm", "norm_after",
                             "bias", "function", "gated", "rotary", "epsilon"});
        BlockOptions o;
        o.sizes.layers = 1;
        o.sizes.hidden = n_.shape(flow.x)[1];
        o.sizes.heads = fields.integer("heads");
        o.sizes.key_heads = fields.integer("key_heads", 0);
        o.sizes.head_dim = fields.integer("head_dim", 0);
        o.sizes.feed_forward = fields.integer("feed_forward", 0);
        if (o.sizes.head_dim == 0 && o.sizes.hidden % o.sizes.heads != 0)
            fields.fail("heads", "must divide the width, " + std::to_string(o.sizes.hidden));
        o.rms = fields.choice("norm", "rms", "layer") && fields.has("norm");
        o.norm_after = fields.flag("norm_after", false);
        o.bias = fields.flag("bias", true);
        o.causal = fields.flag("causal", false);
        o.gated = fields.flag("gated", false);
        o.function = fields.text("function", "gelu_tanh");
        o.epsilon = fields.real("epsilon", 1e-5);
        o.rotary = fields.real("rotary", 0);
        return o;
    }

    void mixture(Flow& flow, const LayerSpec& spec, const std::string& name) {
        const Fields fields(model_, spec, {"experts", "feed_forward", "capacity", "balance", "function"});
        Network::MixtureOptions o;
        o.experts = fields.integer("experts");
        o.feed_forward = fields.integer("feed_forward");
        o.capacity = fields.real("capacity", o.capacity);
        o.balance = fields.real("balance", o.balance);
        o.function = fields.text("function", o.function);
        flow.x = n_.mixture(name, flow.x, o);
    }

    Network& n_;
    const LayerModel& model_;
    std::int64_t batch_, sequence_, vocabulary_ = 0;
    int depth_ = 0;
    std::size_t recorded_ = 0;
};

/// Options of the file with their lines, so that a mistaken one is told where it stands.
void check_options(const LayerModel& model, const std::vector<OptionDescription>& known) {
    for (const auto& [name, field] : model.options) {
        try {
            const Options one(model.name, known, {{name, field.text}});
            check(read_step_options(one), model.name);
        } catch (const Error& error) {
            throw Error(error.problem(), {model.file, field.line, "options." + name}, error.remedy());
        }
    }
}

}  // namespace

trace::Trace build(const LayerModel& model, const std::map<std::string, std::string>& given) {
    if (model.layers.empty()) throw Error("there are no layers", {model.file, 0, "layers"});
    std::vector<OptionDescription> known = step_options({});
    check_options(model, known);
    known.push_back({"batch", std::to_string(model.batch), "inputs per step"});
    std::map<std::string, std::string> values;
    for (const auto& [name, field] : model.options) values[name] = field.text;
    const bool tokens = model.input.kind == "tokens";
    if (tokens) {
        const Fields fields(model, model.input, {"vocabulary", "sequence"});
        known.push_back({"sequence", std::to_string(fields.integer("sequence")), "tokens per sequence"});
    }
    for (const auto& [name, value] : given) values[name] = value;
    const Options options(model.name, known, values);
    const StepOptions step = read_step_options(options);
    const std::int64_t batch = part_of_batch(model.name, options.integer("batch"), step);
    const std::int64_t sequence = tokens ? options.integer("sequence") : 1;
    require_positive(model.name, "sequence", sequence);
    return record_step(model.name, step,
                       [&](Network& network) { return LayerModelRecorder(network, model, batch, sequence).run(); });
}

}  // namespace heddle::zoo
