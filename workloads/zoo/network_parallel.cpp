// Layers that several devices share, as one of them sees them: Megatron's f and g, and tokens on their way to
// the experts of other devices.
#include "isa/common/error.h"
#include "workloads/zoo/network.h"

namespace heddle::zoo {

std::int64_t Network::share(const std::string& what, std::int64_t count) const {
    if (options_.tensor < 1) throw Error("must be at least 1", {.key = "option tensor"});
    if (count % options_.tensor != 0)
        throw Error(std::to_string(options_.tensor) + " devices cannot share " + std::to_string(count) + " " +
                        what + " evenly",
                    {.key = "option tensor"}, "choose a divisor");
    return count / options_.tensor;
}

TensorId Network::collective(Tape& tape, const std::string& name, const std::string& kind,
                             const std::string& group, std::int64_t size, TensorId x, Shape result) {
    Op op;
    op.name = name;
    op.kind = OpKind::collective;
    op.inputs = {x};
    const Tensor& operand = tape.tensor(x);
    const std::int64_t largest = std::max(operand.elements(), trace::element_count(result));
    op.set(keys::collective.collective, kind);
    op.set(keys::collective.group, group);
    op.set(keys::collective.size, size);
    op.set(keys::collective.bytes, largest * static_cast<std::int64_t>(bytes_of(operand.type)));
    return tape.record(std::move(op), {Tensor{name, operand.type, std::move(result)}})[0];
}

TensorId Network::pair(const std::string& name, TensorId x, const Shape& result, const std::string& forward,
                       const std::string& backward, const std::string& group, std::int64_t size) {
    const Shape before = shape(x);
    const TensorId y = collective(tape_, name, forward, group, size, x, result);
    tape_.differentiate_as_one({{x}, y, [=](Tape& tape, TensorId dy, const std::vector<bool>&) {
                                    return std::vector<std::optional<Gradient>>{Gradient{
                                        collective(tape, "d " + name, backward, group, size, dy, before), 0}};
                                }});
    return y;
}

TensorId Network::enter_shared(const std::string& name, TensorId x) {
    if (options_.tensor == 1) return x;
    Shape whole = shape(x);
    if (options_.sequence_parallel) {
        whole[0] *= options_.tensor;
        return pair(name, x, whole, "all_gather", "reduce_scatter", "tensor", options_.tensor);
    }
    return pair(name, x, whole, "none", "all_reduce", "tensor", options_.tensor);
}

TensorId Network::leave_shared(const std::string& name, TensorId x) {
    if (options_.tensor == 1) return x;
    Shape part = shape(x);
    if (options_.sequence_parallel) {
        part[0] = share("tokens", part[0]);
        return pair(name, x, part, "reduce_scatter", "all_gather", "tensor", options_.tensor);
    }
    return pair(name, x, part, "all_reduce", "none", "tensor", options_.tensor);
}

TensorId Network::to_experts(const std::string& name, TensorId x) {
    const Shape slots = shape(x);  // [experts, capacity, width]
    return pair(name, x, {slots[0] / options_.expert, slots[1] * options_.expert, slots[2]}, "all_to_all",
                "all_to_all", "expert", options_.expert);
}

TensorId Network::from_experts(const std::string& name, TensorId x) {
    const Shape slots = shape(x);
    return pair(name, x, {slots[0] * options_.expert, slots[1] / options_.expert, slots[2]}, "all_to_all",
                "all_to_all", "expert", options_.expert);
}

}  // namespace heddle::zoo
