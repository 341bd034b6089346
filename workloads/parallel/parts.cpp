#include "workloads/parallel/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "isa/common/error.h"
#include "workloads/trace/shape.h"

namespace heddle::parallel {
namespace {

using trace::Op;
using trace::OpId;
using trace::OpKind;
using trace::Phase;
using trace::Tensor;
using trace::TensorId;
using trace::TensorRole;
using trace::Trace;

std::string text_of(const trace::Attribute& value) {
    struct Visitor {
        std::string operator()(std::int64_t v) const { return std::to_string(v); }
        std::string operator()(double v) const { return fmt::format("{}", v); }
        std::string operator()(const std::string& v) const { return v; }
        std::string operator()(const std::vector<std::int64_t>& v) const {
            return fmt::format("{}", fmt::join(v, ","));
        }
        std::string operator()(const std::vector<double>& v) const {
            return fmt::format("{}", fmt::join(v, ","));
        }
    };
    return std::visit(Visitor{}, value);
}

bool from_outside(const Tensor& tensor) {
    return tensor.role == TensorRole::parameter || tensor.role == TensorRole::optimizer_state;
}

class Splitter {
  public:
    explicit Splitter(const Trace& trace) : trace_(trace) {}

    PartedStep run() {
        for (const Op& op : trace_.ops) {
            if (copies_weights(op)) weight_copies_.insert(storage(op.outputs[0]));
            if (op.kind == OpKind::expert_slots) mixes_experts_ = true;
            if (op.phase != Phase::backward) continue;
            for (const TensorId id : op.inputs) read_backward_.insert(storage(id));
        }
        sort_ops();
        find_parameters();
        for (auto& [number, part] : parts_) {
            mark_weight_gradients(part);
            measure(part);
            part.key = key_of(part);
            if (part.forward.empty() && part.backward.empty()) continue;
            index_[number] = step_.parts.size();
            step_.parts.push_back(part);
        }
        // What is updated but never used by itself belongs to the first part.
        for (auto& [number, part] : parts_) {
            if (index_.contains(number) || step_.parts.empty()) continue;
            Part& first = step_.parts.front();
            first.update.insert(first.update.end(), part.update.begin(), part.update.end());
        }
        find_shared();
        return std::move(step_);
    }

  private:
    std::uint64_t storage(TensorId id) const {
        const std::uint64_t own = trace_.tensor(id).storage;
        return own != 0 ? own : (std::uint64_t{1} << 62) + id;
    }
    bool is_weight(TensorId id) const {
        return from_outside(trace_.tensor(id)) || weight_copies_.contains(storage(id));
    }
    /// Copies of master weights in the type that layers read, and of those in 8 bits: made once in a step.
    bool copies_weights(const Op& op) const {
        if (op.phase != Phase::forward || op.inputs.empty()) return false;
        if (op.kind == OpKind::copy)
            return op.inputs.size() == 1 && trace_.tensor(op.inputs[0]).role == TensorRole::parameter;
        return op.kind == OpKind::quantise && (trace_.tensor(op.inputs[0]).role == TensorRole::parameter ||
                                               weight_copies_.contains(storage(op.inputs[0])));
    }
    static void append(std::vector<Segment>& segments, OpId id, bool collective) {
        if (collective || segments.empty() || segments.back().collective)
            segments.push_back({{}, collective, false});
        segments.back().ops.push_back(id);
    }

    void sort_ops() {
        for (OpId id = 0; id < trace_.ops.size(); ++id) {
            const Op& op = trace_.ops[id];
            const std::int64_t number = op.get(keys::any.part);
            Part& part = parts_[number];
            part.number = number;
            const bool collective = op.kind == OpKind::collective;
            if (op.phase == Phase::optimizer || copies_weights(op)) {
                part.update.push_back(id);
                if (op.kind == OpKind::quantise && op.phase == Phase::forward)
                    part.rounded_bytes += static_cast<double>(trace_.tensor(op.outputs[0]).bytes());
            } else if (op.phase == Phase::backward) {
                append(part.backward, id, collective);
            } else {
                append(part.forward, id, collective);
            }
        }
    }

