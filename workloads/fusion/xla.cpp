#include "workloads/fusion/xla.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "workloads/expression/builder.h"
#include "workloads/expression/expression.h"
#include "workloads/fusion/fuse.h"
#include "workloads/fusion/layout.h"
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
using trace::Trace;

/// A copy of a weight in 16 bits is read at 2 bytes an element and costs 6 to make; the weight itself at 4.
constexpr std::size_t kMostReaders = 3;
/// Bytes of a row of a head that are a whole register's lanes in 16 bits.
constexpr std::int64_t kLaneBytes = 256;
/// Numbers that the optimizer keeps for the whole step, such as Adam's corrections.
constexpr std::int64_t kFewElements = 64;

bool is_plain_copy(const Trace& trace, const Op& op) {
    return op.kind == OpKind::copy && op.attributes.empty() && op.kernel_name.empty() &&
           trace.tensor(op.inputs.at(0)).shape == trace.tensor(op.outputs.at(0)).shape;
}

std::optional<Expression> elementwise_of(const Trace& trace, const Op& op) {
    if (!op.kernel_name.empty()) return std::nullopt;
    if (is_plain_copy(trace, op)) return expression::parse("y0 = x0");
    if (op.kind != OpKind::elementwise) return std::nullopt;
    for (const auto& [name, value] : op.attributes)
        if (name != keys::elementwise.expression && name != keys::elementwise.scalars &&
            name != keys::any.turns)
            return std::nullopt;
    return expression::parse(op.get(keys::elementwise.expression));
}

class Rewriter {
  public:
    Rewriter(const Trace& trace, const XlaOptions& options) : trace_(trace), options_(options) {
        gone_.resize(trace_.ops.size(), false);
        instead_.resize(trace_.ops.size());
        for (OpId i = 0; i < instead_.size(); ++i) instead_[i] = i;
    }

    Trace run(XlaCount& count) {
        hoist_small_updates();
        index();
        for (OpId i = 0; i < trace_.ops.size(); ++i) count.casts += read_through(i);
        index();
        for (OpId i = 0; i < trace_.ops.size(); ++i) count.layouts += lay_out(i);
        index();
        for (OpId i = 0; i < trace_.ops.size(); ++i) count.casts += cast_result(i);
        // From one product to the next, until nothing follows any more.
        for (OpId i = 0; i < trace_.ops.size(); ++i) {
            while (!gone_[i] && trace_.ops[i].kind == OpKind::matmul && extend(i)) ++count.epilogues;
        }
        return compact();
    }

  private:
    std::uint64_t storage(TensorId id) const {
        const std::uint64_t shared = trace_.tensor(id).storage;
        return shared != 0 ? shared : (std::uint64_t{1} << 40) + id;
    }

    /// Who reads and writes which storage, in order.
    void index() {
        readers_.clear();
        writers_.clear();
        for (OpId i = 0; i < trace_.ops.size(); ++i) {
            if (!gone_[i]) note(i);
        }
    }
    void note(OpId i) {
        for (const TensorId id : trace_.ops[i].inputs) readers_[storage(id)].insert(i);
        for (const TensorId id : trace_.ops[i].outputs) writers_[storage(id)].insert(i);
    }
    void forget(OpId i) {
        for (const TensorId id : trace_.ops[i].inputs) readers_[storage(id)].erase(i);
        for (const TensorId id : trace_.ops[i].outputs) writers_[storage(id)].erase(i);
    }
    static bool any_between(const std::set<OpId>& ops, OpId first, OpId last) {
        const auto found = ops.upper_bound(first);
        return found != ops.end() && *found < last;
    }

