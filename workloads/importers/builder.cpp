#include "workloads/importers/builder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "isa/common/error.h"
#include "workloads/importers/inferred_ops.h"
#include "workloads/trace/module.h"

namespace heddle::importers {
namespace {

bool is_backward(const Recording& recording, const Call& kernel) {
    for (const Call* call : recording.enclosing(kernel)) {
        if (call->name.rfind("autograd::engine::evaluate_function", 0) == 0 ||
            call->name.find("Backward") != std::string::npos || call->name.ends_with("_backward") ||
            call->name == "torch::autograd::AccumulateGrad") {
            return true;
        }
    }
    return false;
}

/// The module whose annotation is the nearest around a kernel; empty where none is.
std::string annotated_module(const Recording& recording, const Call& kernel) {
    static constexpr std::string_view prefix = "nn.Module: ";
    for (const Call* call : recording.enclosing(kernel)) {
        const std::string& name = call->full_name.text();
        if (name.starts_with(prefix)) return name.substr(prefix.size());
    }
    return {};
}

bool is_optimizer(const Recording& recording, const Call& kernel) {
    for (const Call* call : recording.enclosing(kernel)) {
        if (call->name.rfind("Optimizer.", 0) == 0) return true;
    }
    return false;
}

}  // namespace

const Call* Launch::enclosing(const std::vector<std::string>& names) const {
    if (!kernel.on_gpu && std::find(names.begin(), names.end(), kernel.name) != names.end()) return &kernel;
    return recording.enclosing(kernel, names);
}

std::optional<double> Launch::measured_us() const {
    if (!kernel.on_gpu) return std::nullopt;
    double sum = kernel.duration_us;
    for (const Call* other : group) sum += other->duration_us;
    return sum;
}

Launch::Turn Launch::turn_in(const Call& scope) const {
    Turn turn;
    const auto made = recording.children(scope);
    std::vector<std::size_t> pending(made.begin(), made.end());
    std::set<std::size_t> seen{scope.position};
    while (!pending.empty()) {
        const Call& call = recording.call(pending.back());
        pending.pop_back();
        if (!seen.insert(call.position).second) continue;
        if (call.on_gpu && parse_kernel_name(call.full_name).function == name.function) {
            ++turn.count;
            if (call.position < kernel.position) ++turn.index;
        }
        const auto inner = recording.children(call);
        pending.insert(pending.end(), inner.begin(), inner.end());
    }
    return turn;
}

std::string number_text(double value) {
    if (std::isinf(value)) return value < 0 ? "(-inf)" : "inf";
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    const std::string text(buffer, end);
    return value < 0 ? "(" + text + ")" : text;
}

void assume(Op& op, const std::string& what) {
    const std::string before = op.get(keys::any.assumed);
    op.set(keys::any.assumed, before.empty() ? what : before + "; " + what);
}

TensorId Builder::tensor(const RecordedTensor& recorded) {
    const Place place{recorded.storage, recorded.offset, recorded.type, recorded.shape};
    const auto [found, fresh] = tensors_.try_emplace(place, static_cast<TensorId>(trace_.tensors.size()));
    if (fresh) {
        trace::Tensor tensor;
        tensor.name = "s" + std::to_string(recorded.storage);
        if (recorded.offset != 0) tensor.name += "+" + std::to_string(recorded.offset);
        tensor.name += " " + name_of(recorded.type) + trace::to_text(recorded.shape);
        tensor.type = recorded.type;
        tensor.shape = recorded.shape;
        tensor.storage = recorded.storage;
        trace_.add(std::move(tensor));
    }
    return found->second;
}

RecordedTensor Builder::invented(ElementType type, Shape shape, std::uint64_t storage) {
    RecordedTensor tensor;
    tensor.storage = storage != 0 ? storage : next_storage_++;
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
    return tensor;
}

RecordedTensor Builder::of_ring(ElementType type, Shape shape, std::size_t age) {
    constexpr std::size_t kPlaces = 4;
    Ring& ring = rings_[{type, trace::element_count(shape)}];
    while (ring.storages.size() < kPlaces) ring.storages.push_back(next_storage_++);
    const std::size_t place = age == 0 ? ring.next++ : ring.next + kPlaces - 1 - (age - 1) % kPlaces;
    return invented(type, std::move(shape), ring.storages[place % kPlaces]);
}

void Builder::operand(Op& op, std::vector<TensorId>& list, const std::string& prefix,
                      const RecordedTensor& recorded) {
    const std::string name = prefix + std::to_string(list.size());
    list.push_back(tensor(recorded));
    if (recorded.offset != 0) op.set_offset(name, recorded.offset);
    if (!recorded.is_contiguous()) op.set_strides(name, recorded.strides);
}

void Builder::input(Op& op, const RecordedTensor& tensor) {
    operand(op, op.inputs, "input", tensor);
}

void Builder::output(Op& op, const RecordedTensor& tensor) {
    operand(op, op.outputs, "output", tensor);
}

void Builder::access(std::vector<trace::OpId>& dependencies, trace::OpId self, TensorId id, const Op& op,
                     const std::string& operand, bool writes) {
    const trace::Tensor& tensor = trace_.tensor(id);
    if (tensor.elements() == 0) return;
    const std::int64_t offset = op.offset(operand);
    const std::vector<std::int64_t> strides = op.strides(operand);
    std::int64_t span = tensor.elements();
    if (!strides.empty()) {
        span = 1;
        for (std::size_t axis = 0; axis < strides.size(); ++axis)
            span += strides[axis] * (tensor.shape[axis] - 1);
    }
    const std::uint64_t bytes = bytes_of(tensor.type);
    const std::uint64_t begin = static_cast<std::uint64_t>(offset) * bytes;
    const std::uint64_t end = begin + static_cast<std::uint64_t>(span) * bytes;
    std::vector<Access>& list = accesses_[tensor.storage];
    std::vector<Access> kept;
    for (const Access& earlier : list) {
        const bool overlap = earlier.begin < end && begin < earlier.end;
        if (overlap && (writes || earlier.writes) && earlier.op != self) dependencies.push_back(earlier.op);
        if (!overlap || !writes || earlier.op == self) {
            kept.push_back(earlier);
            continue;
        }
        // Overwritten: whoever comes next waits for this op, which waits for the earlier one.
        if (earlier.begin < begin) kept.push_back({earlier.begin, begin, earlier.op, earlier.writes});
        if (earlier.end > end) kept.push_back({end, earlier.end, earlier.op, earlier.writes});
    }
    kept.push_back({begin, end, self, writes});
    list = std::move(kept);
}

const std::vector<trace::OpId>& Builder::nearest_kernels(const Call& call) {
    // Kernels reached over recorded dependencies of calls on the host; walked without recursion, chains are
    // long.
    std::vector<std::size_t> order{call.position};
    while (!order.empty()) {
        const Call& current = recording_.call(order.back());
        if (nearest_.contains(current.position)) {
            order.pop_back();
            continue;
        }
        std::set<trace::OpId> found;
        bool waiting = false;
        for (const std::uint64_t id : recording_.data_dependencies(current)) {
            const Call* before = recording_.find(id);
            if (before == nullptr || before->position >= current.position) continue;
            if (before->on_gpu) {
                if (const auto op = op_of_call_.find(before->position); op != op_of_call_.end())
                    found.insert(op->second);
            } else if (const auto known = nearest_.find(before->position); known != nearest_.end()) {
                found.insert(known->second.begin(), known->second.end());
            } else {
                order.push_back(before->position);
                waiting = true;
            }
        }
        if (waiting) continue;
        // A long history says no more than its recent part.
        std::vector<trace::OpId> list(found.begin(), found.end());
        constexpr std::size_t most = 8;
        if (list.size() > most) list.erase(list.begin(), list.end() - most);
        nearest_[current.position] = std::move(list);
        order.pop_back();
    }
    return nearest_[call.position];
}

void Builder::recorded_dependencies(std::vector<trace::OpId>& dependencies, const Call& kernel) {
    for (const std::uint64_t id : recording_.data_dependencies(kernel)) {
        const Call* before = recording_.find(id);
        if (before == nullptr || before->position >= kernel.position) continue;
        if (before->on_gpu) {
            if (const auto op = op_of_call_.find(before->position); op != op_of_call_.end()) {
                dependencies.push_back(op->second);
            }
        } else {
            const auto& list = nearest_kernels(*before);
            dependencies.insert(dependencies.end(), list.begin(), list.end());
        }
    }
}

void Builder::add(Op op, const Launch& launch, const Call* subject) {
    const auto id = static_cast<trace::OpId>(trace_.ops.size());
    if (subject == nullptr) subject = launch.recording.parent(launch.kernel);
    op.name = subject != nullptr ? subject->full_name : launch.name.function;
    op.measured_us = launch.measured_us();
    if (launch.kernel.on_gpu) {
        // The longest kernel of a group gives its name.
        const Call* longest = &launch.kernel;
        for (const Call* other : launch.group)
            if (other->duration_us > longest->duration_us) longest = other;
        op.kernel_name = longest->full_name;
        if (!launch.group.empty()) op.set(keys::any.kernels, launch.group.size() + 1);
        if (launch.kernel.launched_us >= 0) {
            const double since =
                launch.kernel.launched_us - last_launch_us_ - launch.kernel.waited_us - waited_us_;
            if (last_launch_us_ >= 0) op.host_us = std::max(0.0, since);
            last_launch_us_ = launch.kernel.launched_us;
            waited_us_ = 0;
            for (const Call* other : launch.group) waited_us_ += other->waited_us;
        }
        if (launch.kernel.stream >= 0)
            op.stream =
                streams_.try_emplace(launch.kernel.stream, static_cast<std::uint32_t>(streams_.size()))
                    .first->second;
    }
    if (std::string module = annotated_module(launch.recording, launch.kernel); !module.empty())
        op.set(trace::module_key, std::move(module));
    trace_.ops.push_back(op);
    try {
        trace_.check_op(id);
    } catch (const Error& error) {
        trace_.ops.pop_back();
        throw NotUnderstood{error.what()};
    }
    std::vector<trace::OpId> dependencies;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        // Memory that is seen for the first time may be what an earlier op wrote without the recording saying
        // so (master weights behind a fused optimizer).
        const std::uint64_t storage = trace_.tensor(op.inputs[i]).storage;
        if (storage < first_invented && !accesses_.contains(storage)) {
            dependencies.insert(dependencies.end(), wrote_unrecorded_.begin(), wrote_unrecorded_.end());
        }
        access(dependencies, id, op.inputs[i], op, "input" + std::to_string(i), false);
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        access(dependencies, id, op.outputs[i], op, "output" + std::to_string(i), true);
    }
    const bool invented = std::any_of(op.outputs.begin(), op.outputs.end(), [this](TensorId output) {
        return trace_.tensor(output).storage >= first_invented;
    });
    // What was inferred writes to memory of its own.
    if (invented && op.get(keys::any.assumed).rfind(kInferred, 0) != 0) wrote_unrecorded_.push_back(id);
    recorded_dependencies(dependencies, launch.kernel);
    std::sort(dependencies.begin(), dependencies.end());
    dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
    trace_.ops[id].dependencies = std::move(dependencies);
    op_of_call_[launch.kernel.position] = id;
    for (const Call* other : launch.group) op_of_call_[other->position] = id;
    if (subject != nullptr) op_of_subject_[subject->position] = id;
    call_of_op_.push_back(launch.kernel.position);
}

