#include "workloads/importers/import_recording.h"

#include <algorithm>
#include <array>

#include "isa/common/error.h"
#include "workloads/importers/operations.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

using Rule = bool (*)(Builder&, const Launch&);

/// In order: the first that knows the kernel takes it.
constexpr std::array<Rule, 11> rules{collective_rule,    convolution_rule, matmul_rule,       attention_rule,
                                     normalisation_rule, triton_rule,      multi_tensor_rule, reduce_rule,
                                     lookup_rule,        copy_rule,        elementwise_rule};

/// Recordings with kernels: every kernel becomes an op or part of one.
class KernelImport {
  public:
    KernelImport(const Recording& recording, Builder& builder) : recording_(recording), builder_(builder) {}

    void run() {
        for (const std::size_t position : recording_.kernels()) {
            const Call& kernel = recording_.call(position);
            const std::vector<const Call*> around = recording_.enclosing(kernel);
            if (scope_ != nullptr && std::find(around.begin(), around.end(), scope_) == around.end())
                settle();
            const Launch launch{recording_, kernel, parse_kernel_name(kernel.full_name), {}};
            if (const auto reason = by_name(launch)) {
                leave_open(kernel, *reason, around);
            } else {
                join_open(around);
            }
        }
        settle();
    }

  private:
    /// Nothing when a rule took the kernel, otherwise why none did.
    std::optional<std::string> by_name(const Launch& launch) {
        try {
            for (const Rule rule : rules) {
                if (rule(builder_, launch)) return std::nullopt;
            }
            return "no rule for this kernel";
        } catch (const NotUnderstood& missing) {
            return missing.reason;
        }
    }

    /// Kernels that no rule knows wait until their call has ended: they are steps of an op that another of
    /// its kernels carries out, or together they are the op.
    void leave_open(const Call& kernel, const std::string& reason, const std::vector<const Call*>& around) {
        if (scope_ == nullptr) {
            for (const Call* call : around) {
                if (scope_ == nullptr && is_operation(call->name)) scope_ = call;
            }
        }
        open_.push_back({&kernel, reason});
        if (scope_ == nullptr) settle();
    }

    /// The op just added, when it is of the call whose kernels wait, takes them.
    void join_open(const std::vector<const Call*>& around) {
        if (scope_ == nullptr) return;
        for (const Call* call : around) {
            const auto op = builder_.last_op_of(*call);
            if (op && *op + 1 == builder_.ops()) {
                for (const Open& open : open_) builder_.join_kernel(*op, *open.kernel);
                open_.clear();
                return;
            }
            if (call == scope_) return;
        }
    }

    void settle() {
        const Call* scope = scope_;
        scope_ = nullptr;
        if (open_.empty()) return;
        const std::vector<Open> open = std::move(open_);
        open_.clear();
        if (scope != nullptr && (as_step(*scope, open) || as_op(*scope, open))) return;
        for (const Open& one : open)
            builder_.add_unknown({recording_, *one.kernel, parse_kernel_name(one.kernel->full_name), {}},
                                 scope != nullptr && !reason_.empty() ? reason_ : one.reason);
        reason_.clear();
    }

    struct Open {
        const Call* kernel;
        std::string reason;
    };

    /// What comes after the product of a convolution belongs to it.
    bool as_step(const Call& scope, const std::vector<Open>& open) {
        const auto op = builder_.last_op_of(scope);
        if (!op) return false;
        for (const Open& one : open) builder_.join_kernel(*op, *one.kernel);
        return true;
    }

    /// The call, or one around it that means the same (_convolution, convolution, conv2d).
    bool as_op(const Call& scope, const std::vector<Open>& open) {
        const Call& first = *open.front().kernel;
        std::vector<const Call*> others;
        for (std::size_t i = 1; i < open.size(); ++i) others.push_back(open[i].kernel);
        const Launch launch{recording_, first, parse_kernel_name(first.full_name), others};
        reason_.clear();
        for (const Call* call = &scope; call != nullptr && is_operation(call->name);
             call = recording_.parent(*call)) {
            const std::size_t before = builder_.ops();
            try {
                add_operation(builder_, launch, *call);
                return true;
            } catch (const NotUnderstood& missing) {
                if (builder_.ops() != before) return true;
                if (reason_.empty()) reason_ = missing.reason;
            }
        }
        return false;
    }

