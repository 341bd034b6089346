#include "workloads/trace/structure.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "workloads/trace/trace.h"
#include "workloads/trace/turns.h"

namespace heddle::trace {
namespace {

bool marks_a_layer(OpKind kind) {
    return is_product(kind) || kind == OpKind::lstm_cell || kind == OpKind::lstm_cell_grad;
}

/// Ops of the same kind on the same shapes have the same number.
class Signatures {
  public:
    explicit Signatures(const Trace& trace) : trace_(trace) {}

    std::size_t of(const Op& op) {
        std::string text = name_of(op.kind);
        for (const auto* operands : {&op.inputs, &op.outputs}) {
            text += '|';
            for (const TensorId id : *operands) {
                for (const std::int64_t extent : trace_.tensor(id).shape)
                    text += std::to_string(extent) + ',';
                text += name_of(trace_.tensor(id).type) + ';';
            }
        }
        return numbers_.try_emplace(std::move(text), numbers_.size()).first->second;
    }

  private:
    const Trace& trace_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

struct Repetition {
    std::size_t first = 0, period = 0, count = 0;
    std::size_t covered() const { return period * count; }
};

/// For each period, the longest run of ops that equal those one period later.
Repetition longest_repetition(const std::vector<std::size_t>& signatures, const std::vector<bool>& heavy) {
    const std::size_t n = signatures.size();
    // A bound on the work keeps recordings of a million ops to seconds.
    constexpr std::size_t most_comparisons = 200'000'000;
    const std::size_t longest = std::min(n / 2, most_comparisons / std::max<std::size_t>(n, 1));
    Repetition best;
    for (std::size_t period = 1; period <= longest; ++period) {
        for (std::size_t i = 0, run = 0; i + period <= n; ++i) {
            const bool same = i + period < n && signatures[i] == signatures[i + period];
            if (same) {
                ++run;
                continue;
            }
            const Repetition found{i - run, period, run / period + 1};
            run = 0;
            // A longer period counts when it explains clearly more than its parts do.
            if (found.count < 2 || found.covered() * 20 <= best.covered() * 21) continue;
            const auto from = heavy.begin() + static_cast<std::ptrdiff_t>(found.first);
            if (std::find(from, from + static_cast<std::ptrdiff_t>(period), true) ==
                from + static_cast<std::ptrdiff_t>(period))
                continue;
            best = found;
        }
    }
    return best;
}

struct Lifetime {
    std::uint64_t bytes = 0;
    std::size_t first = 0, last = 0;
    bool used = false, resident = false;
    TensorRole role = TensorRole::activation;
};

/// Bytes of a storage up to the end of an operand.
std::uint64_t reach(const Trace& trace, const Op& op, TensorId id, const std::string& operand) {
    const Tensor& tensor = trace.tensor(id);
    std::int64_t span = tensor.elements();
    const std::vector<std::int64_t> strides = op.strides(operand);
    if (strides.size() == tensor.shape.size() && !strides.empty() && span > 0) {
        span = 1;
        for (std::size_t axis = 0; axis < strides.size(); ++axis)
            span += strides[axis] * (tensor.shape[axis] - 1);
    }
    const std::int64_t elements = std::max<std::int64_t>(op.offset(operand) + span, 0);
    return static_cast<std::uint64_t>(elements) * bytes_of(tensor.type);
}

std::vector<Lifetime> lifetimes_of(const Trace& trace) {
    std::unordered_map<std::uint64_t, std::size_t> of_storage;
    std::vector<Lifetime> lifetimes;
    const auto use = [&](const Op& op, std::size_t at, TensorId id, const std::string& operand, bool writes) {
        const Tensor& tensor = trace.tensor(id);
        // Tensors without a storage have one of their own.
        const std::uint64_t key = tensor.storage != 0 ? tensor.storage : ~std::uint64_t{id};
        const auto [found, fresh] = of_storage.try_emplace(key, lifetimes.size());
        if (fresh) lifetimes.emplace_back();
        Lifetime& life = lifetimes[found->second];
        if (!life.used) {
            life.first = at;
            life.resident = !writes;
            life.role = tensor.role;
            life.used = true;
        }
        if (tensor.role == TensorRole::parameter || tensor.role == TensorRole::optimizer_state) {
            life.resident = true;
            life.role = tensor.role;
        }
        life.last = at;
        life.bytes = std::max(life.bytes, reach(trace, op, id, operand));
    };
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const Op& op = trace.ops[i];
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            use(op, i, op.inputs[k], "input" + std::to_string(k), false);
        for (std::size_t k = 0; k < op.outputs.size(); ++k)
            use(op, i, op.outputs[k], "output" + std::to_string(k), true);
    }
    return lifetimes;
}

}  // namespace

std::vector<RepeatedLayers> find_layers(const Trace& trace) {
    Signatures signatures(trace);
    std::map<Phase, std::vector<OpId>> phases;
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        phases[trace.ops[i].phase].push_back(static_cast<OpId>(i));
    std::vector<RepeatedLayers> result;
    for (const auto& [phase, ops] : phases) {
        std::vector<std::size_t> numbers;
        std::vector<bool> heavy;
        for (const OpId id : ops) {
            numbers.push_back(signatures.of(trace.ops[id]));
            heavy.push_back(marks_a_layer(trace.ops[id].kind));
        }
        // Whole steps come again and again too; layers are then looked for within the first of them.
        std::size_t offset = 0;
        for (int depth = 0; depth < 2; ++depth) {
            const Repetition found = longest_repetition(numbers, heavy);
            if (found.count < 2) break;
            RepeatedLayers layers{phase, offset + found.first, found.period, found.count, {}, 0, 0, 0};
            for (std::size_t i = 0; i < found.covered(); ++i) {
                const OpId id = ops[layers.first + i];
                if (i < found.period) layers.ops.push_back(id);
                const double turns = turns_of(trace.ops[id]);
                layers.flops += turns * floating_point_operations(trace, trace.ops[id]);
                layers.bytes += turns * bytes_moved(trace, trace.ops[id]);
                layers.measured_us += turns * trace.ops[id].measured_us.value_or(0);
            }
            result.push_back(std::move(layers));
            const auto from = static_cast<std::ptrdiff_t>(found.first),
                       to = static_cast<std::ptrdiff_t>(found.first + found.period);
            offset += found.first;
            numbers = {numbers.begin() + from, numbers.begin() + to};
            heavy = {heavy.begin() + from, heavy.begin() + to};
        }
    }
    return result;
}

PeakMemory peak_memory(const Trace& trace) {
    const std::vector<Lifetime> lifetimes = lifetimes_of(trace);
    PeakMemory peak;
    std::vector<std::int64_t> change(trace.ops.size() + 1);
    for (const Lifetime& life : lifetimes) {
        if (life.resident) {
            peak.resident += life.bytes;
            continue;
        }
        change[life.first] += static_cast<std::int64_t>(life.bytes);
        change[life.last + 1] -= static_cast<std::int64_t>(life.bytes);
    }
    std::int64_t alive = static_cast<std::int64_t>(peak.resident);
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        alive += change[i];
        if (static_cast<std::uint64_t>(alive) <= peak.bytes) continue;
        peak.bytes = static_cast<std::uint64_t>(alive);
        peak.at = static_cast<OpId>(i);
    }
    for (const Lifetime& life : lifetimes) {
        if (life.resident || (life.first <= peak.at && peak.at <= life.last))
            peak.by_role.at(static_cast<std::size_t>(life.role)) += life.bytes;
    }
    return peak;
}

}  // namespace heddle::trace