std::optional<trace::OpId> Builder::last_op_of(const Call& subject) const {
    const auto found = op_of_subject_.find(subject.position);
    return found == op_of_subject_.end() ? std::nullopt : std::optional(found->second);
}

void Builder::join_kernel(trace::OpId op, const Call& kernel) {
    Op& joined = trace_.ops[op];
    joined.measured_us = joined.measured_us.value_or(0) + kernel.duration_us;
    joined.set(keys::any.kernels, joined.get(keys::any.kernels) + 1);
    waited_us_ += kernel.waited_us;
    op_of_call_[kernel.position] = op;
}

void Builder::add_unknown(const Launch& launch, const std::string& reason) {
    Op op;
    op.kind = OpKind::unknown;
    op.set(keys::any.reason, reason);
    if (!launch.kernel.on_gpu) {
        // A call without kernels: what it reads and makes says how many bytes move.
        for (std::size_t i = 0; i < launch.kernel.inputs.size(); ++i) {
            if (const RecordedTensor* tensor = launch.kernel.gpu_tensor(i)) input(op, *tensor);
            for (const RecordedTensor& tensor : launch.kernel.inputs[i].tensors) input(op, tensor);
        }
        for (std::size_t i = 0; i < launch.kernel.outputs.size(); ++i)
            if (const RecordedTensor* tensor = launch.kernel.output_tensor(i)) output(op, *tensor);
    }
    // A kernel is told by the call that launched it, a call by itself.
    const Call* subject = launch.kernel.on_gpu ? nullptr : &launch.kernel;
    try {
        add(op, launch, subject);
    } catch (const NotUnderstood&) {
        // Operands that there cannot be: what is left is its name and time.
        Op plain;
        plain.set(keys::any.reason, reason);
        add(std::move(plain), launch, subject);
    }
}