    void find_parameters() {
        std::set<std::uint64_t> seen;
        for (auto& [number, part] : parts_) {
            for (const OpId id : part.update) {
                for (const TensorId tensor : trace_.ops[id].inputs) {
                    if (trace_.tensor(tensor).role != TensorRole::parameter) continue;
                    if (!seen.insert(storage(tensor)).second) continue;
                    part.parameters.push_back(tensor);
                    const auto elements = static_cast<double>(trace_.tensor(tensor).elements());
                    part.parameter_count += elements;
                    if (trace_.tensor(tensor).shape.size() == 3 && mixes_experts_)
                        part.expert_count += elements;
                }
            }
        }
    }

    /// From the end: what no later op of a backward pass reads is a gradient of weights.
    void mark_weight_gradients(Part& part) {
        std::vector<Segment> split;
        for (const Segment& segment : part.backward) {
            if (segment.collective) {
                split.push_back(segment);
                continue;
            }
            for (const OpId id : segment.ops) {
                const Op& op = trace_.ops[id];
                const bool weights_only =
                    std::none_of(op.outputs.begin(), op.outputs.end(),
                                 [&](TensorId output) { return read_backward_.contains(storage(output)); });
                if (split.empty() || split.back().collective || split.back().weights_only != weights_only)
                    split.push_back({{}, false, weights_only});
                split.back().ops.push_back(id);
            }
        }
        part.backward = std::move(split);
    }

    void measure(Part& part) {
        std::set<std::uint64_t> made, seen;
        std::map<std::uint64_t, double> bytes;
        const auto each = [&](const std::vector<Segment>& segments, auto action) {
            for (const Segment& segment : segments)
                for (const OpId id : segment.ops) action(trace_.ops[id]);
        };
        each(part.forward, [&](const Op& op) {
            for (const TensorId id : op.outputs) {
                made.insert(storage(id));
                double& size = bytes[storage(id)];
                size = std::max(size, static_cast<double>(trace_.tensor(id).bytes()));
            }
            for (const TensorId id : op.inputs) {
                const Tensor& tensor = trace_.tensor(id);
                if (is_weight(id)) continue;
                double& size = bytes[storage(id)];
                size = std::max(size, static_cast<double>(tensor.bytes()));
            }
        });
        std::set<std::uint64_t> counted;
        each(part.backward, [&](const Op& op) {
            for (const TensorId id : op.inputs) {
                const auto found = bytes.find(storage(id));
                if (found == bytes.end() || !counted.insert(storage(id)).second) continue;
                part.kept_bytes += found->second;
            }
            double size = 0;
            for (const TensorId id : op.outputs) size += static_cast<double>(trace_.tensor(id).bytes());
            part.workspace_bytes = std::max(part.workspace_bytes, 2 * size);
        });
        // Results that later parts read.
        std::set<std::uint64_t> later;
        for (auto next = parts_.upper_bound(part.number); next != parts_.end(); ++next) {
            each(next->second.forward, [&](const Op& op) {
                for (const TensorId id : op.inputs)
                    if (made.contains(storage(id)) && later.insert(storage(id)).second)
                        part.result_bytes += bytes.at(storage(id));
            });
            break;  // the next part's operands: what a pipeline hands on
        }
    }

    std::string key_of(const Part& part) const {
        std::string key;
        const auto add = [&](const std::vector<Segment>& segments, const char* what) {
            key += what;
            for (const Segment& segment : segments)
                for (const OpId id : segment.ops) key += content_of(trace_, trace_.ops[id]) + "\n";
        };
        add(part.forward, "forward\n");
        add(part.backward, "backward\n");
        return key;
    }