    /// Adam's corrections and the like: what depends on nothing that the step makes comes first.
    void hoist_small_updates() {
        std::set<std::uint64_t> read, written;
        std::vector<OpId> order, rest;
        for (OpId i = 0; i < trace_.ops.size(); ++i) {
            const Op& op = trace_.ops[i];
            const bool small = op.phase == trace::Phase::optimizer && op.kind == OpKind::elementwise &&
                               op.dependencies.empty() && !op.outputs.empty() &&
                               trace_.tensor(op.outputs[0]).elements() <= kFewElements;
            const bool free = small &&
                              std::none_of(op.inputs.begin(), op.inputs.end(),
                                           [&](TensorId id) { return written.contains(storage(id)); }) &&
                              std::none_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
                                  return written.contains(storage(id)) || read.contains(storage(id));
                              });
            (free ? order : rest).push_back(i);
            for (const TensorId id : op.inputs) read.insert(storage(id));
            for (const TensorId id : op.outputs) written.insert(storage(id));
        }
        order.insert(order.end(), rest.begin(), rest.end());
        std::vector<OpId> place(order.size());
        for (OpId i = 0; i < order.size(); ++i) place[order[i]] = i;
        std::vector<Op> ops;
        for (const OpId i : order) {
            ops.push_back(std::move(trace_.ops[i]));
            for (OpId& before : ops.back().dependencies) before = place[before];
        }
        trace_.ops = std::move(ops);
    }

    void remove(OpId i, OpId instead) {
        forget(i);
        gone_[i] = true;
        instead_[i] = instead;
    }
    /// `op` waits for what `gone` waited for.
    void inherit(OpId op, OpId gone) {
        auto& list = trace_.ops[op].dependencies;
        for (const OpId before : trace_.ops[gone].dependencies)
            if (before < op) list.push_back(before);
    }

    /// A cast of a parameter vanishes when all who read it may read the parameter.
    bool read_through(OpId i) {
        const Op& op = trace_.ops[i];
        if (gone_[i] || !is_plain_copy(trace_, op)) return false;
        const TensorId from = op.inputs[0], to = op.outputs[0];
        const Tensor& source = trace_.tensor(from);
        if (!is_fused_float(source.type) || !is_fused_float(trace_.tensor(to).type) ||
            source.role != trace::TensorRole::parameter)
            return false;
        const std::set<OpId> readers = readers_[storage(to)];
        if (readers.empty() || readers.size() > kMostReaders || writers_[storage(to)].size() != 1)
            return false;
        const OpId last = *readers.rbegin();
        if (any_between(writers_[storage(from)], i, last + 1)) return false;
        for (const OpId reader : readers) {
            const Op& user = trace_.ops[reader];
            const bool fits = user.kind == OpKind::matmul || user.kind == OpKind::layer_norm ||
                              user.kind == OpKind::layer_norm_grad || user.kind == OpKind::rms_norm ||
                              user.kind == OpKind::rms_norm_grad;
            if (!fits || !user.kernel_name.empty()) return false;
            for (const TensorId id : user.inputs)
                if (storage(id) == storage(to) && id != to) return false;
        }
        for (const OpId reader : readers) {
            forget(reader);
            auto& inputs = trace_.ops[reader].inputs;
            std::replace(inputs.begin(), inputs.end(), to, from);
            std::erase(trace_.ops[reader].dependencies, i);
            inherit(reader, i);
            note(reader);
        }
        remove(i, i);
        return true;
    }

    /// A transpose of rows and heads beside an attention becomes strides of its operand.
    bool lay_out(OpId i) {
        const Op op = trace_.ops[i];
        if (gone_[i] || op.kind != OpKind::copy || !op.kernel_name.empty() || op.attributes.size() != 1 ||
            op.get(keys::copy.permutation) != std::vector<std::int64_t>{0, 2, 1, 3})
            return false;
        const TensorId from = op.inputs[0], to = op.outputs[0];
        const Tensor& source = trace_.tensor(from);
        if (source.type != trace_.tensor(to).type || storage(from) == storage(to) ||
            source.shape[3] * trace::bytes_of(source.type) < kLaneBytes || writers_[storage(to)].size() != 1)
            return false;
        const std::set<OpId> readers = readers_[storage(to)], before = readers_[storage(from)];
        if (readers.empty()) return false;
        if (std::all_of(readers.begin(), readers.end(), [&](OpId r) { return takes_strides(r, to); }) &&
            !any_between(writers_[storage(from)], i, *readers.rbegin() + 1)) {
            share(to, from);
            for (const OpId reader : readers) {
                set_strides(reader, to);
                inherit(reader, i);
            }
            return finish_layout(i, i);
        }
        const std::set<OpId> makers = writers_[storage(from)];
        const bool rows_by_heads = makers.size() == 1 && takes_strides(*makers.begin(), from) &&
                                   std::all_of(before.begin(), before.end(),
                                               [&](OpId r) { return r == i || takes_strides(r, from); }) &&
                                   *readers.begin() > i;
        if (!rows_by_heads) return false;
        share(from, to);
        set_strides(*makers.begin(), from);
        for (const OpId reader : before)
            if (reader != i) set_strides(reader, from);
        return finish_layout(i, *makers.begin());
    }

    bool finish_layout(OpId i, OpId instead) {
        gone_[i] = true;
        instead_[i] = instead;
        index();
        return true;
    }

    /// An attention that has the tensor as an operand, whole, and no other view of its memory.
    bool takes_strides(OpId i, TensorId id) const {
        const Op& op = trace_.ops[i];
        if (!trace::is_attention(op.kind) || !op.kernel_name.empty()) return false;
        const auto plain = [&](const char* side, const std::vector<TensorId>& ids) {
            for (std::size_t k = 0; k < ids.size(); ++k) {
                const std::string name = side + std::to_string(k);
                if (storage(ids[k]) != storage(id)) continue;
                if (ids[k] != id || op.has_strides(name) || op.has_offset(name)) return false;
            }
            return true;
        };
        return plain("input", op.inputs) && plain("output", op.outputs);
    }

    /// `view` lies in the memory of `other`.
    void share(TensorId view, TensorId other) {
        if (trace_.tensors[other].storage == 0) {
            std::uint64_t last = 0;
            for (const Tensor& tensor : trace_.tensors) last = std::max(last, tensor.storage);
            trace_.tensors[other].storage = last + 1;
        }
        trace_.tensors[view].storage = trace_.tensors[other].storage;
    }

    /// [batch, heads, rows, width] in memory that holds [batch, rows, heads, width].
    void set_strides(OpId i, TensorId id) {
        Op& op = trace_.ops[i];
        const std::vector<std::int64_t>& shape = trace_.tensor(id).shape;
        const std::vector<std::int64_t> strides{shape[2] * shape[1] * shape[3], shape[3], shape[1] * shape[3],
                                                1};
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            if (op.inputs[k] == id) op.set_strides("input" + std::to_string(k), strides);
        for (std::size_t k = 0; k < op.outputs.size(); ++k)
            if (op.outputs[k] == id) op.set_strides("output" + std::to_string(k), strides);
    }

    /// A cast that alone reads what another op makes: that op makes the cast number.
    bool cast_result(OpId i) {
        const Op& op = trace_.ops[i];
        if (gone_[i] || !is_plain_copy(trace_, op)) return false;
        const TensorId from = op.inputs[0], to = op.outputs[0];
        if (!is_fused_float(trace_.tensor(from).type) || !is_fused_float(trace_.tensor(to).type) ||
            readers_[storage(from)].size() != 1 || writers_[storage(from)].size() != 1 ||
            writers_[storage(to)].size() != 1 || storage(from) == storage(to))
            return false;
        const OpId maker = *writers_[storage(from)].begin();
        const OpKind kind = trace_.ops[maker].kind;
        const bool fits = kind == OpKind::softmax_cross_entropy_grad || kind == OpKind::softmax_grad ||
                          kind == OpKind::reduce;
        auto& outputs = trace_.ops[maker].outputs;
        if (!fits || maker > i || !trace_.ops[maker].kernel_name.empty() ||
            std::count(outputs.begin(), outputs.end(), from) != 1 ||
            any_between(readers_[storage(to)], maker, i))
            return false;
        forget(maker);
        std::replace(outputs.begin(), outputs.end(), from, to);
        note(maker);
        remove(i, maker);
        return true;
    }

    /// Takes one elementwise op into a product's epilogue.
    bool extend(OpId m) {
        const Op& product = trace_.ops[m];
        if (!product.kernel_name.empty() || product.outputs.empty()) return false;
        for (const TensorId y : product.outputs) {
            for (const OpId e : std::set<OpId>(readers_[storage(y)])) {
                if (e > m && may_follow(m, e, y)) {
                    absorb(m, e);
                    return true;
                }
            }
        }
        return false;
    }

    bool may_follow(OpId m, OpId e, TensorId y) const {
        const Op &product = trace_.ops[m], &op = trace_.ops[e];
        const std::optional<Expression> expression = elementwise_of(trace_, op);
        if (!expression || op.stream != product.stream || !trace::are_in_one_turn(op, product)) return false;
        if (op.phase == trace::Phase::optimizer && !options_.updates) return false;
        // What the backward pass computes again was thrown away to save memory.
        if (op.phase == trace::Phase::backward && product.phase == trace::Phase::forward) return false;
        const std::vector<std::int64_t>& shape = trace_.tensor(y).shape;
        const bool by_place =
            std::any_of(expression->nodes.begin(), expression->nodes.end(), [](const expression::Node& node) {
                return node.op == Operator::random || node.op == Operator::philox ||
                       node.op == Operator::position;
            });
        if (by_place) return false;
        const auto own = [&](TensorId id) {
            return std::find(product.outputs.begin(), product.outputs.end(), id) != product.outputs.end();
        };
        for (const TensorId id : op.inputs) {
            if (!is_fused_float(trace_.tensor(id).type)) return false;
            // What the op reads must be there, as it will be, when the product runs.
            const std::uint64_t place = storage(id);
            if (!own(id) && writes(product, place)) return false;
            if (changed_between(place, m, e)) return false;
        }
        for (const TensorId id : op.outputs) {
            const Tensor& tensor = trace_.tensor(id);
            const std::uint64_t place = storage(id);
            if (!is_fused_float(tensor.type) || tensor.shape != shape || changed_between(place, m, e) ||
                writes(product, place))
                return false;
            const auto read = readers_.find(place);
            if (read != readers_.end() && any_between(read->second, m, e)) return false;
            // In place only element by element, and never what the product itself contracts.
            for (std::size_t k = 0; k < product.inputs.size(); ++k) {
                if (storage(product.inputs[k]) == place &&
                    (k < 2 || trace_.tensor(product.inputs[k]).shape != shape))
                    return false;
            }
            for (const TensorId input : op.inputs)
                if (storage(input) == place && trace_.tensor(input).shape != shape) return false;
        }
        for (const OpId before : op.dependencies)
            if (!is_done_before(before, m)) return false;
        const std::size_t operands =
            product.inputs.size() + op.inputs.size() + product.outputs.size() + op.outputs.size();
        const std::size_t nodes = expression::operations_per_element(*expression) +
                                  expression::operations_per_element(epilogue_of(product));
        return operands <= options_.operands && nodes <= options_.nodes;
    }

    bool writes(const Op& op, std::uint64_t place) const {
        return std::any_of(op.outputs.begin(), op.outputs.end(),
                           [&](TensorId id) { return storage(id) == place; });
    }
    bool changed_between(std::uint64_t place, OpId first, OpId last) const {
        const auto written = writers_.find(place);
        return written != writers_.end() && any_between(written->second, first, last);
    }
    /// The op, or whatever does its work now, comes no later than `m`.
    bool is_done_before(OpId before, OpId m) const {
        if (!gone_[before]) return before <= m;
        if (instead_[before] != before) return is_done_before(instead_[before], m);
        const auto& list = trace_.ops[before].dependencies;
        return std::all_of(list.begin(), list.end(), [&](OpId b) { return is_done_before(b, m); });
    }

    static Expression epilogue_of(const Op& product) {
        return expression::parse(
            product.get(keys::matmul.epilogue, product.inputs.size() > 2 ? "y0 = x0 + x1" : "y0 = x0"));
    }

    void absorb(OpId m, OpId e) {
        forget(m);
        Op& product = trace_.ops[m];
        const Op& op = trace_.ops[e];
        const Expression first = epilogue_of(product), second = *elementwise_of(trace_, op);
        expression::Builder builder;
        const std::vector<int> nodes = builder.copy(first);
        std::map<TensorId, int> made;
        for (std::size_t k = 0; k < product.outputs.size(); ++k)
            made[product.outputs[k]] = nodes[static_cast<std::size_t>(first.outputs[k])];
        std::vector<double> scalars = product.get(keys::matmul.scalars);
        const std::vector<double> own = op.get(keys::elementwise.scalars);
        std::vector<int> later;
        for (const expression::Node& node : second.nodes) {
            const auto operand = [&](int n) { return n < 0 ? -1 : later[static_cast<std::size_t>(n)]; };
            if (node.op == Operator::input) {
                const TensorId id = op.inputs.at(node.index);
                if (made.contains(id)) {
                    later.push_back(made.at(id));
                    continue;
                }
                const auto begin = product.inputs.begin() + 2;
                const auto known = std::find(begin, product.inputs.end(), id);
                later.push_back(builder.input(static_cast<unsigned>(known - begin) + 1));
                if (known == product.inputs.end()) product.inputs.push_back(id);
            } else if (node.op == Operator::scalar) {
                later.push_back(builder.scalar(static_cast<unsigned>(scalars.size())));
                scalars.push_back(own.at(node.index));
            } else if (node.op == Operator::constant) {
                later.push_back(builder.constant(node.value));
            } else {
                later.push_back(builder.apply(node.op, operand(node.a), operand(node.b), operand(node.c)));
            }
        }
        std::vector<TensorId> results;
        std::vector<int> outputs;
        for (const TensorId id : product.outputs) {
            const std::set<OpId>& readers = readers_[storage(id)];
            if (readers.size() == 1 && *readers.begin() == e) continue;  // nobody else wants it
            results.push_back(id);
            outputs.push_back(made.at(id));
        }
        for (std::size_t k = 0; k < op.outputs.size(); ++k) {
            results.push_back(op.outputs[k]);
            outputs.push_back(later[static_cast<std::size_t>(second.outputs[k])]);
        }
        product.outputs = std::move(results);
        product.set(keys::matmul.epilogue, expression::to_text(builder.finish(outputs)));
        if (!scalars.empty()) product.set(keys::matmul.scalars, scalars);
        product.name = product.name.substr(0, product.name.find(" ... ")) + " ... " + op.name;
        for (const OpId before : op.dependencies)
            if (before != m) product.dependencies.push_back(before);
        note(m);
        remove(e, m);
    }

    /// Replaces an op that is gone by who does its work, or by those whom it waited for.
    void resolve(OpId before, std::set<OpId>& into) const {
        if (!gone_[before]) {
            into.insert(before);
        } else if (instead_[before] != before) {
            resolve(instead_[before], into);
        } else {
            for (const OpId earlier : trace_.ops[before].dependencies) resolve(earlier, into);
        }
    }

    Trace compact() {
        Trace result;
        result.name = trace_.name;
        result.tensors = trace_.tensors;
        std::vector<OpId> place(trace_.ops.size());
        for (OpId i = 0; i < trace_.ops.size(); ++i) {
            if (gone_[i]) continue;
            Op op = trace_.ops[i];
            std::set<OpId> before;
            for (const OpId one : op.dependencies) resolve(one, before);
            op.dependencies.clear();
            for (const OpId one : before)
                if (one < i) op.dependencies.push_back(place[one]);
            place[i] = result.add(std::move(op));
        }
        result.check();
        return result;
    }

    Trace trace_;
    XlaOptions options_;
    std::vector<bool> gone_;
    std::vector<OpId> instead_;  ///< by op: who does its work now
    std::map<std::uint64_t, std::set<OpId>> readers_, writers_;
};

}  // namespace

Trace fuse_as_xla(const Trace& trace, const XlaOptions& options, XlaCount* count) {
    XlaCount counted;
    const Trace laid_out = lay_out_images(without_repetitions(trace), &counted.images);
    const Trace products = Rewriter(laid_out, options).run(counted);
    FusionCount chains;
    Trace result = fuse(products, options, &chains);
    counted.before = trace.ops.size();
    counted.after = result.ops.size();
    counted.dropped = chains.dropped;
    if (count != nullptr) *count = counted;
    return result;
}

}  // namespace heddle::fusion
