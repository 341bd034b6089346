#include "workloads/importers/import_recording.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "isa/common/error.h"
#include "workloads/importers/inferred_ops.h"
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
        } catch (const Error& error) {
            return error.what();
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
            add_unknown(one, scope != nullptr && !reason_.empty() ? reason_ : one.reason);
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
            std::string reason;
            try {
                add_operation(builder_, launch, *call);
                return true;
            } catch (const NotUnderstood& missing) {
                reason = missing.reason;
            } catch (const Error& error) {
                reason = error.what();
            }
            if (builder_.ops() != before) {
                for (const Open& one : open)
                    if (!builder_.has_op(*one.kernel))
                        add_unknown(one, "a part of " + call->full_name + ": " + reason);
                return true;
            }
            if (reason_.empty()) reason_ = reason;
        }
        return false;
    }

    void add_unknown(const Open& one, const std::string& reason) {
        const Launch launch{recording_, *one.kernel, parse_kernel_name(one.kernel->full_name), {}};
        if (infer_op(builder_, launch)) return;
        const std::string family = family_of(one.kernel->full_name);
        builder_.add_unknown(launch, family.empty() ? reason : family + ": " + reason);
    }

    const Recording& recording_;
    Builder& builder_;
    const Call* scope_ = nullptr;  ///< the call whose kernels wait
    std::vector<Open> open_;
    std::string reason_;
};

/// Recordings without kernels: every call that works on the device becomes an op, is explained by the ops of
/// what it calls, or is listed as not understood.
class CallImport {
  public:
    CallImport(const Recording& recording, Builder& builder) : recording_(recording), builder_(builder) {}

    void run() {
        // Calls come before what they call; the stack holds those that are still to be looked at, the next on
        // top.
        std::vector<Visit> pending;
        const auto push_children = [&](const auto& children) {
            for (auto child = children.rbegin(); child != children.rend(); ++child)
                pending.push_back({*child, 0, false, {}});
        };
        std::vector<std::size_t> roots;
        for (const Call& call : recording_.calls())
            if (!call.parent) roots.push_back(call.position);
        push_children(roots);
        std::vector<bool> seen(recording_.calls().size());
        while (!pending.empty()) {
            const Visit visit = std::move(pending.back());
            pending.pop_back();
            const Call& call = recording_.call(visit.position);
            if (visit.after) {
                leave(call, visit);
                continue;
            }
            if (seen[visit.position]) continue;
            seen[visit.position] = true;
            std::string reason;
            if (on_device(call) && is_operation(call.name) && !is_frame(call.name) &&
                understood(call, reason))
                continue;
            pending.push_back({visit.position, builder_.ops(), true, std::move(reason)});
            push_children(recording_.children(call));
        }
    }

  private:
    struct Visit {
        std::size_t position;
        std::size_t ops_before;
        bool after;          ///< what it calls has been looked at
        std::string reason;  ///< why the call itself was not understood, where it was tried
    };

    static bool any_tensor(const Call& call, bool on_device_alone) {
        const auto counts = [=](const RecordedTensor& tensor) { return tensor.on_gpu() || !on_device_alone; };
        const auto holds = [&](const std::vector<Argument>& arguments) {
            return std::any_of(arguments.begin(), arguments.end(), [&](const Argument& argument) {
                return (argument.tensor && counts(*argument.tensor)) ||
                       std::any_of(argument.tensors.begin(), argument.tensors.end(), counts);
            });
        };
        return holds(call.inputs) || holds(call.outputs);
    }
    static bool on_device(const Call& call) { return any_tensor(call, true); }

    /// Adds the ops of a call. What it is not understood of is an op, too.
    bool understood(const Call& call, std::string& reason) {
        const std::size_t before = builder_.ops();
        try {
            add_operation(builder_, {recording_, call, {}, {}}, call);
            return true;
        } catch (const NotUnderstood& missing) {
            reason = missing.reason;
        } catch (const Error& error) {
            reason = error.what();
        }
        if (builder_.ops() == before) return false;
        builder_.add_unknown({recording_, call, {}, {}}, "a part of it: " + reason);
        return true;
    }

    void leave(const Call& call, const Visit& visit) {
        if (!may_work(call)) return;
        const bool known = is_operation(call.name);
        std::string reason = known ? visit.reason : "no rule for " + call.full_name;
        if (builder_.ops() != visit.ops_before) {
            if (is_frame(call.name) || explains(call, visit.ops_before)) return;
        } else if (known ? is_frame(call.name) && understood(call, reason) : is_view(call)) {
            return;
        }
        if (reason.empty()) reason = "no operands of " + call.full_name + " were recorded";
        builder_.add_unknown({recording_, call, {}, {}}, reason);
    }

    /// "aten::add": a library, and an op of it. Functions of C++ ("autograd::engine::evaluate_function") and
    /// stretches of time that somebody named are none.
    static bool is_of_library(const std::string& name) {
        const std::size_t colons = name.find("::");
        const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
        return colons != std::string::npos && colons > 0 &&
               name.find("::", colons + 2) == std::string::npos &&
               std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colons), is_word) &&
               name.compare(0, colons, "profiler") != 0;
    }

    /// Whether the call may do work on the device itself, besides what it calls.
    static bool may_work(const Call& call) {
        if (call.is_annotation || !is_of_library(call.full_name) || does_nothing(call.name)) return false;
        // A call without tensors may still make one, unless the recording says what it made.
        return on_device(call) || (!call.has_results && !any_tensor(call, false));
    }

    /// Whether the ops of what the call has called do its work: ops that compute fill memory before, and copy
    /// operands.
    bool explains(const Call& call, std::size_t ops_before) const {
        if (is_operation(call.name) && only_moves(call.name)) return true;
        for (std::size_t op = ops_before; op < builder_.ops(); ++op) {
            const Op& made = builder_.op(static_cast<trace::OpId>(op));
            const bool moves = made.kind == OpKind::fill || made.kind == OpKind::copy ||
                               (made.kind == OpKind::unknown && only_moves(plain_name(made.name)));
            if (!moves) return true;
        }
        return false;
    }

    /// A call that no rule knows, and that has called nothing that works: its result is its operand's memory,
    /// or it is put together of views.
    bool is_view(const Call& call) const {
        if (call.full_name.ends_with("_")) return false;
        if (const RecordedTensor* result = call.output_tensor(0)) {
            const RecordedTensor* source = call.gpu_tensor(0);
            if (source != nullptr && call.has_results) return source->storage == result->storage;
        }
        return calls_views(call, 0);
    }

    bool calls_views(const Call& call, int depth) const {
        const auto children = recording_.children(call);
        return depth < kDeepest && !children.empty() &&
               std::all_of(children.begin(), children.end(), [&](std::size_t position) {
                   const Call& child = recording_.call(position);
                   return does_nothing(child.name) ? !allocates(child.name) : calls_views(child, depth + 1);
               });
    }
    static constexpr int kDeepest = 64;

    const Recording& recording_;
    Builder& builder_;
};

/// Whether a recording says anything of what calls work on.
bool has_tensors(const Recording& recording) {
    const auto holds = [](const std::vector<Argument>& arguments) {
        return std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) {
            return argument.tensor || !argument.tensors.empty();
        });
    };
    return std::any_of(recording.calls().begin(), recording.calls().end(),
                       [&](const Call& call) { return holds(call.inputs) || holds(call.outputs); });
}

}  // namespace

trace::Trace import_recording(Recording recording, const std::string& name) {
    Builder builder(recording);
    if (recording.has_kernels()) {
        KernelImport(recording, builder).run();
    } else if (has_tensors(recording)) {
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
