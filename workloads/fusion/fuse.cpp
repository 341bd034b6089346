#include "workloads/fusion/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "workloads/expression/builder.h"
#include "workloads/expression/expression.h"
#include "workloads/fusion/repetition.h"
#include "workloads/trace/turns.h"

namespace heddle::fusion {
namespace {

using expression::Expression;
using expression::Operator;
using trace::ElementType;
using trace::Op;
using trace::OpId;
using trace::OpKind;
using trace::Tensor;
using trace::TensorId;

/// What an elementwise op computes: its expression, or what stands for one. Nothing for other ops.
std::optional<Expression> expression_of(const trace::Trace& trace, const Op& op) {
    if (op.kind == OpKind::elementwise) return expression::parse(op.get(keys::elementwise.expression));
    if (op.kind == OpKind::copy && !op.has(keys::copy.permutation) &&
        trace.tensor(op.inputs.at(0)).shape == trace.tensor(op.outputs.at(0)).shape)
        return expression::parse("y0 = x0");
    return std::nullopt;
}

/// Attributes that only say how a recorded kernel did it, or what the expression is, may go; others (strides,
/// offsets) keep an op as it is. Those that say in which turn it is are the same for all of a group.
bool has_plain_attributes(const Op& op) {
    return std::all_of(op.attributes.begin(), op.attributes.end(), [](const auto& attribute) {
        return attribute.first == keys::elementwise.expression ||
               attribute.first == keys::elementwise.scalars || attribute.first == keys::any.turns;
    });
}

/// Ops that become one, in order.
struct Group {
    std::vector<OpId> members;
    std::size_t nodes = 0;
};

class Fuser {
  public:
    Fuser(const trace::Trace& trace, const FusionLimits& limits)
        : trace_(trace), limits_(limits), group_of_(trace.ops.size(), kNone) {
        std::map<std::uint64_t, int> holders;
        for (const Tensor& tensor : trace.tensors)
            if (tensor.storage != 0) ++holders[tensor.storage];
        alone_.resize(trace.tensors.size());
        for (TensorId id = 0; id < trace.tensors.size(); ++id) {
            const std::uint64_t storage = trace.tensor(id).storage;
            alone_[id] = storage == 0 || holders[storage] == 1;
        }
        users_.resize(trace.tensors.size());
        writers_.resize(trace.tensors.size());
        dependents_.resize(trace.ops.size());
        for (OpId i = 0; i < trace.ops.size(); ++i) {
            for (const OpId before : trace.ops[i].dependencies) dependents_[before].push_back(i);
            for (const TensorId id : trace.ops[i].inputs) users_[id].push_back(i);
            for (const TensorId id : trace.ops[i].outputs) {
                writers_[id].push_back(i);
                if (trace.tensor(id).storage != 0) overwritten_[trace.tensor(id).storage].push_back(i);
            }
        }
    }

    trace::Trace run(FusionCount* count) {
        for (OpId i = 0; i < trace_.ops.size(); ++i) consider(i);
        return write(count);
    }

  private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    bool fusable(OpId i) const {
        const Op& op = trace_.ops[i];
        if (!op.kernel_name.empty() || op.outputs.empty() || !has_plain_attributes(op)) return false;
        const std::optional<Expression> e = expression_of(trace_, op);
        if (!e) return false;
        const Tensor& first = trace_.tensor(op.outputs[0]);
        return std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
            const Tensor& tensor = trace_.tensor(id);
            return is_fused_float(tensor.type) && tensor.shape == first.shape && alone_[id] &&
                   writers_[id].size() == 1;
        });
    }

    /// A reduction that reads one whole tensor and nothing else.
    bool takes_prologue(OpId i) const {
        const Op& op = trace_.ops[i];
        if (op.kind != OpKind::reduce || !op.kernel_name.empty() || op.inputs.size() != 1 ||
            op.outputs.size() != 1)
            return false;
        const std::string reduction = op.get(keys::reduce.reduction);
        if (reduction == "norm2" || op.get(keys::reduce.argument) != 0 || op.has(keys::reduce.expression))
            return false;
        return std::all_of(op.attributes.begin(), op.attributes.end(), [](const auto& attribute) {
            return attribute.first == keys::reduce.reduction || attribute.first == keys::reduce.axes ||
                   attribute.first == keys::any.turns;
        });
    }

    /// Joins the group of one of its producers when that is allowed, else begins a group of its own.
    void consider(OpId i) {
        const bool reduction = takes_prologue(i);
        if (!reduction && !fusable(i)) return;
        for (const TensorId id : trace_.ops[i].inputs) {
            if (writers_[id].empty() || writers_[id].back() >= i) continue;
            const std::size_t g = group_of_[writers_[id].back()];
            if (g == kNone || !may_join(i, g, reduction)) continue;
            join(i, g);
            return;
        }
        if (reduction) return;
        groups_.push_back({});
        join(i, groups_.size() - 1);
    }

    void join(OpId i, std::size_t g) {
        group_of_[i] = g;
        groups_[g].members.push_back(i);
        groups_[g].nodes += nodes_of(i);
    }

