#include "sim/run/numerics/training_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>

#include "isa/common/error.h"
#include "isa/common/text_file.h"
#include "sim/run/time/kernel_cache.h"
#include "workloads/expression/expression.h"
#include "workloads/reference/values.h"

namespace heddle::sim {
namespace {

using trace::TensorId;

constexpr std::uint64_t kMostOfText = std::uint64_t{8} << 30;  // steps begin anywhere in it

/// The one tensor of the role that the step reads from outside.
TensorId only(const trace::Trace& trace, trace::TensorRole role, const char* name) {
    std::optional<TensorId> found;
    for (const TensorId id : reference::external_tensors(trace)) {
        if (trace.tensor(id).role != role) continue;
        if (found)
            throw Error(std::string("the model reads several ") + name + "s", {"--data", 0, ""},
                        "leave --data out");
        found = id;
    }
    if (!found) throw Error(std::string("the model reads no ") + name, {"--data", 0, ""}, "leave --data out");
    return *found;
}

class Spirals : public TrainingData {
  public:
    explicit Spirals(const trace::Trace& trace)
        : points_(only(trace, trace::TensorRole::input, "input")),
          labels_(only(trace, trace::TensorRole::label, "label")) {
        const trace::Tensor& points = trace.tensor(points_);
        if (points.shape.size() != 2 || points.shape[1] != 2)
            throw Error("spirals are points of two numbers, the model does not read such", {"--data", 0, ""},
                        "heddle simulate mlp --widths 2,64,64,2 --numerics --data spirals --steps 300");
        count_ = static_cast<std::size_t>(points.shape[0]);
        for (const trace::Op& op : trace.ops) {
            if (op.kind == trace::OpKind::softmax_cross_entropy && op.inputs.at(1) == labels_)
                classes_ = static_cast<double>(trace.tensor(op.inputs[0]).shape.back());
        }
        if (trace.tensor(labels_).elements() != points.shape[0] || classes_ < 2)
            throw Error("the model has no class for each point", {"--data", 0, ""}, "leave --data out");
    }

    std::map<TensorId, std::vector<double>> batch(unsigned step) const override {
        std::vector<double> points, labels;
        const auto random = [&](unsigned which, std::size_t i) {
            return expression::random_uniform(std::uint64_t{step} * 4 + which, i);
        };
        const auto on_grid = [](double value) { return std::floor(value * 128 + 0.5) / 128; };
        for (std::size_t i = 0; i < count_; ++i) {
            const double label = std::floor(random(0, i) * classes_);
            const double along = std::sqrt(random(1, i));  // as dense outside as inside
            const double angle =
                2 * std::numbers::pi * (label / classes_ + 1.25 * along) + 0.25 * (random(2, i) - 0.5);
            points.push_back(on_grid(along * std::cos(angle)));
            points.push_back(on_grid(along * std::sin(angle)));
            labels.push_back(label);
        }
        return {{points_, std::move(points)}, {labels_, std::move(labels)}};
    }
    std::string description() const override {
        return fmt::format("{:.0f} spirals, {} fresh points in every step", classes_, count_);
    }
    std::string identity() const override { return "spirals 1"; }

  private:
    TensorId points_, labels_;
    std::size_t count_ = 0;
    double classes_ = 0;
};

class Text : public TrainingData {
  public:
    Text(const std::string& path, const trace::Trace& trace)
        : path_(path),
          tokens_(only(trace, trace::TensorRole::input, "input")),
          labels_(only(trace, trace::TensorRole::label, "label")) {
        text_ = read_text_file(path, kMostOfText, "--data is `spirals` or the name of a text file");
        const trace::Tensor& tokens = trace.tensor(tokens_);
        count_ = static_cast<std::size_t>(tokens.elements());
        std::int64_t vocabulary = 0;
        for (const trace::Op& op : trace.ops) {
            if (op.kind == trace::OpKind::embedding && op.inputs.at(1) == tokens_)
                vocabulary = trace.tensor(op.inputs[0]).shape.front();
        }
        if (vocabulary == 0 || trace.tensor(labels_).elements() != tokens.elements())
            throw Error("the model does not read tokens and the token after each", {"--data", 0, ""},
                        "use a model like gpt");
        if (text_.size() < count_ + 1)
            throw Error(fmt::format("the file has {} bytes, a step reads {}", text_.size(), count_ + 1),
                        {path, 0, ""}, "give a longer file, or a smaller batch");
        for (const char c : text_) {
            if (static_cast<unsigned char>(c) >= vocabulary)
                throw Error(fmt::format("byte {} is outside of the vocabulary of {}",
                                        static_cast<unsigned char>(c), vocabulary),
                            {path, 0, ""}, "--option vocabulary=256");
        }
    }

    std::map<TensorId, std::vector<double>> batch(unsigned step) const override {
        const std::size_t places = text_.size() - count_;
        const auto begin =
            static_cast<std::size_t>(expression::random_uniform(0, step) * static_cast<double>(places));
        std::vector<double> tokens(count_), labels(count_);
        for (std::size_t i = 0; i < count_; ++i) {
            tokens[i] = static_cast<unsigned char>(text_[begin + i]);
            labels[i] = static_cast<unsigned char>(text_[begin + i + 1]);
        }
        return {{tokens_, std::move(tokens)}, {labels_, std::move(labels)}};
    }
    std::string description() const override {
        return fmt::format("the {} bytes of {}, {} of them in every step", text_.size(), path_, count_);
    }
    std::string identity() const override { return "text 1 " + hash_text(text_); }

  private:
    std::string path_, text_;
    TensorId tokens_, labels_;
    std::size_t count_ = 0;
};

}  // namespace

std::unique_ptr<TrainingData> open_training_data(const std::string& what, const trace::Trace& trace) {
    if (what == "spirals") return std::make_unique<Spirals>(trace);
    return std::make_unique<Text>(what, trace);
}

}  // namespace heddle::sim