    /// Copies of weights that parts other than their owner's read.
    void find_shared() {
        std::map<std::uint64_t, std::pair<std::size_t, double>> owner;
        for (std::size_t i = 0; i < step_.parts.size(); ++i) {
            for (const TensorId id : step_.parts[i].parameters)
                owner[storage(id)] = {i, static_cast<double>(trace_.tensor(id).elements())};
            for (const OpId id : step_.parts[i].update) {
                const Op& op = trace_.ops[id];
                if (copies_weights(op) && op.kind == OpKind::copy)
                    owner[storage(op.outputs[0])] = {
                        i, static_cast<double>(trace_.tensor(op.inputs[0]).elements())};
            }
        }
        for (std::size_t i = 0; i < step_.parts.size(); ++i) {
            std::set<std::uint64_t> counted;
            for (const Segment& segment : step_.parts[i].forward) {
                for (const OpId op : segment.ops) {
                    for (const TensorId id : trace_.ops[op].inputs) {
                        const auto found = owner.find(storage(id));
                        if (found == owner.end() || found->second.first == i) continue;
                        if (counted.insert(storage(id)).second)
                            step_.shared_parameters[i] += found->second.second;
                    }
                }
            }
        }
    }

    const Trace& trace_;
    bool mixes_experts_ = false;
    std::map<std::int64_t, Part> parts_;
    std::map<std::int64_t, std::size_t> index_;
    std::set<std::uint64_t> read_backward_, weight_copies_;
    PartedStep step_;
};

}  // namespace

std::string content_of(const Trace& trace, const Op& op) {
    std::string text = trace::name_of(op.kind);
    for (const auto& [key, value] : op.attributes) {
        // Random streams, and where in a table of scales a tensor's own lies, differ by place and change no
        // time.
        if (key == keys::any.part || key == keys::random.stream || key == keys::dropout.offset ||
            key == keys::dropout.seed)
            continue;
        if (key.size() > 7 && key.compare(key.size() - 7, 7, "_offset") == 0) continue;
        text += fmt::format(" {}={}", key, text_of(value));
    }
    // Element by element, only their number counts.
    const auto shape_of = [&](TensorId id) -> const trace::Shape& { return trace.tensor(id).shape; };
    const auto as_first = [&](TensorId id) { return shape_of(id) == shape_of(op.outputs[0]); };
    const bool flat = op.kind == OpKind::elementwise && !op.has_strides("input0") &&
                      std::all_of(op.inputs.begin(), op.inputs.end(), as_first) &&
                      std::all_of(op.outputs.begin(), op.outputs.end(), as_first);
    const auto add = [&](const char* what, const std::vector<TensorId>& ids) {
        text += what;
        for (const TensorId id : ids) {
            const Tensor& tensor = trace.tensor(id);
            if (flat) {
                text += fmt::format("{}[{}]", trace::name_of(tensor.type), tensor.elements());
                continue;
            }
            text += fmt::format("{}[{}]", trace::name_of(tensor.type), fmt::join(tensor.shape, ","));
        }
    };
    add(" <- ", op.inputs);
    add(" -> ", op.outputs);
    return text;
}

PartedStep part_step(const Trace& trace) {
    return Splitter(trace).run();
}

std::vector<StageRange> share_parts(const PartedStep& step, std::size_t stages) {
    std::map<std::string, std::size_t> count;
    for (const Part& part : step.parts) ++count[part.key];
    std::size_t most = 0;
    std::string block;
    for (const auto& [key, number] : count)
        if (number > most) {
            most = number;
            block = key;
        }
    if (stages > 1 && most < stages)
        throw Error(fmt::format("{} blocks do not make {} stages", most, stages), {"--pipeline", 0, ""},
                    "choose fewer stages");
    std::vector<StageRange> ranges;
    std::size_t place = 0;
    for (std::size_t stage = 0; stage < stages; ++stage) {
        const std::size_t blocks = most / stages + (stage < most % stages ? 1 : 0);
        StageRange range{place, place};
        if (stage + 1 == stages) {
            range.last = step.parts.size();
        } else {
            for (std::size_t taken = 0; taken < blocks; ++range.last)
                if (step.parts[range.last].key == block) ++taken;
        }
        place = range.last;
        ranges.push_back(range);
    }
    return ranges;
}

}  // namespace heddle::parallel
