// A mixture of experts of a Network: tokens are copied to places in their experts' buffers and back.
#include <algorithm>
#include <cmath>

#include "isa/common/error.h"
#include "workloads/zoo/network.h"

namespace heddle::zoo {
namespace {

constexpr std::int64_t kMostExperts = 1 << 20;

/// [experts * capacity] rows where those that `slots` names are rows of x and the others are 0, as [experts,
/// capacity, width]. One more row takes what has no place.
TensorId rows_at_slots(Tape& tape, const std::string& name, TensorId x, TensorId slots, std::int64_t experts,
                       std::int64_t capacity) {
    const Tensor source = tape.tensor(x);
    const std::int64_t width = source.shape.back();
    const Shape all{experts * capacity + 1, width};
    const TensorId places = tape.buffer(name + ".places", source.type, all);
    const std::uint64_t storage = tape.storage_number(places);
    Op empty;
    empty.name = name + ".empty";
    empty.kind = OpKind::fill;
    empty.set(keys::fill.value, 0.0);
    const TensorId zeros = tape.record(
        std::move(empty), {Tensor{name + ".empty", source.type, all, TensorRole::activation, storage}})[0];
    Op op;
    op.name = name;
    op.kind = OpKind::scatter;
    op.inputs = {zeros, slots, x};
    op.set(keys::scatter.axis, 0);
    tape.record(std::move(op), {Tensor{name, source.type, all, TensorRole::activation, storage}});
    return tape.part_of(name + ".by_expert", places, {experts, capacity, width});
}

}  // namespace

ExpertLoad expert_load(std::int64_t experts, std::int64_t devices, double skew, double capacity) {
    std::vector<double> shares;
    double sum = 0;
    for (std::int64_t r = 1; r <= experts; ++r) {
        shares.push_back(std::pow(static_cast<double>(r), -skew));
        sum += shares.back();
    }
    const auto count = static_cast<double>(experts);
    ExpertLoad load{capacity, 0};
    std::vector<double> of_device(static_cast<std::size_t>(devices), 0.0);
    for (std::size_t e = 0; e < shares.size(); ++e) {
        const double mean_loads = shares[e] / sum * count;  // 1 where all experts are alike
        if (capacity > 0) load.dropped += std::max(0.0, mean_loads - capacity) / count;
        of_device[e % of_device.size()] += mean_loads;
    }
    // Without a limit the fullest device's experts set the pace of all.
    if (capacity == 0)
        load.slots =
            *std::max_element(of_device.begin(), of_device.end()) * static_cast<double>(devices) / count;
    return load;
}

TensorId Network::dispatch(const std::string& name, TensorId x, TensorId slots, std::int64_t experts,
                           std::int64_t capacity) {
    const TensorId result = rows_at_slots(tape_, name, x, slots, experts, capacity);
    const std::int64_t tokens = shape(x)[0], width = shape(x)[1], places = experts * capacity;
    tape_.differentiate_as_one(
        {{x}, result, [=](Tape& tape, TensorId dy, const std::vector<bool>&) {
             const TensorId flat = tape.view("d " + name + ".flat", dy, {places, width});
             const TensorId within = tape.elementwise(name + ".within", "y0 = min(x0, s0)", {slots},
                                                      ElementType::i32, {static_cast<double>(places - 1)});
             const TensorId column = tape.view(name + ".slots", slots, {tokens, 1});
             const TensorId dx = tape.elementwise("d " + name + ".x", "y0 = x1 < s0 ? x0 : 0",
                                                  {tape.gather("d " + name + ".rows", flat, within), column},
                                                  {}, {static_cast<double>(places)});
             return std::vector<std::optional<Gradient>>{Gradient{dx, 0}};
         }});
    return result;
}

/// Row t is the row of y at slot t times gates[t]; 0 for tokens without a place.
TensorId Network::combine(const std::string& name, TensorId y, TensorId slots, TensorId gates) {
    const std::int64_t experts = shape(y)[0], capacity = shape(y)[1], width = shape(y)[2],
                       tokens = shape(slots)[0], places = experts * capacity;
    const TensorId within = tape_.elementwise(name + ".within", "y0 = min(x0, s0)", {slots}, ElementType::i32,
                                              {static_cast<double>(places - 1)});
    const TensorId flat = tape_.view(name + ".flat", y, {places, width});
    const TensorId rows = tape_.gather(name + ".rows", flat, within);
    tape_.differentiate_as_one({{y}, rows, [=](Tape& tape, TensorId dy, const std::vector<bool>&) {
                                    return std::vector<std::optional<Gradient>>{Gradient{
                                        rows_at_slots(tape, "d " + name, dy, slots, experts, capacity), 0}};
                                }});
    const TensorId column = tape_.view(name + ".slots", slots, {tokens, 1});
    const TensorId kept = tape_.elementwise(name + ".gates", "y0 = x1 < s0 ? x0 : 0", {gates, column}, {},
                                            {static_cast<double>(places)});
    return tape_.elementwise(name, "y0 = x0 * x1", {rows, kept});
}

TensorId Network::mixture(const std::string& name, TensorId x, const MixtureOptions& o) {
    const std::int64_t tokens = shape(x)[0], width = shape(x)[1], experts = o.experts;
    if (experts < 1) throw Error("needs at least one expert", {.key = name});
    if (experts > kMostExperts)
        throw Error(std::to_string(experts) + " experts are more than " + std::to_string(kMostExperts),
                    {.key = name});
    if (!(o.capacity >= 0)) throw Error("the capacity must not be negative", {.key = name});
    if (o.capacity > static_cast<double>(experts))
        throw Error("a capacity above the number of experts leaves places that no token can take",
                    {.key = name});
    const ExpertLoad load = expert_load(experts, options_.expert, options_.expert_skew, o.capacity);
    const auto capacity = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(tokens) * load.slots / static_cast<double>(experts)));
    const TensorId logits = linear(name + ".router", x, experts, false);
    const TensorId in_f32 =
        type_ == ElementType::f32 ? logits : tape_.cast(name + ".router.f32", logits, ElementType::f32);
    const TensorId probabilities = tape_.softmax(name + ".probabilities", in_f32);
    const Tape::TopK chosen = tape_.top_k(name + ".choice", probabilities, 1);
    Op op;
    op.name = name + ".slots";
    op.kind = OpKind::expert_slots;
    op.inputs = {chosen.indices};
    op.set(keys::expert_slots.experts, experts);
    op.set(keys::expert_slots.capacity, capacity);
    if (options_.expert_skew > 0) op.set(keys::expert_slots.dropped, load.dropped);
    const TensorId slots =
        tape_.record(std::move(op), {Tensor{name + ".slots", ElementType::i32, {tokens}}})[0];

    const bool shared = options_.expert > 1;
    if (shared && experts % options_.expert != 0)
        throw Error(std::to_string(options_.expert) + " devices cannot share " + std::to_string(experts) +
                        " experts evenly",
                    {.key = "option expert"}, "choose a divisor");
    const std::int64_t own = experts / options_.expert;
    const TensorId up = parameter(name + ".up.weight", {own, o.feed_forward, width}),
                   down = parameter(name + ".down.weight", {own, width, o.feed_forward});
    MatmulOptions transposed;
    transposed.transpose_b = true;
    TensorId places = dispatch(name + ".dispatch", x, slots, experts, capacity);
    if (shared) places = to_experts(name + ".to_experts", places);
    TensorId y = tape_.matmul(name + ".up", places, up, transposed);
    y = activation(name + "." + o.function, y, o.function);
    y = tape_.matmul(name + ".down", y, down, transposed);
    if (shared) y = from_experts(name + ".from_experts", y);
    y = combine(name, y, slots, chosen.values);

    if (o.balance > 0) {
        // experts * sum over e of (share of tokens that chose e) * (mean probability of e)
        const TensorId numbers =
            constant(std::to_string(experts) + "_expert_positions", ElementType::i32, {experts});
        const TensorId one_hot = tape_.elementwise(name + ".one_hot", "y0 = x0 == x1",
                                                   {chosen.indices, numbers}, ElementType::f32);
        const TensorId share = tape_.reduce(name + ".share", one_hot, "mean", {0}, {experts});
        const TensorId mean = tape_.reduce(name + ".mean", scaled(name + ".for_balance", probabilities),
                                           "mean", {0}, {experts});
        const TensorId product = tape_.elementwise(name + ".balance", "y0 = s0 * x0 * x1", {mean, share}, {},
                                                   {o.balance * static_cast<double>(experts)});
        more_losses_.push_back(tape_.reduce(name + ".loss", product, "sum", {0}, {}));
    }
    return y;
}

}  // namespace heddle::zoo
