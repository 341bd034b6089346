#include "workloads/fusion/repetition.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "workloads/expression/expression.h"
#include "workloads/trace/turns.h"

namespace heddle::fusion {
namespace {

using trace::Op;
using trace::OpId;
using trace::Tensor;
using trace::TensorId;

/// Random numbers are drawn anew by each op.
bool draws_numbers(const Op& op) {
    const expression::Expression e = expression::parse(op.get(keys::elementwise.expression));
    return std::any_of(e.nodes.begin(), e.nodes.end(), [](const expression::Node& node) {
        return node.op == expression::Operator::random || node.op == expression::Operator::philox;
    });
}

class Repetitions {
  public:
    explicit Repetitions(const trace::Trace& trace) : trace_(trace) {
        for (OpId i = 0; i < trace.ops.size(); ++i) {
            for (const TensorId id : trace.ops[i].inputs) {
                Memory& memory = memory_[storage(id)];
                memory.is_read_first = memory.is_read_first || memory.writers == 0;
                memory.last_read = i;
            }
            for (const TensorId id : trace.ops[i].outputs) ++memory_[storage(id)].writers;
        }
        for (const Tensor& tensor : trace.tensors) last_storage_ = std::max(last_storage_, tensor.storage);
        for (TensorId id = 0; id < trace.tensors.size(); ++id) {
            instead_.push_back(id);
            if (trace.tensor(id).storage != 0) views_[trace.tensor(id).storage].push_back(id);
        }
    }

    trace::Trace write(std::size_t* dropped) {
        trace::Trace result;
        result.name = trace_.name;
        result.tensors = trace_.tensors;
        std::vector<OpId> place(trace_.ops.size());
        for (OpId i = 0; i < trace_.ops.size(); ++i) {
            Op op = trace_.ops[i];
            for (TensorId& id : op.inputs) id = instead_[id];
            if (const OpId* const first = done_before(i, op)) {
                for (std::size_t k = 0; k < op.outputs.size(); ++k)
                    stand_for(trace_.ops[*first].outputs[k], op.outputs[k], result);
                place[i] = place[*first];
                continue;
            }
            for (const TensorId id : op.outputs) ++memory_[storage(id)].version;
            std::set<OpId> before;
            for (const OpId one : op.dependencies) before.insert(place[one]);
            op.dependencies.assign(before.begin(), before.end());
            place[i] = result.add(std::move(op));
        }
        if (dropped != nullptr) *dropped = trace_.ops.size() - result.ops.size();
        if (result.ops.size() != trace_.ops.size()) result.check();
        return result;
    }

  private:
    struct Memory {
        std::size_t writers = 0;     ///< ops
        std::size_t version = 0;     ///< ops that have written it so far
        bool is_read_first = false;  ///< comes from outside
        OpId last_read = 0;
    };

    std::uint64_t storage(TensorId id) const {
        const std::uint64_t shared = trace_.tensor(id).storage;
        return shared != 0 ? shared : (std::uint64_t{1} << 40) + id;
    }

    /// The op that has computed what this one would; where there is none, this one is remembered.
    const OpId* done_before(OpId i, const Op& op) {
        if (op.kind != trace::OpKind::elementwise || !op.kernel_name.empty() || !makes_its_own(op) ||
            draws_numbers(op))
            return nullptr;
        std::vector<std::pair<TensorId, std::size_t>> operands;
        for (const TensorId id : op.inputs) operands.emplace_back(id, memory_[storage(id)].version);
        const auto [known, fresh] =
            known_.try_emplace({op.get(keys::elementwise.expression), operands, op.phase, op.stream}, i);
        if (fresh) return nullptr;
        const Op& first = trace_.ops[known->second];
        if (same_results(first, op) && first.attributes == op.attributes && is_held(first, i) &&
            trace::are_in_one_turn(first, op))
            return &known->second;
        known->second = i;
        return nullptr;
    }

    /// Results in memory that nobody else writes, and that somebody reads.
    bool makes_its_own(const Op& op) const {
        return std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
            const Memory& memory = memory_.at(storage(id));
            return memory.writers == 1 && !memory.is_read_first && memory.last_read != 0;
        });
    }
    bool same_results(const Op& a, const Op& b) const {
        return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                          [&](TensorId x, TensorId y) {
                              const Tensor &one = trace_.tensor(x), &other = trace_.tensor(y);
                              return one.type == other.type && one.shape == other.shape &&
                                     one.role == other.role;
                          });
    }
    bool is_held(const Op& op, OpId at) const {
        return std::all_of(op.outputs.begin(), op.outputs.end(),
                           [&](TensorId id) { return memory_.at(storage(id)).last_read >= at; });
    }

    /// From now on whoever reads `gone`, or a view of it, reads `kept`.
    void stand_for(TensorId kept, TensorId gone, trace::Trace& result) {
        instead_[gone] = kept;
        OpId& last = memory_[storage(kept)].last_read;
        last = std::max(last, memory_.at(storage(gone)).last_read);
        const auto views = views_.find(trace_.tensor(gone).storage);
        if (views == views_.end()) return;
        if (result.tensors[kept].storage == 0) result.tensors[kept].storage = ++last_storage_;
        for (const TensorId view : views->second) result.tensors[view].storage = result.tensors[kept].storage;
    }

    using Computation = std::tuple<std::string, std::vector<std::pair<TensorId, std::size_t>>, trace::Phase,
                                   std::uint32_t>;  ///< expression, operands and their versions
    const trace::Trace& trace_;
    std::uint64_t last_storage_ = 0;
    std::map<std::uint64_t, Memory> memory_;                ///< by storage
    std::map<std::uint64_t, std::vector<TensorId>> views_;  ///< by storage: all tensors in it
    std::vector<TensorId> instead_;                         ///< by tensor: what holds the same numbers
    std::map<Computation, OpId> known_;
};

}  // namespace

trace::Trace without_repetitions(const trace::Trace& trace, std::size_t* dropped) {
    return Repetitions(trace).write(dropped);
}

}  // namespace heddle::fusion
