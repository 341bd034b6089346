#include "workloads/model_files/read_model.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <set>

#include "isa/common/error.h"
#include "isa/common/text_file.h"

namespace heddle::model_files {
namespace {

using zoo::LayerField;
using zoo::LayerSpec;

int line_of(const YAML::Node& node) {
    return node.Mark().line + 1;
}

class Reader {
  public:
    explicit Reader(std::string path) : path_(std::move(path)) {}

    zoo::LayerModel read() {
        YAML::Node root;
        try {
            root = YAML::Load(read_text_file(path_, kMostOfWritten));
        } catch (const YAML::DeepRecursion& error) {
            throw Error("nested too deeply", {path_, error.mark.line + 1, ""},
                        "layers nest " + std::to_string(kDeepest) + " deep");
        } catch (const YAML::ParserException& error) {
            throw Error("not YAML: " + error.msg, {path_, error.mark.line + 1, ""});
        }
        if (!root.IsMap()) fail("a model is a map with input, batch and layers", root, "");
        zoo::LayerModel model;
        model.file = path_;
        model.name = std::filesystem::path(path_).stem().string();
        std::set<std::string> seen;
        for (const auto& entry : root) {
            const std::string key = text(entry.first, "a key");
            const YAML::Node& value = entry.second;
            if (!seen.insert(key).second) fail("is given twice", entry.first, key);
            if (key == "name") {
                model.name = text(value, key);
            } else if (key == "batch") {
                model.batch = integer(value, key);
            } else if (key == "input") {
                model.input = input(value);
            } else if (key == "layers") {
                model.layers = layers(value, key);
            } else if (key == "options") {
                model.options = fields(value, key);
            } else {
                unknown(entry.first, key);
            }
        }
        for (const char* needed : {"input", "layers"}) {
            if (!seen.contains(needed)) throw Error("is missing", {path_, 0, needed});
        }
        return model;
    }

  private:
    [[noreturn]] void fail(const std::string& problem, const YAML::Node& at, const std::string& key,
                           const std::string& remedy = "") const {
        throw Error(problem, {path_, line_of(at), key}, remedy);
    }
    [[noreturn]] void unknown(const YAML::Node& at, const std::string& key) const {
        const std::string known[] = {"name", "batch", "input", "layers", "options"};
        const std::string near = nearest_word(key, known, std::size(known));
        fail("unknown key '" + key + "'", at, "",
             near.empty() ? "a model has name, batch, input, layers and options"
                          : "did you mean " + near + "?");
    }
    std::string text(const YAML::Node& node, const std::string& key) const {
        if (!node.IsScalar()) fail("must be a word or a number", node, key);
        return node.Scalar();
    }
    std::int64_t integer(const YAML::Node& node, const std::string& key) const {
        std::int64_t value = 0;
        if (!node.IsScalar() || !YAML::convert<std::int64_t>::decode(node, value))
            fail("must be an integer", node, key);
        if (value < 1) fail("must be at least 1", node, key);
        return value;
    }
    std::map<std::string, LayerField> fields(const YAML::Node& node, const std::string& key) const {
        std::map<std::string, LayerField> result;
        if (!node.IsMap()) fail("must be a map", node, key);
        for (const auto& entry : node) {
            const std::string name = text(entry.first, key);
            const std::string place = (key + ".").append(name);
            if (!result.emplace(name, LayerField{text(entry.second, place), line_of(entry.first)}).second)
                fail("is given twice", entry.first, place);
        }
        return result;
    }

    /// "tokens: {...}", "features: 784" or "image: [3, 32, 32]".
    LayerSpec input(const YAML::Node& node) const {
        const char* remedy =
            "tokens: {vocabulary, sequence}, features: width, or image: [channels, height, width]";
        if (!node.IsMap() || node.size() != 1) fail("is one kind of input", node, "input", remedy);
        const auto entry = *node.begin();
        LayerSpec spec;
        spec.kind = text(entry.first, "input");
        spec.line = line_of(entry.first);
        const YAML::Node value = entry.second;
        if (spec.kind == "image" && value.IsSequence()) {
            if (value.size() != 3) fail("has three numbers", value, "input.image", remedy);
            const char* names[] = {"channels", "height", "width"};
            for (std::size_t i = 0; i < 3; ++i)
                spec.fields[names[i]] = {text(value[i], "input.image"), line_of(value[i])};
            return spec;
        }
        if (spec.kind != "tokens" && spec.kind != "features" && spec.kind != "image")
            fail("there is no input '" + spec.kind + "'", entry.first, "input", remedy);
        if (value.IsScalar()) {
            spec.fields[""] = {value.Scalar(), line_of(value)};
        } else {
            spec.fields = fields(value, "input." + spec.kind);
        }
        return spec;
    }

    std::vector<LayerSpec> layers(const YAML::Node& node, const std::string& key) {
        if (!node.IsSequence() || node.size() == 0) fail("must be a list of layers", node, key);
        if (depth_ == kDeepest) fail("layers are nested too deeply", node, key);
        ++depth_;
        std::vector<LayerSpec> result;
        for (const YAML::Node& item : node) result.push_back(layer(item, key));
        --depth_;
        return result;
    }

    /// "flatten", "linear: 10" or "linear: {width: 10}".
    LayerSpec layer(const YAML::Node& node, const std::string& key) {
        if (++layers_ > kMostLayers)
            fail("more than " + std::to_string(kMostLayers) + " layers", node, key,
                 "use repeat: {times, layers}");
        LayerSpec spec;
        spec.line = line_of(node);
        if (node.IsScalar()) {
            spec.kind = node.Scalar();
            return spec;
        }
        if (!node.IsMap() || node.size() != 1)
            fail("a layer has one name", node, key, "write - linear: {width: 512, bias: false}");
        const auto entry = *node.begin();
        spec.kind = text(entry.first, key);
        const YAML::Node value = entry.second;
        if (value.IsScalar()) {
            spec.fields[""] = {value.Scalar(), line_of(value)};
            return spec;
        }
        if (value.IsNull()) return spec;
        if (!value.IsMap()) fail("must be a map", value, spec.kind);
        const bool nests = spec.kind == "repeat" || spec.kind == "residual" || spec.kind == "block";
        for (const auto& inner : value) {
            const std::string name = text(inner.first, spec.kind);
            if (nests && name == "layers") {
                spec.layers = layers(inner.second, spec.kind + ".layers");
            } else if (!spec.fields
                            .emplace(name, LayerField{text(inner.second, spec.kind + "." + name),
                                                      line_of(inner.first)})
                            .second) {
                fail("is given twice", inner.first, spec.kind + "." + name);
            }
        }
        if (nests && spec.layers.empty()) fail("needs layers", node, spec.kind);
        return spec;
    }

    // Anchors let a few lines stand for an endless tree.
    static constexpr std::size_t kDeepest = 32, kMostLayers = 100000;

    std::string path_;
    std::size_t layers_ = 0, depth_ = 0;
};

}  // namespace

bool is_model_file(const std::string& path) {
    return path.ends_with(".yaml") || path.ends_with(".yml");
}

zoo::LayerModel read_model(const std::string& path) {
    return Reader(path).read();
}

}  // namespace heddle::model_files