    const Recording& recording_;
    Builder& builder_;
    const Call* scope_ = nullptr;  ///< the call whose kernels wait
    std::vector<Open> open_;
    std::string reason_;
};

/// Recordings without kernels: calls that work on the device become ops.
class CallImport {
  public:
    CallImport(const Recording& recording, Builder& builder) : recording_(recording), builder_(builder) {}

    void run() {
        // Calls come before what they call; the stack holds those that are still to be looked at, the next on
        // top.
        std::vector<Visit> pending;
        const auto push_children = [&](const auto& children, std::size_t frame) {
            for (auto child = children.rbegin(); child != children.rend(); ++child)
                pending.push_back({*child, frame, false});
        };
        std::vector<std::size_t> roots;
        for (const Call& call : recording_.calls())
            if (!call.parent) roots.push_back(call.position);
        push_children(roots, none);
        std::vector<bool> seen(recording_.calls().size());
        while (!pending.empty()) {
            const Visit visit = pending.back();
            pending.pop_back();
            const Call& call = recording_.call(visit.position);
            if (visit.after) {
                leave(call, visit.ops_before);
                continue;
            }
            if (seen[visit.position]) continue;
            seen[visit.position] = true;
            if (on_device(call) && is_operation(call.name) && !is_frame(call.name) && understood(call))
                continue;
            pending.push_back({visit.position, builder_.ops(), true});
            push_children(recording_.children(call), none);
        }
    }

  private:
    static constexpr std::size_t none = 0;
    struct Visit {
        std::size_t position;
        std::size_t ops_before;
        bool after;  ///< what it calls has been looked at
    };

    static bool on_device(const Call& call) {
        const auto holds = [](const std::vector<Argument>& arguments) {
            return std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) {
                return (argument.tensor && argument.tensor->on_gpu()) ||
                       std::any_of(argument.tensors.begin(), argument.tensors.end(),
                                   [](const RecordedTensor& tensor) { return tensor.on_gpu(); });
            });
        };
        return holds(call.inputs) || holds(call.outputs);
    }

    bool understood(const Call& call) {
        const std::size_t before = builder_.ops();
        try {
            add_operation(builder_, {recording_, call, {}, {}}, call);
            return true;
        } catch (const NotUnderstood& missing) {
            reason_ = missing.reason;
            return builder_.ops() != before;
        }
    }

    /// A call of which nothing inside was an op: perhaps it is one itself.
    void leave(const Call& call, std::size_t ops_before) {
        if (builder_.ops() != ops_before || !on_device(call) || does_nothing(call.name)) return;
        if (is_frame(call.name) && is_operation(call.name) && understood(call)) return;
        const bool of_a_library = call.full_name.find("::") != std::string::npos &&
                                  call.full_name.rfind("torch::autograd", 0) != 0 &&
                                  call.full_name.rfind("autograd::", 0) != 0;
        if (!recording_.children(call).empty() || !of_a_library || !makes_something(call)) return;
        const Launch launch{recording_, call, {}, {}};
        const std::string reason = is_operation(call.name) ? reason_ : "no rule for " + call.full_name;
        builder_.add_unknown(launch, reason);
    }

    /// Results in memory of their own, or a change in place.
    static bool makes_something(const Call& call) {
        const RecordedTensor* result = call.output_tensor(0);
        if (result == nullptr) return call.full_name.ends_with("_");
        if (call.full_name.ends_with("_")) return true;
        return std::none_of(call.inputs.begin(), call.inputs.end(), [&](const Argument& argument) {
            return argument.tensor && argument.tensor->storage == result->storage;
        });
    }

    const Recording& recording_;
    Builder& builder_;
    std::string reason_;
};

}  // namespace

trace::Trace import_recording(Recording recording, const std::string& name) {
    Builder builder(recording);
    if (recording.has_kernels()) {
        KernelImport(recording, builder).run();
    } else {
        recording.place_on_device();
        CallImport(recording, builder).run();
    }
    if (builder.ops() == 0) {
        throw Error("the recording has neither kernels nor ops on tensors", {.file = name},
                    "record shapes, or the CUDA activities of the profiler");
    }
    trace::Trace trace = builder.finish(name);
    trace.check();
    return trace;
}

}  // namespace heddle::importers
