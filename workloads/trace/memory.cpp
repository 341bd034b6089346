#include "workloads/trace/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace heddle::trace {
namespace {

std::uint64_t reach(const Trace& trace, const Op& op, const std::string& operand, TensorId id) {
    const Tensor& tensor = trace.tensor(id);
    const std::vector<std::int64_t> strides = op.strides(operand);
    std::int64_t elements = tensor.elements();
    if (!strides.empty() && elements > 0) {
        elements = 1;
        for (std::size_t axis = 0; axis < strides.size() && axis < tensor.shape.size(); ++axis)
            elements += (tensor.shape[axis] - 1) * strides[axis];
    }
    return static_cast<std::uint64_t>(op.offset(operand) + elements) * bytes_of(tensor.type);
}

class Profiler {
  public:
    Profiler(const Trace& trace, std::uint64_t granularity)
        : trace_(trace), granularity_(granularity), gradients_(gradients()), roles_(roles()) {}

    MemoryProfile run() {
        for (op_ = 0; op_ < trace_.ops.size(); ++op_) {
            const Op& op = trace_.ops[op_];
            const bool copies_weights = reads_only_weights(op);
            for (std::size_t i = 0; i < op.inputs.size(); ++i)
                use(op, "input" + std::to_string(i), op.inputs[i], false, false);
            for (std::size_t i = 0; i < op.outputs.size(); ++i)
                use(op, "output" + std::to_string(i), op.outputs[i], true, copies_weights);
        }
        finish();
        return std::move(profile_);
    }

  private:
    std::uint64_t storage_of(TensorId id) const {
        const std::uint64_t storage = trace_.tensor(id).storage;
        return storage != 0 ? storage : std::uint64_t{1} << 63 | id;
    }

    /// Storages that optimizers read beside what they overwrite. Where a compiler made the update the epilogue
    /// of the product whose result the gradient is, the gradient is never written: what that product
    /// multiplies is an activation and a gradient of one.
    std::set<std::uint64_t> gradients() const {
        std::set<std::uint64_t> found;
        for (const Op& op : trace_.ops) {
            const bool updates = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
                return trace_.tensor(id).role == TensorRole::parameter;
            });
            if (!updates) continue;
            for (std::size_t i = op.kind == OpKind::matmul ? 2 : 0; i < op.inputs.size(); ++i) {
                const TensorRole role = trace_.tensor(op.inputs[i]).role;
                if (role == TensorRole::gradient || role == TensorRole::activation)
                    found.insert(storage_of(op.inputs[i]));
            }
        }
        return found;
    }

    /// What storages from outside of the step hold, whichever view of them the step uses first.
    std::map<std::uint64_t, TensorRole> roles() const {
        std::map<std::uint64_t, TensorRole> found;
        for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
            switch (const TensorRole role = trace_.tensor(id).role) {
                case TensorRole::parameter:
                case TensorRole::optimizer_state:
                case TensorRole::input:
                case TensorRole::label:
                    found.try_emplace(storage_of(id), role);
                    break;
                default:
                    break;
            }
        }
        return found;
    }
    TensorRole role_of(TensorId id) const {
        const auto known = roles_.find(storage_of(id));
        return known == roles_.end() ? trace_.tensor(id).role : known->second;
    }

    MemoryUse use_of(TensorId id, bool made_here) const {
        if (gradients_.contains(storage_of(id))) return MemoryUse::gradients;
        switch (role_of(id)) {
            case TensorRole::parameter:
                return MemoryUse::weights;
            case TensorRole::optimizer_state:
                return MemoryUse::optimizer_state;
            case TensorRole::input:
            case TensorRole::label:
                return MemoryUse::inputs;
            default:
                return made_here ? MemoryUse::activations : MemoryUse::other;
        }
    }

    bool reads_only_weights(const Op& op) const {
        if (op.phase != Phase::forward || op.inputs.empty()) return false;
        return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
            const auto known = place_.find(storage_of(id));
            return known == place_.end() ? role_of(id) == TensorRole::parameter
                                         : profile_.allocations[known->second].use == MemoryUse::weights;
        });
    }

    void use(const Op& op, const std::string& operand, TensorId id, bool made, bool of_weights) {
        const std::uint64_t bytes = reach(trace_, op, operand, id);
        const auto [found, fresh] = place_.try_emplace(storage_of(id), profile_.allocations.size());
        if (fresh) {
            const MemoryUse use = made && of_weights ? MemoryUse::weights : use_of(id, made);
            profile_.allocations.push_back({found->first, trace_.tensor(id).name, use, bytes, op_, op_});
            outside_.push_back(!made || use == MemoryUse::optimizer_state ||
                               role_of(id) == TensorRole::parameter);
        }
        Allocation& allocation = profile_.allocations[found->second];
        if (bytes > allocation.bytes) {
            allocation.bytes = bytes;
            allocation.name = trace_.tensor(id).name;
        }
        allocation.last = op_;
    }

    void finish() {
        const auto ops = static_cast<OpId>(trace_.ops.size());
        profile_.during.resize(ops);
        if (ops == 0) return;
        std::vector<std::array<std::int64_t, kMemoryUses>> change(ops + 1);
        for (std::size_t i = 0; i < profile_.allocations.size(); ++i) {
            Allocation& one = profile_.allocations[i];
            one.bytes = (one.bytes + granularity_ - 1) / granularity_ * granularity_;
            if (outside_[i]) one.first = 0;
            if (outside_[i] || one.use == MemoryUse::gradients) one.last = ops - 1;
            const auto use = static_cast<std::size_t>(one.use);
            change[one.first][use] += static_cast<std::int64_t>(one.bytes);
            change[one.last + 1][use] -= static_cast<std::int64_t>(one.bytes);
        }
        std::array<std::int64_t, kMemoryUses> held{};
        std::uint64_t most = 0;
        for (OpId op = 0; op < ops; ++op) {
            for (std::size_t use = 0; use < kMemoryUses; ++use) {
                held[use] += change[op][use];
                profile_.during[op][use] = static_cast<std::uint64_t>(held[use]);
            }
            if (const std::uint64_t bytes = total(profile_.during[op]); bytes > most) {
                most = bytes;
                profile_.peak = op;
            }
        }
    }

    const Trace& trace_;
    std::uint64_t granularity_;
    std::set<std::uint64_t> gradients_;
    std::map<std::uint64_t, TensorRole> roles_;
    OpId op_ = 0;
    std::map<std::uint64_t, std::size_t> place_;  ///< allocation of a storage
    std::vector<bool> outside_;                   ///< by allocation
    MemoryProfile profile_;
};

}  // namespace

std::string name_of(MemoryUse use) {
    switch (use) {
        case MemoryUse::weights:
            return "weights";
        case MemoryUse::gradients:
            return "gradients";
        case MemoryUse::optimizer_state:
            return "optimizer state";
        case MemoryUse::inputs:
            return "inputs";
        case MemoryUse::activations:
            return "activations";
        case MemoryUse::other:
            break;
    }
    return "other";
}

std::uint64_t total(const MemoryByUse& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

MemoryProfile profile_memory(const Trace& trace, std::uint64_t granularity) {
    return Profiler(trace, granularity).run();
}

}  // namespace heddle::trace