    std::size_t nodes_of(OpId i) const {
        const std::optional<Expression> e = expression_of(trace_, trace_.ops[i]);
        return e ? expression::operations_per_element(*e) : 0;
    }

    bool ends_in_reduction(const Group& group) const {
        return trace_.ops[group.members.back()].kind == OpKind::reduce;
    }

    bool may_join(OpId i, std::size_t g, bool reduction) const {
        const Group& group = groups_[g];
        const Op &op = trace_.ops[i], &first = trace_.ops[group.members.front()];
        if (ends_in_reduction(group) || op.phase != first.phase || op.stream != first.stream ||
            !trace::are_in_one_turn(op, first))
            return false;
        const std::vector<std::int64_t>& shape = trace_.tensor(first.outputs[0]).shape;
        if (reduction ? trace_.tensor(op.inputs[0]).shape != shape
                      : trace_.tensor(op.outputs[0]).shape != shape)
            return false;
        if (group.nodes + nodes_of(i) > limits_.nodes) return false;
        Group larger = group;
        larger.members.push_back(i);
        if (operands_of(larger).size() > limits_.operands) return false;
        // Everything happens where the last member stands: nobody may need a result before, or overwrite an
        // operand.
        const auto member = [&](OpId op_id) {
            return std::find(larger.members.begin(), larger.members.end(), op_id) != larger.members.end();
        };
        for (const OpId m : larger.members) {
            for (const OpId dependent : dependents_[m])
                if (dependent < i && !member(dependent)) return false;
            for (const TensorId id : trace_.ops[m].outputs) {
                // What nobody reads is a result of the step, for which a reduction has no place.
                if (reduction && m != i && users_[id].empty()) return false;
                for (const OpId user : users_[id]) {
                    if (!member(user) && (user < i || (reduction && m != i))) return false;
                }
            }
            for (const TensorId id : trace_.ops[m].inputs) {
                const auto written = overwritten_.find(trace_.tensor(id).storage);
                if (trace_.tensor(id).storage == 0 || written == overwritten_.end()) continue;
                for (const OpId writer : written->second)
                    if (writer > m && writer < i && !member(writer)) return false;
            }
        }
        return true;
    }

    /// Tensors that a group reads from outside, then those that somebody else needs of it.
    std::vector<TensorId> operands_of(const Group& group) const {
        std::vector<TensorId> operands = inputs_of(group);
        const std::vector<TensorId> results = results_of(group);
        operands.insert(operands.end(), results.begin(), results.end());
        return operands;
    }
    std::vector<TensorId> inputs_of(const Group& group) const {
        std::set<TensorId> made;
        std::vector<TensorId> inputs;
        for (const OpId m : group.members) {
            for (const TensorId id : trace_.ops[m].inputs) {
                const bool known =
                    made.contains(id) || std::find(inputs.begin(), inputs.end(), id) != inputs.end();
                if (!known) inputs.push_back(id);
            }
            made.insert(trace_.ops[m].outputs.begin(), trace_.ops[m].outputs.end());
        }
        return inputs;
    }
    std::vector<TensorId> results_of(const Group& group) const {
        std::vector<TensorId> results;
        for (const OpId m : group.members) {
            for (const TensorId id : trace_.ops[m].outputs) {
                const bool outside = std::any_of(users_[id].begin(), users_[id].end(), [&](OpId user) {
                    return std::find(group.members.begin(), group.members.end(), user) == group.members.end();
                });
                // What nobody reads is a result of the step.
                if (outside || users_[id].empty()) results.push_back(id);
            }
        }
        return results;
    }

    /// The expression of all members together over `inputs`, and its scalars.
    Expression join_expressions(const Group& group, const std::vector<TensorId>& inputs,
                                const std::vector<TensorId>& results, std::vector<double>& scalars) const {
        expression::Builder builder;
        std::map<TensorId, int> place;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            place[inputs[i]] = builder.input(static_cast<unsigned>(i));
        int reduced = -1;
        for (const OpId m : group.members) {
            const Op& op = trace_.ops[m];
            if (op.kind == OpKind::reduce) {
                reduced = place.at(op.inputs[0]);
                continue;
            }
            const Expression e = *expression_of(trace_, op);
            const std::vector<double> own = op.get(keys::reduce.scalars);
            std::vector<int> nodes;
            for (const expression::Node& node : e.nodes) {
                const auto operand = [&](int n) { return n < 0 ? -1 : nodes[static_cast<std::size_t>(n)]; };
                switch (node.op) {
                    case Operator::input:
                        nodes.push_back(place.at(op.inputs.at(node.index)));
                        break;
                    case Operator::scalar:
                        nodes.push_back(builder.scalar(static_cast<unsigned>(scalars.size())));
                        scalars.push_back(own.at(node.index));
                        break;
                    case Operator::constant:
                        nodes.push_back(builder.constant(node.value));
                        break;
                    case Operator::random:
                        nodes.push_back(builder.random(node.index));
                        break;
                    case Operator::philox:
                        nodes.push_back(builder.philox(node.index));
                        break;
                    case Operator::position:
                        nodes.push_back(builder.position());
                        break;
                    default:
                        nodes.push_back(
                            builder.apply(node.op, operand(node.a), operand(node.b), operand(node.c)));
                }
            }
            for (std::size_t i = 0; i < op.outputs.size(); ++i)
                place[op.outputs[i]] = nodes[static_cast<std::size_t>(e.outputs[i])];
        }
        std::vector<int> outputs;
        if (reduced >= 0) {
            outputs.push_back(reduced);
        } else {
            for (const TensorId id : results) outputs.push_back(place.at(id));
        }
        return builder.finish(outputs);
    }

