#include "workloads/trace/training.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::trace {

TensorId loss_of(const Trace& trace) {
    std::optional<TensorId> loss;
    for (const Op& op : trace.ops) {
        if (op.phase != Phase::forward || op.outputs.empty()) continue;
        if (trace.tensor(op.outputs[0]).elements() == 1) loss = op.outputs[0];
    }
    if (!loss) {
        throw Error("the workload has no scalar loss to compare", {.key = trace.name},
                    "--numerics works on training steps whose forward pass ends in one number");
    }
    return *loss;
}

std::vector<TensorId> parameters_of(const Trace& trace) {
    std::vector<TensorId> parameters;
    for (TensorId id = 0; id < trace.tensors.size(); ++id) {
        const Tensor& tensor = trace.tensors[id];
        const bool seen = std::any_of(parameters.begin(), parameters.end(), [&](TensorId other) {
            return tensor.storage != 0 && trace.tensors[other].storage == tensor.storage;
        });
        if (tensor.role == TensorRole::parameter && !seen) parameters.push_back(id);
    }
    return parameters;
}

std::optional<TensorId> gradient_of(const Trace& trace, TensorId parameter) {
    const std::uint64_t storage = trace.tensor(parameter).storage;
    for (const Op& op : trace.ops) {
        const bool overwrites = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
            return id == parameter || (storage != 0 && trace.tensor(id).storage == storage);
        });
        if (!overwrites) continue;
        for (const TensorId id : op.inputs) {
            const TensorRole role = trace.tensor(id).role;
            if (role != TensorRole::parameter && role != TensorRole::optimizer_state) return id;
        }
    }
    return std::nullopt;
}

}  // namespace heddle::trace