void Builder::remember(const Call& call, const RecordedTensor& tensor, RecordedTensor made) {
    const Place place{tensor.storage, tensor.offset, tensor.type, tensor.shape};
    remembered_.insert_or_assign({call.position, place}, std::move(made));
}

const RecordedTensor* Builder::remembered(const Call& call, const RecordedTensor& tensor) const {
    const Place place{tensor.storage, tensor.offset, tensor.type, tensor.shape};
    const auto found = remembered_.find({call.position, place});
    return found == remembered_.end() ? nullptr : &found->second;
}

void Builder::assign_phases() {
    // Ops after the last backward one, on any thread, prepare or follow the update: gradient norm, clipping,
    // casts.
    std::size_t last_backward = 0;
    bool any_backward = false;
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
        const Call& kernel = recording_.call(call_of_op_[i]);
        Op& op = trace_.ops[i];
        if (op.kind == OpKind::collective) {
            op.phase = trace::Phase::communication;
        } else if (is_optimizer(recording_, kernel)) {
            op.phase = trace::Phase::optimizer;
        } else if (is_backward(recording_, kernel)) {
            op.phase = trace::Phase::backward;
            last_backward = i;
            any_backward = true;
        } else {
            op.phase = trace::Phase::forward;
        }
    }
    for (std::size_t i = last_backward + 1; any_backward && i < trace_.ops.size(); ++i) {
        if (trace_.ops[i].phase == trace::Phase::forward) trace_.ops[i].phase = trace::Phase::optimizer;
    }
}