    Op fused(const Group& group) const {
        const Op &first = trace_.ops[group.members.front()], &last = trace_.ops[group.members.back()];
        std::vector<TensorId> inputs = inputs_of(group);
        const std::vector<TensorId> results = results_of(group);
        const bool reduction = last.kind == OpKind::reduce;
        // A reduction runs over the shape of its first operand: one that has it whole.
        if (reduction) {
            const auto& shape = trace_.tensor(first.outputs[0]).shape;
            const auto whole = std::find_if(inputs.begin(), inputs.end(),
                                            [&](TensorId id) { return trace_.tensor(id).shape == shape; });
            std::rotate(inputs.begin(), whole, whole + 1);
        }
        std::vector<double> scalars;
        const Expression e = join_expressions(group, inputs, results, scalars);
        Op op = last;
        op.name = first.name + " ... " + last.name;
        op.inputs = inputs;
        op.outputs = results;
        op.set(keys::reduce.expression, expression::to_text(e));
        op.attributes.erase(keys::reduce.scalars);
        if (!scalars.empty()) op.set(keys::reduce.scalars, scalars);
        if (!reduction) op.kind = OpKind::elementwise;
        op.dependencies.clear();
        op.host_us.reset();
        for (const OpId m : group.members) {
            const Op& member = trace_.ops[m];
            op.dependencies.insert(op.dependencies.end(), member.dependencies.begin(),
                                   member.dependencies.end());
            if (member.host_us) op.host_us = op.host_us.value_or(0) + *member.host_us;
        }
        return op;
    }

    /// Reductions need an operand of the whole shape, and scalars in a prologue have no place in a launch.
    bool worth_it(const Group& group) const {
        if (group.members.size() < 2) return false;
        if (!ends_in_reduction(group)) return true;
        const auto& shape = trace_.tensor(trace_.ops[group.members.front()].outputs[0]).shape;
        const std::vector<TensorId> inputs = inputs_of(group);
        const bool whole = std::any_of(inputs.begin(), inputs.end(),
                                       [&](TensorId id) { return trace_.tensor(id).shape == shape; });
        const bool scalars = std::any_of(group.members.begin(), group.members.end(), [&](OpId m) {
            return !trace_.ops[m].get(keys::elementwise.scalars).empty();
        });
        return whole && !scalars;
    }

    trace::Trace write(FusionCount* count) {
        trace::Trace result;
        result.name = trace_.name;
        result.tensors = trace_.tensors;
        std::vector<OpId> place(trace_.ops.size());
        for (OpId i = 0; i < trace_.ops.size(); ++i) {
            const std::size_t g = group_of_[i];
            const bool in_group = g != kNone && worth_it(groups_[g]);
            if (in_group && groups_[g].members.back() != i) continue;
            Op op = in_group ? fused(groups_[g]) : trace_.ops[i];
            std::set<OpId> dependencies;
            for (const OpId before : op.dependencies) {
                const std::size_t other = group_of_[before];
                const bool moved = other != kNone && worth_it(groups_[other]);
                if (in_group && other == g) continue;
                dependencies.insert(place[moved ? groups_[other].members.back() : before]);
            }
            op.dependencies.assign(dependencies.begin(), dependencies.end());
            place[i] = result.add(std::move(op));
            if (in_group && count != nullptr) {
                for (const OpId m : groups_[g].members) count->dropped += trace_.ops[m].outputs.size();
                count->dropped -= results_of(groups_[g]).size();
            }
        }
        if (count != nullptr) {
            count->before = trace_.ops.size();
            count->after = result.ops.size();
        }
        result.check();
        return result;
    }

    const trace::Trace& trace_;
    FusionLimits limits_;
    std::vector<bool> alone_;                                 ///< by tensor: nobody shares its storage
    std::vector<std::vector<OpId>> users_, writers_;          ///< of each tensor
    std::vector<std::vector<OpId>> dependents_;               ///< of each op
    std::map<std::uint64_t, std::vector<OpId>> overwritten_;  ///< by storage: ops that write it
    std::vector<std::size_t> group_of_;
    std::vector<Group> groups_;
};

}  // namespace

bool is_fused_float(ElementType type) {
    return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

trace::Trace fuse(const trace::Trace& trace, const FusionLimits& limits, FusionCount* count) {
    const trace::Trace once = without_repetitions(trace);
    trace::Trace result = Fuser(once, limits).run(count);
    if (count != nullptr) count->before = trace.ops.size();
    return result;
}

}  // namespace heddle::fusion