void Builder::assign_roles() {
    // Read before anything has written it, and overwritten by the update: a parameter, or, where the model
    // never reads it, what the update keeps for itself.
    std::set<std::uint64_t> external, written, updated, used;
    for (const Op& op : trace_.ops) {
        for (const TensorId id : op.inputs) {
            const std::uint64_t storage = trace_.tensor(id).storage;
            if (!written.contains(storage)) external.insert(storage);
            if (op.phase == trace::Phase::forward || op.phase == trace::Phase::backward) used.insert(storage);
        }
        for (const TensorId id : op.outputs) {
            const std::uint64_t storage = trace_.tensor(id).storage;
            written.insert(storage);
            if (op.phase == trace::Phase::optimizer) updated.insert(storage);
        }
    }
    std::set<std::uint64_t> gradients;
    for (const Op& op : trace_.ops) {
        if (op.phase != trace::Phase::backward) continue;
        for (const TensorId id : op.outputs) gradients.insert(trace_.tensor(id).storage);
    }
    for (trace::Tensor& tensor : trace_.tensors) {
        if (external.contains(tensor.storage) && !gradients.contains(tensor.storage)) {
            const bool floating = tensor.type <= ElementType::e5m2;
            const auto of_update = used.contains(tensor.storage) ? trace::TensorRole::parameter
                                                                 : trace::TensorRole::optimizer_state;
            tensor.role = updated.contains(tensor.storage) ? of_update
                          : floating                       ? trace::TensorRole::other
                                                           : trace::TensorRole::input;
        }
    }
    for (const Op& op : trace_.ops) {
        if (op.phase != trace::Phase::backward) continue;
        for (const TensorId id : op.outputs) {
            trace::Tensor& tensor = trace_.tensors[id];
            if (tensor.role == trace::TensorRole::activation) tensor.role = trace::TensorRole::gradient;
        }
    }
}

/// Collectives, and copies between host and device, of other streams that ran while an op did: attribute
/// "beside"; and how long before the op each began: "beside_start_ns".
void Builder::assign_neighbours() {
    struct Span {
        double start, end;
        trace::OpId op;
    };
    std::vector<Span> others;
    for (trace::OpId id = 0; id < trace_.ops.size(); ++id) {
        const Call& kernel = recording_.call(call_of_op_[id]);
        const OpKind kind = trace_.ops[id].kind;
        if ((kind == OpKind::collective || kind == OpKind::host_copy) && kernel.start_us >= 0)
            others.push_back({kernel.start_us, kernel.start_us + kernel.duration_us, id});
    }
    if (others.empty()) return;
    std::stable_sort(others.begin(), others.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    double longest = 0;
    for (const Span& span : others) longest = std::max(longest, span.end - span.start);
    for (trace::OpId id = 0; id < trace_.ops.size(); ++id) {
        Op& op = trace_.ops[id];
        const Call& kernel = recording_.call(call_of_op_[id]);
        if (op.kind == OpKind::collective || op.kind == OpKind::host_copy || kernel.start_us < 0 ||
            !op.measured_us)
            continue;
        const double start = kernel.start_us, end = start + *op.measured_us;
        std::vector<std::int64_t> beside, since;
        for (auto span = std::lower_bound(others.begin(), others.end(), start - longest,
                                          [](const Span&a, double at) { return a.start < at; });
             span != others.end() && span->start < end; ++span) {
            if (trace_.ops[span->op].stream == op.stream || span->end <= start) continue;
            beside.push_back(span->op);
            since.push_back(std::llround((start - span->start) * 1e3));
        }
        if (beside.empty()) continue;
        op.set(keys::any.beside, beside);
        op.set(keys::any.beside_start_ns, since);
    }
}

trace::Trace Builder::finish(const std::string& name) {
    assign_phases();
    assign_neighbours();
    assign_roles();
    trace_.name = name;
    return std::move(trace_);
}

}  // namespace heddle::importers
